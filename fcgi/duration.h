/* Durations as tenants write them: "10m", "1h30m" is not one, 1500 is ms. */
#ifndef FCGI_DURATION_H
#define FCGI_DURATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/**
 * duration_parse(text, ms):
 * A whole number and one of ms s m h d. Returns false when it is not one, or
 * above ten years.
 */
bool duration_parse(const char *text, int64_t *ms);

/** duration_show(ms, out, size): The shortest exact form: "10m", "90s". */
void duration_show(int64_t ms, char *out, size_t size);

#endif
