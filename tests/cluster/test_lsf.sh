#!/usr/bin/env bash
# jobs/submit.sh for LSF, with a stand-in for bsub (no real LSF was to be had): a run limit that strikes, and
# an array with its merge.
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
time_limit=01:00
wallheat=("$wallheat")
END
submit() {  # NAME OPTIONS OF submit.sh
  local name=$1
  shift
  result=$scratch/$name.h5
  (cd "$scratch" && "$root/jobs/submit.sh" --scheduler lsf --name "$name" --site "$scratch/site.sh" "$@" \
    -- --data "$plans" --out "$result" --events "$scratch/$name.jsonl" "${work[@]}") > "$scratch/$name.submit" 2>&1
}

submit whole
check "one node: the job is taken" same 0 $?
check "one node: the job ends with 0" contains "$LSF_SPOOL/ends" "101[0] 0"
check "one node: the file equals that of an undisturbed run" equals_undisturbed "$result"

export LSF_MINUTE_S=5   # the signal comes after a quarter of a minute, the end ten seconds later
result=$scratch/limit.h5
submit limit --time 00:05 &
submitted=$!
hold "$result" "$scratch/limit.jsonl"
wait $submitted
check "a run limit: the job has been requeued" contains "$LSF_SPOOL/ends" "102[0] 75"
check "a run limit: it ends with 0" contains "$LSF_SPOOL/ends" "102[0] 0"
check "a run limit: the file equals that of an undisturbed run" equals_undisturbed "$result"
unset LSF_MINUTE_S

submit array --array 4
check "an array: each job ends with 0" same 4 "$(grep -c '^103\[[1-4]\] 0$' "$LSF_SPOOL/ends")"
check "an array: the merge ends with 0" contains "$LSF_SPOOL/ends" "104[0] 0"
check "an array: the merged file equals that of a single run" equals_undisturbed "$result"
finish
