#!/usr/bin/env bash
# Tests the jobs that jobs/submit.sh submits, without a scheduler.
#   test_submit.sh WALLHEAT WALLHEAT_WITH_FAKE_GPUS WALLHEAT_WITHOUT_MPI_AND_CUDA
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
job=$scratch/job messages=$scratch/messages
fake_gpus=$(realpath "$2") bare_wallheat=$(realpath "$3")
unset WALLHEAT_SITE
default_site_files=site=$root/configs/site.sh
[ ! -e /etc/wallheat/site.sh ] || default_site_files+=" site=/etc/wallheat/site.sh"
cd "$scratch" || exit 1

for script in "$root"/jobs/*.sh "$root"/configs/site.sh "$here"/*.sh; do
  check "$(basename "$script") has no syntax errors" bash -n "$script"
done
if command -v shellcheck > /dev/null; then
  check "shellcheck finds no problem" shellcheck "$root"/jobs/*.sh "$root/configs/site.sh" "$here"/*.sh "$here/bsub"
else
  echo "skipped: shellcheck not found"
fi

cat > site.sh <<'END'
slurm_options=(--partition=long --comment='floor plans')
lsf_options=(-q long -P heat)
slurm_gpu_option=('--gres=gpu:{}')
lsf_gpu_option=(-gpu 'num={}:mode=shared')
cores_per_node=32
time_limit=10h30m
wallheat=(apptainer exec "my image.sif" wallheat)
END
submit() { "$root/jobs/submit.sh" "$@" > "$job" 2> "$messages"; }
has() { check "the job has $1" contains "$job" "$1"; }
has_not() { check "the job has no $1" not grep -qF -- "$1" <(head -n 2 "$job"); }
plans=(-- --data "my plans" --out out/results.h5 --save-fields)
dry() { submit --scheduler "$@" --dry-run "${plans[@]}"; }

dry slurm
check "submit.sh --dry-run ends with 0" same 0 $?
for words in "sbatch --parsable --time=240:00 " ' --nodes=1 --signal=B:USR1@120 --output=wallheat-%j.out --exclusive ' "workers=1 -- --data my\\ plans --out out/results.h5 --save-fields --shard none" \
  "$(printf '%q %q' "$root/jobs/slurm.sh" "$root/jobs")" '#SBATCH --open-mode=append' '#SBATCH --requeue' '#SBATCH --no-kill'; do has "$words"; done
has_not --array
has_not merge

dry slurm --site site.sh --nodes 4 --gpus 8 --array 16 --max-running 5 --memory 48 --time 1h5m --name heat
for words in ' --nodes=4 ' ' --gres=gpu:8 ' ' --array=1-16%5 ' ' --mem=48G ' ' --partition=long ' ' --comment=floor\ plans ' \
  ' --cpus-per-task=32 ' ' --time=65:00 ' ' --output=heat-%A_%a.out ' " $default_site_files site=$PWD/site.sh workers=8 array=16 -- " \
  ' --dependency=afterany:JOB ' "site=$PWD/site.sh merge=16 -- --data"; do has "$words"; done
has_not --exclusive
check "the message names the program that cannot be started" mentions "$messages" submit.sh apptainer
dry slurm --array 4 --cores 2
has ' --cpus-per-task=2 '
has_not --exclusive

dry lsf --site site.sh --nodes 3 --gpus 2 --array 4 --max-running 2 --take-over --memory 48 --workers 5
for words in "bsub -W 10:30 -q long -P heat -J wallheat\\[1-4\\]%2 -o wallheat-%J_%I.out -n 96 -R span\\[ptile=32\\] -wt 2 -wa USR1 -Q 75 -r -gpu num=2:mode=shared -R rusage\\[mem=1536MB\\] " \
  'workers=5\ array=4\ take_over=yes\ --\ --data\ my\\\ plans' '-w ended\(JOB\) ' 'merge=4\ --'; do has "$words"; done
dry lsf
check "LSF without the cores per node: the exit status is 1" same 1 $?
check "LSF without the cores per node: the message mentions the option" mentions "$messages" LSF --cores cores_per_node
dry lsf --site site.sh --cores 016 --nodes 09
check "numbers with leading zeros are decimal" contains "$job" "-n 144 "

# The memory of a node is divided by its slots, and rounded up.
for case in "8 16 512" "1 3 342" "9 1 9216"; do
  read -r memory cores mb <<< "$case"
  dry lsf --memory "$memory" --cores "$cores"
  has " -R rusage\\[mem=${mb}MB\\] "
done
echo lsf_memory_per=host > per-host.sh
dry lsf --site per-host.sh --memory 8 --cores 16
has " -R rusage\\[mem=8192MB\\] "
echo "lsf_memory_option=(-R 'rusage[mem={}GB]') slurm_memory_option=('--mem-per-node={MB}M')" > templates.sh
dry lsf --site templates.sh --memory 40 --cores 16
has " -R rusage\\[mem=3GB\\] "
dry slurm --site templates.sh --memory 40 --cores 16
has " --mem-per-node=40960M "

# --- The job that merges has its own queue, time limit and memory ------------------------------------------------------

# submission NUMBER: prints a submission command of the last dry run.
submission() { sed -n "$1p" "$job"; }
# queue NUMBER: prints the partitions or queues that this command names.
queue() { submission "$1" | grep -oE -- ' (-q|-p|--partition)[ =][^ ]+' | sed 's/^ //' | paste -sd , ; }
# queues DESCRIPTION QUEUES MERGE_QUEUES ARGUMENTS...: the queues of an array and of its merge job
queues() {
  dry "${@:4}" --array 2 --cores 2
  check "$1: the queue of the array: ${*:4}" same "$2" "$(queue 1)"
  check "$1: the queue of the merge job: ${*:4}" same "$3" "$(queue 2)"
}
cat > queues.sh <<'END'
slurm_options=(-p long --account=heat)
lsf_options=(-q long -P heat)
END
cat > gpu-queue.sh <<'END'
slurm_options=(--partition=long)
lsf_options=(-q long)
slurm_gpu_option=(--partition=gpu '--gres=gpu:{}')
lsf_gpu_option=(-q gpu -gpu 'num={}')
END
cat > merge.sh <<'END'
slurm_options=(-plong)
lsf_options=(-q long)
slurm_merge_options=(--partition short --comment=merge)
lsf_merge_options=(-q short -sp 90)
merge_time_limit=3h merge_memory=6
END
for flag in "slurm --partition=" "lsf -q "; do
  scheduler=${flag%% *} flag=${flag#* }
  queues "no queue" '' '' "$scheduler"
  queues "the queue of the site" "${flag}long" "${flag}long" "$scheduler" --site queues.sh
  queues "--partition" "${flag}fast" "${flag}fast" "$scheduler" --site queues.sh --partition fast
  queues "a queue of GPUs" "${flag}fast" "${flag}long" "$scheduler" --site queues.sh --partition fast --gpus 2
  queues "the queue of the site has GPUs" "${flag}long" '' "$scheduler" --site queues.sh --gpus 2
  queues "the GPUs' queue of the site" "${flag}gpu" "${flag}long" "$scheduler" --site gpu-queue.sh --gpus 2
  queues "--partition before the GPUs' queue" "${flag}fast" "${flag}long" "$scheduler" --site gpu-queue.sh --gpus 2 --partition fast
  queues "no GPUs" "${flag}long" "${flag}long" "$scheduler" --site gpu-queue.sh
  queues "the queue of the merge" "${flag}fast" "${flag}short" "$scheduler" --site merge.sh --partition fast --gpus 1
done
merge_has() { check "the merge job has $1" contains <(submission 2) "$1"; }
dry slurm --site merge.sh --array 2 --gpus 2 --time 20m --memory 48
for words in ' --time=180:00 ' ' --mem=6G ' ' --comment=merge '; do merge_has "$words"; done
check "the merge job requests no GPU" not grep -q gpu <(submission 2)
dry lsf --site merge.sh --array 2 --gpus 2 --cores 8 --time 20m --memory 48
for words in ' -W 3:00 ' ' -R rusage\[mem=6144MB\] ' ' -sp 90 ' ' -n 1 '; do merge_has "$words"; done
check "the merge job requests no GPU" not grep -qw -- -gpu <(submission 2)
dry slurm --array 2 --time 20m
merge_has ' --time=20:00 '
dry slurm --array 2 --time 20h
merge_has ' --time=60:00 '

# --- Options of the scheduler --------------------------------------------------------------------------------------------

# The options of the command line apply to all jobs, and replace those of the site files.
mail=(--mail-user me@example.org)
user=(--account lab --scheduler-option --reservation=lab "${mail[@]}")
dry slurm --site queues.sh "${user[@]}" --qos long
for words in ' --account=lab ' ' --qos=long ' ' --mail-user=me@example.org ' ' --mail-type=' ' --reservation=lab '; do has "$words"; done
check "the account of the command line is the last one" same --account=lab "$(submission 1 | grep -o -- '--account=[^ ]*' | tail -n 1)"
dry slurm --site queues.sh "${user[@]}" --qos long --array 2
for words in ' --account=lab ' ' --qos=long ' ' --mail-user=me@example.org ' ' --reservation=lab '; do merge_has "$words"; done
dry lsf --site site.sh --account "lab 2" --scheduler-option -G --scheduler-option lab "${mail[@]}"
for words in ' -P lab\ 2 ' ' -G lab ' ' -u me@example.org -N '; do has "$words"; done
has_not ' -P heat '
dry lsf --site site.sh --account lab "${mail[@]}" --array 2
check "the jobs of an LSF array send no mail" not contains <(submission 1) me@example.org
for words in ' -P lab ' ' -u me@example.org -N '; do merge_has "$words"; done
expect_error "LSF has no QOS" 2 "--qos|Slurm|--scheduler-option|-sla" "$root/jobs/submit.sh" --scheduler lsf --cores 2 --qos long --dry-run "${plans[@]}"

# --- Site files ---------------------------------------------------------------------------------------------------------

echo 'time_limit=2h cores_per_node=2' > of-user.sh
echo 'time_limit=3h' > of-job.sh
WALLHEAT_SITE=of-user.sh dry slurm
has ' --time=120:00 '
has " $default_site_files site=$PWD/of-user.sh workers="
WALLHEAT_SITE=of-user.sh dry slurm --site of-job.sh
has ' --time=180:00 '
has ' --cpus-per-task=2 '
has " site=$PWD/of-user.sh site=$PWD/of-job.sh workers="
WALLHEAT_SITE=none.sh dry slurm
check "a site file of WALLHEAT_SITE that does not exist is an error" same 1 $?
check "the message names it" mentions "$messages" "$PWD/none.sh"
# /etc of another mount namespace. An overlay contains all other files of /etc.
mkdir -p etc/wallheat
echo 'time_limit=1h cores_per_node=7' > etc/wallheat/site.sh
if unshare --mount true 2> /dev/null && unshare --mount mount -t overlay overlay -o "lowerdir=$scratch/etc:/etc" /etc 2> /dev/null; then
  # shellcheck disable=SC2016  # expanded by the other shell
  WALLHEAT_SITE=of-user.sh unshare --mount bash -c 'mount -t overlay overlay -o "lowerdir=$1/etc:/etc" /etc && shift && "$@"' bash \
    "$scratch" "$root/jobs/submit.sh" --scheduler slurm --dry-run "${plans[@]}" > "$job" 2> "$messages"
  has ' --time=120:00 '
  has " site=$root/configs/site.sh site=/etc/wallheat/site.sh site=$PWD/of-user.sh workers="
else
  echo "skipped: /etc/wallheat/site.sh: needs a mount namespace with an overlay of /etc (root)"
fi

wrong_usage() {  # "FACT|FACT" ARGUMENTS...
  expect_error "wrong usage: ${*:2}" 2 "submit.sh|$1" "$root/jobs/submit.sh" --scheduler slurm --dry-run "${@:2}"
}
wrong_usage "wallheat run|--"
wrong_usage "--nodes|999999|'0'" --nodes 0 "${plans[@]}"
wrong_usage "--nodes|'99999999999999999999'" --nodes 99999999999999999999 "${plans[@]}"
wrong_usage "--memory|999999|'4G'" --memory 4G "${plans[@]}"
wrong_usage "--cores" --cores '' "${plans[@]}"
wrong_usage "--scheduler-option" --scheduler-option '' "${plans[@]}"
for time in 0:00 0:00:00 0m 90x 90 1:30:99 99999999999999999999h 0-0 1-24 1-1:60 1- -1; do
  wrong_usage "--time|'$time'" --time "$time" "${plans[@]}"
done
wrong_usage "--time|'4'|4h|4m" --time 4 "${plans[@]}"
wrong_usage "--max-running|--array" --max-running 4 "${plans[@]}"
wrong_usage "--max-running|999999|'x'" --array 4 --max-running x "${plans[@]}"
wrong_usage "--take-over|--retry-failed" --array 4 --take-over "${plans[@]}" --retry-failed
wrong_usage "--gpu" --gpu 2 "${plans[@]}"
wrong_usage "--scheduler|slurm|lsf" --scheduler pbs "${plans[@]}"
wrong_usage "--array|--shard" "${plans[@]}" --shard 1/4
wrong_usage "overwrite" "${plans[@]}" --overwrite
# The scheduler would replace these in the name of the log.
for name in a/b 'a%j' 'a\b' 'a[1]' -a $'a\tb'; do wrong_usage "--name" --name "$name" "${plans[@]}"; done
dry slurm --name "floor plans-1.2_ü"
check "other names are accepted" same 0 $?
for line in "cores_per_node=0 --cores|cores_per_node|'0'" "time_limit=0m --time|time_limit|'0m'" "merge_time_limit=1x merge_time_limit|'1x'" \
  "merge_memory=4G merge_memory|'4G'" "lsf_memory_per=core lsf_memory_per|slot|host|'core'"; do
  { cat site.sh; echo "${line% *}"; } > odd-site.sh
  wrong_usage "${line#* }" --site odd-site.sh "${plans[@]}"
done
submit --site none.sh --scheduler slurm --dry-run "${plans[@]}"
check "a missing site file is an error" same 1 $?
for line in 'slurm_options="--a --b"' 'slurm_options=--a --b' 'lsf_gpu_option=' 'wallheat=/opt/wallheat' 'module-of-no-site' '"' 'exit 3'; do
  { cat site.sh; echo "$line"; } > odd-site.sh
  expect_error "a site file with $line" 1 "submit.sh|odd-site.sh" "$root/jobs/submit.sh" --scheduler slurm --site odd-site.sh --dry-run "${plans[@]}"
done
echo 'slurm_option=(--a) merge_tim_limit=2h' > odd-site.sh
dry slurm --site odd-site.sh
check "unknown variables of a site file are reported" mentions "$messages" warning odd-site.sh slurm_option merge_tim_limit
dry slurm --site merge.sh
check "a good site file causes no warning" not mentions "$messages" warning
echo 'setup="echo no such module >&2; false"' > odd-site.sh
dry slurm --site odd-site.sh
check "a setup that fails is reported" mentions "$messages" warning setup "status 1" "no such module"
for limit in 1m=6 20:00=120 19m=114 0:20=2 0:20:00=120 1d08h09m=120 45s=4; do
  dry slurm --time "${limit%=*}"
  has "--signal=B:USR1@${limit#*=} "
done

# bsub reads 1:30 as hours and minutes.
dry slurm --time 1:30
check "a short time limit is reported" mentions "$messages" warning --time "'1:30'" "1 min 30 s" 1h30m
dry slurm --time 5:00
check "a time limit of five minutes is not reported" not mentions "$messages" --time

for limit in 1-0=1440:00 1-08:09=1929:00 1-08:09:10=1929:10 0-0:30=30:00; do
  dry slurm --time "${limit%=*}"
  has " --time=${limit#*=} "
done

# A run that cannot start, or has no pending plan, is not submitted. A fake Slurm records the jobs.
mkdir bin
printf '#!/bin/bash\nprintf "%%s\\n" "$*" >> "%s"\necho 7\n' "$scratch/submitted" > bin/sbatch
printf '#!/bin/sh\necho "MaxArraySize            = 16"\n' > bin/scontrol
chmod +x bin/*
PATH=$scratch/bin:$PATH
"$wallheat" generate --out plans --count 13 --size 32 > /dev/null
printf 'wallheat=(%q)\n' "$wallheat" > own.sh
# submitted STATUS "FACT|FACT" JOBS ARGUMENTS...: the exit status, facts in the messages, and the number of jobs
submitted() {
  local facts
  IFS='|' read -ra facts <<< "$2"
  rm -f submitted
  submit --site own.sh "${@:4}"
  check "exit status of: ${*:4}" same "$1" $?
  check "the messages mention ${facts[*]}" mentions "$messages" "${facts[@]}"
  check "jobs submitted: $3" same "$3" "$( (cat submitted 2> /dev/null || true) | wc -l)"
}
submitted 0 "submit.sh|warning|core|wallheat run|submitting" 1 -- --data plans --out r.h5
check "stdout has the job ID, the log and the command that shows progress" mentions "$job" "job 7" "$PWD/wallheat-7.out" "wallheat status $PWD/r.h5"
submit --site own.sh --dry-run -- --data plans --out r.h5
check "a dry run has the same warning" mentions "$messages" warning core "wallheat run"
check "a dry run does not report that it submits" not mentions "$messages" submitting
submit --site own.sh --dry-run -- --data no-plans --out r.h5
check "a dry run reports that the job would not be submitted" mentions "$messages" no-plans "not be submitted"
check "a dry run of it ends with 0" same 0 $?
"$wallheat" submit --site own.sh --dry-run -- --data plans --out r.h5 2> "$messages" | true
check "a dry run does not report a closed pipe" not mentions "$messages" "Broken pipe"
submitted 0 "submit.sh|shard 1/4|wallheat run" 2 --array 4 -- --data plans --out r.h5
check "stdout has the logs of the array" mentions "$job" "$PWD/wallheat-7_K.out"
submitted 2 "wallheat|--out" 0 -- --data plans
submitted 2 "wallheat|--sav-fields|--save-fields" 0 -- --data plans --out r.h5 --sav-fields
submitted 2 "submit.sh|15|--array 15 --take-over" 0 --array 16 -- --data plans --out r.h5
mv bin/scontrol scontrol
printf '#!/bin/sh\nsleep 600\n' > bin/scontrol
chmod +x bin/scontrol
submitted 0 "submit.sh|scontrol|10 s" 2 --array 4 -- --data plans --out r.h5
mv scontrol bin/scontrol
submitted 1 "--data|no-plans" 0 -- --data no-plans --out r.h5
submitted 1 "$scratch/no-folder|no-folder/r.h5" 0 -- --data plans --out no-folder/r.h5
"$wallheat" run --data plans --out other.h5 --tolerance 0.01 --log-level error
submitted 1 "other.h5|tolerance|0.01|0.0001" 0 -- --data plans --out other.h5
"$wallheat" run --data plans --out solved.h5 --log-level error
submitted 0 "submit.sh|13 plans" 0 -- --data plans --out solved.h5
submit --site own.sh --dry-run -- --data plans --out no-folder/r.h5
check "a dry run prints the job even if it cannot run" contains "$job" "sbatch --parsable"
check "a dry run reports the problem" mentions "$messages" "$scratch/no-folder" no-folder/r.h5
"$wallheat" run --data plans --out a.h5 --shard 1/3 --log-level error
submitted 0 "submit.sh|3|2,3" 2 --array 3 -- --data plans --out a.h5
check "only pending shards are submitted" contains submitted " --array=2,3 "
for k in 2 3; do "$wallheat" run --data plans --out a.h5 --shard $k/3 --log-level error; done
submitted 0 "submit.sh|5 plans|shard 1/3|wallheat merge" 0 --array 3 -- --data plans --out a.h5
"$wallheat" run --data plans --first 1 --out few.h5 --shard 1/2 --log-level error
submitted 0 "submit.sh|fewer|wallheat merge" 0 --array 2 -- --data plans --first 1 --out few.h5
# The memory of a node must suffice for one plan per core.
"$wallheat" generate --out one --count 1 --size 1500 > /dev/null
cp -r plans large
mv one/00001_* large
submitted 0 "submit.sh|memory|13 solver processes|1500 x 1500|1 GB" 1 --cores 13 --memory 1 -- --data large --out large.h5
rm plans/00003_interior.npy
submitted 0 "submit.sh|1 plan|plans/00003_interior.npy" 1 -- --data plans --out r.h5

# Jobs that must fail, or would leave their GPUs idle, are not submitted.
cat > no-gpu-here.sh <<END
wallheat=(env CUDA_VISIBLE_DEVICES=9 "$fake_gpus")
END
gpu_run=(-- --data plans --out gpu.h5 --device gpu)
submitted 0 "submit.sh" 1 --site no-gpu-here.sh --gpus 2 "${gpu_run[@]}"
check "the message about a short run does not send it to a machine without a GPU" mentions "$messages" "without --device gpu"
submitted 1 "submit.sh|--device gpu|--gpus" 0 --site no-gpu-here.sh "${gpu_run[@]}"
submitted 1 "submit.sh|--device gpu|1 GPU|2 workers|--workers 1" 0 --site no-gpu-here.sh --gpus 1 --workers 2 "${gpu_run[@]}"
submitted 1 "submit.sh|--gpus 2|--solver steady" 0 --site no-gpu-here.sh --gpus 2 -- --data plans --out gpu.h5 --solver steady
printf 'wallheat=("%s")\n' "$bare_wallheat" > bare.sh
submitted 0 submit.sh 1 --site bare.sh -- --data plans --out alone.h5
submitted 1 "submit.sh|MPI|2 workers|--workers 1" 0 --site bare.sh --workers 2 -- --data plans --out alone.h5
submitted 1 "submit.sh|MPI|12 workers|3 nodes|--gpus 4|CUDA" 0 --site bare.sh --nodes 3 --gpus 4 -- --data plans --out gpu.h5

# --- What the scheduler gets, and what it answers ---------------------------------------------------------------------

# answers SCHEDULER STATUS OUTPUT: the scheduler of the next submissions prints OUTPUT and ends with STATUS.
answers() {
  local program=bin/sbatch
  [ "$1" = slurm ] || program=bin/bsub
  printf '%s' "$3" > answer
  printf '#!/bin/bash\nprintf "%%s\\n" "$*" >> submitted\nenv > environment\ncat answer\nexit %s\n' "$2" > $program
  chmod +x $program
}
array=(--cores 2 --array 2 -- --data plans --out banner.h5)
# finds_id SCHEDULER OUTPUT: the merge job depends on job 4711.
finds_id() {
  answers "$1" 0 "$2"
  submitted 0 submit.sh 2 --scheduler "$1" "${array[@]}"
  check "the merge job depends on the job of the line with the ID: ${2//$'\n'/ | }" grep -qE -- 'afterany:4711 |ended\(4711\)' submitted
}
finds_id slurm '4711;cluster3'
finds_id slurm $'  Welcome to Example3, 2 logins\n4711\n3 jobs are pending\n'
check "the messages of the site are shown" mentions "$messages" "Welcome to Example3, 2 logins" "3 jobs"
finds_id slurm $'** 12 % of the quota **\nSubmitted batch job 4711 on cluster c2\n'
finds_id lsf $'Queue 3 is busy.\nJob <4711> is submitted to queue <n1>.\n5 hosts\n'
for output in '' $'4711\n4712\n' 'job 4711 was accepted'; do
  answers slurm 0 "$output"
  submitted 1 "submit.sh|sbatch|job ID|may have been submitted${output:+|4711}" 1 --scheduler slurm "${array[@]}"
done
answers slurm 1 "sbatch: error: QOSMaxSubmitJobPerUserLimit
sbatch: error: Batch job submission failed: Job violates accounting/QOS policy (job submit limit, user's size and/or time limits)"
cat > bin/sacctmgr <<'END'
#!/bin/bash
case "$*" in *assoc*) printf 'heat|\nstudents|30\n' ;; *qos*) printf 'normal|4\n' ;; esac
END
chmod +x bin/sacctmgr
submitted 1 "submit.sh|QOSMaxSubmitJobPerUserLimit|students: 30|normal: 4|--take-over" 1 "${array[@]}"
answers lsf 255 "User <me>: Pending job threshold reached. Job not submitted."
submitted 1 "submit.sh|Pending job threshold|--take-over" 1 --scheduler lsf "${array[@]}"
# A message is shown while bsub waits.
cat > bin/bsub <<'END'
#!/bin/bash
echo "Pending job threshold reached. Retrying in 60 seconds..." >&2
until [ -e shown ]; do sleep 0.1; done
echo "Job <4711> is submitted to default queue <normal>."
END
submit --site own.sh --scheduler lsf --cores 2 -- --data plans --out r.h5 &
wait_until 300 "a message is shown while bsub waits" grep -qs Retrying "$messages"
touch shown
wait $!
check "a submission that had to wait succeeds" same 0 $?
# The array is accepted, and the job that merges is not.
mkdir limited
cat > bin/sbatch <<'END'
#!/bin/bash
case "$*" in *merge=*) echo "sbatch: error: AssocMaxSubmitJobLimit" >&2; exit 1 ;; esac
echo "$*" >> submitted; echo 7
END
submitted 1 "submit.sh|AssocMaxSubmitJobLimit|job 7|wallheat merge --update --out $PWD/limited/r.h5 $PWD/limited/r.part-*-of-2.h5" 1 \
  --cores 2 --array 2 -- --data plans --out limited/r.h5
answers slurm 1 "sbatch: error: Batch job submission failed: Invalid account"
submitted 1 "Invalid account|submit.sh|slurm" 1 "${array[@]}"
check "the message mentions no limit" not grep -q limit "$messages"

# Variables of the job that calls submit.sh do not reach the new job; the others do.
answers slurm 0 7
export SLURM_CONF=$scratch/slurm.conf LSB_DEFAULTQUEUE=normal
SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=3 SLURM_JOB_ID=5 SLURM_CPUS_PER_TASK=9 SLURM_NTASKS=3 SLURM_EXPORT_ENV=NONE PMIX_RANK=1 \
  LSB_JOBINDEX=2 LSB_DJOB_NUMPROC=7 submitted 0 "submit.sh" 1 --scheduler slurm -- --data plans --out r.h5
check "the new job gets no variable of a job" same "LSB_DEFAULTQUEUE SLURM_CONF" \
  "$(sed -nE 's/^((SLURM|LSB|PMIX|PMI)_[^=]*)=.*/\1/p' environment | sort | paste -sd ' ')"
unset SLURM_CONF LSB_DEFAULTQUEUE

# A job reads the site files of its arguments, in their order.
printf 'time_limit=1h\nsetup="echo first"\n' > first.sh
# shellcheck disable=SC2016  # expanded in the job
echo 'setup+="; echo \$time_limit; exit"' > second.sh
job_script() { bash "$root/jobs/slurm.sh" "$root/jobs" "$@" -- --data plans --out r.h5; }
check "a job reads all its site files" same "first 1h" "$(job_script "site=$PWD/first.sh" "site=$PWD/second.sh" | paste -sd ' ')"
echo 'setup="echo third; exit"' > third.sh
check "a job without arguments reads WALLHEAT_SITE" same third "$(WALLHEAT_SITE=third.sh job_script)"
expect_error "a site file that is not on the node" 1 "$PWD/none.sh|$HOSTNAME" job_script "site=$PWD/none.sh"

# The merge job reads all shard files, and no other file.
mkdir configs out
cp -r "$root/jobs" .
touch out/{results.part-{01..12}-of-12.h5,results.part-1-of-2.h5,other.part-01-of-12.h5}
# shellcheck disable=SC2016  # expanded by the site file
printf 'setup=true\nprogram() { case $1 in merge) printf "%%s\\n" "$@" ;; *) "%s" "$@" ;; esac; }\nwallheat=(program)\nexec() { "$@"; exit; }\n' "$wallheat" > configs/site.sh
bash jobs/slurm.sh jobs merge=12 -- --data plans --out out/results.h5 > merged
check "the merge gets --out" contains merged "$PWD/out/results.h5"
check "the merge updates an earlier merged file" contains merged --update
check "the merge gets all shard files and no other file" same 16 "$(wc -l < merged)"
check "the merge gets the last shard file" contains merged /out/results.part-12-of-12.h5
finish
