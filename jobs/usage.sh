# shellcheck shell=bash
# For the scripts here to source: what their head says is their help.
#   usage LEAST "$@"    prints the head and ends: with 0 after --help, with 2 if arguments are fewer than LEAST
usage() {
  local least=$1 head='2,/^set -/{/^set -/!s/^# \{0,1\}//p}'
  shift
  case ${1:-} in -h | --help) sed -n "$head" "$0"; exit 0 ;; esac
  if [ $# -lt "$least" ]; then sed -n "$head" "$0" >&2; exit 2; fi
}
