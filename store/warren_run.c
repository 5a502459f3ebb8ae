#include <limits.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "store/warren_cli.h"
#include "store/warren_run.h"

#define CMDLINE_MAX 16384

static bool run_dir_noted(const char *data, struct warren_run *r)
{
	char path[PATH_MAX];
	FILE *f;
	bool ok;

	if ((size_t)snprintf(path, sizeof(path), "%s/run-dir", data) >=
	    sizeof(path))
		return false;
	f = fopen(path, "re");
	if (f == NULL)
		return false;
	ok = fgets(r->dir, sizeof(r->dir), f) != NULL;
	fclose(f);
	if (ok)
		r->dir[strcspn(r->dir, "\n")] = '\0';
	return ok && r->dir[0] == '/';
}

/* As nginx/serve does it: one run directory for each data directory. */
static enum err run_dir_make(const char *data, struct warren_run *r,
			     struct errinfo *e)
{
	unsigned char hash[crypto_hash_sha256_BYTES];
	char real[PATH_MAX], hex[9];

	if (realpath(data, real) == NULL &&
	    (size_t)snprintf(real, sizeof(real), "%s", data) >= sizeof(real))
		return err_set(e, ERR_ARG, 0,
			       "the data directory's name is too long");
	crypto_hash_sha256(hash, (const unsigned char *)real, strlen(real));
	sodium_bin2hex(hex, sizeof(hex), hash, 4);
	if (strcmp(real, WARREN_DATA) == 0)
		snprintf(r->dir, sizeof(r->dir), "/run/warren");
	else
		snprintf(r->dir, sizeof(r->dir), "/run/warren-%s", hex);
	return ERR_NONE;
}

/* The process that listens on the broker's socket. */
static pid_t run_broker(const char *dir)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	OWN(own_fd)
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	struct ucred c = {.pid = 0};
	socklen_t len = sizeof(c);
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/broker.sock", dir);

	if (fd < 0 || n < 0 || (size_t)n >= sizeof(a.sun_path) ||
	    connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &len) < 0)
		return 0;
	return c.pid;
}

static void run_option(const char *line, size_t len, const char *name,
		       char *out, size_t size)
{
	const char *at = line, *end = line + len;

	while (at < end) {
		const char *next = at + strnlen(at, (size_t)(end - at)) + 1;

		if (strcmp(at, name) == 0 && next < end) {
			snprintf(out, size, "%s", next);
			return;
		}
		at = next;
	}
}

static void run_options(struct warren_run *r)
{
	static char line[CMDLINE_MAX];
	char path[64];
	FILE *f;
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)r->broker);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	n = fread(line, 1, sizeof(line) - 1, f);
	fclose(f);
	line[n] = '\0';
	snprintf(r->port, sizeof(r->port), "8080");
	run_option(line, n, "--domain", r->domain, sizeof(r->domain));
	run_option(line, n, "--port", r->port, sizeof(r->port));
}

enum err warren_run_find(const char *data, struct warren_run *r,
			 struct errinfo *e)
{
	enum err err = ERR_NONE;

	*r = (struct warren_run){.domain = "localhost"};
	if (!run_dir_noted(data, r))
		err = run_dir_make(data, r, e);
	if (err != ERR_NONE)
		return err;
	r->broker = run_broker(r->dir);
	if (r->broker > 0)
		run_options(r);
	return ERR_NONE;
}

bool warren_run_url(const struct warren_run *r, char *out, size_t size)
{
	bool tls = strcmp(r->port, "443") == 0;
	bool usual = tls || strcmp(r->port, "80") == 0;

	if (r->broker == 0)
		return false;
	return (size_t)snprintf(out, size, "http%s://%s%s%s", tls ? "s" : "",
				r->domain, usual ? "" : ":",
				usual ? "" : r->port) < size;
}
