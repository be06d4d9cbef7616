#!/usr/bin/env bash
# Fuzzes the targets one after the other with libFuzzer. Needs clang 16 for C++20.
#
#   tests/fuzz/run.sh SECONDS [TARGET ...]     e.g.: tests/fuzz/run.sh 600 results zip
#
# Builds the preset `fuzz`. The corpus and the findings are stored in $WALLHEAT_FUZZ_CORPUS (default: wallheat-fuzz in the
# cache directory of the user), where the next run continues. Prints the number of executions of each target.
# Exit status: 0 no finding, 1 a finding (or a target that does not run), 2 wrong usage.
set -euo pipefail

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
targets=(config recording formula listing printed npy zip message results)

if [[ ! ${1:-} =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: tests/fuzz/run.sh SECONDS [TARGET ...], targets: ${targets[*]}" >&2
  exit 2
fi
seconds=$1
shift
[ $# -eq 0 ] || targets=("$@")
corpus=${WALLHEAT_FUZZ_CORPUS:-${XDG_CACHE_HOME:-$HOME/.cache}/wallheat-fuzz}

build() { cd "$root" && cmake --preset fuzz && cmake --build --preset fuzz; }
if ! output=$(build 2>&1); then
  echo "$output" >&2
  echo "tests/fuzz/run.sh: failed to build the preset 'fuzz'" >&2
  exit 1
fi

# Uses a tmpfs if available: the targets write files and sync them.
scratch=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")" wallheat-fuzz.XXXXXX)
trap 'rm -rf "$scratch"' EXIT

status=0
for target in "${targets[@]}"; do
  folder=$corpus/$target
  mkdir -p "$folder/corpus" "$folder/findings"
  outcome="no finding"
  # Leak detection is off: HDF5 leaks memory when it rejects a file, and the store deliberately leaves a file open after
  # a failed write.
  if ! TMPDIR=$scratch ASAN_OPTIONS=detect_leaks=0 WALLHEAT_FUZZ_TARGET=$target \
    WALLHEAT_FUZZ_SEEDS=$folder/corpus "$root/build-fuzz/tests/fuzz/fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=6000 \
    -max_len=60000 -print_final_stats=1 -artifact_prefix="$folder/findings/" "$folder/corpus" > "$folder/output" 2>&1; then
    outcome="FINDING, see $folder/output and $folder/findings"
    status=1
  fi
  printf '%-8s %9s executions, %s\n' "$target" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$folder/output" | tail -n 1)" "$outcome"
done
exit $status
