#!/usr/bin/env bash
# The study of wall heating, whole: its twelve tasks on your floor plans, with tables, pictures and a page of them.
#   jobs/examples/study.sh --data DIR --out OUT [OPTIONS]
#   jobs/examples/study.sh --data plans --out study
#   jobs/examples/study.sh --data plans --out study --list       # only tells what it would do
# DIR has a building_ids.txt. OUT is a folder, made if missing; the page is OUT/index.html. The same command goes on
# where it was stopped. Pictures and Python programs take few plans, all else takes all:
#   --pictures N    plans to draw (default: 25)
#   --timed N       plans that Python programs are timed with (default: 10)
#   --threads N     of runs; 0: all cores (default: 0)
# PYTHON names a Python with NumPy, and Numba if it is to be timed (default: python3, else /usr/bin/python3).
set -Eeuo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$jobs/steps.sh"
usage 1 "$@"
me=study.sh
data='' out='' pictures=25 timed=10 threads=0
study data out pictures timed threads -- "$@"
wallheat=$("$jobs/own-wallheat.sh")
reference=$jobs/examples/reference.py
plans=$(grep -c '[^[:space:]]' "$data/building_ids.txt") || { echo "$me: $data has no building_ids.txt with a plan" >&2; exit 1; }
((timed <= plans)) || timed=$plans
first=$(awk 'NF { print $1; exit }' "$data/building_ids.txt")
find_python
one=(--data "$data" --device cpu --threads 1)
run=(--data "$data" --device cpu --threads "$threads")

# timed_run FILE [OPTIONS OF wallheat run]    a run on cores that nothing has stopped, so its time counts
timed_run() {
  local file=$1
  shift
  made "$file" "$wallheat" run --data "$data" --device cpu --out @OUT@ --overwrite --progress none --log-level warning "$@"
}
# seconds NAME    what a timed Python program took; 1 where that is not known yet
seconds() { if [ -e "$1-seconds" ]; then cat "$1-seconds"; else echo 1; fi; }
# replayed SCHEDULE    workers and seconds of its replay, as scaling --times takes them
replayed() {
  if [ -e "replay-$1.txt" ]; then
    awk '/^ *[0-9]+ / { printf "%s%s=%s", sep, $1, $2; sep = "," }' "replay-$1.txt"
  else
    echo 1=1
  fi
}

solved some.h5 "${run[@]}" --first "$pictures" --save-fields

task 1 "The start fields"
figure start-fields "Start fields: inside walls at 25 °C, load-bearing walls at 5 °C" \
  "$wallheat" plot some.h5 --data "$data" --show start --first "$pictures" --out @OUT@
figure plan "Plan $first: start and steady state" \
  "$wallheat" plot some.h5 "$first" --data "$data" --show start,field --out @OUT@

task 2 "The reference program, timed"
solved timed.h5 "${one[@]}" --first "$timed"
programs=()
if [ "$python" ]; then
  made numpy-seconds "$python" "$reference" "$data" --first "$timed" --seconds
  programs+=(NumPy="$(seconds numpy)")
  head=program table numpy "$timed plan(s) by NumPy on one core, and what that means for $plans" \
    "$wallheat" compare timed.h5 "${programs[@]}" --timed-plans "$timed" --plans "$plans"
  made numpy-answers.csv "$python" "$reference" "$data" --first "$timed"
  text same-answers "The same answers to the last bit: wallheat against the CSV of the NumPy program" \
    "$wallheat" compare numpy-answers.csv timed.h5 --require-equal
else
  left_out "NumPy's time" "no Python here has NumPy; PYTHON=... names one that has"
fi

task 3 "Results as pictures"
figure fields "Temperatures of $pictures plan(s)" \
  "$wallheat" plot some.h5 --first "$pictures" --out @OUT@
figure coldest "The four coldest of them" \
  "$wallheat" plot some.h5 --sort mean_temp --first 4 --out @OUT@

task 4 "Where the reference program spends its time"
if [ "$python" ]; then
  made profile-functions-all.txt "$python" -m cProfile -s cumulative "$reference" "$data" --first 1
  text profile-functions "Plan $first, by function, cumulative, by cProfile: the first of them" \
    head -n 30 profile-functions-all.txt
  table profile-lines "Plan $first, by line of the loop, its first 1000 iterations: hits, time, time of each, per cent" \
    "$python" "$jobs/examples/lines.py" iterate "$reference" "$data" --first 1 --max-iterations 1000
fi
table profile-steps "Plan $first, by step: hits, time of each, share; the same arrays as NumPy's, without Python" \
  "$wallheat" bench --reference "$first" --data "$data"

task 5 "Static scheduling"
note "Each worker gets as many plans as any other. The seconds of one run are scheduled for more workers than are here."
solved all.h5 "${run[@]}"
table replay-static "Static schedule" \
  "$wallheat" scaling --replay all.h5 --schedule static --workers 1,2,4,8,16
table amdahl-static "Amdahl's law for it: F, the parallel share, and S(inf), the most that any number of workers brings" \
  "$wallheat" scaling --times "$(replayed static)"

task 6 "Dynamic scheduling"
note "A worker gets its next plan when it is done with the last one."
table replay-dynamic "Dynamic schedule" \
  "$wallheat" scaling --replay all.h5 --schedule dynamic --workers 1,2,4,8,16
table amdahl-dynamic "Amdahl's law for it" "$wallheat" scaling --times "$(replayed dynamic)"
figure schedules "Static, dynamic, and long plans first, which wallheat does" \
  "$wallheat" scaling --replay all.h5 --schedule static,dynamic,longest-first --plot @OUT@
measured=()
cores=$((threads > 0 ? threads : $(nproc)))
for workers in $(for ((count = 1; count < cores; count *= 2)); do echo $count; done) "$cores"; do
  measured+=("workers-$workers.h5")
  timed_run "workers-$workers.h5" --threads "$workers" --first "$timed"
done
table scaling "Measured on the cores of this machine" "$wallheat" scaling "${measured[@]}"

task 7 "Compiled loops"
if [ "$python" ] && "$python" -c 'import numba' 2> /dev/null; then
  made numba-seconds "$python" "$reference" "$data" --first "$timed" --seconds --numba
  programs+=(Numba="$(seconds numba)")
else
  left_out "Numba's time" "no Python here has Numba"
fi
solved timed-fastforward.h5 "${one[@]}" --first "$timed" --solver fastforward
solved timed-steady.h5 "${one[@]}" --first "$timed" --solver steady
head=program table programs "All programs on one core: $timed plan(s), and what that means for $plans" \
  "$wallheat" compare timed.h5 timed-fastforward.h5 timed-steady.h5 "${programs[@]}" \
  --timed-plans "$timed" --plans "$plans"
figure answers "How far the solvers' mean temperatures lie from each other, and what a plan takes" \
  "$wallheat" compare timed.h5 timed-fastforward.h5 timed-steady.h5 --plot @OUT@

task 8 "A CUDA kernel"
fixed=(--first "$timed" --tolerance 0 --max-iterations 20000)
if has_gpu; then
  solved gpu.h5 --data "$data" --device gpu --first "$timed"
  solved gpu-fixed.h5 --data "$data" --device gpu "${fixed[@]}"
  head=program table gpu "$timed plan(s) on the GPU: with the stop, and 20,000 iterations without" \
    "$wallheat" compare timed.h5 gpu.h5 gpu-fixed.h5 --plans "$plans"
else
  left_out "the GPU's time" "this machine or this build has no GPU"
  solved fixed.h5 "${run[@]}" "${fixed[@]}"
  head=program table fixed "$timed plan(s) on cores: with the stop, and 20,000 iterations without" \
    "$wallheat" compare timed.h5 fixed.h5 --plans "$plans"
fi

task 9 "Why digits differ"
note "A GPU that fuses a multiplication with an addition rounds once where NumPy rounds twice, and a sum in another order\
 rounds otherwise. wallheat adds in NumPy's order and never fuses, on cores and GPUs, so jacobi gives NumPy's bits.\
 fastforward gives them to 1e-11 of the largest temperature. Both stop where an iteration changes less than the\
 tolerance, which is not yet the steady state: how far from it they are, the comparison with steady says."
text digits "jacobi, fastforward and steady" \
  "$wallheat" compare timed.h5 timed-fastforward.h5 timed-steady.h5

task 10 "Where a run spends its time"
made trace.json "$wallheat" trace all.h5 --out @OUT@
made run.html "$wallheat" summary all.h5 --page @OUT@
note "run.html shows every thread over time, trace.json is for ui.perfetto.dev."
text ledger "The whole run" "$wallheat" summary all.h5

task 11 "Time per plan against the number of plans"
measured=()
for count in 10 32 64 128 256 "$plans"; do
  ((count <= plans)) || continue
  measured+=("plans-$count.h5")
  timed_run "plans-$count.h5" --threads "$threads" --first "$count"
done
table plan-counts "All cores of this machine" "$wallheat" scaling "${measured[@]}"
figure plan-counts "Seconds a plan" "$wallheat" scaling "${measured[@]}" --plot @OUT@
made site.sh echo cores_per_node=24
for scheduler in slurm lsf; do
  text "$scheduler" "The job for $scheduler, as jobs/submit.sh would submit it" \
    "$jobs/submit.sh" --dry-run --scheduler "$scheduler" --site site.sh --nodes 1 --time 1h -- --data "$data" --out results.h5
done

task 12 "All floor plans: the answers"
text answers-tolerance "With the stop at 1e-4 °C" "$wallheat" summary all.h5
figure histogram "Mean temperatures" "$wallheat" summary all.h5 --plot @OUT@
solved all-fixed.h5 "${run[@]}" --tolerance 0 --max-iterations 20000 --solver fastforward
text answers-fixed "After 20,000 iterations, whatever they change" "$wallheat" summary all-fixed.h5
made all.csv "$wallheat" export all.h5
if [ "$plans" = 4571 ]; then
  note "Published for these 4571 plans: with the stop 14.694 °C, 6.802 °C, 804 plans with at least half of their area\
 above 18 °C and 2471 below 15 °C; after 20,000 iterations 14.71 °C, 2.145 °C as standard deviation of the means, 813 and\
 2460."
fi

page "The study of wall heating: $plans floor plans"
