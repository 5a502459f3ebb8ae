#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <git2.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/own.h"
#include "sandbox/fs_op.h"
#include "sandbox/fs_tree.h"
#include "sandbox/git_ignored.h"

#define PIECE (64U << 10)

/* One repository, and the walk through what is in it. */
struct ignored {
	git_repository *repo;
	git_index *index;
	size_t top;  /* where names of its work tree begin in path */
	size_t from; /* where what is told begins */
	struct buf *out;
	char *path; /* PATH_MAX, absolute */
	size_t len;
};

static int out_flush(struct buf *out, size_t least)
{
	if (out->len < least || out->len == 0)
		return 0;
	if (!buf_ok(out) || fs_send(out->data, out->len) < 0)
		return -1;
	buf_reset(out);
	return 0;
}

static int tell(struct ignored *g)
{
	buf_add(g->out, g->path + g->from, g->len - g->from + 1);
	return out_flush(g->out, PIECE / 2);
}

/* 1: tracked, or something in it is. */
static int is_tracked(const struct ignored *g, bool dir)
{
	const char *name = g->path + g->top;
	char below[PATH_MAX + 1];
	size_t n = g->len - g->top;

	if (g->index == NULL)
		return 0;
	if (git_index_get_bypath(g->index, name, 0) != NULL)
		return 1;
	if (!dir)
		return 0;
	memcpy(below, name, n);
	memcpy(below + n, "/", 2);
	return git_index_find_prefix(NULL, g->index, below) == 0;
}

static int walk(struct ignored *g, int fd, int depth);

static int open_repo(struct ignored *g, const char *path, unsigned flags)
{
	if (git_repository_open_ext(&g->repo, path, flags, NULL) < 0)
		return -1;
	if (git_repository_index(&g->index, g->repo) < 0)
		g->index = NULL; /* nothing is tracked yet */
	return 0;
}

static void close_repo(struct ignored *g)
{
	git_index_free(g->index);
	git_repository_free(g->repo);
}

/* A directory; one that is a repository has rules of its own. */
static int walk_dir(struct ignored *g, int dir, const char *name, int depth)
{
	OWN(close_repo) struct ignored inner = *g;
	int fd = openat(dir, name,
			O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int r;

	inner.repo = NULL;
	inner.index = NULL;
	if (fd < 0)
		return errno == ENOENT || errno == EACCES ? 0 : -1;
	if (faccessat(fd, ".git", F_OK, AT_SYMLINK_NOFOLLOW) < 0 ||
	    open_repo(&inner, g->path, GIT_REPOSITORY_OPEN_NO_SEARCH) < 0)
		return walk(g, fd, depth + 1);
	inner.top = g->len + 1;
	r = walk(&inner, fd, depth + 1);
	g->len = inner.top - 1;
	return r;
}

/* g->path is what ${name} in ${dir} is called. */
static int look(struct ignored *g, int dir, const char *name, int depth)
{
	struct stat st;
	bool is_dir;
	int hit = 0;

	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -1;
	is_dir = S_ISDIR(st.st_mode);
	if (git_ignore_path_is_ignored(&hit, g->repo, g->path + g->top) < 0)
		return -1;
	if (hit && !is_tracked(g, is_dir))
		return tell(g);
	return is_dir ? walk_dir(g, dir, name, depth) : 0;
}

/* Owns ${fd}. */
static int walk(struct ignored *g, int fd, int depth)
{
	DIR *d = fdopendir(fd);
	size_t was = g->len;
	struct dirent *ent;
	int r = 0;

	if (d == NULL || depth > FS_DEPTH_MAX) {
		if (d != NULL)
			closedir(d);
		else
			close(fd);
		return -1;
	}
	while (r == 0 && (errno = 0, ent = readdir(d)) != NULL) {
		size_t n = strlen(ent->d_name);

		if (strcmp(ent->d_name, ".") == 0 ||
		    strcmp(ent->d_name, "..") == 0 ||
		    strcmp(ent->d_name, ".git") == 0)
			continue;
		if (was + n + 2 > PATH_MAX) {
			r = -1;
			break;
		}
		g->path[was] = '/';
		memcpy(g->path + was + 1, ent->d_name, n + 1);
		g->len = was + 1 + n;
		r = look(g, dirfd(d), ent->d_name, depth);
	}
	g->len = was;
	g->path[was] = '\0';
	closedir(d);
	return r;
}

/* 1: ${path} is in no work tree. */
static int find_repo(struct ignored *g)
{
	const char *top;
	size_t n;

	if (open_repo(g, g->path, 0) < 0)
		return git_error_last() != NULL &&
			       git_error_last()->klass != GIT_ERROR_REPOSITORY
			   ? -1
			   : 1;
	top = git_repository_workdir(g->repo);
	n = top != NULL ? strlen(top) : 0;
	/* With its slash; the directory itself, or one below. */
	if (n == 0 || strncmp(top, g->path, n - 1) != 0 ||
	    (g->len >= n && g->path[n - 1] != '/'))
		return 1;
	g->top = n;
	g->from = g->len + 1;
	return 0;
}

int git_ignored_tell(const char *path)
{
	OWN(buf_free) struct buf out = BUF_INIT(PIECE + PATH_MAX);
	OWN(own_mem) char *text = malloc(PATH_MAX);
	OWN(close_repo) struct ignored g = {.out = &out, .path = text};
	int fd, r;

	if (text == NULL || realpath(path, text) == NULL)
		return -1;
	g.len = strlen(text);
	if (git_libgit2_init() < 0 ||
	    git_libgit2_opts(GIT_OPT_SET_OWNER_VALIDATION, 0) < 0)
		return -1;
	fs_tree_room();
	r = find_repo(&g);
	if (r != 0)
		return r > 0 ? 0 : -1;
	fd = open(text, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || walk(&g, fd, 0) < 0)
		return -1;
	return out_flush(&out, 0);
}
