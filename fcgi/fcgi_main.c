/*
 * warren-fcgi --data D --run R --domain NAME --port N
 * warren-fcgi --check --data D: says what is wrong with [pool], [backup] and
 * [preview] of D/warren.ini
 *
 * A worker: unprivileged, speaks FastCGI on descriptor 3 (a listening socket
 * that the broker made), JSON and SQL. All it can do to a sandbox is to ask
 * its keeper.
 */
#include <errno.h>
#include <fcgiapp.h>
#include <getopt.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/id.h"
#include "base/log.h"
#include "fcgi/accept.h"
#include "fcgi/backup_sweep.h"
#include "fcgi/code_spare.h"
#include "fcgi/life_sweep.h"
#include "fcgi/store_pool.h"

#define LISTEN_FD 3

static bool main_args(int argc, char **argv, struct worker *w, bool *check)
{
	static const struct option options[] = {
	    {"data", required_argument, NULL, 'd'},
	    {"run", required_argument, NULL, 'r'},
	    {"domain", required_argument, NULL, 'n'},
	    {"port", required_argument, NULL, 'p'},
	    {"check", no_argument, NULL, 'c'},
	    {NULL, 0, NULL, 0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		char *end;

		switch (c) {
		case 'd':
			w->data_dir = optarg;
			break;
		case 'r':
			w->run_dir = optarg;
			break;
		case 'n':
			w->domain = optarg;
			break;
		case 'p':
			w->port = (int)strtol(optarg, &end, 10);
			if (*end != '\0' || w->port < 1 || w->port > 65535)
				return false;
			break;
		case 'c':
			*check = true;
			break;
		default:
			return false;
		}
	}
	return optind == argc;
}

static bool main_listens(void)
{
	int on = 0;
	socklen_t n = sizeof(on);

	return getsockopt(LISTEN_FD, SOL_SOCKET, SO_ACCEPTCONN, &on, &n) == 0 &&
	       on != 0;
}

/*
 * malloc keeps freed pieces for each thread, and with many threads that wait
 * these are most of what a waiting one takes: 40 KiB; stacks of those that
 * ended stay as well, and each has room for libraries that come later. The C
 * library is told only by the environment.
 */
static void main_tune(char **argv)
{
	static const char tunables[] = "glibc.malloc.tcache_max=64:"
				       "glibc.pthread.stack_cache_size=4194304:"
				       "glibc.rtld.nns=1:"
				       "glibc.rtld.optional_static_tls=0";

	if (getenv("GLIBC_TUNABLES") == NULL &&
	    setenv("GLIBC_TUNABLES", tunables, 1) == 0)
		execv("/proc/self/exe", argv);
	/* As which that would be known, or it is as before. */
	prctl(PR_SET_NAME, "warren-fcgi");
}

static void main_limits(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	/* Many threads must not mean many heaps, nor large buffers, of which
	 * little is used, stay in them. */
	mallopt(M_ARENA_MAX, 4);
	mallopt(M_MMAP_THRESHOLD, 64 << 10);
	mallopt(M_TRIM_THRESHOLD, 1 << 20);
	umask(077);
	signal(SIGPIPE, SIG_IGN);
	/* Who listens for it, and why: accept.c. */
	prctl(PR_SET_PDEATHSIG, ACCEPT_ORPHAN, 0, 0, 0);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
}

static enum err main_serve(const struct worker *w, struct errinfo *e)
{
	struct store_ckpt *ckpt = NULL;
	struct store_conn *c = NULL;
	struct errinfo ignored;
	enum err r;

	store_pool_init(w->data_dir);
	r = store_pool_take(&c, e);
	if (r != ERR_NONE)
		return r;
	store_pool_give(&c);
	r = store_ckpt_start(w->data_dir, false, &ckpt, e);
	if (r != ERR_NONE)
		return r;
	if (code_spare_open(w, &ignored) != ERR_NONE)
		log_err("no spare kernels", &ignored);
	if (backup_sweep_start(w, &ignored) != ERR_NONE)
		log_err("no backups", &ignored);
	r = life_sweep_start(w, e);
	if (r != ERR_NONE)
		return r;
	r = accept_run(w, LISTEN_FD, e);
	store_pool_close();
	store_ckpt_stop(&ckpt);
	return r;
}

static int main_check(const struct worker *w)
{
	struct backup_conf backup;
	struct preview_conf preview;
	struct errinfo e;

	if (code_spare_open(w, &e) == ERR_NONE &&
	    backup_conf_read(w->data_dir, &backup, &e) == ERR_NONE &&
	    preview_conf_read(w->data_dir, &preview, &e) == ERR_NONE)
		return 0;
	fprintf(stderr, "%s\n", e.text);
	return 1;
}

int main(int argc, char **argv)
{
	struct worker w = {.data_dir = "/var/lib/warren",
			   .run_dir = "/run/warren",
			   .domain = "localhost",
			   .port = 8080};
	struct errinfo e = {0};
	bool check = false;

	main_tune(argv);
	log_open("warren-fcgi", LOG_INFO);
	if (!main_args(argc, argv, &w, &check)) {
		fprintf(stderr, "usage: warren-fcgi --data DIR --run DIR "
				"--domain NAME --port N 3<listening socket\n"
				"       warren-fcgi --check --data DIR\n");
		return 2;
	}
	if (check)
		return main_check(&w);
	if (!main_listens()) {
		log_line(LOG_ERROR, "descriptor 3 is no listening socket");
		return 2;
	}
	accept_block_signals();
	main_limits();
	id_init();
	FCGX_Init();
	/* What an operator has closed is not opened by a mistake. */
	if (preview_conf_read(w.data_dir, &w.preview, &e) != ERR_NONE) {
		log_err("no port is exposed until this is put right", &e);
		w.preview.closed = true;
	}
	if (main_serve(&w, &e) != ERR_NONE) {
		log_err("worker", &e);
		return 1;
	}
	return 0;
}
