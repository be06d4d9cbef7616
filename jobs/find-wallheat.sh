#!/usr/bin/env bash
# Prints the path of the wallheat program that belongs to these scripts. In a checkout this is the program that was
# built in it; in an installation it is the program that was installed with the scripts.
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
root=${here%/*}
prefix=${root%/*/*}  # PREFIX/share/wallheat is the root of an installation
if [ -e "$root/CMakeLists.txt" ] || [ ! -x "$prefix/bin/wallheat" ]; then
  echo "$root/build/wallheat"
else
  echo "$prefix/bin/wallheat"
fi
