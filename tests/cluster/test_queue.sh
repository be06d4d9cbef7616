#!/usr/bin/env bash
# Tests wallheat queue and advise on a private Slurm with accounting (slurmdbd): arrays, held, dependent, requeued and
# cancelled jobs, and submit.sh with the options that advise prints.
#   test_queue.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
needs_root_and ip munged slurmctld slurmd sbatch mpirun python3
for program in slurmdbd mariadbd mariadb-install-db; do
  command -v "$program" > /dev/null || skip "needs $program (apt-get install slurmdbd mariadb-server)"
done

start_slurm 3 accounting
batch() { on sbatch --parsable --output=/dev/null --time=1 "$@"; }
has_waited() { [ "$(on squeue -h -j "$1" -O PendingTime)" -ge 1 ]; }
state_is() { [ "$(on sacct -X -n -P -j "$1" -o State | sort -u)" = "$2" ]; }
# field NAME: a number of the JSON output of `wallheat queue`
field() { on "$wallheat" queue --json | python3 -c "import json, sys; print(json.load(sys.stdin)['$1'])"; }

# Each special case alone, on an idle cluster.
held=$(batch --hold --wrap "sleep 1")
array=$(batch --array=1-4 --wrap "sleep 1")
wait_until 300 "the array ends" state_is "$array" COMPLETED
first=$(batch --wrap "sleep 3")
dependent=$(batch --dependency="afterok:$first" --wrap true)
on scontrol release "$held"
requeued=$(batch --requeue --wrap "sleep 4")
wait_until 300 "the job to requeue runs" state_is "$requeued" RUNNING
on scontrol requeue "$requeued"
wide=$(batch --nodes=3 --exclusive --wrap "sleep 50")
wait_until 300 "the wide job runs" state_is "$wide" RUNNING
late=$(batch --wrap true)
wait_until 300 "the late job waits" state_is "$late" PENDING
wait_until 300 "the late job has waited a second" has_waited "$late"  # otherwise there is no wait to count
on scancel "$late"
on scancel "$wide"
wait_until 300 "all jobs end" queue_empty
accounted() { state_is "$dependent" COMPLETED && state_is "$late" "CANCELLED by $(id -u)" && state_is "$requeued" COMPLETED; }
wait_until 300 "the accounts are complete" accounted
on sacct -X -D -n -P --allusers -S now-1days -o JobID,State,Submit,Eligible,Start,End > "$scratch/pitfalls.txt"
cat "$scratch/pitfalls.txt"
check "tasks of an array that start together count once" same 3 "$(field same_burst)"
check "the wait of a held job starts at its release" test "$(grep -c "^$held|" "$scratch/pitfalls.txt")" = 1
check "a job that was cancelled while pending has not started" same 1 "$(field waiting)"
# The held job, one of the array, the first, the dependent, the requeued twice, and the wide job.
check "all other jobs have one wait, the requeued job two" same 7 "$(field started)"
check "the output has no user names" not grep -q "$(id -un)" <(on "$wallheat" queue)

# submit.sh accepts the options that advise prints for this cluster.
install_in_scratch
"$wallheat" generate --out plans --count 8 --size 64 > /dev/null
# submit_best OPTION...: submits the best choice with the command of the documents
submit_best() {
  local options
  # shellcheck disable=SC2086  # several words
  options=$(on "$wallheat" advise --best --partition all --cores-per-node 1 "$@" -- --data plans --out results.h5) &&
    on share/wallheat/jobs/submit.sh --scheduler slurm $options -- --data plans --out results.h5
}
: > empty.txt
submit_without_partitions() { submit_best --sinfo empty.txt 2> messages; }
check "the command fails if advise fails" not submit_without_partitions
check "no job is submitted" queue_empty
check "advise reports why" mentions messages empty.txt --sinfo
submit_best --core-speed 1e8 > submitted 2> messages
check "the job of the best choice is submitted" grep -q '[0-9]' submitted || cat messages
wait_until 120 "the job ends" queue_empty
check "all plans are solved" same 'done' "$("$wallheat" status --print-state results.h5)"
finish
