/*
 * What each image has, whatever archive it came from. Runs with the image as
 * its root, so that a link in it leads nowhere else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "store/warren_unpack.h"

#define USERS_MAX (1U << 20)
#define SANDBOX_UID 1000

struct place {
	const char *path;
	mode_t mode; /* 0: that which it has, else 0755 */
	uid_t owner;
};

static enum err make_places(struct errinfo *e)
{
	static const struct place places[] = {
	    {"/", 0755, 0},
	    {"/dev", 0755, 0},
	    {"/proc", 0755, 0},
	    {"/sys", 0755, 0},
	    {"/run", 0755, 0},
	    {"/etc", 0, 0},
	    {"/home", 0, 0},
	    {"/root", 0, 0},
	    {"/home/sandbox", 0755, SANDBOX_UID},
	    {"/tmp", 01777, 0},
	    /* Root of a sandbox and its other user may both work here. */
	    {"/workspace", 0777, 0},
	};

	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		const struct place *p = &places[i];
		bool there = mkdir(p->path, 0755) != 0;

		if (there && errno != EEXIST)
			return err_set(e, ERR_IO, errno, "%s", p->path);
		if ((p->mode != 0 && chmod(p->path, p->mode) != 0) ||
		    (p->owner != 0 && chown(p->path, p->owner, p->owner) != 0))
			return err_set(e, ERR_IO, errno, "%s", p->path);
	}
	return ERR_NONE;
}

/* A file of our own in place of whatever has that name. */
static enum err put_file(const char *path, const char *text, size_t n,
			 struct errinfo *e)
{
	OWN(own_fd) int fd = -1;

	if (unlink(path) != 0 && errno != ENOENT)
		return err_set(e, ERR_IO, errno, "%s", path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, text, n) != (ssize_t)n)
		return err_set(e, ERR_IO, errno, "%s", path);
	return ERR_NONE;
}

/* What a machine that it was exported from left, or a container's. */
static enum err put_names(struct errinfo *e)
{
	static const char *const files[][2] = {
	    {"/etc/hosts", "127.0.0.1\tlocalhost sandbox\n"
			   "::1\tlocalhost sandbox\n"},
	    {"/etc/hostname", "sandbox\n"},
	    {"/etc/resolv.conf", "nameserver 169.254.53.53\n"},
	};
	enum err r = ERR_NONE;

	for (size_t i = 0; r == ERR_NONE && i < 3; i++)
		r = put_file(files[i][0], files[i][1], strlen(files[i][1]), e);
	return r;
}

/*
 * Settings of package managers, as image host has them: where theirs is such a
 * directory, and no file that says it already.
 */
static enum err put_settings(struct errinfo *e)
{
	static const struct setting {
		const char *dir;
		const char *path;
		const char *text;
		mode_t mode;
	} settings[] = {
	    {"/etc", "/etc/pip.conf",
	     "[global]\nbreak-system-packages = true\n", 0644},
	    /* There is no terminal for dpkg. */
	    {"/etc/apt/apt.conf.d", "/etc/apt/apt.conf.d/70sandbox",
	     "Dpkg::Use-Pty \"0\";\n", 0644},
	    {"/etc/dpkg/dpkg.cfg.d", "/etc/dpkg/dpkg.cfg.d/sandbox",
	     "force-confdef\nforce-confold\nforce-unsafe-io\n", 0644},
	    /* Daemons start when they are told to. */
	    {"/etc/dpkg/dpkg.cfg.d", "/usr/sbin/policy-rc.d",
	     "#!/bin/sh\nexit 101\n", 0755},
	};
	enum err r = ERR_NONE;

	for (size_t i = 0; r == ERR_NONE && i < 4; i++) {
		const struct setting *s = &settings[i];

		if (access(s->dir, F_OK) != 0 || access(s->path, F_OK) == 0)
			continue;
		r = put_file(s->path, s->text, strlen(s->text), e);
		if (r == ERR_NONE && chmod(s->path, s->mode) != 0)
			r = err_set(e, ERR_IO, errno, "%s", s->path);
	}
	return r;
}

/* "": there is none. */
static enum err get_file(const char *path, struct buf *b, struct errinfo *e)
{
	OWN(own_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char *p;
	ssize_t n = 1;

	if (fd < 0)
		return errno == ENOENT ? ERR_NONE
				       : err_set(e, ERR_IO, errno, "%s", path);
	while (n > 0) {
		p = buf_space(b, 4096);
		n = p != NULL ? read(fd, p, 4096) : -1;
		if (n > 0)
			buf_grow(b, (size_t)n);
	}
	return n == 0 ? ERR_NONE : err_set(e, ERR_IO, errno, "%s", path);
}

/* A line of /etc/passwd or group has this name or this id. */
static bool users_have(const char *users, const char *name, const char *id)
{
	size_t n = strlen(name), m = strlen(id);

	for (const char *at = users; at != NULL && *at != '\0';) {
		const char *second = strchr(at, ':');
		const char *third = second != NULL ? strchr(second + 1, ':')
						   : NULL;

		if (strncmp(at, name, n) == 0 && at[n] == ':')
			return true;
		if (third != NULL && strncmp(third + 1, id, m) == 0 &&
		    (third[m + 1] == ':' || third[m + 1] == '\n'))
			return true;
		at = strchr(at, '\n');
		at = at != NULL ? at + 1 : NULL;
	}
	return false;
}

/* Programs ask who they are. */
static enum err put_user(const char *path, const char *root,
			 const char *sandbox, struct errinfo *e)
{
	OWN(buf_free) struct buf b = BUF_INIT(USERS_MAX);
	enum err r = get_file(path, &b, e);

	if (r != ERR_NONE)
		return r;
	if (b.len > 0 && b.data[b.len - 1] != '\n')
		buf_addc(&b, '\n');
	if (!users_have(buf_str(&b), "root", "0"))
		buf_adds(&b, root);
	if (!users_have(buf_str(&b), "sandbox", "1000"))
		buf_adds(&b, sandbox);
	if (!buf_ok(&b))
		return err_set(e, ERR_LIMIT, 0, "%s is too large", path);
	return put_file(path, b.data, b.len, e);
}

static bool runs(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_mode & 0111) != 0;
}

/* Where code contexts and sessions look for them. */
static uint32_t look(void)
{
	uint32_t has = 0;

	if (runs("/bin/bash"))
		has |= UNPACK_BASH;
	if (runs("/usr/bin/python3") || runs("/usr/local/bin/python3"))
		has |= UNPACK_PYTHON;
	if (runs("/usr/bin/node") || runs("/usr/local/bin/node"))
		has |= UNPACK_NODE;
	return has;
}

enum err warren_unpack_finish(struct unpack_done *done, struct errinfo *e)
{
	enum err r;

	if (access("/bin", F_OK) != 0 && access("/usr", F_OK) != 0)
		return err_set(
		    e, ERR_ARG, 0,
		    "the archive holds no root file system: neither "
		    "/bin nor /usr (docker export writes one, docker "
		    "save does not)");
	r = make_places(e);
	if (r == ERR_NONE)
		r = put_names(e);
	if (r == ERR_NONE)
		r = put_settings(e);
	if (r == ERR_NONE)
		r = put_user("/etc/passwd", "root:x:0:0:root:/root:/bin/sh\n",
			     "sandbox:x:1000:1000:sandbox:/home/sandbox:"
			     "/bin/sh\n",
			     e);
	if (r == ERR_NONE)
		r = put_user("/etc/group", "root:x:0:\n", "sandbox:x:1000:\n",
			     e);
	if (r == ERR_NONE)
		done->has = look();
	return r;
}
