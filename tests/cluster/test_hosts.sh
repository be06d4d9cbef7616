#!/usr/bin/env bash
# Tests jobs/launch.sh on three hosts (network namespaces) and a head node: recovery from lost hosts and processes.
# Signals on one host: tests/campaign/signal_matrix.py.
#   test_hosts.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
# shellcheck source-path=SCRIPTDIR source=campaign.sh
. "$here/campaign.sh"
needs_root_and ip unshare mpirun

hosts=$scratch/hosts
cleanup() { "$here/hosts.sh" "$hosts" down; }
"$here/hosts.sh" "$hosts" up 3 || skip "network namespaces cannot be created"
make_plans

# launch NAME [OPTIONS OF wallheat run]: starts a run in the background: rank 0 and a worker on n1, two workers on n2, one on n3.
launch() {
  result=$scratch/$1.h5 events=$scratch/$1.jsonl log=$scratch/$1.log
  shift
  WALLHEAT_HEARTBEAT_TIMEOUT_S=10 WALLHEAT_SSH=$hosts/ssh "$here/hosts.sh" "$hosts" on n0 "$root/jobs/launch.sh" \
    --host n1:2,n2:2,n3:1 -n 5 -- "$wallheat" run --data "$plans" --out "$result" \
    --events "$events" --worker-timeout 5 "${work[@]}" "$@" > "$log" 2>&1 &
  launched=$!
}
at_work() { launch "$@" && wait_until 300 "five plans are solved" results_stored "$events" 5; }
ends_with() {
  wait "$launched"
  same "$1" $? || { sed 's/^/        | /' "$log"; return 1; }
}
launch_over() { ! kill -0 "$launched" 2> /dev/null; }
pid_of_rank_0() {
  local pid
  for pid in $(pgrep -f -- "wallheat run .*$result"); do
    tr '\0' '\n' < "/proc/$pid/environ" 2> /dev/null | grep -qx "OMPI_COMM_WORLD_RANK=0" &&
      [[ $(readlink "/proc/$pid/exe") == */wallheat ]] && echo "$pid" && return
  done
}
shared_memory() { local host; for host; do ls "$hosts/shm/$host"; done; }
tidy() {  # HOSTS that are alive
  wait_until 300 "no process is left on $*" no_process_on "$@"
  check "no shared memory is left on $*" same '' "$(shared_memory "$@")"
}
no_process_on() { local host; for host; do [ -z "$("$here/hosts.sh" "$hosts" pids "$host")" ] || return 1; done; }
all_done() {
  check "$1: launch.sh ends with 0" ends_with 0
  check "$1: the result file is closed" closed "$result"
  check "$1: the result file equals that of an undisturbed run" equals_undisturbed "$result"
}

at_work killed_host
"$here/hosts.sh" "$hosts" kill n2
check "the host is lost before the run finishes" unfinished "$events"
all_done "a host with two workers is lost"
rm -f "$hosts"/shm/n2/*   # like a power failure
tidy n0 n1 n3

at_work cut_cable
"$here/hosts.sh" "$hosts" cut n3
check "the network is cut before the run finishes" unfinished "$events"
all_done "the network of a host is cut"
"$here/hosts.sh" "$hosts" kill n3
rm -f "$hosts"/shm/n3/*
tidy n0 n1 n2
"$here/hosts.sh" "$hosts" up 3

at_work killed_rank_0
check "rank 0 is killed" kill -KILL "$(pid_of_rank_0)"
check "rank 0 is killed before the run finishes" unfinished "$events"
wait_until 300 "launch.sh ends after the death of rank 0" launch_over || "$here/hosts.sh" "$hosts" kill n0
check "the death of rank 0: launch.sh ends with 75" ends_with 75
tidy n0 n1 n2 n3
launch killed_rank_0 --resume
all_done "resumed after the death of rank 0"
tidy n0 n1 n2 n3
finish
