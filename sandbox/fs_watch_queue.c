#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "sandbox/fs_watch.h"

#define BIT(type) (1U << (type))
#define SEEN_MAX 4096

/* A path that something waits to be told of, or was told of lately. */
struct fs_watch_seen {
	unsigned types; /* that wait, since it was made, moved or deleted */
	int64_t told_ms;
	UT_hash_handle hh;
	char path[];
};

static void forget(struct fs_watch_queue *q)
{
	struct fs_watch_seen *s;
	struct fs_watch_seen *next;

	HASH_ITER(hh, q->seen, s, next)
	{
		HASH_DELETE(hh, q->seen, s);
		free(s);
	}
}

static struct fs_watch_seen *seen_of(struct fs_watch_queue *q,
				     const struct watch_record *rec)
{
	struct fs_watch_seen *s;

	HASH_FIND(hh, q->seen, rec->path, (unsigned)rec->path_len, s);
	if (s != NULL)
		return s;
	s = calloc(1, sizeof(*s) + rec->path_len + 1);
	if (s == NULL)
		return NULL;
	memcpy(s->path, rec->path, rec->path_len);
	HASH_ADD_KEYPTR(hh, q->seen, s->path, (unsigned)rec->path_len, s);
	return s;
}

/* What waits says it already. Whoever is told of a create looks at the file
 * after that; of a move to here not, he may know it from there. */
static bool says_so(unsigned types, enum watch_type type)
{
	switch (type) {
	case WATCH_MODIFY:
		return (types & (BIT(WATCH_CREATE) | BIT(WATCH_MODIFY))) != 0;
	case WATCH_ATTRIB:
		return (types & (BIT(WATCH_CREATE) | BIT(WATCH_ATTRIB))) != 0;
	case WATCH_CREATE:
		return (types & BIT(WATCH_CREATE)) != 0;
	case WATCH_DELETE:
	case WATCH_MOVE_FROM:
	case WATCH_MOVE_TO:
	case WATCH_TYPE_END:
		return false;
	}
	return false;
}

static bool is_slight(enum watch_type type)
{
	return type == WATCH_MODIFY || type == WATCH_ATTRIB;
}

/* Whoever writes again and again is told of now and then. */
static void set_due(struct fs_watch_queue *q, const struct fs_watch_seen *s,
		    enum watch_type type)
{
	int64_t due = s->told_ms + FS_WATCH_WINDOW_MS;

	if (!is_slight(type) || s->told_ms == 0 || due <= clock_mono_ms())
		q->now = true;
	else if (q->due_ms == 0 || due < q->due_ms)
		q->due_ms = due;
}

static int put(struct fs_watch_queue *q, const struct watch_record *rec)
{
	watch_put(&q->out, rec);
	q->n++;
	return buf_ok(&q->out) ? 0 : -1;
}

int fs_watch_queue_add(struct fs_watch_queue *q, const struct watch_record *rec)
{
	struct fs_watch_seen *s;

	if (rec->kind != WATCH_EVENT) {
		q->now = true;
		return put(q, rec);
	}
	s = seen_of(q, rec);
	if (s == NULL)
		return -1;
	if (says_so(s->types, rec->type))
		return 0;
	set_due(q, s, rec->type);
	s->types = (is_slight(rec->type) ? s->types : 0) | BIT(rec->type);
	/* Paths below it are others from here on. */
	if (rec->is_dir &&
	    (rec->type == WATCH_DELETE || rec->type == WATCH_MOVE_FROM ||
	     rec->type == WATCH_MOVE_TO))
		forget(q);
	return put(q, rec);
}

/* What waited was told; what was told long ago is forgotten. */
static void all_told(struct fs_watch_queue *q)
{
	int64_t now = clock_mono_ms();
	struct fs_watch_seen *s;
	struct fs_watch_seen *next;

	if (HASH_COUNT(q->seen) > SEEN_MAX)
		forget(q);
	HASH_ITER(hh, q->seen, s, next)
	{
		if (s->types != 0) {
			s->types = 0;
			s->told_ms = now;
		} else if (s->told_ms + FS_WATCH_WINDOW_MS <= now) {
			HASH_DELETE(hh, q->seen, s);
			free(s);
		}
	}
}

int fs_watch_queue_tell(struct fs_watch_queue *q)
{
	int r = 0;

	if (q->n > 0)
		r = fs_send(q->out.data, q->out.len);
	all_told(q);
	buf_reset(&q->out);
	q->n = 0;
	q->now = false;
	q->due_ms = 0;
	return r;
}

int fs_watch_queue_wait_ms(const struct fs_watch_queue *q)
{
	int64_t left = q->due_ms - clock_mono_ms();

	if (q->n == 0)
		return -1;
	if (q->n >= FS_WATCH_EVENTS_MAX || q->now || left < 0)
		return 0;
	return (int)left;
}

void fs_watch_queue_free(struct fs_watch_queue *q)
{
	forget(q);
	buf_free(&q->out);
}
