#!/usr/bin/env bash
# Tests jobs/slurm.sh and jobs/lsf.sh with the signals of schedulers and a fake launch.sh: which signals stop a run,
# and which of them requeue the job.
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"

mkdir "$scratch/jobs" "$scratch/bin" "$scratch/configs"
cp "$root"/jobs/{job,site-files,slurm,lsf}.sh "$scratch/jobs"
printf 'setup=module wallheat=(wallheat)\nmodule() { :; }\n' > "$scratch/configs/site.sh"
cat > "$scratch/jobs/launch.sh" <<'END'
#!/bin/bash
# On SIGUSR1 it closes its result file, which takes until the file "closed" exists.
trap 'stopped=yes' USR1
printf '%s ' "$@" > called
echo $$ > started
until [ -n "${stopped:-}" ]; do sleep 0.05; done
touch stopping
until [ -e closed ]; do sleep 0.05; done
exit 75
END
cat > "$scratch/bin/scontrol" <<'END'
#!/bin/bash
# Fake scontrol. Files contain its answers: `restarts`, and `host_states`, one state per query, of which the last one remains.
case " $* " in
  *" requeue "*) echo "$@" >> requeued ;;
  *" show job "*) echo "JobId=7 JobState=$(cat job_state) Restarts=$(cat restarts) Requeue=1 StdOut=$PWD/job.out" ;;
  *" show node "*)
    # No program listens on port 1, and one listens on the port in the file `port`.
    echo "NodeName=n1 State=$(head -n 1 host_states) CPUs=4 NodeAddr=127.0.0.1 Port=$(cat port 2> /dev/null || echo 1)"
    [ "$(wc -l < host_states)" = 1 ] || sed -i 1d host_states
    ;;
esac
END
chmod +x "$scratch/jobs/launch.sh" "$scratch/bin/scontrol"
printf 'n1\nn1\n' > "$scratch/slots"
cd "$scratch" || exit 1
echo 0 > restarts
echo RUNNING > job_state
export PATH=$scratch/bin:$PATH SLURM_JOB_NUM_NODES=1 SLURM_JOB_ID=7 SLURM_ARRAY_TASK_ID=3 LSB_JOBINDEX=3 LSB_DJOB_HOSTFILE=$scratch/slots

job_options=(workers=2 array=4)
# ends_after SIGNALS SCRIPT STATUS FACT: sends these signals to the job; its run ends with 75; checks status and message.
ends_after() {
  rm -rf started stopping closed requeued spool
  mkdir spool
  cp "$root/jobs/$2" spool/script  # Slurm runs a copy, from another folder
  set -m  # otherwise the background job ignores SIGINT
  bash spool/script "$scratch/jobs" "${job_options[@]}" -- --data "my plans" > log 2>&1 &
  local job=$! signal
  set +m
  wait_until 300 "the run is running" test -s started
  for signal in $1; do
    kill -s "$signal" "$job"
    wait_until 300 "SIG$signal stops the run" test -e stopping
  done
  touch closed
  wait "$job" 2> /dev/null
  check "$2 after SIG$1: the exit status is $3" same "$3" $?
  check "$2 after SIG$1: no process is left" not kill -0 "$(< started)" 2> /dev/null
  check "$2 after SIG$1: the message mentions the reason" mentions log "$4"
}
for signals in USR1 USR2 XCPU HUP "USR1 TERM" "USR2 INT TERM" "USR1 PIPE"; do
  ends_after "$signals" slurm.sh 75 "time limit"
  check "slurm.sh after SIG$signals: the job is requeued" contains requeued "requeue 7"
  ends_after "$signals" lsf.sh 75 "time limit"
done
echo 1 > restarts
ends_after TERM slurm.sh 75 "requeues"
check "slurm.sh after a preemption: the job is not requeued a second time" absent requeued
check "slurm.sh after a preemption: the message mentions no cancellation" not grep -qwE "cancelled|submit" log
echo 0 > restarts
for signals in TERM INT "TERM USR1"; do
  ends_after "$signals" slurm.sh 75 "cancelled"
  check "slurm.sh after SIG$signals: the job is not requeued" absent requeued
  ends_after "$signals" lsf.sh 143 "cancelled"
done
check "launch.sh gets the number of workers, the shard and the options" same \
  "-n 3 --map-by node:OVERSUBSCRIBE --hostfile -- wallheat run --resume --data my plans --shard 3/4 " \
  "$(sed 's|/[^ ]* ||' called)"
# A program without MPI runs on one node only, without mpirun.
printf '#!/bin/sh\necho "{\\"mpi\\": \\"none\\"}"\n' > bin/wallheat
chmod +x bin/wallheat
job_options=(workers=1)
for script in slurm.sh lsf.sh; do
  ends_after USR1 $script 75 "time limit"
  check "$script starts a program without MPI as one process" same '-- wallheat run --resume --data my plans ' "$(< called)"
done
rm bin/wallheat
expect_error "a script without its folder" 1 "slurm.sh|first argument" bash "$root/jobs/slurm.sh"

# requeue-on-host-loss.sh, with a fake sleep that is short.
# shellcheck disable=SC2016  # expanded by the fake
printf '#!/bin/bash\necho "$@" >> pauses\nexec /bin/sleep 0.05\n' > bin/sleep
chmod +x bin/sleep
# watch "HOST STATES" JOB_STATE RESTARTS COMMAND...: runs the command on a node of the job. Sets status.
watch() {
  rm -f requeued pauses
  : > job.out
  tr ' ' '\n' <<< "$1" > host_states
  echo "$2" > job_state
  echo "$3" > restarts
  status=0
  WALLHEAT_BATCH_HOST=n1 SLURM_NODEID=1 SLURM_JOB_NUM_NODES=3 "$root/jobs/requeue-on-host-loss.sh" "${@:4}" > log 2>&1 || status=$?
}
watch "ALLOCATED ALLOCATED ALLOCATED ALLOCATED+NOT_RESPONDING DOWN+NOT_RESPONDING" RUNNING 0 bash -c 'exit 3'
check "a lost batch host: the exit status is that of the command" same 3 $status
check "a lost batch host: the job is requeued once" same "requeue 7" "$(cat requeued)"
check "a lost batch host: the job's output mentions the host and the job" mentions job.out n1 7
check "a lost batch host: the nodes of the job take turns" same "20 30 30" "$(paste -sd ' ' pauses)"
watch "ALLOCATED" RUNNING 0 true
check "a daemon that ends well: the script ends at once" same "0 no" "$status $([ -e pauses ] || echo no)"
# shellcheck disable=SC2016  # expanded by the command
watch "ALLOCATED" RUNNING 0 bash -c 'kill -TERM $PPID; exit 1'
check "a daemon that fails after a signal of Slurm: the script ends at once" same "1 no" "$status $([ -e pauses ] || echo no)"
python3 -c '
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], file=open("port.new", "w"))
while True: listener.accept()' &
listener=$!
wait_until 300 "a program listens" test -s port.new
mv port.new port
watch "ALLOCATED" RUNNING 0 false
check "a daemon that fails although the batch host is alive: the script ends at once" same "1 no" "$status $([ -e pauses ] || echo no)"
kill $listener
wait $listener 2> /dev/null
rm port
for other in "RUNNING 1" "COMPLETING 0"; do
  # shellcheck disable=SC2086  # two words
  watch "DOWN" $other false
  check "a lost batch host, but the job is ${other% *} with ${other#* } restarts: it is not requeued" absent requeued
done
finish
