#!/usr/bin/env bash
# jobs/slurm.sh and jobs/lsf.sh as schedulers signal them, with a stand-in for launch.sh: which signals stop a
# run, and after which of them the job goes back into the queue.
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"

mkdir "$scratch/jobs" "$scratch/bin" "$scratch/configs"
cp "$root"/jobs/{job,slurm,lsf}.sh "$scratch/jobs"
printf 'setup=module wallheat=(wallheat)\nmodule() { :; }\n' > "$scratch/configs/site.sh"
cat > "$scratch/jobs/launch.sh" <<'END'
#!/bin/bash
# At SIGUSR1 it closes its file, which takes until the file "closed" is there.
trap 'asked=yes' USR1
printf '%s ' "$@" > called
echo $$ > started
until [ -n "${asked:-}" ]; do sleep 0.05; done
touch asked
until [ -e closed ]; do sleep 0.05; done
exit 75
END
printf '#!/bin/bash\necho "$@" >> requeued\n' > "$scratch/bin/scontrol"
chmod +x "$scratch/jobs/launch.sh" "$scratch/bin/scontrol"
printf 'n1\nn1\n' > "$scratch/slots"
cd "$scratch" || exit 1
export PATH=$scratch/bin:$PATH SLURM_JOB_NUM_NODES=1 SLURM_JOB_ID=7 SLURM_ARRAY_TASK_ID=3 LSB_JOBINDEX=3 LSB_DJOB_HOSTFILE=$scratch/slots

# ends_after SIGNALS SCRIPT STATUS WORDS: the job is sent these signals, then its run ends with 75, and the job tells why.
ends_after() {
  rm -rf started asked closed requeued spool
  mkdir spool
  cp "$root/jobs/$2" spool/script  # Slurm runs a copy, from another folder
  set -m  # or the background job would be deaf to SIGINT
  bash spool/script "$scratch/jobs" workers=2 array=4 -- --data "my plans" > log 2>&1 &
  local job=$! signal
  set +m
  wait_until 300 "the run is at work" test -s started
  for signal in $1; do
    kill -s "$signal" "$job"
    wait_until 300 "the run is asked to stop by SIG$signal" test -e asked
  done
  touch closed
  wait "$job" 2> /dev/null
  check "$2 after SIG$1: status" same "$3" $?
  check "$2 after SIG$1: nothing is left running" not kill -0 "$(< started)" 2> /dev/null
  check "$2 after SIG$1: it says why" contains log "$4"
}
for signals in USR1 USR2 XCPU HUP "USR1 TERM" "USR2 INT TERM" "USR1 PIPE"; do
  ends_after "$signals" slurm.sh 75 "before the job's time limit"
  check "slurm.sh after SIG$signals: the job goes back into the queue" contains requeued "requeue 7"
  ends_after "$signals" lsf.sh 75 "before the job's time limit"
done
for signals in TERM INT "TERM USR1"; do
  ends_after "$signals" slurm.sh 75 "was cancelled"
  check "slurm.sh after SIG$signals: the job does not come back" absent requeued
  ends_after "$signals" lsf.sh 143 "was cancelled"
done
check "the workers of all nodes, the shard and the options reach launch.sh" same \
  "-n 3 --map-by node:OVERSUBSCRIBE --hostfile -- wallheat run --resume --data my plans --shard 3/4 " \
  "$(sed 's|/[^ ]* ||' called)"
bash "$root/jobs/slurm.sh" > log 2>&1
check "a script without its folder says so" contains log "the first argument must be the folder"
finish
