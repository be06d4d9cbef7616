#!/usr/bin/env bash
# jobs/submit.sh and jobs/examples on a real Slurm that belongs to this test, installed and called as a user does: a lost
# node, scancel, GPUs, eight nodes, arrays with their merge, a time limit that strikes. Every result must be that of a
# plain run, to the last bit.
#   test_slurm.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
# shellcheck source-path=SCRIPTDIR source=campaign.sh
. "$here/campaign.sh"
needs_root_and ip munged slurmctld slurmd sbatch mpirun

install_there
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
    --data "$plans" --out "$result" --events "$events" "${work[@]}" --worker-timeout 5 > "$name.submit" 2>&1
  job=$(sed -n 's/^submitted: job \([0-9]*\)$/\1/p' "$name.submit")
  check "$name: the job is taken" test -n "$job" || cat "$name.submit"
}
job_over() { wait_until "$1" "the queue is empty" queue_empty; }
state() { on scontrol show job --oneliner "$job" | grep -o 'JobState=[A-Z_]*' | sort -u; }
in_log() { cat "$1"-*.out | grep -qF -- "$2" || { cat "$1"-*.out; return 1; }; }
no_process_left() { ! pgrep -f -- "$wallheat run .*$result" > /dev/null; }
kill_node() { "$here/hosts.sh" "$slurm/hosts.d" kill "$1"; }

submit lost_node --nodes 3
wait_until 60 "five plans are solved" results_stored "$events" 5
kill_node n3
check "a node is lost in the middle" unfinished "$events"
job_over 180
check "a lost node: the job completes all the same" same JobState=COMPLETED "$(state)"
check "a lost node: it is not started again" not grep -q "goes back into the queue" lost_node-*.out
check "a lost node: the file equals that of an undisturbed run" equals_undisturbed "$result"
check "a lost node: the file is closed" closed "$result"
SLURM_CONF=$slurm/slurm.conf "$here/hosts.sh" "$slurm/hosts.d" on n3 slurmd -N n3

submit cancelled --nodes 2
wait_until 60 "five plans are solved" results_stored "$events" 5
on scancel "$job"
job_over 60
check "scancel: the job is cancelled, and stays so" same JobState=CANCELLED "$(state)"
check "scancel: it says what happened and how to go on" in_log cancelled "was cancelled; what was solved is stored. To go on"
check "scancel: no noise of the launcher" not grep -qE "PMIX|Killed|srun: error" cancelled-*.out
check "scancel: the file is let go of" absent "$result.lock"
check "scancel: and closed" same left "$("$wallheat" status --word "$result")"
check "scancel: it happened in the middle" unfinished "$events"
wait_until 20 "scancel: no process is left" no_process_left
submit cancelled --nodes 2
job_over 120
check "scancel: submitted again, it is finished" equals_undisturbed "$result"

# Two pretended GPUs a node: what reaches the job. (They cannot solve.)
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
  check "GPUs: worker $rank sees both of its node" in_log gpus "rank $rank on n$((rank % 2 + 1)) sees GPUs 0,1"
done

# --- jobs/examples -------------------------------------------------------------------------------

# example NAME OUT [OPTIONS OF submit.sh]: sets status.
example() {
  local name=$1
  status=0
  on "share/wallheat/jobs/examples/$name.sh" "$plans" "${@:2}" > "$name.said" 2>&1 || status=$?
}
# solved NAME PLAIN: the queue runs empty, and NAME.h5 holds what PLAIN does.
solved() {
  job_over 300
  check "$1: every bit is that of a plain run" same_bits "$1.h5" "$2" || cat "$1.said" ./*.out
  check "$1: the file is closed" closed "$1.h5"
}
for name in one-node many-nodes array; do
  example $name $name.h5
  check "$name: the job is taken" same 0 $status
  solved $name "$([ $name = array ] && echo plain.h5 || echo plain-fields.h5)"
done
check "many nodes: workers of all eight were there" same 8 "$(grep '"event":"worker_ready"' many-nodes.jsonl | grep -o '"host":"n[0-9]"' | sort -u | wc -l)"
check "array: sixteen parts were merged" same 16 "$(find . -name 'array.part-*.h5' | wc -l)"

# A week: longer plans, on one core: a job is still at work when it is looked at.
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
# hold "which job": as soon as it has stored a plan, its solvers are stopped in the midst of theirs. The job goes on,
# but gets nowhere.
hold() {
  local rank held=''
  wait_until 60 "week: $1 stores a plan" stored $((before + 1))
  for rank in $(pgrep -f -- "wallheat run .*week.h5"); do held+=" $(pgrep -P "$rank" -f solver-process)"; done
  # shellcheck disable=SC2086  # several numbers
  check "week: $1 is held" kill -STOP $held
}

before=0
week
check "week: work is left" same 75 $status
check "week: a job is submitted" contains week.said "submitted: job"
hold "the job"
node=$(node_of_job)
kill_node "$node"
on_another_node() { case $(node_of_job) in '' | "$node") return 1 ;; esac; }
wait_until 120 "week: the job whose node is lost starts on another" on_another_node
before=$(plans_stored)
week
check "week: work is left while it runs" same 75 $status
check "week: it tells of the job that runs" contains week.said "A job waits or runs"
check "week: no second one is submitted" same 1 "$(on squeue -h | wc -l)"
hold "the job on another node"
struck() { grep -q "goes back into the queue" week-*.out; }
wait_until 150 "week: the time limit strikes, and the job goes back into the queue" struck
solved week plain-week.h5
week
check "week: at the end it ends with 0" same 0 $status
check "week: and submits nothing more" queue_empty
finish
