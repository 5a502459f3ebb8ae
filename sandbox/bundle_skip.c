#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uthash.h>

#include "base/own.h"
#include "sandbox/bundle_skip.h"
#include "sandbox/fs_glob.h"

#define PROGRAM "/opt/warren/bin/warren-git"

struct bundle_path {
	const char *name; /* in ignored */
	UT_hash_handle hh;
};

void bundle_skip_free(struct bundle_skip *s)
{
	struct bundle_path *p, *next;

	HASH_ITER(hh, s->by_name, p, next)
	{
		HASH_DEL(s->by_name, p);
		free(p);
	}
	buf_free(&s->globs);
	buf_free(&s->ignored);
}

int bundle_skip_read(struct bundle *b, struct bundle_skip *s)
{
	struct bundle_in *in = calloc(1, sizeof(*in));
	int r;

	if (in == NULL)
		return fs_fail(&b->op, ENOMEM);
	while ((r = bundle_in_next(in)) > 0)
		buf_add(&s->globs, in->data, in->have);
	free(in);
	if (r < 0)
		return fs_fail_as(&b->op, FS_CUT);
	buf_addc(&s->globs, '\0');
	return buf_ok(&s->globs) ? 0 : fs_fail(&b->op, ENOMEM);
}

/* ---- what git says ---- */

static int unreadable(struct bundle *b)
{
	return bundle_refuse(b, "git's rules for it cannot be read");
}

/* Its stdout until its end. */
static int take_all(struct bundle *b, int fd, struct buf *out)
{
	char piece[16384];
	ssize_t n;

	while ((n = read(fd, piece, sizeof(piece))) != 0) {
		if (n > 0)
			buf_add(out, piece, (size_t)n);
		else if (errno != EINTR)
			return fs_fail(&b->op, errno);
		if (!buf_ok(out))
			return bundle_refuse(b, "git ignores too many paths "
						"in it");
	}
	return 0;
}

static int run_git(struct bundle *b, const char *path, struct buf *out)
{
	char program[] = PROGRAM, verb[] = "ignored";
	char *const argv[] = {program, verb, strdup(path), NULL};
	posix_spawn_file_actions_t fa;
	int fd[2], status = -1, why;
	OWN(own_fd) int in = -1;
	pid_t pid;

	if (argv[2] == NULL || pipe2(fd, O_CLOEXEC) < 0) {
		free(argv[2]);
		return fs_fail(&b->op, argv[2] == NULL ? ENOMEM : errno);
	}
	in = fd[0];
	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, fd[1], STDOUT_FILENO);
	why = posix_spawn(&pid, PROGRAM, &fa, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&fa);
	close(fd[1]);
	free(argv[2]);
	if (why != 0)
		return fs_fail(&b->op, why);
	if (take_all(b, in, out) < 0)
		kill(pid, SIGKILL);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		continue;
	if (b->op.head.status != FS_OK)
		return -1;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0
							     : unreadable(b);
}

int bundle_skip_git(struct bundle *b, struct bundle_skip *s, const char *path)
{
	const char *at, *end;

	if (run_git(b, path, &s->ignored) < 0)
		return -1;
	if (s->ignored.len == 0)
		return 0;
	end = s->ignored.data + s->ignored.len;
	if (end[-1] != '\0')
		return unreadable(b);
	for (at = s->ignored.data; at < end; at += strlen(at) + 1) {
		struct bundle_path *p = calloc(1, sizeof(*p));

		if (p == NULL)
			return fs_fail(&b->op, ENOMEM);
		p->name = at;
		HASH_ADD_KEYPTR(hh, s->by_name, p->name, strlen(at), p);
	}
	return 0;
}

bool bundle_skip_hits(const struct bundle_skip *s, const char *path)
{
	const char *end = buf_str(&s->globs) + s->globs.len;
	struct bundle_path *p = NULL;

	for (const char *g = buf_str(&s->globs); g < end; g += strlen(g) + 1)
		if (g[0] != '\0' && fs_glob_hits(g, path))
			return true;
	HASH_FIND(hh, s->by_name, path, strlen(path), p);
	return p != NULL;
}
