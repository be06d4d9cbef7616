#!/usr/bin/env bash
# Launches the same job, as a scheduler requeues it, on full disks of several sizes (tmpfs), with the real mpirun.
#   test_full_disk.sh WALLHEAT
# shellcheck source-path=SCRIPTDIR source=checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/checks.sh"
mpirun --version 2> /dev/null | grep -q 'Open MPI' || skip "needs mpirun of Open MPI"
if [ -z "${FULL_DISK_MOUNTS:-}" ]; then
  unshare --mount true 2> /dev/null || skip "needs the right to mount (root)"
  rm -rf "$scratch"
  FULL_DISK_MOUNTS=private exec unshare --mount "$0" "$wallheat"
fi
export OMPI_MCA_btl=self,tcp  # shared memory may be full, too
cd "$scratch" || exit 1
"$wallheat" generate --out plans --count 24 --size 128 > /dev/null
job=("$root/jobs/launch.sh" -n 2 --oversubscribe -- "$wallheat" run --data plans --out disk/results.h5 --save-fields
  --solver steady --resume --log-level error)
complete() { [ "$("$wallheat" status --print-state disk/results.h5)" = "done" ] && ! compgen -G 'disk/results.h5.wal*' > /dev/null; }
mkdir disk
for kb in 100 400 800 1000 1200 1700; do
  mount -t tmpfs -o size=${kb}k none disk
  last=''
  for launch in 1 2 3; do
    "${job[@]}" > log 2>&1
    status=$?
    echo "        $kb kB, launch $launch: status $status, $("$wallheat" status --print-state disk/results.h5 2> /dev/null)"
    if complete; then check "$kb kB, launch $launch: ends with 0, as all is done" same 0 $status
    else check "$kb kB, launch $launch: ends with 1 or 75, as plans or journals remain" grep -qx '1\|75' <<< "$status"; fi || cat log
    check "$kb kB, launch $launch: status reports no kill" test "$("$wallheat" status --print-state disk/results.h5 2> /dev/null)" != killed
    [ "$last" != 75 ] || check "$kb kB, launch $launch: is not requeued again" not same 75 $status
    last=$status
  done
  if ! complete; then
    mount -o remount,size=8m disk
    "${job[@]}" > log 2>&1
    check "$kb kB: ends with 0 after the disk has been enlarged" same 0 $? || cat log
    check "$kb kB: all plans are solved then" complete
  fi
  umount disk
done
finish
