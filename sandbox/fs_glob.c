#include <stddef.h>
#include <string.h>

#include "sandbox/fs_glob.h"

/* A piece of text: a glob or path, or one component of it. */
struct span {
	const char *p;
	const char *end;
};

/* One component: "*" and "?" do not meet a slash, there is none. */
static bool name_is(struct span glob, struct span name)
{
	const char *star = NULL; /* the last one, and where it was tried */
	const char *from = NULL;

	while (name.p < name.end) {
		if (glob.p < glob.end && *glob.p == '*') {
			star = ++glob.p;
			from = name.p;
		} else if (glob.p < glob.end &&
			   (*glob.p == '?' || *glob.p == *name.p)) {
			glob.p++;
			name.p++;
		} else if (star != NULL) {
			glob.p = star;
			name.p = ++from;
		} else {
			return false;
		}
	}
	while (glob.p < glob.end && *glob.p == '*')
		glob.p++;
	return glob.p == glob.end;
}

/* Take the first component off ${s}. */
static struct span first(struct span *s)
{
	const char *slash = memchr(s->p, '/', (size_t)(s->end - s->p));
	struct span part = {s->p, slash != NULL ? slash : s->end};

	s->p = slash != NULL ? slash + 1 : s->end;
	return part;
}

static bool is_any_depth(struct span part)
{
	return part.end - part.p == 2 && memcmp(part.p, "**", 2) == 0;
}

/* Whether the glob is used up by ${path} or by a directory above it. The last
 * "**" is the only one that is tried again: those before it have what they
 * need. */
static bool path_is(struct span glob, struct span path)
{
	struct span again = {NULL, NULL};
	struct span retry = path;

	while (glob.p < glob.end) {
		struct span rest = glob;
		struct span part = first(&rest);

		if (is_any_depth(part)) {
			again = glob = rest;
			retry = path;
			continue;
		}
		if (path.p < path.end) {
			if (name_is(part, first(&path))) {
				glob = rest;
				continue;
			}
		} else {
			return false;
		}
		if (again.p == NULL)
			return false;
		first(&retry);
		glob = again;
		path = retry;
	}
	return true;
}

bool fs_glob_hits(const char *glob, const char *path)
{
	struct span g;
	struct span rest;

	if (strncmp(glob, "./", 2) == 0)
		glob += 2;
	g = (struct span){glob, glob + strlen(glob)};
	while (g.end > g.p && g.end[-1] == '/')
		g.end--;
	rest = (struct span){path, path + strlen(path)};
	if (g.p == g.end || rest.p == rest.end)
		return false;
	if (memchr(g.p, '/', (size_t)(g.end - g.p)) != NULL) {
		if (*g.p == '/')
			g.p++;
		return path_is(g, rest);
	}
	if (is_any_depth(g))
		return true;
	while (rest.p < rest.end) {
		if (name_is(g, first(&rest)))
			return true;
	}
	return false;
}
