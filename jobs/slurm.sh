#!/bin/bash
# A Slurm job that solves floor plans, and goes back into the queue while work is left. jobs/submit.sh submits it with
# your site's options. By hand, on one whole node (Slurm copies this script, so it is told its folder):
#   sbatch --exclusive --time=4:00:00 jobs/slurm.sh jobs -- --data plans --out results.h5
#SBATCH --ntasks-per-node=1
#SBATCH --signal=B:USR1@120
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --no-kill
# shellcheck source-path=SCRIPTDIR source=job.sh
. "${1:?slurm.sh: the first argument must be the folder of wallheat\'s scripts}/job.sh"

solve "$SLURM_JOB_NUM_NODES" "${SLURM_ARRAY_TASK_ID:-}"
[ "$status" = 75 ] && [ "$stopped_by" != cancel ] || exit "$status"
if timeout 60 scontrol requeue "$SLURM_JOB_ID"; then echo "The job goes back into the queue and goes on from there."
else echo "The job could not be put back into the queue; submit it again, and it goes on." >&2; fi
exit 75
