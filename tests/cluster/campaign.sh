# shellcheck shell=bash disable=SC2154
# What the tests with real runs share, on top of checks.sh: plans, and the answers of an undisturbed run
# to compare with. Sets plans, work (options that make each plan take its time); defines the functions below.

plans=$scratch/plans
# Never settled: every plan takes all its iterations.
work=(--tolerance 0 --threads 1 --progress lines)

# Forty plans of half a second each, whatever the machine: so that what must happen in the middle of a run does.
make_plans() {
  "$wallheat" generate --out "$plans" --count 40 --size 256 --seed 4 > /dev/null
  local trial=20000
  "$wallheat" run --data "$plans" --first 5 --out "$scratch/trial.h5" --shard none --time-limit none --max-iterations $trial \
    "${work[@]}" > "$scratch/trial.log" 2>&1 || { cat "$scratch/trial.log"; exit 1; }
  work+=(--max-iterations "$("$wallheat" list "$scratch/trial.h5" --columns seconds --format csv | awk -v trial=$trial '
    NR > 1 && (fastest == 0 || $1 < fastest) { fastest = $1 }
    END { printf "%d", trial * 0.5 / fastest }')")
}
# The run to compare with, for what `work` says now.
run_undisturbed() {
  if "$wallheat" run --data "$plans" --out "$scratch/undisturbed.h5" --overwrite --shard none --time-limit none \
    "${work[@]}" > "$scratch/undisturbed.log" 2>&1; then
    "$wallheat" export "$scratch/undisturbed.h5" -o "$scratch/undisturbed.csv" --overwrite > /dev/null
  else
    echo "FAILED  the undisturbed run"
    cat "$scratch/undisturbed.log"
    exit 1
  fi
}
# equals_undisturbed FILE: all plans are there, with the same answers to the last digit.
equals_undisturbed() {
  "$wallheat" export "$1" -o "$1.csv" --overwrite > /dev/null && cmp "$1.csv" "$scratch/undisturbed.csv"
}
# The result file is closed: nothing that belongs to a living or killed run lies beside it.
closed() { [ -e "$1" ] && ! compgen -G "$1.wal*" >/dev/null && [ ! -e "$1.lock" ] && [ ! -e "$1.status" ]; }
# results_stored EVENTS N: at least so many
results_stored() { [ -e "$1" ] && [ "$(grep -c '"event":"result"' "$1")" -ge "$2" ]; }
unfinished() { ! grep -q '"event":"run_finished"' "$1"; }
# The solvers of the run into a result file, on this machine. Where they are stopped, the run goes on, but gets
# nowhere.
solvers() {
  local rank
  for rank in $(pgrep -f -- "wallheat run .*$1"); do pgrep -P "$rank" -f solver-process; done
}
# hold RESULT EVENTS: from its first result on
hold() {
  wait_until 60 "a plan is solved" results_stored "$2" 1
  local held
  held=$(solvers "$1")
  # shellcheck disable=SC2086  # several numbers
  check "its solvers are held" kill -STOP $held
}
