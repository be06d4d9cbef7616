#!/usr/bin/env bash
# What the compiler made of the GPU's kernels: registers, stack and spills a thread, and barriers, for each architecture.
# Needs nvcc, and no GPU.
#
#   tests/bench/kernel_code.sh [ARCHITECTURE ...]     default: 75 80 90 120, as far as nvcc knows them
#
# To compare two commits, run it in both: fewer spills and no more registers are what to look for.
set -euo pipefail
root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
nvcc=${CUDACXX:-$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)}
[ -x "$nvcc" ] || { echo "There is no nvcc at $nvcc; name it by CUDACXX." >&2; exit 1; }
known=$("$nvcc" --list-gpu-arch)
architectures=("$@")
[ $# -gt 0 ] || architectures=(75 80 90 120)
printf '%-6s %-64s %9s %6s %7s %7s\n' arch kernel registers stack stores loads
for architecture in "${architectures[@]}"; do
  grep -qx "compute_$architecture" <<< "$known" || { echo "this nvcc does not know $architecture" >&2; continue; }
  for source in cluster_kernel kernels; do
    [ $source = kernels ] || [ "$architecture" -ge 90 ] || continue  # clusters came with 9.0
    "$nvcc" -std=c++20 --fmad=false --expt-relaxed-constexpr -arch="sm_$architecture" -I"$root/src" -I"$root/include" \
      -Xptxas -v -cubin -o /dev/null "$root/src/solve/gpu/$source.cu" 2>&1 | c++filt |
      awk -v arch="$architecture" '
        /Function properties for/ { kernel = $0; sub(/.*properties for /, "", kernel); gsub(/wallheat::gpu::|\(anonymous namespace\)::|void /, "", kernel); sub(/\(.*/, "", kernel) }
        /bytes stack frame/ { stack = $1; stores = $5; loads = $9 }
        /Used [0-9]+ registers/ { for (i = 1; i < NF; ++i) if ($i == "Used") registers = $(i + 1)
          if (kernel != "") printf "%-6s %-64s %9s %6s %7s %7s\n", arch, kernel, registers, stack, stores, loads; kernel = "" }'
  done
done
