# shellcheck shell=bash disable=SC2154
# What the tests with real runs share, on top of checks.sh: plans, and the answers of an undisturbed run
# to compare with. Sets plans, work (options that make each plan take its time); defines the functions below.

plans=$scratch/plans
# Never settled: every plan takes all its iterations.
work=(--tolerance 0 --threads 1 --progress lines)

run_alone() {  # FILE [OPTIONS OF wallheat run]
  "$wallheat" run --data "$plans" --out "$scratch/$1" --shard none --time-limit none "${work[@]}" "${@:2}" \
    > "$scratch/$1.log" 2>&1 || { cat "$scratch/$1.log"; exit 1; }
}
# Forty plans of half a second each, whatever the machine: so that what must happen in the middle of a run does.
make_plans() {
  "$wallheat" generate --out "$plans" --count 40 --size 256 --seed 4 > /dev/null
  local trial=20000
  run_alone trial.h5 --first 5 --max-iterations $trial
  work+=(--max-iterations "$("$wallheat" list "$scratch/trial.h5" --columns seconds --format csv | awk -v trial=$trial '
    NR > 1 && (fastest == 0 || $1 < fastest) { fastest = $1 }
    END { printf "%d", trial * 0.5 / fastest }')")
  run_alone undisturbed.h5
}
# same_bits FILE EXPECTED: all plans are there, with the same answers to the last bit.
same_bits() { "$wallheat" compare "$2" "$1" --require-equal > "$1.compared" || { cat "$1.compared"; return 1; }; }
equals_undisturbed() { same_bits "$1" "$scratch/undisturbed.h5"; }
# The result file is closed: nothing that belongs to a living or killed run lies beside it.
closed() { [ -e "$1" ] && ! compgen -G "$1.wal*" > /dev/null && [ ! -e "$1.lock" ] && [ ! -e "$1.status" ]; }
# results_stored EVENTS N: at least so many
results_stored() { [ -e "$1" ] && [ "$(grep -c '"event":"result"' "$1")" -ge "$2" ]; }
unfinished() { ! grep -q '"event":"run_finished"' "$1"; }
