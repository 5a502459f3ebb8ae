#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>

#include "base/own.h"
#include "fcgi/body.h"
#include "fcgi/git_ask.h"
#include "fcgi/launch.h"
#include "fcgi/session.h"

#define TOKEN_USER "x-access-token"
#define PRINT_HEAD "SHA256:"
#define PRINT_LEN 50U

void git_ask_free(struct git_ask *a)
{
	buf_free(&a->url);
	buf_free(&a->user);
	buf_free(&a->secret);
	for (uint32_t i = 0; i < a->to.ncreds; i++)
		free(a->origins[i]);
	buf_free(&a->prints);
	buf_free(&a->full);
	free(a->paths);
}

/* ---- credentials ---- */

struct auth {
	const char *host;
	const char *type;
	const char *token;
	const char *user;
	const char *password;
	const char *key;
	const char *passphrase;
};

#define AT(member) offsetof(struct auth, member)

static const struct json_field auth_fields[] = {
    {"type", NULL, JSON_TEXT, AT(type), true, 1, 16},
    {"token", NULL, JSON_TEXT, AT(token), false, 1, GIT_ASK_SECRET_MAX},
    {"username", NULL, JSON_TEXT, AT(user), false, 1, 1024},
    {"password", NULL, JSON_TEXT, AT(password), false, 0, GIT_ASK_SECRET_MAX},
    {"privateKey", NULL, JSON_TEXT, AT(key), false, 1, GIT_ASK_SECRET_MAX},
    {"passphrase", NULL, JSON_TEXT, AT(passphrase), false, 1, 1024},
    {"host", NULL, JSON_TEXT, AT(host), false, 1, GIT_URL_MAX - 16},
};

static enum err needs(struct git_ask *a, struct errinfo *e, const char *field)
{
	return err_http_field(a->rq, e, field, "is needed for this auth type");
}

static enum err read_secret(struct git_ask *a, const struct auth *in,
			    struct git_cred *c, struct errinfo *e)
{
	c->auth = REPO_AUTH_BASIC;
	c->user = in->user != NULL ? in->user : "";
	c->passphrase = in->passphrase != NULL ? in->passphrase : "";
	if (strcmp(in->type, "token") == 0) {
		if (in->token == NULL)
			return needs(a, e, "auth.token");
		c->user = in->user != NULL ? in->user : TOKEN_USER;
		c->secret = in->token;
	} else if (strcmp(in->type, "basic") == 0) {
		if (in->user == NULL)
			return needs(a, e, "auth.username");
		c->secret = in->password != NULL ? in->password : "";
	} else if (strcmp(in->type, "ssh") == 0) {
		if (in->key == NULL)
			return needs(a, e, "auth.privateKey");
		c->auth = REPO_AUTH_SSH;
		c->secret = in->key;
	} else {
		return err_http_field(a->rq, e, "auth.type",
				      "must be token, basic or ssh");
	}
	if (strpbrk(c->user, "\r\n") != NULL ||
	    (c->auth == REPO_AUTH_BASIC && strpbrk(c->secret, "\r\n") != NULL))
		return err_http_field(a->rq, e, "auth",
				      "must not hold line ends");
	return ERR_NONE;
}

/* For servers of ${url}; a scheme that cannot carry it is a mistake. */
static enum err put_cred(struct git_ask *a, struct git_cred *c, const char *url,
			 struct errinfo *e)
{
	OWN(buf_free) struct buf origin = BUF_INIT(GIT_URL_MAX + 16);
	bool ssh = c->auth == REPO_AUTH_SSH;
	char *text;

	if (!git_url_origin(url, &origin) ||
	    strncmp(buf_str(&origin), ssh ? "ssh:" : "http", 4) != 0)
		return err_http_field(a->rq, e, "auth",
				      ssh ? "of type ssh is for ssh URLs"
					  : "is for http and https URLs");
	if (a->to.ncreds == GIT_CREDS_MAX)
		return err_http_field(a->rq, e, "credentials", "are too many");
	text = strdup(buf_str(&origin));
	if (text == NULL)
		return err_set(e, ERR_NOMEM, 0, "credentials");
	c->origin = a->origins[a->to.ncreds] = text;
	a->to.creds[a->to.ncreds++] = *c;
	return ERR_NONE;
}

static enum err read_auth(struct git_ask *a, struct json_object *obj,
			  bool for_host, struct errinfo *e)
{
	OWN(buf_free) struct buf url = BUF_INIT(GIT_URL_MAX + 16);
	struct git_cred c = {0};
	struct auth in = {0};
	enum err r = body_part(a->rq, obj, auth_fields, JSON_COUNT(auth_fields),
			       &in, e);

	if (r == ERR_NONE)
		r = read_secret(a, &in, &c, e);
	if (r != ERR_NONE)
		return r;
	if (!for_host) {
		if (in.host != NULL)
			return err_http_field(a->rq, e, "auth.host",
					      "is the URL's here");
		return put_cred(a, &c, buf_str(&a->url), e);
	}
	if (in.host == NULL)
		return err_http_field(a->rq, e, "credentials.host",
				      "is needed");
	if (strstr(in.host, "://") == NULL)
		buf_adds(&url, c.auth == REPO_AUTH_SSH ? "ssh://" : "https://");
	buf_adds(&url, in.host);
	return put_cred(a, &c, buf_str(&url), e);
}

static enum err read_list(struct git_ask *a, struct errinfo *e)
{
	size_t n, i;
	enum err r = ERR_NONE;

	if (a->credentials == NULL)
		return ERR_NONE;
	if (!json_object_is_type(a->credentials, json_type_array))
		return err_http_field(a->rq, e, "credentials",
				      "must be an array");
	n = json_object_array_length(a->credentials);
	for (i = 0; r == ERR_NONE && i < n; i++) {
		struct json_object *one = json_object_array_get_idx(
		    a->credentials, i);

		r = json_object_is_type(one, json_type_object)
			? read_auth(a, one, true, e)
			: err_http_field(a->rq, e, "credentials",
					 "must hold objects");
	}
	return r;
}

/* Those of the URL, if the body has none for it. */
static enum err read_creds(struct git_ask *a, struct errinfo *e)
{
	struct git_cred c = {.auth = REPO_AUTH_BASIC, .passphrase = ""};
	enum err r = ERR_NONE;

	if (a->auth != NULL) {
		r = read_auth(a, a->auth, false, e);
	} else if (a->user.len > 0) {
		c.user = buf_str(&a->user);
		c.secret = buf_str(&a->secret);
		r = put_cred(a, &c, buf_str(&a->url), e);
	}
	return r == ERR_NONE ? read_list(a, e) : r;
}

/* ---- hosts ---- */

static enum err read_hosts(struct git_ask *a, struct errinfo *e)
{
	size_t n = a->fingerprints != NULL
		       ? json_object_array_length(a->fingerprints)
		       : 0;
	size_t i;

	for (i = 0; i < n; i++) {
		const char *s = json_object_get_string(
		    json_object_array_get_idx(a->fingerprints, i));

		if (strlen(s) != PRINT_LEN || strchr(s, '\n') != NULL ||
		    strncmp(s, PRINT_HEAD, sizeof(PRINT_HEAD) - 1) != 0)
			return err_http_field(a->rq, e, "hostKeyFingerprints",
					      "must be as ssh-keygen -l shows "
					      "them: SHA256:…");
		buf_adds(&a->prints, s);
		buf_addc(&a->prints, '\n');
	}
	a->to.fingerprints = buf_str(&a->prints);
	if (a->known_hosts != NULL)
		a->to.known_hosts = a->known_hosts;
	return ERR_NONE;
}

/* ---- the rest ---- */

static enum err read_url(struct git_ask *a, struct errinfo *e)
{
	if (!git_url_ok(a->in_url) ||
	    !git_url_split(a->in_url, &a->url, &a->user, &a->secret))
		return err_http_fail(a->rq, e, HTTP_INVALID_GIT_URL,
				     "Invalid repository URL: give http, "
				     "https, ssh, git or file, or "
				     "user@host:path");
	a->to.url = buf_str(&a->url);
	err_http_text(a->rq, "repository", a->to.url);
	return ERR_NONE;
}

enum err git_ask_remote(struct git_ask *a, bool needed, struct errinfo *e)
{
	enum err r = ERR_NONE;

	if (a->in_url != NULL)
		r = read_url(a, e);
	else if (needed)
		return err_http_field(a->rq, e, "repoUrl", "is needed");
	else if (a->auth != NULL)
		return err_http_field(a->rq, e, "repoUrl",
				      "is needed with auth: the repository's "
				      "own settings do not say who gets a "
				      "credential");
	if (r == ERR_NONE)
		r = read_creds(a, e);
	return r == ERR_NONE ? read_hosts(a, e) : r;
}

enum err git_ask_timeout(struct git_ask *a, struct errinfo *e)
{
	int64_t ms = a->timeout_ms;

	if (ms > 0 && ms <= LAUNCH_TIMEOUT_MAX_MS)
		return ERR_NONE;
	err_http_text(a->rq, "field", "timeoutMs");
	return err_http_fail(a->rq, e, HTTP_VALIDATION_FAILED,
			     "Invalid timeout: %lld. timeoutMs must be a "
			     "positive number of milliseconds",
			     (long long)ms);
}

enum err git_ask_dir(struct git_ask *a, struct link *l, struct errinfo *e)
{
	const char *path = a->in_path != NULL ? a->in_path : ".";
	id_text_t session;
	bool named;
	enum err r = session_choose(a->rq, a->in_session, session, &named, e);

	if (r == ERR_NONE)
		r = session_path(l, session, path, &a->full, e);
	if (r != ERR_NONE)
		return r;
	a->to.dir = buf_str(&a->full);
	err_http_text(a->rq, "path", a->to.dir);
	return buf_ok(&a->full)
		   ? ERR_NONE
		   : err_http_field(a->rq, e, "path", "is too long");
}

enum err git_ask_name(struct git_ask *a, const char *field, const char *value,
		      struct errinfo *e)
{
	return value == NULL || value[0] != '-'
		   ? ERR_NONE
		   : err_http_field(a->rq, e, field, "is not a valid name");
}

static bool path_ok(const char *path)
{
	return path[0] != '\0' && path[0] != '/' && strcmp(path, "..") != 0 &&
	       strncmp(path, "../", 3) != 0 && strstr(path, "/../") == NULL;
}

enum err git_ask_paths(struct git_ask *a, struct json_object *list,
		       struct errinfo *e)
{
	size_t n = list != NULL ? json_object_array_length(list) : 0;
	size_t i;

	if (n == 0)
		return ERR_NONE;
	a->paths = calloc(n, sizeof(*a->paths));
	if (a->paths == NULL)
		return err_set(e, ERR_NOMEM, 0, "paths");
	for (i = 0; i < n; i++) {
		a->paths[i] = json_object_get_string(
		    json_object_array_get_idx(list, i));
		if (!path_ok(a->paths[i]))
			return err_http_field(a->rq, e, "paths",
					      "must be below the repository");
	}
	a->to.paths = a->paths;
	a->to.npaths = (uint32_t)n;
	return ERR_NONE;
}

struct author {
	const char *name;
	const char *email;
};

enum err git_ask_author(struct git_ask *a, struct json_object *author,
			struct errinfo *e)
{
	static const struct json_field fields[] = {
	    {"name", NULL, JSON_TEXT, offsetof(struct author, name), true, 1,
	     1000},
	    {"email", NULL, JSON_TEXT, offsetof(struct author, email), true, 1,
	     1000},
	};
	struct author who = {0};
	enum err r = ERR_NONE;

	if (author == NULL)
		return ERR_NONE;
	r = body_part(a->rq, author, fields, JSON_COUNT(fields), &who, e);
	if (r != ERR_NONE)
		return r;
	if (strpbrk(who.name, "<>\n\r") || strpbrk(who.email, "<>\n\r"))
		return err_http_field(a->rq, e, "author",
				      "must not hold <, > or line ends");
	a->to.name = who.name;
	a->to.email = who.email;
	return ERR_NONE;
}
