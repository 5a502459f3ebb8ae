/* code_chart: the forms of charts and tables, and what is none. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>
#include <json-c/json.h>

#include "fcgi/code_chart.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static bool holds(bool (*ok)(struct json_object *v), const char *json)
{
	struct json_object *v = json_tokener_parse(json);
	bool r;

	assert_non_null(v);
	r = ok(v);
	json_object_put(v);
	return r;
}

static void every_type_of_chart_passes(void **state)
{
	static const char *const good[] = {
	    "{\"type\":\"line\",\"title\":\"t\",\"x\":{\"label\":\"a\","
	    "\"unit\":null,\"scale\":\"linear\",\"ticks\":[0,\"b\",null,"
	    "{\"value\":1,\"label\":\"1\"}]},\"y\":{},\"elements\":["
	    "{\"label\":\"l\",\"points\":[[0,1],[\"2024-01-01\",null]]}]}",
	    "{\"type\":\"scatter\",\"elements\":[{\"label\":null,"
	    "\"points\":[]}]}",
	    "{\"type\":\"bar\",\"elements\":[{\"label\":\"a\",\"value\":1.5,"
	    "\"group\":null},{\"label\":2,\"value\":null}]}",
	    "{\"type\":\"pie\",\"elements\":[{\"label\":\"a\",\"angle\":90,"
	    "\"radius\":1}]}",
	    "{\"type\":\"box\",\"elements\":[{\"label\":\"a\",\"min\":0,"
	    "\"q1\":1,\"median\":2,\"q3\":3,\"max\":4,\"outliers\":[9]}]}",
	    "{\"type\":\"heatmap\",\"version\":1,\"elements\":[{\"label\":null,"
	    "\"unit\":\"m\",\"x\":[\"a\",2],\"y\":[1],\"values\":[[1,null]]}]}",
	    "{\"type\":\"unknown\",\"elements\":[]}",
	    "{\"type\":\"super\",\"title\":\"\",\"elements\":["
	    "{\"type\":\"bar\",\"elements\":[]},"
	    "{\"type\":\"unknown\",\"elements\":[{\"any\":[]}]}]}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(good); i++)
		assert_true(holds(code_chart_ok, good[i]));
}

static void other_forms_are_no_charts(void **state)
{
	static const char *const bad[] = {
	    "{\"type\":\"heatmap\",\"elements\":[{\"label\":null,"
	    "\"x\":[1],\"y\":[1,2],\"values\":[[1]]}]}",
	    "{\"type\":\"heatmap\",\"elements\":[{\"label\":null,"
	    "\"x\":[1],\"y\":[1],\"values\":[[\"a\"]]}]}",
	    "[]",
	    "1",
	    "{}",
	    "{\"type\":\"line\"}",
	    "{\"type\":1,\"elements\":[]}",
	    "{\"type\":\"line\",\"title\":1,\"elements\":[]}",
	    "{\"type\":\"line\",\"x\":[],\"elements\":[]}",
	    "{\"type\":\"line\",\"x\":{\"label\":1},\"elements\":[]}",
	    "{\"type\":\"line\",\"x\":{\"ticks\":1},\"elements\":[]}",
	    "{\"type\":\"line\",\"x\":{\"ticks\":[[]]},\"elements\":[]}",
	    "{\"type\":\"line\",\"elements\":[1]}",
	    "{\"type\":\"line\",\"elements\":[{\"label\":\"a\"}]}",
	    "{\"type\":\"line\",\"elements\":[{\"points\":[[1]]}]}",
	    "{\"type\":\"line\",\"elements\":[{\"points\":[[1,[]]]}]}",
	    "{\"type\":\"line\",\"elements\":[{\"points\":[{}]}]}",
	    "{\"type\":\"bar\",\"elements\":[{\"label\":\"a\"}]}",
	    "{\"type\":\"bar\",\"elements\":[{\"value\":\"1\"}]}",
	    "{\"type\":\"bar\",\"elements\":[{\"label\":[],\"value\":1}]}",
	    "{\"type\":\"pie\",\"elements\":[{\"angle\":1}]}",
	    "{\"type\":\"box\",\"elements\":[{\"min\":0,\"q1\":1,"
	    "\"median\":2,\"q3\":3,\"max\":4}]}",
	    "{\"type\":\"super\",\"elements\":[1]}",
	    "{\"type\":\"super\",\"elements\":[{\"type\":\"super\","
	    "\"elements\":[]}]}",
	    "{\"type\":\"super\",\"elements\":[{\"type\":\"line\","
	    "\"elements\":[{}]}]}",
	};

	(void)state;
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(holds(code_chart_ok, bad[i]));
}

static void a_table_has_as_many_cells_as_it_says(void **state)
{
	static const char *const bad[] = {
	    "[]",
	    "{}",
	    "{\"columns\":[\"a\"],\"index\":[0],\"rows\":[[1]]}",
	    "{\"columns\":[\"a\"],\"index\":[0,1],\"index_names\":[null],"
	    "\"rows\":[[1]]}",
	    "{\"columns\":[\"a\"],\"index\":[0],\"index_names\":[null],"
	    "\"rows\":[[1,2]]}",
	    "{\"columns\":[\"a\"],\"index\":[0],\"index_names\":[null],"
	    "\"rows\":[1]}",
	    "{\"columns\":[\"a\"],\"index\":[0],\"index_names\":[null],"
	    "\"rows\":[[1]],\"total_rows\":\"x\"}",
	};

	(void)state;
	assert_true(holds(code_chart_table_ok,
			  "{\"columns\":[],\"index\":[],\"index_names\":[],"
			  "\"rows\":[]}"));
	assert_true(holds(code_chart_table_ok,
			  "{\"columns\":[\"a\",\"b\"],\"index\":[[0,1]],"
			  "\"index_names\":[\"i\",\"j\"],"
			  "\"rows\":[[1,null]],\"total_rows\":100}"));
	for (size_t i = 0; i < COUNT(bad); i++)
		assert_false(holds(code_chart_table_ok, bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
	    cmocka_unit_test(every_type_of_chart_passes),
	    cmocka_unit_test(other_forms_are_no_charts),
	    cmocka_unit_test(a_table_has_as_many_cells_as_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
