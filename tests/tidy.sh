#!/usr/bin/env bash
# Runs clang-tidy on src with .clang-tidy; exits with 0 if there are no findings. Takes half an hour on one core.
#
#   tests/tidy.sh              all of src
#   tests/tidy.sh queue io     these folders of src
#
# TIDY_JOBS: number of parallel jobs (default: number of cores). Uses the compile commands of build-tidy/, or of the folder
# BUILD: each source folder is one file there, so that headers are parsed once. Skips CUDA files, as clang 16 does not
# support CUDA 13.
set -euo pipefail
version=16

# shellcheck source-path=SCRIPTDIR source=../jobs/usage.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../jobs/usage.sh"
usage 0 "$@"
cd "$(dirname -- "${BASH_SOURCE[0]}")/.."
build=${BUILD:-build-tidy}
for tidy in "clang-tidy-$version" clang-tidy ''; do
  if "$tidy" --version 2> /dev/null | grep -q "version $version\."; then break; fi
done
if [ -z "$tidy" ]; then
  echo "tidy.sh: clang-tidy $version not found (apt-get install clang-tidy-$version)" >&2
  exit 1
fi
[ -e "$build/compile_commands.json" ] || CMAKE_GENERATOR=Ninja cmake -S . -B "$build" > /dev/null

folders=$(IFS='|' && echo "${*:-[a-z]+}")
# shellcheck disable=SC2016  # $1 and $2 are the inner shell's
sed -n 's/^ *"file": "\(.*\.c[px]*\)".*/\1/p' "$build/compile_commands.json" | grep -v /tests/ | grep -E "/wallheat_($folders)\\.dir/|/src/($folders)/" | sort -u |
  xargs -P "${TIDY_JOBS:-$(nproc)}" -I{} bash -c '
    if found=$("$1" --quiet -p "$2" "$3" 2> /dev/null); then echo "clean    $3"; else printf "%s\nFINDINGS %s\n" "$found" "$3"; exit 1; fi' \
    tidy "$tidy" "$build" {}
