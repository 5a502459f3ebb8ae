#include <json-c/json.h>
#include <stddef.h>
#include <string.h>

#include "fcgi/code_chart.h"

static bool chart_text(struct json_object *v)
{
	return json_object_is_type(v, json_type_string);
}

static bool chart_text_or_null(struct json_object *v)
{
	return v == NULL || chart_text(v);
}

static bool chart_array(struct json_object *v)
{
	return json_object_is_type(v, json_type_array);
}

static bool chart_scalar(struct json_object *v)
{
	return !chart_array(v) && !json_object_is_type(v, json_type_object);
}

static bool chart_scalars(struct json_object *v)
{
	if (!chart_array(v))
		return false;
	for (size_t i = 0; i < json_object_array_length(v); i++)
		if (!chart_scalar(json_object_array_get_idx(v, i)))
			return false;
	return true;
}

static bool chart_number(struct json_object *v)
{
	return v == NULL || json_object_is_type(v, json_type_int) ||
	       json_object_is_type(v, json_type_double);
}

static bool chart_numbers(struct json_object *v, const char *const *keys,
			  size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct json_object *m;

		if (!json_object_object_get_ex(v, keys[i], &m) ||
		    !chart_number(m))
			return false;
	}
	return true;
}

/* A tick: a value, or {value, label}. */
static bool chart_tick(struct json_object *v)
{
	if (!json_object_is_type(v, json_type_object))
		return chart_scalar(v);
	return chart_scalar(json_object_object_get(v, "value")) &&
	       chart_scalar(json_object_object_get(v, "label"));
}

static bool chart_axis(struct json_object *v)
{
	struct json_object *ticks;

	if (v == NULL)
		return true;
	if (!json_object_is_type(v, json_type_object) ||
	    !chart_text_or_null(json_object_object_get(v, "label")) ||
	    !chart_text_or_null(json_object_object_get(v, "unit")) ||
	    !chart_text_or_null(json_object_object_get(v, "scale")))
		return false;
	ticks = json_object_object_get(v, "ticks");
	if (ticks == NULL)
		return true;
	if (!chart_array(ticks))
		return false;
	for (size_t i = 0; i < json_object_array_length(ticks); i++)
		if (!chart_tick(json_object_array_get_idx(ticks, i)))
			return false;
	return true;
}

static bool chart_points(struct json_object *element)
{
	struct json_object *points = json_object_object_get(element, "points");

	if (!chart_array(points))
		return false;
	for (size_t i = 0; i < json_object_array_length(points); i++) {
		struct json_object *p = json_object_array_get_idx(points, i);

		if (!chart_scalars(p) || json_object_array_length(p) < 2)
			return false;
	}
	return true;
}

static bool chart_bar(struct json_object *element)
{
	return json_object_object_get_ex(element, "value", NULL) &&
	       chart_number(json_object_object_get(element, "value")) &&
	       chart_scalar(json_object_object_get(element, "group"));
}

static bool chart_pie(struct json_object *element)
{
	static const char *const keys[] = {"angle", "radius"};

	return chart_numbers(element, keys, 2);
}

static bool chart_box(struct json_object *element)
{
	static const char *const keys[] = {"min", "q1", "median", "q3", "max"};

	return chart_numbers(element, keys, 5) &&
	       chart_scalars(json_object_object_get(element, "outliers"));
}

/* As many rows as y, each with as many numbers as x. */
static bool chart_heatmap(struct json_object *element)
{
	struct json_object *x = json_object_object_get(element, "x");
	struct json_object *y = json_object_object_get(element, "y");
	struct json_object *rows = json_object_object_get(element, "values");

	if (!chart_scalars(x) || !chart_scalars(y) || !chart_array(rows) ||
	    json_object_array_length(rows) != json_object_array_length(y) ||
	    !chart_text_or_null(json_object_object_get(element, "unit")))
		return false;
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!chart_array(row) || json_object_array_length(row) !=
					     json_object_array_length(x))
			return false;
		for (size_t k = 0; k < json_object_array_length(row); k++)
			if (!chart_number(json_object_array_get_idx(row, k)))
				return false;
	}
	return true;
}

struct chart_type {
	const char *name;
	bool (*element)(struct json_object *v);
};

static const struct chart_type chart_types[] = {
    {"line", chart_points}, {"scatter", chart_points},
    {"bar", chart_bar},     {"pie", chart_pie},
    {"box", chart_box},     {"heatmap", chart_heatmap},
};

/* An element of a type that is not in the table is any object. */
static bool chart_element(const char *type, struct json_object *v)
{
	if (!json_object_is_type(v, json_type_object) ||
	    !chart_scalar(json_object_object_get(v, "label")))
		return false;
	for (size_t i = 0; i < sizeof(chart_types) / sizeof(chart_types[0]);
	     i++)
		if (strcmp(chart_types[i].name, type) == 0)
			return chart_types[i].element(v);
	return true;
}

/* Everything of a chart but its elements; its type's name or NULL. */
static const char *chart_head(struct json_object *v)
{
	struct json_object *type;

	if (!json_object_is_type(v, json_type_object))
		return NULL;
	type = json_object_object_get(v, "type");
	if (!chart_text(type) || json_object_get_string_len(type) > 64 ||
	    !chart_text_or_null(json_object_object_get(v, "title")) ||
	    !chart_axis(json_object_object_get(v, "x")) ||
	    !chart_axis(json_object_object_get(v, "y")) ||
	    !chart_array(json_object_object_get(v, "elements")))
		return NULL;
	return json_object_get_string(type);
}

static bool chart_flat(struct json_object *v)
{
	const char *type = chart_head(v);
	struct json_object *elements;

	if (type == NULL || strcmp(type, "super") == 0)
		return false;
	elements = json_object_object_get(v, "elements");
	for (size_t i = 0; i < json_object_array_length(elements); i++)
		if (!chart_element(type,
				   json_object_array_get_idx(elements, i)))
			return false;
	return true;
}

bool code_chart_ok(struct json_object *v)
{
	const char *type = chart_head(v);
	struct json_object *elements;

	if (type == NULL || strcmp(type, "super") != 0)
		return type != NULL && chart_flat(v);
	elements = json_object_object_get(v, "elements");
	for (size_t i = 0; i < json_object_array_length(elements); i++)
		if (!chart_flat(json_object_array_get_idx(elements, i)))
			return false;
	return true;
}

bool code_chart_table_ok(struct json_object *v)
{
	struct json_object *columns, *index, *rows, *total;

	if (!json_object_is_type(v, json_type_object))
		return false;
	columns = json_object_object_get(v, "columns");
	index = json_object_object_get(v, "index");
	rows = json_object_object_get(v, "rows");
	total = json_object_object_get(v, "total_rows");
	if (!chart_array(columns) || !chart_array(index) ||
	    !chart_array(rows) ||
	    !chart_array(json_object_object_get(v, "index_names")) ||
	    json_object_array_length(rows) != json_object_array_length(index))
		return false;
	if (total != NULL && !json_object_is_type(total, json_type_int))
		return false;
	for (size_t i = 0; i < json_object_array_length(rows); i++) {
		struct json_object *row = json_object_array_get_idx(rows, i);

		if (!chart_array(row) || json_object_array_length(row) !=
					     json_object_array_length(columns))
			return false;
	}
	return true;
}
