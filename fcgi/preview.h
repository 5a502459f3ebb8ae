/*
 * What nginx asks when a preview's socket does not answer: the host name's
 * key "port-id-token" is in the FastCGI parameter WARREN_PREVIEW_KEY.
 */
#ifndef FCGI_PREVIEW_H
#define FCGI_PREVIEW_H

#include "fcgi/route.h"
#include "store/ctl_port.h"

/** preview_key(rq): The key, or NULL when this is an API call. */
const char *preview_key(const struct request *rq);

/** preview_serve(rq, e): Answer it. */
FALLIBLE enum err preview_serve(struct request *rq, struct errinfo *e);

/**
 * preview_split(key, port, id, token):
 * The parts of a key. Returns false when it has not the exact form.
 */
bool preview_split(const char *key, uint16_t *port, id_sandbox_t id,
		   char token[ID_TOKEN_LEN + 1]);

#endif
