#include <git2/sys/transport.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/own.h"
#include "sandbox/git_deepen.h"
#include "sandbox/git_net.h"

#define PKT_HEAD 4U
#define READ_BYTES 4096U

struct stream {
	git_smart_subtransport_stream parent;
	git_smart_subtransport_stream *inner;
	struct transport *transport;
	bool expect; /* the answer begins with where histories end */
	struct buf in;
};

struct transport {
	git_smart_subtransport parent;
	git_smart_subtransport *inner;
	struct git_shallow *shallow;
	struct stream *stream;
};

/* The length of the line at ${p}; 0: more bytes are needed, -1: it is none. */
static int line_len(const char *p, size_t n)
{
	char head[PKT_HEAD + 1] = {0};
	char *end;
	long len;

	if (n < PKT_HEAD)
		return 0;
	memcpy(head, p, PKT_HEAD);
	len = strtol(head, &end, 16);
	if (*end != '\0' || len < 0 || (len > 0 && len < (long)PKT_HEAD))
		return -1;
	if (len == 0)
		return PKT_HEAD;
	return n < (size_t)len ? 0 : (int)len;
}

/* ${words} + an id: it is added, or removed. */
static bool take_line(struct git_shallow *list, const char *p, size_t n)
{
	static const char add[] = "shallow ", drop[] = "unshallow ";
	size_t a = sizeof(add) - 1, d = sizeof(drop) - 1;

	if (n >= a + GIT_SHALLOW_ID && memcmp(p, add, a) == 0 &&
	    git_shallow_is_id(p + a))
		git_shallow_add(list, p + a);
	else if (n >= d + GIT_SHALLOW_ID && memcmp(p, drop, d) == 0 &&
		 git_shallow_is_id(p + d))
		git_shallow_remove(list, p + d);
	else
		return false;
	return true;
}

/* Takes the lines out of s->in up to the flush; true: that was all. */
static bool take_section(struct stream *s)
{
	int len;

	while (s->expect && (len = line_len(s->in.data, s->in.len)) != 0) {
		if (len == (int)PKT_HEAD) {
			buf_drop(&s->in, PKT_HEAD);
			s->expect = false;
		} else if (len < 0 || !take_line(s->transport->shallow,
						 s->in.data + PKT_HEAD,
						 (size_t)len - PKT_HEAD)) {
			s->expect = false; /* a failure: libgit2 tells it */
		} else {
			buf_drop(&s->in, (size_t)len);
		}
	}
	return !s->expect;
}

static int stream_read(git_smart_subtransport_stream *stream, char *p, size_t n,
		       size_t *got)
{
	struct stream *s = (struct stream *)(void *)stream;
	char data[READ_BYTES];
	size_t k = 0;
	int r;

	while (s->expect) {
		r = s->inner->read(s->inner, data, sizeof(data), &k);
		if (r < 0)
			return r;
		if (k == 0)
			s->expect = false;
		buf_add(&s->in, data, k);
		if (!buf_ok(&s->in))
			return -1;
		(void)take_section(s);
	}
	if (s->in.len == 0)
		return s->inner->read(s->inner, p, n, got);
	*got = s->in.len < n ? s->in.len : n;
	memcpy(p, s->in.data, *got);
	buf_drop(&s->in, *got);
	return 0;
}

/* Where the lines "want …" at ${p} end. */
static size_t wants_end(const char *p, size_t n)
{
	size_t at = 0;
	int len;

	while ((len = line_len(p + at, n - at)) > (int)PKT_HEAD) {
		if (memcmp(p + at + PKT_HEAD, "want ", 5) != 0)
			break;
		at += (size_t)len;
	}
	return at;
}

static int stream_write(git_smart_subtransport_stream *stream, const char *p,
			size_t n)
{
	struct stream *s = (struct stream *)(void *)stream;
	struct git_shallow *shallow = s->transport->shallow;
	OWN(buf_free) struct buf b = BUF_INIT(GIT_SHALLOW_MAX + n + READ_BYTES);
	size_t wants = wants_end(p, n);
	char line[32];

	if (wants == 0)
		return s->inner->write(s->inner, p, n);
	buf_add(&b, p, wants);
	for (size_t at = 0; at < shallow->list.len; at += GIT_SHALLOW_LINE) {
		buf_adds(&b, "0035shallow ");
		buf_add(&b, shallow->list.data + at, GIT_SHALLOW_LINE);
	}
	if (shallow->depth > 0) {
		snprintf(line, sizeof(line), "deepen %u\n", shallow->depth);
		buf_addf(&b, "%04zx%s", strlen(line) + PKT_HEAD, line);
		s->expect = true;
	}
	buf_add(&b, p + wants, n - wants);
	return buf_ok(&b) ? s->inner->write(s->inner, b.data, b.len) : -1;
}

static void stream_free(git_smart_subtransport_stream *stream)
{
	struct stream *s = (struct stream *)(void *)stream;

	if (s->transport->stream == s)
		s->transport->stream = NULL;
	s->inner->free(s->inner);
	buf_free(&s->in);
	free(s);
}

static int transport_action(git_smart_subtransport_stream **out,
			    git_smart_subtransport *transport, const char *url,
			    git_smart_service_t action)
{
	struct transport *t = (struct transport *)(void *)transport;
	git_smart_subtransport_stream *inner = NULL;
	struct stream *s;
	int r = t->inner->action(&inner, t->inner, url, action);

	if (r < 0)
		return r;
	if (t->stream != NULL && t->stream->inner == inner) {
		*out = &t->stream->parent; /* one connection for all */
		return 0;
	}
	s = calloc(1, sizeof(*s));
	if (s == NULL) {
		inner->free(inner);
		return -1;
	}
	s->parent.subtransport = transport;
	s->parent.read = stream_read;
	s->parent.write = stream_write;
	s->parent.free = stream_free;
	s->in = (struct buf)BUF_INIT(GIT_SHALLOW_MAX + READ_BYTES);
	s->inner = inner;
	s->transport = t;
	t->stream = s;
	*out = &s->parent;
	return 0;
}

static int transport_close(git_smart_subtransport *transport)
{
	struct transport *t = (struct transport *)(void *)transport;

	return t->inner->close(t->inner);
}

static void transport_free(git_smart_subtransport *transport)
{
	struct transport *t = (struct transport *)(void *)transport;

	t->inner->free(t->inner);
	free(t);
}

/* libgit2's own way to that URL. */
static git_smart_subtransport_cb inner_of(const char *url)
{
	if (git_url_is_http(url))
		return git_smart_subtransport_http;
	if (strncasecmp(url, "git://", 6) == 0)
		return git_smart_subtransport_git;
	return git_smart_subtransport_ssh;
}

static int transport_new(git_smart_subtransport **out, git_transport *owner,
			 void *param)
{
	struct git_shallow *shallow = param;
	struct transport *t = calloc(1, sizeof(*t));
	int r;

	if (t == NULL)
		return -1;
	r = inner_of(shallow->url)(&t->inner, owner, NULL);
	if (r < 0) {
		free(t);
		return r;
	}
	t->parent.action = transport_action;
	t->parent.close = transport_close;
	t->parent.free = transport_free;
	t->shallow = shallow;
	*out = &t->parent;
	return 0;
}

int git_deepen_transport(git_transport **out, git_remote *owner, void *param)
{
	struct git_net *n = param;
	git_smart_subtransport_definition def = {
	    .callback = transport_new,
	    .rpc = git_url_is_http(n->url),
	    .param = n->shallow,
	};

	return git_transport_smart(out, owner, &def);
}
