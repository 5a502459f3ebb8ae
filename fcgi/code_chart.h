/* Whether what a kernel calls a chart or a table has that form. */
#ifndef FCGI_CODE_CHART_H
#define FCGI_CODE_CHART_H

#include <stdbool.h>

struct json_object;

/**
 * code_chart_ok(v):
 * {type, title, x?, y?, elements}: an axis is {label, unit?, scale?, ticks?},
 * elements are objects; line and scatter have points [[x, y]], bar has
 * label and value, pie angle and radius, box its quartiles; super has charts,
 * which are not super themselves.
 */
bool code_chart_ok(struct json_object *v);

/**
 * code_chart_table_ok(v):
 * {columns, index, index_names, rows, total_rows?}: as many rows as index
 * entries, each as long as columns.
 */
bool code_chart_table_ok(struct json_object *v);

#endif
