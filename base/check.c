#include <stdarg.h>
#include <string.h>

#include "base/check.h"

#define LINE_MAX_LEN 1024

static const char *const names[] = {"ok", "warn", "missing"};

const char *check_state_name(enum check_state s)
{
	return names[s];
}

static void clean(char *s)
{
	for (; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == '\x7f')
			*s = '?';
}

void check_add(struct check_list *l, enum check_state state, const char *name,
	       const char *fix, const char *fmt, ...)
{
	struct check *c;
	va_list ap;

	must(l->n < CHECK_MAX);
	c = &l->at[l->n++];
	*c = (struct check){.state = state};
	snprintf(c->name, sizeof(c->name), "%s", name);
	if (state != CHECK_OK)
		snprintf(c->fix, sizeof(c->fix), "%s", fix);
	va_start(ap, fmt);
	vsnprintf(c->text, sizeof(c->text), fmt, ap);
	va_end(ap);
	clean(c->name);
	clean(c->text);
	clean(c->fix);
}

int check_count(const struct check_list *l, enum check_state state)
{
	int n = 0;

	for (int i = 0; i < l->n; i++)
		n += l->at[i].state == state;
	return n;
}

void check_write(const struct check_list *l, FILE *f)
{
	for (int i = 0; i < l->n; i++) {
		const struct check *c = &l->at[i];

		fprintf(f, "%s\t%s\t%s\t%s\n", names[c->state], c->name,
			c->text, c->fix);
	}
}

/* The next of the line's four fields. */
static char *field(char **line)
{
	char *start = *line;
	char *end = start != NULL ? strpbrk(start, "\t\n") : NULL;

	*line = NULL;
	if (end == NULL)
		return NULL;
	if (*end == '\t')
		*line = end + 1;
	*end = '\0';
	return start;
}

enum err check_read(struct check_list *l, FILE *f, struct errinfo *e)
{
	char line[LINE_MAX_LEN];

	while (fgets(line, sizeof(line), f) != NULL) {
		char *at = line, *part[4];
		int state = 0;

		for (int i = 0; i < 4; i++)
			part[i] = field(&at);
		if (part[3] == NULL || at != NULL || l->n == CHECK_MAX)
			return err_set(e, ERR_PEER, 0, "a line of checks");
		while (state < 3 && strcmp(part[0], names[state]) != 0)
			state++;
		if (state == 3)
			return err_set(e, ERR_PEER, 0, "a line of checks");
		check_add(l, (enum check_state)state, part[1], part[3], "%s",
			  part[2]);
	}
	return ERR_NONE;
}
