#include "base/keeper_hit.h"

static const struct {
	const char *name;
	const char *what;
} hit_words[HIT_COUNT] = {
#define X(name, json, what) {json, what},
    HIT_KINDS(X)
#undef X
};

const char *keeper_hit_name(enum hit_kind k)
{
	return hit_words[k].name;
}

const char *keeper_hit_what(enum hit_kind k)
{
	return hit_words[k].what;
}

void keeper_put_hits(struct buf *b, const struct keeper_hits *h)
{
	uint8_t n = 0;

	for (int i = 0; i < HIT_COUNT; i++)
		n = (uint8_t)(n + (h->of[i].hits > 0));
	wire_u8(b, n);
	for (int i = 0; i < HIT_COUNT; i++) {
		if (h->of[i].hits == 0)
			continue;
		wire_u8(b, (uint8_t)i);
		wire_u64(b, h->of[i].limit);
		wire_u64(b, h->of[i].used);
		wire_u64(b, h->of[i].hits);
		wire_u64(b, h->of[i].fresh);
	}
}

bool keeper_get_hits(struct wire_in *in, struct keeper_hits *h)
{
	struct keeper_hits v = {0};
	uint8_t n = wire_in_u8(in);
	int last = -1;

	while (n-- > 0 && !in->bad) {
		uint8_t kind = wire_in_u8(in);
		struct keeper_hit hit = {.limit = wire_in_u64(in)};

		hit.used = wire_in_u64(in);
		hit.hits = wire_in_u64(in);
		hit.fresh = wire_in_u64(in);
		if (kind >= HIT_COUNT || kind <= last || hit.hits == 0)
			return false;
		v.of[kind] = hit;
		last = kind;
	}
	if (in->bad)
		return false;
	*h = v;
	return true;
}
