/*
 * Ranges of IPv4 addresses, "192.0.2.0/24", and short lists of them. An
 * address alone is a /32; bits below the prefix must be 0.
 */
#ifndef BASE_CIDR_H
#define BASE_CIDR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

#define CIDR_TEXT_MAX 18 /* "255.255.255.255/32" */
#define CIDR_LIST_MAX 32
#define CIDR_LIST_TEXT_MAX (CIDR_LIST_MAX * (CIDR_TEXT_MAX + 1))

struct cidr {
	uint32_t addr; /* the machine's byte order */
	uint8_t prefix;
};

struct cidr_list {
	struct cidr of[CIDR_LIST_MAX];
	size_t n;
};

/** cidr_parse(text, len, out): False: not a range. */
bool cidr_parse(const char *text, size_t len, struct cidr *out);

/** cidr_within(a, b): All of ${a} is in ${b}. */
bool cidr_within(const struct cidr *a, const struct cidr *b);

/**
 * cidr_list_parse(text, out, e):
 * Ranges apart by blanks or commas; "" is the empty list.
 * Errors: ERR_ARG naming what is no range; ERR_LIMIT: too many.
 */
FALLIBLE enum err cidr_list_parse(const char *text, struct cidr_list *out,
				  struct errinfo *e);

/** cidr_list_text(l, out): Apart by one blank. */
void cidr_list_text(const struct cidr_list *l,
		    char out[CIDR_LIST_TEXT_MAX + 1]);

/** cidr_list_add(l, c): Once; false: ${l} is full. */
bool cidr_list_add(struct cidr_list *l, const struct cidr *c);

/** cidr_list_within(a, b): Each of ${a} is in one of ${b}. */
bool cidr_list_within(const struct cidr_list *a, const struct cidr_list *b);

/** cidr_list_meet(a, b, out): What is in both. False: too many. */
bool cidr_list_meet(const struct cidr_list *a, const struct cidr_list *b,
		    struct cidr_list *out);

#endif
