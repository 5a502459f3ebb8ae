#include <errno.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/child.h"
#include "sandbox/live.h"
#include "sandbox/maker.h"
#include "sandbox/maker_order.h"

static void forget(struct maker *m)
{
	loop_del(&m->broker->loop, &m->watch);
	close(m->watch.fd);
	m->watch.fd = -1;
	for (int i = 0; i < m->nslots; i++)
		berth_free_slot(&m->broker->berths, m->slots[i]);
	m->nslots = m->ndisks = m->nkeepers = 0;
	waitpid(m->pid, NULL, 0);
	m->pid = 0;
}

static void end(struct maker *m)
{
	if (m->pid == 0)
		return;
	kill(m->pid, SIGKILL);
	forget(m);
}

void maker_stop(struct broker *b)
{
	for (int i = 0; i < MAKERS; i++)
		end(&b->makers[i]);
}

void maker_init(struct broker *b)
{
	static const enum maker_duty duties[MAKERS] = {
	    MAKER_BERTHS, MAKER_BERTHS, MAKER_DISKS, MAKER_KEEPERS, MAKER_ENDS};

	for (int i = 0; i < MAKERS; i++)
		b->makers[i] = (struct maker){
		    .broker = b, .duty = duties[i], .watch = LOOP_WATCH_INIT};
}

static void take_berth(struct maker *m, struct maker_parcel *p)
{
	struct berth_pool *pool = &m->broker->berths;
	struct berth b = BERTH_NONE;
	int i = 0;

	b.slot = p->order.slot;
	while (i < m->nslots && m->slots[i] != b.slot)
		i++;
	must(i < m->nslots);
	m->slots[i] = m->slots[--m->nslots];
	if (p->order.err != ERR_NONE || p->fds.n < 3) {
		berth_free_slot(pool, b.slot);
		return;
	}
	b.user_ns = p->fds.at[0];
	b.disk_ns = p->fds.at[1];
	b.net_ns = p->fds.at[2];
	if (p->fds.n == 6)
		b.husk = (struct spawn_child){.pid = p->order.pid,
					      .pidfd = p->fds.at[3],
					      .go = p->fds.at[4],
					      .report = p->fds.at[5]};
	p->fds.n = 0;
	berth_give(pool, &b);
}

static void take_disk(struct maker *m, struct maker_parcel *p)
{
	struct disk_spares *spares = &m->broker->disks.spares;
	struct disk_spare s;

	m->ndisks--;
	if (p->order.err != ERR_NONE || p->fds.n != 2)
		return;
	s = (struct disk_spare){.image = p->fds.at[0], .mount = p->fds.at[1]};
	p->fds.n = 0;
	disk_spare_give(spares, &s, p->order.generation);
}

static void take_keeper(struct maker *m, struct maker_parcel *p)
{
	struct keeper_waiting w;

	m->nkeepers--;
	if (p->order.err != ERR_NONE || p->fds.n != 2)
		return;
	w = (struct keeper_waiting){
	    .pid = p->order.pid, .pidfd = p->fds.at[0], .socket = p->fds.at[1]};
	p->fds.n = 0;
	keeper_seat_add(&m->broker->keepers, &w);
}

static bool take_one(struct maker *m)
{
	struct maker_parcel p;

	if (!maker_parcel_receive(m->watch.fd, &p, MSG_DONTWAIT)) {
		if (errno != EAGAIN) {
			log_line(LOG_ERROR, "the maker ended");
			end(m);
		}
		return false;
	}
	switch ((enum maker_kind)p.order.kind) {
	case MAKER_BERTH:
		take_berth(m, &p);
		break;
	case MAKER_DISK:
		take_disk(m, &p);
		break;
	case MAKER_KEEPER:
		take_keeper(m, &p);
		break;
	case MAKER_RELEASE:
	case MAKER_FORSAKE:
		break;
	}
	parcel_close(&p.fds);
	return true;
}

static void on_parcel(void *arg, uint32_t events)
{
	struct maker *m = arg;

	(void)events;
	while (m->pid != 0 && take_one(m))
		continue;
	live_resume(m->broker);
}

static enum err exec_maker(struct maker *m, int orders, struct errinfo *e)
{
	struct broker *b = m->broker;
	char name[] = "warren-maker", husks[] = MAKER_HUSKS,
	     none[] = MAKER_NO_HUSKS;
	char *const argv[] = {name, b->point,
			      cgroup_moves_fast(&b->cgroups) ? husks : none,
			      NULL};
	const int fds[] = {orders, b->sandboxes, b->init_program};
	const struct child_spec s = {
	    .program = b->maker_program, .argv = argv, .fds = fds, .nfds = 3};
	OWN(own_fd) int pidfd = -1;

	return child_start(&s, &m->pid, &pidfd, e);
}

static enum err exec_template(struct maker *m, int orders, struct errinfo *e)
{
	struct broker *b = m->broker;
	char name[] = "warren-keeper", id[] = SEAT_TEMPLATE;
	char *const argv[] = {name, id, b->empty, NULL};
	const int fds[] = {orders, b->keeper_program};
	const struct child_spec s = {
	    .program = b->keeper_program, .argv = argv, .fds = fds, .nfds = 2};
	OWN(own_fd) int pidfd = -1;

	return child_start(&s, &m->pid, &pidfd, e);
}

static void start(struct maker *m)
{
	OWN(own_fd) int ours = -1;
	OWN(own_fd) int its = -1;
	struct errinfo e;
	int fds[2];
	enum err r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	ours = fds[0];
	its = fds[1];
	r = m->duty == MAKER_KEEPERS ? exec_template(m, its, &e)
				     : exec_maker(m, its, &e);
	if (r != ERR_NONE) {
		log_err("maker", &e);
		m->pid = 0;
		return;
	}
	m->watch.fd = -1;
	must(loop_add(&m->broker->loop, &m->watch, ours, EPOLLIN, on_parcel, m,
		      NULL) == ERR_NONE);
	STEAL_FD(ours);
}

static bool ask(struct maker *m, const struct maker_parcel *p)
{
	return maker_parcel_send(m->watch.fd, p, MSG_DONTWAIT);
}

struct asked {
	int berths;
	int disks;
	int keepers;
};

static struct asked all_asked(const struct broker *b)
{
	struct asked a = {0};

	for (int i = 0; i < MAKERS; i++) {
		a.berths += b->makers[i].nslots;
		a.disks += b->makers[i].ndisks;
		a.keepers += b->makers[i].nkeepers;
	}
	return a;
}

/* Of two makers each gets its half. */
static void ask_berths(struct maker *m)
{
	struct berth_pool *pool = &m->broker->berths;
	int asked = all_asked(m->broker).berths;

	while (pool->nready + asked < pool->keep &&
	       m->nslots < (pool->keep + 1) / 2) {
		struct maker_parcel p = {.order = {.kind = MAKER_BERTH}};

		if (!berth_claim(pool, &p.order.slot))
			return;
		if (!ask(m, &p)) {
			berth_free_slot(pool, p.order.slot);
			return;
		}
		m->slots[m->nslots++] = p.order.slot;
		asked++;
	}
}

static void ask_keepers(struct maker *m)
{
	const struct maker_parcel p = {.order = {.kind = MAKER_KEEPER}};
	int asked = all_asked(m->broker).keepers;

	while (m->broker->keepers.nready + asked < SEATS_READY && ask(m, &p)) {
		m->nkeepers++;
		asked++;
	}
}

static void ask_disks(struct maker *m)
{
	struct disk_spares *s = &m->broker->disks.spares;

	while (s->template_fd >= 0 && s->nready + m->ndisks < DISK_SPARES) {
		struct maker_parcel p = {
		    .order = {.kind = MAKER_DISK, .generation = s->generation},
		    .fds = {{s->template_fd}, 1}};

		if (!ask(m, &p))
			return;
		m->ndisks++;
	}
}

static void refill(struct maker *m)
{
	if (m->pid == 0)
		start(m);
	if (m->pid == 0) {
		if (m->duty == MAKER_DISKS)
			(void)disk_spare_refill(&m->broker->disks.spares);
		return;
	}
	switch (m->duty) {
	case MAKER_BERTHS:
		ask_berths(m);
		return;
	case MAKER_DISKS:
		ask_disks(m);
		return;
	case MAKER_KEEPERS:
		ask_keepers(m);
		return;
	case MAKER_ENDS:
		return;
	}
}

void maker_refill(struct broker *b, enum maker_duty duty)
{
	for (int i = 0; i < MAKERS; i++)
		if (b->makers[i].duty == duty)
			refill(&b->makers[i]);
}

/* One after the other; to one that has too much to do nothing is sent. */
static bool ask_ender(struct broker *b, const struct maker_parcel *p)
{
	for (int i = 0; i < MAKERS; i++) {
		struct maker *m = &b->makers[(b->last_ender + 1 + i) % MAKERS];

		if (m->duty != MAKER_ENDS)
			continue;
		if (m->pid == 0)
			start(m);
		if (m->pid == 0 || !ask(m, p))
			continue;
		b->last_ender = (int)(m - b->makers);
		return true;
	}
	return false;
}

void maker_release(struct broker *b, int *tree, int *image, bool forsake)
{
	struct maker_parcel p = {.order = {.kind = MAKER_RELEASE}};

	if (*image >= 0) {
		p.order.kind = forsake ? MAKER_FORSAKE : MAKER_RELEASE;
		p.fds.at[p.fds.n++] = *image;
	}
	if (*tree >= 0)
		p.fds.at[p.fds.n++] = *tree;
	if (p.fds.n > 0 && !ask_ender(b, &p) && forsake)
		disk_forsake(&b->disks, *image);
	own_fd(image);
	own_fd(tree);
}

bool maker_lacks(const struct broker *b, bool disk)
{
	struct asked a = all_asked(b);

	return (b->berths.nready == 0 && a.berths > 0) ||
	       (disk && b->disks.spares.nready == 0 && a.disks > 0);
}
