#!/usr/bin/env bash
# What a node's GPUs do while plans are solved, whole: how they are set up, who uses them, a recording of a run, where
# its time went by step and kernel, a trace, and what more GPUs bring; with tables, pictures and a page of them.
#   jobs/examples/gpu-study.sh --data DIR --out OUT [OPTIONS]
#   jobs/examples/gpu-study.sh --data plans --out gpus
#   jobs/examples/gpu-study.sh --data plans --out gpus --list       # only tells what it would do
# Run it on a GPU node, as in a job. On a machine without GPUs it leaves out what is theirs, says so, and shows the rest
# of the cores. OUT is a folder, made if missing; the page is OUT/index.html. The same command goes on where it was
# stopped.
#   --interval TIME    between samples of the recording (default: 0.5s)
#   --recording FILE   a listing of 'nvidia-smi dmon' or 'nvidia-smi stats' to be told of, too (default: none)
#   --times LIST       of runs elsewhere, GPUs=seconds: the figures of a paper (default: 1=212,2=140,3=110,4=105,8=145)
set -Eeuo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$jobs/steps.sh"
usage 1 "$@"
me=gpu-study.sh
data='' out='' interval=0.5s recording=none times=1=212,2=140,3=110,4=105,8=145
here=$PWD
study data out interval recording times -- "$@"
wallheat=$("$jobs/own-wallheat.sh")
gpus=
if has_gpu; then gpus=yes; fi
device=cpu
[ ! "$gpus" ] || device=gpu
why="there is no GPU here that this wallheat can use"

task 1 "The node"
text devices "Cores, instruction sets, what they could do at best, GPUs" "$wallheat" devices
if command -v nvidia-smi > /dev/null; then
  text nvidia-smi "nvidia-smi" nvidia-smi
else
  left_out "the table of nvidia-smi" "it is not installed here"
fi

task 2 "A run, and what the node does meanwhile"
# recorded    solves the plans while the node is recorded
recorded() {
  local monitor status=0
  "$wallheat" monitor --interval "$interval" --csv node.csv --overwrite > /dev/null 2>&1 &
  monitor=$!
  "$wallheat" run --data "$data" --out run.h5 --overwrite --device "$device" --progress none --log-level warning || status=$?
  while [ "$(wc -l < node.csv)" -lt 4 ]; do sleep 0.1; done  # a run may be over before the first samples
  kill "$monitor"
  wait "$monitor" || true
  [ $status = 0 ] || [ $status = 3 ]
}
made recorded recorded
text utilisation "Means and largest values" "$wallheat" monitor node.csv
figure recording "Over time" "$wallheat" monitor node.csv --plot @OUT@
if [ "$gpus" ]; then
  text processes "Who uses each GPU" "$wallheat" monitor --processes --samples 3
else
  left_out "processes on the GPUs and their memory over time" "$why"
fi
if [ "$recording" != none ]; then
  made recording.txt cat "$(cd "$here" && realpath -- "$recording")"
  text recording-summary "The listing $recording" "$wallheat" monitor recording.txt
  figure recording-given "The listing over time" "$wallheat" monitor recording.txt --plot @OUT@
fi

task 3 "Where the time went"
text steps "By step, of all threads and GPUs" "$wallheat" summary run.h5
made run.html "$wallheat" summary run.h5 --page @OUT@
made trace.json "$wallheat" trace run.h5 --out @OUT@
note "run.html shows every thread over time and each GPU's kernels; trace.json is for ui.perfetto.dev."

task 4 "The solver by itself"
if [ "$gpus" ]; then
  text kernels "Plans a second with 1, 2, 4, ... of them in flight" "$wallheat" bench --device gpu --quick
else
  left_out "plans a second on the GPU" "$why"
  text kernels "The solver on these cores, against what a core could do at best" "$wallheat" bench --plans 2 --repeat 1
fi

task 5 "What more of them bring"
table scaling-given "The figures given: speed-up, efficiency, and Amdahl's law" "$wallheat" scaling --times "$times"
figure scaling-plot "Speed-ups" "$wallheat" scaling --times "$times" --plot @OUT@
table scaling-predicted "This run's plans on more workers" "$wallheat" scaling --replay run.h5 --workers 1,2,4,8,16
note "For a table of nodes and GPUs, run with 1, 2, 4, ... of them (jobs/examples/gpus.sh) and name the result files:\
 wallheat scaling one.h5 two.h5 four.h5."

page "A node and its GPUs"
