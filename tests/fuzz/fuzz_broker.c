/*
 * What workers send to the broker: one datagram. What passes is what the
 * steps of a start rely on, and says nothing beyond its fields.
 */
#include "sandbox/broker_peer.c" /* for its check */
#include "tests/fuzz/fuzz.h"

static void padded(const char *s, size_t size)
{
	size_t n = strnlen(s, size);

	must(n > 0 && n < size);
	must(strchr(s, '/') == NULL && strchr(s, '.') == NULL);
	for (; n < size; n++)
		must(s[n] == '\0');
}

static void passed(const struct broker_req *r)
{
	must(r->magic == BROKER_MAGIC && r->type > BROKER_NONE);
	must(r->ndeny + r->nallow <= BROKER_CIDRS_MAX);
	if (r->type == BROKER_PING)
		return;
	must(strlen(r->id) == ID_SANDBOX_LEN);
	padded(r->id, sizeof(r->id));
	if (r->type != BROKER_START)
		return;
	padded(r->image, sizeof(r->image));
	must(r->memory_bytes >= 1U << 24 && r->memory_bytes % 4096 == 0);
	must(r->tmp_bytes <= r->memory_bytes);
	must(r->cpu_millis > 0 && r->pids > 0);
	must(r->flags == 0 || r->disk_bytes > 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct broker_req r;

	/* As on_peer() reads. */
	memset(&r, 0, sizeof(r));
	memcpy(&r, data, n < sizeof(r) ? n : sizeof(r));
	if (size_ok(&r, (ssize_t)n) && request_ok(&r))
		passed(&r);
	return 0;
}
