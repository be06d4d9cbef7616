#!/bin/bash
# An LSF job that solves floor plans, and starts again while work is left. As it stands, on one node:
#   bsub < jobs/lsf.sh
# jobs/submit.sh writes it for more nodes, GPUs and arrays, with your site's values.
#BSUB -J wallheat
#BSUB -o wallheat-%J.out
#BSUB -n 16
#BSUB -R "span[ptile=16]"
#BSUB -W 04:00
#BSUB -wt 2
#BSUB -wa USR1
#BSUB -Q "75"
#BSUB -r

# module load gcc openmpi hdf5 boost hwloc
launch=jobs/launch.sh
wallheat=(build/wallheat)
workers=1   # on each node; with GPUs: one for each GPU
set -- --data plans --out results.h5

# --- The same in every job ------------------------------------------------------------------------
# LSF's list names a host once for each core; wallheat needs each host once.
hosts=$(mktemp)
awk '!seen[$1]++ { print $1, "slots=1" }' "$LSB_DJOB_HOSTFILE" > "$hosts"
nodes=$(wc -l < "$hosts")

# Before the time limit (-wt, -wa) the run is asked to stop; at the limit itself SIGUSR2 comes, and a
# while later SIGINT and SIGTERM. These two alone come with bkill: then the job must not come back. So
# the first signal tells why.
run='' stopped_by=''
stop() {
  stopped_by=${stopped_by:-$1}
  [ -z "$run" ] || kill -USR1 "$run" 2> /dev/null
}
trap 'stop limit' USR1 USR2 XCPU HUP
trap 'stop cancel' INT TERM QUIT
trap : PIPE  # text that nobody reads is lost text

# Rank 0 comes on top of the workers. In an array [1-N] the options say --shard "$LSB_JOBINDEX/N".
WALLHEAT_SSH=${WALLHEAT_SSH:-blaunch} \
  "$launch" -n $((nodes * workers + 1)) --hostfile "$hosts" --map-by node:OVERSUBSCRIBE -- \
  "${wallheat[@]}" run --resume "$@" &
run=$!
[ -z "$stopped_by" ] || stop "$stopped_by"
while kill -0 $run 2> /dev/null; do wait $run; done
wait $run
status=$?
rm -f "$hosts"

[ $status = 75 ] || exit $status
case $stopped_by in
  cancel)
    echo "The job was cancelled (bkill); what was solved is stored. To go on, submit it again."
    exit 143
    ;;
  limit) echo "LSF's signal stopped the run before the job's time limit, with work left." ;;
  *) echo "The run stopped with work left; the lines above say why." ;;
esac
echo "The job goes back into the queue (-Q) and goes on from there."
exit $status
