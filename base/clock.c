#include <limits.h>
#include <string.h>
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

int64_t clock_mono_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t clock_unix_ms(void)
{
	return clock_read_ms(CLOCK_REALTIME);
}

/* ${n} decimal digits of ${v}, the last ones. */
static void put_digits(char *to, unsigned v, int n)
{
	for (int i = n - 1; i >= 0; i--, v /= 10)
		to[i] = (char)('0' + v % 10);
}

/* By hand: a list has a time for each of its entries. */
void clock_iso(int64_t unix_ms, char out[CLOCK_ISO_LEN + 1])
{
	static const char form[] = "0000-00-00T00:00:00.000Z";
	int64_t ms = unix_ms % 1000;
	time_t s = (time_t)(unix_ms / 1000);
	struct tm tm = {.tm_mday = 1};

	if (ms < 0) {
		ms += 1000;
		s--;
	}
	gmtime_r(&s, &tm);
	memcpy(out, form, sizeof(form));
	put_digits(out, (unsigned)(tm.tm_year + 1900), 4);
	put_digits(out + 5, (unsigned)(tm.tm_mon + 1), 2);
	put_digits(out + 8, (unsigned)tm.tm_mday, 2);
	put_digits(out + 11, (unsigned)tm.tm_hour, 2);
	put_digits(out + 14, (unsigned)tm.tm_min, 2);
	put_digits(out + 17, (unsigned)tm.tm_sec, 2);
	put_digits(out + 20, (unsigned)ms, 3);
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
