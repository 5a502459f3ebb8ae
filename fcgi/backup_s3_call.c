#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/own.h"
#include "fcgi/backup_s3_call.h"

#define TRIES 3
#define CONNECT_MS 10000L
#define STILL_S 60L /* without a byte */
#define BUFFER_BYTES (256L << 10)
#define URL_MAX 4096
#define SHOWN_MAX 160 /* of the store's words, in the log */

/* One try. */
struct attempt {
	struct backup_s3_call *c;
	CURL *curl;
	struct curl_slist *headers;
	struct errinfo *e;
	enum err failed; /* the sink */
	int64_t sent;
	bool began; /* the sink had something */
};

static void attempt_free(struct attempt *t)
{
	curl_slist_free_all(t->headers);
	curl_easy_cleanup(t->curl);
}

void backup_s3_call_free(struct backup_s3_call *c)
{
	buf_free(&c->said);
}

/* ---- what curl asks and tells ---- */

static int on_progress(void *arg, curl_off_t dt, curl_off_t dn, curl_off_t ut,
		       curl_off_t un)
{
	const struct backup_s3 *s = arg;

	(void)dt;
	(void)dn;
	(void)ut;
	(void)un;
	return s->gone != NULL && s->gone(s->ctx);
}

static size_t on_read(char *p, size_t size, size_t n, void *arg)
{
	struct attempt *t = arg;
	int64_t left = t->c->bytes - t->sent;
	ssize_t got;

	n *= size;
	if ((int64_t)n > left)
		n = (size_t)left;
	do {
		got = pread(t->c->fd, p, n, t->c->at + t->sent);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return CURL_READFUNC_ABORT;
	t->sent += got;
	return (size_t)got;
}

/* An answer that is no object is the store's words. */
static size_t on_data(char *p, size_t size, size_t n, void *arg)
{
	struct attempt *t = arg;
	struct backup_s3_call *c = t->c;
	long status = 0;

	n *= size;
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	if (c->sink != NULL && status == 200) {
		t->began = true;
		t->failed = c->sink(c->sink_ctx, p, n, t->e);
		return t->failed == ERR_NONE ? n : 0;
	}
	buf_add(&c->said, p, n);
	return buf_ok(&c->said) ? n : 0;
}

/* ---- one try ---- */

#define SET(option, value)                                                     \
	(curl_easy_setopt(t->curl, (option), (value)) == CURLE_OK)

static bool set_url(struct attempt *t)
{
	const struct backup_s3_call *c = t->c;
	const struct backup_conf *conf = c->s->conf;
	size_t scheme = (size_t)(strstr(conf->endpoint, "://") + 3 -
				 conf->endpoint);
	OWN(buf_free) struct buf url = BUF_INIT(URL_MAX);

	if (conf->host_style)
		buf_addf(&url, "%.*s%s.%s/", (int)scheme, conf->endpoint,
			 conf->bucket, conf->endpoint + scheme);
	else
		buf_addf(&url, "%s/%s/", conf->endpoint, conf->bucket);
	if (c->b != NULL)
		buf_addf(&url, "%s%s/%s.tar.zst", conf->prefix, c->b->tenant,
			 c->b->id);
	if (c->query != NULL)
		buf_addf(&url, "?%s", c->query);
	return buf_ok(&url) && SET(CURLOPT_URL, buf_str(&url));
}

static bool add_header(struct attempt *t, const char *text)
{
	struct curl_slist *l = curl_slist_append(t->headers, text);

	if (l == NULL)
		return false;
	t->headers = l;
	return true;
}

static bool set_signature(struct attempt *t)
{
	const struct backup_conf *conf = t->c->s->conf;
	char text[160];

	snprintf(text, sizeof(text), "x-amz-content-sha256: %s", t->c->sha256);
	if (!add_header(t, text))
		return false;
	snprintf(text, sizeof(text), "aws:amz:%s:s3", conf->region);
	return SET(CURLOPT_AWS_SIGV4, text) &&
	       SET(CURLOPT_USERPWD, conf->credentials);
}

static bool set_method(struct attempt *t)
{
	const struct backup_s3_call *c = t->c;

	switch (c->method) {
	case S3_GET:
		return true;
	case S3_PUT:
		return SET(CURLOPT_UPLOAD, 1L) &&
		       SET(CURLOPT_READFUNCTION, on_read) &&
		       SET(CURLOPT_READDATA, t) &&
		       SET(CURLOPT_INFILESIZE_LARGE, (curl_off_t)c->bytes);
	case S3_POST:
		return SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)c->bytes) &&
		       SET(CURLOPT_POSTFIELDS, c->bytes > 0 ? c->text : "");
	case S3_DELETE:
		return SET(CURLOPT_CUSTOMREQUEST, "DELETE");
	}
	return false;
}

static bool set_common(struct attempt *t)
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
	       SET(CURLOPT_WRITEDATA, t) && SET(CURLOPT_NOPROGRESS, 0L) &&
	       SET(CURLOPT_XFERINFOFUNCTION, on_progress) &&
	       SET(CURLOPT_XFERINFODATA, t->c->s) &&
	       SET(CURLOPT_HTTPHEADER, t->headers);
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

static void take_tag(struct attempt *t)
{
	struct curl_header *h;

	if (curl_easy_header(t->curl, "ETag", 0, CURLH_HEADER, -1, &h) ==
		CURLHE_OK &&
	    strlen(h->value) <= BACKUP_S3_TAG_MAX)
		memcpy(t->c->tag, h->value, strlen(h->value) + 1);
}

/* ${again}: it may be tried once more. */
static enum err attempt_run(struct attempt *t, bool *again, struct errinfo *e)
{
	struct backup_s3_call *c = t->c;
	CURLcode code = curl_easy_perform(t->curl);
	long status = 0;

	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	*again = !t->began && is_busy(code, status);
	if (t->failed != ERR_NONE)
		return t->failed;
	if (code == CURLE_ABORTED_BY_CALLBACK)
		return err_set(e, ERR_GONE, 0, "client");
	if (code != CURLE_OK)
		return err_set(e, ERR_IO, 0, "object store: %s",
			       curl_easy_strerror(code));
	if (status == 404)
		return err_set(e, ERR_NOT_FOUND, 0, "object store: 404");
	if (status < 200 || status > 299)
		return err_set(e, ERR_IO, 0, "object store: %ld %.*s", status,
			       SHOWN_MAX, buf_str(&c->said));
	take_tag(t);
	return ERR_NONE;
}

static enum err run_once(struct backup_s3_call *c, bool *again,
			 struct errinfo *e)
{
	OWN(attempt_free) struct attempt attempt = {.c = c, .e = e};
	struct attempt *t = &attempt;

	buf_free(&c->said);
	c->tag[0] = '\0';
	t->curl = curl_easy_init();
	if (t->curl == NULL || !set_url(t) || !set_signature(t) ||
	    !set_common(t) || !set_method(t))
		return err_set(e, ERR_NOMEM, 0, "curl");
	return attempt_run(t, again, e);
}

static void pause_before(int try)
{
	struct timespec t = {.tv_nsec = 200000000L * try};

	nanosleep(&t, NULL);
}

enum err backup_s3_call_run(struct backup_s3_call *c, struct errinfo *e)
{
	bool again = true;
	enum err r = ERR_NONE;

	for (int try = 0; again && try < TRIES; try++) {
		if (try > 0)
			pause_before(try);
		again = false;
		r = run_once(c, &again, e);
	}
	return r;
}
