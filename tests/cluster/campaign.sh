# shellcheck shell=bash disable=SC2154
# Shared code of the tests with real runs, in addition to checks.sh: plans, and the result file of an undisturbed run
# to compare with. Sets plans and work (options for plans that take long), and defines the functions below.

plans=$scratch/plans
# No plan converges: each plan takes all its iterations.
work=(--tolerance 0 --threads 1 --progress lines)

run_alone() {  # FILE [OPTIONS OF wallheat run]
  "$wallheat" run --data "$plans" --out "$scratch/$1" --shard none --time-limit none "${work[@]}" "${@:2}" \
    > "$scratch/$1.log" 2>&1 || { cat "$scratch/$1.log"; exit 1; }
}
# Forty plans of half a second each on any machine, so that a test can interrupt the run in the middle.
make_plans() {
  "$wallheat" generate --out "$plans" --count 40 --size 256 --seed 4 > /dev/null
  local trial=20000
  run_alone trial.h5 --first 5 --max-iterations $trial
  work+=(--max-iterations "$("$wallheat" list "$scratch/trial.h5" --columns seconds --format csv | awk -v trial=$trial '
    NR > 1 && (fastest == 0 || $1 < fastest) { fastest = $1 }
    END { printf "%d", trial * 0.5 / fastest }')")
  run_alone undisturbed.h5
}
# same_bits FILE EXPECTED: both files have the same plans with bit-identical results.
same_bits() { "$wallheat" compare "$2" "$1" --require-equal > "$1.compared" || { cat "$1.compared"; return 1; }; }
equals_undisturbed() { same_bits "$1" "$scratch/undisturbed.h5"; }
# The result file is closed: no journal or lock is next to it, and its last run has recorded an exit status.
closed() { [ -e "$1" ] && ! compgen -G "$1.wal*" > /dev/null && [ ! -e "$1.lock" ] && grep -q '"exit_status": [0-9]' "$1.status"; }
# The merged file is complete: no journal or lock is next to it, and no plan is pending. A merge has no status file.
merged() { [ -e "$1" ] && ! compgen -G "$1.wal*" > /dev/null && [ ! -e "$1.lock" ] && [ "$("$wallheat" status --print-state "$1")" = "done" ]; }
# results_stored EVENTS N: the event log has at least N results
results_stored() { [ -e "$1" ] && [ "$(grep -c '"event":"result"' "$1")" -ge "$2" ]; }
unfinished() { ! grep -q '"event":"run_finished"' "$1"; }
