/*
 * libwarren-enter for Node's zygote: a Node-API addon. It is built with the
 * image, by kernels/install.sh; see kernels/node/zygote.cjs for its use.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <node_api.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sandbox/enter.h"

#define LOOP_FDS 64
#define FD_MARK SIGRTMAX /* set by F_SETSIG; it is never sent */
#define FD_CONTROL 3

/* Node's own, of libuv and OpenSSL; their headers need not be there. */
int uv_loop_fork(struct uv_loop_s *loop);
void RAND_add(const void *bytes, int n, double entropy);

static struct {
	__typeof__(&enter_open) open;
	__typeof__(&enter_ready) ready;
	__typeof__(&enter_wait) wait;
	__typeof__(&enter_language) language;
	__typeof__(&enter_fork) fork;
	__typeof__(&enter_show) show;
	__typeof__(&enter_keep) keep;
	__typeof__(&enter_forkable) forkable;
	__typeof__(&enter_collapse) collapse;
} enter;

static napi_value number(napi_env env, int64_t n)
{
	napi_value v = NULL;

	napi_create_int64(env, n, &v);
	return v;
}

static napi_value fail(napi_env env, const char *what)
{
	napi_throw_error(env, NULL, what);
	return NULL;
}

/*
 * A new event loop for a child. It closes the old one's descriptors itself.
 * What else of the zygote's is left (the loop of a thread that is not here:
 * V8 still wakes it) becomes /dev/null: an epoll or eventfd that two
 * processes share is a way from one into the other. The zygote's own carry a
 * mark.
 */
static int renew_loop(napi_env env)
{
	struct uv_loop_s *loop = NULL;
	int null = -1;

	if (napi_get_uv_event_loop(env, &loop) != napi_ok ||
	    uv_loop_fork(loop) != 0)
		return -1;
	for (int fd = FD_CONTROL + 1; fd < LOOP_FDS; fd++) {
		if (fcntl(fd, F_GETSIG) != FD_MARK)
			continue;
		if (null < 0)
			null = open("/dev/null", O_RDWR | O_CLOEXEC);
		if (null < 0 || dup3(null, fd, O_CLOEXEC) < 0)
			return -1;
	}
	if (null >= 0)
		close(null);
	return 0;
}

/*
 * Descriptors of the event loop: what is open now but for ours. Anything
 * else would be the zygote's in its children, so there must not be any.
 * Returns 0 if there is.
 */
static uint64_t loop_fds(int first)
{
	uint64_t mask = 0;

	for (int fd = first; fd < LOOP_FDS; fd++) {
		char path[32], to[64];
		ssize_t n;

		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		n = readlink(path, to, sizeof(to) - 1);
		if (n < 0)
			continue;
		to[n] = '\0';
		if (strncmp(to, "anon_inode:", 11) != 0 &&
		    strncmp(to, "pipe:", 5) != 0)
			return 0;
		if (fcntl(fd, F_SETSIG, FD_MARK) < 0)
			return 0;
		mask |= UINT64_C(1) << fd;
	}
	return mask;
}

/* In a child: what is Node's, and must differ from its siblings. */
static napi_value become_child(napi_env env, const char *language)
{
	unsigned char random[64];
	uint32_t seed;
	napi_value v = NULL, text = NULL;

	if (getrandom(random, sizeof(random), 0) != sizeof(random))
		_exit(126);
	RAND_add(random, sizeof(random), sizeof(random));
	if (getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		_exit(126);
	signal(SIGPIPE, SIG_IGN);
	if (renew_loop(env) != 0 || enter.show() < 0)
		_exit(126);
	napi_create_object(env, &v);
	napi_create_string_utf8(env, language, NAPI_AUTO_LENGTH, &text);
	napi_set_named_property(env, v, "language", text);
	napi_set_named_property(env, v, "pid", number(env, getpid()));
	napi_set_named_property(env, v, "seed", number(env, seed & 0x7fffffff));
	return v;
}

/* serve(): an object in a child; null when the broker is gone. */
static napi_value serve(napi_env env, napi_callback_info info)
{
	napi_value none = NULL;
	uint64_t mask;

	(void)info;
	mask = loop_fds(ENTER_KEEP_MIN);
	if (mask == 0)
		return fail(env, "a file is open that no loop has");
	enter.keep(mask);
	if (enter.forkable() < 0)
		return fail(env, "memory cannot be forked");
	enter.collapse();
	if (enter.ready() < 0)
		return fail(env, "the broker is gone");
	while (enter.wait() == 0)
		if (enter.fork() == 1)
			return become_child(env, enter.language());
	napi_get_null(env, &none);
	return none;
}

/*
 * alone(language, fd): a child that enters nothing, for tests. In it, an
 * object; in the parent {pid, fd}. Its control socket is ${fd}, or with -1
 * one whose other end is the fd in the answer.
 */
static napi_value alone(napi_env env, napi_callback_info info)
{
	napi_value v = NULL, args[2] = {NULL, NULL};
	size_t argc = 2, n;
	char language[16];
	int pair[2] = {-1, -1};
	int32_t given = -1;
	pid_t pid;

	if (napi_get_cb_info(env, info, &argc, args, NULL, NULL) != napi_ok ||
	    argc != 2 ||
	    napi_get_value_string_utf8(env, args[0], language, sizeof(language),
				       &n) != napi_ok ||
	    napi_get_value_int32(env, args[1], &given) != napi_ok)
		return fail(env, "language and descriptor");
	loop_fds(FD_CONTROL + 1);
	if (enter.forkable() < 0 ||
	    (given < 0 &&
	     socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0))
		return fail(env, "socket or memory");
	pid = fork();
	if (pid == 0) {
		int control = given < 0 ? pair[1] : given;

		if (control != FD_CONTROL && dup2(control, FD_CONTROL) < 0)
			_exit(126);
		for (int i = 0; i < 2; i++)
			if (pair[i] > FD_CONTROL)
				close(pair[i]);
		return become_child(env, language);
	}
	if (pair[1] >= 0)
		close(pair[1]);
	if (pid < 0)
		return fail(env, "fork");
	napi_create_object(env, &v);
	napi_set_named_property(env, v, "pid", number(env, pid));
	napi_set_named_property(env, v, "fd", number(env, pair[0]));
	return v;
}

/* reap(pid): wait for an alone child; its status as in wait(2). */
static napi_value reap(napi_env env, napi_callback_info info)
{
	napi_value arg = NULL;
	size_t argc = 1;
	int64_t pid = 0;
	int status = -1;

	if (napi_get_cb_info(env, info, &argc, &arg, NULL, NULL) != napi_ok ||
	    argc != 1 || napi_get_value_int64(env, arg, &pid) != napi_ok)
		return fail(env, "pid");
	waitpid((pid_t)pid, &status, 0);
	return number(env, status);
}

/* quit(code): end without what waits for threads that a fork has not. */
static napi_value quit(napi_env env, napi_callback_info info)
{
	napi_value arg = NULL;
	size_t argc = 1;
	int32_t code = 1;

	if (napi_get_cb_info(env, info, &argc, &arg, NULL, NULL) == napi_ok &&
	    argc == 1)
		napi_get_value_int32(env, arg, &code);
	_exit(code & 0xff);
}

/* open(): take over what the broker gave; false: it was not the broker. */
static napi_value open_broker(napi_env env, napi_callback_info info)
{
	napi_value v = NULL;

	(void)info;
	napi_get_boolean(env, enter.open() == 0, &v);
	return v;
}

/* The library lies beside the kernels: <kernels>/../bin. */
static void *library(void)
{
	static const char tail[] = "/../../bin/libwarren-enter.so";
	char path[4096], *slash;
	Dl_info here;

	if (dladdr(tail, &here) == 0 ||
	    strlen(here.dli_fname) + sizeof(tail) > sizeof(path))
		return NULL;
	memcpy(path, here.dli_fname, strlen(here.dli_fname) + 1);
	slash = strrchr(path, '/');
	if (slash == NULL)
		return NULL;
	memcpy(slash, tail, sizeof(tail));
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

#define FIND(name)                                                             \
	do {                                                                   \
		void *at = dlsym(lib, "enter_" #name);                         \
		if (at == NULL)                                                \
			return -1;                                             \
		memcpy(&enter.name, &at, sizeof(at));                          \
	} while (0)

static int load(void)
{
	void *lib = library();

	if (lib == NULL)
		return -1;
	FIND(open);
	FIND(ready);
	FIND(wait);
	FIND(language);
	FIND(fork);
	FIND(show);
	FIND(keep);
	FIND(forkable);
	FIND(collapse);
	return 0;
}

NAPI_MODULE_INIT()
{
	static const napi_property_descriptor all[] = {
	    {"open", NULL, open_broker, NULL, NULL, NULL, napi_default, NULL},
	    {"serve", NULL, serve, NULL, NULL, NULL, napi_default, NULL},
	    {"alone", NULL, alone, NULL, NULL, NULL, napi_default, NULL},
	    {"quit", NULL, quit, NULL, NULL, NULL, napi_default, NULL},
	    {"reap", NULL, reap, NULL, NULL, NULL, napi_default, NULL},
	};

	if (load() < 0)
		return fail(env, "libwarren-enter.so is not there");
	napi_define_properties(env, exports, sizeof(all) / sizeof(all[0]), all);
	return exports;
}
