#!/usr/bin/env bash
# Why a GPU, and for which plans, whole: CPU and GPU over sizes, what moving data costs, and what fits its memory; with
# tables, pictures and a page of them.
#   jobs/examples/gpu-why.sh --out OUT [OPTIONS]
#   jobs/examples/gpu-why.sh --out why --memory 80
#   jobs/examples/gpu-why.sh --out why --list       # only tells what it would do
# OUT is a folder, made if missing; the page is OUT/index.html. The same command goes on where it was stopped.
#   --memory GB        of a GPU, for what fits (default: 16)
set -Eeuo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$jobs/steps.sh"
usage 1 "$@"
me="gpu-why.sh"
out='' memory=16
study out memory -- "$@"
wallheat=$("$jobs/own-wallheat.sh")

task 1 "CPU and GPU over the size of plans"
if has_gpu; then
  text measured "This GPU and these cores" "$wallheat" bench --device gpu --plot measured.svg --overwrite
  picture measured "Plans a second over their size"
else
  left_out "measurements of a GPU" "there is none here that this wallheat can use"
  text sizes "The solvers on one core" "$wallheat" bench --solvers --plans 1 --sizes 64,128,256,512 --repeat 1 --plot sizes.svg --overwrite
  picture sizes "A plan's time over its size, on one core"
fi

task 2 "What the way to a GPU costs"
table offload "From so many operations on a value it pays: 15 GB/s, 1e12 operations/s there, 1e10 of a core here" \
  "$wallheat" offload --bandwidth 15e9 --gpu 1e12 --cpu 1e10
figure offload-plot "Time over the operations a value" "$wallheat" offload --bandwidth 15e9 --gpu 1e12 --cpu 1e10 --plot @OUT@
note "A plan goes to the GPU once and makes thousands of iterations there, so what it costs is not the way but the start\
 of a plan, and small plans are done on cores before it begins."

task 3 "What fits"
# memory_rows    a large plan takes three fields of doubles and a bit a cell for its mask
memory_rows() {
  local side
  echo "cells along a side  GB on the GPU  plans at once in $memory GB"
  for side in 512 2048 8192 16384 32768; do
    awk -v n="$side" -v memory="$memory" 'BEGIN { gb = n * n * 24.125 / 1e9; printf "%d  %.3g  %d\n", n, gb, memory / gb }'
  done
}
table memory "Memory" memory_rows
note "A plan that is too large for the GPU even alone is refused with a sentence that names it; the same plan is solved\
 by cores with --device cpu."

page "Why a GPU, and for which plans"
