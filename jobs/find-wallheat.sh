#!/usr/bin/env bash
# Prints the path of the wallheat program that belongs to these scripts: in a checkout the one that was built in it, in
# an installation the one that was installed with them.
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=${here%/*}
prefix=${root%/*/*}  # PREFIX/share/wallheat is the root of an installation
if [ -e "$root/CMakeLists.txt" ] || [ ! -x "$prefix/bin/wallheat" ]; then
  echo "$root/build/wallheat"
else
  echo "$prefix/bin/wallheat"
fi
