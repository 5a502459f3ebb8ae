/*
 * What executors inside a sandbox answer to a worker: the first byte says
 * whether it is the head of a file call, its records, or warren-git's. What
 * is taken whole is written the same again.
 */
#include <string.h>

#include "base/fs_msg.h"
#include "base/git_msg.h"
#include "base/own.h"
#include "tests/fuzz/fuzz.h"

static void read_head(const uint8_t *p, size_t n)
{
	OWN(buf_free) struct buf b = BUF_INIT(2 * FS_HEAD_LEN);
	struct fs_head head;
	struct errinfo e;

	if (n < FS_HEAD_LEN)
		return;
	if (fs_get_head(p, &head, &e) != ERR_NONE) {
		must(e.code == ERR_PEER);
		return;
	}
	must(head.status < FS_STATUS_END && head.meta.type < FS_TYPE_END);
	fs_put_head(&b, &head);
	must(b.len == FS_HEAD_LEN && memcmp(b.data, p, b.len) == 0);
}

static size_t read_fs_record(const uint8_t *p, size_t n)
{
	OWN(buf_free) struct buf b = BUF_INIT(2 * FS_RECORD_MAX);
	struct fs_record rec;
	struct errinfo e;
	size_t used = 1;

	if (fs_get_record(p, n, &used, &rec, &e) != ERR_NONE) {
		must(e.code == ERR_PEER);
		return 0;
	}
	must(used <= n);
	if (used == 0)
		return 0;
	fs_put_record(&b, &rec);
	must(b.len == used && memcmp(b.data, p, used) == 0);
	return used;
}

static size_t read_git_record(const uint8_t *p, size_t n)
{
	OWN(buf_free) struct buf b = BUF_INIT(2 * GIT_RECORD_MAX);
	struct git_record rec;
	struct errinfo e;
	size_t used = 1;

	if (git_get_record(p, n, &used, &rec, &e) != ERR_NONE) {
		must(e.code == ERR_PEER);
		return 0;
	}
	must(used <= n);
	if (used == 0)
		return 0;
	git_put_record(&b, &rec);
	must(b.len == used && memcmp(b.data, p, used) == 0);
	return used;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	OWN(buf_free) struct buf b = BUF_INIT(n);
	const uint8_t *p;
	size_t at = 0, used = 1;

	if (n < 1)
		return 0;
	buf_add(&b, data + 1, n - 1);
	p = (const uint8_t *)b.data;
	if (data[0] % 3 == 0) {
		read_head(p, b.len);
		return 0;
	}
	for (; used > 0; at += used)
		used = data[0] % 3 == 1 ? read_fs_record(p + at, b.len - at)
					: read_git_record(p + at, b.len - at);
	return 0;
}
