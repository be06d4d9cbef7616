# shellcheck shell=bash disable=SC2034
# Shared code of submit.sh and job.sh: finds the site files, which describe the cluster. The calling script sources each
# of them itself, because a variable that a site file declares would be local if a function sourced the file.
#   find_site_files ROOT [FILE]   sets site_files to the paths, with increasing precedence: the defaults in ROOT/configs,
#                                 /etc/wallheat/site.sh if it exists, the file in WALLHEAT_SITE, and FILE (--site)
#   require_site_file FILE        exits with 1 if the file cannot be read on this host
find_site_files() {
  local file
  site_files=("$1/configs/site.sh")
  [ ! -e /etc/wallheat/site.sh ] || site_files+=(/etc/wallheat/site.sh)
  for file in "${WALLHEAT_SITE:-}" "${2:-}"; do
    [ -z "$file" ] || site_files+=("$(realpath -m -- "$file")")
  done
}
require_site_file() {
  [ ! -f "$1" ] || [ ! -r "$1" ] || return 0
  echo "${0##*/}: site file $1: cannot be read on $HOSTNAME; jobs read the same site files as 'wallheat submit', so keep" \
    "them in a folder that all nodes share" >&2
  exit 1
}
