#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/fcgi/answered.h"

static const char *const methods[] = {"",    "GET",   "HEAD",  "POST",
				      "PUT", "PATCH", "DELETE"};

/* ${pattern} with each {name} as ${value} (NULL: as {}). */
static void fill(const char *pattern, const char *value, char *out, size_t n)
{
	size_t used = 0;

	while (*pattern != '\0') {
		if (*pattern != '{') {
			must(used + 1 < n);
			out[used++] = *pattern++;
			continue;
		}
		used += (size_t)snprintf(out + used, n - used, "%s",
					 value != NULL ? value : "{}");
		pattern = strchr(pattern, '}') + 1;
	}
	out[used] = '\0';
}

static enum err find(struct request *rq, const char *method, const char *path)
{
	struct errinfo e;

	return route_find(rq, method, path, &e);
}

static void done(struct request *rq)
{
	for (int i = 0; i < rq->nparams; i++)
		free(rq->params[i].value);
	json_out_free(&rq->failure.context);
	buf_free(&rq->headers);
}

static void no_two_routes_are_the_same(void **state)
{
	char a[256], b[256];

	(void)state;
	for (size_t i = 0; i < route_count; i++) {
		fill(route_table[i].pattern, NULL, a, sizeof(a));
		for (size_t j = 0; j < i; j++) {
			fill(route_table[j].pattern, NULL, b, sizeof(b));
			if (route_table[i].method == route_table[j].method &&
			    strcmp(a, b) == 0)
				fail_msg("twice: %s", route_table[i].pattern);
		}
	}
}

static void every_pattern_is_well_formed(void **state)
{
	(void)state;
	for (size_t i = 0; i < route_count; i++) {
		const char *p = route_table[i].pattern;
		int open = 0, params = 0;

		assert_int_equal(strncmp(p, "/v1/", 4), 0);
		assert_true(p[strlen(p) - 1] != '/');
		assert_null(strstr(p, "//"));
		assert_true(route_table[i].text[0] != '\0');
		for (; *p != '\0'; p++) {
			if (*p == '{') {
				assert_int_equal(p[-1], '/');
				open++;
				params++;
			}
			if (*p == '}') {
				open--;
				assert_true(p[1] == '/' || p[1] == '\0');
			}
			if (*p == '*')
				assert_string_equal(p, "*}");
			assert_in_range(open, 0, 1);
		}
		assert_int_equal(open, 0);
		assert_in_range(params, 0, ROUTE_PARAMS_MAX);
	}
}

static void every_route_is_found_with_and_without_a_slash(void **state)
{
	char path[256];

	(void)state;
	for (size_t i = 0; i < route_count; i++) {
		const struct route *r = &route_table[i];

		for (int slash = 0; slash < 2; slash++) {
			struct request rq = {.client_fd = -1};

			fill(r->pattern, "some-value", path, sizeof(path));
			if (slash)
				strncat(path, "/",
					sizeof(path) - strlen(path) - 1);
			assert_int_equal(find(&rq, methods[r->method], path),
					 ERR_NONE);
			if (rq.route != r)
				fail_msg("%s found %s", path,
					 rq.route->pattern);
			done(&rq);
		}
	}
}

static void a_literal_wins_over_a_value(void **state)
{
	struct request rq = {.client_fd = -1}, other = {.client_fd = -1};

	(void)state;
	assert_int_equal(find(&rq, "GET", "/v1/sandboxes/a/api/process/list"),
			 ERR_NONE);
	assert_ptr_equal(rq.route->fn, process_list);
	assert_int_equal(
	    find(&other, "GET", "/v1/sandboxes/a/api/process/listen"),
	    ERR_NONE);
	assert_ptr_equal(other.route->fn, process_get);
	done(&rq);
	done(&other);
}

static void values_are_decoded(void **state)
{
	struct request rq = {.client_fd = -1};

	(void)state;
	assert_int_equal(find(&rq, "GET", "/v1/sandboxes/a%2Fb%20%c3%A9?x=1#y"),
			 ERR_NONE);
	assert_string_equal(route_param(&rq, "sandbox"), "a/b \xc3\xa9");
	done(&rq);
}

static void bad_values_are_400(void **state)
{
	static const char *const bad[] = {"a%00b", "a%", "a%2", "a%zz", "%ff"};
	char path[64];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct request rq = {.client_fd = -1};

		snprintf(path, sizeof(path), "/v1/sandboxes/%s", bad[i]);
		assert_int_equal(find(&rq, "GET", path), ERR_ARG);
		assert_int_equal(rq.failure.code, HTTP_VALIDATION_FAILED);
		done(&rq);
	}
}

static void other_paths_are_404(void **state)
{
	static const char *const none[] = {
	    "",
	    "/",
	    "v1/sandboxes",
	    "/v1",
	    "/v1/none",
	    "/v1/sandboxes//",
	    "/v1/sandboxes//api/ping",
	    "/v1/sandboxes/a/api",
	    "/v1/sandboxes/a/api/ping/x",
	    "/v1//sandboxes",
	    "/v1/sandboxes/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p/q/r/s/t/u/v/w/x/y",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		struct request rq = {.client_fd = -1};

		assert_int_equal(find(&rq, "GET", none[i]), ERR_NOT_FOUND);
		assert_int_equal(rq.failure.code, HTTP_NOT_FOUND);
		done(&rq);
	}
}

static void a_wrong_method_is_405_and_tells_the_right_ones(void **state)
{
	struct request rq = {.client_fd = -1};

	(void)state;
	assert_int_equal(find(&rq, "PUT", "/v1/sandboxes"), ERR_STATE);
	assert_int_equal(rq.failure.code, HTTP_METHOD_NOT_ALLOWED);
	assert_string_equal(buf_str(&rq.headers), "Allow: GET, POST\r\n");
	done(&rq);
}

static void a_query_value_is_found_whole(void **state)
{
	struct answered a;
	char v[8];

	(void)state;
	answered_open(&a);
	a.envp[0] = (char[]){
	    "QUERY_STRING=ab=1&a=%32+x&empty=&a=3&long=123456789"};
	assert_true(route_query(&a.rq, "a", v, sizeof(v)));
	assert_string_equal(v, "2+x");
	assert_true(route_query(&a.rq, "ab", v, sizeof(v)));
	assert_string_equal(v, "1");
	assert_false(route_query(&a.rq, "b", v, sizeof(v)));
	assert_false(route_query(&a.rq, "long", v, sizeof(v)));
	answered_close(&a);
}

static void a_query_number_is_checked(void **state)
{
	static const char *const bad[] = {
	    "", "x", "1x", "+1", " 1", "0", "11", "99999999999999999999"};
	struct answered a;
	struct errinfo e;
	char query[64];
	int64_t n = 5;

	(void)state;
	answered_open(&a);
	a.envp[0] = query;
	snprintf(query, sizeof(query), "QUERY_STRING=m=7");
	assert_int_equal(route_query_int(&a.rq, "n", 1, 10, &n, &e), ERR_NONE);
	assert_int_equal(n, 5);
	snprintf(query, sizeof(query), "QUERY_STRING=m=7&n=10");
	assert_int_equal(route_query_int(&a.rq, "n", 1, 10, &n, &e), ERR_NONE);
	assert_int_equal(n, 10);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		snprintf(query, sizeof(query), "QUERY_STRING=n=%s", bad[i]);
		json_out_free(&a.rq.failure.context);
		a.rq.failure = (struct failure){0};
		assert_int_equal(route_query_int(&a.rq, "n", 1, 10, &n, &e),
				 ERR_ARG);
		assert_int_equal(n, 10);
	}
	answered_close(&a);
}

static enum err refusal(struct answered *a, enum err r)
{
	json_out_free(&a->rq.failure.context);
	a->rq.failure = (struct failure){0};
	return r;
}

static void a_query_flag_is_yes_or_no(void **state)
{
	static const struct {
		const char *query;
		enum err r;
		bool want;
	} cases[] = {
	    {"x=1", ERR_NONE, false},     {"f", ERR_NONE, true},
	    {"x&f&y", ERR_NONE, true},    {"f=1", ERR_NONE, true},
	    {"f=true", ERR_NONE, true},   {"f=0", ERR_NONE, false},
	    {"f=false", ERR_NONE, false}, {"f=", ERR_ARG, false},
	    {"f=yes", ERR_ARG, false},    {"f=1x", ERR_ARG, false},
	    {"ff=1", ERR_NONE, false},
	};
	struct answered a;
	struct errinfo e;
	char query[64];

	(void)state;
	answered_open(&a);
	a.envp[0] = query;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		bool flag = false;
		enum err r;

		snprintf(query, sizeof(query), "QUERY_STRING=%s",
			 cases[i].query);
		r = route_query_flag(&a.rq, "f", &flag, &e);
		assert_int_equal(refusal(&a, r), cases[i].r);
		assert_int_equal(flag, cases[i].want);
	}
	answered_close(&a);
}

static void an_unknown_query_name_is_refused(void **state)
{
	static const char *const names[] = {"append", "mode", NULL};
	static const char *const good[] = {"", "&", "append", "mode=1&append",
					   "&append=&"};
	static const char *const bad[] = {
	    "appen",     "appendx", "append&x",      "=1",
	    "mode=1&&=", "MODE=1",  "append&append", "%61ppend=1"};
	struct answered a;
	struct errinfo e;
	char query[64];

	(void)state;
	answered_open(&a);
	assert_int_equal(route_query_only(&a.rq, names, &e), ERR_NONE);
	a.envp[0] = query;
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		snprintf(query, sizeof(query), "QUERY_STRING=%s", good[i]);
		assert_int_equal(route_query_only(&a.rq, names, &e), ERR_NONE);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		enum err r;

		snprintf(query, sizeof(query), "QUERY_STRING=%s", bad[i]);
		r = route_query_only(&a.rq, names, &e);
		assert_int_equal(refusal(&a, r), ERR_ARG);
	}
	answered_close(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(no_two_routes_are_the_same),
	    cmocka_unit_test(every_pattern_is_well_formed),
	    cmocka_unit_test(every_route_is_found_with_and_without_a_slash),
	    cmocka_unit_test(a_literal_wins_over_a_value),
	    cmocka_unit_test(values_are_decoded),
	    cmocka_unit_test(bad_values_are_400),
	    cmocka_unit_test(other_paths_are_404),
	    cmocka_unit_test(a_wrong_method_is_405_and_tells_the_right_ones),
	    cmocka_unit_test(a_query_value_is_found_whole),
	    cmocka_unit_test(a_query_number_is_checked),
	    cmocka_unit_test(a_query_flag_is_yes_or_no),
	    cmocka_unit_test(an_unknown_query_name_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
