# cmake -DOUT=x.c "-DSQL=a.sql;b.sql" -P embed.cmake
# Writes the migrations as one table in name order (store/migrate.h).
set(arrays "")
set(rows "")
set(n 0)
foreach(path ${SQL})
	get_filename_component(name ${path} NAME_WE)
	if(NOT name MATCHES "^(ctl|node|logs)_[0-9][0-9][0-9][0-9]_[a-z0-9_]+$")
		message(FATAL_ERROR "${path}: name must be <file>_NNNN_what.sql")
	endif()
	file(READ ${path} hex HEX)
	string(LENGTH "${hex}" len)
	math(EXPR len "${len} / 2")
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
	string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
	string(APPEND arrays
		"static const char sql_${n}[] = {\n${bytes}0};\n\n")
	string(APPEND rows "\t{\"${name}\", sql_${n}, ${len}},\n")
	math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${OUT} "/* Made by store/embed.cmake; do not edit. */
#include \"store/migrate.h\"

${arrays}const struct migration migrate_embedded[] = {
${rows}};

const size_t migrate_embedded_count = ${n};
")
