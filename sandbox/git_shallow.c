#include <errno.h>
#include <fcntl.h>
#include <git2/sys/odb_backend.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "sandbox/git_own.h"
#include "sandbox/git_shallow.h"

void git_shallow_free(struct git_shallow *s)
{
	buf_free(&s->list);
}

/* ---- the list ---- */

bool git_shallow_is_id(const char *p)
{
	for (size_t i = 0; i < GIT_SHALLOW_ID; i++) {
		if (strchr("0123456789abcdef", p[i]) == NULL || p[i] == '\0')
			return false;
	}
	return true;
}

static size_t find(const struct buf *list, const char *id)
{
	size_t at;

	for (at = 0; at < list->len; at += GIT_SHALLOW_LINE) {
		if (memcmp(list->data + at, id, GIT_SHALLOW_ID) == 0)
			break;
	}
	return at;
}

void git_shallow_add(struct git_shallow *s, const char *id)
{
	struct buf *list = &s->list;

	if (find(list, id) < list->len)
		return;
	buf_add(list, id, GIT_SHALLOW_ID);
	buf_addc(list, '\n');
}

void git_shallow_remove(struct git_shallow *s, const char *id)
{
	struct buf *list = &s->list;
	size_t at = find(list, id);

	if (at >= list->len)
		return;
	memmove(list->data + at, list->data + at + GIT_SHALLOW_LINE,
		list->len - at - GIT_SHALLOW_LINE);
	list->len -= GIT_SHALLOW_LINE;
}

static void list_path(git_repository *repo, char *path, size_t size)
{
	snprintf(path, size, "%sshallow", git_repository_commondir(repo));
}

/* The lines that are no ids are not ours to judge: the list is not whole. */
static bool list_read(int fd, struct git_shallow *s)
{
	char line[GIT_SHALLOW_LINE];
	size_t have = 0;
	ssize_t n;

	for (;;) {
		n = read(fd, line + have, sizeof(line) - have);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n == 0 && have == 0 && buf_ok(&s->list);
		have += (size_t)n;
		if (have < sizeof(line))
			continue;
		if (!git_shallow_is_id(line) || line[GIT_SHALLOW_ID] != '\n')
			return false;
		git_shallow_add(s, line);
		have = 0;
	}
}

bool git_shallow_load(struct git_shallow *s, git_repository *repo)
{
	OWN(own_fd) int fd = -1;
	char path[PATH_MAX];

	list_path(repo, path, sizeof(path));
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? errno == ENOENT : list_read(fd, s);
}

bool git_shallow_save(const struct git_shallow *s, git_repository *repo)
{
	OWN(own_fd) int fd = -1;
	char path[PATH_MAX];
	char temp[PATH_MAX + 8];

	list_path(repo, path, sizeof(path));
	if (s->list.len == 0)
		return unlink(path) == 0 || errno == ENOENT;
	snprintf(temp, sizeof(temp), "%s.lock", path);
	fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0 || !buf_ok(&s->list))
		return false;
	if (write(fd, s->list.data, s->list.len) != (ssize_t)s->list.len ||
	    rename(temp, path) < 0) {
		unlink(temp);
		return false;
	}
	return true;
}

/* ---- commits without parents ---- */

struct graft {
	git_odb_backend parent;
	git_odb *base;
	struct git_shallow shallow;
};

/* The header's lines but "parent …", then all else. */
static size_t drop_parents(char *out, const char *in, size_t n)
{
	size_t at = 0;
	size_t put = 0;

	while (at < n && in[at] != '\n') {
		const char *end = memchr(in + at, '\n', n - at);
		size_t len = end != NULL ? (size_t)(end - in) - at + 1 : n - at;

		if (len < 7 || memcmp(in + at, "parent ", 7) != 0) {
			memcpy(out + put, in + at, len);
			put += len;
		}
		at += len;
	}
	memcpy(out + put, in + at, n - at);
	return put + n - at;
}

static int graft_read(void **data, size_t *len, git_object_t *type,
		      git_odb_backend *backend, const git_oid *id)
{
	struct graft *g = (struct graft *)(void *)backend;
	git_odb_object *object = NULL;
	char hex[GIT_SHALLOW_ID + 1];
	size_t n;
	int r;

	git_oid_tostr(hex, sizeof(hex), id);
	if (find(&g->shallow.list, hex) >= g->shallow.list.len)
		return GIT_ENOTFOUND;
	r = git_odb_read(&object, g->base, id);
	if (r < 0)
		return r;
	n = git_odb_object_size(object);
	*data = git_odb_backend_data_alloc(backend, n + 1);
	if (*data != NULL) {
		*len = drop_parents(*data, git_odb_object_data(object), n);
		*type = git_odb_object_type(object);
	}
	git_odb_object_free(object);
	return *data != NULL ? 0 : -1;
}

static void graft_free(git_odb_backend *backend)
{
	struct graft *g = (struct graft *)(void *)backend;

	git_odb_free(g->base);
	git_shallow_free(&g->shallow);
	free(g);
}

static struct graft *graft_new(git_repository *repo)
{
	char path[PATH_MAX];
	struct graft *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	g->shallow = (struct git_shallow)GIT_SHALLOW_INIT;
	must(git_odb_init_backend(&g->parent, GIT_ODB_BACKEND_VERSION) == 0);
	g->parent.read = graft_read;
	g->parent.free = graft_free;
	snprintf(path, sizeof(path), "%sobjects",
		 git_repository_commondir(repo));
	if (git_shallow_load(&g->shallow, repo) &&
	    git_odb_open(&g->base, path) == 0)
		return g;
	graft_free(&g->parent);
	return NULL;
}

bool git_shallow_graft(git_repository *repo)
{
	OWN(own_odb) git_odb *odb = NULL;
	struct graft *g;

	if (git_repository_is_shallow(repo) != 1)
		return true;
	g = graft_new(repo);
	if (g == NULL)
		return false;
	/* what is shown is not what its id says */
	if (git_libgit2_opts(GIT_OPT_ENABLE_STRICT_HASH_VERIFICATION, 0) < 0 ||
	    git_repository_odb(&odb, repo) < 0 ||
	    git_odb_add_backend(odb, &g->parent, 100) < 0) {
		graft_free(&g->parent);
		return false;
	}
	return true;
}
