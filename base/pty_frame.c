#include <string.h>

#include "base/pty_frame.h"
#include "base/wire.h"

#define PAYLOAD_MAX 65535U

void pty_put_input(struct buf *b, const void *data, size_t n)
{
	const char *p = data;

	while (n > 0) {
		size_t part = n < PAYLOAD_MAX ? n : PAYLOAD_MAX;

		wire_u8(b, PTY_INPUT);
		wire_u16(b, (uint16_t)part);
		buf_add(b, p, part);
		p += part;
		n -= part;
	}
}

void pty_put_size(struct buf *b, uint16_t cols, uint16_t rows)
{
	wire_u8(b, PTY_SIZE);
	wire_u16(b, 4);
	wire_u16(b, cols);
	wire_u16(b, rows);
}

static uint16_t get_u16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

/* Some of the payload of the frame that is read now. */
static void parse_payload(struct pty_parser *p, const uint8_t *data, size_t n,
			  const struct pty_sink *sink, void *arg)
{
	p->left -= n;
	if (p->head[0] == PTY_INPUT) {
		sink->input(arg, data, n);
		return;
	}
	if (p->head[0] != PTY_SIZE || get_u16(p->head + 1) != 4)
		return;
	memcpy(p->size + p->nsize, data, n);
	p->nsize += n;
	if (p->left == 0)
		sink->size(arg, get_u16(p->size), get_u16(p->size + 2));
}

void pty_parse(struct pty_parser *p, const uint8_t *data, size_t n,
	       const struct pty_sink *sink, void *arg)
{
	while (n > 0) {
		size_t part = p->left < n ? p->left : n;

		if (p->left > 0) {
			parse_payload(p, data, part, sink, arg);
			data += part;
			n -= part;
			continue;
		}
		if (p->have == PTY_HEAD_LEN)
			p->have = 0;
		p->head[p->have++] = *data++;
		n--;
		if (p->have == PTY_HEAD_LEN) {
			p->left = get_u16(p->head + 1);
			p->nsize = 0;
		}
	}
}
