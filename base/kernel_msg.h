/*
 * What a keeper and the program behind a context say on the program's
 * descriptor 3: frames of wire.h whose payloads are UTF-8 JSON objects.
 *
 *  keeper -> kernel
 *   RUN     tag = number of the run; {"code", "env"?, "cwd"?,
 *           "stdin"?}
 *   ACK     the RESULT of that tag was taken
 *   INTERRUPT  the run of that tag is to end; SIGINT follows, never before it.
 *           It tells whom a SIGINT was for that found no run: if it came for
 *           one whose RUN was still to be read, that run ends as it starts
 *   BEGIN   first of all, to one that was forked from a zygote: its cwd, then
 *           each "K=V" of its environment, each ended by a 0; no JSON. One
 *           that cannot begin with that ends before it is READY
 *  kernel -> keeper
 *   READY   once; {"language", "version"}. Tag 0: SIGINT is sent to all that
 *           the kernel started, too. Tag 1: to the kernel alone, which passes
 *           it on when that does no harm
 *   RESULT  {"mime": {...}, "chart"?, "data"?, "display": bool}; the kernel
 *           waits for ACK, so that what it prints next stays behind it
 *   ERROR   {"ename", "evalue", "traceback": [...]}
 *   DONE    {"execution_count": n}; exactly one for each run, the last
 *
 * The kernel flushes its output before each frame; the keeper drains the
 * output pipes before it takes one.
 */
#ifndef BASE_KERNEL_MSG_H
#define BASE_KERNEL_MSG_H

enum kernel_msg {
	XM_RUN = 0x40,
	XM_ACK = 0x41,
	XM_BEGIN = 0x42,
	XM_INTERRUPT = 0x43,
	XM_READY = 0x50,
	XM_RESULT = 0x51,
	XM_ERROR = 0x53,
	XM_DONE = 0x54
};

#define XM_READY_ALONE 1U /* a tag */
#define KERNEL_PAYLOAD_MAX (64U << 20)

#endif
