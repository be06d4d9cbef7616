#!/usr/bin/env bash
# Prints the Debian or Ubuntu packages that contain the libraries of a program, one per line. The second stage of
# the images installs these packages, whose names depend on the release.
#   runtime-packages.sh PROGRAM
set -euo pipefail
ldd "$1" | sed -n 's/.*=> \(\/[^ ]*\).*/\1/p' | while read -r library; do
  # The package may list the library in /lib, which is now a link to /usr/lib, or the other way round.
  dpkg-query --search "$library" "/usr$library" "${library#/usr}" 2> /dev/null || true
done | cut -d : -f 1 | sort -u
