/*
 * A directory as a backup: the head, the archive in chunks and their end,
 * and a second head that says how it went, with what there is to say of it.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/own.h"
#include "base/wire.h"
#include "sandbox/bundle_skip.h"
#include "sandbox/bundle_swap.h"

/* After the first head only this tells a failure. */
static int tell_end(struct bundle *b, const char *where)
{
	OWN(buf_free) struct buf out = BUF_INIT(BUNDLE_TEXT_MAX + 32);

	if (b->op.head.status == FS_OK) {
		wire_u64(&out, b->entries);
		wire_u64(&out, b->bytes);
	} else {
		buf_adds(&out,
			 b->op.head.status == FS_BAD_ARCHIVE ? b->text : where);
	}
	b->op.head.payload = out.len;
	if (!buf_ok(&out) || fs_send_head(&b->op) < 0)
		return -1;
	return out.len > 0 ? fs_send(out.data, out.len) : 0;
}

int bundle_backup(struct bundle *b, const char *gitignore, const char *path)
{
	OWN(bundle_skip_free) struct bundle_skip skip = BUNDLE_SKIP_INIT;
	OWN(own_fd) int dir = -1;
	char where[BUNDLE_TEXT_MAX];
	uint32_t end = 0;
	bool git = strcmp(gitignore, "1") == 0;

	if (!git && strcmp(gitignore, "0") != 0)
		return fs_fail_as(&b->op, FS_INVALID);
	if (bundle_skip_read(b, &skip) < 0)
		return -1;
	dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return fs_fail(&b->op, errno);
	bundle_swap_heal(path);
	if (git && bundle_skip_git(b, &skip, path) < 0)
		return -1;
	if (bundle_pack_whole(b, &skip, path, where) < 0) {
		if (!b->op.told)
			return -1;
		if (b->op.head.status == FS_OK ||
		    fs_send(&end, sizeof(end)) < 0)
			return -1; /* nobody reads */
	}
	return tell_end(b, where);
}
