#!/usr/bin/env bash
# Prints the wallheat that these scripts belong to: of a checkout the one that is built in it, of an
# installation the one that was installed with them.
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=${here%/*}
prefix=${root%/*/*}  # PREFIX/share/wallheat is the root of an installation
if [ -e "$root/CMakeLists.txt" ] || [ ! -x "$prefix/bin/wallheat" ]; then
  echo "$root/build/wallheat"
else
  echo "$prefix/bin/wallheat"
fi
