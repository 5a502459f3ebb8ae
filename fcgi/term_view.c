/* A viewer's side towards the browser: the handshake, then messages. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/pty_frame.h"
#include "fcgi/json_in.h"
#include "fcgi/term.h"

#define HEAD_MS 10000
#define PING_MS 30000
#define SILENCES_MAX 3 /* pings without an answer */
#define LAST_MS 10000  /* for what waits before a close … */
#define CLOSE_MS 1000  /* … and for the viewer's own */
#define MESSAGE_MAX (1U << 20)
#define TEXT_MAX 4096U
#define TURN_BYTES 65536U /* then others have their turn */
#define CLOSE_RESTART 1012

static void view_free(struct term_view *v)
{
	struct term_server *s = v->server;
	int fd = v->client.fd;

	term_link_close(v);
	loop_timer_del(&s->loop, &v->timer);
	loop_del(&s->loop, &v->client);
	own_fd(&fd);
	if (v->ws != NULL)
		wslay_event_context_free(v->ws);
	buf_free(&v->in);
	buf_free(&v->replay);
	if (v->prev != NULL)
		v->prev->next = v->next;
	else
		s->views = v->next;
	if (v->next != NULL)
		v->next->prev = v->prev;
	s->nviews--;
	free(v);
	if (s->leaving && s->nviews == 0)
		loop_stop(&s->loop);
}

/* ---- messages out ---- */

static void view_queue(struct term_view *v, uint8_t opcode, const void *data,
		       size_t n)
{
	const struct wslay_event_msg m = {opcode, data, n};

	if (v->state != VIEW_OPEN || v->dead)
		return;
	if (wslay_event_queue_msg(v->ws, &m) != 0)
		v->dead = true;
}

void term_view_text(struct term_view *v, const char *fmt, ...)
{
	char text[512];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	must(n > 0 && (size_t)n < sizeof(text));
	view_queue(v, WSLAY_TEXT_FRAME, text, (size_t)n);
}

void term_view_binary(struct term_view *v, const void *data, size_t n)
{
	if (n > 0)
		view_queue(v, WSLAY_BINARY_FRAME, data, n);
}

static void on_timer(void *arg);

void term_view_close(struct term_view *v, uint16_t code)
{
	if (v->state != VIEW_OPEN)
		return;
	v->state = VIEW_CLOSING;
	v->close_code = code;
	loop_timer_set(&v->server->loop, &v->timer, clock_mono_ms() + LAST_MS,
		       on_timer, v);
}

void term_view_leave(struct term_view *v)
{
	if (v->state == VIEW_HEAD)
		v->dead = true;
	term_view_close(v, CLOSE_RESTART);
	term_view_settle(v);
}

/* ---- messages in ---- */

struct view_size {
	const char *type;
	int64_t cols;
	int64_t rows;
};

#define AT(member) offsetof(struct view_size, member)

static const struct json_field size_fields[] = {
    {"type", NULL, JSON_TEXT, AT(type), true, 1, 32},
    {"cols", NULL, JSON_INT, AT(cols), false, 1, PTY_SIDE_MAX},
    {"rows", NULL, JSON_INT, AT(rows), false, 1, PTY_SIDE_MAX},
};

#undef AT

static void view_control(struct term_view *v, const uint8_t *data, size_t n)
{
	OWN(json_in_free) struct json_in in = {.root = NULL};
	struct view_size size = {.type = ""};
	char text[TEXT_MAX + 1];

	if (n > TEXT_MAX)
		n = 0;
	if (n > 0)
		memcpy(text, data, n);
	text[n] = '\0';
	if (json_in_parse(&in, text, n, NULL) == ERR_NONE &&
	    json_in_read(&in, size_fields, JSON_COUNT(size_fields), &size,
			 NULL) == ERR_NONE &&
	    strcmp(size.type, "resize") == 0 && size.cols > 0 && size.rows > 0)
		term_link_size(v, (uint16_t)size.cols, (uint16_t)size.rows);
	else
		term_view_text(v,
			       "{\"type\":\"error\",\"message\":\"A text "
			       "message must be {type: resize, cols, rows}, "
			       "each 1 to %d\"}",
			       PTY_SIDE_MAX);
}

static void on_message(wslay_event_context_ptr ws,
		       const struct wslay_event_on_msg_recv_arg *m, void *arg)
{
	struct term_view *v = arg;

	(void)ws;
	if (v->state != VIEW_OPEN)
		return;
	if (m->opcode == WSLAY_BINARY_FRAME)
		term_link_input(v, m->msg, m->msg_length);
	else if (m->opcode == WSLAY_TEXT_FRAME)
		view_control(v, m->msg, m->msg_length);
}

static ssize_t on_recv(wslay_event_context_ptr ws, uint8_t *data, size_t n,
		       int flags, void *arg)
{
	struct term_view *v = arg;
	ssize_t got;

	(void)flags;
	if (v->turn_bytes >= TURN_BYTES || term_link_full(v)) {
		wslay_event_set_error(ws, WSLAY_ERR_WOULDBLOCK);
		return -1;
	}
	if (v->in.len > 0) { /* it came with the head */
		got = (ssize_t)(n < v->in.len ? n : v->in.len);
		memcpy(data, v->in.data, (size_t)got);
		buf_drop(&v->in, (size_t)got);
	} else {
		got = recv(v->client.fd, data, n, MSG_DONTWAIT);
	}
	if (got > 0) {
		v->turn_bytes += (size_t)got;
		v->heard = true;
		return got;
	}
	wslay_event_set_error(ws, got < 0 && (errno == EAGAIN || errno == EINTR)
				      ? WSLAY_ERR_WOULDBLOCK
				      : WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

static ssize_t on_send(wslay_event_context_ptr ws, const uint8_t *data,
		       size_t n, int flags, void *arg)
{
	struct term_view *v = arg;
	ssize_t sent = send(v->client.fd, data, n, MSG_DONTWAIT | MSG_NOSIGNAL);

	(void)flags;
	if (sent >= 0)
		return sent;
	wslay_event_set_error(ws, errno == EAGAIN || errno == EINTR
				      ? WSLAY_ERR_WOULDBLOCK
				      : WSLAY_ERR_CALLBACK_FAILURE);
	return -1;
}

/* ---- the loop's side ---- */

static uint32_t view_wants(const struct term_view *v)
{
	uint32_t want = 0;

	if (v->state == VIEW_HEAD)
		return EPOLLIN;
	if (wslay_event_want_read(v->ws) && !term_link_full(v))
		want |= EPOLLIN;
	if (wslay_event_want_write(v->ws))
		want |= EPOLLOUT;
	return want;
}

static void view_send(struct term_view *v)
{
	if (wslay_event_want_write(v->ws) && wslay_event_send(v->ws) != 0)
		v->dead = true;
	/* The library would send a close before messages that wait. */
	if (v->dead || v->state != VIEW_CLOSING ||
	    wslay_event_get_queued_msg_count(v->ws) > 0)
		return;
	v->state = VIEW_CLOSED;
	loop_timer_set(&v->server->loop, &v->timer, clock_mono_ms() + CLOSE_MS,
		       on_timer, v);
	if (wslay_event_queue_close(v->ws, v->close_code, NULL, 0) != 0 ||
	    wslay_event_send(v->ws) != 0)
		v->dead = true;
}

/* The library has closed it for what was no frame: it reads nothing more. */
static void view_failed(struct term_view *v)
{
	if (v->state == VIEW_CLOSED || !wslay_event_get_close_sent(v->ws))
		return;
	v->state = VIEW_CLOSED;
	loop_timer_set(&v->server->loop, &v->timer, clock_mono_ms() + CLOSE_MS,
		       on_timer, v);
}

void term_view_settle(struct term_view *v)
{
	if (!v->dead && v->ws != NULL)
		view_send(v);
	/* Its own close, answered; or both sides have said all. */
	if (!v->dead && v->ws != NULL && !wslay_event_want_write(v->ws) &&
	    wslay_event_get_close_sent(v->ws) &&
	    wslay_event_get_close_received(v->ws))
		v->dead = true;
	if (v->dead) {
		view_free(v);
		return;
	}
	if (v->ws != NULL)
		view_failed(v);
	loop_mod(&v->server->loop, &v->client, view_wants(v));
	if (v->ws != NULL)
		term_link_watch(v);
}

static void on_timer(void *arg)
{
	struct term_view *v = arg;
	const struct wslay_event_msg ping = {WSLAY_PING, NULL, 0};

	v->silences = v->heard ? 0 : v->silences + 1;
	v->heard = false;
	if (v->state != VIEW_OPEN || v->silences > SILENCES_MAX ||
	    wslay_event_queue_msg(v->ws, &ping) != 0)
		v->dead = true;
	else
		loop_timer_set(&v->server->loop, &v->timer,
			       clock_mono_ms() + PING_MS, on_timer, v);
	term_view_settle(v);
}

/* ---- the handshake ---- */

static void view_answer(struct term_view *v, const char *text)
{
	size_t n = strlen(text);

	/* It is the first on this connection: there is room. */
	if (send(v->client.fd, text, n, MSG_DONTWAIT | MSG_NOSIGNAL) !=
	    (ssize_t)n)
		v->dead = true;
}

static void view_refuse(struct term_view *v, const char *status,
			const char *more)
{
	char text[256];

	snprintf(text, sizeof(text),
		 "HTTP/1.1 %s\r\n%sContent-Length: 0\r\n"
		 "Connection: close\r\n\r\n",
		 status, more);
	view_answer(v, text);
	v->dead = true;
}

static bool view_room(const struct term_view *v)
{
	int n = 0;

	for (struct term_view *x = v->server->views; x != NULL; x = x->next)
		n += strcmp(x->sandbox, v->sandbox) == 0;
	return n <= TERM_VIEWS_OF_ONE_MAX;
}

static void view_open(struct term_view *v, const struct term_head *h)
{
	static const struct wslay_event_callbacks calls = {
	    .recv_callback = on_recv,
	    .send_callback = on_send,
	    .on_msg_recv_callback = on_message};
	char text[256], accept[32];

	memcpy(v->sandbox, h->sandbox, sizeof(v->sandbox));
	memcpy(v->exec, h->exec, sizeof(v->exec));
	if (!view_room(v)) {
		view_refuse(v, "503 Service Unavailable", "Retry-After: 5\r\n");
		return;
	}
	if (wslay_event_context_server_init(&v->ws, &calls, v) != 0) {
		v->dead = true;
		return;
	}
	wslay_event_config_set_max_recv_msg_length(v->ws, MESSAGE_MAX);
	term_head_accept(h->key, accept);
	snprintf(text, sizeof(text),
		 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"
		 "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
		 accept);
	view_answer(v, text);
	v->state = VIEW_OPEN;
	v->heard = true;
	loop_timer_set(&v->server->loop, &v->timer, clock_mono_ms() + PING_MS,
		       on_timer, v);
	if (!v->dead)
		term_link_open(v);
}

static void view_head(struct term_view *v)
{
	char data[4096];
	ssize_t n = recv(v->client.fd, data, sizeof(data), MSG_DONTWAIT);
	struct term_head h;
	size_t used = 0;
	int r;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n > 0)
		buf_add(&v->in, data, (size_t)n);
	if (n <= 0 || !buf_ok(&v->in)) {
		v->dead = true;
		return;
	}
	r = term_head_read(v->in.data, v->in.len, &h, &used);
	if (r < 0)
		view_refuse(v, "400 Bad Request", "");
	if (r <= 0)
		return;
	buf_drop(&v->in, used);
	if (!h.upgrade || !h.version || h.key[0] == '\0')
		view_refuse(v, "426 Upgrade Required",
			    "Sec-WebSocket-Version: 13\r\n");
	else
		view_open(v, &h);
}

static void on_client(void *arg, uint32_t events)
{
	struct term_view *v = arg;

	if (v->state == VIEW_HEAD)
		view_head(v);
	v->turn_bytes = 0;
	if (!v->dead && v->state != VIEW_HEAD &&
	    ((events & ~(uint32_t)EPOLLOUT) != 0 || v->in.len > 0) &&
	    wslay_event_recv(v->ws) != 0)
		v->dead = true;
	/* Nobody hears any more: this would be told for ever. */
	if ((events & (EPOLLERR | EPOLLHUP)) != 0)
		v->dead = true;
	term_view_settle(v);
}

void term_view_new(struct term_server *s, int fd)
{
	struct term_view *v = calloc(1, sizeof(*v));
	OWN(own_fd) int client = fd;

	if (v == NULL)
		return;
	v->server = s;
	v->keeper.fd = -1;
	v->in = (struct buf)BUF_INIT(TERM_HEAD_MAX);
	if (loop_add(&s->loop, &v->client, client, EPOLLIN, on_client, v,
		     NULL) != ERR_NONE) {
		free(v);
		return;
	}
	STEAL_FD(client);
	loop_timer_set(&s->loop, &v->timer, clock_mono_ms() + HEAD_MS, on_timer,
		       v);
	v->next = s->views;
	if (v->next != NULL)
		v->next->prev = v;
	s->views = v;
	s->nviews++;
}
