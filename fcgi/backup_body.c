#include <json-c/json.h>
#include <math.h>
#include <string.h>

#include "fcgi/backup_body.h"
#include "fcgi/body.h"
#include "fcgi/duration.h"
#include "fcgi/file_body.h"

#define TTL_DEFAULT_MS (INT64_C(3) * 86400 * 1000)
#define TTL_MAX_MS (INT64_C(100) * 365 * 86400 * 1000)
#define EXCLUDES_MAX 1000
#define EXCLUDE_BYTES_MAX 1024
#define ARCHIVES "/var/backups/"

static enum err refuse(struct request *rq, struct errinfo *e, const char *field,
		       const char *why)
{
	err_http_text(rq, "field", field);
	err_http_text(rq, "reason", why);
	return err_http_fail(rq, e, HTTP_INVALID_BACKUP_CONFIG, "%s %s", field,
			     why);
}

/* ".." as a name in ${path}. */
static bool goes_up(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")) != NULL; p += 2)
		if ((p == path || p[-1] == '/') &&
		    (p[2] == '\0' || p[2] == '/'))
			return true;
	return false;
}

enum err backup_body_dir(struct request *rq, const char *dir, struct errinfo *e)
{
	if (dir[0] != '/')
		return refuse(rq, e, "dir", "must be an absolute path");
	if (goes_up(dir))
		return refuse(rq, e, "dir", "must not have .. in it");
	if (dir[strspn(dir, "/.")] == '\0')
		return refuse(rq, e, "dir",
			      "must be a directory below the root");
	return ERR_NONE;
}

/* What the wire calls an archive; here it is only a name. */
static enum err check_archive(struct request *rq, const char *path,
			      struct errinfo *e)
{
	if (strncmp(path, ARCHIVES, sizeof(ARCHIVES) - 1) != 0 ||
	    path[sizeof(ARCHIVES) - 1] == '\0' || goes_up(path))
		return refuse(rq, e, "archivePath",
			      "must be a path below " ARCHIVES);
	return ERR_NONE;
}

static enum err check_name(struct request *rq, const char *name,
			   struct errinfo *e)
{
	size_t characters = 0;

	for (const char *p = name; *p != '\0'; p++) {
		if ((unsigned char)*p < 0x20 || *p == 0x7f)
			return refuse(rq, e, "name",
				      "must not have control characters");
		characters += ((unsigned char)*p & 0xc0) != 0x80;
	}
	return characters > 256
		   ? refuse(rq, e, "name", "must have at most 256 characters")
		   : ERR_NONE;
}

/* Seconds, or a duration. */
static enum err check_ttl(struct request *rq, struct json_object *v,
			  int64_t *out, struct errinfo *e)
{
	int64_t ms = 0;
	double s;

	if (v == NULL)
		return ERR_NONE;
	if (json_object_is_type(v, json_type_string)) {
		if (!duration_parse(json_object_get_string(v), &ms))
			ms = 0;
	} else if (json_object_is_type(v, json_type_int) ||
		   json_object_is_type(v, json_type_double)) {
		s = json_object_get_double(v);
		if (s > 0 && s <= (double)(TTL_MAX_MS / 1000))
			ms = (int64_t)ceil(s * 1000);
	}
	if (ms <= 0 || ms > TTL_MAX_MS)
		return refuse(rq, e, "ttl",
			      "must be seconds above 0, or a duration such as "
			      "12h, of at most 100 years");
	*out = ms;
	return ERR_NONE;
}

static enum err check_excludes(struct request *rq, struct json_object *list,
			       struct errinfo *e)
{
	size_t n = list != NULL ? json_object_array_length(list) : 0;

	for (size_t i = 0; i < n; i++) {
		struct json_object *v = json_object_array_get_idx(list, i);
		int len = json_object_get_string_len(v);

		if (len == 0 || len > EXCLUDE_BYTES_MAX)
			return refuse(rq, e, "excludes",
				      "must be globs of 1 to 1024 bytes");
	}
	return ERR_NONE;
}

struct compression_in {
	const char *format;
	int64_t threads;
};

/* How it is stored is our affair; what callers may say is checked. */
static enum err check_compression(struct request *rq, struct json_object *obj,
				  struct errinfo *e)
{
	static const struct json_field fields[] = {
	    {"format", NULL, JSON_TEXT, offsetof(struct compression_in, format),
	     false, 1, 16},
	    {"threads", NULL, JSON_INT,
	     offsetof(struct compression_in, threads), false, 1, 1024},
	};
	struct compression_in in = {.format = "zstd"};
	enum err r;

	if (obj == NULL)
		return ERR_NONE;
	r = body_part(rq, obj, fields, JSON_COUNT(fields), &in, e);
	if (r != ERR_NONE)
		return r;
	if (strcmp(in.format, "zstd") != 0 && strcmp(in.format, "lz4") != 0 &&
	    strcmp(in.format, "gzip") != 0)
		return refuse(rq, e, "compression.format",
			      "must be gzip, lz4 or zstd");
	return ERR_NONE;
}

struct create_raw {
	struct backup_create_in in;
	struct json_object *ttl;
	struct json_object *compression;
};

#define AT(member) offsetof(struct create_raw, member)

static const struct json_field create_fields[] = {
    FILE_PATH_FIELD("dir", AT(in.dir)),
    {"name", NULL, JSON_TEXT, AT(in.name), false, 0, CTL_BACKUP_NAME_MAX},
    {"archivePath", NULL, JSON_TEXT, AT(in.archive_path), false, 1,
     FS_CALL_PATH_MAX},
    {"gitignore", NULL, JSON_BOOL, AT(in.gitignore), false, 0, 0},
    {"excludes", NULL, JSON_TEXTS, AT(in.excludes), false, 0, EXCLUDES_MAX},
    {"ttl", NULL, JSON_ANY, AT(ttl), false, 0, 0},
    {"compression", NULL, JSON_OBJECT, AT(compression), false, 0, 0},
    /* Where their client stores it. */
    {"multipart", NULL, JSON_SKIP, 0, false, 0, 0},
    {"localBucket", NULL, JSON_SKIP, 0, false, 0, 0},
    FILE_SESSION_FIELD,
};

#undef AT

enum err backup_body_create(struct request *rq, struct backup_create_in *in,
			    struct errinfo *e)
{
	struct create_raw raw = {
	    .in = {.name = "", .archive_path = "", .ttl_ms = TTL_DEFAULT_MS}};
	enum err r = body_json(rq, create_fields, JSON_COUNT(create_fields),
			       &raw, e);

	if (r == ERR_NONE)
		r = backup_body_dir(rq, raw.in.dir, e);
	if (r == ERR_NONE && raw.in.archive_path[0] != '\0')
		r = check_archive(rq, raw.in.archive_path, e);
	if (r == ERR_NONE)
		r = check_name(rq, raw.in.name, e);
	if (r == ERR_NONE)
		r = check_ttl(rq, raw.ttl, &raw.in.ttl_ms, e);
	if (r == ERR_NONE)
		r = check_excludes(rq, raw.in.excludes, e);
	if (r == ERR_NONE)
		r = check_compression(rq, raw.compression, e);
	if (r == ERR_NONE)
		*in = raw.in;
	return r;
}

#define AT(member) offsetof(struct backup_restore_in, member)

static const struct json_field restore_fields[] = {
    {"id", NULL, JSON_TEXT, AT(id), false, 1, 128},
    {"archivePath", NULL, JSON_TEXT, AT(archive_path), false, 1,
     FS_CALL_PATH_MAX},
    {"dir", NULL, JSON_TEXT, AT(dir), false, 1, FS_CALL_PATH_MAX},
    {"localBucket", NULL, JSON_SKIP, 0, false, 0, 0},
    FILE_SESSION_FIELD,
};

enum err backup_body_restore(struct request *rq, struct backup_restore_in *in,
			     struct errinfo *e)
{
	enum err r = body_json(rq, restore_fields, JSON_COUNT(restore_fields),
			       in, e);

	if (r != ERR_NONE)
		return r;
	if ((in->id == NULL) == (in->archive_path == NULL))
		return refuse(rq, e, "id", "or archivePath must be given");
	if (in->id != NULL && !ctl_backup_id_ok(in->id))
		return refuse(rq, e, "id", "must be the id of a backup");
	if (in->archive_path != NULL)
		r = check_archive(rq, in->archive_path, e);
	if (r == ERR_NONE && in->dir != NULL)
		r = backup_body_dir(rq, in->dir, e);
	return r;
}

/* ---- out ---- */

enum err backup_body_none(struct request *rq, const char *id, struct errinfo *e)
{
	err_http_text(rq, "backupId", id);
	return err_http_fail(rq, e, HTTP_BACKUP_NOT_FOUND, "Backup not found");
}

void backup_body_put(struct json_out *o, const struct ctl_backup *b)
{
	json_out_text(o, "id", b->id);
	json_out_text(o, "dir", b->dir);
	if (b->name[0] != '\0')
		json_out_text(o, "name", b->name);
	if (b->archive_path[0] != '\0')
		json_out_text(o, "archivePath", b->archive_path);
	json_out_text(o, "sandbox", b->sandbox_name);
	json_out_text(o, "sandboxId", b->sandbox);
	json_out_int(o, "sizeBytes", b->size_bytes);
	json_out_int(o, "entries", b->entries);
	json_out_int(o, "contentBytes", b->content_bytes);
	json_out_time(o, "createdAt", b->created_ms);
	json_out_time(o, "expiresAt", b->expires_ms);
}
