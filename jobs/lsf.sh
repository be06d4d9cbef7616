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

# Rank 0 comes on top of the workers. In an array [1-N] the options say --shard "$LSB_JOBINDEX/N".
WALLHEAT_SSH=${WALLHEAT_SSH:-blaunch} \
  "$launch" -n $((nodes * workers + 1)) --hostfile "$hosts" --map-by node:OVERSUBSCRIBE -- \
  "${wallheat[@]}" run --resume "$@" &
run=$!

# Two minutes before the time limit (-wt, -wa) the run is asked to stop. SIGINT and SIGTERM come
# with bkill: then the job must not come back.
cancelled=
trap 'kill -USR1 $run' USR1
trap 'cancelled=yes; kill -USR1 $run' INT TERM
while kill -0 $run 2> /dev/null; do wait $run; done
wait $run
status=$?
rm -f "$hosts"

[ $status != 75 ] || [ -z "$cancelled" ] || exit 143
exit $status   # 75 sends the job back into the queue (-Q), and it goes on
