#!/usr/bin/env bash
# Each file of src compiles by itself, without a warning: a folder that compiles as one file does not show that a file
# lacks an include. Where the build folder compiles each file by itself, the folders are compiled as one file instead.
#
#   test_separate_files.sh SOURCE BUILD [FOLDER ...]     default: src; "src tests" takes the tests, too, some minutes
set -euo pipefail
source=$1
build=$2
shift 2
folders=$(IFS='|' && echo "${*:-src}")
other=$(mktemp -d)
trap 'rm -rf "$other"' EXIT

unity=ON
if grep -q '^CMAKE_UNITY_BUILD:BOOL=ON$' "$build/CMakeCache.txt"; then unity=OFF; fi
cmake -S "$source" -B "$other" -DCMAKE_UNITY_BUILD=$unity -DWALLHEAT_CUDA=OFF -DCMAKE_BUILD_TYPE=Release > "$other/log" 2>&1 || {
  cat "$other/log"
  exit 1
}
# The commands as CMake wrote them, but without code: "command": "c++ ... -o FILE.o -c FILE",
sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$other/compile_commands.json" | sed 's/\\"/"/g; s/\\\\/\\/g' |
  grep -E " -c ($source|$other)/($folders)/" |
  sed 's/ -o [^ ]* -c / -fsyntax-only -Werror -c /' > "$other/commands"
count=$(wc -l < "$other/commands")
[ "$count" -gt 10 ] || { echo "only $count files were found to compile"; exit 1; }
cd "$other"
xargs -P "$(nproc)" -d '\n' -n 1 sh -c < "$other/commands"
echo "$count files compile by themselves (CMAKE_UNITY_BUILD=$unity)"
