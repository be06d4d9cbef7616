#!/usr/bin/env bash
# jobs/submit.sh on a real Slurm that belongs to this test: a lost node, scancel, GPUs, runs that
# cannot start. Arrays with their merge, eight nodes, a time limit that strikes: test_slurm_examples.sh
#   test_slurm.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
# shellcheck source-path=SCRIPTDIR source=campaign.sh
. "$here/campaign.sh"
needs_root_and ip munged slurmctld slurmd sbatch mpirun

start_slurm 3
make_plans
run_undisturbed
work+=(--worker-timeout 5)

cat > "$scratch/site.sh" <<END
cores_per_node=2
time_limit=10m
wallheat=("$wallheat")
END
# submit NAME [OPTIONS OF submit.sh]: with $scratch/NAME.h5 as --out; sets job, result, log. The job's log and
# the merge's land in $scratch/logs.
submit() {
  local name=$1
  shift
  result=$scratch/$name.h5 events=$scratch/$name.jsonl log=$scratch/$name.submit
  mkdir -p "$scratch/logs"
  (cd "$scratch/logs" && on "$root/jobs/submit.sh" --scheduler slurm --name "$name" --site "$scratch/site.sh" "$@" \
    -- --data "$plans" --out "$result" --events "$events" "${work[@]}") > "$log" 2>&1
  job=$(sed -n 's/^submitted: job \([0-9]*\)$/\1/p' "$log")
  check "submit.sh $name: the job is taken" test -n "$job" || cat "$log"
}
job_over() { wait_until "$1" "the queue is empty" queue_empty; }
state() { on scontrol show job --oneliner "$1" | grep -o 'JobState=[A-Z_]*' | sort -u; }
in_log() { cat "$scratch"/logs/"$1"-*.out | grep -qF -- "$2" || { cat "$scratch"/logs/"$1"-*.out; return 1; }; }
no_process_left() { ! pgrep -f -- "$wallheat run .*$result" > /dev/null; }

submit lost_node --nodes 3
wait_until 60 "five plans are solved" results_stored "$events" 5
"$here/hosts.sh" "$slurm/hosts.d" kill n3
check "a node is lost in the middle" unfinished "$events"
job_over 180
check "a lost node: the job completes all the same" same JobState=COMPLETED "$(state "$job")"
check "a lost node: it is not started again" not grep -q "goes back into the queue" "$scratch"/logs/lost_node-*.out
check "a lost node: the file equals that of an undisturbed run" equals_undisturbed "$result"
check "a lost node: the file is closed" closed "$result"
on_node() { "$here/hosts.sh" "$slurm/hosts.d" on "$@"; }
SLURM_CONF=$slurm/slurm.conf on_node n3 slurmd -N n3

submit cancelled --nodes 2
wait_until 60 "five plans are solved" results_stored "$events" 5
on scancel "$job"
job_over 60
check "scancel: the job is cancelled, and stays so" same JobState=CANCELLED "$(state "$job")"
check "scancel: it says what happened and how to go on" in_log cancelled "was cancelled; what was solved is stored. To go on"
check "scancel: no noise of the launcher" not grep -qE "PMIX|Killed|srun: error" "$scratch"/logs/cancelled-*.out
check "scancel: the file is let go of" absent "$result.lock"
check "scancel: and closed" same left "$("$wallheat" status --word "$result")"
check "scancel: it happened in the middle" unfinished "$events"
wait_until 20 "scancel: no process is left" no_process_left
submit cancelled --nodes 2
job_over 120
check "scancel: submitted again, it is finished" equals_undisturbed "$result"

# What cannot run is not submitted; what fails later says so in one sentence.
good=$plans plans=$scratch/none
(submit failed --nodes 2) > /dev/null
check "a run that cannot start is not submitted" same "" "$(on squeue -h)"
check "it says why" contains "$scratch/failed.submit" "there is no directory or zip archive"
cp -r "$good" "$plans"
{ cat "$scratch/site.sh"; echo 'slurm_options=(--hold)'; } > "$scratch/held-site.sh"
submit failed --nodes 2 --site "$scratch/held-site.sh"
rm -r "$plans"
plans=$good
on scontrol release "$job"
job_over 60
check "a run that fails: the job fails" same JobState=FAILED "$(state "$job")"
check "a run that fails: it says why" in_log failed "there is no directory or zip archive"
check "a run that fails: it says nothing else" same 1 "$(cat "$scratch"/logs/failed-*.out | wc -l)"

# Two pretended GPUs a node: what reaches the job. (They cannot solve.)
cat > "$scratch/gpus" <<END
#!/bin/bash
[ "\${!#}" != --print-out ] || { echo "$scratch/gpus.h5"; exit 0; }
[ "\$1" != status ] || date +%N  # a session that has ended well
END
cat >> "$scratch/gpus" <<'END'
if [ "$1" = run ]; then
  echo "rank $OMPI_COMM_WORLD_RANK on $(hostname) sees GPUs $CUDA_VISIBLE_DEVICES"
fi
END
chmod +x "$scratch/gpus"
sed "s|^wallheat=.*|wallheat=(\"$scratch/gpus\")|" "$scratch/site.sh" > "$scratch/gpu-site.sh"
submit gpus --nodes 2 --gpus 2 --site "$scratch/gpu-site.sh"
job_over 60
for rank in 1 2 3 4; do
  check "GPUs: worker $rank sees both of its node" in_log gpus "rank $rank on n$((rank % 2 + 1)) sees GPUs 0,1"
done

finish
