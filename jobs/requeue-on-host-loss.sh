#!/usr/bin/env bash
# Runs a command and requeues its Slurm job if the host of the batch script is lost.
#   requeue-on-host-loss.sh COMMAND...
# slurm.sh makes Open MPI start its daemons on the other nodes through this script. If the host of the batch script is
# lost, rank 0 and mpirun are lost with it, and the daemons fail. The job has --no-kill, so that it survives the loss of
# any other node; therefore it would keep the remaining nodes until its time limit. If the command fails and the host's
# slurmd accepts no connection, this script polls Slurm until the host is down, and then requeues the job. Slurm ends
# this script together with the job.
# Environment: WALLHEAT_BATCH_HOST, Slurm's name of the host; SLURM_JOB_ID, SLURM_JOB_NUM_NODES, SLURM_NODEID and
# SLURM_RESTART_COUNT, as Slurm sets them.
set -uo pipefail
stopped=''
trap 'stopped=yes' TERM INT HUP USR1 USR2  # the command receives the signal, too, and this script waits for its end
"$@"
status=$?
[ $status != 0 ] && [ -z "$stopped" ] && [ -n "${WALLHEAT_BATCH_HOST:-}" ] || exit $status

# ask_slurm KEY show KIND [NAME]: prints the value of a key; returns 1 if Slurm does not report it within 10 s.
ask_slurm() {
  local answer
  answer=$(timeout 10 scontrol --oneliner "${@:2}" 2> /dev/null) || return
  [[ " $answer" =~ [[:space:]]$1\ *=\ *([^[:space:]]+) ]] && echo "${BASH_REMATCH[1]}"
}
# shellcheck disable=SC2016  # the inner shell's own arguments
is_host_alive() {
  local address port
  address=$(ask_slurm NodeAddr show node "$WALLHEAT_BATCH_HOST") &&
    port=$(ask_slurm Port show node "$WALLHEAT_BATCH_HOST" || ask_slurm SlurmdPort show config) &&
    timeout 5 bash -c ': < "/dev/tcp/$1/$2"' _ "$address" "$port" 2> /dev/null
}
! is_host_alive || exit $status  # mpirun was killed; the batch script continues
# One query per 10 s for the whole job: the nodes take turns.
pause=$((10 * (${SLURM_NODEID:-0} + 1)))
while [ -z "$stopped" ] && sleep $pause; do
  pause=$((10 * ${SLURM_JOB_NUM_NODES:-1}))
  host_state=$(ask_slurm State show node "$WALLHEAT_BATCH_HOST") || continue
  [[ $host_state == *DOWN* ]] || continue
  job_state=$(ask_slurm JobState show job "$SLURM_JOB_ID")
  restarts=$(ask_slurm Restarts show job "$SLURM_JOB_ID")
  # Another node may have been faster.
  [ "$job_state:$restarts" = "RUNNING:${SLURM_RESTART_COUNT:-0}" ] || exit $status
  log=$(ask_slurm StdOut show job "$SLURM_JOB_ID")
  message="requeue-on-host-loss.sh: $WALLHEAT_BATCH_HOST, the host of rank 0: lost (Slurm: $host_state); requeuing job $SLURM_JOB_ID"
  echo "$message" >&2
  [ ! -w "$log" ] || echo "$message" >> "$log"  # srun, which copies stderr to the log, is lost
  scontrol requeue "$SLURM_JOB_ID" && exit $status
done
exit $status
