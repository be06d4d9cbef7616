#!/usr/bin/env bash
# wallheat queue and advise on a real Slurm with accounting (slurmdbd) that belongs to this test: what they make of
# arrays, held, dependent, requeued and cancelled jobs, and whether submit.sh takes what advise says.
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
# field NAME: a number of the JSON of `wallheat queue`
field() { on "$wallheat" queue --json | python3 -c "import json, sys; print(json.load(sys.stdin)['$1'])"; }

# Each pitfall by itself, on an idle cluster.
held=$(batch --hold --wrap "sleep 1")
array=$(batch --array=1-4 --wrap "sleep 1")
wait_until 60 "the array ends" state_is "$array" COMPLETED
first=$(batch --wrap "sleep 3")
dependent=$(batch --dependency="afterok:$first" --wrap true)
on scontrol release "$held"
requeued=$(batch --requeue --wrap "sleep 4")
wait_until 30 "the job to requeue runs" state_is "$requeued" RUNNING
on scontrol requeue "$requeued"
wide=$(batch --nodes=3 --exclusive --wrap "sleep 50")
wait_until 60 "the wide job runs" state_is "$wide" RUNNING
late=$(batch --wrap true)
wait_until 30 "the late job waits" state_is "$late" PENDING
wait_until 30 "the late job has waited a second" has_waited "$late"  # or there is nothing to count
on scancel "$late"
on scancel "$wide"
wait_until 60 "all jobs end" queue_empty
accounted() { state_is "$dependent" COMPLETED && state_is "$late" "CANCELLED by $(id -u)" && state_is "$requeued" COMPLETED; }
wait_until 60 "the accounts are complete" accounted
on sacct -X -D -n -P --allusers -S now-1days -o JobID,State,Submit,Eligible,Start,End > "$scratch/pitfalls.txt"
cat "$scratch/pitfalls.txt"
check "tasks of an array that start together count once" same 3 "$(field same_burst)"
check "a job that was held waits from its release on" test "$(grep -c "^$held|" "$scratch/pitfalls.txt")" = 1
check "a job that was cancelled while it waited has not started" same 1 "$(field waiting)"
# The held one, one of the array, the first, the dependent, the requeued twice, the wide one.
check "all others have waits, the requeued one two" same 7 "$(field started)"
check "nobody's name is told" not grep -q "$(id -un)" <(on "$wallheat" queue)

# What advise says of this cluster is what submit.sh takes.
install_there
"$wallheat" generate --out plans --count 8 --size 64 > /dev/null
on "$wallheat" advise --best --partition all --core-speed 1e8 --cores-per-node 1 -- --data plans --out results.h5 > best
check "advise has a best choice" test -s best
# shellcheck disable=SC2046  # several words
on share/wallheat/jobs/submit.sh --scheduler slurm $(< best) -- --data plans --out results.h5 > said 2>&1
check "its job is taken" contains said "submitted: job" || cat best said
wait_until 120 "it ends" queue_empty
check "all plans are solved" same 'done' "$("$wallheat" status --word results.h5)"
finish
