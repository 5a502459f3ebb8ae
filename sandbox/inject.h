/*
 * Failure at a named step, for tests. In debug builds each step of a start
 * asks here first; a release build has none of it.
 */
#ifndef SANDBOX_INJECT_H
#define SANDBOX_INJECT_H

#include <stdbool.h>
#include <stdint.h>

enum inject_point {
	INJECT_NONE,
#define STEP(name) INJECT_SPAWN_##name,
#include "sandbox/spawn_steps.def"
#undef STEP
#define INJECT(name, what) INJECT_##name,
#include "sandbox/inject.def"
#undef INJECT
#define STEP(name) INJECT_ENTER_##name,
#include "sandbox/zygote_steps.def"
#undef STEP
	INJECT_COUNT
};

/* In memory that all processes of a broker share, or of a test. */
struct inject {
	uint32_t armed; /* the point that fails, each time */
	uint32_t reached[INJECT_COUNT];
};

#ifndef NDEBUG

/**
 * inject_at(point):
 * True: fail here (errno is EIO). Counts that we were here in any case. Fit
 * for use between clone and exec.
 */
bool inject_at(enum inject_point point);

/** inject_enter(): Which enum zygote_step is to fail, 0: none. */
uint32_t inject_enter(void);

/** inject_use(shared): From now on, and in children. NULL: never fail. */
void inject_use(struct inject *shared);

/** inject_open(dir): Use the file "inject" there, if a test has put one. */
void inject_open(int dir);

/** inject_use_of(point): As another program of the broker ${point} is for. */
void inject_use_of(const char *point);

#else

static inline bool inject_at(enum inject_point point)
{
	(void)point;
	return false;
}

static inline uint32_t inject_enter(void)
{
	return 0;
}

static inline void inject_open(int dir)
{
	(void)dir;
}

static inline void inject_use_of(const char *point)
{
	(void)point;
}

#endif
#endif
