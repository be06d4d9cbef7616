#!/usr/bin/env bash
# CMake refuses compilers that are too old, before it compiles anything. The compiler of this build acts as them: it defines
# the macros by which CMake identifies a compiler.
#   test_compilers.sh SOURCE CMAKE COMPILER
set -uo pipefail
source=$1 cmake=$2 compiler=$3
# shellcheck source-path=SCRIPTDIR source=../cluster/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../cluster/checks.sh"
cd "$scratch" || exit 1

# configure NAME MACRO...: configures the solver with a compiler that defines these macros.
configure() {
  local name=$1
  printf '#!/bin/sh\nexec "%s" %s "$@"\n' "$compiler" "${*:2}" > "$name"
  chmod +x "$name"
  "$cmake" -S "$source" -B "build-$name" -DWALLHEAT_SOLVER_ONLY=ON -DWALLHEAT_TESTS=OFF -DWALLHEAT_CUDA=OFF \
    -DCMAKE_CXX_COMPILER="$scratch/$name" > "$name.log" 2>&1
}
gcc() { configure "gcc-$1" -U__clang__ -U__GNUC__ "-D__GNUC__=$1"; }
clang() { configure "clang-$1" -U__clang__ -D__clang__=1 -U__clang_major__ "-D__clang_major__=$1" \
  -U__clang_minor__ -D__clang_minor__=0 -U__clang_patchlevel__ -D__clang_patchlevel__=0; }
for refused in "gcc 11 12" "clang 14 16" "clang 15 16"; do
  read -r name version first <<< "$refused"
  "$name" "$version"
  check "$name $version is refused" same 1 $? || cat "$name-$version.log"
  check "$name $version: the message names the compiler and version $first" mentions "$name-$version.log" "$scratch/$name-$version" \
    "$version" "$first" -DCMAKE_CXX_COMPILER
done
for accepted in "gcc 12" "clang 16"; do
  read -r name version <<< "$accepted"
  "$name" "$version"
  check "$name $version is accepted" same 0 $? || tail -20 "$name-$version.log"
done
finish
