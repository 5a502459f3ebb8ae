#include <fnmatch.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "sandbox/git_host.h"

#define KEY_MAX 2048U
#define NAME_LEN_MAX 256U

struct word {
	const char *p;
	size_t n;
};

/* The next word of the line that ends at ${end}. */
static struct word next_word(const char **at, const char *end)
{
	struct word w;

	while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r'))
		(*at)++;
	w.p = *at;
	while (*at < end && **at != ' ' && **at != '\t' && **at != '\r')
		(*at)++;
	w.n = (size_t)(*at - w.p);
	return w;
}

static bool is(struct word w, const char *text)
{
	return strlen(text) == w.n && memcmp(w.p, text, w.n) == 0;
}

/* ${w} is a pattern: host, [host]:port, with * and ?. */
static bool pattern_matches(struct word w, const char *host)
{
	char text[NAME_LEN_MAX];

	if (w.n > 2 && w.p[0] == '[') {
		const char *close = memchr(w.p, ']', w.n);

		if (close == NULL)
			return false;
		w = (struct word){w.p + 1, (size_t)(close - w.p) - 1};
	}
	if (w.n == 0 || w.n >= sizeof(text))
		return false;
	memcpy(text, w.p, w.n);
	text[w.n] = '\0';
	return strchr(text, '[') == NULL && strchr(text, '\\') == NULL &&
	       fnmatch(text, host, FNM_CASEFOLD) == 0;
}

/* One negated pattern that matches wins over all others. */
static bool names_host(struct word names, const char *host)
{
	const char *end = names.p + names.n;
	const char *at = names.p;
	bool found = false;

	while (at < end) {
		const char *comma = memchr(at, ',', (size_t)(end - at));
		struct word w = {at, (size_t)((comma ? comma : end) - at)};

		at = comma != NULL ? comma + 1 : end;
		if (w.n > 0 && w.p[0] == '!') {
			if (pattern_matches((struct word){w.p + 1, w.n - 1},
					    host))
				return false;
		} else if (pattern_matches(w, host)) {
			found = true;
		}
	}
	return found;
}

static bool same_key(struct word text, const git_cert_hostkey *key)
{
	unsigned char got[KEY_MAX];
	size_t n = 0;

	return sodium_base642bin(got, sizeof(got), text.p, text.n, NULL, &n,
				 NULL, sodium_base64_VARIANT_ORIGINAL) == 0 &&
	       n == key->hostkey_len && memcmp(got, key->hostkey, n) == 0;
}

enum said { SAID_NOTHING, SAID_KNOWN, SAID_REVOKED };

/* A line of known_hosts: [@marker] names type key. */
static enum said line_says(const char *at, const char *end, const char *host,
			   const git_cert_hostkey *key)
{
	struct word names = next_word(&at, end);
	bool revoked = is(names, "@revoked");
	struct word type;

	if (names.n == 0 || names.p[0] == '#' || is(names, "@cert-authority"))
		return SAID_NOTHING;
	if (revoked)
		names = next_word(&at, end);
	type = next_word(&at, end);
	if (type.n == 0 || !names_host(names, host) ||
	    !same_key(next_word(&at, end), key))
		return SAID_NOTHING;
	return revoked ? SAID_REVOKED : SAID_KNOWN;
}

static bool in_known_hosts(const char *text, const char *host,
			   const git_cert_hostkey *key)
{
	bool known = false;

	while (*text != '\0') {
		size_t n = strcspn(text, "\n");
		enum said s = line_says(text, text + n, host, key);

		if (s == SAID_REVOKED)
			return false;
		known = known || s == SAID_KNOWN;
		text += n + (text[n] != '\0');
	}
	return known;
}

static bool in_fingerprints(const char *text, const char *print)
{
	while (*text != '\0') {
		size_t n = strcspn(text, "\n");

		if (n == strlen(print) && memcmp(text, print, n) == 0)
			return true;
		text += n + (text[n] != '\0');
	}
	return false;
}

bool git_host_known(const struct git_request *rq, const char *host,
		    const git_cert_hostkey *key, char *why, size_t size)
{
	char print[64] = "SHA256:";

	if ((key->type & GIT_CERT_SSH_SHA256) == 0 ||
	    (key->type & GIT_CERT_SSH_RAW) == 0) {
		snprintf(why, size, "%s has a key of an unknown kind", host);
		return false;
	}
	sodium_bin2base64(print + 7, sizeof(print) - 7, key->hash_sha256,
			  sizeof(key->hash_sha256),
			  sodium_base64_VARIANT_ORIGINAL_NO_PADDING);
	if (in_fingerprints(rq->fingerprints, print) ||
	    in_known_hosts(rq->known_hosts, host, key))
		return true;
	snprintf(why, size,
		 "The host key of %.200s, %s, is none of those given", host,
		 print);
	return false;
}
