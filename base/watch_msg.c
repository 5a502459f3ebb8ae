#include <string.h>

#include "base/fs_msg.h"
#include "base/watch_msg.h"
#include "base/wire.h"

#define RECORD_LEN 4U               /* a record's length field */
#define ANSWER_MAGIC 0x3148435741LL /* "AWCH1" */

static const char *const type_names[WATCH_TYPE_END] = {
#define X(name, text) [WATCH_##name] = (text),
    WATCH_TYPES(X)
#undef X
};

const char *watch_type_name(enum watch_type t)
{
	return t < WATCH_TYPE_END ? type_names[t] : "unknown";
}

bool watch_type_of(const char *name, enum watch_type *t)
{
	unsigned i;

	for (i = 0; i < WATCH_TYPE_END; i++) {
		if (strcmp(type_names[i], name) != 0)
			continue;
		*t = (enum watch_type)i;
		return true;
	}
	return false;
}

void watch_put(struct buf *b, const struct watch_record *rec)
{
	size_t event = 2 + 2 + 2 + 4 + 8 + 4 + rec->path_len + 1;
	bool is_event = rec->kind == WATCH_EVENT;

	wire_u32(b, (uint32_t)(is_event ? event : 2 + 2));
	wire_u16(b, (uint16_t)rec->kind);
	if (!is_event) {
		wire_u16(b, (uint16_t)rec->why);
		return;
	}
	wire_u16(b, (uint16_t)rec->type);
	wire_u16(b, rec->is_dir);
	wire_u32(b, rec->cookie);
	wire_i64(b, rec->unix_ms);
	wire_bytes(b, rec->path, rec->path_len);
}

static void get_event(struct wire_in *in, struct watch_record *r)
{
	uint16_t type = wire_in_u16(in);
	uint16_t dir = wire_in_u16(in);

	r->is_dir = dir != 0;
	r->cookie = wire_in_u32(in);
	r->unix_ms = wire_in_i64(in);
	r->path = wire_in_str(in);
	r->path_len = strlen(r->path);
	if (type < WATCH_TYPE_END)
		r->type = (enum watch_type)type;
	else
		in->bad = true;
	if (dir > 1 || r->path[0] == '/')
		in->bad = true;
}

static void get_record(struct wire_in *in, struct watch_record *r)
{
	uint16_t kind = wire_in_u16(in);
	uint16_t why;

	if (kind == WATCH_EVENT) {
		r->kind = WATCH_EVENT;
		get_event(in, r);
		return;
	}
	why = wire_in_u16(in);
	if (kind == WATCH_RESYNC && why == 0) {
		r->kind = WATCH_RESYNC;
	} else if (kind == WATCH_STOPPED && why > 0 && why < WATCH_WHY_END) {
		r->kind = WATCH_STOPPED;
		r->why = (enum watch_why)why;
	} else {
		in->bad = true;
	}
}

enum err watch_get(const uint8_t *p, size_t n, size_t *used,
		   struct watch_record *rec, struct errinfo *e)
{
	struct wire_in in = {.p = p, .end = p + n};
	struct watch_record r = {0};
	uint32_t len;

	*used = 0;
	if (n < RECORD_LEN)
		return ERR_NONE;
	len = wire_in_u32(&in);
	if (len == 0 || len > FS_RECORD_MAX)
		return err_set(e, ERR_PEER, 0, "watch record of %u bytes", len);
	if (n - RECORD_LEN < len)
		return ERR_NONE;
	in.end = in.p + len;
	get_record(&in, &r);
	if (!wire_in_done(&in))
		return err_set(e, ERR_PEER, 0, "malformed watch record");
	*rec = r;
	*used = RECORD_LEN + len;
	return ERR_NONE;
}

void watch_put_answer(struct buf *b, uint64_t asked, uint64_t cursor)
{
	wire_i64(b, ANSWER_MAGIC);
	wire_u64(b, asked);
	wire_u64(b, cursor);
}

bool watch_get_answer(const char *p, size_t n, uint64_t asked, uint64_t *cursor)
{
	size_t at;

	for (at = 0; at + WATCH_ANSWER_LEN <= n; at++) {
		const uint8_t *from = (const uint8_t *)p + at;
		struct wire_in in = {.p = from, .end = from + WATCH_ANSWER_LEN};

		if (wire_in_i64(&in) != ANSWER_MAGIC ||
		    wire_in_u64(&in) != asked)
			continue;
		*cursor = wire_in_u64(&in);
		return true;
	}
	return false;
}
