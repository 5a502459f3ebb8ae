#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/own.h"
#include "show.h"

#define SHOW_MAX (40U << 20)
#define SHOW_PART (64U << 10)
#define SHOW_DEPTH 24

struct show_kind {
	const char *name;
	const char *mime;
	bool bytes; /* and the argument is a file */
	bool json;
};

static const struct show_kind show_kinds[] = {
    {"text", "text/plain", false, false},
    {"html", "text/html", false, false},
    {"markdown", "text/markdown", false, false},
    {"svg", "image/svg+xml", false, false},
    {"latex", "text/latex", false, false},
    {"javascript", "application/javascript", false, false},
    {"json", "application/json", false, true},
    {"png", "image/png", true, false},
    {"jpeg", "image/jpeg", true, false},
    {"pdf", "application/pdf", true, false},
};

#define SHOW_KINDS (sizeof(show_kinds) / sizeof(show_kinds[0]))

static const struct show_kind *show_kind(const char *name)
{
	for (size_t i = 0; i < SHOW_KINDS; i++)
		if (strcmp(show_kinds[i].name, name) == 0)
			return &show_kinds[i];
	return NULL;
}

/* ---- the socket ---- */

static socklen_t show_address(const char *name, struct sockaddr_un *a)
{
	size_t n = strnlen(name, SHOW_NAME_MAX);

	*a = (struct sockaddr_un){.sun_family = AF_UNIX};
	memcpy(a->sun_path + 1, name, n);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n);
}

bool show_open(struct show *s)
{
	struct sockaddr_un a;
	socklen_t len;
	uint64_t r;

	*s = (struct show){.client = -1, .in = BUF_INIT(SHOW_MAX)};
	if (getrandom(&r, sizeof(r), 0) != sizeof(r))
		return false;
	snprintf(s->name, sizeof(s->name), "warren-bash-%016llx",
		 (unsigned long long)r);
	len = show_address(s->name, &a);
	s->door = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			 0);
	return s->door >= 0 && bind(s->door, (struct sockaddr *)&a, len) == 0 &&
	       listen(s->door, 64) == 0;
}

void show_accept(struct show *s)
{
	if (s->client < 0)
		s->client = accept4(s->door, NULL, NULL,
				    SOCK_CLOEXEC | SOCK_NONBLOCK);
	buf_reset(&s->in);
}

void show_answer(struct show *s, bool ok)
{
	if (ok && send(s->client, "k", 1, MSG_NOSIGNAL) < 0)
		ok = false; /* it did not wait for it */
	own_fd(&s->client);
	buf_free(&s->in);
}

/* "RUN KIND\0data."; without the dot it is only a part. */
static bool show_parse(struct buf *in, struct shown *got)
{
	const char *end;
	char *kind;

	if (in->len == 0 || in->data[in->len - 1] != '.')
		return false;
	in->data[--in->len] = '\0';
	end = memchr(in->data, 0, in->len);
	if (end == NULL)
		return false;
	got->run = (uint32_t)strtoul(in->data, &kind, 10);
	if (*kind != ' ')
		return false;
	got->kind = show_kind(kind + 1);
	got->data = end + 1;
	got->len = in->len - (size_t)(end + 1 - in->data);
	return got->kind != NULL;
}

bool show_read(struct show *s, struct shown *got)
{
	for (;;) {
		char *to = buf_space(&s->in, SHOW_PART);
		ssize_t n = to == NULL ? 0 : read(s->client, to, SHOW_PART);

		if (n < 0 && (errno == EAGAIN || errno == EINTR))
			return false;
		if (n > 0) {
			buf_grow(&s->in, (size_t)n);
			continue;
		}
		if (n == 0 && to != NULL && show_parse(&s->in, got))
			return true;
		show_answer(s, false);
		return false;
	}
}

/* ---- texts ---- */

/* Length of the valid character at ${p}, 0 if there is none. */
static size_t show_char(const unsigned char *p, size_t n)
{
	size_t len = p[0] < 0x80             ? 1
		     : (p[0] & 0xe0) == 0xc0 ? 2
		     : (p[0] & 0xf0) == 0xe0 ? 3
		     : (p[0] & 0xf8) == 0xf0 ? 4
					     : 0;
	static const uint32_t least[] = {0, 1, 0x80, 0x800, 0x10000};
	uint32_t c;

	if (len == 0 || len > n || p[0] == 0)
		return 0;
	c = len == 1 ? p[0] : p[0] & (0x7fU >> len);
	for (size_t i = 1; i < len; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3fU);
	}
	if (c < least[len] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	return len;
}

struct json_object *show_text(const char *p, size_t n)
{
	OWN(buf_free) struct buf b = BUF_INIT(3 * n + 1);

	while (n > 0) {
		size_t len = show_char((const unsigned char *)p, n);

		if (len > 0)
			buf_add(&b, p, len);
		else
			buf_adds(&b, "\xef\xbf\xbd");
		len += len == 0;
		p += len;
		n -= len;
	}
	return json_object_new_string_len(buf_str(&b), (int)b.len);
}

static struct json_object *show_bytes(const char *p, size_t n)
{
	size_t room = sodium_base64_encoded_len(n,
						sodium_base64_VARIANT_ORIGINAL);
	OWN(own_mem) char *text = malloc(room);

	if (text == NULL)
		return NULL;
	sodium_bin2base64(text, room, (const unsigned char *)p, n,
			  sodium_base64_VARIANT_ORIGINAL);
	return json_object_new_string(text);
}

static struct json_object *show_json(const char *p, size_t n)
{
	struct json_tokener *t = json_tokener_new_ex(SHOW_DEPTH);
	struct json_object *o = NULL;

	if (t == NULL)
		return NULL;
	json_tokener_set_flags(t, JSON_TOKENER_STRICT |
				      JSON_TOKENER_VALIDATE_UTF8);
	o = json_tokener_parse_ex(t, p, (int)n + 1);
	json_tokener_free(t);
	return o;
}

struct json_object *show_mime(const struct shown *got)
{
	const struct show_kind *kind = got->kind;
	struct json_object *mime = json_object_new_object(), *v;
	char text[64];

	if (kind->bytes)
		v = show_bytes(got->data, got->len);
	else if (kind->json)
		v = show_json(got->data, got->len);
	else
		v = show_text(got->data, got->len);
	if (mime == NULL || v == NULL) {
		json_object_put(mime);
		return NULL;
	}
	json_object_object_add(mime, kind->mime, v);
	if (strcmp(kind->name, "text") == 0)
		return mime;
	snprintf(text, sizeof(text), "[%s]", kind->mime);
	json_object_object_add(mime, "text/plain",
			       kind->json ? show_text(got->data, got->len)
					  : json_object_new_string(text));
	return mime;
}

/* ---- the program ---- */

static bool send_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t m = send(fd, p, n, MSG_NOSIGNAL);

		if (m < 0)
			return false;
		p += m;
		n -= (size_t)m;
	}
	return true;
}

static bool show_copy(int from, int to)
{
	char part[16384];
	ssize_t n;

	while ((n = read(from, part, sizeof(part))) > 0)
		if (!send_all(to, part, (size_t)n))
			return false;
	return n == 0;
}

static bool show_send(int to, const struct show_kind *kind, int argc,
		      char **argv)
{
	OWN(own_fd) int file = -1;

	if (argc == 0)
		return show_copy(STDIN_FILENO, to);
	if (kind->bytes) {
		file = open(argv[0], O_RDONLY | O_CLOEXEC);
		return file >= 0 && show_copy(file, to);
	}
	for (int i = 0; i < argc; i++)
		if ((i > 0 && !send_all(to, " ", 1)) ||
		    !send_all(to, argv[i], strlen(argv[i])))
			return false;
	return true;
}

static int show_usage(void)
{
	fputs("usage: display KIND [TEXT...]\n"
	      "TEXT is a file's name for png, jpeg and pdf; without it the "
	      "input is shown. KIND is",
	      stderr);
	for (size_t i = 0; i < SHOW_KINDS; i++)
		fprintf(stderr, " %s", show_kinds[i].name);
	fputs("\n", stderr);
	return 2;
}

int show_main(int argc, char **argv)
{
	const struct show_kind *kind = argc > 2 ? show_kind(argv[2]) : NULL;
	OWN(own_fd) int fd = -1;
	struct sockaddr_un a;
	char head[64], ok = 0;
	int n;

	if (kind == NULL)
		return show_usage();
	n = snprintf(head, sizeof(head), "%.16s %s", argv[1], kind->name);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    connect(fd, (struct sockaddr *)&a, show_address(argv[0], &a)) < 0 ||
	    !send_all(fd, head, (size_t)n + 1) ||
	    !show_send(fd, kind, argc - 3, argv + 3) || !send_all(fd, ".", 1)) {
		perror("display");
		return 1;
	}
	shutdown(fd, SHUT_WR);
	if (read(fd, &ok, 1) == 1)
		return 0;
	fprintf(stderr, "display: this is no %s, or too large\n", kind->name);
	return 1;
}
