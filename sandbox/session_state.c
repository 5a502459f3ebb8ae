#include <string.h>

#include "sandbox/session_state.h"

#define AT_END "\n# end "
#define AT_EXIT "\n# exit "
#define DECLARE "declare "
#define NAME_CHARS                                                             \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

/* Each shell's own; those that a command may well have set are not here. */
static const char *const own_names[] = {
    "BASH",
    "BASHOPTS",
    "BASHPID",
    "BASH_ALIASES",
    "BASH_ARGC",
    "BASH_ARGV",
    "BASH_ARGV0",
    "BASH_CMDS",
    "BASH_COMMAND",
    "BASH_LINENO",
    "BASH_SOURCE",
    "BASH_EXECUTION_STRING",
    "BASH_SUBSHELL",
    "BASH_VERSINFO",
    "BASH_VERSION",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "EUID",
    "FUNCNAME",
    "GROUPS",
    "HISTCMD",
    "LINENO",
    "PIPESTATUS",
    "PPID",
    "RANDOM",
    "SECONDS",
    "SHELLOPTS",
    "SRANDOM",
    "UID",
    "_",
};

bool session_state_tail(const char *p, size_t len, struct session_tail *out)
{
	const size_t mark = strlen(SESSION_SAVED);
	const char *end, *line;
	size_t skip;

	if (len < mark + 1 ||
	    memcmp(p + len - mark, SESSION_SAVED, mark) != 0 ||
	    p[len - mark - 1] != '\n')
		return false;
	end = p + len - mark - 1;
	line = memrchr(p, '\n', (size_t)(end - p));
	if (line == NULL)
		return false;
	if (strncmp(line, AT_END, strlen(AT_END)) == 0) {
		out->through = true;
		skip = strlen(AT_END);
	} else if (strncmp(line, AT_EXIT, strlen(AT_EXIT)) == 0) {
		out->through = false;
		skip = strlen(AT_EXIT);
	} else {
		return false;
	}
	out->cwd = line + skip;
	out->cwd_len = (size_t)(end - out->cwd);
	out->at = (size_t)(line + 1 - p);
	return true;
}

/* "declare -flags NAME", with or without a value, of a NAME in the list. */
static bool is_own(const char *line, size_t len)
{
	const char *name = memchr(line + strlen(DECLARE), ' ',
				  len - strlen(DECLARE));
	size_t left, n = 0;

	if (name == NULL)
		return false;
	name++;
	left = len - (size_t)(name - line);
	while (n < left && strchr(NAME_CHARS, name[n]) != NULL)
		n++;
	for (size_t i = 0; i < sizeof(own_names) / sizeof(own_names[0]); i++)
		if (strlen(own_names[i]) == n &&
		    memcmp(own_names[i], name, n) == 0)
			return true;
	return false;
}

void session_state_trim(struct buf *b)
{
	char *to = b->data;
	const char *p = b->data, *end = p + b->len;

	while ((size_t)(end - p) > strlen(DECLARE) &&
	       memcmp(p, DECLARE, strlen(DECLARE)) == 0) {
		const char *next = memchr(p, '\n', (size_t)(end - p));
		size_t n;

		if (next == NULL)
			break;
		n = (size_t)(next + 1 - p);
		if (!is_own(p, n - 1)) {
			memmove(to, p, n);
			to += n;
		}
		p = next + 1;
	}
	memmove(to, p, (size_t)(end - p));
	b->len -= (size_t)(p - to);
	b->data[b->len] = '\0';
}

bool session_state_same(const struct buf *a, const struct buf *b)
{
	struct session_tail x, y;

	if (!session_state_tail(a->data, a->len, &x) ||
	    !session_state_tail(b->data, b->len, &y))
		return false;
	return x.at == y.at && memcmp(a->data, b->data, x.at) == 0;
}
