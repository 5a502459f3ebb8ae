# cmake -DOUT=x.c "-DTEXT=net_a.nft;session.bash" -P embed_text.cmake
# Writes each text, without its comments, as a string: net_text_a (declared in
# sandbox/net_text.h), session_text (sandbox/session_text.h).
set(arrays "#include \"sandbox/net_text.h\"\n")
string(APPEND arrays "#include \"sandbox/session_text.h\"\n")
foreach(path ${TEXT})
	get_filename_component(name ${path} NAME_WE)
	string(REGEX REPLACE "^([a-z]+)" "\\1_text" name ${name})
	file(READ ${path} text)
	string(REGEX REPLACE "(^|\n)#[^\n]*" "" text "${text}")
	file(WRITE ${OUT}.text "${text}")
	file(READ ${OUT}.text hex HEX)
	file(REMOVE ${OUT}.text)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
	string(APPEND arrays "\nconst char ${name}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${arrays}")
