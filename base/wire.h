/*
 * Frames on stream sockets: one framing for every link between our
 * programs. A frame is a 16-byte head (little endian), then a payload:
 *
 *   u32 len    payload bytes
 *   u16 type   see keeper_msg.h, init_msg.h, kernel_msg.h
 *   u16 fds    descriptors sent along with the head (SCM_RIGHTS)
 *   u32 tag    chosen by who asks, echoed in the answers
 *   u32 zero
 *
 * A reader checks a frame whole before it acts on it. Whatever a peer sends,
 * the worst outcome is ERR_PEER: drop that peer and go on.
 */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/err.h"

#define WIRE_HEAD_LEN 16U
#define WIRE_FDS_MAX 4
#define WIRE_FDS_QUEUE 16
#define WIRE_KEEP_BYTES (1U << 20) /* an empty buffer above it is freed */

struct wire_msg {
	uint16_t type;
	uint32_t tag;
	const uint8_t *data; /* payload, in the reader's memory */
	size_t len;
	int fds[WIRE_FDS_MAX]; /* -1 where there is none; steal what you keep */
	int nfds;
};

/* ---- payloads ---- */

/** wire_u8 … wire_bytes(b, v): Append a value to the payload ${b}. */
void wire_u8(struct buf *b, uint8_t v);
void wire_u16(struct buf *b, uint16_t v);
void wire_u32(struct buf *b, uint32_t v);
void wire_u64(struct buf *b, uint64_t v);
void wire_i32(struct buf *b, int32_t v);
void wire_i64(struct buf *b, int64_t v);
/* u32 length, bytes, a 0 that the length does not count */
void wire_bytes(struct buf *b, const void *p, size_t n);
void wire_str(struct buf *b, const char *s);

/* A cursor over a payload; bad is sticky: read all fields, then check. */
struct wire_in {
	const uint8_t *p;
	const uint8_t *end;
	bool bad;
};

/** wire_in(msg): A cursor at the start of ${msg}'s payload. */
struct wire_in wire_in(const struct wire_msg *msg);
uint8_t wire_in_u8(struct wire_in *in);
uint16_t wire_in_u16(struct wire_in *in);
uint32_t wire_in_u32(struct wire_in *in);
uint64_t wire_in_u64(struct wire_in *in);
int32_t wire_in_i32(struct wire_in *in);
int64_t wire_in_i64(struct wire_in *in);

/**
 * wire_in_bytes(in, n):
 * Bytes in the reader's memory, followed by a 0; their number in ${n}.
 * Returns "" with n = 0 when the payload is bad.
 */
const char *wire_in_bytes(struct wire_in *in, size_t *n);

/** wire_in_str(in): As wire_in_bytes; bad if a 0 stands inside. */
const char *wire_in_str(struct wire_in *in);

/** wire_in_done(in): All was well-formed and nothing is left over. */
bool wire_in_done(const struct wire_in *in);

/* ---- reading ---- */

struct wire_rx {
	struct buf in;
	size_t at; /* where the next frame starts in in */
	size_t payload_max;
	size_t room; /* for one read */
	int fds[WIRE_FDS_QUEUE];
	int nfds;
	struct wire_msg msg;
};

/** wire_rx_init(rx, payload_max): Longer payloads are ERR_PEER. */
void wire_rx_init(struct wire_rx *rx, size_t payload_max);

/** wire_rx_free(rx): Frees, and closes descriptors nobody took. */
void wire_rx_free(struct wire_rx *rx);

/**
 * wire_rx_rest(rx):
 * Nothing is expected soon: its buffer is given back if it is empty. No
 * frame that it gave out may be in use.
 */
void wire_rx_rest(struct wire_rx *rx);

/**
 * wire_rx_fill(rx, fd, more, e):
 * Receive once without blocking. ${more} is false when nothing was there.
 * Errors: ERR_PEER at the end of the stream, a reset, too many descriptors.
 */
FALLIBLE enum err wire_rx_fill(struct wire_rx *rx, int fd, bool *more,
			       struct errinfo *e);

/**
 * wire_rx_next(rx, msg, e):
 * The next whole frame, or NULL in ${msg} when more bytes are needed.
 * Owns: the frame is the reader's and valid until the next call; descriptors
 * in it that were not taken (set them to -1) are closed then.
 * Errors: ERR_PEER for a malformed frame.
 */
FALLIBLE enum err wire_rx_next(struct wire_rx *rx, struct wire_msg **msg,
			       struct errinfo *e);

/* ---- writing without blocking ---- */

struct wire_mark {
	size_t at; /* offset in out */
	int fds[WIRE_FDS_MAX];
	int nfds;
};

struct wire_tx {
	struct buf out;
	size_t at; /* bytes of out that went out already */
	struct wire_mark marks[WIRE_FDS_QUEUE];
	int nmarks;
};

/** wire_tx_init(tx, max): At most ${max} bytes may wait. */
void wire_tx_init(struct wire_tx *tx, size_t max_bytes);
void wire_tx_free(struct wire_tx *tx);

/**
 * wire_tx_put(tx, type, tag, payload, e):
 * Queue a frame. Errors: ERR_LIMIT when too much waits (tx is unusable then:
 * drop the peer), ERR_ARG when ${payload} failed while it was built.
 */
FALLIBLE enum err wire_tx_put(struct wire_tx *tx, uint16_t type, uint32_t tag,
			      const struct buf *payload, struct errinfo *e);

/**
 * wire_tx_put_fds(...):
 * The same with descriptors. Owns: tx owns them from then on; on failure
 * they stay the caller's. Errors: ERR_LIMIT too when too many wait.
 */
FALLIBLE enum err wire_tx_put_fds(struct wire_tx *tx, uint16_t type,
				  uint32_t tag, const struct buf *payload,
				  const int *fds, int nfds, struct errinfo *e);

/**
 * wire_tx_flush(tx, fd, e):
 * Send what the socket takes now. tx->out.len is 0 when all went out.
 */
FALLIBLE enum err wire_tx_flush(struct wire_tx *tx, int fd, struct errinfo *e);

/* ---- blocking, for threads that serve one call ---- */

/**
 * wire_send(fd, type, tag, payload, deadline_ms, e):
 * Send one frame whole. Units: monotonic ms or CLOCK_NEVER.
 * Errors: ERR_PEER, ERR_TIMEOUT. Blocks: until the deadline.
 */
FALLIBLE enum err wire_send(int fd, uint16_t type, uint32_t tag,
			    const struct buf *payload, int64_t deadline_ms,
			    struct errinfo *e);

/* Descriptors that are lent for one call. */
struct wire_fds {
	const int *at;
	int n;
};

/** wire_send_fds(...): The same; the descriptors stay the caller's. */
FALLIBLE enum err wire_send_fds(int fd, uint16_t type, uint32_t tag,
				const struct buf *payload, struct wire_fds fds,
				int64_t deadline_ms, struct errinfo *e);

/**
 * wire_recv(rx, fd, watch_fd, deadline_ms, msg, e):
 * Wait for the next frame. ${watch_fd} (or -1) is the client's connection:
 * when it hangs up the wait ends with ERR_GONE.
 * Errors: ERR_PEER, ERR_TIMEOUT, ERR_GONE.
 */
FALLIBLE enum err wire_recv(struct wire_rx *rx, int fd, int watch_fd,
			    int64_t deadline_ms, struct wire_msg **msg,
			    struct errinfo *e);

/**
 * wire_connect(path, fd, e):
 * A CLOEXEC, nonblocking stream connection.
 * Errors: ERR_NOT_FOUND (no socket, or nobody listens), ERR_TIMEOUT (its
 * queue stays full), ERR_IO. Blocks: at most a second, on a full queue.
 */
FALLIBLE enum err wire_connect(const char *path, int *fd, struct errinfo *e);

#endif
