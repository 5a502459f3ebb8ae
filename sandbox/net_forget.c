#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/child.h"
#include "sandbox/net_forget.h"
#include "sandbox/net_lists.h"
#include "sandbox/net_slot.h"

#define FORGET_MS 200

/* All of a sandbox that is gone; of one that lives, what its lists forbid. */
static bool forgetting(void *arg, uint32_t mark, uint32_t to)
{
	const struct net *n = arg;

	return mark >= 1 && mark <= BERTH_SLOTS &&
	       n->forgets[mark - 1] == NET_FORGETTING &&
	       (n->state[mark - 1] == NET_GONE ||
		net_lists_forbid(n, mark - 1, to));
}

static void on_walked(void *arg, uint32_t events)
{
	struct net *n = arg;
	int status;

	(void)events;
	child_reap(n->walk_pidfd, &status);
	loop_del(&n->broker->loop, &n->walk_watch);
	own_fd(&n->walk_pidfd);
	if (status != 0)
		log_line(LOG_WARN, "connections were not forgotten: %#x",
			 (unsigned)status);
	for (uint32_t i = 0; i < BERTH_SLOTS; i++) {
		/* Those that came while it walked have their turn now. */
		if (n->forgets[i] == NET_FORGET ||
		    (n->forgets[i] == NET_FORGETTING && status != 0))
			net_forget_soon(n, i);
		if (n->forgets[i] != NET_FORGETTING)
			continue;
		n->forgets[i] = NET_KEEP;
		net_slot_forgotten(n, i);
	}
}

/*
 * The kernel's table is big and has no index by mark: one walk for all that
 * wait, and in a child, so that nobody waits for it.
 */
static void on_forget(void *arg)
{
	struct net *n = arg;
	uint32_t one = 0, count = 0;
	pid_t pid;

	for (uint32_t i = 0; i < BERTH_SLOTS; i++)
		if (n->forgets[i] == NET_FORGET) {
			n->forgets[i] = NET_FORGETTING;
			one = i + 1;
			count++;
		}
	pid = child_fork(&n->walk_pidfd);
	if (pid == 0)
		_exit(net_flow_forget(&n->flow, count == 1 ? one : 0,
				      forgetting, n) < 0);
	if (pid > 0 && loop_add(&n->broker->loop, &n->walk_watch, n->walk_pidfd,
				EPOLLIN, on_walked, n, NULL) == ERR_NONE)
		return;
	log_line(LOG_ERROR, "no child to forget connections");
	own_fd(&n->walk_pidfd);
	for (uint32_t i = 0; i < BERTH_SLOTS; i++)
		if (n->forgets[i] == NET_FORGETTING)
			net_forget_soon(n, i);
}

void net_forget_soon(struct net *n, uint32_t slot)
{
	n->forgets[slot] = NET_FORGET;
	if (n->walk_pidfd < 0 && !n->forget.armed)
		loop_timer_set(&n->broker->loop, &n->forget,
			       clock_mono_ms() + FORGET_MS, on_forget, n);
}

void net_forget_close(struct net *n)
{
	loop_timer_del(&n->broker->loop, &n->forget);
	loop_del(&n->broker->loop, &n->walk_watch);
	own_fd(&n->walk_pidfd); /* it ends by itself */
	for (uint32_t i = 0; i < BERTH_SLOTS; i++)
		n->forgets[i] = NET_KEEP;
}
