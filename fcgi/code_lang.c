#include <stddef.h>
#include <string.h>

#include "fcgi/code_lang.h"

#define LANG_ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})

static const struct code_lang lang_table[] = {
#define KERNEL(name, aliases, ...)                                             \
	{#name, aliases, LANG_ARGV(__VA_ARGS__),                               \
	 sizeof(LANG_ARGV(__VA_ARGS__)) / sizeof(char *) - 1},
#include "sandbox/kernels.def"
#undef KERNEL
};

#define LANG_COUNT (sizeof(lang_table) / sizeof(lang_table[0]))

static bool lang_is_alias(const char *aliases, const char *s)
{
	size_t n = strlen(s);

	while (*aliases != '\0') {
		size_t m = strcspn(aliases, ",");

		if (m == n && memcmp(aliases, s, n) == 0)
			return true;
		aliases += m;
		aliases += *aliases == ',';
	}
	return false;
}

const struct code_lang *code_lang_find(const char *s)
{
	for (size_t i = 0; i < LANG_COUNT; i++)
		if (strcmp(lang_table[i].name, s) == 0 ||
		    lang_is_alias(lang_table[i].aliases, s))
			return &lang_table[i];
	return NULL;
}

void code_lang_names(struct buf *b)
{
	for (size_t i = 0; i < LANG_COUNT; i++) {
		const char *p = lang_table[i].aliases;

		if (i > 0)
			buf_adds(b, ", ");
		buf_adds(b, lang_table[i].name);
		if (*p == '\0')
			continue;
		buf_adds(b, " (");
		for (; *p != '\0'; p++) {
			buf_addc(b, *p);
			if (*p == ',')
				buf_addc(b, ' ');
		}
		buf_addc(b, ')');
	}
}
