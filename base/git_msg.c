#include <stdlib.h>
#include <string.h>

#include "base/git_msg.h"
#include "base/wire.h"

#define LENGTH_LEN 4U

static const struct {
	uint8_t texts;
	uint8_t numbers;
} row_kinds[] = {
#define X(name, texts, numbers) [GIT_ROW_##name] = {texts, numbers},
    GIT_ROW_KINDS(X)
#undef X
};

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

/* ---- the request ---- */

static const size_t request_texts[] = {
    offsetof(struct git_request, dir),
    offsetof(struct git_request, url),
    offsetof(struct git_request, branch),
    offsetof(struct git_request, commit),
    offsetof(struct git_request, remote),
    offsetof(struct git_request, remote_branch),
    offsetof(struct git_request, from),
    offsetof(struct git_request, to),
    offsetof(struct git_request, message),
    offsetof(struct git_request, name),
    offsetof(struct git_request, email),
    offsetof(struct git_request, known_hosts),
    offsetof(struct git_request, fingerprints),
};

static const size_t request_numbers[] = {
    offsetof(struct git_request, depth),
    offsetof(struct git_request, limit),
    offsetof(struct git_request, skip),
    offsetof(struct git_request, context),
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

void git_put_request(struct buf *b, const struct git_request *rq)
{
	size_t at = b->len;
	size_t i;

	wire_u32(b, 0);
	wire_u8(b, (uint8_t)rq->op);
	wire_u32(b, rq->flags);
	for (i = 0; i < COUNT(request_texts); i++) {
		const char *s;

		memcpy(&s, (const char *)rq + request_texts[i], sizeof(s));
		wire_str(b, s);
	}
	for (i = 0; i < COUNT(request_numbers); i++) {
		uint32_t v;

		memcpy(&v, (const char *)rq + request_numbers[i], sizeof(v));
		wire_u32(b, v);
	}
	wire_u32(b, rq->ncreds);
	for (i = 0; i < rq->ncreds; i++) {
		wire_str(b, rq->creds[i].origin);
		wire_u8(b, (uint8_t)rq->creds[i].auth);
		wire_str(b, rq->creds[i].user);
		wire_str(b, rq->creds[i].secret);
		wire_str(b, rq->creds[i].passphrase);
	}
	wire_u32(b, rq->npaths);
	for (i = 0; i < rq->npaths; i++)
		wire_str(b, rq->paths[i]);
	close_length(b, at);
}

static void get_creds(struct wire_in *in, struct git_request *rq)
{
	uint32_t i;
	uint8_t auth;

	rq->ncreds = wire_in_u32(in);
	if (rq->ncreds > GIT_CREDS_MAX) {
		in->bad = true;
		rq->ncreds = 0;
	}
	for (i = 0; i < rq->ncreds; i++) {
		rq->creds[i].origin = wire_in_str(in);
		auth = wire_in_u8(in);
		rq->creds[i].user = wire_in_str(in);
		rq->creds[i].secret = wire_in_str(in);
		rq->creds[i].passphrase = wire_in_str(in);
		if (auth >= REPO_AUTH_END)
			in->bad = true;
		else
			rq->creds[i].auth = (enum repo_auth)auth;
	}
}

/* False: no memory. */
static bool get_paths(struct wire_in *in, struct git_request *rq)
{
	uint32_t n = wire_in_u32(in);
	uint32_t i;

	if (n > GIT_PATHS_MAX)
		in->bad = true;
	if (in->bad || n == 0)
		return true;
	rq->paths = calloc(n, sizeof(*rq->paths));
	if (rq->paths == NULL)
		return false;
	rq->npaths = n;
	for (i = 0; i < n; i++)
		rq->paths[i] = wire_in_str(in);
	return true;
}

enum err git_get_request(const uint8_t *p, size_t n, struct git_request *rq,
			 struct errinfo *e)
{
	struct wire_in in = {.p = p, .end = p + n};
	struct git_request r = GIT_REQUEST_INIT;
	uint8_t op = wire_in_u8(&in);
	size_t i;

	r.flags = wire_in_u32(&in);
	for (i = 0; i < COUNT(request_texts); i++) {
		const char *s = wire_in_str(&in);

		memcpy((char *)&r + request_texts[i], &s, sizeof(s));
	}
	for (i = 0; i < COUNT(request_numbers); i++) {
		uint32_t v = wire_in_u32(&in);

		memcpy((char *)&r + request_numbers[i], &v, sizeof(v));
	}
	get_creds(&in, &r);
	if (!get_paths(&in, &r))
		return err_set(e, ERR_NOMEM, 0, "git request");
	if (!wire_in_done(&in) || op >= GIT_OP_END ||
	    (r.flags & ~GIT_ASK_EVERY) != 0) {
		git_request_free(&r);
		return err_set(e, ERR_PEER, 0, "malformed git request");
	}
	r.op = (enum git_op)op;
	*rq = r;
	return ERR_NONE;
}

void git_request_free(struct git_request *rq)
{
	free(rq->paths);
	rq->paths = NULL;
	rq->npaths = 0;
}

/* ---- records ---- */

static void put_row(struct buf *b, const struct git_row *row)
{
	size_t i;

	wire_u16(b, (uint16_t)row->kind);
	for (i = 0; i < row_kinds[row->kind].texts; i++)
		wire_str(b, row->texts[i] != NULL ? row->texts[i] : "");
	for (i = 0; i < row_kinds[row->kind].numbers; i++)
		wire_u64(b, row->numbers[i]);
}

static void put_progress(struct buf *b, const struct git_progress *p)
{
	wire_u8(b, (uint8_t)p->phase);
	wire_u64(b, p->objects);
	wire_u64(b, p->objects_all);
	wire_u64(b, p->bytes);
	wire_u64(b, p->files);
	wire_u64(b, p->files_all);
}

void git_put_record(struct buf *b, const struct git_record *rec)
{
	size_t at = b->len;

	wire_u32(b, 0);
	wire_u16(b, (uint16_t)rec->kind);
	switch (rec->kind) {
	case GIT_RECORD_PROGRESS:
		put_progress(b, &rec->progress);
		break;
	case GIT_RECORD_ROW:
		put_row(b, &rec->row);
		break;
	case GIT_RECORD_RESULT:
		wire_u16(b, (uint16_t)rec->status);
		wire_str(b, rec->branch);
		wire_str(b, rec->commit);
		wire_str(b, rec->text);
		wire_u64(b, rec->flags);
		break;
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
	r->flags = wire_in_u64(in);
	r->status = REPO_OTHER;
	if (status < REPO_END)
		r->status = (enum repo_result)status;
	else
		in->bad = true;
}

static void get_progress(struct wire_in *in, struct git_record *r)
{
	uint8_t phase = wire_in_u8(in);

	r->kind = GIT_RECORD_PROGRESS;
	r->progress.objects = wire_in_u64(in);
	r->progress.objects_all = wire_in_u64(in);
	r->progress.bytes = wire_in_u64(in);
	r->progress.files = wire_in_u64(in);
	r->progress.files_all = wire_in_u64(in);
	if (phase < GIT_PHASE_END)
		r->progress.phase = (enum git_phase)phase;
	else
		in->bad = true;
}

static void get_row(struct wire_in *in, struct git_record *r)
{
	uint16_t kind = wire_in_u16(in);
	size_t i;

	r->kind = GIT_RECORD_ROW;
	if (kind >= GIT_ROW_END) {
		in->bad = true;
		return;
	}
	r->row.kind = (enum git_row_kind)kind;
	for (i = 0; i < row_kinds[kind].texts; i++)
		r->row.texts[i] = wire_in_str(in);
	for (i = 0; i < row_kinds[kind].numbers; i++)
		r->row.numbers[i] = wire_in_u64(in);
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
	else if (kind == GIT_RECORD_ROW)
		get_row(&in, &r);
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
