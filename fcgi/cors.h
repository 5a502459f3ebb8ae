/*
 * Pages of any origin may call the API: what allows a call is the key in a
 * header, which no browser adds by itself, and never a cookie.
 */
#ifndef FCGI_CORS_H
#define FCGI_CORS_H

struct request;

/** cors_begin(rq): The headers of every answer, of errors too. */
void cors_begin(struct request *rq);

/** cors_preflight(rq, methods): Those of the answer to OPTIONS. */
void cors_preflight(struct request *rq, const char *methods);

#endif
