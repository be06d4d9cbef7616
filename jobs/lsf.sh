#!/bin/bash
# LSF job script that solves floor plans. While plans are left to solve, LSF requeues the job. jobs/submit.sh submits
# this script with the options of your site. To submit it yourself, on one node of 16 cores:
#   bsub -n 16 -R 'span[ptile=16]' -W 4:00 -wt 2 -wa USR1 -Q 75 -r jobs/lsf.sh jobs -- --data plans --out results.h5
# shellcheck source-path=SCRIPTDIR source=job.sh
. "${1:?lsf.sh: the first argument must be the folder of wallheat\'s scripts}/job.sh"

# LSF's list names a host once for each core; wallheat needs each host once.
hosts=$(mktemp)
awk '!seen[$1]++ { print $1, "slots=1" }' "$LSB_DJOB_HOSTFILE" > "$hosts"
export WALLHEAT_SSH=${WALLHEAT_SSH:-blaunch}
is_requeued() { false; }  # after SIGTERM the job ends with 143, which is not in -Q
solve "$(wc -l < "$hosts")" "${LSB_JOBINDEX:-}" --hostfile "$hosts"
rm -f "$hosts"
[ "$status:$stopped_by" != 75:cancel ] || exit 143
[ "$status" != 75 ] || echo "The job is requeued (-Q 75) and will resume."
exit "$status"
