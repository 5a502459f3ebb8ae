/* The text of a session's state: what is left out, and what is a change. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/own.h"
#include "sandbox/session_state.h"

static void trimmed(const char *text, const char *want)
{
	OWN(buf_free) struct buf b = BUF_INIT(4096);

	buf_adds(&b, text);
	session_state_trim(&b);
	assert_string_equal(b.data, want);
	assert_int_equal(b.len, strlen(want));
}

static void what_each_shell_sets_itself_is_left_out(void **state)
{
	(void)state;
	trimmed("declare -- BASH=\"/bin/bash\"\n"
		"declare -r BASHOPTS=\"a:b\"\n"
		"declare -x HOME=\"/root\"\n"
		"declare -ir PPID=\"1\"\n"
		"declare -- LINENO\n"
		"declare -i RANDOM=\"7\"\n"
		"declare -- _=\"x\"\n"
		"declare -x _LONGER=\"x\"\n"
		"umask 0022\n",
		"declare -x HOME=\"/root\"\n"
		"declare -x _LONGER=\"x\"\n"
		"umask 0022\n");
}

static void what_only_looks_like_a_variable_is_kept(void **state)
{
	static const char *const texts[] = {
	    "",
	    "declare",
	    "declare ",
	    "declare \n",
	    "declare -r BASHOPTS", /* no line */
	    "declare -- A=\"two\nlines\"\ndeclare -i UID=\"0\"\n",
	    "f () \n{ \n    cat <<E\ndeclare -- _=\"x\"\nE\n\n}\n",
	    "declare -- UIDS=\"1\"\ndeclare -a U=([0]=\"UID\")\n",
	};

	(void)state;
	for (size_t i = 1; i < sizeof(texts) / sizeof(texts[0]); i++)
		trimmed(texts[i], texts[i]);
}

static bool same(const char *x, const char *y)
{
	OWN(buf_free) struct buf a = BUF_INIT(4096);
	OWN(buf_free) struct buf b = BUF_INIT(4096);

	buf_adds(&a, x);
	buf_adds(&b, y);
	return session_state_same(&a, &b);
}

static void how_the_shell_ended_is_no_change_of_state(void **state)
{
	(void)state;
	assert_true(same("declare -- A=\"1\"\n# end /usr\n# saved\n",
			 "declare -- A=\"1\"\n# exit /usr\n# saved\n"));
	assert_false(same("declare -- A=\"1\"\n# end /usr\n# saved\n",
			  "declare -- A=\"2\"\n# end /usr\n# saved\n"));
	assert_false(same("declare -- A=\"1\"\n# end /usr\n# saved\n",
			  "declare -- A=\"12\"\n# end /usr\n# saved\n"));
	assert_false(same("export A=1\n# saved\n", "export A=1\n# saved\n"));
	assert_false(same("", ""));
}

static void the_tail_is_believed_only_whole(void **state)
{
	struct session_tail t;
	const char *text = "x\n# exit /a b\n# saved\n";

	(void)state;
	assert_true(session_state_tail(text, strlen(text), &t));
	assert_false(t.through);
	assert_int_equal(t.cwd_len, 4);
	assert_memory_equal(t.cwd, "/a b", 4);
	assert_int_equal(t.at, 2);
	for (size_t n = 0; n < strlen(text); n++)
		assert_false(session_state_tail(text, n, &t));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(what_each_shell_sets_itself_is_left_out),
	    cmocka_unit_test(what_only_looks_like_a_variable_is_kept),
	    cmocka_unit_test(how_the_shell_ended_is_no_change_of_state),
	    cmocka_unit_test(the_tail_is_believed_only_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
