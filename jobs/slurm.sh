#!/bin/bash
# A Slurm job that solves floor plans, and starts again while work is left. As it stands, on one node:
#   sbatch jobs/slurm.sh --data plans --out results.h5
# jobs/submit.sh writes it for more nodes, GPUs and arrays, with your site's values.
#SBATCH --job-name=wallheat
#SBATCH --output=wallheat-%j.out
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --exclusive
#SBATCH --time=04:00:00
#SBATCH --signal=B:USR1@120
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --no-kill

# module load gcc openmpi hdf5 boost hwloc
launch=jobs/launch.sh
wallheat=(build/wallheat)
workers=1   # on each node; with GPUs: one for each GPU

# --- The same in every job ------------------------------------------------------------------------
# Before the time limit (--signal) Slurm asks the run to stop; it looks at its clocks only every half
# a minute. SIGTERM comes with scancel: then the job must not come back. It also comes at the limit
# itself, so the first signal tells why.
run='' stopped_by=''
stop() {
  stopped_by=${stopped_by:-$1}
  [ -z "$run" ] || kill -USR1 "$run" 2> /dev/null
}
trap 'stop limit' USR1 USR2 XCPU HUP
trap 'stop cancel' TERM INT QUIT
trap : PIPE  # text that nobody reads is lost text

# Rank 0 comes on top of the workers. In an array each task finds its shard by itself.
"$launch" -n $((SLURM_JOB_NUM_NODES * workers + 1)) --map-by node:OVERSUBSCRIBE -- \
  "${wallheat[@]}" run --resume "$@" &
run=$!
[ -z "$stopped_by" ] || stop "$stopped_by"
while kill -0 $run 2> /dev/null; do wait $run; done
wait $run
status=$?

[ $status = 75 ] || exit $status
case $stopped_by in
  cancel)
    echo "The job was cancelled (scancel); what was solved is stored. To go on, submit it again."
    exit $status
    ;;
  limit) echo "Slurm's signal stopped the run before the job's time limit, with work left." ;;
  *) echo "The run stopped with work left; the lines above say why." ;;
esac
if scontrol requeue "$SLURM_JOB_ID"; then echo "The job goes back into the queue and goes on from there."
else echo "The job could not be put back into the queue; submit it again, and it goes on." >&2; fi
exit $status
