#!/usr/bin/env bash
# Tests the jobs that jobs/submit.sh submits, without a scheduler.
#   test_submit.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
job=$scratch/job messages=$scratch/messages
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
for words in "sbatch --parsable --time=240:00 " ' --nodes=1 --signal=B:USR1@120 --output=wallheat-%j.out --exclusive ' "workers=1 -- --data my\\ plans --out out/results.h5 --save-fields" \
  "$(printf '%q %q' "$root/jobs/slurm.sh" "$root/jobs")" '#SBATCH --open-mode=append' '#SBATCH --requeue' '#SBATCH --no-kill'; do has "$words"; done
has_not --array
has_not merge

dry slurm --site site.sh --nodes 4 --gpus 8 --array 16 --running 5 --memory 48 --time 1h5m --name heat
for words in ' --nodes=4 ' ' --gres=gpu:8 ' ' --array=1-16%5 ' ' --mem=48G ' ' --partition=long ' ' --comment=floor\ plans ' \
  ' --cpus-per-task=32 ' ' --time=65:00 ' ' --output=heat-%A_%a.out ' "site=$PWD/site.sh workers=8 array=16 -- " \
  ' --dependency=afterany:JOB ' "site=$PWD/site.sh merge=16 -- --data"; do has "$words"; done
has_not --exclusive
check "the message names the program that cannot be started" mentions "$messages" submit.sh apptainer
dry slurm --array 4 --cores 2
has ' --cpus-per-task=2 '
has_not --exclusive

dry lsf --site site.sh --nodes 3 --gpus 2 --array 4 --running 2 --take-over --memory 48 --workers 5
for words in "bsub -W 10:30 -q long -P heat -J wallheat\\[1-4\\]%2 -o wallheat-%J_%I.out -n 96 -R span\\[ptile=32\\] -wt 2 -wa USR1 -Q 75 -r -gpu num=2:mode=shared -R rusage\\[mem=48GB\\] " \
  'workers=5\ array=4\ take_over=yes\ --\ --data\ my\\\ plans' '-w ended\(JOB\) ' 'merge=4\ --'; do has "$words"; done
dry lsf
check "LSF without the cores per node: the exit status is 1" same 1 $?
check "LSF without the cores per node: the message mentions the option" mentions "$messages" LSF --cores cores_per_node
dry lsf --site site.sh --cores 016 --nodes 09
check "numbers with leading zeros are decimal" contains "$job" "-n 144 "

wrong_usage() {  # "FACT|FACT" ARGUMENTS...
  expect_error "wrong usage: ${*:2}" 2 "submit.sh|$1" "$root/jobs/submit.sh" --scheduler slurm --dry-run "${@:2}"
}
wrong_usage "wallheat run|--"
wrong_usage "--nodes|999999|'0'" --nodes 0 "${plans[@]}"
wrong_usage "--nodes|'99999999999999999999'" --nodes 99999999999999999999 "${plans[@]}"
wrong_usage "--memory|999999|'4G'" --memory 4G "${plans[@]}"
wrong_usage "--cores" --cores '' "${plans[@]}"
for time in 0:00 0:00:00 0m 90x 90 1:30:99 99999999999999999999h; do
  wrong_usage "--time|'$time'" --time "$time" "${plans[@]}"
done
wrong_usage "--running|--array" --running 4 "${plans[@]}"
wrong_usage "--take-over|--retry-failed" --array 4 --take-over "${plans[@]}" --retry-failed
wrong_usage "--gpu" --gpu 2 "${plans[@]}"
wrong_usage "--scheduler|slurm|lsf" --scheduler pbs "${plans[@]}"
wrong_usage "--array|--shard" "${plans[@]}" --shard 1/4
wrong_usage "overwrite" "${plans[@]}" --overwrite
for line in "cores_per_node=0 --cores|'0'" "time_limit=0m --time|'0m'"; do
  { cat site.sh; echo "${line% *}"; } > odd-site.sh
  wrong_usage "${line#* }" --site odd-site.sh "${plans[@]}"
done
submit --site none.sh --scheduler slurm --dry-run "${plans[@]}"
check "a missing site file is an error" same 1 $?
for limit in 1m=6 20:00=120 19m=114 0:20=2 0:20:00=120 1d08h09m=120 45s=4; do
  dry slurm --time "${limit%=*}"
  has "--signal=B:USR1@${limit#*=} "
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
submitted 0 "submit.sh|core|wallheat run" 1 -- --data plans --out r.h5
check "stdout has the job ID" mentions "$job" 7
submitted 0 "submit.sh|shard 1/4|wallheat run" 2 --array 4 -- --data plans --out r.h5
submitted 2 "wallheat|--out" 0 -- --data plans
submitted 2 "wallheat|--sav-fields|--save-fields" 0 -- --data plans --out r.h5 --sav-fields
submitted 2 "submit.sh|15|--array 15 --take-over" 0 --array 16 -- --data plans --out r.h5
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
submit --site own.sh --gpus 1 -- --data plans --out r.h5 --device gpu
check "the machine that submits the job needs no GPU" same 0 $?
rm plans/00003_interior.npy
submitted 0 "submit.sh|1 plan|plans/00003_interior.npy" 1 -- --data plans --out r.h5

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
