#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/own.h"
#include "base/wire.h"
#include "tests/lib/client.h"

#define LIMIT_MS 30000
#define OUTPUT_MAX (1U << 20)

noreturn static void give_up(const char *what, const struct errinfo *e)
{
	fprintf(stderr, "client: %s: %s\n", what, e->text);
	exit(1);
}

void client_ask(const char *run_dir, enum broker_type type, const char *id,
		const struct client_limits *limits)
{
	struct broker_req r = {.type = type, .image = "host"};
	struct errinfo e;

	if (limits != NULL) {
		r.memory_bytes = limits->memory_bytes;
		r.cpu_millis = limits->cpu_millis;
		r.pids = limits->pids;
		r.disk_bytes = limits->disk_bytes;
	}
	snprintf(r.id, sizeof(r.id), "%s", id);
	if (broker_call(run_dir, &r, clock_mono_ms() + LIMIT_MS, &e) !=
	    ERR_NONE)
		give_up("broker", &e);
}

static int connect_to(const char *run_dir, const char *id)
{
	struct errinfo e;
	int fd;

	if (keeper_connect(run_dir, id, &fd, &e) != ERR_NONE)
		give_up("keeper", &e);
	return fd;
}

static void send_frame(int fd, enum keeper_msg type, const struct buf *b)
{
	struct errinfo e;

	if (wire_send(fd, (uint16_t)type, 1, b, clock_mono_ms() + LIMIT_MS,
		      &e) != ERR_NONE)
		give_up("keeper", &e);
}

int client_begin(const char *run_dir, const char *id, const char *name,
		 const char *const *argv)
{
	static const char *const env[] = {"PATH=/usr/bin:/bin"};
	OWN(buf_free) struct buf b = BUF_INIT(65536);
	struct keeper_start s = {.id = name,
				 .kind = EXEC_CALL,
				 .flags = KF_ATTACH,
				 .timeout_ms = LIMIT_MS,
				 .user = "",
				 .cwd = "/",
				 .argv = argv,
				 .env = env,
				 .envc = 1};
	int fd = connect_to(run_dir, id);

	while (argv[s.argc] != NULL)
		s.argc++;
	keeper_put_start(&b, &s);
	send_frame(fd, KM_START, &b);
	return fd;
}

void client_end(int fd, struct client_end *out)
{
	struct wire_rx rx;
	struct errinfo e;
	bool more = true;

	*out = (struct client_end){.out = BUF_INIT(OUTPUT_MAX)};
	wire_rx_init(&rx, KEEPER_PAYLOAD_MAX);
	while (more) {
		struct wire_msg *m;
		struct keeper_event ev;

		if (wire_recv(&rx, fd, -1, clock_mono_ms() + LIMIT_MS, &m,
			      &e) != ERR_NONE)
			give_up("keeper", &e);
		if (m->type == KM_REFUSED) {
			keeper_refused(m, &e);
			give_up("refused", &e);
		}
		if (m->type != KM_EVENT)
			continue;
		if (keeper_get_event(m, &ev, &e) != ERR_NONE)
			give_up("event", &e);
		if (ev.kind == EVENT_OUT || ev.kind == EVENT_ERR)
			buf_add(&out->out, ev.data, ev.len);
		out->end = ev.end;
		more = ev.kind != EVENT_END;
	}
	wire_rx_free(&rx);
	close(fd);
}

void client_kill(const char *run_dir, const char *id, const char *name)
{
	OWN(buf_free) struct buf b = BUF_INIT(1024);
	OWN(own_fd) int fd = connect_to(run_dir, id);
	struct wire_rx rx;
	struct wire_msg *m;
	struct errinfo e;

	wire_str(&b, name);
	wire_u32(&b, 0);
	wire_u8(&b, END_KILLED);
	send_frame(fd, KM_KILL, &b);
	wire_rx_init(&rx, KEEPER_PAYLOAD_MAX);
	if (wire_recv(&rx, fd, -1, clock_mono_ms() + LIMIT_MS, &m, &e) !=
	    ERR_NONE)
		give_up("keeper", &e);
	if (m->type != KM_OK) {
		keeper_refused(m, &e);
		give_up("kill", &e);
	}
	wire_rx_free(&rx);
}
