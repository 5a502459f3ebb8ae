/* git_url: what may be given to git, and where credentials end up. */
#include "tests/unit/base/unit.h"

#include <string.h>

#include "base/git_url.h"

static void usual_urls_are_taken(void **state)
{
	static const char *const good[] = {
	    "https://github.com/a/b",
	    "http://localhost:8000/repo.git",
	    "ssh://git@host:22/x",
	    "git://host/x",
	    "git@github.com:a/b.git",
	    "file:///tmp/x",
	    "/tmp/x",
	    "./x",
	    "../x",
	    "HTTPS://host/x",
	    "https://u:p%40@host/x?y#z",
	    "host:path",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_true(git_url_ok(good[i]));
}

static void options_programs_and_noise_are_refused(void **state)
{
	static const char *const bad[] = {
	    "",
	    "foo",
	    "-x",
	    "--upload-pack=touch /tmp/x",
	    "ext::sh -c id",
	    "ext::sh",
	    "fd::3",
	    "ssh://-oProxyCommand=id/x",
	    "-oProxyCommand=id:x",
	    "https://",
	    "http:///x",
	    "https://host/a b",
	    "https://host/a\nb",
	    "ftp://host/x",
	    "javascript://x",
	    "host:",
	};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(git_url_ok(bad[i]));
}

static void check_split(const char *url, const char *clean, const char *user,
			const char *secret)
{
	struct buf c = BUF_INIT(GIT_URL_MAX);
	struct buf u = BUF_INIT(GIT_URL_MAX);
	struct buf s = BUF_INIT(GIT_URL_MAX);

	assert_true(git_url_split(url, &c, &u, &s));
	assert_string_equal(buf_str(&c), clean);
	assert_string_equal(buf_str(&u), user);
	assert_string_equal(buf_str(&s), secret);
	buf_free(&c);
	buf_free(&u);
	buf_free(&s);
}

static void credentials_leave_the_url(void **state)
{
	(void)state;
	check_split("https://host/x", "https://host/x", "", "");
	check_split("https://bob:s3@host:8/x", "https://host:8/x", "bob", "s3");
	check_split("https://tok@host/x", "https://host/x", "tok", "");
	check_split("https://a%40b:p%3A%2f@host/x", "https://host/x", "a@b",
		    "p:/");
	check_split("https://a:b@c@host/x", "https://host/x", "a", "b@c");
	check_split("https://host/x@y:z", "https://host/x@y:z", "", "");
	check_split("https://host?u@v", "https://host?u@v", "", "");
	check_split("git@host:x", "git@host:x", "", "");
	check_split("ssh://git@host/x", "ssh://git@host/x", "", "");
}

static void bad_credentials_are_refused(void **state)
{
	static const char *const bad[] = {
	    "https://a%0ab:c@h/x", "https://a:%zz@h/x", "https://a:%4@h/x",
	    "https://a:%00@h/x"};
	size_t i;

	(void)state;
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct buf b[3] = {BUF_INIT(100), BUF_INIT(100), BUF_INIT(100)};

		assert_false(git_url_split(bad[i], &b[0], &b[1], &b[2]));
		buf_free(&b[0]);
		buf_free(&b[1]);
		buf_free(&b[2]);
	}
}

static void check_name(const char *url, const char *name)
{
	struct buf b = BUF_INIT(GIT_URL_MAX);

	assert_int_equal(git_url_name(url, &b), name != NULL);
	if (name != NULL)
		assert_string_equal(buf_str(&b), name);
	buf_free(&b);
}

static void the_directory_is_named_as_git_does(void **state)
{
	(void)state;
	check_name("https://host/a/repo.git", "repo");
	check_name("https://host/a/repo", "repo");
	check_name("https://host/a/repo/", "repo");
	check_name("https://host/a/repo.git/?x=1#y", "repo");
	check_name("/srv/repo/.git", "repo");
	check_name("git@host:repo.git", "repo");
	check_name("git@host:a/repo", "repo");
	check_name("https://host/..", NULL);
	check_name("https://host/.", NULL);
	check_name("/", NULL);
	check_name("/.git", NULL);
}

static void check_origin(const char *url, const char *origin)
{
	struct buf b = BUF_INIT(2 * GIT_URL_MAX);

	assert_int_equal(git_url_origin(url, &b), origin != NULL);
	if (origin != NULL)
		assert_string_equal(buf_str(&b), origin);
	buf_free(&b);
}

static void an_origin_is_scheme_host_and_port(void **state)
{
	(void)state;
	check_origin("https://Host.Example/a/b", "https://host.example");
	check_origin("HTTPS://host:443/x", "https://host");
	check_origin("https://host:8443/x", "https://host:8443");
	check_origin("http://host:443/x", "http://host:443");
	check_origin("https://a:b@host/x", "https://host");
	check_origin("https://host@evil/x", "https://evil");
	check_origin("https://evil/x@host", "https://evil");
	check_origin("https://evil?@host/", "https://evil");
	check_origin("ssh://git@host:22/x", "ssh://host");
	check_origin("ssh://git@host:2222/x", "ssh://host:2222");
	check_origin("git@host:a/b", "ssh://host");
	check_origin("https://[::1]:80/x", "https://[::1]:80");
	check_origin("/srv/x.git", NULL);
	check_origin("file:///srv/x.git", NULL);
	check_origin("./x", NULL);
	check_origin("ext::sh -c x", NULL);
	check_origin("https://user@/x", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(usual_urls_are_taken),
	    cmocka_unit_test(options_programs_and_noise_are_refused),
	    cmocka_unit_test(credentials_leave_the_url),
	    cmocka_unit_test(bad_credentials_are_refused),
	    cmocka_unit_test(the_directory_is_named_as_git_does),
	    cmocka_unit_test(an_origin_is_scheme_host_and_port),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
