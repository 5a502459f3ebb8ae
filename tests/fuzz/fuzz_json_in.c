/*
 * A request's body. What is taken is written anew, and what was written is
 * taken again and written the same.
 */
#include <stdbool.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/json_in.h"
#include "fcgi/json_out.h"
#include "fcgi/utf8.h"
#include "tests/fuzz/fuzz.h"

struct body {
	const char *text;
	struct json_blob blob;
	struct json_blob base64;
	int64_t number;
	bool flag;
	struct json_object *texts;
	struct json_object *env;
	struct json_object *object;
};

#define AT(member) offsetof(struct body, member)

static const struct json_field fields[] = {
    {"text", "alias", JSON_TEXT, AT(text), false, 1, 100},
    {"blob", NULL, JSON_BLOB, AT(blob), false, 0, 100},
    {"base64", NULL, JSON_BASE64, AT(base64), false, 0, 100},
    {"number", NULL, JSON_INT, AT(number), false, -5, 1000000},
    {"flag", NULL, JSON_BOOL, AT(flag), false, 0, 0},
    {"texts", NULL, JSON_TEXTS, AT(texts), false, 0, 5},
    {"env", NULL, JSON_ENV, AT(env), false, 0, 0},
    {"object", NULL, JSON_OBJECT, AT(object), false, 0, 0},
    {"skip", NULL, JSON_SKIP, 0, false, 0, 0},
};

#undef AT

static void read_fields(struct json_in *in)
{
	struct body body = {0};
	struct errinfo e;
	uint32_t n;
	char **env;

	if (json_in_read(in, fields, JSON_COUNT(fields), &body, &e) !=
	    ERR_NONE) {
		must(in->why[0] != '\0');
		return;
	}
	must(body.text == NULL || strlen(body.text) <= 100);
	must(body.blob.p == NULL || body.blob.p[body.blob.n] == '\0');
	must(body.base64.p == NULL || body.base64.p[body.base64.n] == '\0');
	must(body.number >= -5 && body.number <= 1000000);
	must(json_in_env(body.env, &env, &n, &e) == ERR_NONE);
	for (uint32_t i = 0; i < n; i++)
		must(strchr(env[i], '=') != NULL && env[i][0] != '=');
	json_in_env_free(env, n);
}

/* The JSON of ${in}, parsed again into ${again}. */
static void write_anew(struct json_in *in, struct json_out *o,
		       struct json_in *again)
{
	struct errinfo e;

	json_out_init(o, 1 << 22);
	json_out_value(o, NULL, in->root);
	must(json_out_ok(o) && utf8_ok(o->b.data, o->b.len));
	must(json_in_parse(again, o->b.data, o->b.len, &e) == ERR_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct json_in in[4] = {{0}};
	struct json_out out[3] = {{.depth = 0}};
	OWN(buf_free) struct buf text = BUF_INIT(n);
	struct errinfo e;

	buf_add(&text, data, n);
	if (json_in_parse(&in[0], text.data, n, &e) == ERR_NONE) {
		read_fields(&in[0]);
		for (int i = 0; i < 3; i++)
			write_anew(&in[i], &out[i], &in[i + 1]);
		/* The first may differ: -0.0 is -0, which is 0. */
		must(strcmp(out[1].b.data, out[2].b.data) == 0);
	} else {
		must(e.code == ERR_ARG);
		must(in[0].syntax || in[0].why[0] != '\0');
	}
	for (int i = 0; i < 4; i++)
		json_in_free(&in[i]);
	for (int i = 0; i < 3; i++)
		json_out_free(&out[i]);
	return 0;
}
