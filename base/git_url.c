#include <string.h>
#include <strings.h>

#include "base/git_url.h"

static const char *const schemes[] = {"http://", "https://", "ssh://", "git://",
				      "file://"};

static bool starts(const char *s, const char *head)
{
	return strncasecmp(s, head, strlen(head)) == 0;
}

bool git_url_is_http(const char *url)
{
	return starts(url, "http://") || starts(url, "https://");
}

static bool printable(const char *s)
{
	for (; *s != '\0'; s++) {
		if ((unsigned char)*s <= ' ' || *s == 0x7f)
			return false;
	}
	return true;
}

/* user@host:path; "::" would name a program (ext::sh -c …). */
static bool is_short(const char *url)
{
	size_t host = strcspn(url, ":/");

	return host > 0 && url[host] == ':' && url[host + 1] != ':' &&
	       url[host + 1] != '\0' && url[0] != '-' &&
	       strstr(url, "://") == NULL;
}

static bool is_path(const char *url)
{
	return url[0] == '/' || starts(url, "./") || starts(url, "../");
}

bool git_url_ok(const char *url)
{
	const char *rest;
	size_t i;

	if (strlen(url) > GIT_URL_MAX || !printable(url))
		return false;
	for (i = 0; i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (!starts(url, schemes[i]))
			continue;
		rest = url + strlen(schemes[i]);
		/* a host that begins with '-' would be an option of ssh */
		return rest[0] != '\0' && rest[0] != '-' &&
		       (rest[0] != '/' || starts(url, "file:"));
	}
	return is_path(url) || is_short(url);
}

static int hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	if (c >= 'A' && c <= 'F')
		return c - 'A' + 10;
	return -1;
}

static bool decode(const char *p, size_t n, struct buf *out)
{
	size_t i;
	int c;

	for (i = 0; i < n; i++) {
		c = (unsigned char)p[i];
		if (p[i] == '%') {
			if (n - i < 3 || hex(p[i + 1]) < 0 || hex(p[i + 2]) < 0)
				return false;
			c = hex(p[i + 1]) * 16 + hex(p[i + 2]);
			i += 2;
		}
		if (c < ' ' || c == 0x7f)
			return false;
		buf_addc(out, (char)c);
	}
	return true;
}

bool git_url_split(const char *url, struct buf *clean, struct buf *user,
		   struct buf *secret)
{
	const char *host;
	const char *at = NULL;
	const char *colon;
	size_t i;

	if (!git_url_is_http(url)) {
		buf_adds(clean, url);
		return buf_ok(clean);
	}
	host = strstr(url, "://") + 3;
	for (i = 0; i < strcspn(host, "/?#"); i++) {
		if (host[i] == '@')
			at = host + i;
	}
	buf_add(clean, url, (size_t)(host - url));
	buf_adds(clean, at != NULL ? at + 1 : host);
	if (at == NULL)
		return buf_ok(clean);
	colon = memchr(host, ':', (size_t)(at - host));
	if (!decode(host, (size_t)((colon != NULL ? colon : at) - host), user))
		return false;
	if (colon != NULL &&
	    !decode(colon + 1, (size_t)(at - colon - 1), secret))
		return false;
	return buf_ok(clean) && buf_ok(user) && buf_ok(secret);
}

bool git_url_is_local(const char *url)
{
	return is_path(url) || starts(url, "file://");
}

static void add_lower(struct buf *out, const char *p, size_t n)
{
	for (; n > 0; p++, n--)
		buf_addc(out, *p >= 'A' && *p <= 'Z' ? (char)(*p + 32) : *p);
}

/* Its usual port says nothing. */
static size_t without_port(const char *scheme, const char *host, size_t n)
{
	static const char *const usual[][2] = {{"https://", ":443"},
					       {"http://", ":80"},
					       {"ssh://", ":22"},
					       {"git://", ":9418"}};
	size_t len;
	size_t i;

	for (i = 0; i < sizeof(usual) / sizeof(usual[0]); i++) {
		len = strlen(usual[i][1]);
		if (starts(scheme, usual[i][0]) && n > len &&
		    memcmp(host + n - len, usual[i][1], len) == 0)
			return n - len;
	}
	return n;
}

bool git_url_origin(const char *url, struct buf *out)
{
	const char *host = strstr(url, "://");
	size_t n;
	size_t i;

	if (git_url_is_local(url) || !git_url_ok(url))
		return false;
	if (host == NULL) { /* user@host:path */
		host = url;
		n = strcspn(url, ":");
		url = "ssh://";
	} else {
		host += 3;
		n = strcspn(host, "/?#");
	}
	add_lower(out, url, strcspn(url, ":") + 3);
	for (i = n; i > 0; i--) {
		if (host[i - 1] == '@')
			break;
	}
	host += i;
	n = without_port(url, host, n - i);
	add_lower(out, host, n);
	return n > 0 && buf_ok(out);
}

bool git_url_name(const char *url, struct buf *out)
{
	size_t n = strcspn(url, "?#");
	size_t start;

	while (n > 0 && url[n - 1] == '/')
		n--;
	if (n >= 5 && strncmp(url + n - 5, "/.git", 5) == 0)
		n -= 5;
	else if (n >= 4 && strncmp(url + n - 4, ".git", 4) == 0)
		n -= 4;
	while (n > 0 && url[n - 1] == '/')
		n--;
	start = n;
	while (start > 0 && url[start - 1] != '/' && url[start - 1] != ':')
		start--;
	if (start == n || (n - start <= 2 && url[n - 1] == '.'))
		return false;
	buf_add(out, url + start, n - start);
	return buf_ok(out);
}
