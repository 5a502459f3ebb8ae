#include <sys/syscall.h>

#include "base/call_denial.h"
#include "base/log.h"

const char *call_denial_word(enum call_denial c)
{
	static const char *const words[] = {
#define CALL(name) #name,
#include "base/call_denial.def"
#undef CALL
	};

	must((unsigned)c < CALL_COUNT);
	return words[c];
}

enum call_denial call_denial_find(int nr)
{
	static const int numbers[] = {
#define CALL(name) SYS_##name,
#include "base/call_denial.def"
#undef CALL
	};
	int i = 0;

	while (i < CALL_COUNT && numbers[i] != nr)
		i++;
	return (enum call_denial)i;
}

void call_counts_put(struct buf *b, const struct call_counts *c)
{
	uint8_t n = 0;

	for (int i = 0; i < CALL_COUNT; i++)
		if (c->of[i].count > 0)
			n++;
	wire_u8(b, n);
	for (int i = 0; i < CALL_COUNT; i++) {
		if (c->of[i].count == 0)
			continue;
		wire_u8(b, (uint8_t)i);
		wire_u32(b, c->of[i].count);
		wire_i64(b, c->of[i].last_ms);
	}
}

enum err call_counts_get(const struct wire_msg *msg, struct call_counts *c,
			 struct errinfo *e)
{
	struct wire_in in = wire_in(msg);
	struct call_counts v = {0};
	int n = wire_in_u8(&in);

	for (int i = 0; i < n && !in.bad; i++) {
		uint8_t which = wire_in_u8(&in);
		struct call_count one = {.count = wire_in_u32(&in)};

		one.last_ms = wire_in_i64(&in);
		if (which >= CALL_COUNT || one.last_ms < 0)
			return err_set(e, ERR_PEER, 0, "malformed counts");
		v.of[which] = one;
	}
	if (!wire_in_done(&in))
		return err_set(e, ERR_PEER, 0, "malformed counts");
	*c = v;
	return ERR_NONE;
}
