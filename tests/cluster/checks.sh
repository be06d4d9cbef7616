# shellcheck shell=bash
# What the tests of this folder share; they source it.
#   check "the sentence that must be true" COMMAND...      ends with 1 if it is not
#   wait_until SECONDS "what is awaited" COMMAND...
#   skip "why"
#   finish               ends with 0 if all was true
# A test that starts something redefines cleanup: it is called at the end, however that comes.
# It sets here, root, wallheat (the first argument) and scratch.

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
  local sentence=$1
  shift
  if "$@"; then
    echo "ok      $sentence"
  else
    echo "FAILED  $sentence   [$*]"
    failures=$((failures + 1))
    return 1
  fi
}
# same EXPECTED ACTUAL
same() { [ "$1" = "$2" ] || { echo "        expected '$1', got '$2'"; return 1; }; }
contains() { grep -qF -- "$2" "$1" || { sed 's/^/        | /' "$1"; return 1; }; }
absent() { [ ! -e "$1" ]; }
not() { ! "$@"; }

wait_until() {
  local end=$((SECONDS + $1)) what=$2
  shift 2
  until "$@"; do
    if [ $SECONDS -ge "$end" ]; then
      echo "FAILED  $what within the time that it may take   [$*]"
      failures=$((failures + 1))
      return 1
    fi
    sleep 0.1
  done
}

# Processes that a command of this test has started, wherever they went: its scratch folder stands in
# their arguments.
left_processes() { pgrep -f -- "$scratch/" | grep -vx "$$" || true; }
nothing_left() { [ -z "$(left_processes)" ]; }

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

# A private Slurm of so many nodes (with accounting), for as long as the test.
start_slurm() {
  slurm=$scratch/slurm
  cleanup() { "$here/slurm.sh" "$slurm" stop; }
  chmod 755 "$scratch"  # munge wants every folder above its socket open
  "$here/slurm.sh" "$slurm" start "$@" || { echo "FAILED  the private Slurm does not start"; exit 1; }
}
on() { "$here/slurm.sh" "$slurm" on "$@"; }
queue_empty() { [ -z "$(on squeue -h)" ]; }

# An installation in the scratch folder, as a user has it; the test goes there.
install_there() {
  mkdir -p "$scratch/bin" "$scratch/share/wallheat"
  ln -s "$wallheat" "$scratch/bin/wallheat"
  cp -r "$root/jobs" "$root/configs" "$scratch/share/wallheat"
  cd "$scratch" || exit 1
}

finish() {
  [ $failures = 0 ] || { echo "$failures sentences are not true; kept: $scratch"; exit 1; }
  exit 0
}

if [ "$(id -u)" = 0 ]; then export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; fi
