#!/usr/bin/env bash
# jobs/examples do what they say: on this machine, or submitted to a stand-in for bsub that runs their jobs.
#   test_examples.sh WALLHEAT WALLHEAT_WITH_FAKE_GPUS
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
fake_gpus=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")

install_there
examples=$scratch/share/wallheat/jobs/examples
cp "$here/bsub" "$scratch/bin"
printf '#!/bin/sh\ncat "%s"\n' "$scratch/queue" > "$scratch/bin/squeue"
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
  "$examples/$name.sh" plans "$out" "$@" > "$name.said" 2>&1
  result=$?
  return $result
}
# solved NAME OUT: all plans are in it, with the right answers.
solved() {
  wallheat export "$2" > "$1.csv"
  check "$1: the answers are those of an undisturbed run" cmp "$1.csv" expected.csv || cat "$1.said" ./*.out
}
lsf=(--scheduler lsf --site site.sh)

for script in "$examples"/*.sh; do
  name=$(basename "$script")
  "$script" --help > help
  grep -q "  jobs/examples/$name.* --out OUT" help && continue  # a study: tests/studies
  check "$name --help tells how to call it" grep -q "^  jobs/examples/$name .*DATA" help
  [ "$name" != laptop.sh ] || continue
  "$script" plans > said 2>&1
  check "$name without OUT is wrong usage" same 2 $?
  check "$name tells so then, too" cmp help said
done
if command -v shellcheck > /dev/null; then
  check "shellcheck finds nothing in them" shellcheck -x "$examples"/*.sh "$examples"/../steps.sh
else
  echo "skipped: shellcheck is not installed"
fi

check "laptop: ends with 0" example laptop laptop.h5
solved laptop laptop.h5
check "laptop: the page of the run is there" contains laptop.html "<html"
check "laptop: the same again goes on" example laptop laptop.h5

check "one node: ends with 0" example one-node one-node.h5 "${lsf[@]}"
solved one-node one-node.h5
check "one node: the fields are there" wallheat export one-node.h5 --field 00003 -o field.npy

check "many nodes: ends with 0" example many-nodes many-nodes.h5 "${lsf[@]}"
solved many-nodes many-nodes.h5
check "many nodes: the job is for eight" contains <(paste -sd ' ' "$LSF_SPOOL/job.102") " -n 8 "
check "many nodes: its plans are in one archive" test -s many-nodes.plans.zip
check "many nodes: what happened is on record" contains many-nodes.jsonl '"event":"run_finished"'

check "array: ends with 0" example array array.h5 "${lsf[@]}" --array 3
solved array array.h5

check "GPUs: ends with 0" example gpus gpus.h5 --scheduler lsf --site gpu-site.sh --nodes 1 --gpus 2
solved gpus gpus.h5
check "GPUs: it asks for them" contains <(paste -sd ' ' "$LSF_SPOOL/job.105") " -gpu num=2 "
check "GPUs: they have solved all plans" same 6 "$(wallheat list gpus.h5 --columns device --format csv | grep -ci gpu)"

check "take over: ends with 0" example array shared.h5 "${lsf[@]}" --array 3 --running 2 --take-over --memory 1
solved array shared.h5
check "take over: all jobs end with 0" same '106[1] 0 106[2] 0 106[3] 0 107[0] 0' "$(tail -4 "$LSF_SPOOL/ends" | paste -sd ' ')"
check "take over: the first takes the shards of the others" contains wallheat-106_1.out "nobody is at shard 3/3"
check "take over: nothing is left for the last" contains wallheat-106_3.out "nothing is left for this one"

wallheat run --data plans --shard 1/2 --out part.h5 --save-fields --log-level error
wallheat merge --out week.h5 --allow-missing part.part-1-of-2.h5 > merged 2>&1  # half of the plans are left
echo "17 week PENDING" > "$scratch/queue"
before=$(wallheat status week.h5 --json)
example week week.h5 "${lsf[@]}"
check "week: work is left" same 75 $result
check "week: it tells how far it is" grep -q "pending *3" week.said
check "week: a job waits, so none is submitted" contains week.said "17 week PENDING"
check "week: nothing is solved" same "$before" "$(wallheat status week.h5 --json)"
: > "$scratch/queue"
example week week.h5 "${lsf[@]}"
check "week: a job is submitted" contains week.said "submitted: job"
solved week week.h5
jobs_there=$(find "$LSF_SPOOL" -name 'job.*' | wc -l)
example week week.h5 "${lsf[@]}"
check "week: at the end it ends with 0" same 0 $result
check "week: and submits nothing more" same "$jobs_there" "$(find "$LSF_SPOOL" -name 'job.*' | wc -l)"
example week never.h5 "${lsf[@]}" --nodes none
check "week: what submit.sh refuses is an error" same 2 $result
example week never.h5 "${lsf[@]}" --name other
check "week: another name, by which its jobs would not be found, is refused" same 2 $result
check "week: it says so" contains week.said "leave out --name"
finish
