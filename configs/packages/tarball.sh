#!/usr/bin/env bash
# Builds wallheat-VERSION-linux-x86_64.tar.gz: wallheat for jobs of one node, without MPI and GPUs, which runs from any folder
# of any x86-64 Linux with glibc 2.28 or newer, such as Debian 10, Ubuntu 20.04 and RHEL 8.
#
#   configs/packages/tarball.sh [FOLDER]     folder of the archive and all intermediate files (default: build-tarball)
#
# Requires Debian 12 with g++, cmake, ninja-build, pkg-config and dpkg-dev, and a Debian mirror ($DEBIAN_MIRROR), but
# not root. The program is compiled on this machine, with the system headers and libraries of Debian 11, which has glibc
# 2.31; older_glibc.c replaces the functions that older releases lack. HDF5, hwloc, fmt and spdlog are compiled from the
# sources of Debian 12 and linked statically. libgcc_s is in lib/wallheat. Ends with 1 if the program requires a newer
# glibc, or a library that the archive does not contain.
set -euo pipefail

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../../jobs/usage.sh
. "$root/jobs/usage.sh"
usage 0 "$@"
mkdir -p "${1:-$root/build-tarball}"
folder=$(cd "${1:-$root/build-tarball}" && pwd)
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}
export WALLHEAT_SYSROOT=$folder/sysroot
libraries=$WALLHEAT_SYSROOT/usr/lib/x86_64-linux-gnu
# Otherwise g++ would first search the folders of its own release for crt1.o and libc.
old_libc="-B$libraries -L$WALLHEAT_SYSROOT/lib/x86_64-linux-gnu"
newest_glibc=2.28
bundled=(libgcc_s.so.1)  # that of Debian 11
system='libc.so.6|libm.so.6|libpthread.so.0|libdl.so.2|librt.so.1|ld-linux-x86-64.so.2'

step() { printf '\n== %s\n' "$*"; }

# Calls apt-get with separate lists and archives, as if no package were installed.
apt_get() {  # RELEASE ARGUMENTS
  local own=$folder/apt-$1 keys=/usr/share/keyrings/debian-archive-keyring.gpg
  mkdir -p "$own/lists/partial" "$own/archives/partial"
  : > "$own/status"
  printf "%s [signed-by=$keys] $mirror $1 main\n" deb deb-src > "$own/sources.list"
  apt-get -qq -o Dir::Etc::SourceList="$own/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State="$own" \
    -o Dir::State::Status="$own/status" -o Dir::Cache="$own" -o APT::Sandbox::User="$(id -un)" "${@:2}"
}

cross_build() {  # SOURCE BUILD OPTIONS
  cmake -G Ninja -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX=/usr \
    -DCMAKE_INSTALL_LIBDIR=lib/x86_64-linux-gnu -DBUILD_SHARED_LIBS=OFF \
    -DCMAKE_TOOLCHAIN_FILE="$root/configs/packages/portable.cmake" -Wno-dev --no-warn-unused-cli "${@:3}" > "$2.log"
  cmake --build "$2" >> "$2.log" || { tail -40 "$2.log" >&2; return 1; }
}

unpack_source() {  # NAME of a source package of Debian 12, which apt-get verifies with its signed list
  (cd "$folder/sources" && apt_get bookworm source --download-only "$1" &&
    dpkg-source --no-check --extract "$1"_*.dsc "$1") > "$folder/sources/$1.log"
  install -D -m 644 "$folder/sources/$1/debian/copyright" "$WALLHEAT_SYSROOT/usr/share/doc/$1/copyright"
}

# configure_build NAME "FOLDER..." OPTIONS: builds and installs these folders of a source package as static libraries.
configure_build() {
  local log=$folder/sources/$1-build.log part
  unpack_source "$1"
  mkdir "$folder/sources/$1-build"
  (cd "$folder/sources/$1-build"
    CC="gcc-12 --sysroot=$WALLHEAT_SYSROOT $old_libc" "../$1/configure" --prefix=/usr --disable-shared "${@:3}" || exit
    for part in $2; do
      make -C "$part" -j "$(nproc)" && make -C "$part" DESTDIR="$WALLHEAT_SYSROOT" install || exit
    done) > "$log" 2>&1 || { tail -40 "$log" >&2; return 1; }
}

make_sysroot() {
  apt_get bullseye update
  apt_get bullseye install --yes --download-only --no-install-recommends libc6-dev zlib1g-dev \
    libdeflate-dev libpng-dev libboost-program-options-dev nlohmann-json3-dev libxxhash-dev
  mkdir "$WALLHEAT_SYSROOT"
  local package link name
  for package in "$folder"/apt-bullseye/archives/*.deb; do dpkg-deb --extract "$package" "$WALLHEAT_SYSROOT"; done
  # Absolute links point outside of the sysroot.
  find "$WALLHEAT_SYSROOT" -type l -lname '/*' | while read -r link; do
    ln -sfn "$WALLHEAT_SYSROOT$(readlink "$link")" "$link"
  done
  for name in deflate png16 png xxhash z; do rm "$libraries/lib$name.so"; done  # so that the static library is linked
  rm "$WALLHEAT_SYSROOT/usr/include/xxh_x86dispatch.h"  # its functions are only in the shared library of xxHash

  apt_get bookworm update
  mkdir "$folder/sources"
  for name in fmtlib spdlog; do
    unpack_source "$name"
    cross_build "$folder/sources/$name" "$folder/sources/$name-build" -DFMT_TEST=OFF -DFMT_DOC=OFF \
      -DSPDLOG_FMT_EXTERNAL=ON -DSPDLOG_BUILD_EXAMPLE=OFF
    DESTDIR=$WALLHEAT_SYSROOT cmake --install "$folder/sources/$name-build" > /dev/null
  done
  # The sources of SQLite require Tcl; the static library of Debian 12 requires no newer glibc.
  (cd "$folder/sources" && apt_get bookworm download libsqlite3-dev)
  dpkg-deb --extract "$folder"/sources/libsqlite3-dev_*.deb "$WALLHEAT_SYSROOT"
  rm "$libraries/libsqlite3.so"
  # The CMake files of HDF5 fail at a program that examines the number types of C, so this uses configure. CMake finds
  # the library in usr/lib.
  configure_build hdf5 "src hl/src" --disable-tests --without-szlib --enable-build-mode=production
  # Without its plugins and the libraries for them, which wallheat does not use.
  configure_build hwloc "include hwloc" --libdir=/usr/lib/x86_64-linux-gnu --disable-pci --disable-libudev \
    --disable-libxml2 --disable-cairo --disable-opencl --disable-cuda --disable-nvml --disable-rsmi --disable-levelzero
  install -D -m 644 "$folder/sources/hwloc-build/hwloc.pc" "$libraries/pkgconfig/hwloc.pc"
}

step "Headers and libraries of Debian 11"
if [ -e "$folder/sysroot-is-complete" ]; then
  echo "They already exist in $WALLHEAT_SYSROOT."
else
  rm -rf "$WALLHEAT_SYSROOT" "$folder/sources"
  make_sysroot
  touch "$folder/sysroot-is-complete"
fi
# The run path is relative, so the program finds these libraries both in this folder and where it is installed.
mkdir -p "$folder/lib/wallheat"
for library in "${bundled[@]}"; do
  cp "$(find "$WALLHEAT_SYSROOT" -name "$library" | head -n 1)" "$folder/lib/wallheat"
done

step "Build"
gcc-12 --sysroot="$WALLHEAT_SYSROOT" -O2 -c "$root/configs/packages/older_glibc.c" -o "$folder/older_glibc.o"
# The static library of HDF5 requires zlib, but does not declare it.
cross_build "$root" "$folder/build" -DWALLHEAT_MPI=OFF -DWALLHEAT_CUDA=OFF -DWALLHEAT_TESTS=OFF \
  -DBoost_USE_STATIC_LIBS=ON -DCMAKE_CXX_STANDARD_LIBRARIES=-lz \
  -DHDF5_ROOT="$WALLHEAT_SYSROOT/usr" -DHDF5_NO_FIND_PACKAGE_CONFIG_FILE=ON -DCMAKE_SKIP_RPATH=ON \
  -DCMAKE_EXE_LINKER_FLAGS="$old_libc $folder/older_glibc.o -ldl -lm -Wl,--wrap=exp,--wrap=log,--wrap=pow -static-libstdc++ -Wl,--disable-new-dtags -Wl,-rpath,'\$ORIGIN/../lib/wallheat'"

step "Archive"
version=$("$folder/build/wallheat" --version | cut -d ' ' -f 2)
name=wallheat-$version-linux-x86_64
rm -rf "${folder:?}/$name"
cmake --install "$folder/build" --component program --strip --prefix "$folder/$name" > "$folder/install.log"
cp -r "$folder/lib" "$folder/$name"
for package in fmtlib spdlog libsqlite3-dev hdf5 zlib1g-dev libdeflate-dev libpng-dev hwloc libgcc-s1 libxxhash-dev \
  libboost1.74-dev nlohmann-json3-dev; do
  install -D -m 644 "$WALLHEAT_SYSROOT/usr/share/doc/$package/copyright" "$folder/$name/share/doc/wallheat/copyright/$package"
done

needs() { readelf --dynamic "$@" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | sort -u; }
foreign=$(needs "$folder/$name"/bin/* "$folder/$name"/lib/wallheat/* | grep -vxE "$system|$(IFS='|'; echo "${bundled[*]}")" || true)
[ -z "$foreign" ] || { echo "tarball.sh: the program requires libraries that are not in the archive: $foreign" >&2; exit 1; }
found=$(objdump -T "$folder/$name"/bin/* "$folder/$name"/lib/wallheat/* | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1)
echo "The newest symbol of glibc that the program requires: $found."
[ "$(printf '%s\n' "$found" "GLIBC_$newest_glibc" | sort -V | tail -n 1)" = "GLIBC_$newest_glibc" ] ||
  { echo "tarball.sh: $found is newer than glibc $newest_glibc" >&2; exit 1; }
tar --create --gzip --owner=0 --group=0 --directory "$folder" --file "$folder/$name.tar.gz" "$name"
ls -l "$folder/$name.tar.gz"
