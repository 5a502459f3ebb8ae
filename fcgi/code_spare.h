/*
 * Spare kernels: in a sandbox that uses a language, so many kernels of it as
 * [pool] in D/warren.ini says wait for the next contexts, forked, confined
 * and run in. A context takes one in no time, and another is made behind its
 * back. They are the sandbox's own: its memory and processes count them.
 *
 *	[pool]            ; any image
 *	python = 1        ; 0 to 8; none without this section
 *	when = start      ; made as the sandbox starts, for its first context
 *	[pool.host]       ; one image
 *	javascript = 2
 *	when = use        ; made after the first context of their language
 *
 * Without a "when" it is "use": a sandbox without contexts has no kernels.
 */
#ifndef FCGI_CODE_SPARE_H
#define FCGI_CODE_SPARE_H

#include "fcgi/code_lang.h"
#include "fcgi/sandbox_link.h"

/**
 * code_spare_open(w, e):
 * Read the configuration; before any other call. On an error there are no
 * spare kernels.
 * Errors: those of conf_read().
 */
FALLIBLE enum err code_spare_open(const struct worker *w, struct errinfo *e);

/**
 * code_spare_claim(l, s, lang, pid, e):
 * Start the kernel ${s} as one that waits already.
 * Errors: any, with nothing started: start it otherwise then. ERR_GONE: the
 * keeper died, or the client left.
 */
FALLIBLE enum err code_spare_claim(struct link *l, const struct keeper_start *s,
				   const struct code_lang *lang, uint32_t *pid,
				   struct errinfo *e);

/**
 * code_spare_started(rq):
 * The sandbox of ${rq} was started: where its image's are to be made then,
 * have them made, soon. Threads: another makes them.
 */
void code_spare_started(const struct request *rq);

/**
 * code_spare_fill(rq, lang):
 * Have those that are missing made, soon. Threads: another makes them.
 */
void code_spare_fill(const struct request *rq, const struct code_lang *lang);

#endif
