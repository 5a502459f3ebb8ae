/*
 * warren-init: PID 1 of a sandbox. Forks one confined child per request of
 * the keeper, reaps every orphan, reports how things ended. It holds only
 * the capabilities that its children's ids need.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/init_msg.h"
#include "base/loop.h"
#include "base/own.h"
#include "base/wire.h"
#include "sandbox/husk.h"
#include "sandbox/init_calls.h"
#include "sandbox/init_signal.h"

struct init {
	struct loop loop;
	struct loop_watch keeper;
	struct loop_watch signals;
	struct wire_rx rx;
	struct wire_tx tx;
	struct init_exec *execs;
	struct init_calls calls;
};

/* Without its keeper a sandbox has no purpose: the end of PID 1 ends all. */
noreturn static void init_end(const char *why)
{
	(void)!write(STDERR_FILENO, why, strlen(why));
	_exit(1);
}

static void init_flush(struct init *in)
{
	if (wire_tx_flush(&in->tx, INIT_FD_KEEPER, NULL) != ERR_NONE)
		init_end("init: keeper gone\n");
	loop_mod(&in->loop, &in->keeper,
		 in->tx.out.len > 0 ? EPOLLIN | EPOLLOUT : EPOLLIN);
}

static void init_say(struct init *in, uint16_t type, uint32_t tag,
		     const struct buf *payload)
{
	if (wire_tx_put(&in->tx, type, tag, payload, NULL) != ERR_NONE)
		init_end("init: keeper does not read\n");
	init_flush(in);
}

static struct init_exec **exec_find(struct init *in, uint32_t tag)
{
	struct init_exec **p = &in->execs;

	while (*p != NULL && (*p)->tag != tag)
		p = &(*p)->next;
	return p;
}

static void exec_remove(struct init_exec **p)
{
	struct init_exec *x = *p;

	*p = x->next;
	init_signal_end(x);
	free(x);
}

static bool leaf_remove(uint32_t tag)
{
	char name[16];

	init_leaf_name(tag, name);
	return unlinkat(INIT_FD_CGROUP, name, AT_REMOVEDIR) == 0 ||
	       errno == ENOENT;
}

static void init_failed(struct init *in, uint32_t tag, uint8_t step,
			uint32_t sys)
{
	OWN(buf_free) struct buf b = BUF_INIT(64);

	wire_u8(&b, step);
	wire_u32(&b, sys);
	init_say(in, IM_FAILED, tag, &b);
}

static void init_spawn(struct init *in, const struct wire_msg *msg)
{
	OWN(init_spawn_free) struct init_spawn s = {0};
	OWN(buf_free) struct buf b = BUF_INIT(64);
	struct init_spawn_failure why = {.step = INIT_STEP_REQUEST};
	struct init_exec *x = calloc(1, sizeof(*x));
	bool ok;

	if (x == NULL || !init_spawn_parse(msg, &s) ||
	    *exec_find(in, msg->tag) != NULL) {
		free(x);
		init_failed(in, msg->tag, why.step, EINVAL);
		return;
	}
	ok = init_child_start(&s, &x->pid, &why);
	if (x->pid <= 0) {
		free(x);
		init_failed(in, msg->tag, why.step, why.sys);
		return;
	}
	x->tag = msg->tag;
	x->failed = !ok;
	x->next = in->execs;
	in->execs = x;
	if (!ok) {
		init_failed(in, msg->tag, why.step, why.sys);
		return;
	}
	wire_u32(&b, (uint32_t)x->pid);
	init_say(in, IM_SPAWNED, msg->tag, &b);
}

static void say_calls(void *arg)
{
	struct init *in = arg;
	OWN(buf_free) struct buf b = BUF_INIT(1024);

	call_counts_put(&b, &in->calls.counts);
	init_say(in, IM_CALLS, 0, &b);
}

static void init_adopt(struct init *in, struct wire_msg *msg)
{
	struct wire_in w = wire_in(msg);
	pid_t pid = (pid_t)wire_in_u32(&w);
	OWN(buf_free) struct buf b = BUF_INIT(64);
	struct init_spawn_failure why = {.step = INIT_STEP_REQUEST,
					 .sys = EINVAL};
	struct init_exec *x = calloc(1, sizeof(*x)), *same = in->execs;

	while (same != NULL && (same->pid != pid || same->exited))
		same = same->next;
	if (x == NULL || !wire_in_done(&w) || same != NULL ||
	    *exec_find(in, msg->tag) != NULL ||
	    !init_child_adopt(msg->tag, pid, &why)) {
		free(x);
		init_failed(in, msg->tag, why.step, why.sys);
		return;
	}
	*x = (struct init_exec){.tag = msg->tag, .pid = pid, .next = in->execs};
	in->execs = x;
	if (msg->nfds == 1)
		init_calls_listen(&in->calls, STEAL_FD(msg->fds[0]));
	wire_u32(&b, (uint32_t)pid);
	init_say(in, IM_SPAWNED, msg->tag, &b);
}

static void init_signal(struct init *in, const struct wire_msg *msg)
{
	struct wire_in w = wire_in(msg);
	uint32_t sig = wire_in_u32(&w);
	bool all = wire_in_u8(&w) != 0;
	struct init_exec *x = *exec_find(in, msg->tag);

	if (!wire_in_done(&w) || sig == 0 || sig >= NSIG)
		return;
	if (msg->tag == 0) {
		for (x = in->execs; x != NULL; x = x->next)
			if (x->exited)
				init_signal_leaf(x->tag, (int)sig);
		return;
	}
	if (x != NULL && all && sig == SIGTERM)
		init_signal_follow(&in->loop, x, (int)sig);
	else if (x != NULL && all)
		init_signal_leaf(x->tag, (int)sig);
	else if (x != NULL && !x->exited)
		kill(x->pid, (int)sig);
	init_say(in, IM_SIGNALLED, msg->tag, NULL);
}

static void init_exited(struct init *in, struct init_exec **p,
			const siginfo_t *si)
{
	OWN(buf_free) struct buf b = BUF_INIT(64);
	struct init_exec *x = *p;
	bool empty;

	x->exited = true;
	empty = leaf_remove(x->tag);
	if (!x->failed) {
		wire_u8(&b, si->si_code != CLD_EXITED);
		wire_u32(&b, (uint32_t)si->si_status);
		wire_u8(&b, empty);
		init_say(in, IM_EXITED, x->tag, &b);
	}
	if (empty)
		exec_remove(p);
}

/* Executions whose main process is gone: has the rest ended too? */
static void init_sweep(struct init *in)
{
	struct init_exec **p = &in->execs;

	while (*p != NULL) {
		struct init_exec *x = *p;

		if (!x->exited || !leaf_remove(x->tag)) {
			p = &x->next;
			continue;
		}
		if (!x->failed)
			init_say(in, IM_EMPTY, x->tag, NULL);
		exec_remove(p);
	}
}

static void init_reap(struct init *in)
{
	siginfo_t si;

	for (;;) {
		struct init_exec **p = &in->execs;

		si.si_pid = 0;
		if (waitid(P_ALL, 0, &si, WEXITED | WNOHANG) < 0 ||
		    si.si_pid == 0)
			break;
		while (*p != NULL && (*p)->pid != si.si_pid)
			p = &(*p)->next;
		if (*p != NULL && !(*p)->exited)
			init_exited(in, p, &si);
	}
	init_sweep(in);
}

static void on_signals(void *arg, uint32_t events)
{
	struct init *in = arg;
	struct signalfd_siginfo si;

	(void)events;
	while (read(in->signals.fd, &si, sizeof(si)) == sizeof(si))
		continue;
	init_reap(in);
}

static void on_keeper(void *arg, uint32_t events)
{
	struct init *in = arg;
	struct wire_msg *msg;
	bool more;

	if ((events & EPOLLOUT) != 0)
		init_flush(in);
	if (wire_rx_fill(&in->rx, INIT_FD_KEEPER, &more, NULL) != ERR_NONE)
		init_end("init: keeper closed\n");
	for (;;) {
		if (wire_rx_next(&in->rx, &msg, NULL) != ERR_NONE)
			init_end("init: malformed frame\n");
		if (msg == NULL)
			return;
		if (msg->type == IM_SPAWN)
			init_spawn(in, msg);
		else if (msg->type == IM_ADOPT)
			init_adopt(in, msg);
		else if (msg->type == IM_SIGNAL)
			init_signal(in, msg);
	}
}

/* For the children: what is ignored would be so in each program. */
static void init_ignore_none(void)
{
	struct sigaction dfl = {.sa_handler = SIG_DFL};

	for (int i = 1; i < NSIG; i++)
		sigaction(i, &dfl, NULL);
}

int main(int argc, char **argv)
{
	struct init in = {0};
	sigset_t all;
	int fd;

	if (argc == HUSK_WORDS)
		husk_become(argv);
	else
		init_ignore_none();
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	fcntl(INIT_FD_KEEPER, F_SETFD, FD_CLOEXEC);
	fcntl(INIT_FD_CGROUP, F_SETFD, FD_CLOEXEC);
	fcntl(INIT_FD_CALLS, F_SETFD, FD_CLOEXEC);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	sigemptyset(&all);
	sigaddset(&all, SIGCHLD);
	fd = signalfd(-1, &all, SFD_NONBLOCK | SFD_CLOEXEC);
	wire_rx_init(&in.rx, INIT_PAYLOAD_MAX);
	wire_tx_init(&in.tx, 1U << 20);
	if (fd < 0 || loop_open(&in.loop, NULL) != ERR_NONE ||
	    loop_add(&in.loop, &in.signals, fd, EPOLLIN, on_signals, &in,
		     NULL) != ERR_NONE ||
	    loop_add(&in.loop, &in.keeper, INIT_FD_KEEPER, EPOLLIN, on_keeper,
		     &in, NULL) != ERR_NONE)
		init_end("init: cannot start\n");
	in.calls = (struct init_calls){
	    .loop = &in.loop, .tell = say_calls, .arg = &in};
	init_calls_listen(&in.calls, INIT_FD_CALLS);
	init_say(&in, IM_HELLO, 0, NULL);
	loop_run(&in.loop);
	return 0;
}
