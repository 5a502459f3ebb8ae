#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/own.h"
#include "sandbox/caps.h"
#include "sandbox/limits.h"
#include "sandbox/mount.h"
#include "sandbox/mount_check.h"
#include "sandbox/zygote_msg.h"
#include "sandbox/zygote_start.h"

#define CAP_LAST 63
#define FD_HIGH 64
#define TMP_BYTES (64U << 20)
#define UPPER_BYTES "64m"

struct start_plan {
	const char *point;
	const char *const *argv;
	int image; /* the image's root directory */
	int usr_over;
	int usr;
	int socket; /* the zygote's end */
	int filter;
};

static void plan_close(struct start_plan *p)
{
	own_fd(&p->image);
	own_fd(&p->usr_over);
	own_fd(&p->usr);
	own_fd(&p->socket);
	own_fd(&p->filter);
}

/* ---- in the child ---- */

noreturn static void fail(const char *step)
{
	char text[128];
	int n = snprintf(text, sizeof(text), "zygote: %s: %s\n", step,
			 strerrordesc_np(errno));

	(void)!write(STDERR_FILENO, text, (size_t)n);
	_exit(126);
}

/* What is written over the image is kept in memory, and by nobody else. */
static int upper_layers(void)
{
	static const char *const dirs[] = {"root", "root/upper", "root/work",
					   "usr",  "usr/upper",  "usr/work"};
	OWN(own_fd) int fs = fsopen("tmpfs", FSOPEN_CLOEXEC);
	OWN(own_fd) int m = -1;

	if (fs < 0 ||
	    fsconfig(fs, FSCONFIG_SET_STRING, "size", UPPER_BYTES, 0) < 0 ||
	    fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return -1;
	m = fsmount(fs, FSMOUNT_CLOEXEC, 0);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++)
		if (m < 0 || mkdirat(m, dirs[i], 0755) < 0)
			return -1;
	return STEAL_FD(m);
}

static int make_tree(const struct start_plan *p, int self)
{
	OWN(own_fd) int files = upper_layers();
	struct mount_plan plan = {.point = p->point,
				  .image = p->image,
				  .tools = -1,
				  .ours = -1,
				  .usr_over = p->usr_over,
				  .usr = p->usr,
				  .files = files,
				  .tmp_bytes = TMP_BYTES,
				  .shm_bytes = TMP_BYTES};

	if (files < 0 || mount_tree(&plan, NULL) < 0 ||
	    mount_pivot(p->point) < 0)
		return -1;
	return mount_check(self) ? 0 : -1;
}

static int arrange_fds(const struct start_plan *p)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	int socket = fcntl(p->socket, F_DUPFD_CLOEXEC, FD_HIGH);
	int filter = fcntl(p->filter, F_DUPFD_CLOEXEC, FD_HIGH);

	if (null < 0 || socket < 0 || filter < 0 || dup2(null, 0) < 0 ||
	    dup2(socket, ZYGOTE_FD_BROKER) < 0 ||
	    dup2(filter, ZYGOTE_FD_FILTER) < 0)
		return -1;
	return close_range(ZYGOTE_FD_FILTER + 1, ~0U, CLOSE_RANGE_CLOEXEC);
}

static int keep_caps(uint64_t keep)
{
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {{0}, {0}};

	for (int c = 0; c <= CAP_LAST; c++)
		if ((keep & CAP_BIT(c)) == 0 &&
		    prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
			break; /* past the kernel's last capability */
	for (int i = 0; i < 2; i++) {
		d[i].permitted = (uint32_t)(keep >> (32 * i));
		d[i].effective = d[i].permitted;
	}
	return (int)syscall(SYS_capset, &h, d);
}

noreturn static void child_main(const struct start_plan *p)
{
	char path[] = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:"
		      "/sbin:/bin";
	char home[] = "HOME=/root", lang[] = "LANG=C.UTF-8";
	char *const env[] = {path, home, lang, NULL};
	const struct limits most = {.open_files = LIMITS_OPEN_FILES_MAX};
	int self = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char *const *argv;

	memcpy(&argv, &p->argv, sizeof(argv)); /* execve does not write */
	limits_signals(true);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 || getppid() == 1)
		fail("broker");
	/* Its children take those of their sandbox. */
	if (limits_set(&most) < 0 || limits_oom(self) < 0)
		fail("limits");
	if (make_tree(p, self) < 0)
		fail("tree");
	if (sethostname("zygote", 6) < 0 || setsid() < 0)
		fail("session");
	if (arrange_fds(p) < 0)
		fail("descriptors");
	if (keep_caps(CAPS_ZYGOTE) < 0)
		fail("capabilities");
	execve(argv[0], argv, env);
	fail(argv[0]);
}

/* ---- in the broker ---- */

/* A detached copy: overlay takes no mount of another namespace. */
static int layer(int at, const char *path)
{
	return open_tree(at, path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
}

static enum err open_image(struct broker *b, const char *name,
			   struct start_plan *p, struct errinfo *e)
{
	OWN(own_fd)
	int image = openat(b->images, name,
			   O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);

	if (image < 0)
		return err_set(e, ERR_NOT_FOUND, errno, "image %s", name);
	p->image = layer(image, "rootfs");
	if (p->image < 0)
		return err_set(e, ERR_IO, errno, "image %s", name);
	p->usr_over = layer(image, "host-usr");
	if (p->usr_over < 0)
		return ERR_NONE;
	p->usr = layer(AT_FDCWD, "/usr");
	return p->usr < 0 ? err_set(e, ERR_IO, errno, "/usr") : ERR_NONE;
}

static bool put(int fd, const void *p, size_t n)
{
	return write(fd, p, n) == (ssize_t)n;
}

static bool put_filter(int fd, const struct sock_fprog *f)
{
	return put(fd, f->filter, f->len * sizeof(f->filter[0]));
}

/* The filters as bytes that nobody can change. */
static int filter_file(const struct filter *f)
{
	OWN(own_fd)
	int fd = memfd_create("filter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	const struct zygote_filters head = {.plain = f->fprog.len,
					    .counting = f->counting.len};

	if (fd < 0 || !put(fd, &head, sizeof(head)) ||
	    !put_filter(fd, &f->fprog) || !put_filter(fd, &f->counting) ||
	    fcntl(fd, F_ADD_SEALS,
		  F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0)
		return -1;
	return STEAL_FD(fd);
}

enum err zygote_start(struct broker *b, const char *image,
		      const char *const *argv, struct zygote_child *out,
		      struct errinfo *e)
{
	OWN(plan_close)
	struct start_plan p = {.point = b->point,
			       .argv = argv,
			       .image = -1,
			       .usr_over = -1,
			       .usr = -1,
			       .socket = -1,
			       .filter = filter_file(&b->filter)};
	int pidfd = -1, pair[2];
	struct clone_args a = {
	    .flags = CLONE_PIDFD | CLONE_NEWNS | CLONE_NEWNET | CLONE_NEWIPC |
		     CLONE_NEWUTS,
	    .pidfd = (__u64)(uintptr_t)&pidfd,
	    .exit_signal = SIGCHLD,
	};
	enum err r = open_image(b, image, &p, e);
	pid_t pid;

	if (r != ERR_NONE)
		return r;
	if (p.filter < 0 ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return err_set(e, ERR_IO, errno, "socket or filter");
	p.socket = pair[1];
	pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	if (pid == 0)
		child_main(&p);
	if (pid < 0) {
		close(pair[0]);
		return err_set(e, ERR_IO, errno, "clone3");
	}
	*out = (struct zygote_child){
	    .pid = pid, .pidfd = pidfd, .socket = pair[0]};
	return ERR_NONE;
}
