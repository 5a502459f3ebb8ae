#include <sodium.h>
#include <string.h>

#include "fcgi/json_part.h"
#include "fcgi/json_text.h"

#define BASE64 sodium_base64_VARIANT_ORIGINAL

void json_part_free(struct json_part *t)
{
	buf_free(&t->b);
}

static void part_base64(struct json_part *t, const void *p, size_t n)
{
	size_t room = sodium_base64_ENCODED_LEN(n, BASE64);
	char *to = n > 0 ? buf_space(&t->b, room) : NULL;

	if (to == NULL)
		return;
	sodium_bin2base64(to, room, p, n, BASE64);
	buf_grow(&t->b, room - 1);
}

/* Three bytes are four characters; fewer wait for those that come. */
static void part_bytes(struct json_part *t, const char *p, size_t n)
{
	while (t->nrest > 0 && t->nrest < 3 && n > 0) {
		t->rest[t->nrest++] = (unsigned char)*p++;
		n--;
	}
	if (t->nrest == 3) {
		part_base64(t, t->rest, 3);
		t->nrest = 0;
	}
	if (t->nrest > 0)
		return;
	t->nrest = n % 3;
	part_base64(t, p, n - t->nrest);
	memcpy(t->rest, p + n - t->nrest, t->nrest);
}

void json_part_add(struct json_part *t, const char *p, size_t n)
{
	if (t->base64) {
		part_bytes(t, p, n);
	} else if (t->utf8.have == 0 && utf8_ok(p, n)) {
		json_text_escape(&t->b, p, n);
	} else {
		struct buf good = BUF_INIT(3 * n + 8);

		utf8_decode(&t->utf8, p, n, &good);
		if (!buf_ok(&good))
			t->b.failed = true;
		json_text_escape(&t->b, buf_str(&good), good.len);
		buf_free(&good);
	}
}

void json_part_end(struct json_part *t)
{
	if (t->base64)
		part_base64(t, t->rest, t->nrest);
	else
		utf8_end(&t->utf8, &t->b);
	t->nrest = 0;
}
