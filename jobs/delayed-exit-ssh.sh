#!/usr/bin/env bash
# Runs ssh, and delays the exit if ssh failed. launch.sh sets this script as Open MPI's remote shell: if a host is lost,
# mpirun must detect the lost connection before it is notified that ssh failed; otherwise it ends the whole run. The
# delay is at most 10 s, and ends when mpirun ends.
"${WALLHEAT_SSH:-ssh}" "$@"
status=$?
if [ $status != 0 ]; then
  for _ in {1..50}; do
    kill -0 $PPID 2> /dev/null || break
    sleep 0.2
  done
fi
exit $status
