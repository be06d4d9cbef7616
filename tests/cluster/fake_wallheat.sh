#!/usr/bin/env bash
# Fake wallheat for the test of launch.sh. In `run`, rank 0 writes heartbeats, and ends with the status in the file
# FAKE_FOLDER/end, or with 75 on SIGUSR1; it records this status in the status file. The other ranks exit with rank 0.
# `status --session-exit-status` ends with the status in FAKE_FOLDER/session. `status --print-state` prints `killed`; if
# FAKE_FOLDER/running exists, it removes that file and prints `running`.
# FAKE_LOCKED_OUT=yes: another run is writing the result file: `status --print-state` prints `running`, and its heartbeats
# continue.
# FAKE_NO_HEARTBEAT=yes: rank 0 writes no heartbeat before the last. FAKE_ONLY_JOURNAL=yes: its heartbeats after the first are
# in the journal. FAKE_IGNORES_STOP=yes: rank 0 ignores SIGUSR1 and SIGTERM. FAKE_NO_RECORD=yes: rank 0 records no status.
# FAKE_MPI=none: `version --json` prints that it was built without MPI.
# FAKE_NEVER_EXITS=yes: the other ranks never exit, not even on SIGTERM.
rank=${OMPI_COMM_WORLD_RANK:-${PMIX_RANK:-0}}
case "$1 ${2:-}" in
  "version --json") echo "{\"mpi\": \"${FAKE_MPI:-Open MPI}\"}"; exit 0 ;;
  "status --print-state")
    if [ -n "${FAKE_LOCKED_OUT:-}" ]; then
      printf '{\n "started_utc": "another run",\n "exit_status": -1,\n "heartbeat": %s\n}\n' "$$" > "$3.status"
      touch "$FAKE_FOLDER/running"
    fi
    if rm "$FAKE_FOLDER/running" 2> /dev/null; then echo running; else echo killed; fi
    exit 75
    ;;
  "status --session-exit-status") exit "$(cat "$FAKE_FOLDER/session" 2> /dev/null || echo 1)" ;;
esac
while [ $# -gt 0 ]; do
  case $1 in
    --out) out=$2; shift ;;
    --print-out) echo "$out"; exit 0 ;;
  esac
  shift
done
# write_status EXIT_STATUS
write_status() {
  printf '{\n "started_utc": "%s",\n "exit_status": %s,\n "heartbeat": %s\n}\n' "$$" "$1" "$heartbeat" > "$out.status.new" &&
    mv "$out.status.new" "$out.status"
}
[ "$rank" = 0 ] && trap 'echo 75 > "$FAKE_FOLDER/end"' USR1 TERM
[ "$rank" = 0 ] && [ -n "${FAKE_IGNORES_STOP:-}" ] && trap '' USR1 TERM
[ "$rank" = 0 ] || trap : USR1
[ "$rank" = 0 ] || [ -z "${FAKE_NEVER_EXITS:-}" ] || trap '' TERM
echo $$ > "$FAKE_FOLDER/pid.$rank"  # after the traps: the test sends signals when it has read this file
heartbeat=0 first_end=5  # launch.sh polls five times per second
[ -z "${FAKE_ONLY_JOURNAL:-}" ] || first_end=150  # at least 15 s: three heartbeat timeouts of the test
while :; do
  if [ "$rank" = 0 ]; then
    heartbeat=$((heartbeat + 1))
    if [ -n "${FAKE_ONLY_JOURNAL:-}" ] && [ "$heartbeat" -gt 1 ]; then echo "$heartbeat" >> "$out.wal0"
    elif [ -z "${FAKE_NO_HEARTBEAT:-}" ]; then write_status -1; fi
    if [ -s "$FAKE_FOLDER/end" ] && { [ "$heartbeat" -ge "$first_end" ] || [ "$(< "$FAKE_FOLDER/end")" = 75 ]; }; then
      [ -n "${FAKE_NO_RECORD:-}" ] || write_status "$(< "$FAKE_FOLDER/end")"
      exit 0
    fi
  elif [ -z "${FAKE_NEVER_EXITS:-}" ]; then
    [ ! -s "$FAKE_FOLDER/end" ] && kill -0 "$(cat "$FAKE_FOLDER/pid.0" 2> /dev/null || echo $$)" 2> /dev/null || exit 0
  fi
  sleep 0.1
done
