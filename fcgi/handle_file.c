/* Names: exists, delete, rename, move, mkdir. */
#include <string.h>

#include "base/own.h"
#include "fcgi/body.h"
#include "fcgi/file_body.h"

struct one_path {
	const char *path;
	bool recursive;
};

#define ONE(member) offsetof(struct one_path, member)

static const struct json_field path_fields[] = {
    FILE_PATH_FIELD("path", ONE(path)),
    FILE_SESSION_FIELD,
};

static const struct json_field path_recursive_fields[] = {
    FILE_PATH_FIELD("path", ONE(path)),
    {"recursive", NULL, JSON_BOOL, ONE(recursive), false, 0, 0},
    FILE_SESSION_FIELD,
};

enum err file_exists(struct request *rq, struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	OWN(fs_call_close) struct fs_call c = FS_CALL_INIT;
	struct one_path in = {0};
	const char *argv[2];
	bool exists;
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	c.op = "file.stat";
	file_body_op(rq, c.op);
	r = body_json(rq, path_fields, JSON_COUNT(path_fields), &in, e);
	if (r != ERR_NONE)
		return r;
	argv[0] = "stat";
	argv[1] = in.path;
	r = fs_call_open(rq, LINK_START, argv, 2, &c, e);
	if (r == ERR_NONE)
		r = fs_call_try(&c, e);
	if (r != ERR_NONE)
		return r;
	exists = c.head.status == FS_OK;
	if (!exists && c.head.status != FS_NOT_FOUND &&
	    c.head.status != FS_NOT_DIR && c.head.status != FS_LOOP)
		return fs_call_failed(&c, e);
	file_body_start(&o);
	json_out_text(&o, "path", in.path);
	json_out_bool(&o, "exists", exists);
	return file_body_send(rq, &o, e);
}

enum err file_delete(struct request *rq, struct errinfo *e)
{
	static const char op[] = "file.delete";
	OWN(json_out_free) struct json_out o;
	struct one_path in = {0};
	const char *argv[3];
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	file_body_op(rq, op);
	r = body_json(rq, path_recursive_fields,
		      JSON_COUNT(path_recursive_fields), &in, e);
	if (r != ERR_NONE)
		return r;
	argv[0] = "delete";
	argv[1] = in.path;
	argv[2] = in.recursive ? "1" : "0";
	r = file_body_run(rq, LINK_CREATE, op, argv, 3, e);
	if (r != ERR_NONE)
		return r;
	file_body_start(&o);
	json_out_text(&o, "path", in.path);
	return file_body_send(rq, &o, e);
}

enum err file_mkdir(struct request *rq, struct errinfo *e)
{
	static const char op[] = "directory.create";
	OWN(json_out_free) struct json_out o;
	struct one_path in = {0};
	const char *argv[3];
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	file_body_op(rq, op);
	r = body_json(rq, path_recursive_fields,
		      JSON_COUNT(path_recursive_fields), &in, e);
	if (r != ERR_NONE)
		return r;
	argv[0] = "mkdir";
	argv[1] = in.path;
	argv[2] = in.recursive ? "1" : "0";
	r = file_body_run(rq, LINK_CREATE, op, argv, 3, e);
	if (r != ERR_NONE)
		return r;
	file_body_start(&o);
	json_out_text(&o, "path", in.path);
	json_out_bool(&o, "recursive", in.recursive);
	return file_body_send(rq, &o, e);
}

struct two_paths {
	const char *from;
	const char *to;
};

#define TWO(member) offsetof(struct two_paths, member)

static const struct json_field rename_fields[] = {
    FILE_PATH_FIELD("oldPath", TWO(from)),
    FILE_PATH_FIELD("newPath", TWO(to)),
    FILE_SESSION_FIELD,
};

static const struct json_field move_fields[] = {
    FILE_PATH_FIELD("sourcePath", TWO(from)),
    FILE_PATH_FIELD("destinationPath", TWO(to)),
    FILE_SESSION_FIELD,
};

static enum err run_two(struct request *rq, const char *op, const char *verb,
			const struct json_field *fields, size_t n,
			struct errinfo *e)
{
	OWN(json_out_free) struct json_out o;
	struct two_paths in = {0};
	const char *argv[3];
	enum err r;

	json_out_init(&o, FILE_ANSWER_MAX);
	file_body_op(rq, op);
	r = body_json(rq, fields, n, &in, e);
	if (r != ERR_NONE)
		return r;
	argv[0] = verb;
	argv[1] = in.from;
	argv[2] = in.to;
	r = file_body_run(rq, LINK_CREATE, op, argv, 3, e);
	if (r != ERR_NONE)
		return r;
	file_body_start(&o);
	json_out_text(&o, "path", in.from);
	json_out_text(&o, "newPath", in.to);
	return file_body_send(rq, &o, e);
}

enum err file_rename(struct request *rq, struct errinfo *e)
{
	return run_two(rq, "file.rename", "rename", rename_fields,
		       JSON_COUNT(rename_fields), e);
}

enum err file_move(struct request *rq, struct errinfo *e)
{
	return run_two(rq, "file.move", "move", move_fields,
		       JSON_COUNT(move_fields), e);
}
