#include <curl/curl.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/own.h"
#include "fcgi/backup_s3_call.h"
#include "fcgi/backup_s3_parts.h"
#include "fcgi/backup_xml.h"

#define PARTS_MAX 10000 /* what stores take */
#define ID_TEXT_MAX 1024U
#define QUERY_MAX (3U * ID_TEXT_MAX + 64U)
#define LIST_MAX (PARTS_MAX * (BACKUP_S3_TAG_MAX + 80U))
#define PIECE_BYTES (256U << 10)
#define KEY_MAX 1024

struct parts {
	const struct backup_s3 *s;
	const struct ctl_backup *b;
	int fd;
	char *id;        /* of the sending, escaped */
	struct buf list; /* of what was sent, as XML */
	char *data;      /* PIECE_BYTES */
	crypto_hash_sha256_state whole;
};

static void parts_free(struct parts *p)
{
	curl_free(p->id);
	free(p->data);
	buf_free(&p->list);
}

/* The id of the next sending in ${said}, escaped; NULL: none. */
static char *next_id(const char *said, size_t n, size_t *used)
{
	char id[ID_TEXT_MAX];

	*used = backup_xml_text(said, n, "UploadId", id, sizeof(id));
	return *used > 0 ? curl_easy_escape(NULL, id, 0) : NULL;
}

static enum err parts_begin(struct parts *p, struct errinfo *e)
{
	OWN(backup_s3_call_free)
	struct backup_s3_call c = BACKUP_S3_CALL_INIT(p->s, p->b);
	size_t used;
	enum err r;

	p->data = malloc(PIECE_BYTES);
	if (p->data == NULL)
		return err_set(e, ERR_NOMEM, 0, "backup");
	crypto_hash_sha256_init(&p->whole);
	buf_adds(&p->list, "<CompleteMultipartUpload>");
	c.method = S3_POST;
	c.query = "uploads=";
	r = backup_s3_call_run(&c, e);
	if (r != ERR_NONE)
		return r;
	p->id = next_id(buf_str(&c.said), c.said.len, &used);
	return p->id != NULL
		   ? ERR_NONE
		   : err_set(e, ERR_IO, 0, "object store: no UploadId");
}

/* The SHA-256 of a part, which has to be known before it is sent. */
static enum err hash_part(struct parts *p, int64_t at, int64_t bytes,
			  char hex[BACKUP_S3_HEX_LEN], struct errinfo *e)
{
	unsigned char hash[CTL_BACKUP_HASH_BYTES];
	crypto_hash_sha256_state part;

	crypto_hash_sha256_init(&part);
	while (bytes > 0) {
		size_t want = bytes < PIECE_BYTES ? (size_t)bytes : PIECE_BYTES;
		ssize_t n = pread(p->fd, p->data, want, at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return err_set(e, ERR_IO, errno, "read of a backup");
		crypto_hash_sha256_update(&part, (unsigned char *)p->data,
					  (size_t)n);
		crypto_hash_sha256_update(&p->whole, (unsigned char *)p->data,
					  (size_t)n);
		at += n;
		bytes -= n;
	}
	crypto_hash_sha256_final(&part, hash);
	sodium_bin2hex(hex, BACKUP_S3_HEX_LEN, hash, sizeof(hash));
	return ERR_NONE;
}

static bool tag_ok(const char *tag)
{
	for (const char *t = tag; *t != '\0'; t++)
		if (*t <= ' ' || *t > '~' || strchr("<>&", *t) != NULL)
			return false;
	return tag[0] != '\0';
}

static enum err send_part(struct parts *p, int number, int64_t at,
			  int64_t bytes, struct errinfo *e)
{
	OWN(backup_s3_call_free)
	struct backup_s3_call c = BACKUP_S3_CALL_INIT(p->s, p->b);
	char hex[BACKUP_S3_HEX_LEN];
	char query[QUERY_MAX];
	enum err r = hash_part(p, at, bytes, hex, e);

	if (r != ERR_NONE)
		return r;
	snprintf(query, sizeof(query), "partNumber=%d&uploadId=%s", number,
		 p->id);
	c.method = S3_PUT;
	c.query = query;
	c.sha256 = hex;
	c.fd = p->fd;
	c.at = at;
	c.bytes = bytes;
	r = backup_s3_call_run(&c, e);
	if (r != ERR_NONE)
		return r;
	if (!tag_ok(c.tag))
		return err_set(e, ERR_IO, 0, "object store: a part's ETag");
	buf_addf(&p->list,
		 "<Part><PartNumber>%d</PartNumber><ETag>%s</ETag></Part>",
		 number, c.tag);
	return ERR_NONE;
}

/* What was read to be sent is what was written. */
static enum err check_whole(struct parts *p, struct errinfo *e)
{
	unsigned char hash[CTL_BACKUP_HASH_BYTES];

	crypto_hash_sha256_final(&p->whole, hash);
	return sodium_memcmp(hash, p->b->hash, sizeof(hash)) == 0
		   ? ERR_NONE
		   : err_set(e, ERR_IO, 0, "a backup changed on the disk");
}

/* A failure may come in an answer that began as a success. */
static enum err parts_end(struct parts *p, struct errinfo *e)
{
	OWN(backup_s3_call_free)
	struct backup_s3_call c = BACKUP_S3_CALL_INIT(p->s, p->b);
	unsigned char hash[CTL_BACKUP_HASH_BYTES];
	char hex[BACKUP_S3_HEX_LEN];
	char query[QUERY_MAX];
	enum err r;

	buf_adds(&p->list, "</CompleteMultipartUpload>");
	if (!buf_ok(&p->list))
		return err_set(e, ERR_NOMEM, 0, "list of parts");
	crypto_hash_sha256(hash, (unsigned char *)p->list.data, p->list.len);
	sodium_bin2hex(hex, sizeof(hex), hash, sizeof(hash));
	snprintf(query, sizeof(query), "uploadId=%s", p->id);
	c.method = S3_POST;
	c.query = query;
	c.sha256 = hex;
	c.text = p->list.data;
	c.bytes = (int64_t)p->list.len;
	r = backup_s3_call_run(&c, e);
	if (r != ERR_NONE)
		return r;
	return backup_xml_has(buf_str(&c.said), c.said.len,
			      "CompleteMultipartUploadResult")
		   ? ERR_NONE
		   : err_set(e, ERR_IO, 0, "object store: %.160s",
			     buf_str(&c.said));
}

enum err backup_s3_parts_put(const struct backup_s3 *s,
			     const struct ctl_backup *b, int fd, int64_t bytes,
			     struct errinfo *e)
{
	OWN(parts_free)
	struct parts p = {.s = s, .b = b, .fd = fd, .list = BUF_INIT(LIST_MAX)};
	int64_t size = BACKUP_S3_PART;
	int number = 1;
	enum err r = parts_begin(&p, e);

	while (bytes / size >= PARTS_MAX)
		size *= 2;
	for (int64_t at = 0; r == ERR_NONE && at < bytes; at += size)
		r = send_part(&p, number++, at,
			      bytes - at < size ? bytes - at : size, e);
	if (r == ERR_NONE)
		r = check_whole(&p, e);
	return r == ERR_NONE ? parts_end(&p, e) : r;
}

/* ---- what broke off ---- */

static enum err drop_one(const struct backup_s3 *s, const struct ctl_backup *b,
			 const char *id, struct errinfo *e)
{
	OWN(backup_s3_call_free)
	struct backup_s3_call c = BACKUP_S3_CALL_INIT(s, b);
	char query[QUERY_MAX];
	enum err r;

	snprintf(query, sizeof(query), "uploadId=%s", id);
	c.method = S3_DELETE;
	c.query = query;
	r = backup_s3_call_run(&c, e);
	return r == ERR_NOT_FOUND ? ERR_NONE : r;
}

enum err backup_s3_parts_drop(const struct backup_s3 *s,
			      const struct ctl_backup *b, struct errinfo *e)
{
	OWN(backup_s3_call_free)
	struct backup_s3_call c = BACKUP_S3_CALL_INIT(s, NULL);
	OWN(buf_free) struct buf query = BUF_INIT(3 * KEY_MAX + 64);
	char name[KEY_MAX];
	char *key;
	size_t used = 0;
	enum err r;

	snprintf(name, sizeof(name), "%s%s/%s.tar.zst", s->conf->prefix,
		 b->tenant, b->id);
	key = curl_easy_escape(NULL, name, 0);
	if (key == NULL)
		return err_set(e, ERR_NOMEM, 0, "curl");
	buf_addf(&query, "prefix=%s&uploads=", key);
	curl_free(key);
	c.query = buf_str(&query);
	r = backup_s3_call_run(&c, e);
	for (size_t at = 0; r == ERR_NONE; at += used) {
		char *id = next_id(buf_str(&c.said) + at, c.said.len - at,
				   &used);

		if (id == NULL)
			break;
		r = drop_one(s, b, id, e);
		curl_free(id);
	}
	return r;
}
