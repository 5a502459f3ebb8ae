#define PCRE2_CODE_UNIT_WIDTH 8

#include <pcre2.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/own.h"
#include "fcgi/line_match.h"

#define STEPS_MAX 200000U
#define DEPTH_MAX 10000U
#define HEAP_MAX_KIB 4096U
#define TIME_MAX_US 2000000

void line_match_free(struct line_match *m)
{
	pcre2_match_data_free(m->data);
	pcre2_match_context_free(m->bounds);
	pcre2_code_free(m->code);
	*m = (struct line_match){0};
}

void line_match_text(struct line_match *m, const char *text, size_t n)
{
	*m = (struct line_match){.text = text, .text_len = n};
}

static bool regex_flags(const char *flags, uint32_t *out)
{
	for (; *flags != '\0'; flags++) {
		if (*flags == 'i')
			*out |= PCRE2_CASELESS;
		else if (*flags == 'm')
			*out |= PCRE2_MULTILINE;
		else if (*flags == 's')
			*out |= PCRE2_DOTALL;
		else if (strchr("gyud", *flags) == NULL)
			return false;
	}
	return true;
}

static pcre2_code *regex_compile(const char *pattern, uint32_t options,
				 char *why, size_t size)
{
	pcre2_compile_context *c = pcre2_compile_context_create(NULL);
	pcre2_code *code;
	PCRE2_SIZE at = 0;
	int err = PCRE2_ERROR_NOMEMORY;

	if (c == NULL)
		return NULL;
	pcre2_set_compile_extra_options(c, PCRE2_EXTRA_ALT_BSUX);
	code = pcre2_compile((PCRE2_SPTR)pattern, strlen(pattern), options,
			     &err, &at, c);
	pcre2_compile_context_free(c);
	if (code == NULL) {
		PCRE2_UCHAR text[128];

		pcre2_get_error_message(err, text, sizeof(text));
		snprintf(why, size, "is no regular expression: %.100s at %zu",
			 (char *)text, (size_t)at);
	}
	return code;
}

enum err line_match_regex(struct line_match *m, const char *pattern,
			  const char *flags, char *why, size_t size,
			  struct errinfo *e)
{
	uint32_t options = PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF |
			   PCRE2_NEVER_BACKSLASH_C | PCRE2_DOLLAR_ENDONLY |
			   PCRE2_MATCH_UNSET_BACKREF | PCRE2_ALLOW_EMPTY_CLASS;
	pcre2_match_context *bounds;

	*m = (struct line_match){0};
	if (strlen(pattern) > LINE_PATTERN_MAX) {
		snprintf(why, size, "is longer than %d bytes",
			 LINE_PATTERN_MAX);
		return err_set(e, ERR_ARG, 0, "pattern");
	}
	if (!regex_flags(flags, &options)) {
		snprintf(why, size, "has a flag that is none of imsu");
		return err_set(e, ERR_ARG, 0, "pattern flags");
	}
	why[0] = '\0';
	m->code = regex_compile(pattern, options, why, size);
	if (m->code == NULL)
		return err_set(e, why[0] != '\0' ? ERR_ARG : ERR_NOMEM, 0,
			       "pattern");
	m->data = pcre2_match_data_create_from_pattern(m->code, NULL);
	bounds = pcre2_match_context_create(NULL);
	m->bounds = bounds;
	if (m->data == NULL || bounds == NULL) {
		line_match_free(m);
		return err_set(e, ERR_NOMEM, 0, "pattern");
	}
	pcre2_set_match_limit(bounds, STEPS_MAX);
	pcre2_set_depth_limit(bounds, DEPTH_MAX);
	pcre2_set_heap_limit(bounds, HEAP_MAX_KIB);
	return ERR_NONE;
}

static int64_t used_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

enum err line_match_find(struct line_match *m, const char *line, size_t n,
			 bool *found, struct errinfo *e)
{
	int64_t from;
	int r;

	if (m->text != NULL) {
		*found = memmem(line, n, m->text, m->text_len) != NULL;
		return ERR_NONE;
	}
	from = used_us();
	r = pcre2_match(m->code, (PCRE2_SPTR)line, n, 0, 0, m->data, m->bounds);
	m->used_us += used_us() - from;
	if (r != PCRE2_ERROR_NOMATCH && r < 0)
		return err_set(e, ERR_LIMIT, r, "pattern on a line");
	if (r == PCRE2_ERROR_NOMATCH && m->used_us > TIME_MAX_US)
		return err_set(e, ERR_LIMIT, 0, "pattern on many lines");
	*found = r != PCRE2_ERROR_NOMATCH;
	return ERR_NONE;
}

bool line_match_group(const struct line_match *m, unsigned i, size_t *start,
		      size_t *end)
{
	const PCRE2_SIZE *at;

	if (m->text != NULL || i >= pcre2_get_ovector_count(m->data))
		return false;
	at = pcre2_get_ovector_pointer(m->data);
	*start = at[2 * (size_t)i];
	*end = at[2 * (size_t)i + 1];
	return true;
}
