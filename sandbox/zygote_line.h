/* What zygote.c and zygote_door.c share; see zygote.h. */
#ifndef SANDBOX_ZYGOTE_LINE_H
#define SANDBOX_ZYGOTE_LINE_H

#include "base/fork_msg.h"
#include "sandbox/zygote_msg.h"
#include "sandbox/zygote_start.h"

enum {
#define ZYGOTE(name, languages, ...) ZYGOTE_LINE_##name,
#include "sandbox/zygotes.def"
#undef ZYGOTE
	ZYGOTE_LINES
};

enum zygote_state { ZYGOTE_WARMING, ZYGOTE_SERVING, ZYGOTE_LEAVING };

struct zygote {
	struct zygote_line *line;
	pid_t pid;
	enum zygote_state state;
	int64_t started_ms;
	int forks;
	int failures;          /* since the last success */
	struct loop_watch say; /* its socket */
	struct loop_watch end; /* its pidfd */
	struct loop_timer timer;
	struct zygote *next;
};

struct zygote_line {
	struct zygotes *all;
	const struct zygote_row *row;
	const char *image;
	struct zygote *zygotes;
	struct loop_timer timer; /* the next try */
	int delay_ms;
	bool told; /* that it cannot be started */
};

struct zygotes {
	struct broker *broker;
	struct zygote_line lines[ZYGOTE_LINES];
	struct loop_watch listen;
	struct zygote_door *doors;
	int ndoors;
	uint64_t serial; /* of the last request */
};

/** zygote_find(all, image, language): One that serves, or NULL. */
struct zygote *zygote_find(struct zygotes *all, const char *image,
			   const char *language);

/** zygote_used(z): It got a request. */
void zygote_used(struct zygote *z);

/** zygote_stuck(z): It does not do what it was asked for: it is replaced. */
void zygote_stuck(struct zygote *z);

/** zygote_door_open(all, listen_fd, e): Take requests. Owns: ${listen_fd}. */
FALLIBLE enum err zygote_door_open(struct zygotes *all, int listen_fd,
				   struct errinfo *e);
void zygote_door_close(struct zygotes *all);

/** zygote_door_said(all, z, s, listener): An answer of ${z} or of what it
 * forked; takes the listener that came along, if it is awaited. */
void zygote_door_said(struct zygotes *all, const struct zygote *z,
		      const struct zygote_say *s, int *listener);

/**
 * zygote_door_lives(all, z, s):
 * Whether the sandbox that ${z} answers about is still there: if not, that
 * its child could not get in is no fault of ${z}.
 */
bool zygote_door_lives(const struct zygotes *all, const struct zygote *z,
		       const struct zygote_say *s);

/** zygote_door_lost(all, z): Who waits for ${z} gets a failure. */
void zygote_door_lost(struct zygotes *all, const struct zygote *z);

#endif
