#!/usr/bin/env bash
# Tests jobs/examples: on this machine, or submitted to a fake bsub that runs their jobs.
#   test_examples.sh WALLHEAT WALLHEAT_WITH_FAKE_GPUS
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
fake_gpus=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")

install_in_scratch
examples=$scratch/share/wallheat/jobs/examples
cp "$here/bsub" "$scratch/bin"
# Prints the jobs in the file `queue` that have the name of --name, in the second column.
cat > "$scratch/bin/squeue" <<END
#!/bin/sh
while [ "\$1" != --name ]; do shift; done
awk -v name="\$2" '\$2 == name' "$scratch/queue"
END
chmod +x "$scratch/bin/squeue"
export LSF_SPOOL=$scratch/lsf PATH=$scratch/bin:$PATH
: > "$scratch/queue"
echo 'cores_per_node=1' > site.sh
printf 'cores_per_node=2\nwallheat=("%s")\n' "$fake_gpus" > gpu-site.sh

wallheat generate --out plans --count 6 --size 48 > /dev/null
wallheat run --data plans --out expected.h5 --log-level error
wallheat export expected.h5 > expected.csv
# example NAME OUT [OPTIONS OF submit.sh]
example() {
  local name=$1 out=$2
  shift 2
  "$examples/$name.sh" plans "$out" "$@" > "$name.log" 2>&1
  result=$?
  return $result
}
# solved NAME OUT: the file has the results of all plans.
solved() {
  wallheat export "$2" > "$1.csv"
  check "$1: the results equal those of an undisturbed run" cmp "$1.csv" expected.csv || cat "$1.log" ./*.out
}
lsf=(--scheduler lsf --site site.sh)

for script in "$examples"/*.sh; do
  name=$(basename "$script")
  "$script" --help > help
  grep -q "  jobs/examples/$name.* --out OUT" help && continue  # a study: tests/studies
  check "$name --help prints its usage" grep -q "^  jobs/examples/$name .*DATA" help
  [ "$name" != laptop.sh ] || continue
  "$script" plans > usage 2>&1
  check "$name without OUT is wrong usage" same 2 $?
  check "$name without OUT prints its usage" cmp help usage
done
if command -v shellcheck > /dev/null; then
  check "shellcheck finds no problem" shellcheck -x "$examples"/*.sh "$examples"/../steps.sh
else
  echo "skipped: shellcheck not found"
fi

check "laptop: ends with 0" example laptop laptop.h5
solved laptop laptop.h5
check "laptop: the report page exists" contains laptop.html "<html"
check "laptop: the same command resumes" example laptop laptop.h5

check "one node: ends with 0" example one-node one-node.h5 "${lsf[@]}"
solved one-node one-node.h5
check "one node: the fields are stored" wallheat export one-node.h5 --field 00003 -o field.npy

check "many nodes: ends with 0" example many-nodes many-nodes.h5 "${lsf[@]}"
solved many-nodes many-nodes.h5
check "many nodes: the job requests eight slots" contains <(paste -sd ' ' "$LSF_SPOOL/job.102") " -n 8 "
check "many nodes: the plans are in one archive" test -s many-nodes.plans.zip
check "many nodes: the event log is complete" contains many-nodes.jsonl '"event":"run_finished"'

check "array: ends with 0" example array array.h5 "${lsf[@]}" --array 3
solved array array.h5

check "GPUs: ends with 0" example gpus gpus.h5 --scheduler lsf --site gpu-site.sh --nodes 1 --gpus 2
solved gpus gpus.h5
check "GPUs: the job requests them" contains <(paste -sd ' ' "$LSF_SPOOL/job.105") " -gpu num=2 "
check "GPUs: all plans are solved on GPUs" same 6 "$(wallheat list gpus.h5 --columns device --format csv | grep -ci gpu)"

check "take over: ends with 0" example array shared.h5 "${lsf[@]}" --array 3 --max-running 2 --take-over --memory 1
solved array shared.h5
check "take over: all jobs end with 0" same '106[1] 0 106[2] 0 106[3] 0 107[0] 0' "$(tail -4 "$LSF_SPOOL/ends" | paste -sd ' ')"
check "take over: the first job solves the shards of the others" mentions wallheat-106_1.out "shard 3/3"
check "take over: the last job has no shard to solve" mentions wallheat-106_3.out take-over.sh
check "take over: the message names no shard" not grep -q "shard [0-9]" wallheat-106_3.out
check "take over: the last job prints one message" same 1 "$(wc -l < wallheat-106_3.out)" || cat wallheat-106_3.out

wallheat run --data plans --shard 1/2 --out part.h5 --save-fields --log-level error
wallheat merge --out week.h5 --allow-missing part.part-1-of-2.h5 > merged 2>&1  # half of the plans are pending
name_of_job() { sed -n '/^-J$/{n;p}' "$(find "$LSF_SPOOL" -name 'job.*' | sort | tail -n 1)"; }
mkdir other
example week other/week.h5 "${lsf[@]}"
check "week: plans are pending" same 75 $result
solved "week, in another folder" other/week.h5
other_name=$(name_of_job)
example week "w%k [1].h5" "${lsf[@]}"
check "week: a name that a scheduler would interpret is replaced" grep -qE '^w_k__1_-[0-9a-f]{8}$' <(name_of_job)
# A job that was submitted with another path of the same file waits.
ln -s . link
name=$("$examples/week.sh" plans "$PWD/week.h5" "${lsf[@]}" --dry-run 2> messages | sed -n 's/.* -J \([^ ]*\) .*/\1/p')
printf '16 %s PENDING\n17 %s PENDING\n' "$other_name" "$name" > "$scratch/queue"
before=$(wallheat status week.h5 --json)
example week link/week.h5 "${lsf[@]}"
check "week: plans are pending" same 75 $result
check "week: the output has the number of pending plans" grep -q "pending *3" week.log
check "week: no job is submitted while one waits" contains week.log "17 $name PENDING"
check "week: no plan is solved" same "$before" "$(wallheat status week.h5 --json)"
: > "$scratch/queue"
jobs_before=$(find "$LSF_SPOOL" -name 'job.*' | sort)
mv "$scratch/bin/squeue" "$scratch/squeue"
printf '#!/bin/sh\nsleep 600\n' > "$scratch/bin/squeue"
chmod +x "$scratch/bin/squeue"
example week week.h5 "${lsf[@]}"
check "week: a hanging squeue ends the call with work left" same 75 $result
check "week: the message mentions squeue" mentions week.log squeue
check "week: no job is submitted if the queued jobs are unknown" same "$jobs_before" "$(find "$LSF_SPOOL" -name 'job.*' | sort)"
mv "$scratch/squeue" "$scratch/bin/squeue"
echo "16 $other_name PENDING" > "$scratch/queue"
example week week.h5 "${lsf[@]}"
check "week: the job is submitted" mentions week.log "$(basename "$(find "$LSF_SPOOL" -name 'job.*' | sort | tail -n 1)" | cut -d . -f 2)"
solved week week.h5
job_count=$(find "$LSF_SPOOL" -name 'job.*' | wc -l)
example week week.h5 "${lsf[@]}"
check "week: it ends with 0 when all plans are solved" same 0 $result
check "week: it submits no further job" same "$job_count" "$(find "$LSF_SPOOL" -name 'job.*' | wc -l)"
example week never.h5 "${lsf[@]}" --nodes none
check "week: an error of submit.sh is an error" same 2 $result
example week never.h5 "${lsf[@]}" --name other
check "week: --name is an error, because its jobs would not be found by another name" same 2 $result
check "week: the message mentions --name" mentions week.log week.sh --name
finish
