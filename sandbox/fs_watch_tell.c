/* What is told of a watched tree, and what is left out. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "sandbox/fs_glob.h"
#include "sandbox/fs_watch.h"

#define PATH_BYTES (FS_RECORD_MAX - 64)

/* The path of ${d} from the top, with a slash behind it; "" for the top. */
static void put_dir(struct buf *b, const struct fs_watch_dir *d)
{
	if (d->up == NULL)
		return;
	put_dir(b, d->up);
	buf_adds(b, d->name);
	buf_addc(b, '/');
}

/* ${b}: the path with its 0. False: too long to be told. */
static bool path_of(struct buf *b, const struct fs_watch_dir *up,
		    const char *name)
{
	put_dir(b, up);
	buf_add(b, name, strlen(name) + 1);
	return buf_ok(b);
}

static bool any_hits(const struct watch *w, char kind, const char *path)
{
	int i;

	for (i = 0; i < w->nglobs; i++) {
		if (w->glob[i][0] == kind && fs_glob_hits(w->glob[i] + 1, path))
			return true;
	}
	return false;
}

static bool includes_some(const struct watch *w)
{
	int i;

	for (i = 0; i < w->nglobs; i++) {
		if (w->glob[i][0] == '+')
			return true;
	}
	return false;
}

/* A directory that goes or comes takes files with it that are wanted. */
static bool takes_along(struct watch_seen what)
{
	return what.is_dir &&
	       (what.type == WATCH_DELETE || what.type == WATCH_MOVE_FROM ||
		what.type == WATCH_MOVE_TO);
}

static bool wanted(const struct watch *w, const char *path,
		   struct watch_seen what)
{
	if ((w->types & (1U << what.type)) == 0)
		return false;
	if (path[0] == '\0')
		return true;
	if (any_hits(w, '-', path))
		return false;
	return takes_along(what) || !includes_some(w) || any_hits(w, '+', path);
}

static void put(struct watch *w, const struct watch_record *rec)
{
	if (fs_watch_queue_add(&w->queue, rec) < 0)
		w->why = WATCH_WHY_FAILED;
	if (w->queue.n >= FS_WATCH_EVENTS_MAX &&
	    fs_watch_queue_tell(&w->queue) < 0)
		_exit(1); /* nobody listens any more */
}

void fs_watch_tell(struct watch *w, const struct fs_watch_dir *up,
		   const char *name, struct watch_seen what)
{
	OWN(buf_free) struct buf b = BUF_INIT(PATH_BYTES);
	struct watch_record rec = {.kind = WATCH_EVENT,
				   .type = what.type,
				   .is_dir = what.is_dir,
				   .cookie = what.cookie,
				   .unix_ms = clock_unix_ms()};

	if (w->only != NULL) { /* it is the top */
		if (strcmp(name, w->only) != 0)
			return;
		name = "";
	}
	if (!path_of(&b, up, name)) {
		w->lost = true;
		return;
	}
	if (!wanted(w, b.data, what))
		return;
	w->cursor++;
	rec.path = b.data;
	rec.path_len = b.len - 1;
	if (!w->counts)
		put(w, &rec);
}

void fs_watch_tell_end(struct watch *w, enum watch_kind kind)
{
	struct watch_record rec = {.kind = kind};

	if (kind == WATCH_STOPPED)
		rec.why = w->why;
	w->cursor++;
	if (!w->counts)
		put(w, &rec);
}

bool fs_watch_enters(const struct watch *w, const struct fs_watch_dir *up,
		     const char *name)
{
	OWN(buf_free) struct buf b = BUF_INIT(PATH_BYTES);

	return w->recursive && path_of(&b, up, name) &&
	       !any_hits(w, '-', b.data);
}
