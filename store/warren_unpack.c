#include <archive.h>
#include <archive_entry.h>
#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/own.h"
#include "store/warren_unpack.h"

#define BLOCK_BYTES (256U << 10)
#define CAP_BIT(c) (1U << (c))
#define CAP_LAST 63
/* Ids of a sandbox are 0 to 65535. */
#define ID_MAX 65535
#define ID_NOBODY 65534

/* Attributes of files stay out: some of them are orders to overlayfs. */
#define EXTRACT_FLAGS                                                          \
	(ARCHIVE_EXTRACT_OWNER | ARCHIVE_EXTRACT_PERM | ARCHIVE_EXTRACT_TIME | \
	 ARCHIVE_EXTRACT_SECURE_SYMLINKS | ARCHIVE_EXTRACT_SECURE_NODOTDOT |   \
	 ARCHIVE_EXTRACT_SECURE_NOABSOLUTEPATHS)

/* The child's word. */
struct verdict {
	struct unpack_done done;
	struct errinfo e;
};

static void reader_free(struct archive **a)
{
	archive_read_free(*a);
}

static void writer_free(struct archive **a)
{
	archive_write_free(*a);
}

/* ---- names ---- */

/* Behind "./" and slashes that say nothing. */
static const char *name_begin(const char *name)
{
	while (name[0] == '.' && (name[1] == '/' || name[1] == '\0'))
		for (name++; *name == '/'; name++)
			continue;
	return name;
}

/* NULL, or what is wrong with it. */
static const char *name_wrong(const char *name)
{
	const char *last = strrchr(name, '/');

	if (name[0] == '/')
		return "is an absolute path";
	for (const char *at = name; at != NULL; at = strchr(at, '/')) {
		at += *at == '/';
		if (at[0] == '.' && at[1] == '.' &&
		    (at[2] == '/' || at[2] == '\0'))
			return "leads outside by ..";
	}
	last = last == NULL ? name : last + 1;
	if (strncmp(last, ".wh.", 4) == 0)
		return "belongs to one layer of an image: export the whole "
		       "tree (docker export)";
	return NULL;
}

/* Below what each sandbox has of its own. */
static bool name_is_own(const char *name)
{
	static const char *const own[] = {"dev", "proc", "sys"};

	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
		size_t n = strlen(own[i]);

		if (strncmp(name, own[i], n) == 0 &&
		    (name[n] == '/' || name[n] == '\0'))
			return true;
	}
	return false;
}

static enum err entry_refuse(const char *name, const char *why,
			     struct errinfo *e)
{
	return err_set(e, ERR_ARG, 0, "%.120s in the archive %s", name, why);
}

/* ---- entries ---- */

static bool entry_kind_ok(struct archive_entry *entry)
{
	switch (archive_entry_filetype(entry)) {
	case AE_IFREG:
	case AE_IFDIR:
	case AE_IFLNK:
	case AE_IFIFO:
		return true;
	default:
		return archive_entry_hardlink(entry) != NULL;
	}
}

static void entry_owner(struct archive_entry *entry, struct unpack_done *done)
{
	la_int64_t uid = archive_entry_uid(entry);
	la_int64_t gid = archive_entry_gid(entry);

	if (uid >= 0 && uid <= ID_MAX && gid >= 0 && gid <= ID_MAX)
		return;
	archive_entry_set_uid(entry, ID_NOBODY);
	archive_entry_set_gid(entry, ID_NOBODY);
	done->nobody++;
}

/* ${skip}: there is nothing of it to be written. */
static enum err entry_check(struct archive_entry *entry, bool *skip,
			    struct errinfo *e)
{
	const char *name = archive_entry_pathname(entry);
	const char *link = archive_entry_hardlink(entry);
	const char *why;

	if (name == NULL)
		return err_set(e, ERR_ARG, 0,
			       "the archive has a file whose "
			       "name cannot be read");
	why = name_wrong(name);
	if (why != NULL)
		return entry_refuse(name, why, e);
	if (link != NULL && name_wrong(link) != NULL)
		return entry_refuse(link, name_wrong(link), e);
	name = name_begin(name);
	*skip = name[0] == '\0' || name_is_own(name) ||
		(link != NULL && name_is_own(name_begin(link)));
	if (!*skip && !entry_kind_ok(entry))
		return entry_refuse(name, "is a device or a socket", e);
	return ERR_NONE;
}

static enum err entry_write(struct archive *in, struct archive *out,
			    struct archive_entry *entry,
			    struct unpack_done *done, struct errinfo *e)
{
	la_int64_t size = archive_entry_size(entry);

	entry_owner(entry, done);
	if (archive_read_extract2(in, entry, out) != ARCHIVE_OK) {
		int sys = archive_errno(in);

		return err_set(e, ERR_IO, sys, "%.100s: %.90s%s%.40s",
			       archive_entry_pathname(entry),
			       archive_error_string(in), sys > 0 ? ": " : "",
			       sys > 0 ? strerrordesc_np(sys) : "");
	}
	done->files++;
	if (archive_entry_hardlink(entry) == NULL && size > 0)
		done->bytes += (uint64_t)size;
	return ERR_NONE;
}

static enum err unpack_open(struct archive *in, int fd, struct errinfo *e)
{
	if (archive_read_support_filter_gzip(in) == ARCHIVE_OK &&
	    archive_read_support_filter_bzip2(in) == ARCHIVE_OK &&
	    archive_read_support_filter_xz(in) == ARCHIVE_OK &&
	    archive_read_support_filter_zstd(in) == ARCHIVE_OK &&
	    archive_read_support_format_tar(in) == ARCHIVE_OK &&
	    archive_read_open_fd(in, fd, BLOCK_BYTES) == ARCHIVE_OK)
		return ERR_NONE;
	return err_set(e, ERR_ARG, 0, "it is no tar file: %.160s",
		       archive_error_string(in));
}

static enum err unpack_all(int fd, struct unpack_done *done, struct errinfo *e)
{
	OWN(reader_free) struct archive *in = archive_read_new();
	OWN(writer_free) struct archive *out = archive_write_disk_new();
	struct archive_entry *entry;
	enum err r;

	if (in == NULL || out == NULL)
		return err_set(e, ERR_NOMEM, 0, "archive");
	archive_write_disk_set_options(out, EXTRACT_FLAGS);
	r = unpack_open(in, fd, e);
	while (r == ERR_NONE) {
		int got = archive_read_next_header(in, &entry);
		bool skip = false;

		if (got == ARCHIVE_EOF)
			break;
		if (got != ARCHIVE_OK && got != ARCHIVE_WARN)
			return err_set(e, ERR_ARG, 0,
				       "the archive cannot be read: %.160s",
				       archive_error_string(in));
		r = entry_check(entry, &skip, e);
		if (r == ERR_NONE && !skip)
			r = entry_write(in, out, entry, done, e);
	}
	/* Modes and times of directories are set at last. */
	if (r == ERR_NONE && archive_write_close(out) != ARCHIVE_OK)
		r = err_set(e, ERR_IO, 0, "%.160s", archive_error_string(out));
	return r;
}

/* ---- the child ---- */

static bool keep_file_powers(void)
{
	const uint32_t keep = CAP_BIT(CAP_CHOWN) | CAP_BIT(CAP_DAC_OVERRIDE) |
			      CAP_BIT(CAP_FOWNER) | CAP_BIT(CAP_FSETID);
	struct __user_cap_header_struct h = {
	    .version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct d[2] = {
	    {.effective = keep, .permitted = keep}};

	for (int c = 0; c <= CAP_LAST; c++)
		if ((c > 31 || (keep & CAP_BIT(c)) == 0) &&
		    prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0)
			break; /* past the kernel's last capability */
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       syscall(SYS_capset, &h, d) == 0;
}

static enum err confine(int dir, struct errinfo *e)
{
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0 ||
	    fchdir(dir) != 0 || chroot(".") != 0 || setgroups(0, NULL) != 0 ||
	    !keep_file_powers())
		return err_set(e, ERR_IO, errno, "cannot be confined");
	umask(0);
	return ERR_NONE;
}

static _Noreturn void child_main(int archive, int dir, int say)
{
	struct verdict v = {.e = {.code = ERR_NONE}};
	enum err r = confine(dir, &v.e);

	if (r == ERR_NONE)
		r = unpack_all(archive, &v.done, &v.e);
	if (r == ERR_NONE)
		r = warren_unpack_finish(&v.done, &v.e);
	v.e.code = r;
	_exit(write(say, &v, sizeof(v)) != (ssize_t)sizeof(v));
}

enum err warren_unpack(int archive, int dir, struct unpack_done *done,
		       struct errinfo *e)
{
	OWN(own_fd) int say = -1;
	OWN(own_fd) int hear = -1;
	struct verdict v;
	int pair[2];
	ssize_t n;
	pid_t pid;

	if (pipe(pair) != 0)
		return err_set(e, ERR_IO, errno, "pipe");
	hear = pair[0];
	say = pair[1];
	pid = fork();
	if (pid < 0)
		return err_set(e, ERR_IO, errno, "fork");
	if (pid == 0)
		child_main(archive, dir, say);
	own_fd(&say);
	do {
		n = read(hear, &v, sizeof(v));
	} while (n < 0 && errno == EINTR);
	waitpid(pid, NULL, 0);
	if (n != (ssize_t)sizeof(v))
		return err_set(e, ERR_IO, 0, "what unpacks has died");
	if (v.e.code != ERR_NONE) {
		*e = v.e;
		return e->code;
	}
	*done = v.done;
	return ERR_NONE;
}
