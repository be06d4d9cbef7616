#!/usr/bin/env bash
# jobs/examples on a real Slurm that belongs to this test, installed and called as a user does; week.sh with a
# cancelled job, a lost node and a time limit that strikes. Every result must be that of a plain run, to the last bit.
#   test_slurm_examples.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
needs_root_and ip munged slurmctld slurmd sbatch mpirun

install_there
wallheat=$scratch/bin/wallheat
start_slurm 8

"$wallheat" generate --out plans --count 24 --size 320 > /dev/null
"$wallheat" run --data plans --out plain.h5 --log-level error
"$wallheat" run --data plans --out plain-fields.h5 --save-fields --log-level error

# example NAME OUT [OPTIONS OF submit.sh]: sets status.
example() {
  local name=$1 out=$2
  shift 2
  status=0
  on "share/wallheat/jobs/examples/$name.sh" plans "$out" "$@" > "$name.said" 2>&1 || status=$?
}
said() { contains "$1.said" "$2"; }
same_bits() { "$wallheat" compare "$1" "$2" --require-equal > compared; }
# solved NAME OUT PLAIN: the queue runs empty, and OUT holds what PLAIN does.
solved() {
  wait_until 300 "$1: the queue is empty" queue_empty
  check "$1: every bit is that of a plain run" same_bits "$3" "$2" || cat compared "$1.said" ./*.out
  check "$1: the file is closed" absent "$2.wal0"
}
example one-node one-node.h5
check "one node: the job is taken" same 0 $status
solved one-node one-node.h5 plain-fields.h5

example many-nodes many-nodes.h5
check "many nodes: the job is taken" same 0 $status
solved many-nodes many-nodes.h5 plain-fields.h5
check "many nodes: workers of all eight were there" same 8 "$(grep '"event":"worker_ready"' many-nodes.jsonl | grep -o '"host":"n[0-9]"' | sort -u | wc -l)"

example array array.h5
check "array: the job is taken" same 0 $status
solved array array.h5 plain.h5
check "array: sixteen parts were merged" same 16 "$(find . -name 'array.part-*.h5' | wc -l)"

# --- week.sh -------------------------------------------------------------------------------------

# Longer plans, on one core: a job is still at work when it is looked at.
"$wallheat" generate --out plans --count 40 --size 512 --seed 2 --overwrite > /dev/null
"$wallheat" run --data plans --out plain-week.h5 --save-fields --log-level error
cpu=$(taskset --pid --cpu-list $$ | grep -o '[0-9]*$')
cat > site.sh <<END
cores_per_node=1
setup='taskset --pid --cpu-list $cpu \$\$ > /dev/null'
END
week() { example week week.h5 --time 1m --site site.sh; }
plans_stored() { "$wallheat" status week.h5 --json 2> /dev/null | sed -n 's/^ "solved": \([0-9]*\),/\1/p'; }
stored() { [ "$(plans_stored || true)" -ge "$1" ] 2> /dev/null; }
jobs_there() { on squeue -h | wc -l; }
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
check "week: a job is submitted" said week "submitted: job"
hold "the first job"
week
check "week: work is left while it runs" same 75 $status
check "week: it tells of the job that runs" said week "A job waits or runs"
check "week: no second one is submitted" same 1 "$(jobs_there)"
on scancel --name week
wait_until 60 "week: the cancelled job is gone" queue_empty
check "week: the cancelled job has let go of the file" absent week.h5.lock
check "week: the limit has not struck yet" not grep -q "goes back into the queue" week-*.out

before=$(plans_stored)
week
check "week: after a cancelled job another is submitted" said week "submitted: job"
hold "the second job"
node=$(node_of_job)
"$here/hosts.sh" "$slurm/hosts.d" kill "$node"
on_another_node() { case $(node_of_job) in '' | "$node") return 1 ;; esac; }
wait_until 120 "week: the job whose node is lost starts on another" on_another_node
before=$(plans_stored)
week
check "week: it is the only job" same 1 "$(jobs_there)"
hold "the job on another node"
struck() { grep -q "goes back into the queue" week-*.out; }
wait_until 150 "week: the time limit strikes, and the job goes back into the queue" struck
solved week week.h5 plain-week.h5
week
check "week: at the end it ends with 0" same 0 $status
check "week: and submits nothing more" queue_empty
finish
