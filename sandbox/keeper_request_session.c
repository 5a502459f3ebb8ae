/* What clients ask about sessions. */
#include <limits.h>

#include "base/own.h"
#include "sandbox/keeper_client.h"
#include "sandbox/keeper_request.h"
#include "sandbox/keeper_session.h"

#define GRACE_MAX_MS 600000U
#define WORKSPACE "/workspace"

bool request_session_new(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in), *cwd = wire_in_str(&in);
	OWN(own_mem) const char **env = NULL;
	uint32_t n = 0;
	struct session *s;
	struct errinfo e;

	env = request_strings(&in, &n);
	if (!wire_in_done(&in))
		return false;
	request_answer(c, msg, session_new(c->keeper, id, cwd, env, n, &s, &e),
		       &e);
	return true;
}

bool request_session_end(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in);
	uint32_t grace_ms = wire_in_u32(&in);

	if (!wire_in_done(&in))
		return false;
	if (grace_ms > GRACE_MAX_MS)
		grace_ms = GRACE_MAX_MS;
	if (session_end(c->keeper, id, grace_ms))
		client_say(c, KM_OK, msg->tag, NULL);
	else
		client_refuse(c, msg->tag, ERR_NOT_FOUND, "session");
	return true;
}

static void say_session(struct client *c, uint32_t tag, const struct session *s)
{
	OWN(buf_free) struct buf b = BUF_INIT(2 * PATH_MAX);
	struct keeper_session told = {
	    .id = s->id,
	    .busy = s->call != NULL,
	    .created_ms = s->created_ms,
	    .cwd = s->cwd != NULL ? s->cwd : WORKSPACE,
	};

	keeper_put_session(&b, &told);
	client_say(c, KM_SESSION, tag, &b);
}

bool request_session_list(struct client *c, struct wire_msg *msg)
{
	for (struct session *s = c->keeper->sessions; s != NULL; s = s->next)
		if (!s->ended)
			say_session(c, msg->tag, s);
	client_say(c, KM_OK, msg->tag, NULL);
	return msg->len == 0;
}

bool request_session_get(struct client *c, struct wire_msg *msg)
{
	struct wire_in in = wire_in(msg);
	const char *id = wire_in_str(&in);
	struct session *s;

	if (!wire_in_done(&in))
		return false;
	s = session_find(c->keeper, id);
	if (s != NULL)
		say_session(c, msg->tag, s);
	else
		client_refuse(c, msg->tag, ERR_NOT_FOUND, "session");
	return true;
}
