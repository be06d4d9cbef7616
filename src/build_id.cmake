# Writes the C++ source OUTPUT, which defines wallheat::build_id: a hash of the files LIBRARIES.
set(hashes)
foreach(library ${LIBRARIES})
  file(SHA256 ${library} hash)
  list(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
file(WRITE ${OUTPUT} "namespace wallheat {\nextern const char* const build_id;\nconst char* const build_id = \"wallheat build ${hash}\";\n}\n")
