#!/usr/bin/env bash
# A campaign of a week, in jobs of four hours. A job that its time limit stops goes back into the queue by itself. This
# script submits one if none is there and work is left, for example after a maintenance, and tells how far it is.
# So call it as often as you like, by hand or from cron, always with the same words:
#   jobs/examples/week.sh DATA OUT [OPTIONS OF submit.sh]
#   0 * * * *  cd /scratch/me && wallheat/jobs/examples/week.sh plans results.h5 >> week.log 2>&1     # crontab
# The name of the job is that of OUT with a checksum of its full path, so each campaign finds its own job.
# Exit status: 0 all plans are solved; 3 all but those that failed; 75 work is left; others as of submit.sh.
set -euo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
usage 2 "$@"
wallheat=$("$jobs/find-wallheat.sh")
out=$2
# Jobs are found by their name, so it contains a checksum of the full path: other folders may have a file of the same name.
path=$(realpath -m -- "$out")
name=$(basename "$path" .h5 | tr -c 'A-Za-z0-9._\n-' _)-$(printf %08x "$(cksum <<< "$path" | cut -d ' ' -f 1)")
case " ${*:3} " in
  *" --name "*) echo "week.sh: leave out --name; this script finds its jobs by the name $name, which it makes of the path of OUT" >&2; exit 2 ;;
esac

status=75
if [ -e "$out" ]; then
  status=0
  "$wallheat" status "$out" || status=$?
fi
[ "$status" = 75 ] || exit "$status"

# Another job must not be submitted if it is unknown whether one is queued.
retry_later() { echo "week.sh: $1 does not list the jobs (exit status $2); call this script again later" >&2; exit 75; }
if command -v squeue > /dev/null; then
  queued=$(timeout 10 squeue --noheader --me --name "$name") || retry_later squeue $?
else
  queued=$(timeout 10 bjobs -noheader -J "$name" 2> /dev/null) || [ $? != 124 ] || retry_later bjobs 124  # else no job exists
fi
if [ -n "$queued" ]; then
  echo "A job waits or runs: $queued"
else
  "$jobs/submit.sh" --time 4h --name "$name" "${@:3}" -- --data "$1" --out "$out" --save-fields
fi
exit 75
