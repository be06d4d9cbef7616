#!/usr/bin/env bash
# How long jobs wait, whole: mean waits by size and memory, bounds for the next job, the partitions, and for each of them
# from how many operations on a value the way to a GPU pays; with tables, pictures and a page of them.
#   jobs/examples/waiting-study.sh --out OUT [OPTIONS]
#   jobs/examples/waiting-study.sh --out waiting --partitions medium,gpu
#   jobs/examples/waiting-study.sh --out waiting --list       # only tells what it would do
# OUT is a folder, made if missing; the page is OUT/index.html. The same command goes on where it was stopped. Where
# Slurm does not answer, and no listing is given, it takes a made-up one, and says so.
#   --partitions NAMES   default: all of the listing
#   --sacct FILE         what sacct printed, as 'wallheat help queue' tells (default: sacct is asked)
#   --sinfo FILE         what "sinfo -h -o '%R|%a|%D|%c|%G|%l|%s|%m'" printed (default: sinfo is asked)
#   --classes B,F        the first bound of the classes in core hours and GB hours, and the factor (default: 4,4)
#   --bandwidth B        bytes a second between host and GPU (default: 15e9)
#   --core C, --gpu G    operations a second of a core, of a GPU (default: 1e9, 1e12)
set -Eeuo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$jobs/steps.sh"
usage 1 "$@"
me=waiting-study.sh
here=$PWD
out='' partitions=all sacct=ask sinfo=ask classes=4,4 bandwidth=15e9 core=1e9 gpu=1e12
study out partitions sacct sinfo classes bandwidth core gpu -- "$@"
wallheat=$("$jobs/own-wallheat.sh")

# made_up_jobs    400 jobs of three partitions: waits grow with the size and differ by a factor of a hundred
made_up_jobs() {
  awk 'BEGIN {
    split("medium gpu int", partition); split("40 24 4", cores)
    for (job = 1; job <= 1200; job++) {
      of = job % 3 + 1; size = 1 + job * 7 % 5; minutes = 30 * 2 ^ (job * 11 % 6)
      eligible = 1700000000 + 900 * job; wait = int((job * 617 % 997) * size * (of == 3 ? 0.01 : of == 2 ? 0.3 : 4))
      cpus = cores[of] * (of == 3 ? 1 : size); memory = 4 * cpus
      printf "%d|%d|%s|normal|COMPLETED|%d|%d|%d|%d|%d|%d|%d|%dG|cpu=%d,mem=%dG,node=%d\n", job, job, partition[of],
        eligible, eligible, eligible + wait, eligible + wait + 40 * minutes, minutes, size, cpus, memory, cpus, memory, size
    } }'
}
made_up_nodes() {
  printf '%s\n' 'medium|up|100|40|(null)|2-00:00:00|1-infinite|192000' 'gpu|up|12|24|gpu:4|2-00:00:00|1-infinite|384000' 'int|up|4|4|(null)|12:00:00|1-infinite|16000'
}
# asked NAME COMMAND...    what Slurm answers; where it does not, made_up_NAME, and the reason in NAME-why.txt
asked() {
  local name=$1
  shift
  if ! command -v "$1" > /dev/null; then
    echo "$1 is not installed" > "$name-why.txt"
  elif "$@" > "$name-asked" 2> "$name-why.txt"; then
    cat "$name-asked"
    rm "$name-asked" "$name-why.txt"
    return
  fi
  "made_up_$name"
}
# listing NAME GIVEN COMMAND...    NAME.txt: the file that was given, or what was asked
listing() {
  local name=$1 given=$2
  shift 2
  if [ "$given" != ask ]; then
    made "$name.txt" cat "$(cd "$here" && realpath -- "$given")"
    from=$given
    return
  fi
  made "$name.txt" asked "$name" "$@"
  from=$1
  [ -e "$name-why.txt" ] || return 0
  from="a made-up example"
  echo "$me: the $name are made up, as Slurm does not answer: $(head -n 1 "$name-why.txt")" >&2
  note "The $name below are a made-up example, and say nothing of a real queue, as Slurm does not answer: $(head -n 1 "$name-why.txt")"
}
export SLURM_TIME_FORMAT=%s
fields=JobIDRaw,JobID,Partition,QOS,State,Submit,Eligible,Start,End,TimelimitRaw,AllocNodes,AllocCPUS,ReqMem,ReqTRES
listing nodes "$sinfo" sinfo -h -o '%R|%a|%D|%c|%G|%l|%s|%m'
listing jobs "$sacct" sacct -X -D -n -P --allusers -S now-30days -o "$fields"
waits=(--sacct jobs.txt)
[ "$partitions" = all ] || waits+=(--partition "$partitions")

task 1 "Mean waits"
note "From $([ "$list_only" ] || LC_ALL=C date -u -r jobs.txt '+%B %d, %Y %H:%M UTC'), of $from. Waits are skewed: a mean says little of the next one."
table means-core-hours "By core hours: mean wait (jobs)" "$wallheat" queue "${waits[@]}" --means --cpu-hours "$classes"
table means-memory "By GB hours: mean wait (jobs)" "$wallheat" queue "${waits[@]}" --means --memory --cpu-hours "$classes"
figure means "Mean waits by core hours" "$wallheat" queue "${waits[@]}" --means --cpu-hours "$classes" --plot @OUT@

task 2 "What the next job can expect"
head=partition table bounds "Half, three quarters and 95 % of the jobs wait no longer than that, with 95 % confidence" \
  "$wallheat" queue "${waits[@]}" --cpu-hours "$classes"
figure bounds-plot "Bounds by partition and size" "$wallheat" queue "${waits[@]}" --cpu-hours "$classes" --plot @OUT@

task 3 "The partitions, and from where on a GPU pays"
# partition_rows    those that were chosen
partition_rows() {
  awk -F '|' -v names="$partitions" 'names == "all" || index("," names ",", "," $1 ",")' nodes.txt |
    "$wallheat" offload --bandwidth "$bandwidth" --cpu "$core" --gpu "$gpu" --sinfo -
}
note "The last column: so many operations on a double pay for its way to the node's GPUs and back, by n* = (bytes / B) /\
 (1 / C - 1 / G), with B = $bandwidth bytes/s, C = $core operations/s a core and G = $gpu a GPU. Fewer are done sooner by the\
 node's cores."
table partitions "Partitions" partition_rows
table offload "One core against one GPU" "$wallheat" offload --bandwidth "$bandwidth" --cpu "$core" --gpu "$gpu"
figure offload-plot "Time over the operations a value" \
  "$wallheat" offload --bandwidth "$bandwidth" --cpu "$core" --gpu "$gpu" --plot @OUT@

page "Waiting in the queue"
