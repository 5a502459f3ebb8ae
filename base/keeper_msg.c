#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/keeper_msg.h"

static const char *const reason_names[] = {"",
#define X(name, text) text,
					   END_REASONS(X)
#undef X
};

/* Bits of an END event. */
#define END_KERNEL_LOST 1U
#define END_SHELL_ENDED 2U

#define REASON_COUNT (sizeof(reason_names) / sizeof(reason_names[0]))

const char *end_reason_name(enum end_reason r)
{
	return (size_t)r < REASON_COUNT ? reason_names[r] : "";
}

bool end_reason_ok(uint8_t v)
{
	return v > 0 && v < REASON_COUNT;
}

void keeper_put_start(struct buf *b, const struct keeper_start *s)
{
	wire_str(b, s->id);
	wire_u8(b, (uint8_t)s->kind);
	wire_u32(b, s->flags);
	wire_u64(b, s->timeout_ms);
	wire_u32(b, s->grace_ms);
	wire_u64(b, s->ring_bytes);
	wire_str(b, s->user != NULL ? s->user : "");
	wire_str(b, s->cwd != NULL ? s->cwd : "");
	wire_u32(b, s->argc);
	for (uint32_t i = 0; i < s->argc; i++)
		wire_str(b, s->argv[i]);
	wire_u32(b, s->envc);
	for (uint32_t i = 0; i < s->envc; i++)
		wire_str(b, s->env[i]);
	wire_bytes(b, s->stdin_data, s->stdin_len);
	wire_str(b, s->session != NULL ? s->session : "");
	if ((s->flags & KF_OUTPUT_MAX) != 0)
		wire_u64(b, s->output_max);
}

void keeper_put_end(struct buf *b, const struct keeper_end *end)
{
	wire_i32(b, end->exit_code);
	wire_u8(b, end->signal);
	wire_u8(b, (uint8_t)end->reason);
	wire_u8(b, (uint8_t)((end->kernel_lost ? END_KERNEL_LOST : 0U) |
			     (end->shell_ended ? END_SHELL_ENDED : 0U)));
	wire_u64(b, end->stdout_bytes);
	wire_u64(b, end->stderr_bytes);
	wire_u64(b, end->dropped_bytes);
	wire_i64(b, end->duration_ms);
	keeper_put_hits(b, &end->hits);
}

static bool keeper_get_end(const char *data, size_t len, struct keeper_end *end)
{
	struct wire_in in = {.p = (const uint8_t *)data,
			     .end = (const uint8_t *)data + len};
	uint8_t reason, bits;

	end->exit_code = wire_in_i32(&in);
	end->signal = wire_in_u8(&in);
	reason = wire_in_u8(&in);
	bits = wire_in_u8(&in);
	end->kernel_lost = (bits & END_KERNEL_LOST) != 0;
	end->shell_ended = (bits & END_SHELL_ENDED) != 0;
	end->stdout_bytes = wire_in_u64(&in);
	end->stderr_bytes = wire_in_u64(&in);
	end->dropped_bytes = wire_in_u64(&in);
	end->duration_ms = wire_in_i64(&in);
	end->hits = (struct keeper_hits){0};
	/* Ends that were stored before there were hits have none. */
	if ((in.p < in.end && !keeper_get_hits(&in, &end->hits)) ||
	    !end_reason_ok(reason))
		return false;
	end->reason = (enum end_reason)reason;
	return wire_in_done(&in);
}

enum err keeper_get_event(const struct wire_msg *msg, struct keeper_event *ev,
			  struct errinfo *e)
{
	struct wire_in in = wire_in(msg);
	struct keeper_event v = {.seq = wire_in_u64(&in)};
	uint8_t kind = wire_in_u8(&in);

	v.unix_ms = wire_in_i64(&in);
	v.data = wire_in_bytes(&in, &v.len);
	if (msg->type != KM_EVENT || !wire_in_done(&in) || v.seq == 0 ||
	    kind < EVENT_OUT || kind > EVENT_END)
		return err_set(e, ERR_PEER, 0, "malformed event");
	v.kind = (enum event_kind)kind;
	if (v.kind == EVENT_END && !keeper_get_end(v.data, v.len, &v.end))
		return err_set(e, ERR_PEER, 0, "malformed end");
	*ev = v;
	return ERR_NONE;
}

void keeper_put_item(struct buf *b, const struct keeper_item *item)
{
	wire_str(b, item->id);
	wire_u8(b, (uint8_t)item->kind);
	wire_u8(b, (uint8_t)item->state);
	wire_u32(b, item->pid);
	wire_i32(b, item->exit_code);
	wire_u8(b, (uint8_t)item->reason);
	wire_u64(b, item->first);
	wire_u64(b, item->next);
	wire_i64(b, item->started_ms);
	wire_i64(b, item->ended_ms);
	keeper_put_hits(b, &item->hits);
}

enum err keeper_get_item(const struct wire_msg *msg, struct keeper_item *item,
			 struct errinfo *e)
{
	struct wire_in in = wire_in(msg);
	struct keeper_item v = {.id = wire_in_str(&in)};
	uint8_t kind = wire_in_u8(&in), state = wire_in_u8(&in), reason;

	v.pid = wire_in_u32(&in);
	v.exit_code = wire_in_i32(&in);
	reason = wire_in_u8(&in);
	v.first = wire_in_u64(&in);
	v.next = wire_in_u64(&in);
	v.started_ms = wire_in_i64(&in);
	v.ended_ms = wire_in_i64(&in);
	if (msg->type != KM_ITEM || !keeper_get_hits(&in, &v.hits) ||
	    !wire_in_done(&in) || kind < EXEC_CALL || kind > EXEC_RUN ||
	    state < EXEC_STARTING || state > EXEC_ENDED ||
	    (reason != END_NONE && !end_reason_ok(reason)))
		return err_set(e, ERR_PEER, 0, "malformed item");
	v.kind = (enum exec_kind)kind;
	v.state = (enum exec_state)state;
	v.reason = (enum end_reason)reason;
	*item = v;
	return ERR_NONE;
}

void keeper_put_usage(struct buf *b, const struct keeper_usage *u)
{
	wire_u64(b, u->disk_used);
	wire_u64(b, u->disk_limit);
	wire_u64(b, u->inodes_used);
	wire_u64(b, u->inodes_limit);
	wire_u64(b, u->memory_used);
	wire_u64(b, u->memory_limit);
	wire_u64(b, u->pids_used);
	wire_u64(b, u->pids_limit);
}

enum err keeper_get_usage(const struct wire_msg *msg, struct keeper_usage *u,
			  struct errinfo *e)
{
	struct wire_in in = wire_in(msg);
	struct keeper_usage v = {.disk_used = wire_in_u64(&in)};

	v.disk_limit = wire_in_u64(&in);
	v.inodes_used = wire_in_u64(&in);
	v.inodes_limit = wire_in_u64(&in);
	v.memory_used = wire_in_u64(&in);
	v.memory_limit = wire_in_u64(&in);
	v.pids_used = wire_in_u64(&in);
	v.pids_limit = wire_in_u64(&in);
	if (msg->type != KM_USAGE_IS || !wire_in_done(&in))
		return err_set(e, ERR_PEER, 0, "malformed usage");
	*u = v;
	return ERR_NONE;
}

void keeper_put_session(struct buf *b, const struct keeper_session *s)
{
	wire_str(b, s->id);
	wire_u8(b, s->busy);
	wire_i64(b, s->created_ms);
	wire_str(b, s->cwd);
}

enum err keeper_get_session(const struct wire_msg *msg,
			    struct keeper_session *s, struct errinfo *e)
{
	struct wire_in in = wire_in(msg);
	struct keeper_session v = {.id = wire_in_str(&in)};

	v.busy = wire_in_u8(&in) != 0;
	v.created_ms = wire_in_i64(&in);
	v.cwd = wire_in_str(&in);
	if (msg->type != KM_SESSION || !wire_in_done(&in))
		return err_set(e, ERR_PEER, 0, "malformed session");
	*s = v;
	return ERR_NONE;
}

#define STATE_ASLEEP 1
#define STATE_FROZEN 2
#define STATE_IN_USE 4

void keeper_put_state(struct buf *b, const struct keeper_state *s)
{
	wire_u8(b, (uint8_t)((s->asleep ? STATE_ASLEEP : 0) |
			     (s->frozen ? STATE_FROZEN : 0) |
			     (s->in_use ? STATE_IN_USE : 0)));
	wire_i64(b, s->used_ms);
}

enum err keeper_get_state(const struct wire_msg *msg, struct keeper_state *s,
			  struct errinfo *e)
{
	struct wire_in in = wire_in(msg);
	uint8_t bits = wire_in_u8(&in);
	int64_t used_ms = wire_in_i64(&in);

	if (msg->type != KM_STATE_IS || !wire_in_done(&in) || used_ms < 0 ||
	    (bits & ~(STATE_ASLEEP | STATE_FROZEN | STATE_IN_USE)) != 0)
		return err_set(e, ERR_PEER, 0, "malformed state");
	*s = (struct keeper_state){.asleep = (bits & STATE_ASLEEP) != 0,
				   .frozen = (bits & STATE_FROZEN) != 0,
				   .in_use = (bits & STATE_IN_USE) != 0,
				   .used_ms = used_ms};
	return ERR_NONE;
}

enum err keeper_refused(const struct wire_msg *msg, struct errinfo *e)
{
	struct wire_in in = wire_in(msg);
	uint32_t code = wire_in_u32(&in);
	const char *what = wire_in_str(&in);

	if (msg->type != KM_REFUSED || !wire_in_done(&in) || code == 0 ||
	    code > ERR_GONE)
		return err_set(e, ERR_PEER, 0, "unexpected frame %u",
			       (unsigned)msg->type);
	return err_set(e, (enum err)code, 0, "%.200s", what);
}

enum err keeper_connect(const char *run_dir, const char *sandbox_id, int *fd,
			struct errinfo *e)
{
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/keepers/%s.sock", run_dir,
			 sandbox_id);

	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(e, ERR_ARG, 0, "run directory too long");
	return wire_connect(path, fd, e);
}
