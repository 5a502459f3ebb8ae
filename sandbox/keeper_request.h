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
	bool subscribed; /* the recorder */
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

#endif
