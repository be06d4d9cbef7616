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
study data out pictures timed threads -- "$@"
plans=$(grep -c '[^[:space:]]' "$data/building_ids.txt") || refuse "$data has no building_ids.txt with a plan" 1
((timed <= plans)) || timed=$plans
first=$(awk 'NF { print $1; exit }' "$data/building_ids.txt")
one=(--data "$data" --device cpu --threads 1 --first "$timed")
run=(--data "$data" --device cpu --threads "$threads")
fixed=(--tolerance 0 --max-iterations 20000)
numpy=("$interpreter" "$jobs/examples/reference.py" "$data" --first)
extrapolated=(--timed-plans "$timed" --plans "$plans")
# timed_run FILE [OPTIONS OF wallheat run]    a run on cores that nothing has stopped, so its wall time counts
timed_run() { made "$1" "$wallheat" run --data "$data" --device cpu --progress none --log-level warning "${@:2}" --out @OUT@; }
programs=()
# solver_seconds NAME    times a solver on one core, for a comparison of programs: no program's start is in that
solver_seconds() {
  solved "timed-$1.h5" "${one[@]}" --solver "$1"
  made "timed-$1.json" "$wallheat" summary "timed-$1.h5" --json
  programs+=("$1=$(value thread_seconds "timed-$1")")
}

task "Task 1: the start fields"
solved some.h5 "${run[@]}" --first "$pictures" --save-fields
picture start-fields "Inside walls at 25 °C, load-bearing walls at 5 °C" some.h5 --data "$data" --show start --first "$pictures"
picture plan "Plan $first: the start, and after jacobi's iterations" some.h5 "$first" --data "$data" --show start,field

task "Task 2: the reference program, timed"
if [ "$interpreter" ]; then
  made numpy-seconds.json "${numpy[@]}" "$timed" --seconds
  programs+=("NumPy=$(value seconds numpy-seconds)")
fi
solver_seconds jacobi
if [ "$interpreter" ]; then
  told numpy "$timed plan(s) by NumPy on one core, and what that means for $plans" compare "${programs[@]}" "${extrapolated[@]}"
  made numpy-answers.csv "${numpy[@]}" "$timed"
  told same-answers "The same answers to the last bit" compare numpy-answers.csv timed-jacobi.h5 --require-equal
else
  left_out NumPy "no Python here has it; PYTHON=... names one that has"
fi

task "Task 3: results as pictures"
picture fields "Temperatures of $pictures plan(s)" some.h5 --first "$pictures"
picture coldest "The coldest of them" some.h5 --sort mean_temp --first 4

task "Task 4: where the reference program spends its time"
[ ! "$interpreter" ] || text profile-functions "Plan $first, by function, by cProfile" "$interpreter" -m cProfile -s cumulative "${numpy[@]:1}" 1
if [ "$interpreter" ] && command -v kernprof > /dev/null; then
  made profiled.py sed 's/^def iterate(/@profile\n&/' "${numpy[1]}"
  text profile-lines "Plan $first, by line, its first 1000 iterations" kernprof -l -v -o /dev/null profiled.py "$data" --first 1 --max-iterations 1000
else
  left_out "time by line" "kernprof, which tells it, is not here (Debian: python3-line-profiler)"
fi
told profile-steps "Plan $first, by step: the same arrays as NumPy's, without Python" bench --reference "$first" --data "$data"

solved all.h5 "${run[@]}"
schedules=(scaling --replay all.h5 --schedule "static,dynamic,longest-first" --workers "1,2,4,8,16")
made schedules.csv "$wallheat" "${schedules[@]}" --format csv
# amdahl SCHEDULE    of its points
amdahl() {
  times=$(awk -F , -v name="$1" '$1 == name { printf "%s%s=%s", sep, $4, $5; sep = "," }' schedules.csv 2> /dev/null || true)
  told "amdahl-$1" "Amdahl's law: F, the parallel share, and S(inf), the most that workers can bring" scaling --times "$times"
}
task "Task 5: static scheduling" "Each worker gets as many plans as any other. One run's seconds are scheduled for more workers than\
 are here: by this, by the next task's schedule, and with long plans first, which wallheat does."
told schedules "One run's seconds on more workers" "${schedules[@]}"
amdahl static

task "Task 6: dynamic scheduling" "A worker gets its next plan when it is done with the last one."
amdahl dynamic
measured=()
cores=$((threads > 0 ? threads : $(nproc)))
for workers in $(for ((count = 1; count < cores; count *= 2)); do echo $count; done) "$cores"; do
  timed_run "workers-$workers.h5" --threads "$workers" --first "$timed"
  measured+=("workers-$workers.h5")
done
told scaling "Measured on the cores of this machine" scaling "${measured[@]}"

task "Task 7: compiled loops" "Seconds are those of the solvers: no program's start is in them."
if [ "$interpreter" ] && "$interpreter" -c 'import numba' 2> /dev/null; then
  made numba-seconds.json "${numpy[@]}" "$timed" --seconds --numba
  programs+=("Numba=$(value seconds numba-seconds)")
else
  left_out Numba "no Python here has it"
fi
solver_seconds fastforward
solver_seconds steady
told programs "All programs on one core: $timed plan(s), and what that means for $plans" compare "${programs[@]}" "${extrapolated[@]}"

task "Task 8: a CUDA kernel" "With the stop, and 20,000 iterations without it."
device=cpu
if has_gpu; then device=gpu; else left_out "the GPU" "this machine or this build has none"; fi
solved stop.h5 --data "$data" --device $device --first "$timed"
solved fixed.h5 --data "$data" --device $device --first "$timed" "${fixed[@]}"
told fixed "$timed plan(s), device $device" compare timed-jacobi.h5 stop.h5 fixed.h5 --plans "$plans"

task "Task 9: why digits differ" "A GPU that fuses a multiplication with an addition rounds once where NumPy rounds twice, and a sum in another\
 order rounds otherwise. wallheat adds in NumPy's order and never fuses, on cores and GPUs, so jacobi gives NumPy's bits.\
 fastforward gives them to 1e-11 of the largest temperature. Both stop where an iteration changes less than the\
 tolerance, which is not yet the steady state: how far from it they are, the comparison with steady says."
told digits "jacobi, fastforward and steady" compare timed-jacobi.h5 timed-fastforward.h5 timed-steady.h5

task "Task 10: where a run spends its time" "run.html shows every thread over time, trace.json is for ui.perfetto.dev."
made trace.json "$wallheat" trace all.h5 --out @OUT@
made run.html "$wallheat" summary all.h5 --page @OUT@

task "Task 11: time per plan against the number of plans"
measured=()
for count in 10 32 64 128 256 "$plans"; do
  ((count <= plans)) || continue
  timed_run "plans-$count.h5" --threads "$threads" --first "$count"
  measured+=("plans-$count.h5")
done
told plan-counts "All cores of this machine" scaling "${measured[@]}"
made site.sh echo cores_per_node=24
for scheduler in slurm lsf; do
  text $scheduler "The job for $scheduler, as wallheat submit would submit it" \
    "$jobs/submit.sh" --dry-run --scheduler $scheduler --site site.sh --nodes 1 --time 1h -- --data "$data" --out results.h5
done

task "Task 12: all floor plans" "Published for the 4571 plans: with the stop 14.694 °C, 6.802 °C, 804 plans with at least half of\
 their area above 18 °C and 2471 below 15 °C; after 20,000 iterations 14.71 °C, 2.145 °C as deviation of the means, 813 and 2460."
told answers-tolerance "With the stop at 1e-4 °C" summary all.h5
solved all-fixed.h5 "${run[@]}" "${fixed[@]}" --solver fastforward
told answers-fixed "After 20,000 iterations, whatever they change" summary all-fixed.h5
made all.csv "$wallheat" export all.h5

page "The study of wall heating: $plans floor plans"
