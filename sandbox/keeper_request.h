/* What clients ask of a keeper: one function for each request. */
#ifndef SANDBOX_KEEPER_REQUEST_H
#define SANDBOX_KEEPER_REQUEST_H

#include "sandbox/keeper.h"

/* A connection. Its frames are of base/keeper_msg.h. */
struct client {
	struct keeper *keeper;
	struct loop_watch watch;
	struct wire_rx rx;
	struct wire_tx tx;
	struct attach *attaches;
	unsigned starts; /* executions that may have it as starter */
	bool subscribed; /* the recorder */
	bool uses;       /* a call: as long as it is there, all is in use */
	uint32_t subscribe_tag;
	bool broken; /* shut down; the loop will close it */
	struct client *next;
};

/**
 * request_handle(c, msg):
 * Act on one frame and answer it. False: it is malformed or of an unknown
 * type; the caller drops the client.
 */
bool request_handle(struct client *c, struct wire_msg *msg);

/** request_strings(in, count): u32 n, str[n]; an array that the caller
 * frees, ending with NULL. NULL, and ${in} is bad, when it is malformed. */
const char **request_strings(struct wire_in *in, uint32_t *count);

/** request_answer(c, msg, r, e): OK, or REFUSED with ${e}. */
void request_answer(struct client *c, const struct wire_msg *msg, enum err r,
		    const struct errinfo *e);

/** request_session_new(c, msg), _end, _list, _get: SESSION_NEW, SESSION_END,
 * SESSION_LIST, SESSION_GET; as request_handle(). */
bool request_session_new(struct client *c, struct wire_msg *msg);
bool request_session_end(struct client *c, struct wire_msg *msg);
bool request_session_list(struct client *c, struct wire_msg *msg);
bool request_session_get(struct client *c, struct wire_msg *msg);

#endif
