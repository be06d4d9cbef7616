#!/usr/bin/env bash
# Stands in for `wallheat run` where a test is about launch.sh. Rank 0 gives signs of life, and ends with
# the status it finds in the file STAND_IN/end, or with 75 on SIGUSR1, saying so in its exit status file;
# the others leave with it. STAND_IN_STAYS=yes: they never do, not even on SIGTERM.
# STAND_IN_MUTE=yes: rank 0 gives no sign of life. STAND_IN_STATUS: what its signs of life say.
# STAND_IN_DEAF=yes: it does not stop when asked.
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-0}}
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift ;;
    --print-out) echo "$out"; exit 0 ;;
    --exit-status-file) exit_status_file=$2; shift ;;
  esac
  shift
done
[ -z "${STAND_IN_FAILS:-}" ] || exit "$STAND_IN_FAILS"
echo $$ > "$STAND_IN/pid.$rank"
[ "$rank" = 0 ] && trap 'echo 75 > "$STAND_IN/end"' USR1 TERM
[ "$rank" = 0 ] && [ -n "${STAND_IN_DEAF:-}" ] && trap '' USR1 TERM
[ "$rank" = 0 ] || trap : USR1
[ "$rank" = 0 ] || [ -z "${STAND_IN_STAYS:-}" ] || trap '' TERM
while :; do
  if [ "$rank" = 0 ]; then
    [ -n "${STAND_IN_MUTE:-}" ] || { echo "${STAND_IN_STATUS:-none} $((look += 1))" > "$out.status.new" && mv "$out.status.new" "$out.status"; }
    if [ -s "$STAND_IN/end" ]; then
      status=$(cat "$STAND_IN/end")
      rm -f "$out.status"
      echo "$status" > "$exit_status_file.new" && mv "$exit_status_file.new" "$exit_status_file"
      exit "$status"
    fi
  elif [ -z "${STAND_IN_STAYS:-}" ]; then
    [ ! -s "$STAND_IN/end" ] && kill -0 "$(cat "$STAND_IN/pid.0" 2> /dev/null || echo $$)" 2> /dev/null || exit 0
  fi
  sleep 0.1
done
