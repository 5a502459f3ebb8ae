#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "store/node_hits.h"

void node_hits_text(const struct keeper_hits *h, char out[NODE_HITS_TEXT_MAX])
{
	size_t at = 0;

	out[0] = '\0';
	for (int i = 0; i < HIT_COUNT; i++) {
		const struct keeper_hit *x = &h->of[i];

		if (x->hits == 0)
			continue;
		at += (size_t)snprintf(
		    out + at, NODE_HITS_TEXT_MAX - at,
		    "%s{\"name\":\"%s\",\"limit\":%llu,\"used\":%llu,"
		    "\"hits\":%llu}",
		    at > 0 ? "," : "[", keeper_hit_name((enum hit_kind)i),
		    (unsigned long long)x->limit, (unsigned long long)x->used,
		    (unsigned long long)x->hits);
	}
	if (at > 0)
		snprintf(out + at, NODE_HITS_TEXT_MAX - at, "]");
}

static uint64_t hits_number(const char *text, const char *key)
{
	const char *at = strstr(text, key);

	return at != NULL ? strtoull(at + strlen(key), NULL, 10) : 0;
}

void node_hits_read(const char *text, struct keeper_hits *h)
{
	struct keeper_hits v = {0};

	for (int i = 0; i < HIT_COUNT; i++) {
		char key[48];
		const char *at;

		snprintf(key, sizeof(key), "{\"name\":\"%s\",",
			 keeper_hit_name((enum hit_kind)i));
		at = strstr(text, key);
		if (at == NULL)
			continue;
		v.of[i] = (struct keeper_hit){
		    .limit = hits_number(at, "\"limit\":"),
		    .used = hits_number(at, "\"used\":"),
		    .hits = hits_number(at, "\"hits\":"),
		};
	}
	*h = v;
}
