#include <http_parser.h>
#include <sha1.h>
#include <sodium.h>
#include <string.h>
#include <strings.h>

#include "fcgi/term.h"

#define GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11" /* RFC 6455, 1.3 */
#define KEY_LEN 24

struct reading {
	struct term_head *out;
	const char *name; /* of the header whose value comes */
	size_t name_len;
	bool whole;
	bool twice; /* a header of ours, which would be ambiguous */
};

static bool is_name(const struct reading *r, const char *name)
{
	return r->name_len == strlen(name) &&
	       strncasecmp(r->name, name, r->name_len) == 0;
}

static int on_field(http_parser *p, const char *at, size_t n)
{
	struct reading *r = p->data;

	r->name = at;
	r->name_len = n;
	return 0;
}

/* "<sandbox id>/<execution id>" */
static bool read_place(const char *at, size_t n, struct term_head *out)
{
	if (n < ID_SANDBOX_LEN + 2 || n - ID_SANDBOX_LEN - 1 > ID_MAX ||
	    at[ID_SANDBOX_LEN] != '/')
		return false;
	memcpy(out->sandbox, at, ID_SANDBOX_LEN);
	out->sandbox[ID_SANDBOX_LEN] = '\0';
	n -= ID_SANDBOX_LEN + 1;
	memcpy(out->exec, at + ID_SANDBOX_LEN + 1, n);
	out->exec[n] = '\0';
	return id_sandbox_ok(out->sandbox) && id_text_ok(out->exec);
}

static int on_value(http_parser *p, const char *at, size_t n)
{
	struct reading *r = p->data;
	struct term_head *h = r->out;

	if (is_name(r, "X-Warren-Terminal")) {
		r->twice |= h->sandbox[0] != '\0';
		return read_place(at, n, h) ? 0 : -1;
	}
	if (is_name(r, "Sec-WebSocket-Key") && n == KEY_LEN) {
		r->twice |= h->key[0] != '\0';
		memcpy(h->key, at, n);
		h->key[n] = '\0';
	}
	if (is_name(r, "Sec-WebSocket-Version"))
		h->version = n == 2 && memcmp(at, "13", 2) == 0;
	if (is_name(r, "Upgrade"))
		h->upgrade = n == 9 && strncasecmp(at, "websocket", 9) == 0;
	return 0;
}

static int on_head(http_parser *p)
{
	struct reading *r = p->data;

	r->whole = true;
	return 2; /* what follows is no HTTP */
}

int term_head_read(const char *data, size_t n, struct term_head *out,
		   size_t *used)
{
	static const http_parser_settings settings = {
	    .on_header_field = on_field,
	    .on_header_value = on_value,
	    .on_headers_complete = on_head};
	const char *end = n < 4 ? NULL : memmem(data, n, "\r\n\r\n", 4);
	struct reading r = {.out = out};
	http_parser p;

	*out = (struct term_head){.version = false};
	if (end == NULL)
		return 0;
	*used = (size_t)(end - data) + 4;
	http_parser_init(&p, HTTP_REQUEST);
	p.data = &r;
	/* In one piece, so each header comes in one piece as well. */
	http_parser_execute(&p, &settings, data, *used);
	if (HTTP_PARSER_ERRNO(&p) != HPE_OK || !r.whole || r.twice ||
	    p.method != HTTP_GET || out->sandbox[0] == '\0')
		return -1;
	return 1;
}

void term_head_accept(const char *key, char out[32])
{
	uint8_t hash[SHA1_DIGEST_LENGTH];
	SHA1_CTX c;

	SHA1Init(&c);
	SHA1Update(&c, (const uint8_t *)key, strlen(key));
	SHA1Update(&c, (const uint8_t *)GUID, strlen(GUID));
	SHA1Final(hash, &c);
	sodium_bin2base64(out, 32, hash, sizeof(hash),
			  sodium_base64_VARIANT_ORIGINAL);
}
