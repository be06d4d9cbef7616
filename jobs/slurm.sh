#!/bin/bash
# Slurm job script that solves floor plans. While plans are left to solve, it requeues its job. jobs/submit.sh submits
# this script with the options of your site. To submit it yourself, on one whole node (the first argument is the folder
# of the scripts, because Slurm runs a copy of this script in another folder):
#   sbatch --exclusive --time=4:00:00 jobs/slurm.sh jobs -- --data plans --out results.h5
#SBATCH --ntasks-per-node=1
#SBATCH --signal=B:USR1@120
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --no-kill
# shellcheck source-path=SCRIPTDIR source=job.sh
. "${1:?slurm.sh: the first argument must be the folder of wallheat\'s scripts}/job.sh"

# With --no-kill the loss of a node does not end the job; if it is the node of this script, another node requeues the job.
if [ "$SLURM_JOB_NUM_NODES" -gt 1 ] && [ -z "${OMPI_MCA_orte_launch_agent:-}" ]; then
  export WALLHEAT_BATCH_HOST=${SLURMD_NODENAME:-} OMPI_MCA_orte_launch_agent='requeue-on-host-loss.sh orted'
fi
# Returns true if Slurm itself has requeued the job, or will do so, for example because a job of higher priority preempts it.
is_requeued() {
  local job
  job=$(timeout 10 scontrol show job --oneliner "$SLURM_JOB_ID" 2> /dev/null) || return
  [[ " $job " =~ \ Restarts=([0-9]+)\  && ${BASH_REMATCH[1]} -gt ${SLURM_RESTART_COUNT:-0} ]]
}
solve "$SLURM_JOB_NUM_NODES" "${SLURM_ARRAY_TASK_ID:-}"
[[ $status = 75 && $stopped_by != cancel && $stopped_by != requeue ]] || exit "$status"
if timeout 60 scontrol requeue "$SLURM_JOB_ID"; then echo "The job is requeued and will resume."
else echo "The job could not be requeued; to resume, submit it again." >&2; fi
exit 75
