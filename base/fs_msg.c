#include <stdio.h>
#include <string.h>

#include "base/fs_msg.h"
#include "base/wire.h"

#define FS_MAGIC 0x31534657U /* "WFS1" */
#define NS_PER_S 1000000000U
#define RECORD_LEN 4U /* a record's length field */

const char *fs_status_text(enum fs_status s)
{
	static const char *const text[FS_STATUS_END] = {
#define X(name, t) [FS_##name] = (t),
	    FS_STATUSES(X)
#undef X
	};

	return s < FS_STATUS_END ? text[s] : "unknown";
}

static void put_meta(struct buf *b, const struct fs_meta *m)
{
	wire_u16(b, (uint16_t)m->type);
	wire_u16(b, (uint16_t)m->access);
	wire_u32(b, m->mode);
	wire_u64(b, m->size);
	wire_i64(b, m->mtime_s);
	wire_u32(b, m->mtime_ns);
}

static void get_meta(struct wire_in *in, struct fs_meta *m)
{
	uint16_t type = wire_in_u16(in);

	m->access = wire_in_u16(in);
	m->mode = wire_in_u32(in);
	m->size = wire_in_u64(in);
	m->mtime_s = wire_in_i64(in);
	m->mtime_ns = wire_in_u32(in);
	m->type = FS_TYPE_NONE;
	if (type < FS_TYPE_END)
		m->type = (enum fs_type)type;
	else
		in->bad = true;
	if (m->access > 7 || m->mode > 07777 || m->mtime_ns >= NS_PER_S ||
	    m->size > INT64_MAX)
		in->bad = true;
}

static enum fs_status get_status(struct wire_in *in)
{
	uint16_t v = wire_in_u16(in);

	if (v < FS_STATUS_END)
		return (enum fs_status)v;
	in->bad = true;
	return FS_IO;
}

void fs_put_head(struct buf *b, const struct fs_head *head)
{
	wire_u32(b, FS_MAGIC);
	wire_u16(b, (uint16_t)head->status);
	wire_u16(b, (uint16_t)head->which);
	wire_u32(b, head->sys);
	put_meta(b, &head->meta); /* 28 bytes */
	wire_u64(b, head->payload);
	wire_u64(b, head->inode);
	wire_u32(b, head->links);
	wire_u32(b, head->uid);
	wire_u32(b, head->gid);
	wire_u32(b, head->created);
	wire_u64(b, 0);
}

void fs_tag(uint64_t inode, const struct fs_meta *meta, char out[FS_TAG_LEN])
{
	snprintf(out, FS_TAG_LEN, "%llx-%llx-%llx%08x",
		 (unsigned long long)inode, (unsigned long long)meta->size,
		 (unsigned long long)meta->mtime_s, meta->mtime_ns);
}

enum err fs_get_head(const uint8_t *p, struct fs_head *head, struct errinfo *e)
{
	struct wire_in in = {.p = p, .end = p + FS_HEAD_LEN};
	struct fs_head h = {0};
	uint32_t created;

	if (wire_in_u32(&in) != FS_MAGIC)
		in.bad = true;
	h.status = get_status(&in);
	h.which = wire_in_u16(&in);
	h.sys = wire_in_u32(&in);
	get_meta(&in, &h.meta);
	h.payload = wire_in_u64(&in);
	h.inode = wire_in_u64(&in);
	h.links = wire_in_u32(&in);
	h.uid = wire_in_u32(&in);
	h.gid = wire_in_u32(&in);
	created = wire_in_u32(&in);
	h.created = created != 0;
	if (h.which > 1 || created > 1 || wire_in_u64(&in) != 0)
		in.bad = true;
	if (h.status != FS_OK &&
	    h.payload > (h.status == FS_BAD_ARCHIVE ? FS_WHY_MAX : 0))
		in.bad = true;
	if (h.payload != FS_UNTIL_END && h.payload > INT64_MAX)
		in.bad = true;
	if (!wire_in_done(&in))
		return err_set(e, ERR_PEER, 0, "malformed head of a file call");
	*head = h;
	return ERR_NONE;
}

void fs_put_record(struct buf *b, const struct fs_record *rec)
{
	size_t entry = 2 + 28 + 4 + rec->path_len + 1;
	size_t end = 2 + 2 + 2 + 2 + 8;
	bool is_entry = rec->kind == FS_RECORD_ENTRY;

	wire_u32(b, (uint32_t)(is_entry ? entry : end));
	wire_u16(b, (uint16_t)rec->kind);
	if (is_entry) {
		put_meta(b, &rec->meta);
		wire_bytes(b, rec->path, rec->path_len);
		return;
	}
	wire_u16(b, (uint16_t)rec->status);
	wire_u16(b, rec->truncated);
	wire_u16(b, rec->skipped);
	wire_u64(b, rec->count);
}

static void get_record(struct wire_in *in, struct fs_record *r)
{
	uint16_t kind = wire_in_u16(in);
	uint16_t truncated;
	uint16_t skipped;

	if (kind == FS_RECORD_ENTRY) {
		r->kind = FS_RECORD_ENTRY;
		get_meta(in, &r->meta);
		r->path = wire_in_str(in);
		r->path_len = strlen(r->path);
		if (r->path_len == 0 || r->path[0] == '/')
			in->bad = true;
		return;
	}
	r->kind = FS_RECORD_END;
	if (kind != FS_RECORD_END)
		in->bad = true;
	r->status = get_status(in);
	truncated = wire_in_u16(in);
	skipped = wire_in_u16(in);
	r->truncated = truncated != 0;
	r->skipped = skipped != 0;
	r->count = wire_in_u64(in);
	if (truncated > 1 || skipped > 1)
		in->bad = true;
}

enum err fs_get_record(const uint8_t *p, size_t n, size_t *used,
		       struct fs_record *rec, struct errinfo *e)
{
	struct wire_in in = {.p = p, .end = p + n};
	struct fs_record r = {0};
	uint32_t len;

	*used = 0;
	if (n < RECORD_LEN)
		return ERR_NONE;
	len = wire_in_u32(&in);
	if (len == 0 || len > FS_RECORD_MAX)
		return err_set(e, ERR_PEER, 0, "file record of %u bytes", len);
	if (n - RECORD_LEN < len)
		return ERR_NONE;
	in.end = in.p + len;
	get_record(&in, &r);
	if (!wire_in_done(&in))
		return err_set(e, ERR_PEER, 0, "malformed file record");
	*rec = r;
	*used = RECORD_LEN + len;
	return ERR_NONE;
}
