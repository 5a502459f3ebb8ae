#include <curl/curl.h>
#include <sodium.h>

#include "base/own.h"
#include "fcgi/backup_s3.h"
#include "fcgi/backup_s3_call.h"
#include "fcgi/backup_s3_parts.h"

void backup_s3_init(void)
{
	must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

enum err backup_s3_put(const struct backup_s3 *s, const struct ctl_backup *b,
		       int fd, int64_t bytes, struct errinfo *e)
{
	OWN(backup_s3_call_free)
	struct backup_s3_call c = BACKUP_S3_CALL_INIT(s, b);
	char hex[BACKUP_S3_HEX_LEN];

	if (bytes > BACKUP_S3_MOST)
		return err_set(e, ERR_LIMIT, 0, "object store: above 5 TiB");
	if (bytes > BACKUP_S3_PART)
		return backup_s3_parts_put(s, b, fd, bytes, e);
	sodium_bin2hex(hex, sizeof(hex), b->hash, sizeof(b->hash));
	c.method = S3_PUT;
	c.sha256 = hex;
	c.fd = fd;
	c.bytes = bytes;
	return backup_s3_call_run(&c, e);
}

enum err backup_s3_get(const struct backup_s3 *s, const struct ctl_backup *b,
		       enum err (*sink)(void *ctx, const void *p, size_t n,
					struct errinfo *e),
		       void *sink_ctx, struct errinfo *e)
{
	OWN(backup_s3_call_free)
	struct backup_s3_call c = BACKUP_S3_CALL_INIT(s, b);

	c.sink = sink;
	c.sink_ctx = sink_ctx;
	return backup_s3_call_run(&c, e);
}

enum err backup_s3_remove(const struct backup_s3 *s, const struct ctl_backup *b,
			  struct errinfo *e)
{
	OWN(backup_s3_call_free)
	struct backup_s3_call c = BACKUP_S3_CALL_INIT(s, b);
	enum err r = ERR_NONE;

	if (b->size_bytes > BACKUP_S3_PART)
		r = backup_s3_parts_drop(s, b, e);
	if (r != ERR_NONE)
		return r;
	c.method = S3_DELETE;
	r = backup_s3_call_run(&c, e);
	return r == ERR_NOT_FOUND ? ERR_NONE : r;
}
