#!/usr/bin/env bash
# Studies how long jobs wait: mean waits by size and memory, bounds on the wait of the next job, the partitions and, for
# each of them, the number of operations per value above which a transfer to a GPU pays. Creates tables, pictures and a
# page.
#   jobs/examples/waiting-study.sh --out OUT [OPTIONS]
#   jobs/examples/waiting-study.sh --out waiting --partitions medium,gpu
#   jobs/examples/waiting-study.sh --out waiting --list       # only prints the steps
# The folder OUT is created if it does not exist; the page is OUT/index.html. If the study was stopped, the same command
# resumes it. On a machine without Slurm, pass listings of a Slurm cluster with --sacct and --sinfo.
#   --partitions NAMES   partitions to study (default: all in the listing)
#   --sacct FILE         output of the sacct command in 'wallheat help queue' (default: call sacct)
#   --sinfo FILE         output of "sinfo -h -o '%R|%a|%D|%c|%G|%l|%s|%m'" (default: call sinfo)
#   --classes B,F        upper bound of the first class, in core hours and GB hours, and the factor from each bound to
#                        the next (default: 4,4)
#   --bandwidth B        bytes per second between host and GPU (default: 15e9)
#   --core C, --gpu G    operations per second of a core and of a GPU (default: 1e9, 1e12)
set -Eeuo pipefail
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../steps.sh"
here=$PWD
out='' partitions=all sacct=ask sinfo=ask classes=4,4 bandwidth=15e9 core=1e9 gpu=1e12
start_study out partitions sacct sinfo classes bandwidth core gpu -- "$@"

# listing_step NAME FILE COMMAND...    writes NAME.txt: a copy of FILE, or the output of the Slurm command if FILE is "ask"
listing_step() {
  if [ "$2" = ask ]; then run_step "$1.txt" "${@:3}"; else run_step "$1.txt" cat "$(cd "$here" && realpath -- "$2")"; fi
}
export SLURM_TIME_FORMAT=%s
fields=JobIDRaw,JobID,Partition,QOS,State,Submit,Eligible,Start,End,TimelimitRaw,AllocNodes,AllocCPUS,ReqMem,ReqTRES
listing_step nodes "$sinfo" sinfo -h -o '%R|%a|%D|%c|%G|%l|%s|%m'
listing_step jobs "$sacct" sacct -X -D -n -P --allusers -S now-30days -o "$fields"
[ "$list_only" ] || date=$(LC_ALL=C date -u -r jobs.txt '+%B %d, %Y %H:%M UTC')
queue_command=(queue --sacct jobs.txt --cpu-hours "$classes")
[ "$partitions" = all ] || queue_command+=(--partition "$partitions")

begin_task "Task 1: mean waits" "The listing ($sacct) is of ${date:-}. Waits are skewed: a mean says little about the next wait."
wallheat_step means-core-hours "By core hours: mean wait (jobs)" "${queue_command[@]}" --means
wallheat_step means-memory "By GB hours: mean wait (jobs)" "${queue_command[@]}" --means --memory

begin_task "Task 2: bounds on the wait of the next job"
wallheat_step bounds "Upper bounds of the wait of half, three quarters and 95 % of the jobs, with 95 % confidence" "${queue_command[@]}"

begin_task "Task 3: the partitions, and when a GPU is worthwhile" "The last column is the number of operations per double that outweighs its transfer to\
 the GPUs of the node and back, n* = (bytes / B) / (1 / C - 1 / G), with B = $bandwidth bytes/s, C = $core operations/s per core and\
 G = $gpu per GPU. For fewer operations, the cores of the node are faster."
# shellcheck disable=SC2016  # the variables are those of awk
run_step chosen-nodes.txt awk -F '|' -v names="$partitions" 'names == "all" || index("," names ",", "," $1 ",")' nodes.txt
offload_command=(offload --bandwidth "$bandwidth" --cpu "$core" --gpu "$gpu")
wallheat_step partitions "Partitions" "${offload_command[@]}" --sinfo chosen-nodes.txt
wallheat_step offload "One core and one GPU" "${offload_command[@]}"

write_page "Waits in the queue"
