/* What the parts of the engine's benchmark share; see engine.c. */
#ifndef TESTS_BENCH_ENGINE_H
#define TESTS_BENCH_ENGINE_H

#include <stdint.h>

#include "base/id.h"

#define ENGINE_MOST 1000

int64_t engine_now_us(void);

/* ---- engine_bwrap.c: the floor ---- */

/** engine_bwrap_true(i): One run of `true`. It does not return a failure. */
void engine_bwrap_true(int i);
int64_t engine_bwrap_us(void);

/** engine_bwrap_kill_us(n): Of n that sleep, from the first kill until nothing
 * of them has their output open. */
int64_t engine_bwrap_kill_us(int n);

/* ---- engine_use.c: what the machine has of it ---- */

int64_t engine_kernel_kib(void);
int64_t engine_cgroup_bytes(const char *run_dir, id_sandbox_t *ids, int n);
int64_t engine_init_kib(const char *run_dir, id_sandbox_t *ids, int n);
int64_t engine_keeper_kib(id_sandbox_t *ids, int n);

/** engine_ticks(run_dir): User and system time of the stack's processes and
 * of those of their children that were reaped, in clock ticks. */
int64_t engine_ticks(const char *run_dir);

#endif
