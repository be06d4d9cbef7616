#!/usr/bin/env bash
# The Debian package, installed on a minimal Debian, solves the plans of jobs/quickstart.sh for an ordinary user; its
# removal leaves no files.
#   test_deb.sh SOURCE BUILD FOLDER     reuses files of an earlier run in FOLDER
# WALLHEAT_DEB_RELEASES names the releases (default: bookworm trixie). For the release of this machine BUILD is packed;
# for others the program is built on that release.
set -uo pipefail
source=$1 build=$2 folder=$3
# shellcheck source-path=SCRIPTDIR source=../cluster/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../cluster/checks.sh"
# shellcheck source-path=SCRIPTDIR source=bare_debian.sh
. "$here/../package/bare_debian.sh"
[ "$(id -u)" = 0 ] || skip "needs root"
for program in debootstrap dpkg-shlibdeps cpack unshare; do
  command -v "$program" > /dev/null || skip "needs $program (debootstrap, dpkg-dev, cmake, util-linux)"
done
# shellcheck source=/dev/null
own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")

# pack RELEASE: makes $scratch/RELEASE.deb.
pack() {
  local release=$1 root=$folder/$1-build
  if [ "$release" = "$own" ]; then
    (cd "$build" && cpack -G DEB -B "$scratch/packed") && mv "$scratch"/packed/wallheat_*.deb "$scratch/$release.deb"
    return
  fi
  [ -e "$root" ] || cp -a "$folder/$release" "$root" || return
  rm -rf "$root/source" "$root"/build/wallheat_*.deb
  mkdir "$root/source"
  tar -C "$source" --exclude=./.git --exclude='./build*' -cf - . | tar -C "$root/source" -xf - || return
  in_debian "$root" sh -ec 'apt-get --quiet update
    bash /source/jobs/install-packages.sh
    apt-get --quiet --yes install --no-install-recommends dpkg-dev file
    cmake -S /source -B /build -G Ninja -DCMAKE_BUILD_TYPE=Release -DWALLHEAT_CUDA=OFF -DWALLHEAT_TESTS=OFF
    cmake --build /build --target wallheat
    cd /build && cpack -G DEB' && mv "$root"/build/wallheat_*.deb "$scratch/$release.deb"
}

cat > "$scratch/use.sh" <<'END'
set -e
wallheat generate --out plans --count 24
mpirun -n 3 --oversubscribe --bind-to none wallheat run --data plans --out results.h5 --resume --log-level warning
wallheat summary results.h5
wallheat solve 00001 --data plans --png 00001.png
wallheat export results.h5 --out results.csv
END
(mkdir "$scratch/here" && cd "$scratch/here" && PATH=$build:$PATH bash "$scratch/use.sh") > "$scratch/output" 2>&1
check "this build solves the plans of quickstart" same 0 $? || cat "$scratch/output"

for release in ${WALLHEAT_DEB_RELEASES:-bookworm trixie}; do
  check "$release: a minimal Debian is installed" bare_debian "$release" "$folder" || { tail -5 "$folder/$release.log"; continue; }
  pack "$release" > "$scratch/log" 2>&1
  check "$release: the package is built" same 0 $? || { tail -40 "$scratch/log"; continue; }
  root=$scratch/$release
  cp -a "$folder/$release" "$root"
  cp "$scratch/$release.deb" "$root/wallheat.deb"
  install -D -m 644 "$scratch/use.sh" "$root/home/ordinary/use.sh"
  in_debian "$root" sh -ec 'useradd ordinary && chown -R ordinary /home/ordinary
    apt-get --quiet update && apt-get --quiet --yes install /wallheat.deb' > "$scratch/log" 2>&1
  check "$release: apt-get installs it with its dependencies" same 0 $? || { tail -40 "$scratch/log"; continue; }
  echo '# changed here' >> "$root/etc/wallheat/site.sh"
  in_debian "$root" apt-get --quiet --yes install --reinstall /wallheat.deb > "$scratch/log" 2>&1
  check "$release: the site file is kept when the package is installed again" contains "$root/etc/wallheat/site.sh" '# changed here' ||
    tail -40 "$scratch/log"
  in_debian "$root" su ordinary -c 'cd && bash use.sh' > "$scratch/output" 2>&1
  check "$release: a user solves the plans of quickstart with mpirun" same 0 $? || cat "$scratch/output"
  check "$release: the results are the same" cmp "$root/home/ordinary/results.csv" "$scratch/here/results.csv"
  check "$release: the picture exists" test -s "$root/home/ordinary/00001.png"
  in_debian "$root" apt-get --quiet --yes purge wallheat > "$scratch/log" 2>&1
  check "$release: apt-get removes it" same 0 $? || cat "$scratch/log"
  check "$release: no file of it is left" same '' "$(find "$root/usr" "$root/etc" -iname '*wallheat*')"
done
finish
