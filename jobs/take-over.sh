#!/usr/bin/env bash
# Solves a shard in the same way as launch.sh. Then solves, one after the other, the unfinished shards that no other job
# is solving, so that the jobs of an array share the remaining work. A job that finds no such shard ends at once.
#   jobs/take-over.sh [OPTIONS OF mpirun] -- wallheat run --data PLANS --out FILE --resume --shard K/N
# 'wallheat submit --array N --take-over' starts this script instead of launch.sh. The lock of a shard file prevents two
# jobs from solving the same shard.
#
# Exit status: that of launch.sh; 3 if plans of any shard that it solved have failed; 0 also if no shard was left. If a
# shard cannot be solved, the script ends with 75 if it has solved another shard before, because the time may just have
# run out, and otherwise with 1.
set -uo pipefail
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$here/usage.sh"
usage 0 "$@"
log() { echo "take-over.sh: $*" >&2; }

mpirun_options=() run_command=() own_shard=''
while [ $# -gt 0 ] && [ "$1" != -- ]; do mpirun_options+=("$1"); shift; done
shift
while [ $# -gt 0 ]; do
  if [ "$1" = --shard ]; then own_shard=${2:-}; shift; else run_command+=("$1"); fi
  shift
done
[ -n "$own_shard" ] || { log "the command requires --shard K/N; see 'jobs/take-over.sh --help'"; exit 2; }
[ "${run_command[0]}" != wallheat ] || command -v wallheat > /dev/null || run_command[0]=$("$here/find-wallheat.sh")

run_pid='' stop_requested=''
stop() { stop_requested=yes; [ -z "$run_pid" ] || kill -USR1 "$run_pid" 2> /dev/null; }  # launch.sh closes the file
trap stop USR1 USR2 TERM INT QUIT HUP XCPU
trap : PIPE  # output without a reader is dropped

worst_status=0 has_solved='' last_shard='' status=1
while [ -z "$stop_requested" ]; do
  shard=$("${run_command[@]}" --shard "$own_shard" --print-open-shards) || exit
  shard=${shard%%$'\n'*}
  [ -n "$shard$last_shard" ] || log "all shards are solved, or other jobs are solving them; this job has nothing to do"
  [ -n "$shard" ] || exit $worst_status
  [ "$shard" != "$last_shard" ] || exit $((has_solved ? 75 : status))  # it would fail again
  [ "$shard" = "$own_shard" ] || log "shard $shard: no other job is solving it; taking it over"
  "$here/launch.sh" "${mpirun_options[@]}" -- "${run_command[@]}" --shard "$shard" &
  run_pid=$!
  [ -z "$stop_requested" ] || stop
  while kill -0 $run_pid 2> /dev/null; do wait $run_pid; done
  wait $run_pid
  status=$? run_pid='' last_shard=$shard
  case $status in
    0) has_solved=1 ;;
    3) has_solved=1 worst_status=3 ;;
    1) ;;  # another job was faster, or the shard cannot be solved
    *) exit $status ;;
  esac
done
exit $((status ? status : worst_status))
