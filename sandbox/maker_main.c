/*
 * warren-maker POINT MAKER_HUSKS|MAKER_NO_HUSKS: see maker.h. Started by the
 * broker as root, with the descriptors of maker_order.h.
 */
#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/berth.h"
#include "sandbox/disk_loop.h"
#include "sandbox/disk_spare.h"
#include "sandbox/filter.h"
#include "sandbox/inject.h"
#include "sandbox/maker_order.h"

#define PROC_USES 8

struct maker_self {
	const char *point; /* R/mnt: where trees are built */
	bool husks;
	int filter; /* filter_share() */
	int proc;
	int uses; /* of that */
};

/*
 * A /proc of our own, and a new one now and then: the kernel keeps files of
 * the same name in one list, whichever namespace they are of, and would walk
 * through those of all sandboxes for each that is opened.
 */
static enum err renew_proc(struct maker_self *self, struct errinfo *e)
{
	OWN(own_fd) int fs = -1;

	if (self->proc >= 0 && self->uses++ < PROC_USES)
		return ERR_NONE;
	own_fd(&self->proc);
	self->uses = 0;
	fs = fsopen("proc", FSOPEN_CLOEXEC);
	if (fs >= 0 && fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == 0)
		self->proc = fsmount(fs, FSMOUNT_CLOEXEC,
				     MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV |
					 MOUNT_ATTR_NOEXEC);
	return self->proc >= 0 ? ERR_NONE : err_set(e, ERR_IO, errno, "proc");
}

static void add_husk(const struct maker_self *self, const struct berth *berth,
		     struct maker_parcel *p)
{
	const struct spawn_plan plan = {
	    .mounts = {.point = self->point,
		       .root_uid = berth_uid(berth->slot, 0)},
	    .net_ns = berth->net_ns,
	    .user_ns = berth->user_ns,
	    .init_program = MAKER_FD_INIT,
	    .filter_fd = self->filter};
	struct spawn_child husk;
	struct errinfo e;

	if (!self->husks)
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

static enum err make_berth(struct maker_self *self, struct maker_parcel *p,
			   struct errinfo *e)
{
	struct berth n;
	enum err r = renew_proc(self, e);

	if (r == ERR_NONE)
		r = berth_make(p->order.slot, self->proc, &n, e);
	if (r != ERR_NONE)
		return r;
	p->fds = (struct parcel_fds){{n.user_ns, n.disk_ns, n.net_ns}, 3};
	add_husk(self, &n, p);
	return ERR_NONE;
}

/* The order has the template. */
static enum err make_disk(struct maker_parcel *p, struct errinfo *e)
{
	struct disk_spare s;
	enum err r;

	if (p->fds.n != 1)
		return err_set(e, ERR_ARG, 0, "no template");
	r = disk_spare_make(MAKER_FD_IMAGES, p->fds.at[0], &s, e);
	parcel_close(&p->fds);
	if (r == ERR_NONE)
		p->fds = (struct parcel_fds){{s.image, s.mount}, 2};
	return r;
}

static void make(struct maker_self *self, struct maker_parcel *p)
{
	struct errinfo e;
	enum err r = err_set(&e, ERR_ARG, 0, "order");

	if (p->order.kind == MAKER_BERTH)
		r = make_berth(self, p, &e);
	else if (p->order.kind == MAKER_DISK)
		r = make_disk(p, &e);
	if (r != ERR_NONE)
		log_err("maker", &e);
	p->order.err = r;
}

static enum err share_filter(int *fd, struct errinfo *e)
{
	struct filter f;
	enum err r = filter_compile(&f, e);

	if (r != ERR_NONE)
		return r;
	*fd = filter_share(&f);
	r = *fd < 0 ? err_set(e, ERR_IO, errno, "filter") : ERR_NONE;
	filter_free(&f);
	return r;
}

static int serve(struct maker_self *self)
{
	struct maker_parcel p;

	while (maker_parcel_receive(MAKER_FD_ORDERS, &p, 0)) {
		bool end = p.order.kind == MAKER_RELEASE ||
			   p.order.kind == MAKER_FORSAKE;

		if (p.order.kind == MAKER_FORSAKE && p.fds.n > 0)
			disk_loop_forsake(p.fds.at[0], MAKER_FD_IMAGES);
		if (!end) {
			make(self, &p);
			if (!maker_parcel_send(MAKER_FD_ORDERS, &p, 0))
				break;
		}
		parcel_close(&p.fds);
	}
	return 0;
}

int main(int argc, char **argv)
{
	struct maker_self self = {.proc = -1};
	struct errinfo e;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "warrend-maker");
	setpriority(PRIO_PROCESS, 0, MAKER_NICE);
	signal(SIGPIPE, SIG_IGN);
	if (argc != 3) {
		fputs("warren-maker is started by warrend\n", stderr);
		return 2;
	}
	log_open("maker", LOG_INFO);
	self.point = argv[1];
	self.husks = strcmp(argv[2], MAKER_HUSKS) == 0;
	inject_use_of(self.point);
	if (share_filter(&self.filter, &e) != ERR_NONE) {
		log_err("maker", &e);
		return 1;
	}
	malloc_trim(0);
	return serve(&self);
}
