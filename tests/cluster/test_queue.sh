#!/usr/bin/env bash
# wallheat queue on a real Slurm with accounting (slurmdbd) that belongs to this test: what it makes of
# arrays, held, dependent, requeued and cancelled jobs, and of the waits of some hundred short jobs. Some minutes.
#   test_queue.sh WALLHEAT [JOBS]
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
jobs=${2:-400}
needs_root_and ip munged slurmctld slurmd sbatch python3
for program in slurmdbd mariadbd mariadb-install-db; do
  command -v "$program" > /dev/null || skip "needs $program (apt-get install slurmdbd mariadb-server)"
done

start_slurm 3 accounting
batch() { on sbatch --parsable --output=/dev/null --time=1 "$@"; }
state_is() { [ "$(on sacct -X -n -P -j "$1" -o State | sort -u)" = "$2" ]; }
queue() { on "$wallheat" queue "$@"; }
# field NAME: a number of the JSON of `wallheat queue`
field() { queue --json | python3 -c "import json, sys; print(json.load(sys.stdin)['$1'])"; }

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
sleep 2  # the time that it waits before it is cancelled is what is counted
on scancel "$late"
on scancel "$wide"
wait_until 60 "all jobs end" queue_empty
accounted() { state_is "$dependent" COMPLETED && state_is "$late" "CANCELLED by $(id -u)" && state_is "$requeued" COMPLETED; }
wait_until 60 "the accounts are complete" accounted
on env SLURM_TIME_FORMAT=%s sacct -X -D -n -P --allusers -S now-1days \
  -o JobIDRaw,JobID,Partition,QOS,State,Submit,Eligible,Start,End,TimelimitRaw,AllocNodes,AllocCPUS,ReqMem,ReqTRES > "$scratch/pitfalls.txt"
cat "$scratch/pitfalls.txt"
check "tasks of an array that start together count once" same 3 "$(field same_burst)"
check "a job that was held waits from its release on" test "$(grep -c "^$held|" "$scratch/pitfalls.txt")" = 1
check "a job that was cancelled while it waited has not started" same 1 "$(field waiting)"
# The held one, one of the array, the first, the dependent, the requeued twice, the wide one.
check "all others have waits, the requeued one two" same 7 "$(field started)"

# A queue: short jobs of one to four cores, in bursts that the nodes cannot take at once.
exponential() { awk -v seed="$1" -v mean="$2" 'BEGIN { srand(seed); for (i = 0; i < 3; ++i) rand(); printf "%.2f", -mean * log(1 - rand()) }'; }
for ((i = 1; i <= jobs; ++i)); do
  cores=$((1 + (i * 7919 % 11) / 3))
  batch --nodes=1 --ntasks=1 --cpus-per-task="$cores" --wrap "sleep $(exponential "$i" 2.5)" > /dev/null
  [ $((i * 7907 % 13)) -ge 2 ] || sleep "$(exponential "$((i + 5000))" 4)"  # a burst is six or seven jobs
done
wait_until 900 "all jobs end" queue_empty
sacct_complete() { [ "$(on sacct -X -n -P -S now-1days -o State | grep -c COMPLETED)" -ge "$jobs" ]; }
wait_until 120 "the accounts are complete" sacct_complete

queue --plot "$scratch/queue.svg" > "$scratch/forecast.txt"
check "the forecast ends with 0" same 0 $?
cat "$scratch/forecast.txt"
queue --means
check "nobody's name is told" not grep -q "$(id -un)" "$scratch/forecast.txt"
check "all jobs that started are counted" test "$(field started)" -gt "$jobs"
finish
