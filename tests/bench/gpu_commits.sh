#!/usr/bin/env bash
# Measures on a GPU what each of several commits gains. Reverts commits instead of switching their changes off by options, so
# that the program has no code that only the measurement uses.
#
#   gpu_commits.sh prepare DIR NAME=COMMIT...   in the repository, oldest commit first: exports the sources of HEAD to a new
#                                               folder DIR, in variants: "none" without these commits, one without each of
#                                               them, and "all". Only code of the program is reverted, no tests.
#   gpu_commits.sh build DIR                    on the machine with the GPU, to which DIR was copied: builds all variants.
#                                               Requires CMake, a C++20 compiler and a CUDA toolkit. CUDA_ARCHITECTURES is the
#                                               compute capability without the point (default: 90).
#   gpu_commits.sh measure DIR                  compares every bit of every variant with the CPU, and prints one table.
#                                               ROUNDS is the number of measurements of each value (default: 3).
#
# `prepare` copies this script and, if it is installed in /usr/src/googletest, the source of GoogleTest to DIR. With six
# variants, `build` and `measure` should take five to seven minutes on 16 cores.
set -euo pipefail

fail() {
  echo "gpu_commits.sh: $*" >&2
  exit 1
}

usage() {
  sed -n '2,/^set /{/^set /d;s/^# \{0,1\}//;p}' "$0"
}

prepare() {
  local change commit i
  local -a names=() commits=() variants=(none)
  for change; do
    [[ $change == ?*=?* ]] || fail "'$change': invalid change; example: blocks=1a2b3c4d"
    commit=$(git rev-parse --verify --quiet "${change#*=}^{commit}") || fail "commit '${change#*=}' not found"
    names+=("${change%%=*}")
    commits+=("$commit")
  done
  mkdir -- "$dir" || fail "use a new folder"
  cp -- "$0" "$dir/gpu_commits.sh"
  if [ -d /usr/src/googletest ]; then
    cp -r /usr/src/googletest "$dir/googletest"
  else
    echo "/usr/src/googletest not found: 'measure' cannot test every shape"
  fi
  mkdir "$dir/all"
  (cd "$(git rev-parse --show-toplevel)" && git archive HEAD -- CMakeLists.txt include src tests) | tar -x -C "$dir/all"
  cp -r "$dir/all" "$dir/none"
  for ((i = ${#names[@]} - 1; i >= 0; --i)); do
    revert "${commits[i]}" none || fail "${names[i]}: commit ${commits[i]} cannot be reverted"
  done
  for i in "${!names[@]}"; do
    cp -r "$dir/all" "$dir/without_${names[i]}"
    if revert "${commits[i]}" "without_${names[i]}"; then
      variants+=("without_${names[i]}")
    else
      echo "without_${names[i]}: left out, because a later commit depends on this one"
      rm -r "$dir/without_${names[i]}"
    fi
  done
  rm "$dir/change.patch"
  echo "${variants[@]}" all > "$dir/variants"
}

revert() { # commit, variant
  git diff "$1^" "$1" -- ':/include' ':/src' ':(top,exclude)*.md' > "$dir/change.patch"
  [ -s "$dir/change.patch" ] || fail "commit $1 changes no code"
  # Without --force, patch applies the change again if a later commit has undone it. With a fuzz factor, it ignores lines of
  # context, so it may revert another part of the file.
  patch --reverse --force --fuzz=0 --strip=1 --silent --no-backup-if-mismatch -d "$dir/$2" < "$dir/change.patch" > /dev/null
}

configure_and_build() { # folder, targets
  local folder=$1
  shift
  {
    cmake -S "$folder" -B "$folder/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH="$dir/gtest" \
      -DWALLHEAT_SOLVER_ONLY=ON -DWALLHEAT_CUDA=ON -DCMAKE_CUDA_ARCHITECTURES="${CUDA_ARCHITECTURES:-90}" &&
      cmake --build "$folder/build" -j "$jobs" --target "$@"
  } > "$folder/build.log" 2>&1
}

build() {
  local variant failed=0
  local -A running=()
  local -a targets=(bench_gpu)
  jobs=$(nproc)
  if [ -d "$dir/googletest" ]; then
    {
      cmake -S "$dir/googletest" -B "$dir/googletest/build" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$dir/gtest" &&
        cmake --build "$dir/googletest/build" -j "$jobs" --target install
    } > "$dir/googletest.log" 2>&1 || {
      tail -20 "$dir/googletest.log"
      fail "failed to build GoogleTest"
    }
    targets+=(test_gpu)
  fi
  jobs=$(((jobs + ${#variants[@]} - 1) / ${#variants[@]}))
  for variant in "${variants[@]}"; do
    configure_and_build "$dir/$variant" "${targets[@]}" &
    running[$variant]=$!
  done
  for variant in "${variants[@]}"; do
    wait "${running[$variant]}" || {
      tail -20 "$dir/$variant/build.log"
      echo "failed to build the variant '$variant'"
      failed=1
    }
  done
  [ "$failed" = 0 ] || fail "the variants cannot be measured"
  echo "built in $SECONDS s"
}

test_shapes() { # variant
  timeout -s KILL 150 "$dir/$1/build/tests/test_gpu" --gtest_filter='*EveryShape*:*SeveralBlocks*' > "$dir/$1/test.log" 2>&1
}

# Prints which tests ran. test_gpu succeeds, too, if it skips all tests, for example because it finds no GPU. The only accepted
# reason is that of test_gpu.cpp for a GPU without clusters.
report_tested_shapes() { # variant
  local log=$dir/$1/test.log accepted='this GPU has no clusters' reasons
  reasons=$(sed -n '/: Skipped$/{n;p}' "$log" | sort -u)
  [ -n "$reasons" ] || ! grep -q '^\[  SKIPPED \]' "$log" || reasons="the reason is in $log"
  [ -z "$reasons" ] || [ "$reasons" = "$accepted" ] || fail "variant '$1': test_gpu skipped tests: ${reasons//$'\n'/; }"
  grep -q '^\[  PASSED  \] [1-9]' "$log" || fail "variant '$1': test_gpu ran no test${reasons:+: $reasons}"
  echo "$1: every shape has the bits of the CPU${reasons:+; the cluster kernel was not tested: $reasons}"
}

run_bench() { # variant, output, options
  local variant=$1 output=$2
  shift 2
  timeout -s KILL 60 "$dir/$variant/build/tests/bench_gpu" "$@" >> "$dir/$variant/$output" 2> "$dir/$variant/messages" || {
    cat "$dir/$variant/messages"
    fail "variant '$variant': bench_gpu $* failed"
  }
}

# Prints the median of a field of all lines with this text, or "-".
median() { # file, text, field
  awk -v text="$2" -v field="$3" '$0 ~ text { print $field }' "$1" | sort -n | awk '{ value[NR] = $1 }
    END { print NR == 0 ? "-" : NR % 2 ? value[(NR + 1) / 2] : (value[NR / 2] + value[NR / 2 + 1]) / 2 }'
}

measure() {
  local variant round max_in_flight
  local -A running=()
  for variant in "${variants[@]}"; do
    rm -f "$dir/$variant"/{plans,streamed,opening}
    run_bench "$variant" first_opening --open # fails early without a GPU
  done
  for variant in "${variants[@]}"; do
    if [ -x "$dir/$variant/build/tests/test_gpu" ]; then
      test_shapes "$variant" &
      running[$variant]=$!
    fi
  done
  for variant in "${variants[@]}"; do
    [ -n "${running[$variant]:-}" ] || {
      echo "$variant: not tested on every shape, because GoogleTest was not found"
      continue
    }
    wait "${running[$variant]}" || {
      tail -20 "$dir/$variant/test.log"
      fail "variant '$variant': test_gpu failed, or did not end within 150 s"
    }
    report_tested_shapes "$variant"
  done
  for ((round = 0; round < ${ROUNDS:-3}; ++round)); do
    for variant in "${variants[@]}"; do
      run_bench "$variant" plans --quick
      run_bench "$variant" streamed --quick --streamed
      run_bench "$variant" opening --open
    done
  done
  max_in_flight=$(awk '/ in flight: / && $1 > max { max = $1 } END { print max }' "$dir/all/plans")
  echo
  echo "Medians of ${ROUNDS:-3} rounds. G/s: 1e9 cell updates per second. streamed: plans that do not fit into a cluster."
  row() { printf '%-16s %14s %14s %16s %16s %18s %12s\n' "$@"; }
  row variant '1 plan, G/s' "$max_in_flight plans, G/s" "$max_in_flight plans, 1/s" \
    '1 streamed, G/s' "$max_in_flight streamed, G/s" 'opening, s'
  for variant in "${variants[@]}"; do
    row "$variant" \
      "$(median "$dir/$variant/plans" '^1 in flight' 4)" \
      "$(median "$dir/$variant/plans" "^$max_in_flight in flight" 4)" \
      "$(median "$dir/$variant/plans" "^$max_in_flight in flight" 7)" \
      "$(median "$dir/$variant/streamed" '^1 in flight' 4)" \
      "$(median "$dir/$variant/streamed" "^$max_in_flight in flight" 4)" \
      "$(median "$dir/$variant/opening" '^opened in' 3)"
  done
  echo "measured in $SECONDS s"
}

if [ "${1:-}" = --help ]; then
  usage
  exit
fi
if [ $# -lt 2 ] || [[ ! $1 =~ ^(prepare|build|measure)$ ]] || { [ "$1" = prepare ] && [ $# -lt 3 ]; } ||
  { [ "$1" != prepare ] && [ $# -gt 2 ]; }; then
  usage >&2
  exit 2
fi
command=$1
dir=$2
shift 2
if [ "$command" != prepare ]; then
  dir=$(cd -- "$dir" && pwd)
  [ -e "$dir/variants" ] || fail "$dir was not made by 'gpu_commits.sh prepare'"
  read -r -a variants < "$dir/variants"
fi
"$command" "$@"
