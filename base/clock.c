#include <limits.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"

static int64_t clock_read_ms(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int64_t clock_mono_ms(void)
{
	return clock_read_ms(CLOCK_MONOTONIC);
}

int64_t clock_unix_ms(void)
{
	return clock_read_ms(CLOCK_REALTIME);
}

void clock_iso(int64_t unix_ms, char out[CLOCK_ISO_LEN + 1])
{
	int64_t ms = unix_ms % 1000;
	time_t s = (time_t)(unix_ms / 1000);
	struct tm tm = {.tm_mday = 1};

	if (ms < 0) {
		ms += 1000;
		s--;
	}
	gmtime_r(&s, &tm);
	snprintf(out, CLOCK_ISO_LEN + 1, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
		 (unsigned)(tm.tm_year + 1900) % 10000U,
		 (unsigned)(tm.tm_mon + 1) % 100U, (unsigned)tm.tm_mday % 100U,
		 (unsigned)tm.tm_hour % 100U, (unsigned)tm.tm_min % 100U,
		 (unsigned)tm.tm_sec % 100U, (unsigned)ms);
}

int clock_left_ms(int64_t deadline_ms)
{
	int64_t left;

	if (deadline_ms == CLOCK_NEVER)
		return -1;
	left = deadline_ms - clock_mono_ms();
	if (left <= 0)
		return 0;
	return left > INT_MAX ? INT_MAX : (int)left;
}
