/*
 * The broker: the one program with power. It clones, mounts, makes cgroups
 * and sockets, on fixed-size messages only; it parses no text of a tenant.
 */
#ifndef SANDBOX_BROKER_H
#define SANDBOX_BROKER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/broker_msg.h"
#include "base/loop.h"
#include "sandbox/berth.h"
#include "sandbox/cgroup.h"
#include "sandbox/disk.h"
#include "sandbox/filter.h"
#include "sandbox/flow.h"
#include "sandbox/keeper_seat.h"
#include "sandbox/maker.h"
#include "sandbox/net.h"
#include "sandbox/trash.h"

#define BROKER_ROLES_MAX 18 /* recorder, terminals and at most 16 workers */

struct live;
struct peer;
struct zygotes;

struct broker_conf {
	const char *data;
	const char *run;
	const char *domain;
	const char *port;
	int workers;
	uint32_t disk_overcommit; /* see disk.h; at least 1 */
	bool core_handler;        /* see host.h; allowed */
};

struct role {
	struct broker *broker;
	const char *name;
	int program;
	int socket; /* what it listens at; or -1 */
	pid_t pid;
	int pidfd;
	struct loop_watch watch;
	struct loop_timer restart;
	int64_t started_ms;
	int delay_ms; /* before the next restart, when it ends too soon */
};

struct broker {
	struct broker_conf conf;
	const char *instance; /* the run directory's last part */
	struct loop loop;
	struct loop_watch listen;
	struct loop_watch signals;
	int sandboxes; /* D/sandboxes */
	int images;    /* D/images */
	int run;       /* R */
	int init_program;
	int keeper_program;
	int maker_program;
	int fcgi_socket;
	int terminal_socket;
	uid_t warren_uid;
	gid_t warren_gid;
	gid_t web_gid;
	char point[256]; /* R/mnt: where trees are built */
	char empty[256]; /* R/empty: a keeper's root */
	struct cgroup_root cgroups;
	struct berth_pool berths;
	struct disk_root disks;
	struct net net;
	struct maker makers[MAKERS];
	int last_ender; /* of them; see maker_release() */
	struct keeper_pool keepers;
	struct loop_timer refill;
	struct flows flows;
	struct loop_timer turns;
	struct filter filter;
	struct live *lives;
	struct peer *peers;
	int npeers;
	struct trash trash;
	struct role roles[BROKER_ROLES_MAX];
	int nroles;
	struct zygotes *zygotes;
	bool stopping;
};

/**
 * broker_open(b, conf, e):
 * Check and make the directories, compile the filter, listen, adopt the
 * sandboxes of an earlier broker, start the roles. Errors: any; the program
 * ends then with one sentence.
 */
FALLIBLE enum err broker_open(struct broker *b, const struct broker_conf *conf,
			      struct errinfo *e);

/** broker_poke(b): Something that is made ahead was taken: make more soon. */
void broker_poke(struct broker *b);

/** broker_run(b): Serve until SIGTERM or SIGINT, then stop everything. */
void broker_run(struct broker *b);

/** broker_peer_accept(b, events): A new connection waits at R/broker.sock; it
 * is served from now on, if its user may be. */
void broker_peer_accept(void *arg, uint32_t events);

/** broker_answer(peer, req, code, step): Answer a request; NULL is fine. */
void broker_answer(struct peer *peer, const struct broker_req *req,
		   enum err code, uint32_t step);

/** broker_request(b, peer, req): Act on a checked request. */
void broker_request(struct broker *b, struct peer *peer,
		    const struct broker_req *req);

#endif
