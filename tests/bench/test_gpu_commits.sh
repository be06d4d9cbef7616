#!/usr/bin/env bash
# Tests gpu_commits.sh on a small repository, with scripts that take the place of bench_gpu and test_gpu.
# shellcheck source-path=SCRIPTDIR source=../cluster/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../cluster/checks.sh"
command -v git > /dev/null || skip "needs git"
command -v patch > /dev/null || skip "needs patch"
script=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/gpu_commits.sh
prepared=$scratch/prepared

commit() { git add . && git -c user.name=test -c user.email=test@localhost commit -qm "$1" && git rev-parse HEAD; }
mkdir -p "$scratch/repository"/{include,src,tests}
cd "$scratch/repository" || exit 1
git init -q .
touch CMakeLists.txt include/a.hpp
seq 1 30 > src/numbers
echo "a document" > src/README.md
echo "a test" > tests/test
commit base > /dev/null
sed -i s/^3$/three/ src/numbers
echo "another test" > tests/test
early=$(commit early)
sed -i s/^20$/twenty/ src/numbers
echo "another document" > src/README.md
late=$(commit late)
sed -i s/twenty/20.0/ src/numbers
later=$(commit later)
sed -i s/^10$/ten/ src/numbers
undone=$(commit undone)
sed -i s/^ten$/10/ src/numbers
commit "undo it" > /dev/null
sed -i s/^28$/28.0/ src/numbers
neighbour=$(commit neighbour)
sed -i s/^30$/30.0/ src/numbers
commit "a change within three lines of another" > /dev/null

content() { paste -sd ' ' "$prepared/$1/src/numbers" | sed 's/4 5 .* 19 //'; }
"$script" prepare "$prepared" early="$early" late="$late" later="$later" > "$scratch/output"
check "prepare" same 0 $?
check "the variants" same "none without_early without_later all" "$(cat "$prepared/variants")"
check "a commit on which another depends is reported" mentions "$scratch/output" without_late
check "no commit" same "1 2 3 20 21" "$(content none | cut -d ' ' -f 1-5)"
check "all but the early commit" same "1 2 3 20.0 21" "$(content without_early | cut -d ' ' -f 1-5)"
check "all but the later commit" same "1 2 three twenty 21" "$(content without_later | cut -d ' ' -f 1-5)"
check "all commits" same "1 2 three 20.0 21" "$(content all | cut -d ' ' -f 1-5)"
check "tests and documents are not reverted" same "another test another document" \
  "$(cat "$prepared/none/tests/test" "$prepared/none/src/README.md" | paste -sd ' ')"
expect_error "an existing folder" 1 "new folder" "$script" prepare "$prepared" early="$early"
expect_error "a commit that a later one undoes is not applied again" 1 "undone|$undone" \
  "$script" prepare "$scratch/undone" undone="$undone"
expect_error "a commit is not reverted if the lines around it have changed" 1 "neighbour|$neighbour" \
  "$script" prepare "$scratch/neighbour" neighbour="$neighbour"
expect_error "an unknown commit" 1 "0000|not found" "$script" prepare "$scratch/other" early=0000
expect_error "a change without a name" 1 "$early|example" "$script" prepare "$scratch/other" "$early"
expect_error "an unknown command" 2 "measure" "$script" compare "$prepared"
expect_error "a folder that was not prepared" 1 "prepare" "$script" measure "$scratch"

# Each benchmark prints larger values in each round: 1, 2, 3.
program() { # variant, name, code
  mkdir -p "$prepared/$1/build/tests"
  printf '#!/bin/sh\n%s\n' "$3" > "$prepared/$1/build/tests/$2"
  chmod +x "$prepared/$1/build/tests/$2"
}
for variant in none without_early without_later all; do
  # shellcheck disable=SC2016
  program $variant bench_gpu 'cd "$(dirname "$0")" && echo . >> "calls $*"
round=$(wc -l < "calls $*")
case "$*" in
  "--quick")
    echo "1 in flight: 1$round.5 G updates/s, 7.0 plans/s"
    echo "32 in flight: 2$round.5 G updates/s, 3$round.5 plans/s" ;;
  "--quick --streamed")
    echo "1 in flight: 4$round.5 G updates/s, 7.0 plans/s"
    echo "32 in flight: 5$round.5 G updates/s, 7.0 plans/s" ;;
  "--open") echo "opened in 0.$round s" ;;
esac'
  program $variant test_gpu 'echo "[  PASSED  ] 4 tests."'
done
"$script" measure "$prepared" > "$scratch/table"
check "measure" same 0 $?
for variant in none without_early without_later all; do
  check "the medians of $variant" same "$variant 12.5 22.5 32.5 42.5 52.5 0.3" \
    "$(grep "^$variant " "$scratch/table" | tr -s ' ' | sed 's/ $//')"
done
# The stand-in for test_gpu skips two tests and passes others, as GoogleTest prints it.
skip_tests() { # variant, reason, passed tests
  program "$1" test_gpu "for test in Shape Blocks; do
  echo \"test_gpu.cpp:43: Skipped\"
  echo \"$2\"
  echo
  echo \"[  SKIPPED ] EveryKernel/\$test/cluster (0 ms)\"
done
echo \"[  PASSED  ] $3 tests.\"
echo \"[  SKIPPED ] 2 tests, listed below:\""
}
check "test_gpu gives this reason" contains "$root/tests/solve/gpu/test_gpu.cpp" '"this GPU has no clusters"'
skip_tests without_later "this GPU has no clusters" 2
"$script" measure "$prepared" > "$scratch/table"
check "a GPU without clusters is measured" same 0 $?
grep "^without_later: " "$scratch/table" > "$scratch/tested"
check "the kernel that was not tested is reported" mentions "$scratch/tested" "no clusters"
skip_tests without_later "this GPU has no clusters" 0
expect_error "no test that ran" 1 "without_later" "$script" measure "$prepared"
skip_tests without_later "the driver is too old" 2
expect_error "tests that were skipped for another reason" 1 "without_later|skipped|driver is too old" \
  "$script" measure "$prepared"
program without_later test_gpu 'echo "one bit differs"; exit 1'
expect_error "a test that fails" 1 "without_later|test_gpu" "$script" measure "$prepared"
check "the output of the test is printed" mentions "$scratch/error.out" "one bit differs"
program without_early bench_gpu 'echo "bench_gpu: no GPU to measure: no driver" >&2; exit 1'
expect_error "a benchmark that fails" 1 "without_early" "$script" measure "$prepared"
check "the reason is printed" mentions "$scratch/error.out" "no driver"
finish
