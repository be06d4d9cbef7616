#!/usr/bin/env bash
# Builds docker/Dockerfile with buildah, which needs neither a daemon nor root nor a registry of images, and uses the
# image: its results equal those of the wallheat of this build. With Apptainer also docker/wallheat.def, including an
# mpirun outside with ranks inside.
#   test_container.sh SOURCE FOLDER WALLHEAT      reuses files of an earlier run in FOLDER
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
  buildah unshare true 2> "$scratch/log" || skip "an ordinary user cannot create a user namespace with several users: $(tail -n 1 "$scratch/log")"
fi
declare -A codename=([12]=bookworm [13]=trixie)
releases=${WALLHEAT_DEBIAN_RELEASES:-12 13}

export STORAGE_DRIVER=${STORAGE_DRIVER:-overlay} BUILDAH_ISOLATION=chroot
buildah() { command buildah --root "$folder/storage" --runroot "$folder/storage-run" "$@"; }
# logged COMMAND...: shows the output of the command if it fails
logged() { "$@" > "$scratch/log" 2>&1 || { tail -n 60 "$scratch/log"; return 1; }; }

# Creates an image with the packages of the registry's image, from a Debian mirror.
make_base() {  # RELEASE
  local base=$folder/debian-$1.tar container image=docker.io/library/debian:$1-slim
  [ -z "$(buildah images --quiet "$image" 2> /dev/null)" ] || return 0
  if [ ! -e "$base" ]; then
    # Images for Docker also disable the syncs of dpkg.
    mmdebstrap --format=tar --variant=minbase --dpkgopt=force-unsafe-io "${codename[$1]}" "$base.part" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" &&
      mv "$base.part" "$base" || return 1
  fi
  container=$(buildah from scratch) && buildah add "$container" "$base" / &&
    buildah commit --rm "$container" "$image"
}

# The folder that a user mounts. The image has no user with the ID of its owner.
cd "$scratch" || exit 1
chmod 755 .
mkdir -m 777 work
"$wallheat" generate --out work/plans --count 6 --size 64 > /dev/null
"$wallheat" run --data work/plans --out here.h5 --log-level warning --progress none
agrees() { "$wallheat" compare here.h5 "work/$1" --require-equal; }  # FILE

for release in $releases; do
  check "Debian $release: the base image exists" logged make_base "$release" || continue
  check "Debian $release: the Dockerfile builds, and its tests pass" \
    logged buildah bud --layers --build-arg "BASE=debian:$release-slim" --build-arg "CMAKE_OPTIONS=${WALLHEAT_CMAKE_OPTIONS:-}" \
    --tag "wallheat:$release" --file "$source/docker/Dockerfile" "$source" || continue
  check "Debian $release: the entry point is the program" same '[wallheat]' \
    "$(buildah inspect --format '{{.OCIv1.Config.Entrypoint}}' "localhost/wallheat:$release")"
  container=$(buildah from "localhost/wallheat:$release")
  inside() { buildah run --user 4321:4321 --volume "$scratch/work:/work" "$container" -- "$@"; }
  check "Debian $release: a user unknown to the image runs it in a mounted folder" \
    logged inside wallheat run --data plans --out "one-$release.h5" --progress none
  check "Debian $release: one process has the results of this build" logged agrees "one-$release.h5"
  check "Debian $release: launch.sh starts five ranks in the image" \
    logged inside launch.sh -n 5 --oversubscribe -- wallheat run --data plans --out "five-$release.h5" --progress none
  check "Debian $release: five ranks have the results of this build" logged agrees "five-$release.h5"
  check "Debian $release: it draws a PNG" logged inside wallheat solve 00001 --data plans --png "plan-$release.png"
  check "Debian $release: the image has no compiler" logged inside sh -c '! command -v c++ && ! command -v cmake'
  buildah rm "$container" > /dev/null
done

if ! command -v apptainer > /dev/null; then
  echo "skipped: docker/wallheat.def: needs apptainer (in Debian unstable; as root it wants all capabilities)"
  finish
fi
for release in $releases; do
  # From names an image of a registry; in this copy it names a file.
  sed 's/^Bootstrap: docker$/Bootstrap: oci-archive/' "$source/docker/wallheat.def" > wallheat.def
  rm -f "$folder/debian-$release.oci"
  check "Apptainer, Debian $release: the base image exists" \
    logged buildah push "docker.io/library/debian:$release-slim" "oci-archive:$folder/debian-$release.oci" || continue
  image=$folder/wallheat-$release.sif
  build_image() (
    cd "$source" && apptainer build --force --build-arg "BASE=$folder/debian-$release.oci" \
      --build-arg "BUILD_BASE=$folder/debian-$release.oci" --build-arg "CMAKE_OPTIONS=${WALLHEAT_CMAKE_OPTIONS:-}" \
      "$image" "$scratch/wallheat.def"
  )
  check "Apptainer, Debian $release: wallheat.def builds, and its tests pass" logged build_image || continue
  cd work || exit 1
  check "Apptainer, Debian $release: launch.sh starts five ranks in the image" logged \
    apptainer exec "$image" launch.sh -n 5 --oversubscribe -- wallheat run --data plans --out "sif-$release.h5" --progress none
  major() { "$@" mpirun --version | sed -n 's/.*(Open MPI) \([0-9]*\).*/\1/p'; }
  if [ "$(major env)" = "$(major apptainer exec "$image")" ]; then
    check "Apptainer, Debian $release: mpirun outside starts five containers" logged "$source/jobs/launch.sh" -n 5 --oversubscribe -- \
      apptainer exec "$image" wallheat run --data plans --out "outside-$release.h5" --progress none
  else
    echo "skipped: mpirun outside, Debian $release inside: the versions of Open MPI differ"
  fi
  cd ..
  for file in work/*"-$release.h5"; do
    check "${file##*/} has the results of this build" logged agrees "${file##*/}"
  done
done
finish
