#!/usr/bin/env bash
# The script of the build that finds the commit: in a clean and in a modified work tree, and in an archive. It leaves a
# file with the same commit untouched, so that a build does not compile it again.
set -euo pipefail
type git > /dev/null 2>&1 || { echo "skipped: needs git"; exit 77; }
script=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)/src/source_commit.cmake
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
git() { command git -C "$folder/tree" -c user.name=test -c user.email=test@example.org "$@"; }

commit() {  # prints the commit that the script finds
  cmake -DSOURCE="$folder/tree" -DOUTPUT="$folder/commit.cpp" -P "$script"
  sed -n 's/.*source_commit = "\(.*\)";/\1/p' "$folder/commit.cpp"
}
expect() {  # TEXT
  local found
  found=$(commit)
  [ "$found" = "$1" ] || { echo "the commit is '$found', expected '$1'" >&2; exit 1; }
}

mkdir "$folder/tree"
expect ""
command git init -q "$folder/tree"
echo 1 > "$folder/tree/file"
git add file
git commit -q -m first
head=$(git rev-parse --short=12 HEAD)
expect "$head"
touch -d '2000-01-01' "$folder/commit.cpp"
expect "$head"
[ "$(stat -c %Y "$folder/commit.cpp")" = "$(date -d '2000-01-01' +%s)" ] || { echo "the file was written again" >&2; exit 1; }
echo 2 > "$folder/tree/file"
expect "$head-dirty"
git commit -q -a -m second
expect "$(git rev-parse --short=12 HEAD)"
rm -rf "$folder/tree/.git"
expect ""
