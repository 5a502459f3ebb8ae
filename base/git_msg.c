#include <string.h>

#include "base/git_msg.h"
#include "base/wire.h"

#define LENGTH_LEN 4U

/* A u32 length at ${at} for all that was appended after it. */
static void close_length(struct buf *b, size_t at)
{
	size_t n = b->len - at - LENGTH_LEN;
	size_t i;

	if (!buf_ok(b))
		return;
	for (i = 0; i < LENGTH_LEN; i++)
		b->data[at + i] = (char)(n >> (8 * i));
}

void git_put_request(struct buf *b, const struct git_request *rq)
{
	size_t at = b->len;

	wire_u32(b, 0);
	wire_str(b, rq->url);
	wire_str(b, rq->dir);
	wire_str(b, rq->branch);
	wire_u32(b, rq->depth);
	wire_u8(b, (uint8_t)rq->auth);
	wire_str(b, rq->user);
	wire_str(b, rq->secret);
	close_length(b, at);
}

enum err git_get_request(const uint8_t *p, size_t n, struct git_request *rq,
			 struct errinfo *e)
{
	struct wire_in in = {.p = p, .end = p + n};
	struct git_request r = {0};
	uint8_t auth;

	r.url = wire_in_str(&in);
	r.dir = wire_in_str(&in);
	r.branch = wire_in_str(&in);
	r.depth = wire_in_u32(&in);
	auth = wire_in_u8(&in);
	r.user = wire_in_str(&in);
	r.secret = wire_in_str(&in);
	if (!wire_in_done(&in) || auth >= CHECKOUT_AUTH_END)
		return err_set(e, ERR_PEER, 0, "malformed git request");
	r.auth = (enum checkout_auth)auth;
	*rq = r;
	return ERR_NONE;
}

void git_put_record(struct buf *b, const struct git_record *rec)
{
	size_t at = b->len;

	wire_u32(b, 0);
	wire_u16(b, (uint16_t)rec->kind);
	if (rec->kind == GIT_RECORD_PROGRESS) {
		wire_u64(b, rec->received);
		wire_u64(b, rec->total);
		wire_u64(b, rec->bytes);
	} else {
		wire_u16(b, (uint16_t)rec->status);
		wire_str(b, rec->branch);
		wire_str(b, rec->commit);
		wire_str(b, rec->text);
	}
	close_length(b, at);
}

static void get_result(struct wire_in *in, struct git_record *r)
{
	uint16_t status = wire_in_u16(in);

	r->kind = GIT_RECORD_RESULT;
	r->branch = wire_in_str(in);
	r->commit = wire_in_str(in);
	r->text = wire_in_str(in);
	r->status = CHECKOUT_OTHER;
	if (status < CHECKOUT_END)
		r->status = (enum checkout_result)status;
	else
		in->bad = true;
}

static void get_progress(struct wire_in *in, struct git_record *r)
{
	r->kind = GIT_RECORD_PROGRESS;
	r->received = wire_in_u64(in);
	r->total = wire_in_u64(in);
	r->bytes = wire_in_u64(in);
}

enum err git_get_record(const uint8_t *p, size_t n, size_t *used,
			struct git_record *rec, struct errinfo *e)
{
	struct wire_in in = {.p = p, .end = p + n};
	struct git_record r = {0};
	uint32_t len;
	uint16_t kind;

	*used = 0;
	if (n < LENGTH_LEN)
		return ERR_NONE;
	len = wire_in_u32(&in);
	if (len > GIT_RECORD_MAX)
		return err_set(e, ERR_PEER, 0, "git record of %u bytes", len);
	if (n - LENGTH_LEN < len)
		return ERR_NONE;
	in.end = in.p + len;
	kind = wire_in_u16(&in);
	if (kind == GIT_RECORD_PROGRESS)
		get_progress(&in, &r);
	else if (kind == GIT_RECORD_RESULT)
		get_result(&in, &r);
	else
		in.bad = true;
	if (!wire_in_done(&in))
		return err_set(e, ERR_PEER, 0, "malformed git record");
	*rec = r;
	*used = LENGTH_LEN + len;
	return ERR_NONE;
}
