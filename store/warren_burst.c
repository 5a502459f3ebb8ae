/* warren selftest: many sandboxes at once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/id.h"
#include "store/warren_selftest.h"

#define ALONE 11 /* sandboxes one after another, for the time of one */

static const char exec_true[] =
    "{\"command\":\"true\",\"sessionId\":\"__DISABLE_SESSION__\"}";

/* This run's own names. */
static char burst_token[ID_TOKEN_LEN + 1];

static void exec_path(int i, char *out, size_t size)
{
	snprintf(out, size, "/v1/sandboxes/burst-%s-%d/api/execute",
		 burst_token, i);
}

static void sandbox_path(int i, char *out, size_t size)
{
	snprintf(out, size, "/v1/sandboxes/burst-%s-%d", burst_token, i);
}

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static enum err delete_one(struct warren_http *h, int i, struct errinfo *e)
{
	OWN(warren_answer_free) struct warren_answer a = {.body = NULL};
	char path[128];
	enum err r;

	sandbox_path(i, path, sizeof(path));
	r = warren_http_call(h, "DELETE", path, NULL, &a, e);
	if (r == ERR_NONE && a.status / 100 != 2 && a.status != 404)
		r = err_set(e, ERR_PEER, 0, "DELETE answered %ld", a.status);
	return r;
}

/* Create, run `true`, delete; only the first two are timed. */
static enum err run_alone(struct warren_http *h, double *ms, struct errinfo *e)
{
	double took[ALONE];
	enum err r = ERR_NONE;

	for (int i = 0; i < ALONE && r == ERR_NONE; i++) {
		struct warren_burst one = {.n = 1,
					   .method = "POST",
					   .body = exec_true,
					   .path_of = exec_path};
		double start = now_ms();

		r = warren_http_burst(h, &one, e);
		took[i] = now_ms() - start;
		if (r == ERR_NONE)
			r = delete_one(h, 0, e);
	}
	if (r != ERR_NONE)
		return r;
	qsort(took, ALONE, sizeof(took[0]), by_size);
	*ms = took[ALONE / 2];
	return ERR_NONE;
}

static void weigh(const struct warren_run *run,
		  const struct warren_load *before, struct burst_result *out)
{
	struct warren_load after;
	int n;

	if (run == NULL || !warren_load_read(run, &after))
		return;
	n = after.keepers - before->keepers;
	if (n <= 0)
		return;
	out->cgroup_bytes = (after.cgroup_bytes - before->cgroup_bytes) / n;
	out->keeper_bytes = (after.keeper_bytes - before->keeper_bytes) / n;
	out->kernel_bytes = (after.kernel_bytes - before->kernel_bytes) / n;
}

enum err warren_burst_run(struct warren_http *h, const struct warren_run *run,
			  struct burst_result *out, struct errinfo *e)
{
	const struct warren_burst start = {.n = BURST_COUNT,
					   .method = "POST",
					   .body = exec_true,
					   .path_of = exec_path};
	const struct warren_burst end = {
	    .n = BURST_COUNT, .method = "DELETE", .path_of = sandbox_path};
	struct warren_load before = {.keepers = 0};
	struct errinfo ignored;
	double at;
	enum err r;

	id_token(burst_token);
	*out = (struct burst_result){
	    .cgroup_bytes = -1, .keeper_bytes = -1, .kernel_bytes = -1};
	r = run_alone(h, &out->one_ms, e);
	if (run != NULL)
		warren_load_read(run, &before);
	at = now_ms();
	if (r == ERR_NONE)
		r = warren_http_burst(h, &start, e);
	out->start_ms = now_ms() - at;
	if (r == ERR_NONE)
		weigh(run, &before, out);
	at = now_ms();
	if (r == ERR_NONE)
		r = warren_http_burst(h, &end, e);
	out->end_ms = now_ms() - at;
	for (int i = 0; r != ERR_NONE && i < BURST_COUNT; i++)
		if (delete_one(h, i, &ignored) == ERR_IO)
			break;
	return r;
}
