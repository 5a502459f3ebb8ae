#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/log.h"
#include "base/own.h"
#include "sandbox/child.h"
#include "sandbox/disk.h"
#include "sandbox/disk_job.h"
#include "sandbox/disk_loop.h"

enum { FD_SOCKET = 3, FD_IMAGE }; /* the child's */

union control {
	struct cmsghdr head;
	char room[CMSG_SPACE(sizeof(int))];
};

static bool send_fd(int to, int fd)
{
	union control c = {.room = {0}};
	char byte = 'm';
	struct iovec io = {.iov_base = &byte, .iov_len = 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = c.room,
			   .msg_controllen = sizeof(c.room)};

	c.head.cmsg_level = SOL_SOCKET;
	c.head.cmsg_type = SCM_RIGHTS;
	c.head.cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(&c.head), &fd, sizeof(fd));
	return sendmsg(to, &m, MSG_NOSIGNAL) == 1;
}

static int receive_fd(int from)
{
	union control c;
	char byte;
	struct iovec io = {.iov_base = &byte, .iov_len = 1};
	struct msghdr m = {.msg_iov = &io,
			   .msg_iovlen = 1,
			   .msg_control = c.room,
			   .msg_controllen = sizeof(c.room)};
	struct cmsghdr *head;
	int fd = -1;

	if (recvmsg(from, &m, MSG_CMSG_CLOEXEC | MSG_DONTWAIT) != 1)
		return -1;
	head = CMSG_FIRSTHDR(&m);
	if (head != NULL && head->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(head), sizeof(fd));
	return fd;
}

/* It holds nothing else of the broker's: no other mount waits for it. */
noreturn static void mount_main(int socket_fd, int image)
{
	int up[2] = {fcntl(socket_fd, F_DUPFD, 16), fcntl(image, F_DUPFD, 16)};
	struct errinfo e;
	int mount;

	if (up[0] < 0 || up[1] < 0 || dup2(up[0], FD_SOCKET) < 0 ||
	    dup2(up[1], FD_IMAGE) < 0 || close_range(FD_IMAGE + 1, ~0U, 0) < 0)
		_exit(1);
	if (disk_loop_mount(FD_IMAGE, &mount, &e) != ERR_NONE) {
		log_err("image", &e);
		_exit(1);
	}
	_exit(send_fd(FD_SOCKET, mount) ? 0 : 1);
}

static enum disk_need start_mount(struct disk_job *job, int image)
{
	int s[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s) < 0)
		return DISK_NEED_NOTHING; /* disk_open() mounts it then */
	pid = child_fork(&job->pidfd);
	if (pid == 0)
		mount_main(s[1], image);
	close(s[1]);
	if (pid < 0) {
		close(s[0]);
		return DISK_NEED_NOTHING;
	}
	job->socket = s[0];
	return DISK_NEED_JOB;
}

static enum disk_need start_check(struct disk_job *job, int image,
				  const char *id)
{
	struct errinfo e;
	pid_t pid;

	if (disk_image_check_start(image, &pid, &job->pidfd, &e) != ERR_NONE) {
		log_err(id, &e);
		return DISK_NEED_NOTHING; /* and disk_open() says so */
	}
	log_line(LOG_WARN, "%s: image not clean, is checked", id);
	return DISK_NEED_JOB;
}

enum disk_need disk_prepare(const struct disk_root *root, const char *id,
			    struct disk_job *job)
{
	OWN(own_fd)
	int dir = openat(root->sandboxes, id,
			 O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	OWN(own_fd)
	int image = dir < 0 ? -1
			    : openat(dir, DISK_IMAGE_NAME,
				     O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	enum disk_need need = DISK_NEED_NOTHING;

	must(job->pidfd < 0);
	if (image < 0 || job->mount >= 0)
		return DISK_NEED_NOTHING;
	if (flock(image, LOCK_EX | LOCK_NB) < 0)
		return DISK_NEED_WAIT;
	switch (disk_image_state(image)) {
	case DISK_BLANK:
		break;
	case DISK_UNCLEAN:
		need = start_check(job, image, id);
		break;
	case DISK_CLEAN:
		need = start_mount(job, image);
		break;
	}
	if (need == DISK_NEED_JOB)
		job->image = STEAL_FD(image);
	return need;
}

bool disk_job_end(struct disk_job *job)
{
	struct pollfd p = {.fd = job->pidfd, .events = POLLIN};
	int status = -1;
	bool good;

	if (job->pidfd < 0)
		return false;
	if (poll(&p, 1, 0) != 1) {
		child_signal(job->pidfd, SIGKILL);
		poll(&p, 1, -1);
	}
	child_reap(job->pidfd, &status);
	if (job->socket >= 0)
		job->mount = receive_fd(job->socket);
	good = job->socket >= 0 ? job->mount >= 0
				: disk_image_check_done(job->image, status);
	own_fd(&job->pidfd);
	own_fd(&job->socket);
	own_fd(&job->image);
	return good;
}

void disk_job_close(struct disk_job *job)
{
	disk_job_end(job);
	own_fd(&job->mount);
}
