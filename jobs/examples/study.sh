#!/usr/bin/env bash
# The study of wall heating, whole: its twelve tasks on your floor plans, with tables, pictures and a page of them.
#   jobs/examples/study.sh --data DIR --out OUT [OPTIONS]
#   jobs/examples/study.sh --data plans --out study
#   jobs/examples/study.sh --data plans --out study --list       # only tells what it would do
# DIR has a building_ids.txt. OUT is a folder, made if missing; the page is OUT/index.html. The same command goes on
# where it was stopped. Pictures and Python programs take few plans, all else takes all:
#   --pictures N    plans to draw (default: 25)
#   --timed N       plans that programs are timed with (default: 10)
#   --threads N     of runs; 0: all cores (default: 0)
# PYTHON names a Python with NumPy, and Numba if it is to be timed (default: python3, else /usr/bin/python3).
set -Eeuo pipefail
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../steps.sh"
data='' out='' pictures=25 timed=10 threads=0
start_study data out pictures timed threads -- "$@"
plan_count=$(grep -c '[^[:space:]]' "$data/building_ids.txt") || die "$data has no building_ids.txt with a plan" 1
((timed <= plan_count)) || timed=$plan_count
first_plan=$(awk 'NF { print $1; exit }' "$data/building_ids.txt")
one_core_options=(--data "$data" --device cpu --threads 1 --first "$timed")
run_options=(--data "$data" --device cpu --threads "$threads")
fixed_iterations=(--tolerance 0 --max-iterations 20000)
numpy_command=("$interpreter" "$jobs/examples/reference.py" "$data" --first)
extrapolation=(--timed-plans "$timed" --plans "$plan_count")
# timed_run_step FILE [OPTIONS OF wallheat run]    solves plans on cores in one run, without resuming, because its wall time is
# compared
timed_run_step() { run_step "$1" "$wallheat" run --data "$data" --device cpu --progress none --log-level warning "${@:2}" --out @OUT@; }
program_times=()
# time_solver NAME    adds the time of a solver on one core to program_times; it does not include the start of the program
time_solver() {
  solve_step "timed-$1.h5" "${one_core_options[@]}" --solver "$1"
  run_step "timed-$1.json" "$wallheat" summary "timed-$1.h5" --json
  program_times+=("$1=$(read_value thread_seconds "timed-$1")")
}

begin_task "Task 1: the start fields"
solve_step some.h5 "${run_options[@]}" --first "$pictures" --save-fields
plot_step start-fields "Inside walls at 25 °C, load-bearing walls at 5 °C" some.h5 --data "$data" --show start --first "$pictures"
plot_step plan "Plan $first_plan: the start, and after jacobi's iterations" some.h5 "$first_plan" --data "$data" --show start,field

begin_task "Task 2: the reference program, timed"
if [ "$interpreter" ]; then
  run_step numpy-seconds.json "${numpy_command[@]}" "$timed" --seconds
  program_times+=("NumPy=$(read_value seconds numpy-seconds)")
fi
time_solver jacobi
if [ "$interpreter" ]; then
  wallheat_step numpy "$timed plan(s) by NumPy on one core, and what that means for $plan_count" compare "${program_times[@]}" "${extrapolation[@]}"
  run_step numpy-answers.csv "${numpy_command[@]}" "$timed"
  wallheat_step same-answers "The same answers to the last bit" compare numpy-answers.csv timed-jacobi.h5 --require-equal
else
  note_omission NumPy "no Python here has it; PYTHON=... names one that has"
fi

begin_task "Task 3: results as pictures"
plot_step fields "Temperatures of $pictures plan(s)" some.h5 --first "$pictures"
plot_step coldest "The coldest of them" some.h5 --sort mean_temp --first 4

begin_task "Task 4: where the reference program spends its time"
[ ! "$interpreter" ] || text_step profile-functions "Plan $first_plan, by function, by cProfile" "$interpreter" -m cProfile -s cumulative "${numpy_command[@]:1}" 1
if [ "$interpreter" ] && command -v kernprof > /dev/null; then
  run_step profiled.py sed 's/^def iterate(/@profile\n&/' "${numpy_command[1]}"
  text_step profile-lines "Plan $first_plan, by line, its first 1000 iterations" kernprof -l -v -o /dev/null profiled.py "$data" --first 1 --max-iterations 1000
else
  note_omission "time by line" "kernprof, which tells it, is not here (Debian: python3-line-profiler)"
fi
wallheat_step profile-steps "Plan $first_plan, by step: the same arrays as NumPy's, without Python" bench --reference "$first_plan" --data "$data"

solve_step all.h5 "${run_options[@]}"
schedule_command=(scaling --replay all.h5 --schedule "static,dynamic,longest-first" --workers "1,2,4,8,16")
run_step schedules.csv "$wallheat" "${schedule_command[@]}" --format csv
# amdahl_step SCHEDULE    fits Amdahl's law to the points of a schedule in schedules.csv
amdahl_step() {
  points=$(awk -F , -v name="$1" '$1 == name { printf "%s%s=%s", sep, $4, $5; sep = "," }' schedules.csv 2> /dev/null || true)
  wallheat_step "amdahl-$1" "Amdahl's law: F, the parallel share, and S(inf), the most that workers can bring" scaling --times "$points"
}
begin_task "Task 5: static scheduling" "Each worker gets as many plans as any other. One run's seconds are scheduled for more workers than\
 are here: by this, by the next task's schedule, and with long plans first, which wallheat does."
wallheat_step schedules "One run's seconds on more workers" "${schedule_command[@]}"
amdahl_step static

begin_task "Task 6: dynamic scheduling" "A worker gets its next plan when it is done with the last one."
amdahl_step dynamic
measured_files=()
cores=$((threads > 0 ? threads : $(nproc)))
for workers in $(for ((count = 1; count < cores; count *= 2)); do echo $count; done) "$cores"; do
  timed_run_step "workers-$workers.h5" --threads "$workers" --first "$timed"
  measured_files+=("workers-$workers.h5")
done
wallheat_step scaling "Measured on the cores of this machine" scaling "${measured_files[@]}"

begin_task "Task 7: compiled loops" "Seconds are those of the solvers: no program's start is in them."
if [ "$interpreter" ] && "$interpreter" -c 'import numba' 2> /dev/null; then
  run_step numba-seconds.json "${numpy_command[@]}" "$timed" --seconds --numba
  program_times+=("Numba=$(read_value seconds numba-seconds)")
else
  note_omission Numba "no Python here has it"
fi
time_solver fastforward
time_solver steady
wallheat_step programs "All programs on one core: $timed plan(s), and what that means for $plan_count" compare "${program_times[@]}" "${extrapolation[@]}"

begin_task "Task 8: a CUDA kernel" "With the stop, and 20,000 iterations without it."
device=cpu
if has_gpu; then device=gpu; else note_omission "the GPU" "this machine or this build has none"; fi
solve_step stop.h5 --data "$data" --device $device --first "$timed"
solve_step fixed.h5 --data "$data" --device $device --first "$timed" "${fixed_iterations[@]}"
wallheat_step fixed "$timed plan(s), device $device" compare timed-jacobi.h5 stop.h5 fixed.h5 --plans "$plan_count"

begin_task "Task 9: why digits differ" "A GPU that fuses a multiplication with an addition rounds once where NumPy rounds twice, and a sum in another\
 order rounds otherwise. wallheat adds in NumPy's order and never fuses, on cores and GPUs, so jacobi gives NumPy's bits.\
 fastforward gives them to 1e-11 of the largest temperature. Both stop where an iteration changes less than the\
 tolerance, which is not yet the steady state: how far from it they are, the comparison with steady says."
wallheat_step digits "jacobi, fastforward and steady" compare timed-jacobi.h5 timed-fastforward.h5 timed-steady.h5

begin_task "Task 10: where a run spends its time" "run.html shows every thread over time, trace.json is for ui.perfetto.dev."
run_step trace.json "$wallheat" trace all.h5 --out @OUT@
run_step run.html "$wallheat" summary all.h5 --page @OUT@

begin_task "Task 11: time per plan against the number of plans"
measured_files=()
for count in 10 32 64 128 256 "$plan_count"; do
  ((count <= plan_count)) || continue
  timed_run_step "plans-$count.h5" --threads "$threads" --first "$count"
  measured_files+=("plans-$count.h5")
done
wallheat_step plan-counts "All cores of this machine" scaling "${measured_files[@]}"
run_step site.sh echo cores_per_node=24
for scheduler in slurm lsf; do
  text_step $scheduler "The job for $scheduler, as wallheat submit would submit it" \
    "$jobs/submit.sh" --dry-run --scheduler $scheduler --site site.sh --nodes 1 --time 1h -- --data "$data" --out results.h5
done

begin_task "Task 12: all floor plans" "Published for the 4571 plans: with the stop 14.694 °C, 6.802 °C, 804 plans with at least half of\
 their area above 18 °C and 2471 below 15 °C; after 20,000 iterations 14.71 °C, 2.145 °C as deviation of the means, 813 and 2460."
wallheat_step answers-tolerance "With the stop at 1e-4 °C" summary all.h5
solve_step all-fixed.h5 "${run_options[@]}" "${fixed_iterations[@]}" --solver fastforward
wallheat_step answers-fixed "After 20,000 iterations, whatever they change" summary all-fixed.h5
run_step all.csv "$wallheat" export all.h5

write_page "The study of wall heating: $plan_count floor plans"
