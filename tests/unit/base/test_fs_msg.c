/* fs_msg: what a sandbox answers is read whole or refused. */
#include "tests/unit/base/unit.h"

#include <string.h>

#include "base/fs_msg.h"
#include "base/own.h"

static const struct fs_head sample = {
    .status = FS_OK,
    .meta = {.type = FS_TYPE_FILE,
	     .mode = 0644,
	     .access = FS_READABLE | FS_WRITABLE,
	     .size = 1234,
	     .mtime_s = -5,
	     .mtime_ns = 999999999},
    .payload = 1000,
};

static void a_head_survives_the_trip(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(FS_HEAD_LEN);
	struct fs_head h;

	(void)state;
	fs_put_head(&b, &sample);
	assert_true(buf_ok(&b));
	assert_int_equal(b.len, FS_HEAD_LEN);
	assert_int_equal(fs_get_head((uint8_t *)b.data, &h, NULL), ERR_NONE);
	assert_int_equal(h.meta.mtime_s, -5);
	assert_int_equal(h.meta.mtime_ns, 999999999);
	assert_int_equal(h.meta.size, 1234);
	assert_int_equal(h.meta.type, FS_TYPE_FILE);
	assert_int_equal(h.payload, 1000);
}

struct bad_byte {
	size_t at;
	uint8_t value;
};

static void a_malformed_head_is_refused(void **state)
{
	/* magic, status, which, type, access, mode, size, ns, rest */
	static const struct bad_byte bad[] = {
	    {0, 0},     {4, FS_STATUS_END},
	    {5, 1},     {6, 2},
	    {12, 5},    {14, 8},
	    {18, 1},    {17, 0x80},
	    {27, 0x80}, {39, 0xff},
	    {47, 0x80}, {68, 2},
	    {79, 1},
	};
	OWN(buf_free) struct buf b = BUF_INIT(FS_HEAD_LEN);
	struct fs_head h;
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		buf_reset(&b);
		fs_put_head(&b, &sample);
		b.data[bad[i].at] = (char)bad[i].value;
		assert_int_equal(fs_get_head((uint8_t *)b.data, &h, NULL),
				 ERR_PEER);
	}
}

static void a_failure_cannot_announce_bytes(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(FS_HEAD_LEN);
	struct fs_head h = sample;

	(void)state;
	h.status = FS_NOT_FOUND;
	fs_put_head(&b, &h);
	assert_int_equal(fs_get_head((uint8_t *)b.data, &h, NULL), ERR_PEER);
}

static void put_entry(struct buf *b, const char *path, size_t n)
{
	struct fs_record rec = {.kind = FS_RECORD_ENTRY,
				.path = path,
				.path_len = n,
				.meta = {.type = FS_TYPE_DIR, .mode = 0755}};

	fs_put_record(b, &rec);
}

static void a_record_waits_until_it_is_whole(void **state)
{
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct fs_record rec;
	size_t used;
	size_t n;

	(void)state;
	put_entry(&b, "a/\xff", 3);
	for (n = 0; n < b.len; n++) {
		assert_int_equal(
		    fs_get_record((uint8_t *)b.data, n, &used, &rec, NULL),
		    ERR_NONE);
		assert_int_equal(used, 0);
	}
	assert_int_equal(
	    fs_get_record((uint8_t *)b.data, b.len, &used, &rec, NULL),
	    ERR_NONE);
	assert_int_equal(used, b.len);
	assert_string_equal(rec.path, "a/\xff");
}

static void bad_names_in_records_are_refused(void **state)
{
	static const char *const paths[] = {"", "/etc", "a\0b"};
	static const size_t len[] = {0, 4, 3};
	OWN(buf_free) struct buf b = BUF_INIT(1000);
	struct fs_record rec;
	size_t used;
	size_t i;

	(void)state;
	for (i = 0; i < 3; i++) {
		buf_reset(&b);
		put_entry(&b, paths[i], len[i]);
		assert_int_equal(
		    fs_get_record((uint8_t *)b.data, b.len, &used, &rec, NULL),
		    ERR_PEER);
	}
}

/* Any bytes: an error, a wait or a record that lies inside them. */
static void noise_is_never_read_past_its_end(void **state)
{
	uint32_t seed = 1;
	int round;

	(void)state;
	for (round = 0; round < 20000; round++) {
		OWN(own_mem) uint8_t *p = NULL;
		struct fs_record rec;
		struct fs_head head;
		size_t n = (size_t)round % 97;
		size_t used;
		size_t i;

		p = malloc(n + 1);
		assert_non_null(p);
		for (i = 0; i < n; i++) {
			seed = seed * 1664525U + 1013904223U;
			p[i] = (seed >> 28) < 9 ? 0 : (uint8_t)(seed >> 24);
		}
		if (n > 4)
			p[0] = (uint8_t)(n - 4), p[1] = p[2] = p[3] = 0;
		if (fs_get_record(p, n, &used, &rec, NULL) == ERR_NONE)
			assert_true(used <= n);
		if (n >= FS_HEAD_LEN)
			assert_int_equal(fs_get_head(p, &head, NULL), ERR_PEER);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(a_head_survives_the_trip),
	    cmocka_unit_test(a_malformed_head_is_refused),
	    cmocka_unit_test(a_failure_cannot_announce_bytes),
	    cmocka_unit_test(a_record_waits_until_it_is_whole),
	    cmocka_unit_test(bad_names_in_records_are_refused),
	    cmocka_unit_test(noise_is_never_read_past_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
