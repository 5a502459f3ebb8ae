#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/err.h"
#include "base/id.h"

/* Base32 without look-alikes (no 0/o mix-up: 0 kept, i l o u left out). */
static const char id_alphabet[] = "0123456789abcdefghjkmnpqrstvwxyz";
static const char id_lower[] = "0123456789abcdefghijklmnopqrstuvwxyz";

void id_init(void)
{
	must(sodium_init() >= 0);
}

/* One call to the kernel for all of it, but for bad luck: of a byte that would
 * favour the alphabet's first letters another is taken. */
static void id_random(char *out, size_t n, const char *alphabet)
{
	unsigned size = (unsigned)strlen(alphabet), fair = 256 / size * size;
	unsigned char raw[32];
	size_t left = 0;

	for (size_t i = 0; i < n;) {
		unsigned char c;

		if (left == 0) {
			randombytes_buf(raw, sizeof(raw));
			left = sizeof(raw);
		}
		c = raw[--left];
		if (c < fair)
			out[i++] = alphabet[c % size];
	}
	out[n] = '\0';
}

void id_sandbox(id_sandbox_t out)
{
	memcpy(out, "s00000", 6);
	id_random(out + 6, 16, id_alphabet);
}

bool id_sandbox_ok(const char *s)
{
	if (strlen(s) != ID_SANDBOX_LEN || s[0] != 's')
		return false;
	return strspn(s, id_alphabet) == ID_SANDBOX_LEN;
}

void id_token(char out[ID_TOKEN_LEN + 1])
{
	id_random(out, ID_TOKEN_LEN, id_lower);
}

void id_uuid(id_text_t out)
{
	unsigned char b[16];

	randombytes_buf(b, sizeof(b));
	b[6] = (unsigned char)((b[6] & 0x0f) | 0x40);
	b[8] = (unsigned char)((b[8] & 0x3f) | 0x80);
	snprintf(out, ID_MAX + 1,
		 "%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-"
		 "%02x%02x%02x%02x%02x%02x",
		 b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9],
		 b[10], b[11], b[12], b[13], b[14], b[15]);
}

void id_stamped(const char *prefix, id_text_t out)
{
	char tail[11];

	id_random(tail, sizeof(tail) - 1, id_lower);
	snprintf(out, ID_MAX + 1, "%s_%lld_%s", prefix,
		 (long long)clock_unix_ms(), tail);
}

bool id_text_ok(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > ID_MAX || s[0] == '.' || s[0] == '-')
		return false;
	return strspn(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			 "0123456789._-") == n;
}
