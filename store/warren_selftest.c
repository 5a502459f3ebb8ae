#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/id.h"
#include "store/warren_selftest.h"

#define GIB (1024.0 * 1024 * 1024)
#define KIB 1024.0

struct selftest {
	struct cli *cli;
	struct warren_run run;
	bool local; /* the service of our own data directory */
	char url[512];
	struct selftest_keys keys;
	char secret[PATH_MAX]; /* "": there is none */
	char sandbox[64];
	char sandbox_id[64];
	struct check_list list;
	struct burst_result burst;
};

/* ---- before and after ---- */

/* A file of the host that every user of it may read. */
static enum err secret_make(struct selftest *s, struct errinfo *e)
{
	FILE *f;

	snprintf(s->secret, sizeof(s->secret), "%.4000s/selftest-%s",
		 s->cli->data, s->sandbox);
	f = fopen(s->secret, "wxe");
	if (f == NULL || fchmod(fileno(f), 0644) != 0 ||
	    fputs("of the host\n", f) < 0 || fclose(f) != 0)
		return err_set(e, ERR_IO, errno, "%.200s", s->secret);
	return ERR_NONE;
}

static enum err selftest_begin(struct selftest *s, struct errinfo *e)
{
	char token[ID_TOKEN_LEN + 1];
	enum err r;

	id_token(token);
	snprintf(s->sandbox, sizeof(s->sandbox), "selftest-%s", token);
	if ((s->cli->url == NULL) != (s->cli->key == NULL))
		return err_set(e, ERR_ARG, 0,
			       "--url and --key are given together");
	s->local = s->cli->url == NULL;
	if (!s->local && strncmp(s->cli->url, "http://", 7) != 0 &&
	    strncmp(s->cli->url, "https://", 8) != 0)
		return err_set(e, ERR_ARG, 0,
			       "--url begins with http:// or https://");
	if (!s->local) {
		snprintf(s->url, sizeof(s->url), "%s", s->cli->url);
		snprintf(s->keys.key[0], sizeof(s->keys.key[0]), "%s",
			 s->cli->key);
		return ERR_NONE;
	}
	r = warren_run_find(s->cli->data, &s->run, e);
	if (r != ERR_NONE)
		return r;
	if (!warren_run_url(&s->run, s->url, sizeof(s->url)))
		return err_set(e, ERR_STATE, 0,
			       "no service runs on %.120s: start it with "
			       "sudo nginx/serve, or give --url and --key",
			       s->cli->data);
	r = warren_selftest_keys_make(s->cli, &s->keys, e);
	return r == ERR_NONE && geteuid() == 0 ? secret_make(s, e) : r;
}

static void selftest_end(struct selftest *s)
{
	struct errinfo e;

	if (s->secret[0] != '\0')
		unlink(s->secret);
	if (s->keys.made &&
	    warren_selftest_keys_remove(s->cli, &s->keys, &e) != ERR_NONE)
		fprintf(stderr, "warren: tenant %s stays: %s\n",
			s->keys.name[0], e.text);
}

/* ---- the parts ---- */

static enum err sandbox_call(struct selftest *s, struct warren_http *h,
			     const char *method, struct errinfo *e)
{
	OWN(warren_answer_free) struct warren_answer a = {.body = NULL};
	char path[128];
	enum err r;

	snprintf(path, sizeof(path), "/v1/sandboxes/%s", s->sandbox);
	r = warren_http_call(h, method, path, NULL, &a, e);
	if (r == ERR_NONE && strcmp(method, "GET") == 0)
		snprintf(s->sandbox_id, sizeof(s->sandbox_id), "%s",
			 warren_answer_text(&a, "id"));
	return r;
}

/* The other tenant tries; only its own keys are known to us. */
static enum err foreign(struct selftest *s, struct errinfo *e)
{
	OWN(warren_http_close) struct warren_http h = {.curl = NULL};
	enum err r;

	if (!s->keys.made) {
		check_add(&s->list, CHECK_WARN, "other_tenant",
			  "run it on the machine itself",
			  "reaches another tenant's sandbox: not tried, there "
			  "is one key only");
		return ERR_NONE;
	}
	r = warren_http_open(&h, s->url, s->keys.key[1], e);
	return r == ERR_NONE
		   ? warren_attempt_foreign(&h, s->sandbox_id, &s->list, e)
		   : r;
}

static enum err selftest_run(struct selftest *s, struct errinfo *e)
{
	OWN(warren_http_close) struct warren_http h = {.curl = NULL};
	struct attempt_place place = {.sandbox = s->sandbox,
				      .secret = s->secret,
				      .port = s->local ? s->run.port : "80"};
	struct errinfo ignored;
	enum err r = warren_http_open(&h, s->url, s->keys.key[0], e);

	if (r != ERR_NONE)
		return r;
	r = warren_attempt_all(&h, &place, &s->list, e);
	if (r == ERR_NONE)
		r = sandbox_call(s, &h, "GET", e);
	if (r == ERR_NONE)
		r = foreign(s, e);
	/* One that nothing was tried in was not made, as far as we know. */
	if (sandbox_call(s, &h, "DELETE", &ignored) != ERR_NONE &&
	    s->list.n > 0)
		fprintf(stderr, "warren: sandbox %s stays: %s\n", s->sandbox,
			ignored.text);
	if (r == ERR_NONE)
		r = warren_burst_run(&h, s->local ? &s->run : NULL, &s->burst,
				     e);
	return r;
}

/* ---- what is told ---- */

static void tell_attempts(const struct selftest *s)
{
	static const char *const words[] = {"pass", "skip", "FAIL"};

	if (s->list.n > 0)
		puts("Attempts that must fail");
	for (int i = 0; i < s->list.n; i++) {
		const struct check *c = &s->list.at[i];

		printf("  %-5s %-15s %s%s%s\n", words[c->state], c->name,
		       c->text, c->fix[0] != '\0' ? ": " : "", c->fix);
	}
}

static void tell_memory(const struct burst_result *b)
{
	int64_t own = b->cgroup_bytes + b->keeper_bytes;

	if (b->cgroup_bytes < 0) {
		puts("  memory of one                not measured: needs root "
		     "on the service's machine");
		return;
	}
	printf("  memory of one                %8.0f KiB (its cgroup %.0f, "
	       "its keeper %.0f)\n",
	       (double)own / KIB, (double)b->cgroup_bytes / KIB,
	       (double)b->keeper_bytes / KIB);
	printf("  sandboxes per GiB            %8.0f\n",
	       own > 0 ? GIB / (double)own : 0);
	printf("  kernel's memory grew by      %8.0f KiB each, on the whole "
	       "machine\n",
	       (double)b->kernel_bytes / KIB);
}

static void tell_burst(const struct burst_result *b)
{
	printf("Burst of %d sandboxes\n", BURST_COUNT);
	printf("  create + `true`, alone       %8.1f ms\n", b->one_ms);
	printf("  all %d at once              %8.1f ms\n", BURST_COUNT,
	       b->start_ms);
	printf("  sandboxes started a second   %8.0f\n",
	       BURST_COUNT * 1e3 / b->start_ms);
	tell_memory(b);
	printf("  all destroyed in             %8.1f ms\n", b->end_ms);
}

static void json_text(struct json_object *o, const char *key, const char *v)
{
	json_object_object_add(o, key, json_object_new_string(v));
}

static void json_number(struct json_object *o, const char *key, double v)
{
	char text[32];

	snprintf(text, sizeof(text), "%.1f", v);
	json_object_object_add(o, key, json_object_new_double_s(v, text));
}

static enum err tell_json(const struct selftest *s, struct errinfo *e)
{
	static const char *const words[] = {"pass", "skip", "fail"};
	struct json_object *all = json_object_new_object();
	struct json_object *list = json_object_new_array();
	struct json_object *burst = json_object_new_object();
	const char *text;

	json_object_object_add(all, "attempts", list);
	json_object_object_add(all, "burst", burst);
	for (int i = 0; i < s->list.n; i++) {
		const struct check *c = &s->list.at[i];
		struct json_object *o = json_object_new_object();

		json_text(o, "name", c->name);
		json_text(o, "result", words[c->state]);
		json_text(o, "what", c->text);
		if (c->fix[0] != '\0')
			json_text(o, "why", c->fix);
		json_object_array_add(list, o);
	}
	json_number(burst, "oneMs", s->burst.one_ms);
	json_number(burst, "allMs", s->burst.start_ms);
	json_number(burst, "destroyMs", s->burst.end_ms);
	if (s->burst.cgroup_bytes >= 0) {
		json_number(burst, "cgroupBytes",
			    (double)s->burst.cgroup_bytes);
		json_number(burst, "keeperBytes",
			    (double)s->burst.keeper_bytes);
		json_number(burst, "kernelBytes",
			    (double)s->burst.kernel_bytes);
	}
	text = json_object_to_json_string_ext(
	    all, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE);
	if (text != NULL)
		puts(text);
	json_object_put(all);
	return text != NULL ? ERR_NONE : err_set(e, ERR_NOMEM, 0, "output");
}

enum err warren_selftest(struct cli *cli, struct errinfo *e)
{
	static struct selftest s;
	int failed;
	enum err r;

	s.cli = cli;
	signal(SIGPIPE, SIG_IGN);
	r = selftest_begin(&s, e);
	if (r == ERR_NONE)
		r = selftest_run(&s, e);
	selftest_end(&s);
	if (r == ERR_NONE && cli->json) {
		r = tell_json(&s, e);
	} else {
		tell_attempts(&s);
		if (r == ERR_NONE)
			tell_burst(&s.burst);
	}
	failed = check_count(&s.list, CHECK_MISSING);
	if (r == ERR_NONE && failed > 0)
		return err_set(e, ERR_STATE, 0,
			       "%d of %d attempts were not refused", failed,
			       s.list.n);
	return r;
}
