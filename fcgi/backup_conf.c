#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/conf.h"
#include "base/own.h"
#include "fcgi/backup_conf.h"

#define SECRET_MAX 128

struct reading {
	struct backup_conf c;
	char key_id[64];
	char secret_file[PATH_MAX];
	bool any;
};

static bool set_text(char *out, size_t size, const char *value)
{
	size_t n = strlen(value);

	if (n == 0 || n >= size || strpbrk(value, " \t\"'\\") != NULL)
		return false;
	memcpy(out, value, n + 1);
	return true;
}

static bool only(const char *s, const char *more)
{
	for (; *s != '\0'; s++)
		if (!(*s >= 'a' && *s <= 'z') && !(*s >= '0' && *s <= '9') &&
		    strchr(more, *s) == NULL)
			return false;
	return true;
}

static bool is_local(const char *host)
{
	size_t n = strcspn(host, ":/");

	return (strncmp(host, "127.", 4) == 0 &&
		strspn(host, "0123456789.") == n) ||
	       strncmp(host, "[::1]", 5) == 0 ||
	       (n == 9 && strncmp(host, "localhost", n) == 0);
}

static bool set_endpoint(struct backup_conf *c, const char *value)
{
	size_t scheme = strncmp(value, "https://", 8) == 0  ? 8
			: strncmp(value, "http://", 7) == 0 ? 7
							    : 0;
	size_t n = strlen(value);

	if (n > scheme && value[n - 1] == '/')
		n--;
	if (scheme == 0 || n == scheme || n >= sizeof(c->endpoint) ||
	    strcspn(value + scheme, "/?#@ ") < n - scheme)
		return false;
	if (scheme == 7 && !is_local(value + scheme))
		return false;
	memcpy(c->endpoint, value, n);
	c->endpoint[n] = '\0';
	return true;
}

static bool set_bucket(struct backup_conf *c, const char *value)
{
	size_t n = strlen(value);

	return n >= 3 && n <= 63 && only(value, ".-") && value[0] != '.' &&
	       value[0] != '-' && strstr(value, "..") == NULL &&
	       set_text(c->bucket, sizeof(c->bucket), value);
}

static bool set_bool(bool *out, const char *value)
{
	bool yes = strcmp(value, "yes") == 0;

	*out = !yes;
	return yes || strcmp(value, "no") == 0;
}

/* Names of objects stay such that nobody has to escape them. */
static bool set_prefix(struct backup_conf *c, const char *value)
{
	return only(value, "ABCDEFGHIJKLMNOPQRSTUVWXYZ-_/") &&
	       value[0] != '/' && strstr(value, "//") == NULL &&
	       set_text(c->prefix, sizeof(c->prefix), value);
}

static bool set_value(struct reading *r, const char *name, const char *value,
		      bool *known)
{
	*known = true;
	if (strcmp(name, "endpoint") == 0)
		return set_endpoint(&r->c, value);
	if (strcmp(name, "bucket") == 0)
		return set_bucket(&r->c, value);
	if (strcmp(name, "region") == 0)
		return only(value, "-") &&
		       set_text(r->c.region, sizeof(r->c.region), value);
	if (strcmp(name, "keyId") == 0)
		return strchr(value, ':') == NULL &&
		       set_text(r->key_id, sizeof(r->key_id), value);
	if (strcmp(name, "secretFile") == 0)
		return set_text(r->secret_file, sizeof(r->secret_file), value);
	if (strcmp(name, "pathStyle") == 0)
		return set_bool(&r->c.host_style, value);
	if (strcmp(name, "prefix") == 0)
		return set_prefix(&r->c, value);
	*known = false;
	return false;
}

static bool take(void *arg, const char *section, const char *name,
		 const char *value, char wrong[CONF_WRONG_MAX])
{
	struct reading *r = arg;
	bool known;

	if (strcmp(section, "backup") != 0)
		return true;
	r->any = true;
	if (set_value(r, name, value, &known))
		return true;
	return known ? conf_wrong(wrong, "= \"%.60s\" is not what it may be",
				  value)
		     : conf_wrong(wrong, "is no key of it");
}

static enum err read_secret(const char *data_dir, struct reading *r,
			    struct errinfo *e)
{
	OWN(own_fd) int dir = open(data_dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	OWN(own_fd) int fd = -1;
	char secret[SECRET_MAX + 2];
	struct stat st;
	ssize_t n;

	fd = openat(dir, r->secret_file, O_RDONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(e, ERR_IO, errno, "[backup] secretFile %.120s",
			       r->secret_file);
	if (!S_ISREG(st.st_mode) || (st.st_mode & 07) != 0)
		return err_set(e, ERR_ARG, 0,
			       "[backup] secretFile %.120s: every user may "
			       "read it",
			       r->secret_file);
	n = read(fd, secret, sizeof(secret) - 1);
	if (n < 0)
		return err_set(e, ERR_IO, errno, "[backup] secretFile");
	secret[n] = '\0';
	secret[strcspn(secret, "\r\n")] = '\0';
	if (secret[0] == '\0' || strlen(secret) > SECRET_MAX)
		return err_set(e, ERR_ARG, 0,
			       "[backup] secretFile %.120s has no secret in "
			       "its first line",
			       r->secret_file);
	snprintf(r->c.credentials, sizeof(r->c.credentials), "%s:%s", r->key_id,
		 secret);
	explicit_bzero(secret, sizeof(secret));
	return ERR_NONE;
}

static enum err check_all(const char *data_dir, struct reading *r,
			  struct errinfo *e)
{
	const char *missing = r->c.endpoint[0] == '\0'    ? "endpoint"
			      : r->c.bucket[0] == '\0'    ? "bucket"
			      : r->key_id[0] == '\0'      ? "keyId"
			      : r->secret_file[0] == '\0' ? "secretFile"
							  : NULL;

	if (!r->any)
		return ERR_NONE;
	if (missing != NULL)
		return err_set(e, ERR_ARG, 0, "[backup] has no %s", missing);
	if (r->c.region[0] == '\0')
		memcpy(r->c.region, "us-east-1", sizeof("us-east-1"));
	r->c.remote = true;
	return read_secret(data_dir, r, e);
}

enum err backup_conf_read(const char *data_dir, struct backup_conf *c,
			  struct errinfo *e)
{
	struct reading r = {.any = false};
	enum err err = conf_read(data_dir, take, &r, e);

	if (err == ERR_NONE)
		err = check_all(data_dir, &r, e);
	r.c.wrong = err != ERR_NONE;
	if (r.c.wrong)
		r.c.remote = false;
	*c = r.c;
	explicit_bzero(&r, sizeof(r));
	return err;
}
