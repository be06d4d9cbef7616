#!/usr/bin/env bash
# The job scripts that jobs/submit.sh writes, without a scheduler.
#   test_submit.sh WALLHEAT
# shellcheck disable=SC2016  # job scripts hold words that are not for this one to expand
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
job=$scratch/job said=$scratch/said

for script in "$root"/jobs/*.sh "$root"/configs/site.sh "$here"/*.sh; do
  check "$(basename "$script") is well-formed" bash -n "$script"
done
if command -v shellcheck > /dev/null; then
  check "shellcheck finds nothing in them" shellcheck "$root"/jobs/*.sh "$root/configs/site.sh" "$root"/tests/cluster/*.sh "$root/tests/cluster/bsub"
else
  echo "skipped: shellcheck is not installed"
fi

cat > "$scratch/site.sh" <<'END'
slurm_options=(--partition=long '--comment="floor plans"')
lsf_options=(-q long -P heat)
slurm_gpu_option='--gres=gpu:{}'
slurm_memory_option='--mem={}G'
lsf_gpu_option='-gpu "num={}:mode=shared"'
cores_per_node=32
time_limit=10h30m
setup='module load openmpi/4'
wallheat=(apptainer exec "my image.sif" wallheat)
END
submit() { "$root/jobs/submit.sh" "$@" > "$job" 2> "$said"; }
has() { check "the job script says $1" contains "$job" "$1"; }
has_not() { check "the job script does not say $1" not grep -qF -- "$1" "$job"; }
plans=(-- --data "my plans" --out out/results.h5 --save-fields)

submit --scheduler slurm --dry-run "${plans[@]}"
check "submit.sh --dry-run ends with 0" same 0 $?
check "what it prints is well-formed" bash -n "$job"
for line in '#SBATCH --nodes=1' '#SBATCH --exclusive' '#SBATCH --time=4:00:00' '#SBATCH --signal=B:USR1@120' \
  '#SBATCH --open-mode=append' '#SBATCH --requeue' '#SBATCH --no-kill' 'workers=1' \
  "launch=$(printf %q "$root/jobs/launch.sh")" 'set -- --data my\ plans --out out/results.h5 --save-fields' \
  'run --resume "$@"' 'scontrol requeue'; do has "$line"; done
has_not --array
has_not merge

submit --scheduler slurm --site "$scratch/site.sh" --nodes 4 --gpus 8 --array 16 --running 5 --memory 48 --time 1h5m --name heat --dry-run "${plans[@]}"
for line in '#SBATCH --nodes=4' '#SBATCH --gres=gpu:8' '#SBATCH --array=1-16%5' '#SBATCH --mem=48G' '#SBATCH --partition=long' \
  '#SBATCH --comment="floor plans"' '#SBATCH --cpus-per-task=32' '#SBATCH --time=1:05:00' 'workers=8' 'module load openmpi/4' \
  '#SBATCH --output=heat-%A_%a.out' 'wallheat=(apptainer exec my\ image.sif wallheat)' '--dependency=afterany:JOB' \
  'parts=16' '"${wallheat[@]}" merge --out'; do has "$line"; done
has_not --exclusive
has '--save-fields --shard "$SLURM_ARRAY_TASK_ID/16"'
check "it says that nothing is checked, as there is no such program" contains "$said" "nothing is checked"

submit --scheduler lsf --site "$scratch/site.sh" --nodes 3 --gpus 2 --array 4 --running 2 --take-over --memory 48 --workers 5 --dry-run "${plans[@]}"
check "the job scripts for LSF are well-formed" bash -n "$job"
for line in '#BSUB -J "wallheat[1-4]%2"' '#BSUB -R "rusage[mem=48GB]"' "launch=$(printf %q "$root/jobs/take-over.sh")" '#BSUB -n 96' '#BSUB -R "span[ptile=32]"' '#BSUB -gpu "num=2:mode=shared"' \
  '#BSUB -W 10:30' '#BSUB -wt 2' '#BSUB -wa USR1' '#BSUB -Q "75"' '#BSUB -r' '#BSUB -q long -P heat' 'workers=5' \
  'run --resume "$@"' '-w ended(JOB)' '--save-fields --shard "$LSB_JOBINDEX/4"' 'parts=4'; do has "$line"; done

submit --scheduler lsf --dry-run "${plans[@]}"
check "LSF without cores_per_node is refused" contains "$said" "LSF has to know cores_per_node"

refused() {  # SENTENCE WORDS...
  submit "${@:2}"
  check "refused as wrong usage: ${*:2}" same 2 $?
  check "it says why" contains "$said" "$1"
}
refused "come after --" --scheduler slurm --dry-run
refused "--nodes must be a number" --scheduler slurm --nodes many --dry-run "${plans[@]}"
refused "--nodes must be a number from 1" --scheduler slurm --nodes 0 --dry-run "${plans[@]}"
refused "--nodes must be a number" --scheduler slurm --nodes 99999999999999999999 --dry-run "${plans[@]}"
refused "--time 0:20 may be hours or minutes; say 20m, 20s or 0:20:00" --scheduler slurm --time 0:20 --dry-run "${plans[@]}"
refused "--time 4:00 may be hours or minutes; say 4h, 4m or 4:00:00" --scheduler slurm --time 4:00 --dry-run "${plans[@]}"
for time in 0:00:00 0m 90x '' 1:99:00 99999999999999999999h; do
  refused "--time must be a time above 0, such as 4h" --scheduler slurm --time "$time" --dry-run "${plans[@]}"
done
refused "--time must be a time above 0, such as 4h" --scheduler slurm --time 90 --dry-run "${plans[@]}"
refused "--memory must be a number from 1" --scheduler slurm --memory 4G --dry-run "${plans[@]}"
refused "are for the jobs of an --array" --scheduler slurm --running 4 --dry-run "${plans[@]}"
refused "leave out --retry-failed" --scheduler slurm --array 4 --take-over --dry-run "${plans[@]}" --retry-failed
refused "there is no option --gpu" --scheduler slurm --gpu 2 --dry-run "${plans[@]}"
refused "slurm or lsf" --scheduler pbs --dry-run "${plans[@]}"
refused "--array N in place of --shard" --scheduler slurm --dry-run "${plans[@]}" --shard 1/4
refused "must not overwrite" --scheduler slurm --dry-run "${plans[@]}" --overwrite
# What stands in the site file is checked as well. Bash by itself would read 08 to the base of 8.
site_with() { cat "$scratch/site.sh" - > "$scratch/odd-site.sh" <<< "$1"; }
site_with 'cores_per_node=08 largest_array=010'
submit --scheduler lsf --site "$scratch/odd-site.sh" --nodes 09 --array 0011 --dry-run "${plans[@]}"
check "numbers are decimal, whatever they begin with" same 0 $?
for line in '#BSUB -n 72' 'span[ptile=8]' '-w ended(JOB1)&&ended(JOB2)' 'parts=11'; do has "$line"; done
for line in cores_per_node=0 cores_per_node=many cores_per_node=1e3 largest_array=-1 time_limit=4:00 time_limit=0m; do
  site_with "$line"
  submit --scheduler slurm --site "$scratch/odd-site.sh" --dry-run "${plans[@]}"
  check "a site's $line is an error" same 1 $?
  check "it names the site file" contains "$said" "odd-site.sh: ${line%=*}"
done
mkdir "$scratch/bin"
for tool in bash dirname env; do ln -s "$(command -v $tool)" "$scratch/bin"; done
PATH=$scratch/bin "$root/jobs/submit.sh" --dry-run "${plans[@]}" > "$job" 2> "$said"
check "where there is no scheduler it must be named" contains "$said" "neither sbatch nor bsub"
submit --site "$scratch/none.sh" --scheduler slurm --dry-run "${plans[@]}"
check "a missing site file is an error" same 1 $?

# With a program that can be started it is wallheat that says what is wrong, and what the files are called.
printf 'wallheat=("%s")\n' "$wallheat" > "$scratch/here.sh"
here_submit=(--site "$scratch/here.sh" --scheduler slurm --dry-run)
refused "wallheat: --out is missing" "${here_submit[@]}" -- --data plans
refused "wallheat: there is no option '--sav-fields'; did you mean '--save-fields'?" "${here_submit[@]}" "${plans[@]}" --sav-fields
printf 'data = plans\nout = from config.h5\noverwrite = true\n' > "$scratch/overwrite.cfg"
refused "exclude each other" "${here_submit[@]}" -- -c "$scratch/overwrite.cfg"
"$wallheat" generate --out "$scratch/plans" --count 13 --size 32 > /dev/null
mkdir -p "$scratch/out"
for words in "-o$scratch/out/results.h5 -d$scratch/plans" "-c $scratch/run.cfg"; do
  printf 'data = %s\nout = %s\nresume = true\n' "$scratch/plans" "$scratch/out/results.h5" > "$scratch/run.cfg"
  # shellcheck disable=SC2086  # several words
  submit "${here_submit[@]}" --array 12 -- $words
  check "$words: taken" same 0 $?
done

# What cannot run is not submitted.
printf '#!/bin/bash\ncat > "%s"\necho 7\n' "$scratch/submitted" > "$scratch/bin/sbatch"
chmod +x "$scratch/bin/sbatch"
PATH=$scratch/bin:$PATH
here_submit=(--site "$scratch/here.sh" --scheduler slurm)
not_submitted() {  # SENTENCE WORDS...
  submit "${@:2}"
  check "refused: ${*:2}" same 1 $?
  check "it says why" contains "$said" "$1"
  check "nothing is submitted" not test -e "$scratch/submitted"
}
not_submitted "there is no directory or zip archive" "${here_submit[@]}" -- --data "$scratch/none" --out "$scratch/out/r.h5"
not_submitted "there is no directory" "${here_submit[@]}" -- --data "$scratch/plans" --out "$scratch/none/r.h5"
"$wallheat" run --data "$scratch/plans" --out "$scratch/out/other.h5" --tolerance 0.01 --log-level error
not_submitted "was made with other settings" "${here_submit[@]}" -- --data "$scratch/plans" --out "$scratch/out/other.h5"
not_submitted "cannot be read" "${here_submit[@]}" -- --data "$scratch/plans" --out "$scratch/out/r.h5" --ids "$scratch/no-ids"
"$wallheat" run --data "$scratch/plans" --out "$scratch/out/solved.h5" --log-level error
solved=(-- --data "$scratch/plans" --out "$scratch/out/solved.h5")
submit "${here_submit[@]}" "${solved[@]}"
check "a campaign that is solved is no error" same 0 $?
check "it is said" contains "$said" "all 13 plans are solved"
check "nothing is submitted" not test -e "$scratch/submitted"
submit "${here_submit[@]}" --dry-run "${solved[@]}"
has '#SBATCH'
check "a dry run says it, too" contains "$said" "all 13 plans are solved"
two=("${solved[@]}" --first 2)
"$wallheat" run "${two[@]:1}" --shard 1/3 --log-level error
submit "${here_submit[@]}" --array 3 "${two[@]}"
check "an array with one part left is submitted" test -e "$scratch/submitted"
rm -f "$scratch/submitted"
"$wallheat" run "${two[@]:1}" --shard 2/3 --log-level error
submit "${here_submit[@]}" --array 3 "${two[@]}"
check "an array of which all is solved is no error" same 0 $?
check "it is said, also if a part has no plans" contains "$said" "nothing is left to solve in any of the 3 parts"
check "nothing of it is submitted" not test -e "$scratch/submitted"
# The memory of a node is to be enough for as many plans at a time as it has cores.
echo 'cores_per_node=13' >> "$scratch/here.sh"
submit "${here_submit[@]}" --memory 1 -- --data "$scratch/plans" --out "$scratch/out/r.h5"
check "enough memory is not warned of" not grep -q memory "$said"
"$wallheat" generate --out "$scratch/large" --count 13 --size 32 > /dev/null
"$wallheat" generate --out "$scratch/one" --count 1 --size 1500 > /dev/null
mv "$scratch"/one/00001_* "$scratch/large"
submit "${here_submit[@]}" --memory 1 -- --data "$scratch/large" --out "$scratch/out/large.h5"
check "too little memory for all cores of a node is warned of" contains "$said" "a node may run out of memory: 13 solver process(es)"
sed -i '$d' "$scratch/here.sh"
rm -f "$scratch/submitted"
submit "${here_submit[@]}" --gpus 1 -- --data "$scratch/plans" --out "$scratch/out/r.h5" --device gpu
check "GPUs need not be where the job is submitted" same 0 $?
check "the job is submitted" contains "$scratch/submitted" "--device gpu"
rm "$scratch/plans/00003_interior.npy"
submit "${here_submit[@]}" -- --data "$scratch/plans" --out "$scratch/out/r.h5"
check "a plan that cannot be read is no reason to submit nothing" same 0 $?
check "but it is said" contains "$said" "1 plan(s) cannot be read and will fail"
for limit in 1m=6 19m=114 0:20:00=120 1d08h09m=120 45s=4; do
  submit --scheduler slurm --time "${limit%=*}" --dry-run "${plans[@]}"
  has "--signal=B:USR1@${limit#*=}"
done
submit "${here_submit[@]}" --dry-run --array 12 -- --data "$scratch/none" --out "$scratch/out/results.h5"
check "a dry run prints the job all the same" same 0 $?
check "and says what is wrong" contains "$said" "there is no directory or zip archive"

# The merge, of parts that are there: all of them, and nothing else.
sed -n '/^# ==== after it/,$p' "$job" > "$scratch/merge"
touch "$scratch"/out/{results.part-{01..12}-of-12.h5,results.part-1-of-2.h5,other.part-01-of-12.h5}
sed -i 's/^wallheat=.*/wallheat() { case $1 in merge) printf "%s\\n" "$@" ;; *) "'"${wallheat//\//\\/}"'" "$@" ;; esac; }; wallheat=(wallheat)/' "$scratch/merge"
(cd "$scratch" && bash "$scratch/merge") > "$scratch/merged"
check "the merge gets --out" contains "$scratch/merged" "$(cd "$scratch" && pwd -P)/out/results.h5"
check "the merge gets all parts and no other file" same 15 "$(wc -l < "$scratch/merged")"
check "the last part is among them" contains "$scratch/merged" /out/results.part-12-of-12.h5

# Advice, from a Slurm that only answers: what it prints, and what it makes of the job.
mkdir "$scratch/slurm"
cat > "$scratch/slurm/sinfo" <<'END'
#!/bin/sh
case "$*" in *X*Y*) printf '%s\n' 'long 2 64' 'now* 1 1' 'now* 2 2'; exit ;; esac
echo 'long|up|2|4|(null)|1-00:00:00|1-infinite'
echo 'now|up|1|4|(null)|2:00:00|1-infinite'
END
cat > "$scratch/slurm/scontrol" <<'END'
#!/bin/sh
echo 'MaxArraySize            = 11'
END
cat > "$scratch/slurm/sacct" <<'END'
#!/bin/sh
i=0
while [ $i -lt 100 ]; do
  i=$((i + 1))
  echo "$i|$i|long|q|COMPLETED|$((i * 9000))|$((i * 9000))|$((i * 9000 + 4000))|$((i * 9000 + 5000))|5|1|4|1G|cpu=4"
  echo "$((i + 500))|$((i + 500))|now|q|COMPLETED|$((i * 9000))|$((i * 9000))|$((i * 9000 + 2))|$((i * 9000 + 5000))|5|1|4|1G|cpu=4"
done
END
chmod +x "$scratch"/slurm/*
(cd "$scratch" && "$wallheat" generate --out advised --count 4 --size 48 > /dev/null)
cat > "$scratch/advised.sh" <<END
wallheat=("$wallheat")
queue_history="$scratch/history.csv"
END
advised() { PATH=$scratch/slurm:$PATH submit --scheduler slurm --site "$scratch/advised.sh" "$@" -- --data "$scratch/advised" --out "$scratch/advised.h5"; }
advised --advise
check "--advise ends with 0" same 0 $?
check "--advise names choices" contains "$job" "1 node of now"
check "--advise says why" contains "$job" "95 % of such jobs wait 2 s at most"
has_not SBATCH
check "the history of the queue is kept" same 202 "$(wc -l < "$scratch/history.csv")"
advised --take-advice --dry-run
check "--take-advice says what it takes" contains "$said" "the advice is --partition now --nodes 1 --time 5m"
for line in '#SBATCH --partition=now' '#SBATCH --nodes=1' '#SBATCH --time=0:05:00'; do has "$line"; done
advised --take-advice --partition long --dry-run
has '#SBATCH --partition=long'
echo "partitions=(long:core=1e9,watts=400)" >> "$scratch/advised.sh"
advised --advise
check "what the site file knows of the partitions is used" contains "$job" kWh
has_not "of now"
# The advice, which follows from what a scheduler said, stands in lines that a shell and a scheduler read.
echo 'wallheat=(sh -c "echo --partition \"now;reboot\" --nodes 1 --time 5m")' > "$scratch/odd.sh"
submit --scheduler slurm --site "$scratch/odd.sh" --take-advice --dry-run "${plans[@]}"
check "advice that cannot stand in a job script is not taken" contains "$said" "not 'now;reboot'"
has_not reboot
echo 'wallheat=(sh -c "echo --partition now --nodes 1 --array 8 --running 2 --time 5m")' > "$scratch/many.sh"
submit --scheduler slurm --site "$scratch/many.sh" --take-advice --dry-run "${plans[@]}"
has '#SBATCH --array=1-8%2'
advised --array 10 --dry-run
has '#SBATCH --array=1-10'
# Without cores_per_node Slurm tells the cores of its default partition.
PATH=$scratch/slurm:$PATH submit --scheduler slurm --site "$scratch/advised.sh" --memory 1 --dry-run -- --data "$scratch/large" --out "$scratch/large.h5"
check "Slurm tells the cores of a node" not grep -q memory "$said"
PATH=$scratch/slurm:$PATH submit --scheduler slurm --site "$scratch/advised.sh" --partition long --memory 1 --dry-run -- --data "$scratch/large" --out "$scratch/large.h5"
check "and those of the partition that is named" contains "$said" "13 solver process(es)"
# An array beyond MaxArraySize becomes several: each shard is that of one job.
advised --array 25 --running 10 --dry-run
check "the job scripts of several arrays are well-formed" bash -n "$job"
has '--dependency=afterany:JOB1:JOB2:JOB3'
mapfile -t sizes < <(sed -n 's/^#SBATCH --array=1-\([0-9]*\)%.*/\1/p' "$job")
mapfile -t words < <(grep '^set --.*--shard' "$job")
for ((i = 0; i < ${#sizes[@]}; ++i)); do
  for ((task = 1; task <= sizes[i]; ++task)); do
    env "SLURM_ARRAY_TASK_ID=$task" bash -c "${words[i]}"'; echo "${@: -1}"'
  done
done > "$scratch/shards"
check "each shard is solved by one job" cmp "$scratch/shards" <(seq -f '%g/25' 25)
check "no array is larger than the site's largest" same 9 "$(printf '%s\n' "${sizes[@]}" | sort -n | tail -1)"
check "at most ten jobs run at a time" same 10 $(($(sed -n 's/^#SBATCH --array=.*%//p' "$job" | paste -sd +)))
advised --array 25 --running 2 --dry-run
check "of several arrays each needs a job that runs" contains "$said" "say --running 3 or more"
cat > "$scratch/slurm/sbatch" <<END
#!/bin/bash
cat > /dev/null
echo "\$@" >> "$scratch/sbatch.words"
echo "\$((40 + \$(wc -l < "$scratch/sbatch.words")))"
END
chmod +x "$scratch/slurm/sbatch"
advised --array 25
check "several arrays are submitted" contains "$job" "submitted: job 42 for the parts 9 to 16"
check "the merge waits for all of them" same "--parsable --dependency=afterany:41:42:43" "$(tail -1 "$scratch/sbatch.words")"
submit --scheduler lsf --site "$scratch/site.sh" --partition short --dry-run "${plans[@]}"
check "two queues of LSF are refused" contains "$said" "lsf_options has -q"
sed 's/^lsf_options=.*/lsf_options=(-P heat)/' "$scratch/site.sh" > "$scratch/other-site.sh"
submit --scheduler lsf --site "$scratch/other-site.sh" --partition short --dry-run "${plans[@]}"
has '#BSUB -P heat -q short'
finish
