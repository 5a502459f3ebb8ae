/*
 * What init is asked for by its keeper: a SPAWN's payload. One that is taken
 * has a program, ends where it says, and no text reaches past its frame.
 */
#include <stdlib.h>
#include <string.h>

#include "base/init_msg.h"
#include "sandbox/init_exec.h"
#include "tests/fuzz/fuzz.h"

static bool within(const struct wire_msg *m, const char *s)
{
	const uint8_t *p = (const uint8_t *)s;

	return p >= m->data && p < m->data + m->len &&
	       memchr(p, 0, (size_t)(m->data + m->len - p)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct wire_msg m = {.type = IM_SPAWN,
			     .tag = 7,
			     .data = data,
			     .len = n,
			     .fds = {10, 11, 12, -1},
			     .nfds = 3};
	struct init_spawn s;

	if (init_spawn_parse(&m, &s)) {
		must(s.argc > 0 && s.argv[s.argc] == NULL);
		must(s.user <= INIT_USER_SANDBOX && within(&m, s.cwd));
		for (uint32_t i = 0; i < s.argc; i++)
			must(within(&m, s.argv[i]));
		for (char **e = s.env; *e != NULL; e++)
			must(within(&m, *e));
	}
	init_spawn_free(&s);
	return 0;
}
