#!/usr/bin/env bash
# Shows why and for which plans a GPU pays: CPU and GPU over the size of the plans, the cost of data transfers, and the
# number of plans that fit into the memory of a GPU. Creates tables, pictures and a page.
#   jobs/examples/gpu-why.sh --out OUT [OPTIONS]
#   jobs/examples/gpu-why.sh --out why --memory 80
#   jobs/examples/gpu-why.sh --out why --list       # only prints the steps
# The folder OUT is created if it does not exist; the page is OUT/index.html. If the study was stopped, the same command
# resumes it.
#   --memory GB        memory of a GPU, for the number of plans that fit (default: 16)
set -Eeuo pipefail
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../steps.sh"
out='' memory=16
start_study out memory -- "$@"

begin_task "Task 1: CPU and GPU over the size of plans"
if has_gpu; then
  wallheat_step sizes "This GPU and these cores" bench --device gpu
else
  note_omission "measurements of a GPU" "there is none here that this wallheat can use"
  wallheat_step sizes "The solvers on one core" bench --solvers --plans 1 --sizes 64,128,256,512 --repeat 1
fi

begin_task "Task 2: what the way to a GPU costs" "A plan goes to the GPU once and makes thousands of iterations there, so what it costs is not the\
 way but the start of a plan, and small plans are done on cores before it begins."
wallheat_step offload "From so many operations on a value it pays: 15 GB/s, 1e12 operations/s there, 1e10 of a core here" \
  offload --bandwidth 15e9 --gpu 1e12 --cpu 1e10

begin_task "Task 3: what fits" "A plan that is too large for the GPU even alone is refused with a sentence that names it; the same plan is solved\
 by cores with --device cpu."
# memory_rows    prints how many plans fit into the memory of a GPU: each needs three fields of doubles, and one bit per cell
# for its mask
memory_rows() {
  echo "cells along a side   GB on the GPU   plans at once in $memory GB"
  for side in 512 2048 8192 16384 32768; do
    awk -v n="$side" -v memory="$memory" 'BEGIN { gb = n * n * 24.125 / 1e9; printf "%18d   %13.3g   %d\n", n, gb, memory / gb }'
  done
}
text_step memory "Memory" memory_rows

write_page "Why a GPU, and for which plans"
