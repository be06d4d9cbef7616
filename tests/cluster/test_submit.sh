#!/usr/bin/env bash
# What jobs/submit.sh submits, without a scheduler.
#   test_submit.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
job=$scratch/job said=$scratch/said
cd "$scratch" || exit 1

for script in "$root"/jobs/*.sh "$root"/configs/site.sh "$here"/*.sh; do
  check "$(basename "$script") is well-formed" bash -n "$script"
done
if command -v shellcheck > /dev/null; then
  check "shellcheck finds nothing in them" shellcheck "$root"/jobs/*.sh "$root/configs/site.sh" "$here"/*.sh "$here/bsub"
else
  echo "skipped: shellcheck is not installed"
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
submit() { "$root/jobs/submit.sh" "$@" > "$job" 2> "$said"; }
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
check "it says that nothing is checked, as there is no such program" contains "$said" "nothing is checked"
dry slurm --array 4 --cores 2
has ' --cpus-per-task=2 '
has_not --exclusive

dry lsf --site site.sh --nodes 3 --gpus 2 --array 4 --running 2 --take-over --memory 48 --workers 5
for words in "bsub -W 10:30 -q long -P heat -J wallheat\\[1-4\\]%2 -o wallheat-%J_%I.out -n 96 -R span\\[ptile=32\\] -wt 2 -wa USR1 -Q 75 -r -gpu num=2:mode=shared -R rusage\\[mem=48GB\\] " \
  'workers=5\ array=4\ take_over=yes\ --\ --data\ my\\\ plans' '-w ended\(JOB\) ' 'merge=4\ --'; do has "$words"; done
dry lsf
check "LSF without the cores of a node is refused" contains "$said" "LSF has to know the cores"
dry lsf --site site.sh --cores 016 --nodes 09
check "numbers are decimal, whatever they begin with" contains "$job" "-n 144 "

refused() {  # SENTENCE WORDS...
  submit --scheduler slurm --dry-run "${@:2}"
  check "refused as wrong usage: ${*:2}" same 2 $?
  check "it says why" contains "$said" "$1"
}
refused "come after --"
refused "--nodes must be a number from 1" --nodes 0 "${plans[@]}"
refused "--nodes must be a number" --nodes 99999999999999999999 "${plans[@]}"
refused "--memory must be a number from 1" --memory 4G "${plans[@]}"
refused "the value of --cores is missing" --cores '' "${plans[@]}"
for time in 0:00 0:00:00 0m 90x 90 1:30:99 99999999999999999999h; do
  refused "--time must be above 0, such as 4h" --time "$time" "${plans[@]}"
done
refused "are for the jobs of an --array" --running 4 "${plans[@]}"
refused "leave out --retry-failed" --array 4 --take-over "${plans[@]}" --retry-failed
refused "there is no option --gpu" --gpu 2 "${plans[@]}"
refused "slurm or lsf" --scheduler pbs "${plans[@]}"
refused "--array N in place of --shard" "${plans[@]}" --shard 1/4
refused "must not overwrite" "${plans[@]}" --overwrite
for line in cores_per_node=0 time_limit=0m; do
  { cat site.sh; echo $line; } > odd-site.sh
  refused "must be" --site odd-site.sh "${plans[@]}"
done
submit --site none.sh --scheduler slurm --dry-run "${plans[@]}"
check "a missing site file is an error" same 1 $?
for limit in 1m=6 20:00=120 19m=114 0:20=2 0:20:00=120 1d08h09m=120 45s=4; do
  dry slurm --time "${limit%=*}"
  has "--signal=B:USR1@${limit#*=} "
done

# What cannot run, or has nothing to solve, is not submitted: a Slurm that only answers.
mkdir bin
printf '#!/bin/bash\nprintf "%%s\\n" "$*" >> "%s"\necho 7\n' "$scratch/submitted" > bin/sbatch
printf '#!/bin/sh\necho "MaxArraySize            = 16"\n' > bin/scontrol
chmod +x bin/*
PATH=$scratch/bin:$PATH
"$wallheat" generate --out plans --count 13 --size 32 > /dev/null
printf 'wallheat=(%q)\n' "$wallheat" > own.sh
# submitted STATUS SENTENCE TIMES WORDS...: how often something was, and what is said
submitted() {
  rm -f submitted
  submit --site own.sh "${@:4}"
  check "status of: ${*:4}" same "$1" $?
  check "it says: $2" contains "$said" "$2"
  check "submitted: $3" same "$3" "$( (cat submitted 2> /dev/null || true) | wc -l)"
}
submitted 0 "what is left takes about" 1 -- --data plans --out r.h5
check "it is told that this is not worth a job" contains "$said" "not worth a job: solve it here"
check "the job's number is told" contains "$job" "submitted: job 7"
submitted 0 "of shard 1/4 takes about" 2 --array 4 -- --data plans --out r.h5
submitted 2 "wallheat: --out is missing" 0 -- --data plans
submitted 2 "wallheat: there is no option '--sav-fields'; did you mean '--save-fields'?" 0 -- --data plans --out r.h5 --sav-fields
submitted 2 "an array has 15 jobs at most here: say --array 15 --take-over" 0 --array 16 -- --data plans --out r.h5
submitted 1 "there is no directory or zip archive" 0 -- --data none --out r.h5
submitted 1 "there is no directory" 0 -- --data plans --out none/r.h5
"$wallheat" run --data plans --out other.h5 --tolerance 0.01 --log-level error
submitted 1 "was made with other settings" 0 -- --data plans --out other.h5
"$wallheat" run --data plans --out solved.h5 --log-level error
submitted 0 "nothing is left to solve: all 13 plans are solved" 0 -- --data plans --out solved.h5
submit --site own.sh --dry-run -- --data plans --out none/r.h5
check "a dry run prints the job all the same" contains "$job" "sbatch --parsable"
check "and says what is wrong" contains "$said" "there is no directory"
"$wallheat" run --data plans --out a.h5 --shard 1/3 --log-level error
submitted 0 "of the 3 parts these are left: 2,3" 2 --array 3 -- --data plans --out a.h5
check "only they are submitted" contains submitted " --array=2,3 "
for k in 2 3; do "$wallheat" run --data plans --out a.h5 --shard $k/3 --log-level error; done
submitted 0 "nothing is left to solve: all 5 plans of shard 1/3 are solved; 'wallheat merge' makes one file of the parts" 0 --array 3 -- --data plans --out a.h5
"$wallheat" run --data plans --first 1 --out few.h5 --shard 1/2 --log-level error
submitted 0 "there are fewer plans than parts" 0 --array 2 -- --data plans --first 1 --out few.h5
# The memory of a node is to be enough for as many plans at a time as it has cores.
"$wallheat" generate --out one --count 1 --size 1500 > /dev/null
cp -r plans large
mv one/00001_* large
submitted 0 "a node may run out of memory: 13 solver processes" 1 --cores 13 --memory 1 -- --data large --out large.h5
submit --site own.sh --gpus 1 -- --data plans --out r.h5 --device gpu
check "GPUs need not be where the job is submitted" same 0 $?
rm plans/00003_interior.npy
submitted 0 "1 plan cannot be read and will fail" 1 -- --data plans --out r.h5

# The merge, of parts that are there: all of them, and nothing else.
mkdir configs out
cp -r "$root/jobs" .
touch out/{results.part-{01..12}-of-12.h5,results.part-1-of-2.h5,other.part-01-of-12.h5}
# shellcheck disable=SC2016  # not for this script
printf 'setup=true\nprogram() { case $1 in merge) printf "%%s\\n" "$@" ;; *) "%s" "$@" ;; esac; }\nwallheat=(program)\nexec() { "$@"; exit; }\n' "$wallheat" > configs/site.sh
bash jobs/slurm.sh jobs merge=12 -- --data plans --out out/results.h5 > merged
check "the merge gets --out" contains merged "$PWD/out/results.h5"
check "the merge gets all parts and no other file" same 15 "$(wc -l < merged)"
check "the last part is among them" contains merged /out/results.part-12-of-12.h5
finish
