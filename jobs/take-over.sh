#!/usr/bin/env bash
# Solves a shard as launch.sh does, and then, one after the other, the shards that are left and that no
# job is at: so the jobs of an array share what there is to do, and one that finds nothing ends at once.
#
#   jobs/take-over.sh [OPTIONS OF mpirun] -- wallheat run --data DIR --out FILE --resume --shard K/N
#
# 'jobs/submit.sh --array N --take-over' writes it into the jobs in place of launch.sh. Two jobs never
# write one part: its lock keeps the second out, which looks for another. What a job leaves at its time
# limit goes on with the job itself, or with any other.
#
# Exit status: that of launch.sh; 3 if plans of any of its shards failed, 0 also if nothing was left. A
# shard that cannot be solved ends it: with 1, or with 75 if others were solved before and perhaps only
# the time ran out, so that a job script starts it again.
set -uo pipefail

here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$here/usage.sh"
say() { echo "take-over.sh: $*" >&2; }

usage 0 "$@"
mpirun_options=() run_command=() own=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do mpirun_options+=("$1"); shift; done
shift
while [ $# -gt 0 ]; do
  if [ "$1" = --shard ] && [ $# -gt 1 ]; then own=$2; shift 2; continue; fi
  run_command+=("$1")
  shift
done
[ -n "$own" ] || { say "the command has no --shard K/N; see 'jobs/take-over.sh --help'"; exit 2; }
if [ "${run_command[0]}" = wallheat ] && ! command -v wallheat > /dev/null; then run_command[0]=$("$here/own-wallheat.sh"); fi

# launch.sh closes the file on SIGUSR1, whatever signal came.
run='' asked=''
stop() {
  asked=yes
  [ -z "$run" ] || kill -USR1 "$run" 2> /dev/null
}
trap stop USR1 USR2 TERM INT QUIT HUP XCPU
trap : PIPE  # text that nobody reads is lost text

worst=0 solved='' last='' status=1
while [ -z "$asked" ]; do
  shard=$("${run_command[@]}" --shard "$own" --print-open-shard) || exit
  if [ -z "$shard" ]; then
    [ -n "$last" ] || say "all parts are solved, or another job is at them: nothing is left for this one"
    exit $worst
  fi
  if [ "$shard" = "$last" ]; then  # it would fail again
    [ -z "$solved" ] || exit 75
    exit $status
  fi
  [ "$shard" = "$own" ] || say "nobody is at shard $shard, so it is solved here"
  "$here/launch.sh" "${mpirun_options[@]}" -- "${run_command[@]}" --shard "$shard" &
  run=$!
  [ -z "$asked" ] || stop
  while kill -0 $run 2> /dev/null; do wait $run; done
  wait $run
  status=$? run='' last=$shard
  case $status in
    0) solved=yes ;;
    3) solved=yes worst=3 ;;
    1) ;;  # another job was faster, or the shard cannot be solved
    *) exit $status ;;
  esac
done
[ $status != 0 ] || status=$worst
exit $status
