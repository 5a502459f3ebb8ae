#include <curl/curl.h>
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "fcgi/backup_s3.h"

#define TRIES 3
#define CONNECT_MS 10000L
#define STILL_S 60L /* without a byte */
#define BUFFER_BYTES (256L << 10)
#define SAID_MAX 512U
#define EMPTY_SHA256                                                           \
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

/* One try of one call. */
struct call {
	const struct backup_s3 *s;
	CURL *curl;
	struct curl_slist *headers;
	struct errinfo *e;
	enum err failed; /* the sink */
	int fd;
	int64_t at;
	enum err (*sink)(void *ctx, const void *p, size_t n, struct errinfo *e);
	void *sink_ctx;
	bool began;          /* the sink had something */
	char said[SAID_MAX]; /* the store's words, for the log */
	size_t said_len;
};

static void call_free(struct call *c)
{
	curl_slist_free_all(c->headers);
	curl_easy_cleanup(c->curl);
}

void backup_s3_init(void)
{
	must(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

/* ---- what curl asks and tells ---- */

static int on_progress(void *arg, curl_off_t dt, curl_off_t dn, curl_off_t ut,
		       curl_off_t un)
{
	const struct call *c = arg;

	(void)dt;
	(void)dn;
	(void)ut;
	(void)un;
	return c->s->gone != NULL && c->s->gone(c->s->ctx);
}

static size_t on_read(char *p, size_t size, size_t n, void *arg)
{
	struct call *c = arg;
	ssize_t got;

	do {
		got = pread(c->fd, p, size * n, c->at);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return CURL_READFUNC_ABORT;
	c->at += got;
	return (size_t)got;
}

/* An answer that is no object is the store's complaint. */
static size_t on_data(char *p, size_t size, size_t n, void *arg)
{
	struct call *c = arg;
	long status = 0;

	n *= size;
	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	if (c->sink != NULL && status == 200) {
		c->began = true;
		c->failed = c->sink(c->sink_ctx, p, n, c->e);
		return c->failed == ERR_NONE ? n : 0;
	}
	if (c->said_len + 1 < SAID_MAX) {
		size_t part = SAID_MAX - 1 - c->said_len;

		part = part < n ? part : n;
		memcpy(c->said + c->said_len, p, part);
		c->said_len += part;
	}
	return n;
}

/* ---- one call ---- */

static bool set_url(struct call *c, const struct ctl_backup *b)
{
	const struct backup_conf *conf = c->s->conf;
	const char *host = strstr(conf->endpoint, "://") + 3;
	char url[1024];
	int n;

	if (conf->host_style)
		n = snprintf(url, sizeof(url), "%.*s%s.%s/%s%s/%s.tar.zst",
			     (int)(host - conf->endpoint), conf->endpoint,
			     conf->bucket, host, conf->prefix, b->tenant,
			     b->id);
	else
		n = snprintf(url, sizeof(url), "%s/%s/%s%s/%s.tar.zst",
			     conf->endpoint, conf->bucket, conf->prefix,
			     b->tenant, b->id);
	return n > 0 && (size_t)n < sizeof(url) &&
	       curl_easy_setopt(c->curl, CURLOPT_URL, url) == CURLE_OK;
}

static bool add_header(struct call *c, const char *text)
{
	struct curl_slist *l = curl_slist_append(c->headers, text);

	if (l == NULL)
		return false;
	c->headers = l;
	return true;
}

static bool set_signature(struct call *c, const char *sha256)
{
	const struct backup_conf *conf = c->s->conf;
	char text[160];

	snprintf(text, sizeof(text), "x-amz-content-sha256: %s", sha256);
	if (!add_header(c, text))
		return false;
	snprintf(text, sizeof(text), "aws:amz:%s:s3", conf->region);
	return curl_easy_setopt(c->curl, CURLOPT_AWS_SIGV4, text) == CURLE_OK &&
	       curl_easy_setopt(c->curl, CURLOPT_USERPWD, conf->credentials) ==
		   CURLE_OK;
}

#define SET(option, value)                                                     \
	(curl_easy_setopt(c->curl, (option), (value)) == CURLE_OK)

static bool set_common(struct call *c)
{
	return SET(CURLOPT_NOSIGNAL, 1L) &&
	       SET(CURLOPT_PROTOCOLS_STR, "http,https") &&
	       SET(CURLOPT_FOLLOWLOCATION, 0L) &&
	       SET(CURLOPT_CONNECTTIMEOUT_MS, CONNECT_MS) &&
	       SET(CURLOPT_LOW_SPEED_LIMIT, 1L) &&
	       SET(CURLOPT_LOW_SPEED_TIME, STILL_S) &&
	       SET(CURLOPT_HTTP_VERSION, CURL_HTTP_VERSION_1_1) &&
	       SET(CURLOPT_BUFFERSIZE, BUFFER_BYTES) &&
	       SET(CURLOPT_UPLOAD_BUFFERSIZE, BUFFER_BYTES) &&
	       SET(CURLOPT_WRITEFUNCTION, on_data) &&
	       SET(CURLOPT_WRITEDATA, c) && SET(CURLOPT_NOPROGRESS, 0L) &&
	       SET(CURLOPT_XFERINFOFUNCTION, on_progress) &&
	       SET(CURLOPT_XFERINFODATA, c) &&
	       SET(CURLOPT_HTTPHEADER, c->headers);
}

static enum err call_open(struct call *c, const struct ctl_backup *b,
			  const char *sha256, struct errinfo *e)
{
	c->curl = curl_easy_init();
	c->e = e;
	if (c->curl == NULL || !set_url(c, b) || !set_signature(c, sha256) ||
	    !set_common(c))
		return err_set(e, ERR_NOMEM, 0, "curl");
	return ERR_NONE;
}

static bool is_busy(CURLcode code, long status)
{
	switch ((int)code) {
	case CURLE_OK:
		return status == 429 || status >= 500;
	case CURLE_COULDNT_RESOLVE_HOST:
	case CURLE_COULDNT_CONNECT:
	case CURLE_GOT_NOTHING:
	case CURLE_SEND_ERROR:
	case CURLE_RECV_ERROR:
		return true;
	default:
		return false;
	}
}

/* ${again}: it may be tried once more. */
static enum err call_run(struct call *c, bool *again, struct errinfo *e)
{
	CURLcode code = curl_easy_perform(c->curl);
	long status = 0;

	curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &status);
	*again = !c->began && is_busy(code, status);
	if (c->failed != ERR_NONE)
		return c->failed;
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return err_set(e, ERR_GONE, 0, "client");
	if (code != CURLE_OK)
		return err_set(e, ERR_IO, 0, "object store: %s",
			       curl_easy_strerror(code));
	if (status == 404)
		return err_set(e, ERR_NOT_FOUND, 0, "object store: 404");
	if (status < 200 || status > 299)
		return err_set(e, ERR_IO, 0, "object store: %ld %.160s", status,
			       c->said);
	return ERR_NONE;
}

static void pause_before(int try)
{
	struct timespec t = {.tv_nsec = 200000000L * try};

	nanosleep(&t, NULL);
}

/* ---- the three ---- */

static enum err put_once(const struct backup_s3 *s, const struct ctl_backup *b,
			 int fd, int64_t bytes, bool *again, struct errinfo *e)
{
	OWN(call_free) struct call call = {.s = s, .fd = fd};
	struct call *c = &call;
	char hex[CTL_BACKUP_HASH_BYTES * 2 + 1];
	enum err r;

	sodium_bin2hex(hex, sizeof(hex), b->hash, sizeof(b->hash));
	r = call_open(c, b, hex, e);
	if (r != ERR_NONE)
		return r;
	if (!SET(CURLOPT_UPLOAD, 1L) || !SET(CURLOPT_READFUNCTION, on_read) ||
	    !SET(CURLOPT_READDATA, c) ||
	    !SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)bytes))
		return err_set(e, ERR_NOMEM, 0, "curl");
	return call_run(c, again, e);
}

enum err backup_s3_put(const struct backup_s3 *s, const struct ctl_backup *b,
		       int fd, int64_t bytes, struct errinfo *e)
{
	bool again = true;
	enum err r = ERR_NONE;

	if (bytes > BACKUP_S3_MOST)
		return err_set(e, ERR_LIMIT, 0, "object store: above 5 GiB");
	for (int try = 0; again && try < TRIES; try++) {
		if (try > 0)
			pause_before(try);
		again = false;
		r = put_once(s, b, fd, bytes, &again, e);
	}
	return r;
}

static enum err get_once(const struct backup_s3 *s, const struct ctl_backup *b,
			 struct call *c, bool *again, struct errinfo *e)
{
	enum err r;

	c->s = s;
	r = call_open(c, b, EMPTY_SHA256, e);
	return r == ERR_NONE ? call_run(c, again, e) : r;
}

enum err backup_s3_get(const struct backup_s3 *s, const struct ctl_backup *b,
		       enum err (*sink)(void *ctx, const void *p, size_t n,
					struct errinfo *e),
		       void *sink_ctx, struct errinfo *e)
{
	bool again = true;
	enum err r = ERR_NONE;

	for (int try = 0; again && try < TRIES; try++) {
		OWN(call_free)
		struct call c = {.sink = sink, .sink_ctx = sink_ctx};

		if (try > 0)
			pause_before(try);
		again = false;
		r = get_once(s, b, &c, &again, e);
	}
	return r;
}

static enum err remove_once(const struct backup_s3 *s,
			    const struct ctl_backup *b, bool *again,
			    struct errinfo *e)
{
	OWN(call_free) struct call call = {.s = s};
	struct call *c = &call;
	enum err r = call_open(c, b, EMPTY_SHA256, e);

	if (r != ERR_NONE)
		return r;
	if (!SET(CURLOPT_CUSTOMREQUEST, "DELETE"))
		return err_set(e, ERR_NOMEM, 0, "curl");
	r = call_run(c, again, e);
	return r == ERR_NOT_FOUND ? ERR_NONE : r;
}

enum err backup_s3_remove(const struct backup_s3 *s, const struct ctl_backup *b,
			  struct errinfo *e)
{
	bool again = true;
	enum err r = ERR_NONE;

	for (int try = 0; again && try < TRIES; try++) {
		if (try > 0)
			pause_before(try);
		again = false;
		r = remove_once(s, b, &again, e);
	}
	return r;
}
