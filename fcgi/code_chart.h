/* Whether what a kernel calls a chart or a table has that form. */
#ifndef FCGI_CODE_CHART_H
#define FCGI_CODE_CHART_H

#include <stdbool.h>

struct json_object;

/**
 * code_chart_ok(v):
 * The shape of CHARTS.md; types that it does not have may have any elements,
 * keys that it does not have may be there.
 */
bool code_chart_ok(struct json_object *v);

/**
 * code_chart_table_ok(v):
 * {columns, index, index_names, rows, total_rows?}: as many rows as index
 * entries, each as long as columns.
 */
bool code_chart_table_ok(struct json_object *v);

#endif
