/* What the broker finds or makes on the machine before it serves. */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/own.h"
#include "sandbox/broker.h"
#include "sandbox/broker_place.h"

#define LOCK_LIMIT_MS 2000

enum err broker_find_users(struct broker *b, struct errinfo *e)
{
	const struct passwd *w = getpwnam("warren");
	const struct group *g = getgrnam("www-data");

	if (w == NULL)
		return err_set(e, ERR_NOT_FOUND, 0, "no user warren");
	if (g == NULL)
		return err_set(e, ERR_NOT_FOUND, 0, "no group www-data");
	b->warren_uid = w->pw_uid;
	b->warren_gid = w->pw_gid;
	b->web_gid = g->gr_gid;
	return ERR_NONE;
}

struct run_dir {
	const char *name;
	mode_t mode;
	uid_t uid;
	gid_t gid;
};

enum err broker_make_run(struct broker *b, struct errinfo *e)
{
	const struct run_dir dirs[] = {
	    {"keepers", 0750, 0, b->warren_gid},
	    {"preview", 0750, b->warren_uid, b->web_gid},
	    {"sandboxes", 0700, 0, 0},
	    {"roles", 0700, 0, 0},
	    {"mnt", 0700, 0, 0},
	    {"empty", 0755, 0, 0},
	};

	if (mkdir(b->conf.run, 0755) < 0 && errno != EEXIST)
		return err_set(e, ERR_IO, errno, "%s", b->conf.run);
	b->run = open(b->conf.run, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	/* It may be there with another mode; users warren and www-data pass. */
	if (b->run < 0 || fchmod(b->run, 0755) < 0)
		return err_set(e, ERR_IO, errno, "%s", b->conf.run);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		const struct run_dir *d = &dirs[i];

		if (mkdirat(b->run, d->name, d->mode) < 0 && errno != EEXIST)
			return err_set(e, ERR_IO, errno, "%s", d->name);
		if (fchownat(b->run, d->name, d->uid, d->gid,
			     AT_SYMLINK_NOFOLLOW) < 0 ||
		    fchmodat(b->run, d->name, d->mode, 0) < 0)
			return err_set(e, ERR_IO, errno, "%s", d->name);
	}
	return ERR_NONE;
}

/* One broker for a run directory; one that was just killed may have left a
 * child that holds the lock for a moment. */
enum err broker_lock_run(struct broker *b, struct errinfo *e)
{
	int64_t deadline = clock_mono_ms() + LOCK_LIMIT_MS;

	while (flock(b->run, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK || clock_left_ms(deadline) == 0)
			return err_set(e, ERR_STATE, errno,
				       "another warrend uses %s", b->conf.run);
		usleep(20000);
	}
	return ERR_NONE;
}

enum err broker_open_data(struct broker *b, struct errinfo *e)
{
	OWN(own_fd)
	int data = open(b->conf.data, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (data < 0)
		return err_set(e, ERR_IO, errno, "%s", b->conf.data);
	if (mkdirat(data, "sandboxes", 0700) < 0 && errno != EEXIST)
		return err_set(e, ERR_IO, errno, "sandboxes");
	b->sandboxes = openat(data, "sandboxes",
			      O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	b->images = openat(data, "images",
			   O_DIRECTORY | O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (b->sandboxes < 0 || b->images < 0)
		return err_set(e, ERR_IO, errno, "sandboxes or images");
	if (fstat(b->sandboxes, &st) < 0 || st.st_uid != 0 ||
	    (st.st_mode & 077) != 0 || fstat(b->images, &st) < 0 ||
	    st.st_uid != 0)
		return err_set(e, ERR_DENIED, 0,
			       "sandboxes and images must be root's own");
	return ERR_NONE;
}

enum err broker_open_programs(struct broker *b, int *dir, struct errinfo *e)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	char *slash;

	path[n > 0 ? n : 0] = '\0';
	slash = strrchr(path, '/');
	if (slash == NULL)
		return err_set(e, ERR_IO, errno, "own program");
	*slash = '\0';
	*dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
	b->init_program = openat(*dir, "warren-init", O_RDONLY | O_CLOEXEC);
	b->keeper_program = openat(*dir, "warren-keeper", O_RDONLY | O_CLOEXEC);
	b->maker_program = openat(*dir, "warren-maker", O_RDONLY | O_CLOEXEC);
	if (b->init_program < 0 || b->keeper_program < 0 ||
	    b->maker_program < 0)
		return err_set(e, ERR_IO, errno,
			       "warren-init, warren-keeper, warren-maker");
	return ERR_NONE;
}

/* Bound beside and renamed over, so that the path always leads somewhere. */
enum err broker_listen(struct broker *b, const char *name, int type, gid_t gid,
		       int *out, struct errinfo *e)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	char path[sizeof(a.sun_path)];
	OWN(own_fd)
	int fd = socket(AF_UNIX, type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/%s.new",
			 b->conf.run, name);

	if (fd < 0 || n < 0 || (size_t)n >= sizeof(a.sun_path))
		return err_set(e, ERR_IO, errno, "socket %s", name);
	snprintf(path, sizeof(path), "%.*s", n - 4, a.sun_path);
	unlink(a.sun_path);
	if (bind(fd, (struct sockaddr *)&a, sizeof(a)) < 0 ||
	    chown(a.sun_path, 0, gid) < 0 || chmod(a.sun_path, 0660) < 0 ||
	    listen(fd, 4096) < 0 || rename(a.sun_path, path) < 0)
		return err_set(e, ERR_IO, errno, "socket %s", name);
	*out = STEAL_FD(fd);
	return ERR_NONE;
}
