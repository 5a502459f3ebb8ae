#include <errno.h>
#include <ini.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/conf.h"

#define FILE_NAME "warren.ini"

/* What is read of it, by whomever. */
static const char *const sections[] = {"network", "history", "pool", "backup",
				       "preview"};
#define SECTIONS "network, history, backup, preview, pool or pool.IMAGE"

struct reading {
	FILE *file;
	int line; /* that is read */
	conf_take *take;
	void *arg;
	int wrong_line;
	char wrong[CONF_WRONG_MAX]; /* with the first line that is */
	char where[96];             /* "[section] key" */
};

bool conf_wrong(char wrong[CONF_WRONG_MAX], const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(wrong, CONF_WRONG_MAX, fmt, ap);
	va_end(ap);
	return false;
}

bool conf_number(const char *text, unsigned long min, unsigned long max,
		 unsigned long *out)
{
	char *end;
	unsigned long v;

	if (text[0] < '0' || text[0] > '9')
		return false;
	errno = 0;
	v = strtoul(text, &end, 10);
	if (errno != 0 || *end != '\0' || v < min || v > max)
		return false;
	*out = v;
	return true;
}

static bool section_known(const char *name)
{
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++)
		if (strcmp(name, sections[i]) == 0)
			return true;
	return strncmp(name, "pool.", 5) == 0 && name[5] != '\0';
}

static bool take_line(struct reading *r, const char *section, const char *key,
		      const char *value, char wrong[CONF_WRONG_MAX])
{
	if (section[0] == '\0')
		return conf_wrong(wrong, "stands in no section");
	if (!section_known(section))
		return conf_wrong(wrong,
				  "is in no section that there is: " SECTIONS);
	return r->take(r->arg, section, key, value, wrong);
}

static int on_line(void *arg, const char *section, const char *key,
		   const char *value)
{
	char wrong[CONF_WRONG_MAX] = "is wrong";
	struct reading *r = arg;

	if (take_line(r, section, key, value, wrong))
		return 1;
	if (r->wrong_line > 0)
		return 0;
	r->wrong_line = r->line;
	memcpy(r->wrong, wrong, sizeof(wrong));
	if (section[0] == '\0')
		snprintf(r->where, sizeof(r->where), "%.40s", key);
	else
		snprintf(r->where, sizeof(r->where), "[%.40s] %.40s", section,
			 key);
	return 0;
}

/* As fgets(3), for ini_parse_stream(), which counts lines likewise. */
static char *next_line(char *text, int size, void *arg)
{
	struct reading *r = arg;

	r->line++;
	return fgets(text, size, r->file);
}

/* What it says is done as root. */
static enum err check_owner(FILE *f, const char *path, struct errinfo *e)
{
	struct stat st;

	if (fstat(fileno(f), &st) < 0)
		return err_set(e, ERR_IO, errno, "%.180s", path);
	if ((st.st_uid != 0 && st.st_uid != geteuid()) ||
	    (st.st_mode & 022) != 0)
		return err_set(e, ERR_DENIED, 0,
			       "%.180s must be root's own, and nobody else "
			       "may write it",
			       path);
	return ERR_NONE;
}

static enum err wrong_line(const struct reading *r, const char *path, int line,
			   struct errinfo *e)
{
	if (r->wrong_line != line)
		return err_set(e, ERR_ARG, 0,
			       "%.100s, line %d: is no \"key = value\" of at "
			       "most 200 bytes",
			       path, line);
	return err_set(e, ERR_ARG, 0, "%.100s, line %d: %s %s", path, line,
		       r->where, r->wrong);
}

enum err conf_read(const char *data_dir, conf_take *take, void *arg,
		   struct errinfo *e)
{
	struct reading reading = {.take = take, .arg = arg};
	char path[PATH_MAX];
	int n = snprintf(path, sizeof(path), "%s/" FILE_NAME, data_dir);
	enum err r;

	if (n < 0 || (size_t)n >= sizeof(path))
		return err_set(e, ERR_ARG, 0, "data directory's name too long");
	reading.file = fopen(path, "re");
	if (reading.file == NULL)
		return errno == ENOENT
			   ? ERR_NONE
			   : err_set(e, ERR_IO, errno, "%.180s", path);
	r = check_owner(reading.file, path, e);
	n = r != ERR_NONE
		? 0
		: ini_parse_stream(next_line, &reading, on_line, &reading);
	fclose(reading.file);
	return n == 0 ? r : wrong_line(&reading, path, n, e);
}
