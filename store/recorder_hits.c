/*
 * What nginx counted for previews: datagrams on R/preview/hits.sock of lines
 * "<port>-<sandbox> <requests> <bytes in> <bytes out> <errors> <unix ms>".
 * Who may connect there is nginx; a line that is none is passed over. What
 * comes while nobody listens here nginx keeps.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "store/ctl_sandbox.h"
#include "store/node_port.h"
#include "store/recorder_link.h"

#define DATAGRAM_MAX 65536
#define TURN_MAX 16 /* then keepers have theirs */

static bool hits_number(char **at, uint64_t max, char end, uint64_t *out)
{
	char *after;

	if (**at < '0' || **at > '9')
		return false;
	errno = 0;
	*out = strtoull(*at, &after, 10);
	if (errno != 0 || *out > max || *after != end)
		return false;
	*at = after + (end != '\0');
	return true;
}

static bool hits_line(char *line, id_sandbox_t sandbox, struct node_port *p)
{
	uint64_t port, last;

	if (!hits_number(&line, UINT16_MAX, '-', &port) || port == 0 ||
	    strlen(line) < ID_SANDBOX_LEN + 1 || line[ID_SANDBOX_LEN] != ' ')
		return false;
	memcpy(sandbox, line, ID_SANDBOX_LEN);
	sandbox[ID_SANDBOX_LEN] = '\0';
	line += ID_SANDBOX_LEN + 1;
	*p = (struct node_port){.port = (uint16_t)port};
	if (!id_sandbox_ok(sandbox) ||
	    !hits_number(&line, UINT64_MAX, ' ', &p->requests) ||
	    !hits_number(&line, UINT64_MAX, ' ', &p->bytes_in) ||
	    !hits_number(&line, UINT64_MAX, ' ', &p->bytes_out) ||
	    !hits_number(&line, UINT64_MAX, ' ', &p->errors) ||
	    !hits_number(&line, INT64_MAX, '\0', &last))
		return false;
	p->last_ms = (int64_t)last;
	return true;
}

/* Of a sandbox that was deleted meanwhile nothing is kept. */
static enum err hits_add(struct recorder *r, char *line, struct errinfo *e)
{
	id_sandbox_t sandbox;
	struct node_port p;
	bool exists;
	enum err err;

	if (!hits_line(line, sandbox, &p)) {
		log_line(LOG_WARN, "no count of a preview: %.80s", line);
		return ERR_NONE;
	}
	err = ctl_sandbox_exists(r->store, sandbox, &exists, e);
	return err == ERR_NONE && exists
		   ? node_port_hit(r->store, sandbox, &p, e)
		   : err;
}

static enum err hits_take(struct recorder *r, char *text, struct errinfo *e)
{
	char *line, *rest = text;
	enum err err = node_begin(r->store, e);

	while (err == ERR_NONE && (line = strsep(&rest, "\n")) != NULL)
		if (line[0] != '\0')
			err = hits_add(r, line, e);
	if (err == ERR_NONE)
		return node_commit(r->store, e);
	node_rollback(r->store);
	return err;
}

static void on_hits(void *arg, uint32_t events)
{
	static char text[DATAGRAM_MAX + 1]; /* one loop, no threads */
	struct recorder *r = arg;
	struct errinfo e;

	(void)events;
	for (int i = 0; i < TURN_MAX; i++) {
		ssize_t n = recv(r->hits, text, DATAGRAM_MAX, MSG_DONTWAIT);

		if (n <= 0)
			return;
		text[n] = '\0';
		if (hits_take(r, text, &e) != ERR_NONE)
			log_err("count requests of previews", &e);
	}
}

enum err recorder_hits_open(struct recorder *r, struct errinfo *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/preview/hits.sock",
			 r->conf.run_dir);

	if (n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(e, ERR_ARG, 0, "run directory too long");
	r->hits = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (r->hits < 0)
		return err_set(e, ERR_IO, errno, "socket");
	if (unlink(a.sun_path) < 0 && errno != ENOENT)
		return err_set(e, ERR_IO, errno, "unlink %s", a.sun_path);
	/* Who may come this far is decided by the directory. */
	if (bind(r->hits, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    chmod(a.sun_path, 0666) < 0)
		return err_set(e, ERR_IO, errno, "bind %s", a.sun_path);
	return loop_add(&r->loop, &r->hits_watch, r->hits, EPOLLIN, on_hits, r,
			e);
}

void recorder_hits_close(struct recorder *r)
{
	loop_del(&r->loop, &r->hits_watch);
	own_fd(&r->hits);
}
