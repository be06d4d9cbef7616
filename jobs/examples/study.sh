#!/usr/bin/env bash
# Runs the study of wall heating: its twelve tasks on your floor plans. Creates tables, pictures and a page.
#   jobs/examples/study.sh --data DIR --out OUT [OPTIONS]
#   jobs/examples/study.sh --data plans --out study
#   jobs/examples/study.sh --data plans --out study --list       # only prints the steps
# DIR is a folder of floor plans; if it has no building_ids.txt, the study uses all plans in it. The folder OUT is
# created if it does not exist; the page is OUT/index.html. If the study was stopped, the same command resumes it.
# Pictures and Python programs use a few plans only, and all other steps use all plans:
#   --pictures N    number of plans to draw (default: 25)
#   --timed N       number of plans on which programs are timed (default: 10)
#   --threads N     number of threads of a run; 0: all cores (default: 0)
#   --solver NAME=COMMAND   a program of your own, as --solver mine='python3 mine.py', which tasks 5, 6, 7, 9 and 10 use,
#                   too; jobs/examples/README.md describes what it reads and writes (default: none)
# Set the environment variable PYTHON to a Python with NumPy, and with Numba if you want to time it (default: python3, or
# else /usr/bin/python3).
#
# To run the study as a job on one node (16 cores, four hours), use one of these commands. If the job reaches its time
# limit, submit it again:
#   sbatch --nodes=1 --ntasks=1 --cpus-per-task=16 --time=4:00:00 --wrap 'jobs/examples/study.sh --data plans --out study'
#   bsub -n 16 -R 'span[hosts=1]' -W 4:00 -o study.log 'jobs/examples/study.sh --data plans --out study'
set -Eeuo pipefail
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../steps.sh"
data='' out='' pictures=25 timed=10 threads=0 solver=none
started_in=$PWD
start_study data out pictures timed threads solver -- "$@"
[ -d "$data" ] || die "$data is not a folder; unpack an archive, because Python programs read the plans" 1
plan_count=$(list_plans | wc -l)
((plan_count > 0)) || die "$data has no floor plans, that is, files ID_domain.npy and ID_interior.npy" 1
first_plan=$(list_plans | sed -n 1p)
((timed <= plan_count)) || timed=$plan_count
run_step ids.txt list_plans
plan_options=(--data "$data" --ids ids.txt)
run_options=("${plan_options[@]}" --device cpu --threads "$threads")
fixed_iterations=(--tolerance 0 --max-iterations 20000)
numpy_command=("$interpreter" "$jobs/examples/reference.py" "$data" --ids ids.txt --first)
extrapolation=(--timed-plans "$timed" --plans "$plan_count")
# timed_run_step FILE [OPTIONS OF wallheat run]    solves plans on cores in one run, without resuming, because its wall time is
# compared
timed_run_step() { run_step "$1" "$wallheat" run "${plan_options[@]}" --device cpu --progress none --log-level warning "${@:2}" --out @OUT@; }
# The study runs in its own folder, so the files that the user's command names need absolute paths.
own_name='' own_options=()
if [ "$solver" != none ]; then
  [[ $solver == [A-Za-z]*=?* ]] || die "--solver requires NAME=COMMAND, not '$solver'"
  own_name=${solver%%=*}
  case $own_name in NumPy | Numba | jacobi | fastforward | steady) die "--solver: $own_name is a name of the study; choose another name" ;; esac
  [[ $own_name =~ ^[A-Za-z0-9_-]+$ ]] || die "--solver: a name must consist of letters, digits, - and _, not '$own_name'"
  read -ra words <<< "${solver#*=}"
  for word in "${!words[@]}"; do
    [ ! -f "$started_in/${words[word]}" ] || words[word]=$started_in/${words[word]}
  done
  own_options=(--solver-command "${words[*]}")
fi
# own_step STEP...    runs a step only if the user has given a program
own_step() { [ ! "$own_name" ] || "$@"; }
program_times=()
# time_program NAME FILE    adds the time of a Python program, which is in the last line of its CSV, to program_times
time_program() {
  local seconds
  seconds=$(sed -n 's/^# seconds: //p' "$2" 2> /dev/null || true)
  program_times+=("$1=${seconds:-1}")
}
# time_solver NAME    adds the time of a solver on one core to program_times; it does not include the start of the program
time_solver() {
  timed_run_step "timed-$1.h5" --threads 1 --first "$timed" --solver "$1"
  run_step "timed-$1.json" "$wallheat" summary "timed-$1.h5" --json
  program_times+=("$1=$(read_value thread_seconds "timed-$1")")
}

begin_task "Task 1: the initial fields"
solve_step some.h5 "${run_options[@]}" --first "$pictures" --save-fields
plot_step start-fields "Inside walls at 25 °C, load-bearing walls at 5 °C" some.h5 --data "$data" --show start --first "$pictures"
plot_step plan "Plan $first_plan: the initial field, and the result of jacobi" some.h5 "$first_plan" --data "$data" --show start,field

begin_task "Task 2: the reference program, timed"
if [ "$interpreter" ]; then
  run_step numpy.csv "${numpy_command[@]}" "$timed" --seconds
  time_program NumPy numpy.csv
fi
time_solver jacobi
if [ "$interpreter" ]; then
  wallheat_step numpy "$timed plan(s) by NumPy on one core, extrapolated to $plan_count" compare "${program_times[@]}" "${extrapolation[@]}"
  wallheat_step same-answers "The results are bit-identical" compare numpy.csv timed-jacobi.h5 --require-equal
else
  note_omission NumPy "no Python with NumPy found; set PYTHON to one"
fi

begin_task "Task 3: results as pictures"
plot_step fields "Temperatures of $pictures plan(s)" some.h5 --first "$pictures"
plot_step coldest "The coldest of them" some.h5 --sort mean_temp --first 4

begin_task "Task 4: time profile of the reference program"
if [ "$interpreter" ]; then
  # The imports come first, so that the profile does not have hundreds of modules.
  run_step functions.profile "$interpreter" -c \
    'import cProfile, numpy, pkgutil, runpy, sys; file, *sys.argv = sys.argv[1:]; cProfile.run("runpy.run_path(sys.argv[0], {}, \"__main__\")", file)' \
    @OUT@ "${numpy_command[@]:1}" 1
  text_step profile-functions "Plan $first_plan, by function (cProfile): the 15 slowest functions" "$interpreter" -c \
    'import pstats; pstats.Stats("functions.profile").strip_dirs().sort_stats("cumulative").print_stats(15)'
fi
if [ "$interpreter" ] && command -v kernprof > /dev/null; then
  run_step profiled.py sed 's/^def iterate(/@profile\n&/' "${numpy_command[1]}"
  text_step profile-lines "Plan $first_plan, by line: the first 1000 iterations" kernprof -l -v -o /dev/null profiled.py "$data" --ids ids.txt --first 1 --max-iterations 1000
else
  note_omission "time by line" "it requires kernprof, which is not installed (Debian: python3-line-profiler)"
fi
wallheat_step profile-steps "Plan $first_plan, by step: the arrays of NumPy, without Python" bench --reference "$first_plan" --data "$data"

solve_step all.h5 "${run_options[@]}"
schedule_command=(scaling --replay all.h5 --schedule "static,dynamic,longest-first" --workers "1,2,4,8,16")
run_step schedules.csv "$wallheat" "${schedule_command[@]}" --format csv
# amdahl_step SCHEDULE    fits Amdahl's law to the points of a schedule in schedules.csv
amdahl_step() {
  points=$(awk -F , -v name="$1" '$1 == name { printf "%s%s=%s", sep, $4, $5; sep = "," }' schedules.csv 2> /dev/null || true)
  wallheat_step "amdahl-$1" "Amdahl's law: F, the parallel share, and S(inf), the limit of the speed-up" scaling --times "$points"
}
begin_task "Task 5: static scheduling" "Each worker gets the same number of plans. The times of one run are scheduled for more workers than\
 this machine has: by this schedule, by that of the next task, and with long plans first, as wallheat does."
wallheat_step schedules "The times of one run on more workers" "${schedule_command[@]}"
own_step timed_run_step "own.h5" --threads 1 --first "$timed" "${own_options[@]}"
own_step wallheat_step own-schedules "The times of $own_name on more workers" scaling --replay own.h5 "${schedule_command[@]:3}"
amdahl_step static

begin_task "Task 6: dynamic scheduling" "A worker gets its next plan when it has finished the previous one."
amdahl_step dynamic
measured_files=(timed-jacobi.h5)  # one worker
own_files=(own.h5)
cores=$((threads > 0 ? threads : $(nproc)))
for workers in $(for ((count = 2; count < cores; count *= 2)); do echo $count; done) "$cores"; do
  ((workers > 1)) || continue
  timed_run_step "workers-$workers.h5" --threads "$workers" --first "$timed"
  measured_files+=("workers-$workers.h5")
  own_step timed_run_step "own-workers-$workers.h5" --threads "$workers" --first "$timed" "${own_options[@]}"
  own_files+=("own-workers-$workers.h5")
done
wallheat_step scaling "Measured on the cores of this machine" scaling "${measured_files[@]}"
own_step wallheat_step own-scaling "$own_name, measured on the cores of this machine" scaling "${own_files[@]}"

begin_task "Task 7: compiled loops" "The seconds are those of the solvers, without the start of a program."
if [ "$interpreter" ] && "$interpreter" -c 'import numba' 2> /dev/null; then
  run_step numba.csv "${numpy_command[@]}" "$timed" --seconds --numba
  time_program Numba numba.csv
else
  note_omission Numba "it is not installed"
fi
own_step run_step own.json "$wallheat" summary own.h5 --json
[ ! "$own_name" ] || program_times+=("$own_name=$(read_value thread_seconds own)")
time_solver fastforward
time_solver steady
wallheat_step programs "All programs on one core: $timed plan(s), extrapolated to $plan_count" compare "${program_times[@]}" "${extrapolation[@]}"

begin_task "Task 8: a CUDA kernel" "With the stop criterion, and 20,000 iterations without it."
device=cpu compared_files=(timed-jacobi.h5)
if has_gpu; then
  device=gpu
  solve_step stop.h5 "${plan_options[@]}" --device gpu --first "$timed"
  compared_files+=(stop.h5)
else
  note_omission "the GPU" "this machine or this build does not support one"
fi
solve_step fixed.h5 "${plan_options[@]}" --device $device --first "$timed" "${fixed_iterations[@]}"
wallheat_step fixed "$timed plan(s), device $device" compare "${compared_files[@]}" fixed.h5 --plans "$plan_count"

begin_task "Task 9: why digits differ" "A GPU that fuses a multiplication with an addition rounds once where NumPy rounds twice, and a sum in another\
 order rounds differently. wallheat adds in the order of NumPy and never fuses, on cores and GPUs, so jacobi is bit-identical\
 to NumPy. fastforward is exact to 1e-11 of the largest temperature. Both stop when an iteration changes less than the\
 tolerance, which is not yet the steady state: the comparison with steady shows their distance from it."
wallheat_step digits "jacobi, fastforward and steady" compare timed-jacobi.h5 timed-fastforward.h5 timed-steady.h5
own_step wallheat_step own-digits "jacobi and $own_name" compare timed-jacobi.h5 own.h5
own_step wallheat_step own-iterates "Which iterates $own_name computes" compare own.h5 --data "$data"

begin_task "Task 10: time breakdown of a run" "run.html shows every thread over time; open trace.json in ui.perfetto.dev."
run_step trace.json "$wallheat" trace all.h5 --out @OUT@
run_step run.html "$wallheat" summary all.h5 --page @OUT@
own_step run_step own-trace.json "$wallheat" trace own.h5 --out @OUT@
own_step wallheat_step own-summary "Where a run of $own_name spends its time" summary own.h5

begin_task "Task 11: time per plan over the number of plans"
measured_files=()
for count in 10 32 64 128 256; do
  ((count < plan_count)) || break
  timed_run_step "plans-$count.h5" --threads "$threads" --first "$count"
  measured_files+=("plans-$count.h5")
done
# If the run of all plans was killed, its time is unknown, and all plans are solved again.
all_plans=all.h5
if [ ! "$list_only" ] && ! "$wallheat" scaling all.h5 > /dev/null 2>&1; then
  all_plans=plans-$plan_count.h5
  timed_run_step "$all_plans" --threads "$threads"
fi
measured_files+=("$all_plans")
wallheat_step plan-counts "All cores of this machine" scaling "${measured_files[@]}"
run_step site.sh echo cores_per_node=24
for scheduler in slurm lsf; do
  text_step $scheduler "The job for $scheduler that wallheat submit would submit" \
    "$jobs/submit.sh" --dry-run --scheduler $scheduler --site site.sh --nodes 1 --time 1h -- --data "$data" --out results.h5
done

begin_task "Task 12: all floor plans" "Published for the 4571 plans: with the stop criterion 14.694 °C, 6.802 °C, 804 plans with at least half of\
 their area above 18 °C and 2471 below 15 °C; after 20,000 iterations 14.71 °C, 2.145 °C as deviation of the means, 813 and 2460."
wallheat_step answers-tolerance "With the stop criterion of 1e-4 °C" summary all.h5
solve_step all-fixed.h5 "${run_options[@]}" "${fixed_iterations[@]}" --solver fastforward
wallheat_step answers-fixed "After 20,000 iterations, without a stop criterion" summary all-fixed.h5
run_step all.csv "$wallheat" export all.h5

write_page "The study of wall heating: $plan_count floor plans"
