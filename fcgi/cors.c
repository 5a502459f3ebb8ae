#include "fcgi/cors.h"
#include "fcgi/answer.h"

#define CORS_SECONDS 86400 /* a browser need not ask again */

void cors_begin(struct request *rq)
{
	answer_header(rq, "Access-Control-Allow-Origin", "*");
	answer_header(rq, "Access-Control-Expose-Headers",
		      "X-Request-Id, X-Execution-Id, Server-Timing, "
		      "Retry-After, ETag, Accept-Ranges, Content-Range, "
		      "Content-Disposition");
}

void cors_preflight(struct request *rq, const char *methods)
{
	answer_header(rq, "Access-Control-Allow-Methods", "%s", methods);
	answer_header(rq, "Access-Control-Allow-Headers",
		      "Authorization, Content-Type, Last-Event-ID, "
		      "Idempotency-Key, X-Session-Id, X-Warren-Compat, "
		      "Range, If-Match, If-None-Match, If-Range, "
		      "If-Modified-Since, If-Unmodified-Since");
	answer_header(rq, "Access-Control-Max-Age", "%d", CORS_SECONDS);
}
