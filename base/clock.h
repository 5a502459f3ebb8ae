/* The two clocks: deadlines are monotonic, stamps are UTC. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#define CLOCK_NEVER INT64_MAX
#define CLOCK_ISO_LEN 24

/** clock_mono_ms(): Monotonic milliseconds, for deadlines only. */
int64_t clock_mono_ms(void);

/** clock_mono_us(): Monotonic microseconds, to tell how long things take. */
int64_t clock_mono_us(void);

/** clock_unix_ms(): Milliseconds since 1970, for what is stored. */
int64_t clock_unix_ms(void);

/** clock_iso(unix_ms, out): "2026-01-31T12:00:00.000Z". */
void clock_iso(int64_t unix_ms, char out[CLOCK_ISO_LEN + 1]);

/**
 * clock_left_ms(deadline_ms):
 * Time until the monotonic ${deadline_ms} as a poll(2) timeout: 0 when it
 * has passed, -1 for CLOCK_NEVER.
 */
int clock_left_ms(int64_t deadline_ms);

#endif
