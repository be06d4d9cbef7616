#!/usr/bin/env bash
# jobs/submit.sh for LSF, with a stand-in for bsub (no real LSF was to be had): a run limit that strikes.
# Jobs that end, and arrays: test_examples.sh
#   test_lsf.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
# shellcheck source-path=SCRIPTDIR source=campaign.sh
. "$here/campaign.sh"
make_plans
run_undisturbed

export LSF_SPOOL=$scratch/lsf PATH=$here:$PATH
cat > "$scratch/site.sh" <<END
lsf_options=(-q normal -P heat)
cores_per_node=2
time_limit=1h
wallheat=("$wallheat")
END
export LSF_MINUTE_S=5   # the signal comes after a quarter of a minute, the end ten seconds later
result=$scratch/limit.h5
(cd "$scratch" && "$root/jobs/submit.sh" --scheduler lsf --name limit --site site.sh --time 5m \
  -- --data "$plans" --out "$result" --events limit.jsonl "${work[@]}") > "$scratch/limit.submit" 2>&1 &
submitted=$!
hold "$result" "$scratch/limit.jsonl"
wait $submitted
check "a run limit: the job has been requeued" contains "$LSF_SPOOL/ends" "101[0] 75"
check "a run limit: it ends with 0" contains "$LSF_SPOOL/ends" "101[0] 0"
check "a run limit: the file equals that of an undisturbed run" equals_undisturbed "$result"
finish
