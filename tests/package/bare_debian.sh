# shellcheck shell=bash
# Minimal Debian installations for the tests in this folder, which source this file; as root.
#   bare_debian RELEASE FOLDER    installs one in FOLDER/RELEASE, or reuses that of an earlier run
#   in_debian ROOT COMMAND...     runs a command in one, with a clean environment

bare_debian() {
  local root=$2/$1
  [ ! -e "$root.ok" ] || return 0
  rm -rf "$root"
  mkdir -p "$2"
  debootstrap --variant=minbase "$1" "$root" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}" > "$root.log" 2>&1 &&
    # Prevents the start of services.
    printf '#!/bin/sh\nexit 101\n' > "$root/usr/sbin/policy-rc.d" && chmod +x "$root/usr/sbin/policy-rc.d" &&
    touch "$root.ok"
}

in_debian() {
  # shellcheck disable=SC2016  # for the inner shell
  unshare --mount --pid --fork --kill-child bash -c '
    mount -t proc proc "$1/proc" && mount --rbind /sys "$1/sys" && mount --rbind /dev "$1/dev" &&
    cat /etc/resolv.conf > "$1/etc/resolv.conf" &&
    exec chroot "$1" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "${@:2}"
  ' bash "$@"
}
