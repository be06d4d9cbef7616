# Writes the C++ source OUTPUT, which defines wallheat::source_commit: the commit of the folder SOURCE, with the suffix -dirty
# if tracked files were modified; an empty string without git, or if SOURCE is not a separate work tree, as in an archive.
# Each build runs this script. It does not touch OUTPUT if the commit is the same, so that nothing is compiled again.
cmake_minimum_required(VERSION 3.22)
find_program(GIT git)
set(commit "")
if(GIT AND EXISTS ${SOURCE}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE} describe --always --dirty --abbrev=12 --exclude=*
    OUTPUT_VARIABLE commit ERROR_QUIET OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
file(CONFIGURE OUTPUT ${OUTPUT} @ONLY CONTENT
  "namespace wallheat {\nextern const char* const source_commit;\nconst char* const source_commit = \"${commit}\";\n}\n")
