#!/usr/bin/env bash
# Stands in for wallheat if a test is about launch.sh. Of `run`, rank 0 gives signs of life, and ends with the status
# that it finds in the file STAND_IN/end, or with 75 on SIGUSR1, which `status --session` tells; the others leave with it.
# STAND_IN_MUTE=yes: rank 0 gives no sign of life. STAND_IN_DEAF=yes: it does not stop when asked.
# STAND_IN_STAYS=yes: the others never leave, not even on SIGTERM.
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-0}}
if [ "$1" = status ]; then
  [ -e "$STAND_IN/session" ] || exit 1
  echo "session of now, closed: go on with --resume"
  exit "$(cat "$STAND_IN/session")"
fi
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift ;;
    --print-out) echo "$out"; exit 0 ;;
    --check=job) echo "ready"; exit 0 ;;
  esac
  shift
done
echo $$ > "$STAND_IN/pid.$rank"
[ "$rank" = 0 ] && trap 'echo 75 > "$STAND_IN/end"' USR1 TERM
[ "$rank" = 0 ] && [ -n "${STAND_IN_DEAF:-}" ] && trap '' USR1 TERM
[ "$rank" = 0 ] || trap : USR1
[ "$rank" = 0 ] || [ -z "${STAND_IN_STAYS:-}" ] || trap '' TERM
while :; do
  if [ "$rank" = 0 ]; then
    [ -n "${STAND_IN_MUTE:-}" ] || { echo "$((look += 1))" > "$out.status.new" && mv "$out.status.new" "$out.status"; }
    if [ -s "$STAND_IN/end" ] && [ "${look:-5}" -ge 5 ]; then  # launch.sh looks five times a second
      cp "$STAND_IN/end" "$STAND_IN/session"
      rm -f "$out.status"
      exit 0
    fi
  elif [ -z "${STAND_IN_STAYS:-}" ]; then
    [ ! -s "$STAND_IN/end" ] && kill -0 "$(cat "$STAND_IN/pid.0" 2> /dev/null || echo $$)" 2> /dev/null || exit 0
  fi
  sleep 0.1
done
