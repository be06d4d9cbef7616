#!/usr/bin/env bash
# Studies the GPUs of a node while plans are solved: the configuration of the GPUs, the processes that use them, a
# recording of a run, its time by step and kernel, a trace, and the speed-up by more GPUs. Creates tables, pictures and
# a page.
#   jobs/examples/gpu-study.sh --data DIR --out OUT [OPTIONS]
#   jobs/examples/gpu-study.sh --data plans --out gpus
#   jobs/examples/gpu-study.sh --data plans --out gpus --list       # only prints the steps
# Run it on a GPU node, for example in a job. On a machine without GPUs it omits the steps that require GPUs, reports
# this, and runs the other steps on the cores. The folder OUT is created if it does not exist; the page is
# OUT/index.html. If the study was stopped, the same command resumes it.
#   --interval TIME    time between two samples of the recording (default: 0.5s)
#   --recording FILE   also analyse this listing of 'nvidia-smi dmon' or 'nvidia-smi stats' (default: none)
#   --times LIST       times of runs on other machines, as GPUs=seconds
#                      (default: the figures of a paper, 1=212,2=140,3=110,4=105,8=145)
set -Eeuo pipefail
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../steps.sh"
data='' out='' interval=0.5s recording=none times=1=212,2=140,3=110,4=105,8=145
here=$PWD
start_study data out interval recording times -- "$@"
device=cpu
if has_gpu; then device=gpu; else note_omission "measurements of GPUs" "there is no GPU that this wallheat can use"; fi

begin_task "Task 1: the node"
wallheat_step devices "Cores, instruction sets, peak speeds, GPUs" devices
if command -v nvidia-smi > /dev/null; then
  text_step nvidia-smi "nvidia-smi" nvidia-smi
else
  note_omission "the table of nvidia-smi" "it is not installed"
fi

begin_task "Task 2: a run, and the load of the node during it"
# recorded    solves the plans while `wallheat monitor` records the node; --list prints this name
recorded() {
  local monitor_pid status=0
  "$wallheat" monitor --interval "$interval" --csv node.csv --overwrite > /dev/null 2>&1 &
  monitor_pid=$!
  "$wallheat" run --data "$data" --out run.h5 --overwrite --device $device --progress none --log-level warning || status=$?
  while [ "$(wc -l < node.csv)" -lt 4 ]; do sleep 0.1; done  # a run may end before the first samples
  kill "$monitor_pid"
  wait "$monitor_pid" || true
  [ $status = 0 ] || [ $status = 3 ]
}
run_step recorded recorded
wallheat_step utilisation "Means, maxima, and all values over time" monitor node.csv
[ $device = cpu ] || text_step processes "The processes on each GPU" "$wallheat" monitor --processes --samples 3
if [ "$recording" != none ]; then
  run_step recording.txt cat "$(cd "$here" && realpath -- "$recording")"
  wallheat_step recording "The listing $recording" monitor recording.txt
fi

begin_task "Task 3: time breakdown" "run.html shows every thread over time and the kernels of each GPU; open trace.json in ui.perfetto.dev."
wallheat_step steps "By step, of all threads and GPUs" summary run.h5
run_step run.html "$wallheat" summary run.h5 --page @OUT@
run_step trace.json "$wallheat" trace run.h5 --out @OUT@

begin_task "Task 4: the solver by itself"
if [ $device = gpu ]; then
  wallheat_step kernels "Plans per second with 1, 2, 4, ... plans in flight" bench --device gpu --quick
else
  wallheat_step kernels "The solver on these cores, compared with the peak speed of a core" bench --plans 2 --repeat 1
fi

begin_task "Task 5: speed-up by more GPUs" "For a table of nodes and GPUs, run with 1, 2, 4, ... of them (jobs/examples/gpus.sh) and pass\
 the result files to the command: wallheat scaling one.h5 two.h5 four.h5."
wallheat_step scaling-given "The given times: speed-up, efficiency, and Amdahl's law" scaling --times "$times"
wallheat_step scaling-predicted "This run's plans on more workers" scaling --replay run.h5 --workers 1,2,4,8,16

write_page "A node and its GPUs"
