/*
 * warren_stop.node: SIGINT for JavaScript that runs, wherever it runs.
 *
 * A thread of its own is woken by the signal. It tells the event loop, and it
 * asks V8 to look up from what it is doing (RequestInterrupt): that comes
 * back on the main thread, between two operations of JavaScript, and there
 * one of these holds:
 *
 *	the kernel writes a frame   nothing happens until it is done
 *	a guarded call              it is terminated, and call() tells so
 *	anything else               the loop will see to it; if it has not in
 *	                            FORCE_MS, an I/O callback spins: terminated
 *
 * V8's functions are looked up by name: Node's headers need not be there, and
 * where the names are missing watch() gives false and nothing is terminated.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <node_api.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define FORCE_MS 100
#define STEP_MS 20
#define STACK_BYTES (64U << 10)

struct isolate;

static struct {
	struct isolate *(*current)(void);
	void (*terminate)(struct isolate *);
	void (*cancel)(struct isolate *);
	void (*request)(struct isolate *, void (*)(struct isolate *, void *),
			void *);
} v8;

/* What the kernel's JavaScript shares with us. */
enum word {
	WORD_HELD,    /* > 0: no termination now */
	WORD_PENDING, /* a SIGINT came that nobody has seen to */
	WORD_ASKED,   /* termination was asked for, and may come later */
	WORDS
};

static int32_t words[WORDS];
static int depth; /* the main thread's: in a guarded call */
static atomic_bool forced;
static struct isolate *isolate;
static sem_t came;
static napi_threadsafe_function tell;

static int32_t word(enum word w)
{
	return __atomic_load_n(&words[w], __ATOMIC_SEQ_CST);
}

static void word_set(enum word w, int32_t v)
{
	__atomic_store_n(&words[w], v, __ATOMIC_SEQ_CST);
}

/* ---- on the main thread, while JavaScript runs ---- */

/* It comes at V8's next look, which may be after what was meant to end, and in
 * the middle of what must not be cut: that takes it back first. */
static void ask(void)
{
	word_set(WORD_ASKED, 1);
	v8.terminate(isolate);
}

static bool take_back(void)
{
	bool was = word(WORD_ASKED) != 0;

	if (was)
		v8.cancel(isolate);
	word_set(WORD_ASKED, 0);
	return was;
}

static void on_request(struct isolate *in, void *arg)
{
	(void)in;
	(void)arg;
	if (word(WORD_PENDING) == 0 || word(WORD_HELD) > 0)
		return;
	if (depth > 0 || atomic_exchange(&forced, false))
		ask();
}

/* ---- the signal and its thread ---- */

static void on_signal(int sig)
{
	int saved = errno;

	(void)sig;
	word_set(WORD_PENDING, 1);
	sem_post(&came);
	errno = saved;
}

/* Whether more of them came. */
static bool another(void)
{
	bool came_too = false;

	while (sem_trywait(&came) == 0)
		came_too = true;
	return came_too;
}

/* Until it was seen to: loops that no guard has may be entered later. */
static void press(void)
{
	static const struct timespec step = {.tv_nsec = STEP_MS * 1000000L};

	for (int ms = 0; word(WORD_PENDING) != 0; ms += STEP_MS) {
		if (ms > 0 && ms % FORCE_MS == 0)
			atomic_store(&forced, true);
		v8.request(isolate, on_request, NULL);
		nanosleep(&step, NULL);
		if (!another())
			continue;
		napi_call_threadsafe_function(tell, NULL,
					      napi_tsfn_nonblocking);
		ms = -STEP_MS; /* it has its own time */
	}
	atomic_store(&forced, false);
}

static void *watcher(void *arg)
{
	(void)arg;
	for (;;) {
		while (sem_wait(&came) < 0)
			continue;
		napi_call_threadsafe_function(tell, NULL,
					      napi_tsfn_nonblocking);
		press();
	}
	return NULL;
}

static int catch_signal(void)
{
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};

	return sigaction(SIGINT, &sa, NULL);
}

static int start_thread(void)
{
	pthread_attr_t attr;
	pthread_t thread;
	sigset_t all, old;
	int r;

	if (pthread_attr_init(&attr) != 0)
		return -1;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	r = pthread_create(&thread, &attr, watcher, NULL);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	pthread_attr_destroy(&attr);
	return r;
}

/* On the loop: the kernel's interrupt(), unless a guard was quicker. */
static void on_tell(napi_env env, napi_value fn, void *context, void *data)
{
	napi_value self = NULL;

	(void)context;
	(void)data;
	if (env == NULL)
		return;
	take_back();
	if (word(WORD_PENDING) == 0)
		return;
	word_set(WORD_PENDING, 0);
	napi_get_undefined(env, &self);
	napi_call_function(env, self, fn, 0, NULL, NULL);
}

/* ---- for JavaScript ---- */

/* watch(fn): call fn on the loop for each SIGINT; false if it cannot. */
static napi_value watch(napi_env env, napi_callback_info info)
{
	napi_value fn = NULL, name = NULL, v = NULL;
	size_t argc = 1;
	bool ok;

	napi_get_cb_info(env, info, &argc, &fn, NULL, NULL);
	napi_create_string_utf8(env, "interrupt", NAPI_AUTO_LENGTH, &name);
	ok = v8.current != NULL && sem_init(&came, 0, 0) == 0 &&
	     napi_create_threadsafe_function(env, fn, NULL, name, 0, 1, NULL,
					     NULL, NULL, on_tell,
					     &tell) == napi_ok &&
	     napi_unref_threadsafe_function(env, tell) == napi_ok;
	if (ok) {
		isolate = v8.current();
		ok = start_thread() == 0 && catch_signal() == 0;
	}
	napi_get_boolean(env, ok, &v);
	return v;
}

/* arm(): the signal is ours again, whatever took it. */
static napi_value arm(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	if (isolate != NULL)
		catch_signal();
	return NULL;
}

/* call(fn): fn(); true if an interrupt ended it, or had come before. */
static napi_value call(napi_env env, napi_callback_info info)
{
	napi_value fn = NULL, self = NULL, v = NULL, error = NULL;
	bool stopped = false;
	size_t argc = 1;
	napi_status status;

	napi_get_cb_info(env, info, &argc, &fn, NULL, NULL);
	napi_get_undefined(env, &self);
	depth++;
	status = napi_call_function(env, self, fn, 0, NULL, NULL);
	depth--;
	if (take_back()) {
		stopped = true;
		napi_get_and_clear_last_exception(env, &error);
		word_set(WORD_PENDING, 0);
	} else if (status == napi_pending_exception) {
		return NULL; /* goes on to the caller */
	}
	napi_get_boolean(env, stopped, &v);
	return v;
}

/* spare(): no termination now; PENDING says that one is still due. */
static napi_value spare(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	take_back();
	return NULL;
}

/* write(fd, buffer): all of it, or false. Nothing cuts it, waits and all. */
static napi_value write_all(napi_env env, napi_callback_info info)
{
	napi_value args[2] = {NULL, NULL}, v = NULL;
	struct pollfd p = {.fd = -1, .events = POLLOUT};
	size_t argc = 2, n = 0, at = 0;
	void *data = NULL;

	napi_get_cb_info(env, info, &argc, args, NULL, NULL);
	napi_get_value_int32(env, args[0], &p.fd);
	napi_get_buffer_info(env, args[1], &data, &n);
	while (at < n) {
		ssize_t m = write(p.fd, (const char *)data + at, n - at);

		if (m > 0)
			at += (size_t)m;
		else if (m < 0 && errno == EAGAIN)
			poll(&p, 1, -1);
		else if (m == 0 || errno != EINTR)
			break;
	}
	napi_get_boolean(env, at == n, &v);
	return v;
}

/* readable(fd): whether something can be read from it now. */
static napi_value readable(napi_env env, napi_callback_info info)
{
	napi_value fd = NULL, v = NULL;
	struct pollfd p = {.fd = -1, .events = POLLIN};
	size_t argc = 1;

	napi_get_cb_info(env, info, &argc, &fd, NULL, NULL);
	napi_get_value_int32(env, fd, &p.fd);
	napi_get_boolean(env, poll(&p, 1, 0) != 0, &v);
	return v;
}

static int input_file(const char *text, size_t n)
{
	int fd = memfd_create("stdin", MFD_CLOEXEC);

	while (n > 0) {
		ssize_t m = write(fd, text, n);

		if (m < 0) {
			close(fd);
			return -1;
		}
		text += m;
		n -= (size_t)m;
	}
	if (fd >= 0)
		lseek(fd, 0, SEEK_SET);
	return fd;
}

/* input(buffer | null): what descriptor 0 is, or that it is /dev/null. */
static napi_value input(napi_env env, napi_callback_info info)
{
	napi_value buffer = NULL;
	void *text = NULL;
	size_t argc = 1, n = 0;
	bool is = false;
	int fd;

	napi_get_cb_info(env, info, &argc, &buffer, NULL, NULL);
	napi_is_buffer(env, buffer, &is);
	if (is)
		napi_get_buffer_info(env, buffer, &text, &n);
	fd = is ? input_file(text, n) : open("/dev/null", O_RDONLY | O_CLOEXEC);
	if (fd < 0 || dup2(fd, 0) < 0)
		napi_throw_error(env, NULL, "No stdin for a run");
	if (fd > 0)
		close(fd);
	return NULL;
}

/* stop(): end the guarded call that this is in. */
static napi_value stop(napi_env env, napi_callback_info info)
{
	(void)env;
	(void)info;
	if (isolate != NULL && depth > 0)
		ask();
	return NULL;
}

#define FIND(member, name)                                                     \
	do {                                                                   \
		void *at = dlsym(RTLD_DEFAULT, name);                          \
		if (at == NULL)                                                \
			return false;                                          \
		memcpy(&v8.member, &at, sizeof(at));                           \
	} while (0)

static bool find(void)
{
	FIND(terminate, "_ZN2v87Isolate18TerminateExecutionEv");
	FIND(cancel, "_ZN2v87Isolate24CancelTerminateExecutionEv");
	FIND(request, "_ZN2v87Isolate16RequestInterruptEPFvPS0_PvES2_");
	FIND(current, "_ZN2v87Isolate10GetCurrentEv");
	return true;
}

NAPI_MODULE_INIT()
{
	static const napi_property_descriptor all[] = {
	    {"watch", NULL, watch, NULL, NULL, NULL, napi_default, NULL},
	    {"arm", NULL, arm, NULL, NULL, NULL, napi_default, NULL},
	    {"call", NULL, call, NULL, NULL, NULL, napi_default, NULL},
	    {"readable", NULL, readable, NULL, NULL, NULL, napi_default, NULL},
	    {"input", NULL, input, NULL, NULL, NULL, napi_default, NULL},
	    {"stop", NULL, stop, NULL, NULL, NULL, napi_default, NULL},
	    {"spare", NULL, spare, NULL, NULL, NULL, napi_default, NULL},
	    {"write", NULL, write_all, NULL, NULL, NULL, napi_default, NULL},
	};
	napi_value buffer = NULL, view = NULL;

	if (!find())
		v8.current = NULL;
	if (napi_create_external_arraybuffer(env, words, sizeof(words), NULL,
					     NULL, &buffer) != napi_ok ||
	    napi_create_typedarray(env, napi_int32_array, WORDS, buffer, 0,
				   &view) != napi_ok ||
	    napi_set_named_property(env, exports, "words", view) != napi_ok)
		return NULL;
	napi_define_properties(env, exports, sizeof(all) / sizeof(all[0]), all);
	return exports;
}
