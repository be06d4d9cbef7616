# shellcheck shell=bash
# Shared code of the scripts in this folder: prints the comment at the start of a script as its help text.
#   usage MIN "$@"    If the first argument is --help, prints the help text and exits with 0. If there are fewer than
#                     MIN arguments, prints it to stderr and exits with 2.
usage() {
  local min_arguments=$1 head='2,/^set -/{/^set -/!s/^# \{0,1\}//p}'
  shift
  case ${1:-} in -h | --help) sed -n "$head" "$0"; exit 0 ;; esac
  if [ $# -lt "$min_arguments" ]; then sed -n "$head" "$0" >&2; exit 2; fi
}
