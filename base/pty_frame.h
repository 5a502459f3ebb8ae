/*
 * What a terminal is told on its stdin: bytes to type, and its size. Frames:
 *
 *   u8 type, u16 length (little endian), then so many bytes:
 *     0  input, as a keyboard sends it
 *     1  u16 columns, u16 rows
 *
 * Its stdout is what it shows, without frames. Who writes: warren-terminal and
 * workers; who reads: warren-pty, inside the sandbox, which skips frames that
 * it does not know.
 */
#ifndef BASE_PTY_FRAME_H
#define BASE_PTY_FRAME_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

#define PTY_HEAD_LEN 3U
#define PTY_SIDE_MAX 1000 /* columns, rows */
#define PTY_COLS 80
#define PTY_ROWS 24

enum pty_type { PTY_INPUT = 0, PTY_SIZE = 1 };

/** pty_put_input(b, data, n): Frames with these bytes. */
void pty_put_input(struct buf *b, const void *data, size_t n);

/** pty_put_size(b, cols, rows): A frame with the size. */
void pty_put_size(struct buf *b, uint16_t cols, uint16_t rows);

/* Where a reader is in the stream; all zero at its start. */
struct pty_parser {
	uint8_t head[PTY_HEAD_LEN];
	size_t have;     /* of the head */
	size_t left;     /* of the payload */
	uint8_t size[4]; /* the payload of PTY_SIZE */
	size_t nsize;
};

struct pty_sink {
	void (*input)(void *arg, const uint8_t *data, size_t n);
	void (*size)(void *arg, uint16_t cols, uint16_t rows);
};

/**
 * pty_parse(p, data, n, sink, arg):
 * Read the next ${n} bytes of the stream. Input is handed on as it comes: at
 * most ${n} bytes of it.
 */
void pty_parse(struct pty_parser *p, const uint8_t *data, size_t n,
	       const struct pty_sink *sink, void *arg);

#endif
