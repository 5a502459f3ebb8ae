/* A viewer's side towards the keeper. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/keeper_msg.h"
#include "base/log.h"
#include "base/own.h"
#include "base/pty_frame.h"
#include "fcgi/term.h"

#define TAG_EVENTS 1
#define TAG_INPUT 2
#define FRAME_MAX (1U << 20) /* of a terminal's events */
#define TX_MAX (8U << 20)
#define TX_HIGH (1U << 20)
#define WS_HIGH (256U << 10) /* more waits with the keeper */
#define CLOSE_GONE 1001
#define CLOSE_NONE 1008
#define CLOSE_TRY_LATER 1013

void term_link_close(struct term_view *v)
{
	int fd = v->keeper.fd;

	loop_del(&v->server->loop, &v->keeper);
	own_fd(&fd);
	wire_rx_free(&v->rx);
	wire_tx_free(&v->tx);
}

bool term_link_full(const struct term_view *v)
{
	return v->tx.out.len > TX_HIGH;
}

void term_link_watch(struct term_view *v)
{
	uint32_t want = 0;

	if (v->keeper.fd < 0)
		return;
	if (wslay_event_get_queued_msg_length(v->ws) < WS_HIGH)
		want |= EPOLLIN;
	if (v->tx.out.len > 0)
		want |= EPOLLOUT;
	loop_mod(&v->server->loop, &v->keeper, want);
}

static void link_say(struct term_view *v, enum keeper_msg type, uint32_t tag,
		     const struct buf *b)
{
	if (v->keeper.fd < 0)
		return;
	if (wire_tx_put(&v->tx, type, tag, b, NULL) == ERR_NONE &&
	    wire_tx_flush(&v->tx, v->keeper.fd, NULL) == ERR_NONE)
		return;
	term_view_text(v, "{\"type\":\"error\",\"message\":"
			  "\"The terminal does not take its input\"}");
	term_view_close(v, CLOSE_TRY_LATER);
}

static void link_stdin(struct term_view *v, const struct buf *frames)
{
	OWN(buf_free) struct buf b = BUF_INIT(TX_MAX);

	wire_str(&b, v->exec);
	wire_bytes(&b, frames->data, frames->len);
	wire_u8(&b, false);
	link_say(v, KM_STDIN, TAG_INPUT, &b);
}

void term_link_input(struct term_view *v, const void *data, size_t n)
{
	OWN(buf_free) struct buf b = BUF_INIT(TX_MAX);

	if (n == 0)
		return;
	pty_put_input(&b, data, n);
	link_stdin(v, &b);
}

void term_link_size(struct term_view *v, uint16_t cols, uint16_t rows)
{
	OWN(buf_free) struct buf b = BUF_INIT(64);

	pty_put_size(&b, cols, rows);
	link_stdin(v, &b);
}

/* ---- what the keeper says ---- */

static void link_ready(struct term_view *v)
{
	if (v->ready)
		return;
	v->ready = true;
	term_view_binary(v, buf_str(&v->replay), v->replay.len);
	buf_free(&v->replay);
	term_view_text(v, "{\"type\":\"ready\"}");
}

static void link_replay(struct term_view *v, const struct keeper_event *ev)
{
	size_t over;

	if (ev->len > TERM_REPLAY_BYTES)
		buf_drop(&v->replay, v->replay.len);
	else if (v->replay.len + ev->len > TERM_REPLAY_BYTES) {
		over = v->replay.len + ev->len - TERM_REPLAY_BYTES;
		buf_drop(&v->replay, over);
	}
	buf_add(&v->replay, ev->data, ev->len);
}

static void link_end(struct term_view *v, const struct keeper_end *end)
{
	link_ready(v);
	term_view_text(v, "{\"type\":\"exit\",\"code\":%d,\"reason\":\"%s\"}",
		       end->exit_code, end_reason_name(end->reason));
	term_view_close(v, WSLAY_CODE_NORMAL_CLOSURE);
}

static bool link_event(struct term_view *v, const struct wire_msg *msg)
{
	struct keeper_event ev;

	if (keeper_get_event(msg, &ev, NULL) != ERR_NONE)
		return false;
	if (ev.kind == EVENT_END) {
		link_end(v, &ev.end);
		return true;
	}
	if (ev.kind != EVENT_OUT && ev.kind != EVENT_ERR)
		return false;
	if (v->ready)
		term_view_binary(v, ev.data, ev.len);
	else
		link_replay(v, &ev);
	if (ev.seq >= v->replay_to)
		link_ready(v);
	return true;
}

static bool link_attached(struct term_view *v, const struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	uint64_t next;

	wire_in_u64(&in);
	next = wire_in_u64(&in);
	wire_in_u8(&in);
	if (!wire_in_done(&in) || next == 0 || v->replay_to != UINT64_MAX)
		return false;
	v->replay_to = next - 1;
	if (v->replay_to == 0)
		link_ready(v);
	return true;
}

static bool link_refused(struct term_view *v, const struct wire_msg *msg)
{
	if (msg->tag == TAG_INPUT)
		term_view_text(v, "{\"type\":\"error\",\"message\":"
				  "\"The terminal does not take its input\"}");
	else {
		term_view_text(v, "{\"type\":\"error\",\"message\":"
				  "\"There is no such terminal any more\"}");
		term_view_close(v, CLOSE_NONE);
	}
	return true;
}

/* False: no frame that a keeper sends here. */
static bool link_frame(struct term_view *v, const struct wire_msg *msg)
{
	switch (msg->type) {
	case KM_ATTACHED:
		return link_attached(v, msg);
	case KM_EVENT:
		return link_event(v, msg);
	case KM_REFUSED:
		return link_refused(v, msg);
	case KM_GAP:
		if (v->ready)
			term_view_text(v, "{\"type\":\"dropped\"}");
		return true;
	case KM_OK:
		return true;
	default:
		return false;
	}
}

/* The sandbox ended, or its keeper did. */
static void link_lost(struct term_view *v)
{
	term_link_close(v);
	if (v->state != VIEW_OPEN)
		return;
	link_ready(v);
	term_view_text(v, "{\"type\":\"exit\",\"code\":-1,\"reason\":\"%s\"}",
		       end_reason_name(END_SANDBOX_GONE));
	term_view_close(v, CLOSE_GONE);
}

static void link_read(struct term_view *v)
{
	struct wire_msg *msg;
	bool more;

	if (wire_rx_fill(&v->rx, v->keeper.fd, &more, NULL) != ERR_NONE) {
		link_lost(v);
		return;
	}
	while (v->state == VIEW_OPEN) {
		if (wire_rx_next(&v->rx, &msg, NULL) != ERR_NONE ||
		    (msg != NULL && !link_frame(v, msg))) {
			log_line(LOG_WARN, "%s: malformed frame", v->sandbox);
			link_lost(v);
			return;
		}
		if (msg == NULL)
			break;
	}
	if (v->keeper.fd >= 0)
		wire_rx_rest(&v->rx);
}

static void on_keeper(void *arg, uint32_t events)
{
	struct term_view *v = arg;

	if ((events & EPOLLOUT) != 0 &&
	    wire_tx_flush(&v->tx, v->keeper.fd, NULL) != ERR_NONE)
		link_lost(v);
	if (v->keeper.fd >= 0 && (events & ~(uint32_t)EPOLLOUT) != 0)
		link_read(v);
	term_view_settle(v);
}

/* ---- opening ---- */

/* Without waiting: a keeper whose queue is full must not hold up others. */
static int link_dial(const struct term_view *v)
{
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	OWN(own_fd)
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int n = snprintf(a.sun_path, sizeof(a.sun_path), "%s/keepers/%s.sock",
			 v->server->run_dir, v->sandbox);

	if (fd < 0 || n < 0 || (size_t)n >= sizeof(a.sun_path) ||
	    connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0)
		return -1;
	return STEAL_FD(fd);
}

bool term_link_open(struct term_view *v)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);
	OWN(own_fd) int fd = link_dial(v);

	if (fd < 0 || loop_add(&v->server->loop, &v->keeper, fd, EPOLLIN,
			       on_keeper, v, NULL) != ERR_NONE) {
		term_view_text(v, "{\"type\":\"error\",\"message\":"
				  "\"The sandbox does not answer\"}");
		term_view_close(v, CLOSE_TRY_LATER);
		return false;
	}
	STEAL_FD(fd);
	wire_rx_init(&v->rx, FRAME_MAX);
	wire_tx_init(&v->tx, TX_MAX);
	v->replay = (struct buf)BUF_INIT(2 * TERM_REPLAY_BYTES + FRAME_MAX);
	v->replay_to = UINT64_MAX;
	wire_str(&b, v->exec);
	wire_u64(&b, 0);
	wire_u8(&b, KEEPER_FOLLOW_OWNER);
	link_say(v, KM_ATTACH, TAG_EVENTS, &b);
	return true;
}
