/* warren doctor: is the service alive, and whose is its port? */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/broker_msg.h"
#include "base/clock.h"
#include "base/id.h"
#include "store/warren_doctor.h"

#define PING_LIMIT_MS 3000
#define START_IT "sudo nginx/serve (with the same --data and --port)"

struct alive_count {
	int workers;
	int recorders;
	int keepers;
};

/* Programs are known by their argv[0]: /proc's comm may be a number. */
static void alive_count_one(int pid, struct alive_count *n)
{
	char path[64], name[128] = "";
	FILE *f;

	/* A keeper that waits for a sandbox has no id yet. */
	snprintf(path, sizeof(path), "/proc/%d/cmdline", pid);
	f = fopen(path, "re");
	if (f == NULL)
		return;
	name[fread(name, 1, sizeof(name) - 1, f)] = '\0';
	fclose(f);
	n->workers += strcmp(name, "warren-fcgi") == 0;
	n->recorders += strcmp(name, "warren-recorder") == 0;
	n->keepers += strcmp(name, "warren-keeper") == 0 &&
		      id_sandbox_ok(name + strlen(name) + 1);
}

static struct alive_count alive_count(pid_t broker)
{
	struct alive_count n = {0};
	char path[64];
	FILE *f;
	int pid;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)broker,
		 (int)broker);
	f = fopen(path, "re");
	while (f != NULL && fscanf(f, "%d", &pid) == 1)
		alive_count_one(pid, &n);
	if (f != NULL)
		fclose(f);
	return n;
}

static bool alive_broker(struct doctor *d)
{
	struct broker_req ping = {.type = BROKER_PING};
	struct errinfo e;
	int64_t start = clock_mono_ms();

	if (broker_call(d->run.dir, &ping, start + PING_LIMIT_MS, &e) !=
	    ERR_NONE) {
		if (e.sys == EACCES)
			check_add(&d->list, CHECK_WARN, "broker",
				  "sudo warren doctor", "only root may ask it");
		else
			check_add(&d->list, CHECK_MISSING, "broker", START_IT,
				  "nothing answers on %s/broker.sock: %s",
				  d->run.dir, e.text);
		return false;
	}
	check_add(&d->list, CHECK_OK, "broker", "", "pid %d answers in %lld ms",
		  (int)d->run.broker, (long long)(clock_mono_ms() - start));
	return true;
}

static void alive_roles(struct doctor *d)
{
	static const char fix[] =
	    "look into warrend.log: the broker starts again what ends";
	struct alive_count n = alive_count(d->run.broker);

	if (n.workers > 0 && n.recorders == 1)
		check_add(&d->list, CHECK_OK, "programs", "",
			  "%d workers, the recorder, %d sandboxes", n.workers,
			  n.keepers);
	else
		check_add(&d->list, CHECK_MISSING, "programs", fix,
			  "%d workers, %d recorders run", n.workers,
			  n.recorders);
}

/* The port that the configuration names; 0: none. */
static unsigned configured_port(const char *data)
{
	char path[PATH_MAX], line[1024];
	unsigned port = 0;
	FILE *f = NULL;

	if ((size_t)snprintf(path, sizeof(path), "%s/nginx/nginx.conf", data) <
	    sizeof(path))
		f = fopen(path, "re");
	while (f != NULL && port == 0 && fgets(line, sizeof(line), f) != NULL) {
		char *at = strstr(line, "listen ");
		char *end = at != NULL ? strpbrk(at + 7, " ;") : NULL;

		if (end == NULL || at[strspn(line, " \t")] == '#')
			continue;
		*end = '\0';
		at = strrchr(at + 7, ':') != NULL ? strrchr(at + 7, ':') + 1
						  : at + 7;
		port = (unsigned)strtoul(at, NULL, 10);
	}
	if (f != NULL)
		fclose(f);
	return port;
}

/* Somebody listens on it, on any address. */
static bool port_taken(unsigned port)
{
	static const char *const files[] = {"/proc/net/tcp", "/proc/net/tcp6"};
	bool taken = false;

	for (size_t i = 0; i < 2; i++) {
		char line[512];
		FILE *f = fopen(files[i], "re");
		unsigned local, state;

		while (f != NULL && fgets(line, sizeof(line), f) != NULL)
			if (sscanf(line, " %*u: %*[0-9A-F]:%x %*[0-9A-F:] %x",
				   &local, &state) == 2 &&
			    state == 0x0a && local == port)
				taken = true;
		if (f != NULL)
			fclose(f);
	}
	return taken;
}

static void alive_port(struct doctor *d, bool runs)
{
	unsigned port = configured_port(d->data);
	bool taken = port != 0 && port_taken(port);

	if (port == 0)
		return; /* the configuration's own check tells */
	if (runs && taken)
		check_add(&d->list, CHECK_OK, "port", "",
			  "port %u is listened on", port);
	else if (runs)
		check_add(&d->list, CHECK_WARN, "port",
			  "start nginx: " START_IT, "nobody listens on port %u",
			  port);
	else if (taken)
		check_add(&d->list, CHECK_MISSING, "port",
			  "choose another by --port, or end that program",
			  "port %u is taken by another program", port);
	else
		check_add(&d->list, CHECK_OK, "port", "", "port %u is free",
			  port);
}

void warren_alive(struct doctor *d)
{
	bool runs = alive_broker(d);

	if (runs)
		alive_roles(d);
	alive_port(d, runs);
}
