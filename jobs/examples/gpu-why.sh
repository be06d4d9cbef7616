#!/usr/bin/env bash
# Shows why and for which plans a GPU is worthwhile: CPU and GPU over the size of the plans, the cost of data transfers,
# and the number of plans that fit into the memory of a GPU. Creates tables, pictures and a page.
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

begin_task "Task 1: CPU and GPU over the size of the plans"
if has_gpu; then
  wallheat_step sizes "This GPU and these cores" bench --device gpu
else
  note_omission "measurements of a GPU" "there is no GPU that this wallheat can use"
  wallheat_step sizes "The solvers on one core" bench --solvers --plans 1 --sizes 64,128,256,512 --repeat 1
fi

begin_task "Task 2: cost of the transfer to a GPU" "A plan is copied to the GPU once and makes thousands of iterations there, so the main cost is not\
 the transfer but the start of a plan, and cores finish small plans before a GPU starts them."
wallheat_step offload "Operations per value above which a GPU is worthwhile: 15 GB/s, 1e12 operations/s of a GPU, 1e10 of a core" \
  offload --bandwidth 15e9 --gpu 1e12 --cpu 1e10

begin_task "Task 3: plans that fit" "A plan that is too large for the memory of the GPU is rejected with a message that contains its ID; to solve it\
 on cores, use --device cpu."
# memory_rows    prints how many plans fit into the memory of a GPU: each needs three fields of doubles, and one bit per cell
# for its mask
memory_rows() {
  echo "    cells per side   GB on the GPU   plans at once in $memory GB"
  for side in 512 2048 8192 16384 32768; do
    awk -v n="$side" -v memory="$memory" 'BEGIN { gb = n * n * 24.125 / 1e9; printf "%18d   %13.3g   %d\n", n, gb, memory / gb }'
  done
}
text_step memory "Memory" memory_rows

write_page "When a GPU is worthwhile"
