# shellcheck shell=bash disable=SC2154
# What the tests with real runs share, on top of checks.sh: plans that keep two cores at work for some ten
# seconds, and the answers of an undisturbed run to compare with. Sets wallheat, plans, work (options
# that make each plan take its time); defines the functions below.

wallheat=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
plans=$scratch/plans
# Never settled: every plan takes all its iterations, on whatever machine.
work=(--tolerance 0 --max-iterations "${WALLHEAT_TEST_ITERATIONS:-30000}" --threads 1 --progress lines)

make_plans() { "$wallheat" generate --out "$plans" --count 40 --size 256 --seed 4 > /dev/null; }
# The run to compare with, for what `work` says now.
run_undisturbed() {
  if "$wallheat" run --data "$plans" --out "$scratch/undisturbed.h5" --overwrite --shard none --time-limit none \
    "${work[@]}" > "$scratch/undisturbed.log" 2>&1; then
    "$wallheat" export "$scratch/undisturbed.h5" -o "$scratch/undisturbed.csv" > /dev/null
  else
    echo "FAILED  the undisturbed run"
    cat "$scratch/undisturbed.log"
    exit 1
  fi
}
# equals_undisturbed FILE: all plans are there, with the same answers to the last digit.
equals_undisturbed() {
  "$wallheat" export "$1" -o "$1.csv" > /dev/null && cmp "$1.csv" "$scratch/undisturbed.csv"
}
# The result file is closed: nothing that belongs to a living or killed run lies beside it.
closed() { [ -e "$1" ] && [ ! -e "$1.wal" ] && [ ! -e "$1.lock" ] && [ ! -e "$1.status" ]; }
# results_stored EVENTS N: at least so many
results_stored() { [ -e "$1" ] && [ "$(grep -c '"event":"result"' "$1")" -ge "$2" ]; }
unfinished() { ! grep -q '"event":"run_finished"' "$1"; }
