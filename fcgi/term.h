/*
 * warren-terminal: WebSockets of terminals. nginx hands it a request only
 * after a worker has checked it (handle_terminal.c), and names the terminal in
 * X-Warren-Terminal: "<sandbox id>/<execution id>". A terminal is a process
 * like any other (pty_frame.h); who looks at it is one more reader of its
 * events, so it outlives viewers, this program and workers.
 *
 * To the viewer: what is still there of its output, at most the last 256 KiB,
 * as one binary message; {"type":"ready"}; binary messages as it prints; at
 * its end {"type":"exit","code":N,"reason":"…"} and a close. A viewer that does
 * not read holds the program up for ten seconds, then it is told
 * {"type":"dropped"} and goes on with what there is.
 * From the viewer: binary messages are typed; {"type":"resize","cols","rows"}.
 * Anything else is answered by {"type":"error","message"}.
 *
 * One loop, no threads, no store. A viewer takes a few KiB when it is idle.
 */
#ifndef FCGI_TERM_H
#define FCGI_TERM_H

#include <wslay/wslay.h>

#include "base/id.h"
#include "base/loop.h"
#include "base/wire.h"

#define TERM_REPLAY_BYTES (256U << 10)
#define TERM_HEAD_MAX 32768U /* as nginx takes */
#define TERM_VIEWS_MAX 4096
#define TERM_VIEWS_OF_ONE_MAX 64 /* sandbox */

struct term_view;

struct term_server {
	struct loop loop;
	struct loop_watch listen;
	struct loop_watch signals;
	struct loop_timer leave;
	const char *run_dir;
	struct term_view *views;
	int nviews;
	bool leaving;
};

/* What a request's head must hold. */
struct term_head {
	char key[64]; /* Sec-WebSocket-Key */
	bool version; /* is 13 */
	bool upgrade; /* to websocket */
	id_sandbox_t sandbox;
	id_text_t exec;
};

enum term_view_state {
	VIEW_HEAD, /* the request is not whole yet */
	VIEW_OPEN,
	VIEW_CLOSING, /* the last message is queued */
	VIEW_CLOSED   /* and the close after it */
};

struct term_view {
	struct term_server *server;
	enum term_view_state state;
	bool dead; /* to be freed when nobody is in its functions any more */
	struct loop_watch client; /* from nginx */
	struct loop_watch keeper;
	struct loop_timer timer; /* for the head; pings; for the close */
	struct buf in;           /* the head, and what came with it */
	wslay_event_context_ptr ws;
	size_t turn_bytes; /* read in this turn of the loop */
	bool heard;        /* anything, since the last ping */
	int silences;
	uint16_t close_code;
	struct wire_rx rx;
	struct wire_tx tx;
	id_sandbox_t sandbox;
	id_text_t exec;
	struct buf replay;
	uint64_t replay_to; /* the last event of it */
	bool ready;
	struct term_view *prev, *next;
};

/* ---- term_head.c ---- */

/**
 * term_head_read(data, n, out, used):
 * Read the head of a request. 1: it is whole, ${used} bytes long; 0: more is
 * needed; -1: it is none.
 */
int term_head_read(const char *data, size_t n, struct term_head *out,
		   size_t *used);

/** term_head_accept(key, out): The answer's Sec-WebSocket-Accept. */
void term_head_accept(const char *key, char out[32]);

/* ---- term_view.c ---- */

/** term_view_new(s, fd): A viewer at ${fd}, which is its own then. */
void term_view_new(struct term_server *s, int fd);

/** term_view_leave(v): Tell it that the service restarts, and close. */
void term_view_leave(struct term_view *v);

/** term_view_text(v, fmt, ...): Queue a text message. */
void term_view_text(struct term_view *v, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/** term_view_binary(v, data, n): Queue a binary one; n may be 0: none. */
void term_view_binary(struct term_view *v, const void *data, size_t n);

/** term_view_close(v, code): Nothing comes after what is queued. */
void term_view_close(struct term_view *v, uint16_t code);

/** term_view_settle(v): At the end of each event: send what can be sent, watch
 * for what is wanted, or free it. */
void term_view_settle(struct term_view *v);

/* ---- term_link.c ---- */

/** term_link_open(v): Connect to the keeper and ask for the events. False:
 * the viewer is told, and closed. */
bool term_link_open(struct term_view *v);

/** term_link_close(v): The connection is gone. */
void term_link_close(struct term_view *v);

/** term_link_input(v, data, n), term_link_size(v, cols, rows): To the
 * terminal. */
void term_link_input(struct term_view *v, const void *data, size_t n);
void term_link_size(struct term_view *v, uint16_t cols, uint16_t rows);

/** term_link_watch(v): Read on, unless too much waits for the viewer. */
void term_link_watch(struct term_view *v);

/** term_link_full(v): Too much of the viewer's waits for the keeper. */
bool term_link_full(const struct term_view *v);

#endif
