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
printf '#!/bin/bash\necho "$@" >> requeued\n' > "$scratch/bin/scontrol"
chmod +x "$scratch/jobs/launch.sh" "$scratch/bin/scontrol"
printf 'n1\nn1\n' > "$scratch/slots"
cd "$scratch" || exit 1
export PATH=$scratch/bin:$PATH SLURM_JOB_NUM_NODES=1 SLURM_JOB_ID=7 SLURM_ARRAY_TASK_ID=3 LSB_JOBINDEX=3 LSB_DJOB_HOSTFILE=$scratch/slots

# ends_after SIGNALS SCRIPT STATUS FACT: sends these signals to the job; its run ends with 75; checks status and message.
ends_after() {
  rm -rf started stopping closed requeued spool
  mkdir spool
  cp "$root/jobs/$2" spool/script  # Slurm runs a copy, from another folder
  set -m  # otherwise the background job ignores SIGINT
  bash spool/script "$scratch/jobs" workers=2 array=4 -- --data "my plans" > log 2>&1 &
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
for signals in TERM INT "TERM USR1"; do
  ends_after "$signals" slurm.sh 75 "cancelled"
  check "slurm.sh after SIG$signals: the job is not requeued" absent requeued
  ends_after "$signals" lsf.sh 143 "cancelled"
done
check "launch.sh gets the number of workers, the shard and the options" same \
  "-n 3 --map-by node:OVERSUBSCRIBE --hostfile -- wallheat run --resume --data my plans --shard 3/4 " \
  "$(sed 's|/[^ ]* ||' called)"
expect_error "a script without its folder" 1 "slurm.sh|first argument" bash "$root/jobs/slurm.sh"
finish
