#!/usr/bin/env bash
# The solver and its benchmark build without MPI, HDF5, hwloc and Boost, as on a minimal machine with a GPU. This test
# builds without CUDA, which would take minutes.
set -euo pipefail
source=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
cmake -S "$source" -B "$build" -DWALLHEAT_SOLVER_ONLY=ON -DWALLHEAT_CUDA=OFF -DCMAKE_BUILD_TYPE=Debug > "$build/log" 2>&1 || {
  cat "$build/log"
  exit 1
}
cmake --build "$build" --target bench_gpu -j "$(nproc)" > "$build/log" 2>&1 || {
  tail -40 "$build/log"
  exit 1
}
status=0
"$build/tests/bench_gpu" 2> "$build/messages" || status=$?
cat "$build/messages"
[ "$status" = 1 ] && [ "$(wc -l < "$build/messages")" = 1 ] && grep -qw CUDA "$build/messages"
