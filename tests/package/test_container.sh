#!/usr/bin/env bash
# docker/Dockerfile built to its end by buildah, which needs neither a daemon nor root nor a registry of images, and its
# image used: the answers are those of the wallheat that was built here. Where Apptainer is installed, docker/wallheat.def,
# too; there also mpirun outside and ranks inside.
#   test_container.sh SOURCE FOLDER WALLHEAT      what FOLDER has of an earlier run is used again
#
# WALLHEAT_DEBIAN_RELEASES   the Debian releases of the images (default: "12 13")
# WALLHEAT_CMAKE_OPTIONS     further options of cmake in the images, e.g. for a compiler cache (default: none)
set -uo pipefail
# shellcheck source-path=SCRIPTDIR source=../cluster/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../cluster/checks.sh"
source=$1 folder=$2 wallheat=$3
for program in buildah mmdebstrap; do
  command -v "$program" > /dev/null || skip "needs $program (apt-get install buildah mmdebstrap uidmap)"
done
mkdir -p "$folder"
if [ "$(id -u)" != 0 ]; then
  buildah unshare true 2> "$scratch/log" || skip "an ordinary user may make no user namespace with several users here: $(tail -n 1 "$scratch/log")"
fi
declare -A codename=([12]=bookworm [13]=trixie)
releases=${WALLHEAT_DEBIAN_RELEASES:-12 13}

export STORAGE_DRIVER=${STORAGE_DRIVER:-overlay} BUILDAH_ISOLATION=chroot
buildah() { command buildah --root "$folder/storage" --runroot "$folder/storage-run" "$@"; }
# logged COMMAND...: its output is shown if it fails
logged() { "$@" > "$scratch/log" 2>&1 || { tail -n 60 "$scratch/log"; return 1; }; }

# Instead of the image of a registry: the same packages from a Debian mirror.
make_base() {  # RELEASE
  local base=$folder/debian-$1.tar container image=docker.io/library/debian:$1-slim
  [ -z "$(buildah images --quiet "$image" 2> /dev/null)" ] || return 0
  if [ ! -e "$base" ]; then
    # Images for Docker tell dpkg not to wait for the disk, either.
    mmdebstrap --format=tar --variant=minbase --dpkgopt=force-unsafe-io "${codename[$1]}" "$base.part" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" &&
      mv "$base.part" "$base" || return 1
  fi
  container=$(buildah from scratch) && buildah add "$container" "$base" / &&
    buildah commit --rm "$container" "$image"
}

# The folder that a user mounts. Nobody in the image has the number of its owner.
cd "$scratch" || exit 1
chmod 755 .
mkdir -m 777 work
"$wallheat" generate --out work/plans --count 6 --size 64 > /dev/null
"$wallheat" run --data work/plans --out here.h5 --log-level warning --progress none
agrees() { "$wallheat" compare here.h5 "work/$1" --require-equal; }  # FILE

for release in $releases; do
  check "a bare Debian $release is an image" logged make_base "$release" || continue
  check "the Dockerfile is built on it to its end, where its tests pass" \
    logged buildah bud --layers --build-arg "BASE=debian:$release-slim" --build-arg "CMAKE_OPTIONS=${WALLHEAT_CMAKE_OPTIONS:-}" \
    --tag "wallheat:$release" --file "$source/docker/Dockerfile" "$source" || continue
  check "its entry is the program" same '[wallheat]' \
    "$(buildah inspect --format '{{.OCIv1.Config.Entrypoint}}' "localhost/wallheat:$release")"
  container=$(buildah from "localhost/wallheat:$release")
  inside() { buildah run --user 4321:4321 --volume "$scratch/work:/work" "$container" -- "$@"; }
  check "a user whom it does not know runs it in a mounted folder" \
    logged inside wallheat run --data plans --out "one-$release.h5" --progress none
  check "with the answers of the program here" logged agrees "one-$release.h5"
  check "launch.sh starts five ranks in it" \
    logged inside launch.sh -n 5 --oversubscribe -- wallheat run --data plans --out "five-$release.h5" --progress none
  check "with the answers of the program here" logged agrees "five-$release.h5"
  check "it draws" logged inside wallheat solve 00001 --data plans --png "plan-$release.png"
  check "it has no compiler" logged inside sh -c '! command -v c++ && ! command -v cmake'
  buildah rm "$container" > /dev/null
done

if ! command -v apptainer > /dev/null; then
  echo "skipped: docker/wallheat.def: needs apptainer (in Debian unstable; as root it wants all capabilities)"
  finish
fi
for release in $releases; do
  # Its From names an image of a registry. In this copy it names a file.
  sed 's/^Bootstrap: docker$/Bootstrap: oci-archive/' "$source/docker/wallheat.def" > wallheat.def
  rm -f "$folder/debian-$release.oci"
  check "a bare Debian $release is a file for Apptainer" \
    logged buildah push "docker.io/library/debian:$release-slim" "oci-archive:$folder/debian-$release.oci" || continue
  image=$folder/wallheat-$release.sif
  build_image() (
    cd "$source" && apptainer build --force --build-arg "BASE=$folder/debian-$release.oci" \
      --build-arg "BUILD_BASE=$folder/debian-$release.oci" --build-arg "CMAKE_OPTIONS=${WALLHEAT_CMAKE_OPTIONS:-}" \
      "$image" "$scratch/wallheat.def"
  )
  check "wallheat.def is built on it to its end, where its tests pass" logged build_image || continue
  cd work || exit 1
  check "launch.sh starts five ranks in it" logged \
    apptainer exec "$image" launch.sh -n 5 --oversubscribe -- wallheat run --data plans --out "sif-$release.h5" --progress none
  major() { "$@" mpirun --version | sed -n 's/.*(Open MPI) \([0-9]*\).*/\1/p'; }
  if [ "$(major env)" = "$(major apptainer exec "$image")" ]; then
    check "mpirun outside starts five containers" logged "$source/jobs/launch.sh" -n 5 --oversubscribe -- \
      apptainer exec "$image" wallheat run --data plans --out "outside-$release.h5" --progress none
  else
    echo "skipped: mpirun outside, Debian $release inside: the versions of Open MPI differ"
  fi
  cd ..
  for file in work/*"-$release.h5"; do
    check "${file##*/} has the answers of the program here" logged agrees "${file##*/}"
  done
done
finish
