#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "fcgi/preview_socket.h"

#define BACKLOG 512

#define CONNECT_MS 1000 /* on the sandbox's own loopback */

void preview_socket_key(const struct ctl_port *p, char out[PREVIEW_KEY_MAX])
{
	snprintf(out, PREVIEW_KEY_MAX, "%u-%s-%s", p->port, p->sandbox,
		 p->token);
}

bool preview_socket_checked(const struct ctl_port *p)
{
	return p->is_private || p->keep_host || p->expires_ms > 0;
}

static bool preview_socket_name(const struct request *rq,
				const struct ctl_port *p,
				struct sockaddr_un *out)
{
	char key[PREVIEW_KEY_MAX];
	int n;

	preview_socket_key(p, key);
	out->sun_family = AF_UNIX;
	n = snprintf(out->sun_path, sizeof(out->sun_path),
		     "%s/preview/%s%s.sock", rq->worker->run_dir,
		     preview_socket_checked(p) ? "x-" : "", key);
	return n > 0 && (size_t)n < sizeof(out->sun_path);
}

/* Several workers may open the same port: one after another. */
static int preview_socket_lock(const struct request *rq, const char *sandbox)
{
	char path[256];
	OWN(own_fd) int fd = -1;
	int n = snprintf(path, sizeof(path), "%s/preview/%s.lock",
			 rq->worker->run_dir, sandbox);

	if (n < 0 || (size_t)n >= sizeof(path))
		return -1;
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		return -1;
	return STEAL_FD(fd);
}

void preview_socket_forget(const struct request *rq, const char *sandbox)
{
	char path[256];
	int n = snprintf(path, sizeof(path), "%s/preview/%s.lock",
			 rq->worker->run_dir, sandbox);

	if (n > 0 && (size_t)n < sizeof(path))
		unlink(path);
}

static int preview_socket_dial(const struct request *rq,
			       const struct ctl_port *p)
{
	struct sockaddr_un a = {0};
	OWN(own_fd) int fd = -1;

	if (!preview_socket_name(rq, p, &a))
		return -1;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -1;
	return STEAL_FD(fd);
}

bool preview_socket_alive(const struct request *rq, const struct ctl_port *p)
{
	OWN(own_fd) int fd = preview_socket_dial(rq, p);

	return fd >= 0;
}

bool preview_socket_answers(struct request *rq, const struct ctl_port *p)
{
	OWN(link_close) struct link l = LINK_INIT;
	OWN(buf_free) struct buf b = BUF_INIT(64);
	struct wire_msg *msg = NULL;
	struct wire_in in;
	struct errinfo e;
	bool open;

	wire_u16(&b, p->port);
	wire_u8(&b, false);
	wire_u32(&b, CONNECT_MS);
	wire_str(&b, "");
	if (link_open(rq, LINK_LIVE, &l, &e) != ERR_NONE ||
	    link_call(&l, KM_PORT_CHECK, &b, &msg, &e) != ERR_NONE ||
	    msg->type != KM_PORT_IS)
		return false;
	in = wire_in(msg);
	open = wire_in_u8(&in) != 0;
	wire_in_u16(&in);
	return wire_in_done(&in) && open;
}

/* nginx's user is in the directory's group; the socket itself is open. */
static enum err preview_socket_bind(const struct request *rq,
				    const struct ctl_port *p, int *out,
				    struct errinfo *e)
{
	struct sockaddr_un a = {0};
	OWN(own_fd) int fd = -1;

	if (!preview_socket_name(rq, p, &a))
		return err_set(e, ERR_ARG, 0, "run directory too long");
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_set(e, ERR_IO, errno, "preview socket");
	if (unlink(a.sun_path) < 0 && errno != ENOENT)
		return err_set(e, ERR_IO, errno, "unlink a preview socket");
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    chmod(a.sun_path, 0666) < 0 || listen(fd, BACKLOG) < 0) {
		int sys = errno;

		unlink(a.sun_path);
		return err_set(e, ERR_IO, sys, "bind a preview socket");
	}
	*out = STEAL_FD(fd);
	return ERR_NONE;
}

enum err preview_socket_open(struct link *l, const struct ctl_port *p,
			     struct errinfo *e)
{
	OWN(own_fd) int lock = preview_socket_lock(l->rq, p->sandbox);
	OWN(own_fd) int fd = -1;
	OWN(buf_free) struct buf b = BUF_INIT(256);
	struct sockaddr_un a = {0};
	char key[PREVIEW_KEY_MAX];
	enum err r;

	if (lock < 0)
		return err_set(e, ERR_IO, errno, "preview lock");
	if (preview_socket_alive(l->rq, p))
		return ERR_NONE;
	r = preview_socket_bind(l->rq, p, &fd, e);
	if (r != ERR_NONE)
		return r;
	preview_socket_key(p, key);
	wire_u16(&b, p->port);
	wire_str(&b, key);
	if (l->rq->worker->preview.bytes_per_s > 0)
		wire_u64(&b, l->rq->worker->preview.bytes_per_s);
	r = link_call_fds(l, KM_PORT_OPEN, &b, &fd, 1, NULL, e);
	if (r != ERR_NONE && preview_socket_name(l->rq, p, &a))
		unlink(a.sun_path);
	return r;
}

void preview_socket_close(struct request *rq, const struct ctl_port *p)
{
	OWN(own_fd) int lock = preview_socket_lock(rq, p->sandbox);
	OWN(link_close) struct link l = LINK_INIT;
	OWN(buf_free) struct buf b = BUF_INIT(256);
	struct sockaddr_un a = {0};
	struct errinfo e;
	char key[PREVIEW_KEY_MAX];
	enum err r;

	if (preview_socket_name(rq, p, &a))
		unlink(a.sun_path);
	preview_socket_key(p, key);
	wire_str(&b, key);
	link_watch(&l, false);
	r = link_open(rq, LINK_LIVE, &l, &e);
	if (r == ERR_NONE)
		r = link_call(&l, KM_PORT_CLOSE, &b, NULL, &e);
	if (r != ERR_NONE && r != ERR_GONE && r != ERR_NOT_FOUND)
		log_err("close a preview", &e);
}

void preview_socket_reopen(struct request *rq)
{
	OWN(ctl_port_list_free) struct ctl_port_list ports = {0};
	OWN(link_close) struct link l = LINK_INIT;
	struct errinfo e = {0};
	enum err r = ctl_port_list(rq->store, rq->auth.tenant, rq->sandbox.id,
				   &ports, &e);

	if (r != ERR_NONE || ports.n == 0) {
		if (r != ERR_NONE)
			log_err("list ports", &e);
		return;
	}
	link_watch(&l, false);
	r = link_open(rq, LINK_LIVE, &l, &e);
	for (size_t i = 0; r == ERR_NONE && i < ports.n; i++)
		r = preview_socket_open(&l, &ports.rows[i], &e);
	if (r != ERR_NONE)
		log_err("reopen ports", &e);
}
