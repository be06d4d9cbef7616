# shellcheck shell=bash
# Shared code of the tests in this folder; they source it.
#   check "DESCRIPTION" COMMAND...               returns 1 if the command fails
#   mentions FILE FACT...                        the file contains each fact as whole words
#   expect_error "DESCRIPTION" STATUS "FACT|FACT" COMMAND...
#                                                the command ends with this status; its last message mentions each fact
#   wait_until SECONDS "CONDITION" COMMAND...
#   skip "REASON"
#   finish                                       exits with 0 if all checks passed
# A test that starts processes redefines cleanup, which is called on every exit.
# Sets here, root, wallheat (the first argument) and scratch.

set -uo pipefail
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
wallheat=${1:+$(cd "$(dirname "$1")" && pwd)/$(basename "$1")}
unset "${!SLURM_@}" "${!LSB_@}"
PATH=$PATH:/usr/sbin:/sbin
failures=0
scratch=$(mktemp -d)
cleanup() { :; }
# shellcheck disable=SC2154  # the trap sets it
trap 'status=$?; cleanup; case $status in 0 | 77) rm -rf "$scratch" ;; esac' EXIT

check() {
  local description=$1
  shift
  if "$@"; then
    echo "ok      $description"
  else
    echo "FAILED  $description   [$*]"
    failures=$((failures + 1))
    return 1
  fi
}
# same EXPECTED ACTUAL
same() { [ "$1" = "$2" ] || { echo "        expected '$1', got '$2'"; return 1; }; }
contains() { grep -qF -- "$2" "$1" || { sed 's/^/        | /' "$1"; return 1; }; }
mentions() {
  local file=$1 text fact
  text=$(cat "$file")
  for fact in "${@:2}"; do
    grep -qwF -- "$fact" <<< "$text" || { echo "        '$fact' is not mentioned in:"$'\n'"$text"; return 1; }
  done
}
expect_error() {
  local description=$1 status=$2 facts result=0
  IFS='|' read -ra facts <<< "$3"
  "${@:4}" > "$scratch/error.out" 2> "$scratch/error.err" || result=$?
  check "$description: the exit status is $status" same "$status" "$result" || cat "$scratch/error.err"
  check "$description: the message mentions ${facts[*]}" mentions <(tail -n 1 "$scratch/error.err") "${facts[@]}"
}
absent() { [ ! -e "$1" ]; }
not() { ! "$@"; }

wait_until() {
  local end=$((SECONDS + $1)) condition=$2
  shift 2
  until "$@"; do
    if [ $SECONDS -ge "$end" ]; then
      echo "FAILED  timed out: $condition   [$*]"
      failures=$((failures + 1))
      return 1
    fi
    sleep 0.1
  done
}

# Prints the processes that this test has started, directly or not: their arguments contain its scratch folder.
leftover_processes() { pgrep -f -- "$scratch/" | grep -vx "$$" || true; }
no_process_is_left() { [ -z "$(leftover_processes)" ]; }

skip() {
  echo "skipped: $*"
  exit 77
}
needs_root_and() {
  [ "$(id -u)" = 0 ] || skip "needs root"
  local program
  for program in "$@"; do
    command -v "$program" > /dev/null || skip "needs $program (apt-get install munge slurmctld slurmd slurm-client iproute2)"
  done
}

# start_slurm NODES [accounting]: a private Slurm, which is stopped when the test exits.
start_slurm() {
  slurm=$scratch/slurm
  cleanup() { "$here/slurm.sh" "$slurm" stop; }
  chmod 755 "$scratch"  # munge requires that every folder above its socket is accessible
  "$here/slurm.sh" "$slurm" start "$@" || { echo "FAILED  the private Slurm starts"; exit 1; }
}
on() { "$here/slurm.sh" "$slurm" on "$@"; }
queue_empty() { [ -z "$(on squeue -h)" ]; }

# Installs wallheat in the scratch folder, as a user does, and changes to that folder.
install_in_scratch() {
  mkdir -p "$scratch/bin" "$scratch/share/wallheat"
  ln -s "$wallheat" "$scratch/bin/wallheat"
  cp -r "$root/jobs" "$root/configs" "$scratch/share/wallheat"
  cd "$scratch" || exit 1
}

finish() {
  [ $failures = 0 ] || { echo "$failures checks failed; kept: $scratch"; exit 1; }
  exit 0
}

if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
