#!/usr/bin/env bash
# Tests jobs/submit.sh and jobs/examples on a private Slurm, installed and called as by a user: a lost node, scancel,
# GPUs, eight nodes, arrays with their merge, an expired time limit. Every result must be bit-identical to that of a plain
# run.
#   test_slurm.sh WALLHEAT WALLHEAT_WITHOUT_MPI
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
# shellcheck source-path=SCRIPTDIR source=campaign.sh
. "$here/campaign.sh"
needs_root_and ip munged slurmctld slurmd sbatch mpirun

without_mpi=$(realpath "$2")
install_in_scratch
wallheat=$scratch/bin/wallheat
start_slurm 8
make_plans
"$wallheat" run --data "$plans" --out plain.h5 --log-level error
"$wallheat" run --data "$plans" --out plain-fields.h5 --save-fields --log-level error
printf 'cores_per_node=2\ntime_limit=10m\n' > site.sh

# submit NAME [OPTIONS OF submit.sh]: with NAME.h5 as --out; sets job, result, events.
submit() {
  local name=$1
  shift
  result=$scratch/$name.h5 events=$scratch/$name.jsonl
  on share/wallheat/jobs/submit.sh --scheduler slurm --name "$name" --site site.sh "$@" -- \
    --data "$plans" --out "$result" --events "$events" "${work[@]}" --worker-timeout 5 > "$name.submitted" 2> "$name.messages"
  job=$(grep -o '[0-9]\+' "$name.submitted" | head -n 1)
  check "$name: the job is submitted" test -n "$job" || cat "$name.messages"
}
job_over() { wait_until "$1" "the queue is empty" queue_empty; }
state() { on scontrol show job --oneliner "$job" | grep -o 'JobState=[A-Z_]*' | sort -u; }
in_log() { mentions <(cat "$1"-*.out) "${@:2}"; }
requeued() { on scontrol show job --oneliner "$1" | grep -q 'Restarts=[1-9]'; }
no_process_left() { ! pgrep -f -- "$wallheat run .*$result" > /dev/null; }
kill_node() { "$here/hosts.sh" "$slurm/hosts.d" kill "$1"; }

submit lost_node --nodes 3
wait_until 300 "five plans are solved" results_stored "$events" 5
kill_node n3
check "a node is lost before the run finishes" unfinished "$events"
job_over 180
check "a lost node: the job completes" same JobState=COMPLETED "$(state)"
check "a lost node: the job is not requeued" not requeued "$job"
check "a lost node: the file equals that of an undisturbed run" equals_undisturbed "$result"
check "a lost node: the file is closed" closed "$result"
SLURM_CONF=$slurm/slurm.conf "$here/hosts.sh" "$slurm/hosts.d" on n3 slurmd -N n3

submit lost_batch_host --nodes 3
wait_until 300 "five plans are solved" results_stored "$events" 5
kill_node n1
check "the host of the batch script is lost before the run finishes" unfinished "$events"
wait_until 180 "a lost batch host: the job is requeued" requeued "$job"
job_over 180
check "a lost batch host: the job completes" same JobState=COMPLETED "$(state)"
check "a lost batch host: the job's output mentions the host" in_log lost_batch_host requeue-on-host-loss.sh n1
check "a lost batch host: the file equals that of an undisturbed run" equals_undisturbed "$result"
check "a lost batch host: the file is closed" closed "$result"
SLURM_CONF=$slurm/slurm.conf "$here/hosts.sh" "$slurm/hosts.d" on n1 slurmd -N n1

# Slurm itself requeues a job, as after a preemption.
submit requeued --nodes 2
wait_until 300 "five plans are solved" results_stored "$events" 5
on scontrol requeue "$job"
job_over 180
check "a requeue by Slurm: the job completes" same JobState=COMPLETED "$(state)"
check "a requeue by Slurm: the job's output mentions it" in_log requeued "requeues"
check "a requeue by Slurm: the job's output mentions no cancellation" not grep -qw cancelled requeued-*.out
check "a requeue by Slurm: the file equals that of an undisturbed run" equals_undisturbed "$result"

submit cancelled --nodes 2
wait_until 300 "five plans are solved" results_stored "$events" 5
on scancel "$job"
job_over 60
check "scancel: the job stays cancelled" same JobState=CANCELLED "$(state)"
check "scancel: the job's output mentions it" in_log cancelled cancelled
check "scancel: the job's output has no messages of the launcher" not grep -qE "PMIX|Killed|srun: error" cancelled-*.out
check "scancel: the lock is released" absent "$result.lock"
check "scancel: the file is closed with pending plans" same left "$("$wallheat" status --print-state "$result")"
check "scancel: the job is cancelled before the run finishes" unfinished "$events"
wait_until 300 "scancel: no process is left" no_process_left
submit cancelled --nodes 2
job_over 120
check "scancel: the job finishes after it is submitted again" equals_undisturbed "$result"

# Two fake GPUs per node, which cannot solve: the job sees them.
cat > gpus <<'END'
#!/bin/bash
case "$1 ${!#}" in
  *--print-out) echo "$PWD/gpus.h5" ;;
  run*) echo "rank $OMPI_COMM_WORLD_RANK on $(hostname) sees GPUs $CUDA_VISIBLE_DEVICES" ;;
  status*) date +%N ;;  # a session that has ended well
esac
END
chmod +x gpus
(cat site.sh; echo "wallheat=($PWD/gpus)") > gpu-site.sh
submit gpus --nodes 2 --gpus 2 --site gpu-site.sh
job_over 60
for rank in 1 2 3 4; do
  check "GPUs: worker $rank sees both GPUs of its node" in_log gpus "rank $rank on n$((rank % 2 + 1)) sees GPUs 0,1"
done

# A program without MPI solves on one node, and resumes after the signal that precedes the time limit.
(cat site.sh; printf 'wallheat=(%q)\n' "$without_mpi") > without-mpi-site.sh
submit without_mpi --site without-mpi-site.sh
wait_until 300 "five plans are solved" results_stored "$events" 5
on scancel --batch --signal=USR1 "$job"
wait_until 180 "without MPI: the job is requeued" requeued "$job"
job_over 240
check "without MPI: the job completes" same JobState=COMPLETED "$(state)"
check "without MPI: the file equals that of an undisturbed run" equals_undisturbed "$result"
check "without MPI: the file is closed" closed "$result"

# --- jobs/examples -------------------------------------------------------------------------------

# example NAME OUT [OPTIONS OF submit.sh]: sets status.
example() {
  local name=$1
  status=0
  on "share/wallheat/jobs/examples/$name.sh" "$plans" "${@:2}" > "$name.log" 2>&1 || status=$?
}
# solved NAME PLAIN: all jobs end, and NAME.h5 has the results of PLAIN.
solved() {
  job_over 300
  check "$1: the results are bit-identical to those of a plain run" same_bits "$1.h5" "$2" || cat "$1.log" ./*.out
  if [ "$1" = array ]; then check "$1: the merged file is complete" merged "$1.h5"
  else check "$1: the file is closed" closed "$1.h5"; fi
}
for name in one-node many-nodes array; do
  example $name $name.h5
  check "$name: the job is submitted" same 0 $status
  solved $name "$([ $name = array ] && echo plain.h5 || echo plain-fields.h5)"
done
check "many nodes: workers of all eight nodes were ready" same 8 "$(grep '"event":"worker_ready"' many-nodes.jsonl | grep -o '"host":"n[0-9]"' | sort -u | wc -l)"
# The list grows after the merge.
grow() { submit grown --array 4 --take-over --cores 2 --max-running 2; job_over 300; }
all_plans=$plans plans=$scratch/grown
cp -r "$all_plans" "$plans"
head -n 12 "$all_plans/building_ids.txt" > "$plans/building_ids.txt"
grow
check "a list that grows: the first twelve plans are merged" same "12 done" \
  "$("$wallheat" list grown.h5 --columns id --format csv | tail -n +2 | wc -l) $("$wallheat" status --print-state grown.h5)"
cp "$all_plans/building_ids.txt" "$plans"
grow
plans=$all_plans
check "a list that grows: the merged file has all plans" equals_undisturbed grown.h5 || cat grown-*.out
check "array: sixteen shard files were merged" same 16 "$(find . -name 'array.part-*.h5' | wc -l)"

# A week: longer plans on one core, so that a job is still running when it is checked.
plans=$scratch/long
"$wallheat" generate --out "$plans" --count 40 --size 512 --seed 2 > /dev/null
"$wallheat" run --data "$plans" --out plain-week.h5 --save-fields --log-level error
cpu=$(taskset --pid --cpu-list $$ | grep -o '[0-9]*$')
cat > week-site.sh <<END
cores_per_node=1
setup='taskset --pid --cpu-list $cpu \$\$ > /dev/null'
END
week() { example week week.h5 --time 1m --site week-site.sh; }
plans_stored() { "$wallheat" status week.h5 --json 2> /dev/null | sed -n 's/^ "solved": \([0-9]*\),/\1/p'; }
stored() { [ "$(plans_stored || true)" -ge "$1" ] 2> /dev/null; }
node_of_job() { on squeue -h -t running -o %N; }
# freeze "JOB": as soon as the job has stored a plan, freezes its solver processes. The job keeps running without
# progress.
freeze() {
  local rank frozen=''
  wait_until 300 "week: $1 stores a plan" stored $((before + 1))
  for rank in $(pgrep -f -- "wallheat run .*week.h5"); do frozen+=" $(pgrep -P "$rank" -f solver-process)"; done
  # shellcheck disable=SC2086  # several numbers
  check "week: $1 is frozen" kill -STOP $frozen
}

before=0
week
check "week: plans are pending" same 75 $status
check "week: a job is submitted" same 1 "$(on squeue -h | wc -l)"
freeze "the job"
node=$(node_of_job)
kill_node "$node"
on_another_node() { case $(node_of_job) in '' | "$node") return 1 ;; esac; }
wait_until 120 "week: the job restarts on another node after its node is lost" on_another_node
before=$(plans_stored)
week
check "week: plans are pending while the job runs" same 75 $status
check "week: the output mentions the job that runs" mentions week.log "$(on squeue -h -o %A)"
check "week: no second job is submitted" same 1 "$(on squeue -h | wc -l)"
freeze "the job on another node"
requeued_by_itself() { grep -q "time limit" week-*.out; }
wait_until 150 "week: the time limit expires, and the job is requeued" requeued_by_itself
solved week plain-week.h5
week
check "week: it ends with 0 when all plans are solved" same 0 $status
check "week: it submits no further job" queue_empty
finish
