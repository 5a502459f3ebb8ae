#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/warren_http.h"

#define ANSWER_MAX (16U << 20)
#define CALL_LIMIT_MS 120000L
#define PATH_TEXT_MAX 1024
#define BURST_MAX 1000

/* One transfer of a burst. */
struct transfer {
	CURL *curl;
	struct buf got;
};

static size_t on_data(char *data, size_t size, size_t n, void *arg)
{
	struct buf *b = arg;

	buf_add(b, data, size * n);
	return buf_ok(b) ? size * n : 0;
}

static enum err http_failed(struct errinfo *e, CURLcode code)
{
	return err_set(e, ERR_IO, 0, "the service does not answer: %s",
		       curl_easy_strerror(code));
}

enum err warren_http_open(struct warren_http *h, const char *url,
			  const char *key, struct errinfo *e)
{
	char line[256];
	struct curl_slist *more;

	*h = (struct warren_http){.curl = NULL};
	if ((size_t)snprintf(h->url, sizeof(h->url), "%s", url) >=
		sizeof(h->url) ||
	    (size_t)snprintf(line, sizeof(line), "Authorization: Bearer %s",
			     key) >= sizeof(line))
		return err_set(e, ERR_ARG, 0, "the URL or the key is too long");
	h->curl = curl_easy_init();
	h->headers = curl_slist_append(NULL, line);
	more = curl_slist_append(h->headers, "Content-Type: application/json");
	if (h->curl == NULL || more == NULL)
		return err_set(e, ERR_NOMEM, 0, "libcurl");
	h->headers = more;
	return ERR_NONE;
}

void warren_http_close(struct warren_http *h)
{
	curl_easy_cleanup(h->curl);
	curl_slist_free_all(h->headers);
	*h = (struct warren_http){.curl = NULL};
}

static void http_prepare(const struct warren_http *h, CURL *curl,
			 const char *method, const char *path, const char *body,
			 struct buf *got)
{
	char url[sizeof(h->url) + PATH_TEXT_MAX];

	snprintf(url, sizeof(url), "%s%s", h->url, path);
	curl_easy_setopt(curl, CURLOPT_URL, url);
	curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
	curl_easy_setopt(curl, CURLOPT_HTTPHEADER, h->headers);
	curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
	curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, CALL_LIMIT_MS);
	curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_data);
	curl_easy_setopt(curl, CURLOPT_WRITEDATA, got);
	if (body != NULL)
		curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, body);
	else if (strcmp(method, "POST") == 0)
		curl_easy_setopt(curl, CURLOPT_COPYPOSTFIELDS, "{}");
}

enum err warren_http_call(struct warren_http *h, const char *method,
			  const char *path, struct json_object *body,
			  struct warren_answer *answer, struct errinfo *e)
{
	OWN(buf_free) struct buf got = BUF_INIT(ANSWER_MAX);
	const char *text = NULL;
	CURLcode code;

	if (body != NULL)
		text = json_object_to_json_string_ext(body,
						      JSON_C_TO_STRING_PLAIN);
	curl_easy_reset(h->curl);
	http_prepare(h, h->curl, method, path, text, &got);
	code = curl_easy_perform(h->curl);
	if (code != CURLE_OK)
		return http_failed(e, code);
	*answer = (struct warren_answer){.status = 0};
	curl_easy_getinfo(h->curl, CURLINFO_RESPONSE_CODE, &answer->status);
	if (got.len == 0)
		return ERR_NONE;
	answer->body = json_tokener_parse(buf_str(&got));
	if (answer->body == NULL)
		return err_set(e, ERR_PEER, 0, "%s %s: no JSON: %.80s", method,
			       path, buf_str(&got));
	return ERR_NONE;
}

void warren_answer_free(struct warren_answer *a)
{
	json_object_put(a->body);
	a->body = NULL;
}

const char *warren_answer_text(const struct warren_answer *a, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(a->body, key, &v) ||
	    !json_object_is_type(v, json_type_string))
		return "";
	return json_object_get_string(v);
}

int64_t warren_answer_int(const struct warren_answer *a, const char *key)
{
	struct json_object *v;

	if (!json_object_object_get_ex(a->body, key, &v) ||
	    !json_object_is_type(v, json_type_int))
		return -1;
	return json_object_get_int64(v);
}

/* ---- many at once ---- */

static enum err burst_check(const struct transfer *t, CURLcode code,
			    struct errinfo *e)
{
	long status = 0;

	if (code != CURLE_OK)
		return http_failed(e, code);
	curl_easy_getinfo(t->curl, CURLINFO_RESPONSE_CODE, &status);
	if (status / 100 != 2) {
		OWN(warren_answer_free)
		struct warren_answer a = {
		    .body = json_tokener_parse(buf_str(&t->got))};
		const char *said = warren_answer_text(&a, "message");

		return err_set(e, ERR_PEER, 0, "answered %ld: %.160s", status,
			       said[0] != '\0' ? said : buf_str(&t->got));
	}
	return ERR_NONE;
}

/* Until all have ended; the first failure is kept. */
static enum err burst_run(CURLM *multi, struct errinfo *e)
{
	enum err r = ERR_NONE;
	int running = 1, left;

	while (running > 0) {
		CURLMsg *msg;

		if (curl_multi_perform(multi, &running) != CURLM_OK)
			return err_set(e, ERR_IO, 0, "libcurl");
		while ((msg = curl_multi_info_read(multi, &left)) != NULL) {
			void *t = NULL;

			if (msg->msg != CURLMSG_DONE || r != ERR_NONE)
				continue;
			curl_easy_getinfo(msg->easy_handle, CURLINFO_PRIVATE,
					  &t);
			r = burst_check(t, msg->data.result, e);
		}
		if (running > 0)
			curl_multi_poll(multi, NULL, 0, 100, NULL);
	}
	return r;
}

static enum err burst_start(const struct warren_http *h,
			    const struct warren_burst *b, CURLM *multi,
			    struct transfer *all, struct errinfo *e)
{
	for (int i = 0; i < b->n; i++) {
		char path[PATH_TEXT_MAX];

		all[i].got = (struct buf)BUF_INIT(ANSWER_MAX);
		all[i].curl = curl_easy_init();
		if (all[i].curl == NULL)
			return err_set(e, ERR_NOMEM, 0, "libcurl");
		b->path_of(i, path, sizeof(path));
		http_prepare(h, all[i].curl, b->method, path, b->body,
			     &all[i].got);
		curl_easy_setopt(all[i].curl, CURLOPT_PRIVATE, &all[i]);
		if (curl_multi_add_handle(multi, all[i].curl) != CURLM_OK)
			return err_set(e, ERR_NOMEM, 0, "libcurl");
	}
	return ERR_NONE;
}

enum err warren_http_burst(struct warren_http *h, const struct warren_burst *b,
			   struct errinfo *e)
{
	struct transfer *all;
	CURLM *multi;
	enum err r = ERR_NONE;

	must(b->n > 0 && b->n <= BURST_MAX);
	all = calloc((size_t)b->n, sizeof(*all));
	multi = curl_multi_init();
	if (all == NULL || multi == NULL)
		r = err_set(e, ERR_NOMEM, 0, "libcurl");
	if (r == ERR_NONE)
		r = burst_start(h, b, multi, all, e);
	if (r == ERR_NONE)
		r = burst_run(multi, e);
	for (int i = 0; all != NULL && i < b->n; i++) {
		if (all[i].curl != NULL)
			curl_multi_remove_handle(multi, all[i].curl);
		curl_easy_cleanup(all[i].curl);
		buf_free(&all[i].got);
	}
	curl_multi_cleanup(multi);
	free(all);
	return r;
}
