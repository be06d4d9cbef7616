#!/usr/bin/env bash
# Prints the Debian or Ubuntu packages that hold the libraries of a program, one a line. The second stage of
# the images installs these, whatever a release calls them.
#   runtime-packages.sh PROGRAM
set -euo pipefail
ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | while read -r library; do
  # A package may have put it into /lib, which is /usr/lib now, or the other way round.
  dpkg-query --search "$library" "/usr$library" "${library#/usr}" 2> /dev/null || true
done | cut -d : -f 1 | sort -u
