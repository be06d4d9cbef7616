#!/usr/bin/env bash
# The archive of configs/packages/tarball.sh, unpacked in another folder, solves; as root with debootstrap also on a
# minimal Debian 11, the oldest release on the mirrors: its glibc is 2.31, and tarball.sh checks that 2.28 suffices.
#   test_tarball.sh SOURCE FOLDER      reuses files of an earlier run in FOLDER
set -uo pipefail
source=$1 folder=$2
# shellcheck source-path=SCRIPTDIR source=../cluster/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../cluster/checks.sh"
# shellcheck source-path=SCRIPTDIR source=bare_debian.sh
. "$here/../package/bare_debian.sh"
for program in g++-12 dpkg-source ninja readelf; do
  command -v "$program" > /dev/null || skip "needs $program (g++, dpkg-dev, ninja-build, binutils of Debian 12)"
done

rm -f "$folder"/wallheat-*.tar.gz
"$source/configs/packages/tarball.sh" "$folder" > "$scratch/log" 2>&1
check "the archive is built, and requires no newer glibc than supported" same 0 $? || { tail -40 "$scratch/log"; finish; }
archive=$(echo "$folder"/wallheat-*-linux-x86_64.tar.gz)
mkdir "$scratch/some folder"
tar -xzf "$archive" -C "$scratch/some folder"
prefix=$(echo "$scratch"/some\ folder/wallheat-*)
check "no text file contains the path of the sources or the build" same '' \
  "$(grep -rIlF -e "$source" -e "$folder" "$prefix")"

cat > "$scratch/use.sh" <<'END'
set -e
wallheat=$1/bin/wallheat
"$wallheat" generate --out plans --count 6 --size 64
"$wallheat" run --data plans --out results.h5 --save-fields --log-level warning
"$wallheat" summary results.h5
"$wallheat" export results.h5 --out results.csv
"$wallheat" devices > devices
END
mkdir "$scratch/here" "$scratch/bare"
(cd "$scratch/here" && bash "$scratch/use.sh" "$prefix") > "$scratch/output" 2>&1
check "it generates, runs and summarizes" same 0 $? || cat "$scratch/output"
check "it detects the sockets of the machine" contains "$scratch/here/devices" socket
(cd "$scratch/here" && OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "$prefix/bin/wallheat" run --data plans --out two.h5) 2> "$scratch/output"
check "it fails as one of several ranks" same 2 $?
check "the message mentions mpirun" mentions "$scratch/output" wallheat mpirun

if [ "$(id -u)" = 0 ] && command -v debootstrap > /dev/null; then
  bare=$folder/bullseye
  check "a minimal Debian 11 is installed" bare_debian bullseye "$folder" || tail -5 "$bare.log"
  rm -rf "$bare/try"
  mkdir "$bare/try"
  cp -r "$prefix" "$bare/try/wallheat"
  cp "$scratch/use.sh" "$bare/try"
  in_debian "$bare" sh -c 'cd /try && bash use.sh /try/wallheat' > "$scratch/output" 2>&1
  check "it works on a minimal Debian 11" same 0 $? || cat "$scratch/output"
  check "the results on Debian 11 are the same" cmp "$bare/try/results.csv" "$scratch/here/results.csv"
else
  echo "skipped: on a minimal Debian 11: needs root and debootstrap"
fi
finish
