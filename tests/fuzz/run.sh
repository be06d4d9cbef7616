#!/usr/bin/env bash
# Fuzzes one target after the other with libFuzzer. Needs clang 16: older ones do not compile all of C++20 that is used here.
#
#   tests/fuzz/run.sh SECONDS [TARGET ...]     e.g.: tests/fuzz/run.sh 600 results zip
#
# Builds the preset `fuzz`. The corpus and whatever is found stay in $WALLHEAT_FUZZ_CORPUS (default:
# wallheat-fuzz in the cache directory of the user), where the next run goes on. Prints the executions of each
# target. Exit status: 0 no finding, 1 a finding (or a target that does not run), 2 wrong usage.
set -euo pipefail

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
targets=(config recording formula listing npy zip message results)

if [[ ! ${1:-} =~ ^[1-9][0-9]*$ ]]; then
  echo "usage: tests/fuzz/run.sh SECONDS [TARGET ...], targets: ${targets[*]}" >&2
  exit 2
fi
seconds=$1
shift
[ $# -eq 0 ] || targets=("$@")
corpus=${WALLHEAT_FUZZ_CORPUS:-${XDG_CACHE_HOME:-$HOME/.cache}/wallheat-fuzz}

build() { cd "$root" && cmake --preset fuzz && cmake --build --preset fuzz; }
if ! said=$(build 2>&1); then
  echo "$said" >&2
  echo "tests/fuzz/run.sh: the preset 'fuzz' does not build" >&2
  exit 1
fi

# On a tmpfs if there is one: the targets write files and sync them.
scratch=$(mktemp -d -p "$([ -d /dev/shm ] && echo /dev/shm || echo "${TMPDIR:-/tmp}")" wallheat-fuzz.XXXXXX)
trap 'rm -rf "$scratch"' EXIT

status=0
for target in "${targets[@]}"; do
  place=$corpus/$target
  mkdir -p "$place/corpus" "$place/findings"
  outcome="no finding"
  # Leaks are not looked for: HDF5 loses memory where it refuses a file, and the store on purpose leaves a file
  # open that it could not write.
  if ! TMPDIR=$scratch ASAN_OPTIONS=detect_leaks=0 WALLHEAT_FUZZ_TARGET=$target \
    WALLHEAT_FUZZ_SEEDS=$place/corpus "$root/build-fuzz/tests/fuzz/fuzz" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=6000 \
    -max_len=60000 -print_final_stats=1 -artifact_prefix="$place/findings/" "$place/corpus" > "$place/output" 2>&1; then
    outcome="FINDING, see $place/output and $place/findings"
    status=1
  fi
  printf '%-8s %9s executions, %s\n' "$target" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$place/output" | tail -n 1)" "$outcome"
done
exit $status
