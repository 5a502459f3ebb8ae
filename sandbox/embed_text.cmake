# cmake -DOUT=x.c "-DTEXT=net_a.nft;net_b.nft" -P embed_text.cmake
# Writes each text as a string net_text_a (sandbox/net_text.h).
set(arrays "#include \"sandbox/net_text.h\"\n")
foreach(path ${TEXT})
	get_filename_component(name ${path} NAME_WE)
	string(REGEX REPLACE "^net_" "net_text_" name ${name})
	file(READ ${path} hex HEX)
	string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
	string(APPEND arrays "\nconst char ${name}[] = {\n${bytes}0};\n")
endforeach()
file(WRITE ${OUT} "${arrays}")
