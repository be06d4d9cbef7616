#!/usr/bin/env bash
# Solves a campaign that takes a week, in jobs of four hours. A job that is stopped by its time limit is requeued
# automatically. If no job exists and plans are left to solve, for example after a maintenance of the cluster, this
# script submits a job. It also prints the progress. So call it as often as you like, from a shell or from cron, always
# with the same arguments:
#   jobs/examples/week.sh DATA OUT [OPTIONS OF submit.sh]
#   0 * * * *  cd /scratch/me && wallheat/jobs/examples/week.sh plans results.h5 >> week.log 2>&1     # crontab
# The name of the job consists of the name of OUT and a checksum of its full path, so each campaign finds its own job.
# Exit status: 0: all plans are solved; 3: all plans are solved except for those that failed; 75: plans are left to
# solve; for other numbers see submit.sh.
set -euo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
usage 2 "$@"
wallheat=$("$jobs/find-wallheat.sh")
out=$2
# Jobs are found by their name. The name contains a checksum of the full path, because other folders may contain a file of
# the same name.
path=$(realpath -m -- "$out")
name=$(basename "$path" .h5 | tr -c 'A-Za-z0-9._\n-' _)-$(printf %08x "$(cksum <<< "$path" | cut -d ' ' -f 1)")
case " ${*:3} " in
  *" --name "*) echo "week.sh: --name is not allowed; this script finds its jobs by the name $name, which is derived from the path of OUT" >&2; exit 2 ;;
esac

status=75
if [ -e "$out" ]; then
  status=0
  "$wallheat" status "$out" || status=$?
fi
[ "$status" = 75 ] || exit "$status"

# Another job must not be submitted if it is unknown whether one is queued.
retry_later() { echo "week.sh: $1 cannot list the jobs (exit status $2); run this script again later" >&2; exit 75; }
if command -v squeue > /dev/null; then
  queued=$(timeout 10 squeue --noheader --me --name "$name") || retry_later squeue $?
else
  queued=$(timeout 10 bjobs -noheader -J "$name" 2> /dev/null) || [ $? != 124 ] || retry_later bjobs 124  # else no job exists
fi
if [ -n "$queued" ]; then
  echo "A job is pending or running: $queued"
else
  "$jobs/submit.sh" --time 4h --name "$name" "${@:3}" -- --data "$1" --out "$out" --save-fields
fi
exit 75
