#!/usr/bin/env bash
# Each file of src and tests compiles separately without warnings: a unity build does not detect missing includes. If the
# build folder is not a unity build, this test compiles the folders as a unity build instead.
#
#   test_separate_files.sh SOURCE BUILD [FOLDER ...]     default: src tests, which takes ten minutes
set -euo pipefail
source=$1
build=$2
shift 2
[ $# -gt 0 ] || set -- src tests
other=$(mktemp -d)
trap 'rm -rf "$other"' EXIT

unity=ON
if grep -q '^CMAKE_UNITY_BUILD:BOOL=ON$' "$build/CMakeCache.txt"; then unity=OFF; fi
cmake -S "$source" -B "$other" -DCMAKE_UNITY_BUILD=$unity -DWALLHEAT_CUDA=OFF -DCMAKE_BUILD_TYPE=Release > "$other/log" 2>&1 || {
  cat "$other/log"
  exit 1
}
# The compile commands of the files below the folders, without code generation. Generated files do not exist.
python3 - "$other" "$source" "$@" > "$other/commands" << 'END'
import json, os, sys
other, source, *folders = sys.argv[1:]
below = tuple(os.path.join(root, folder, "") for root in (source, other) for folder in folders)
with open(os.path.join(other, "compile_commands.json"), encoding="utf-8") as file:
    for each in json.load(file):
        if each["file"].startswith(below) and os.path.exists(each["file"]):
            print(each["command"], "-fsyntax-only -Werror")
END
count=$(wc -l < "$other/commands")
[ "$count" -ge $# ] || { echo "found only $count files to compile"; exit 1; }
cd "$other"
xargs -P "$(nproc)" -d '\n' -n 1 sh -c < "$other/commands"
echo "$count files compile separately (CMAKE_UNITY_BUILD=$unity)"
