# cmake -DOUT=x.c "-DFILES=a.py;b.py" -P embed.cmake
# Writes the guests as one table of texts (store/warren_attempt.h).
set(arrays "")
set(rows "")
set(n 0)
foreach(path ${FILES})
	get_filename_component(name ${path} NAME)
	file(READ ${path} hex HEX)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
	string(REGEX REPLACE "(................................................................................)" "\\1\n" bytes "${bytes}")
	string(APPEND arrays
		"static const char text_${n}[] = {\n${bytes}0};\n\n")
	string(APPEND rows "\t{\"${name}\", text_${n}},\n")
	math(EXPR n "${n} + 1")
endforeach()
file(WRITE ${OUT} "/* Made by store/selftest/embed.cmake; do not edit. */
#include \"store/warren_attempt.h\"

${arrays}const struct warren_guest warren_guests[] = {
${rows}};

const size_t warren_guests_count = ${n};
")
