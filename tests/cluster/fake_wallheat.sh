#!/usr/bin/env bash
# Fake wallheat for the test of launch.sh. In `run`, rank 0 writes heartbeats, and ends with the status in the file
# FAKE_FOLDER/end, or with 75 on SIGUSR1; `status --session` reports this status. The other ranks exit with rank 0.
# FAKE_NO_HEARTBEAT=yes: rank 0 writes no heartbeat. FAKE_IGNORES_STOP=yes: rank 0 ignores SIGUSR1 and SIGTERM.
# FAKE_NEVER_EXITS=yes: the other ranks never exit, not even on SIGTERM.
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-0}}
if [ "$1" = status ]; then
  [ -e "$FAKE_FOLDER/session" ] || exit 1
  echo "session of now, closed: resume with --resume"
  exit "$(cat "$FAKE_FOLDER/session")"
fi
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift ;;
    --print-out) echo "$out"; exit 0 ;;
    --check=job) echo "ready"; exit 0 ;;
  esac
  shift
done
echo $$ > "$FAKE_FOLDER/pid.$rank"
[ "$rank" = 0 ] && trap 'echo 75 > "$FAKE_FOLDER/end"' USR1 TERM
[ "$rank" = 0 ] && [ -n "${FAKE_IGNORES_STOP:-}" ] && trap '' USR1 TERM
[ "$rank" = 0 ] || trap : USR1
[ "$rank" = 0 ] || [ -z "${FAKE_NEVER_EXITS:-}" ] || trap '' TERM
while :; do
  if [ "$rank" = 0 ]; then
    [ -n "${FAKE_NO_HEARTBEAT:-}" ] || { echo "$((heartbeat += 1))" > "$out.status.new" && mv "$out.status.new" "$out.status"; }
    if [ -s "$FAKE_FOLDER/end" ] && [ "${heartbeat:-5}" -ge 5 ]; then  # launch.sh polls five times per second
      cp "$FAKE_FOLDER/end" "$FAKE_FOLDER/session"
      rm -f "$out.status"
      exit 0
    fi
  elif [ -z "${FAKE_NEVER_EXITS:-}" ]; then
    [ ! -s "$FAKE_FOLDER/end" ] && kill -0 "$(cat "$FAKE_FOLDER/pid.0" 2> /dev/null || echo $$)" 2> /dev/null || exit 0
  fi
  sleep 0.1
done
