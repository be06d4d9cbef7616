#!/usr/bin/env bash
# Each file of src and tests compiles by itself, without a warning: a folder that compiles as one file does not show that
# a file lacks an include. Where the build folder compiles each file by itself, the folders are compiled as one file.
#
#   test_separate_files.sh SOURCE BUILD [FOLDER ...]     default: src tests, which takes some ten minutes
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
# The commands as CMake wrote them, of the files below the folders, but without code. What a build makes is not there.
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
[ "$count" -ge $# ] || { echo "only $count files were found to compile"; exit 1; }
cd "$other"
xargs -P "$(nproc)" -d '\n' -n 1 sh -c < "$other/commands"
echo "$count files compile by themselves (CMAKE_UNITY_BUILD=$unity)"
