#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/disk_loop.h"
#include "sandbox/live.h"
#include "sandbox/maker.h"
#include "sandbox/parcel.h"

enum maker_kind { MAKER_BERTH = 1, MAKER_DISK, MAKER_KEEPER, MAKER_FORSAKE };
enum { FD_SOCKET = 3, FD_IMAGES, FD_KEEPER, FD_INIT }; /* the child's */

/* An order, and the same with descriptors as its answer. */
struct order {
	uint32_t kind;       /* enum maker_kind */
	uint32_t slot;       /* MAKER_BERTH */
	uint32_t generation; /* MAKER_DISK: of what limits */
	int32_t pid;         /* the answer: of the keeper, of a husk */
	uint32_t err;
};

struct parcel {
	struct order order;
	struct parcel_fds fds;
};

static bool send_one(int to, const struct parcel *p, int flags)
{
	return parcel_send(to, &p->order, sizeof(p->order), &p->fds, flags);
}

static bool receive_one(int from, struct parcel *p, int flags)
{
	return parcel_receive(from, &p->order, sizeof(p->order), &p->fds,
			      flags);
}

/* ---- the child ---- */

/* Only where it can get into its cgroups without a wait. */
static void add_husk(const struct broker *b, const struct berth *berth,
		     struct parcel *p)
{
	const struct spawn_plan plan = {
	    .mounts = {.point = b->point,
		       .root_uid = berth_uid(berth->slot, 0)},
	    .net_ns = berth->net_ns,
	    .user_ns = berth->user_ns,
	    .init_program = FD_INIT,
	    .filter = &b->filter};
	struct spawn_child husk;
	struct errinfo e;

	if (!cgroup_moves_fast(&b->cgroups))
		return;
	if (spawn_husk(&plan, &husk, &e) != ERR_NONE) {
		log_err("husk", &e);
		return;
	}
	p->order.pid = husk.pid;
	p->fds.at[p->fds.n++] = husk.pidfd;
	p->fds.at[p->fds.n++] = husk.go;
	p->fds.at[p->fds.n++] = husk.report;
}

static enum err make_berth(const struct broker *b, struct parcel *p,
			   struct errinfo *e)
{
	struct berth n;
	enum err r = berth_make(p->order.slot, &n, e);

	if (r != ERR_NONE)
		return r;
	p->fds = (struct parcel_fds){{n.user_ns, n.disk_ns, n.net_ns}, 3};
	add_husk(b, &n, p);
	return ERR_NONE;
}

/* The order has the template. */
static enum err make_disk(struct parcel *p, struct errinfo *e)
{
	struct disk_spare s;
	enum err r;

	if (p->fds.n != 1)
		return err_set(e, ERR_ARG, 0, "no template");
	r = disk_spare_make(FD_IMAGES, p->fds.at[0], &s, e);
	parcel_close(&p->fds);
	if (r == ERR_NONE)
		p->fds = (struct parcel_fds){{s.image, s.mount}, 2};
	return r;
}

static enum err make_keeper(struct parcel *p, const char *empty,
			    struct errinfo *e)
{
	struct keeper_waiting w;

	if (!keeper_seat_start(FD_KEEPER, empty, &w))
		return err_set(e, ERR_IO, errno, "keeper");
	p->order.pid = w.pid;
	p->fds = (struct parcel_fds){{w.pidfd, w.socket}, 2};
	return ERR_NONE;
}

static enum err make(const struct broker *b, struct parcel *p,
		     struct errinfo *e)
{
	switch ((enum maker_kind)p->order.kind) {
	case MAKER_BERTH:
		return make_berth(b, p, e);
	case MAKER_DISK:
		return make_disk(p, e);
	case MAKER_KEEPER:
		return make_keeper(p, b->empty, e);
	case MAKER_FORSAKE:
		break;
	}
	return err_set(e, ERR_ARG, 0, "order");
}

noreturn static void maker_main(const struct broker *b, int socket_fd)
{
	int keeper = fcntl(b->keeper_program, F_DUPFD_CLOEXEC, FD_INIT + 1);
	int images = fcntl(b->sandboxes, F_DUPFD_CLOEXEC, FD_INIT + 1);
	int init = fcntl(b->init_program, F_DUPFD_CLOEXEC, FD_INIT + 1);
	struct parcel p;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "warrend-maker");
	if (keeper < 0 || images < 0 || init < 0 ||
	    dup2(socket_fd, FD_SOCKET) < 0 || dup2(images, FD_IMAGES) < 0 ||
	    dup2(keeper, FD_KEEPER) < 0 || dup2(init, FD_INIT) < 0 ||
	    close_range(FD_INIT + 1, ~0U, 0) < 0)
		_exit(1);
	while (receive_one(FD_SOCKET, &p, 0)) {
		struct errinfo e;
		enum err r;

		if (p.order.kind == MAKER_FORSAKE) { /* no answer */
			if (p.fds.n == 1)
				disk_loop_forsake(p.fds.at[0], FD_IMAGES);
			parcel_close(&p.fds);
			continue;
		}
		r = make(b, &p, &e);
		if (r != ERR_NONE)
			log_err("maker", &e);
		p.order.err = r;
		if (!send_one(FD_SOCKET, &p, 0))
			break;
		parcel_close(&p.fds);
	}
	_exit(0);
}

/* ---- the broker's side ---- */

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
	    MAKER_BERTHS, MAKER_BERTHS, MAKER_DISKS, MAKER_ENDS};

	for (int i = 0; i < MAKERS; i++)
		b->makers[i] = (struct maker){
		    .broker = b, .duty = duties[i], .watch = LOOP_WATCH_INIT};
}

static void take_berth(struct maker *m, struct parcel *p)
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

static void take_disk(struct maker *m, struct parcel *p)
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

static void take_keeper(struct maker *m, struct parcel *p)
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
	struct parcel p;

	if (!receive_one(m->watch.fd, &p, MSG_DONTWAIT)) {
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

static void start(struct maker *m)
{
	int fds[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return;
	pid = fork();
	if (pid == 0)
		maker_main(m->broker, fds[1]);
	close(fds[1]);
	m->watch.fd = -1;
	if (pid < 0 || loop_add(&m->broker->loop, &m->watch, fds[0], EPOLLIN,
				on_parcel, m, NULL) != ERR_NONE) {
		close(fds[0]);
		return;
	}
	m->pid = pid;
}

static bool ask(struct maker *m, const struct parcel *p)
{
	return send_one(m->watch.fd, p, MSG_DONTWAIT);
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
		struct parcel p = {.order = {.kind = MAKER_BERTH}};

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
	const struct parcel p = {.order = {.kind = MAKER_KEEPER}};
	int asked = all_asked(m->broker).keepers;

	while (m->broker->keepers.nready + asked < SEATS_READY &&
	       m->nkeepers < SEATS_READY / 2 && ask(m, &p)) {
		m->nkeepers++;
		asked++;
	}
}

static void ask_disks(struct maker *m)
{
	struct disk_spares *s = &m->broker->disks.spares;

	while (s->template_fd >= 0 && s->nready + m->ndisks < DISK_SPARES) {
		struct parcel p = {
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
	if (m->duty == MAKER_DISKS && m->pid == 0) {
		(void)disk_spare_refill(&m->broker->disks.spares);
	} else if (m->duty == MAKER_DISKS) {
		ask_disks(m);
	} else if (m->pid != 0) {
		ask_berths(m);
		ask_keepers(m);
	}
}

void maker_refill(struct broker *b, enum maker_duty duty)
{
	for (int i = 0; i < MAKERS; i++)
		if (b->makers[i].duty == duty)
			refill(&b->makers[i]);
}

bool maker_forsake(struct broker *b, int *mount)
{
	const struct parcel p = {.order = {.kind = MAKER_FORSAKE},
				 .fds = {{*mount}, 1}};
	struct maker *m = &b->makers[MAKERS - 1];

	must(m->duty == MAKER_ENDS);
	if (m->pid == 0)
		start(m);
	if (m->pid == 0 || !ask(m, &p))
		return false;
	own_fd(mount);
	return true;
}

bool maker_lacks(const struct broker *b, bool disk)
{
	struct asked a = all_asked(b);

	return (b->berths.nready == 0 && a.berths > 0) ||
	       (disk && b->disks.spares.nready == 0 && a.disks > 0);
}
