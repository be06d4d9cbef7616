#!/usr/bin/env bash
# Compares the speed of wallheat with NumPy, Numba and plain C, on one thread and on all cores. Creates tables and a page.
#   jobs/examples/benchmark.sh --data DIR --out OUT [OPTIONS]
#   jobs/examples/benchmark.sh --data plans --out benchmark
#   jobs/examples/benchmark.sh --data plans --out benchmark --list       # only prints the steps
# DIR is a folder of floor plans. The folder OUT is created if it does not exist; the page is OUT/index.html. If the
# benchmark was stopped, the same command resumes it. All times are from the start of a program to its end, with reading
# the plans and compilation by Numba.
#   --timed N       number of plans; NumPy takes up to a minute per plan of 512 x 512 cells (default: 4)
#   --threads N     number of processes or threads for "all cores"; 0: all cores (default: 0)
# Set the environment variable PYTHON to a Python with NumPy, and with Numba if you want to time it (default: python3, or
# else /usr/bin/python3), and CC to a C compiler (default: cc). Programs that are not installed are omitted.
set -Eeuo pipefail
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../steps.sh"
data='' out='' timed=4 threads=0
start_study data out timed threads -- "$@"
cores=$((threads > 0 ? threads : $(nproc)))
[ -d "$data" ] || die "$data is not a folder; unpack an archive, because other programs read the plans" 1
plan_count=$(list_plans | wc -l)
((plan_count > 0)) || die "$data has no floor plans, which are files ID_domain.npy and ID_interior.npy" 1
((timed <= plan_count)) || timed=$plan_count
first_plans() { list_plans | sed -n "1,${timed}p"; }
run_step ids.txt first_plans

# measure COMMAND...    runs the command, and prints its wall time and its CPU time in s
measure() {
  local TIMEFORMAT='%R %U %S'
  { time "$@" >&3 2>&4; } 3>&2 4>&2 2>&1 | LC_ALL=C awk '{ print $1, $2 + $3 }'
}
# solve_shares CSV PROCESSES COMMAND...    starts the program for each share of the plans, and writes their results to CSV
solve_shares() {
  local csv=$1 processes=$2 share pids=() pid
  rm -f share-*
  split -n "r/$processes" ids.txt share-
  for share in share-*; do
    "${@:3}" --ids "$share" > "results-$share" &
    pids+=($!)
  done
  for pid in "${pids[@]}"; do wait "$pid"; done
  cat results-share-* > "$csv"
  rm -f share-* results-share-*
}
cpu_times=() wall_times=() answers=()
# add_time ARRAY NAME FILE FIELD    adds a time that measure() has printed; 1 if it does not exist yet
add_time() {
  local -n times=$1
  times+=("$2=$(cut -d ' ' -f "$4" "$3" 2> /dev/null || echo 1)")
}
# time_program NAME COMMAND...    times a program on one thread and on all cores
time_program() {
  local name=$1
  run_step "$name-1.txt" measure solve_shares "$name.csv" 1 "${@:2}"
  run_step "$name-all.txt" measure solve_shares "$name-all.csv" "$cores" "${@:2}"
  add_time cpu_times "$name" "$name-1.txt" 2
  add_time wall_times "$name" "$name-all.txt" 1
  answers+=("$name.csv")
}
# time_solver NAME    does the same for a solver of wallheat
time_solver() {
  local run=("$wallheat" run --data "$data" --ids ids.txt --device cpu --solver "$1" --progress none --log-level warning)
  run_step "$1-1.txt" measure "${run[@]}" --threads 1 --out "$1.h5" --overwrite
  run_step "$1-all.txt" measure "${run[@]}" --threads "$cores" --out "$1-all.h5" --overwrite
  add_time cpu_times "$1" "$1-1.txt" 2
  add_time wall_times "$1" "$1-all.txt" 1
  answers+=("$1.h5")
}

begin_task "Task 1: the machine"
wallheat_step devices "Processor" devices

if [ "$interpreter" ]; then
  python_command=("$interpreter" "$jobs/examples/reference.py" "$data")
  time_program NumPy "${python_command[@]}"
  if "$interpreter" -c 'import numba' 2> /dev/null; then
    time_program Numba "${python_command[@]}" --numba
  else
    note_omission Numba "$interpreter does not have it; to install it: $interpreter -m pip install numba"
  fi
else
  note_omission NumPy "no Python here has it; PYTHON=... names one that has"
fi
compiler=${CC:-cc}
if command -v "$compiler" > /dev/null; then
  run_step plain "$compiler" -O3 -march=native -ffp-contract=off "$jobs/examples/plain.c" -o @OUT@ -lm
  time_program C ./plain "$data"
else
  note_omission C "$compiler not found; CC=... names a C compiler"
fi
for solver in jacobi fastforward steady; do time_solver $solver; done

begin_task "Task 2: one thread" "CPU time from the start of each program to its end."
wallheat_step one-thread "$timed plan(s) on one thread, CPU time" compare "${cpu_times[@]}" --timed-plans "$timed" --plans "$timed"
begin_task "Task 3: all cores" "Wall time from the start of each program to its end. The other programs run once per core,\
 each with a share of the plans."
wallheat_step all-cores "$timed plan(s) on $cores core(s), wall time" compare "${wall_times[@]}" --timed-plans "$timed" --plans "$timed"
begin_task "Task 4: the same answers" "C adds in another order than NumPy, and steady computes the steady state itself."
wallheat_step answers "Answers of all programs" compare "${answers[@]}"

write_page "wallheat and other programs"
