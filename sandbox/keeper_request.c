#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "base/kernel_msg.h"
#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_exec.h"
#include "sandbox/keeper_fork.h"
#include "sandbox/keeper_kernel.h"
#include "sandbox/keeper_port.h"
#include "sandbox/keeper_probe.h"
#include "sandbox/keeper_request.h"
#include "sandbox/keeper_sleep.h"

#define ARGS_MAX 65536U

void request_answer(struct client *c, const struct wire_msg *msg, enum err r,
		    const struct errinfo *e)
{
	if (r == ERR_NONE)
		client_say(c, KM_OK, msg->tag, NULL);
	else
		client_refuse(c, msg->tag, r, e->text);
}

/* The execution that a frame names, or NULL after a refusal. */
static struct exec *named(struct client *c, const struct wire_msg *msg,
			  const char *id)
{
	struct exec *x = exec_find(c->keeper, id);

	if (x == NULL)
		client_refuse(c, msg->tag, ERR_NOT_FOUND, "execution");
	return x;
}

const char **request_strings(struct wire_in *in, uint32_t *count)
{
	uint32_t n = wire_in_u32(in);
	const char **v;

	if (in->bad || n > ARGS_MAX || n > (size_t)(in->end - in->p)) {
		in->bad = true;
		return NULL;
	}
	v = calloc((size_t)n + 1, sizeof(*v));
	if (v == NULL) {
		in->bad = true;
		return NULL;
	}
	for (uint32_t i = 0; i < n; i++)
		v[i] = wire_in_str(in);
	*count = n;
	return v;
}

/* How a starter is attached: before anything can happen. */
static bool attach_starter(struct client *c, struct exec *x, uint32_t tag,
			   uint32_t flags)
{
	struct attach *a;

	client_starts(c, x, tag);
	if ((flags & KF_ATTACH) == 0)
		return true;
	a = client_attach(c, x, tag, 0);
	if (a == NULL)
		return false;
	a->follow = true;
	a->owner = x->kind != EXEC_PROCESS;
	a->kill_on_close = (flags & KF_KILL_ON_CLOSE) != 0;
	return true;
}

static bool do_start(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	OWN(own_mem) const char **argv = NULL;
	OWN(own_mem) const char **env = NULL;
	struct keeper_start s = {.id = wire_in_str(&in)};
	struct exec *x;
	struct errinfo e;

	s.kind = (enum exec_kind)wire_in_u8(&in);
	s.flags = wire_in_u32(&in);
	s.timeout_ms = wire_in_u64(&in);
	s.grace_ms = wire_in_u32(&in);
	s.ring_bytes = wire_in_u64(&in);
	s.user = wire_in_str(&in);
	s.cwd = wire_in_str(&in);
	argv = request_strings(&in, &s.argc);
	s.argv = argv;
	env = request_strings(&in, &s.envc);
	s.env = env;
	s.stdin_data = wire_in_bytes(&in, &s.stdin_len);
	s.session = wire_in_str(&in);
	if ((s.flags & KF_OUTPUT_MAX) != 0)
		s.output_max = wire_in_u64(&in);
	if (!wire_in_done(&in))
		return false;
	if (s.timeout_ms > INT32_MAX)
		s.timeout_ms = INT32_MAX;
	if ((s.flags & KF_SPARE) == 0)
		sleep_used(c->keeper);
	if (exec_start(c->keeper, &s, msg->fds, msg->nfds, &x, &e) !=
	    ERR_NONE) {
		client_refuse(c, msg->tag, e.code, e.text);
		return true;
	}
	if (!attach_starter(c, x, msg->tag, s.flags)) {
		client_refuse(c, msg->tag, ERR_NOMEM, "attach");
		x->starter = NULL;
		exec_kill(x, END_KILLED, 0);
	}
	if (x->forked && x->nhand > 0)
		fork_hand_out(x);
	return true;
}

static bool do_forked(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in);
	uint32_t pid = wire_in_u32(&in);
	struct exec *x;

	if (!wire_in_done(&in) || pid > INT32_MAX || msg->nfds > 1)
		return false;
	x = named(c, msg, id);
	if (x != NULL)
		fork_told(x, c, msg, pid);
	return true;
}

static enum err run_new(struct keeper *k, const char *kernel_id, const char *id,
			uint64_t ring_bytes, struct exec **out,
			struct exec **kernel, struct errinfo *e)
{
	*kernel = exec_find(k, kernel_id);
	if (*kernel == NULL || (*kernel)->kind != EXEC_KERNEL)
		return err_set(e, ERR_NOT_FOUND, 0, "context");
	if ((*kernel)->state == EXEC_ENDED || (*kernel)->kernel == NULL)
		return err_set(e, ERR_GONE, 0, "kernel");
	return exec_new(k, id, EXEC_RUN, ring_bytes, out, e);
}

static bool do_run(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *kernel_id = wire_in_str(&in), *id = wire_in_str(&in);
	uint32_t flags = wire_in_u32(&in);
	uint64_t timeout_ms = wire_in_u64(&in), ring = wire_in_u64(&in);
	size_t len;
	const char *json = wire_in_bytes(&in, &len);
	struct exec *x = NULL, *kernel;
	OWN(buf_free) struct buf b = BUF_INIT(16);
	struct errinfo e;

	if (!wire_in_done(&in))
		return false;
	if (len > KERNEL_PAYLOAD_MAX - WIRE_HEAD_LEN) {
		client_refuse(c, msg->tag, ERR_LIMIT, "code");
		return true;
	}
	if (run_new(c->keeper, kernel_id, id, ring, &x, &kernel, &e) !=
	    ERR_NONE) {
		client_refuse(c, msg->tag, e.code, e.text);
		return true;
	}
	x->run_json = malloc(len + 1);
	if (x->run_json == NULL || !attach_starter(c, x, msg->tag, flags)) {
		exec_free(x);
		client_refuse(c, msg->tag, ERR_NOMEM, "run");
		return true;
	}
	sleep_used(c->keeper);
	memcpy(x->run_json, json, len);
	x->run_json_len = len;
	x->flags = flags;
	x->timeout_ms = timeout_ms > INT32_MAX ? INT32_MAX : timeout_ms;
	x->state = EXEC_RUNNING;
	x->starter = NULL;
	wire_u32(&b, 0);
	client_say(c, KM_STARTED, msg->tag, &b);
	exec_announce(x);
	kernel_run(kernel, x);
	return true;
}

static bool do_attach(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in);
	uint64_t after = wire_in_u64(&in);
	uint8_t follow = wire_in_u8(&in);
	OWN(buf_free) struct buf b = BUF_INIT(64);
	struct attach *a;
	struct exec *x;

	if (!wire_in_done(&in) || after == UINT64_MAX ||
	    follow > KEEPER_FOLLOW_OWNER)
		return false;
	x = named(c, msg, id);
	if (x == NULL)
		return true;
	/* A cursor past the end waits for what comes, it replays nothing. */
	a = client_attach(c, x, msg->tag, after);
	if (a == NULL) {
		client_refuse(c, msg->tag, ERR_NOMEM, "attach");
		return true;
	}
	a->follow = follow != KEEPER_REPLAY;
	a->owner = follow == KEEPER_FOLLOW_OWNER;
	x->late = x->late && !c->subscribed;
	wire_u64(&b, x->ring.first);
	wire_u64(&b, x->ring.next);
	wire_u8(&b, x->state == EXEC_ENDED);
	client_say(c, KM_ATTACHED, msg->tag, &b);
	if (x->state == EXEC_ENDED && after >= x->ring.next - 1)
		a->follow = false; /* nothing will ever come */
	return true;
}

static bool do_signal(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in);
	uint32_t sig = wire_in_u32(&in);
	bool all = wire_in_u8(&in) != 0;
	struct exec *x;

	if (!wire_in_done(&in) || sig == 0 || sig >= NSIG)
		return false;
	x = named(c, msg, id);
	if (x == NULL)
		return true;
	if (x->kind == EXEC_RUN) /* one that waits is not what runs there */
		x = x->kernel_exec != NULL && kernel_target(x->kernel_exec) == x
			? x->kernel_exec
			: NULL;
	if (x == NULL || x->state != EXEC_RUNNING) {
		client_refuse(c, msg->tag, ERR_STATE, "not running");
		return true;
	}
	exec_signal(x, sig, all);
	client_say(c, KM_OK, msg->tag, NULL);
	return true;
}

static bool do_kill(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in);
	uint32_t grace_ms = wire_in_u32(&in);
	uint8_t reason = wire_in_u8(&in);
	struct exec *x;

	if (!wire_in_done(&in) || !end_reason_ok(reason))
		return false;
	x = named(c, msg, id);
	if (x == NULL)
		return true;
	if (x->state == EXEC_ENDED) {
		client_refuse(c, msg->tag, ERR_STATE, "ended");
		return true;
	}
	if (grace_ms > 600000)
		grace_ms = 600000;
	client_say(c, KM_OK, msg->tag, NULL);
	exec_kill(x, (enum end_reason)reason, grace_ms);
	return true;
}

static bool do_kill_strays(struct client *c, struct wire_msg *msg)
{
	OWN(buf_free) struct buf b = BUF_INIT(64);

	wire_u32(&b, exec_kill_strays(c->keeper));
	client_say(c, KM_STRAYS, msg->tag, &b);
	return msg->len == 0;
}

static bool do_stdin(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in);
	size_t len;
	const char *data = wire_in_bytes(&in, &len);
	bool eof = wire_in_u8(&in) != 0;
	struct exec *x;
	struct errinfo e;

	if (!wire_in_done(&in))
		return false;
	x = named(c, msg, id);
	if (x == NULL)
		return true;
	sleep_used(c->keeper);
	request_answer(c, msg, exec_stdin(x, data, len, eof, &e), &e);
	return true;
}

static void say_item(struct client *c, uint32_t tag, const struct exec *x)
{
	struct keeper_item item;
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	exec_item(x, &item);
	keeper_put_item(&b, &item);
	client_say(c, KM_ITEM, tag, &b);
}

static bool do_status(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in);
	struct exec *x;

	if (!wire_in_done(&in))
		return false;
	x = named(c, msg, id);
	if (x != NULL)
		say_item(c, msg->tag, x);
	return true;
}

static bool do_list(struct client *c, struct wire_msg *msg)
{
	OWN(buf_free) struct buf b = BUF_INIT(64);

	for (struct exec *x = c->keeper->execs; x != NULL; x = x->next)
		if (x->spare == NULL)
			say_item(c, msg->tag, x);
	wire_i64(&b, c->keeper->since_ms);
	client_say(c, KM_OK, msg->tag, &b);
	return msg->len == 0;
}

static bool do_forget(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in);
	struct exec *x;

	if (!wire_in_done(&in))
		return false;
	x = named(c, msg, id);
	if (x == NULL)
		return true;
	if (x->state != EXEC_ENDED) {
		client_refuse(c, msg->tag, ERR_STATE, "running");
		return true;
	}
	exec_free(x);
	client_say(c, KM_OK, msg->tag, NULL);
	return true;
}

static bool do_port_open(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	struct port_spec spec = {.number = wire_in_u16(&in)};
	struct errinfo e;
	int fd;

	spec.key = wire_in_str(&in);
	if (in.p < in.end)
		spec.rate = wire_in_u64(&in);
	if (!wire_in_done(&in) || msg->nfds != 1 || spec.number == 0 ||
	    spec.key[0] == 0)
		return false;
	fd = STEAL_FD(msg->fds[0]);
	request_answer(c, msg, port_open(c->keeper, &spec, fd, &e), &e);
	return true;
}

static bool do_port_close(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *key = wire_in_str(&in);

	if (!wire_in_done(&in))
		return false;
	if (port_close(c->keeper, key))
		client_say(c, KM_OK, msg->tag, NULL);
	else
		client_refuse(c, msg->tag, ERR_NOT_FOUND, "port");
	return true;
}

static bool do_subscribe(struct client *c, struct wire_msg *msg)
{
	if (!c->subscribed)
		c->keeper->nrecorders++;
	c->subscribed = true;
	c->subscribe_tag = msg->tag;
	for (struct exec *x = c->keeper->execs; x != NULL; x = x->next)
		if (x->kind != EXEC_FS && x->spare == NULL)
			say_item(c, msg->tag, x);
	return msg->len == 0;
}

static bool do_ack(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in);
	uint64_t seq = wire_in_u64(&in);
	struct exec *x;

	if (!wire_in_done(&in))
		return false;
	x = exec_find(c->keeper, id);
	if (x != NULL)
		exec_recorded(x, seq);
	return true;
}

static bool do_usage(struct client *c, struct wire_msg *msg)
{
	OWN(buf_free) struct buf b = BUF_INIT(128);
	struct keeper_usage u;

	usage_read(&c->keeper->usage, &u);
	keeper_put_usage(&b, &u);
	client_say(c, KM_USAGE_IS, msg->tag, &b);
	return msg->len == 0;
}

static bool do_calls(struct client *c, struct wire_msg *msg)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	call_counts_put(&b, &c->keeper->calls);
	client_say(c, KM_CALLS_ARE, msg->tag, &b);
	return msg->len == 0;
}

bool request_handle(struct client *c, struct wire_msg *msg)
{
	static bool (*const table[])(struct client *, struct wire_msg *) = {
	    [KM_START] = do_start,
	    [KM_RUN] = do_run,
	    [KM_ATTACH] = do_attach,
	    [KM_SIGNAL] = do_signal,
	    [KM_KILL] = do_kill,
	    [KM_KILL_STRAYS] = do_kill_strays,
	    [KM_STDIN] = do_stdin,
	    [KM_STATUS] = do_status,
	    [KM_LIST] = do_list,
	    [KM_FORGET] = do_forget,
	    [KM_PORT_OPEN] = do_port_open,
	    [KM_PORT_CLOSE] = do_port_close,
	    [KM_SUBSCRIBE] = do_subscribe,
	    [KM_ACK] = do_ack,
	    [KM_USAGE] = do_usage,
	    [KM_CALLS] = do_calls,
	    [KM_SESSION_NEW] = request_session_new,
	    [KM_SESSION_END] = request_session_end,
	    [KM_SESSION_LIST] = request_session_list,
	    [KM_SESSION_GET] = request_session_get,
	    [KM_PORT_CHECK] = probe_check,
	    [KM_FORKED] = do_forked,
	    [KM_STATE] = sleep_request_state,
	    [KM_WAKE] = sleep_request_wake,
	    [KM_SLEEP] = sleep_request_sleep,
	};

	if (msg->type == KM_PING) {
		client_say(c, KM_OK, msg->tag, NULL);
		return true;
	}
	if (msg->type >= sizeof(table) / sizeof(table[0]) ||
	    table[msg->type] == NULL)
		return false;
	return table[msg->type](c, msg);
}
