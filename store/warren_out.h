/* How the command line shows rows: as text or as JSON. */
#ifndef STORE_WARREN_OUT_H
#define STORE_WARREN_OUT_H

#include <stdbool.h>
#include <stdio.h>

#include "store/sql_query.h"

struct warren_out {
	FILE *file;
	bool json;
	bool any;
	const char **names;
	size_t n;
	char **owned;
};

/**
 * warren_out_sink(o):
 * A sink that writes to ${o}->file: as text a head line, then a line for each
 * row, columns apart by tabs, what cannot be printed escaped; as JSON one
 * array of objects, always valid.
 */
struct sql_sink warren_out_sink(struct warren_out *o);

/** warren_out_end(o): Close the array; free. */
void warren_out_end(struct warren_out *o);

#endif
