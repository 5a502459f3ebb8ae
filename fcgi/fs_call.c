#include <endian.h>
#include <json-c/json.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "fcgi/exec_hits.h"
#include "fcgi/fs_call.h"
#include "fcgi/launch.h"
#include "fcgi/session.h"

#define IDLE_MS 60000

void fs_call_path(struct buf *b, const char *path)
{
	if (path[0] != '/')
		buf_adds(b, LAUNCH_CWD "/");
	buf_adds(b, path);
}

/* The session whose directory relative paths start at; "": /workspace. */
static enum err fs_call_session(struct request *rq, id_text_t out,
				struct errinfo *e)
{
	struct json_object *v = NULL;
	const char *given = NULL;
	bool named;

	out[0] = '\0';
	if (rq->body.root == NULL) /* the path is in the URL */
		return ERR_NONE;
	if (json_object_object_get_ex(rq->body.root, "sessionId", &v) &&
	    json_object_is_type(v, json_type_string))
		given = json_object_get_string(v);
	return session_choose(rq, given, out, &named, e);
}

enum err fs_call_full(struct request *rq, struct link *l, const char *path,
		      struct buf *out, struct errinfo *e)
{
	id_text_t session;
	enum err r = fs_call_session(rq, session, e);

	if (r != ERR_NONE)
		return r;
	if (l != NULL)
		return session_path(l, session, path, out, e);
	fs_call_path(out, path);
	return buf_ok(out) ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "path");
}

/* argv with absolute paths; the paths of ${c} stay as they were given. */
static enum err fs_call_args(struct fs_call *c, const char *const *argv,
			     uint32_t argc, const char **out, struct errinfo *e)
{
	enum err r = ERR_NONE;
	bool two = strcmp(argv[0], "rename") == 0 ||
		   strcmp(argv[0], "move") == 0 || strcmp(argv[0], "copy") == 0;
	uint32_t first = argv[0][0] == '/' ? argc - 1 : 1; /* a program's */
	uint32_t i;

	must(argc > 1 && argc <= FS_CALL_ARGS_MAX);
	for (i = 0; i < argc; i++)
		out[i] = argv[i];
	for (i = 0; i < (two ? 2 : 1); i++) {
		c->paths[i] = argv[first + i];
		r = fs_call_full(c->d.rq, &c->d.link, argv[first + i],
				 &c->full[i], e);
		if (r != ERR_NONE)
			return r;
		out[first + i] = c->full[i].data;
	}
	return r;
}

enum err fs_call_open(struct request *rq, enum link_mode mode,
		      const char *const *argv, uint32_t argc, struct fs_call *c,
		      struct errinfo *e)
{
	const char *args[FS_CALL_ARGS_MAX];
	struct keeper_start s = {
	    .kind = EXEC_FS, .cwd = "", .argv = args, .argc = argc};
	enum err r = link_open(rq, mode, &c->d.link, e);

	err_http_operation(rq, c->op);
	c->d.rq = rq;
	if (r == ERR_NONE)
		r = fs_call_args(c, argv, argc, args, e);
	if (r != ERR_NONE)
		return r;
	s.user = rq->sandbox.user;
	c->d.deadline_ms = CLOCK_NEVER;
	if (c->d.idle_ms == 0)
		c->d.idle_ms = IDLE_MS;
	return direct_start(rq, &s, &c->d, e);
}

enum err fs_call_put(struct fs_call *c, const void *p, size_t n,
		     struct errinfo *e)
{
	const char *at = p;

	while (n > 0) {
		uint32_t part = (uint32_t)(n < FS_CHUNK_MAX ? n : FS_CHUNK_MAX);
		uint32_t le = htole32(part);
		enum err r = direct_put(&c->d, &le, sizeof(le), e);

		if (r == ERR_NONE)
			r = direct_put(&c->d, at, part, e);
		if (r != ERR_NONE)
			return r;
		at += part;
		n -= part;
	}
	return ERR_NONE;
}

enum err fs_call_put_end(struct fs_call *c, struct errinfo *e)
{
	uint32_t le = 0;
	enum err r = direct_put(&c->d, &le, sizeof(le), e);

	if (r == ERR_NONE)
		direct_put_end(&c->d);
	return r;
}

/* It said nothing: the keeper knows why. */
static enum err fs_call_silent(struct fs_call *c, struct errinfo *e)
{
	struct keeper_end end = {0};
	enum err r = direct_end(&c->d, &end, e);

	if (r != ERR_NONE)
		return r;
	if (end.reason == END_OUT_OF_MEMORY)
		return err_http_fail(c->d.rq, e, HTTP_FILESYSTEM_ERROR,
				     "The sandbox is out of memory");
	return err_set(e, ERR_PEER, 0, "file executor ended: %s, code %d",
		       end_reason_name(end.reason), end.exit_code);
}

enum err fs_call_try(struct fs_call *c, struct errinfo *e)
{
	uint8_t p[FS_HEAD_LEN];
	enum err r = direct_get_all(&c->d, p, sizeof(p), e);

	if (r == ERR_PEER)
		return fs_call_silent(c, e);
	if (r == ERR_NONE)
		r = fs_get_head(p, &c->head, e);
	if (r == ERR_NONE && c->head.payload != FS_UNTIL_END)
		c->left = c->head.payload;
	return r;
}

enum err fs_call_head(struct fs_call *c, struct errinfo *e)
{
	enum err r = fs_call_try(c, e);

	if (r == ERR_NONE && c->head.status != FS_OK)
		return fs_call_failed(c, e);
	return r;
}

enum err fs_call_get(struct fs_call *c, void *p, size_t n, size_t *got,
		     struct errinfo *e)
{
	enum err r;

	*got = 0;
	if (c->left == 0)
		return ERR_NONE;
	r = direct_get(&c->d, p, c->left < n ? (size_t)c->left : n, got, e);
	if (r == ERR_NONE && *got == 0)
		return err_set(e, ERR_PEER, 0, "the file shrank");
	c->left -= *got;
	return r;
}

void fs_call_close(struct fs_call *c)
{
	direct_close(&c->d);
	buf_free(&c->full[0]);
	buf_free(&c->full[1]);
}

/* ---- failures ---- */

struct told {
	enum http_code code;
	const char *text; /* before ": <path>" */
};

static const struct told told[FS_STATUS_END] = {
    [FS_NOT_FOUND] = {HTTP_FILE_NOT_FOUND, "File or directory not found"},
    [FS_EXISTS] = {HTTP_FILE_EXISTS, "It already exists"},
    [FS_IS_DIR] = {HTTP_IS_DIRECTORY, "It is a directory"},
    [FS_NOT_DIR] = {HTTP_NOT_DIRECTORY, "It is not a directory"},
    [FS_NOT_REGULAR] = {HTTP_VALIDATION_FAILED, "It is not a regular file"},
    [FS_NOT_EMPTY] = {HTTP_FILE_EXISTS, "The directory is not empty"},
    [FS_DENIED] = {HTTP_PERMISSION_DENIED, "Permission denied"},
    [FS_READ_ONLY] = {HTTP_READ_ONLY, "It is read-only"},
    [FS_NAME_TOO_LONG] = {HTTP_NAME_TOO_LONG, "The name is too long"},
    [FS_LOOP] = {HTTP_VALIDATION_FAILED, "Too many levels of symbolic links"},
    [FS_NO_SPACE] = {HTTP_NO_SPACE, "No space is left in the sandbox"},
    [FS_TOO_MANY] = {HTTP_TOO_MANY_FILES, "Too many open files"},
    [FS_TOO_LARGE] = {HTTP_FILE_TOO_LARGE, "The file is too large"},
    [FS_TOO_DEEP] = {HTTP_VALIDATION_FAILED,
		     "Directories are nested too deeply"},
    [FS_BUSY] = {HTTP_RESOURCE_BUSY, "It is in use"},
    [FS_INVALID] = {HTTP_VALIDATION_FAILED,
		    "That is not possible with this path"},
    [FS_MISMATCH] = {HTTP_PRECONDITION_FAILED,
		     "The file is not as the request wants it"},
    [FS_BAD_ARCHIVE] = {HTTP_INVALID_ARCHIVE, "It cannot be unpacked"},
    [FS_WATCHES] = {HTTP_LIMIT_EXCEEDED,
		    "A sandbox can watch at most 65536 directories "
		    "(inotify watches)"},
    [FS_WATCHERS] = {HTTP_LIMIT_EXCEEDED,
		     "A sandbox can open at most 128 watchers "
		     "(inotify instances)"},
    [FS_CUT] = {HTTP_BAD_REQUEST, "The content broke off"},
    [FS_IO] = {HTTP_FILESYSTEM_ERROR, "The file system failed"},
};

static void fs_call_hits(struct fs_call *c, const char *path)
{
	if (c->head.status == FS_NO_SPACE)
		exec_hits_space(c->d.rq, path);
	else if (c->head.status == FS_TOO_LARGE &&
		 strncmp(c->op, "file.read", 9) != 0)
		exec_hits_file_size(c->d.rq);
}

/* As much of a path as a message has room for. */
#define SHOWN_MAX 300

enum err fs_call_failed(struct fs_call *c, struct errinfo *e)
{
	struct request *rq = c->d.rq;
	const struct told *t = &told[c->head.status];
	const char *path = c->paths[c->head.which];
	char shown[SHOWN_MAX + 4];
	size_t n;

	if (path == NULL) /* a sandbox may name a path that is not there */
		path = c->paths[0];
	n = strnlen(path, SHOWN_MAX);
	memcpy(shown, path, n);
	memcpy(shown + n, n == SHOWN_MAX ? "..." : "", n == SHOWN_MAX ? 4 : 1);
	err_http_text(rq, "path", path);
	err_http_text(rq, "operation", c->op);
	if (rq->sandbox.id[0] != '\0')
		fs_call_hits(c, path);
	if (c->head.status == FS_IO)
		log_line(LOG_WARN, "%s: %s: errno %u in the sandbox", rq->id,
			 c->op, c->head.sys);
	if (c->head.status == FS_IS_DIR && strcmp(c->op, "file.delete") == 0)
		return err_http_fail(rq, e, t->code,
				     "Cannot delete directory with "
				     "deleteFile(): %s",
				     shown);
	return err_http_fail(rq, e, t->code, "%s: %s", t->text, shown);
}
