/*
 * A stream of frames as any peer may send it: the first byte says in which
 * pieces it arrives. Every payload is then read as each message there is.
 */
#include <string.h>
#include <sys/socket.h>

#include "base/keeper_msg.h"
#include "base/own.h"
#include "tests/fuzz/fuzz.h"

#define PAYLOAD_MAX 4096U

/* What was read whole is written whole: the same bytes. */
static void read_item(const struct wire_msg *m)
{
	OWN(buf_free) struct buf b = BUF_INIT(2 * PAYLOAD_MAX);
	struct keeper_item item;
	struct errinfo e;

	if (keeper_get_item(m, &item, &e) != ERR_NONE) {
		must(e.code == ERR_PEER);
		return;
	}
	keeper_put_item(&b, &item);
	must(buf_ok(&b) && b.len == m->len &&
	     memcmp(b.data, m->data, m->len) == 0);
}

static void read_event(const struct wire_msg *m)
{
	struct keeper_event ev;
	struct errinfo e;

	if (keeper_get_event(m, &ev, &e) != ERR_NONE) {
		must(e.code == ERR_PEER);
		return;
	}
	must(ev.seq > 0 && ev.data[ev.len] == '\0');
	if (ev.kind == EVENT_END)
		must(end_reason_ok((uint8_t)ev.end.reason));
}

/* As a reader of texts and counts, here of START's fields. */
static void read_fields(const struct wire_msg *m)
{
	struct wire_in in = wire_in(m);
	size_t n;

	wire_in_u8(&in);
	must(strlen(wire_in_str(&in)) <= m->len);
	for (uint32_t left = wire_in_u32(&in); left > 0 && !in.bad; left--)
		must(strlen(wire_in_str(&in)) <= m->len);
	must(wire_in_bytes(&in, &n)[n] == '\0');
	must(n <= m->len);
	wire_in_u16(&in);
	wire_in_u64(&in);
	must(!in.bad || !wire_in_done(&in));
}

static void read_all(const struct wire_msg *m)
{
	struct wire_msg as = *m;
	struct errinfo e;

	must(m->len <= PAYLOAD_MAX && m->nfds == 0);
	as.type = KM_ITEM;
	read_item(&as);
	as.type = KM_EVENT;
	read_event(&as);
	as.type = KM_REFUSED;
	must(keeper_refused(&as, &e) != ERR_NONE);
	read_fields(&as);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	size_t piece = n > 0 ? (size_t)data[0] * 8 + 1 : 1, at = 1;
	OWN(wire_rx_free) struct wire_rx rx;
	struct errinfo e;
	enum err r = ERR_NONE;
	int s[2];

	wire_rx_init(&rx, PAYLOAD_MAX);
	if (n < 1 || n > 65536)
		return 0;
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s) == 0);
	while (r == ERR_NONE && at < n) {
		size_t m = n - at < piece ? n - at : piece;
		struct wire_msg *msg;
		bool more = true;

		must(send(s[0], data + at, m, MSG_NOSIGNAL) == (ssize_t)m);
		at += m;
		r = wire_rx_fill(&rx, s[1], &more, &e);
		must(r == ERR_NONE && more);
		while ((r = wire_rx_next(&rx, &msg, &e)) == ERR_NONE &&
		       msg != NULL)
			read_all(msg);
	}
	must(r == ERR_NONE || r == ERR_PEER);
	own_fd(&s[0]);
	own_fd(&s[1]);
	return 0;
}
