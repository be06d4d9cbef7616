#!/usr/bin/env bash
# Each third-party library is included in one folder only, and the public headers name none.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0
only_in() { # only_in FOLDER PATTERN: includes matching PATTERN may stand in src/FOLDER alone
  local strays
  strays=$(grep -rlE "#include *[<\"]($2)" src include | grep -v "^src/$1/" || true)
  if [ -n "$strays" ]; then
    printf '%s may be included in src/%s only, but stands in:\n%s\n' "$2" "$1" "$strays"
    status=1
  fi
}
only_in link 'mpi\.h'
only_in store 'hdf5|H5|zlib\.h'
only_in solve 'cuda|cooperative_groups|nvml|nvtx|hwloc|immintrin\.h'
only_in app 'spdlog/|fmt/|boost/|nlohmann/|xxhash\.h|cairo'

# Arrows between our own folders point down: app uses all, link uses queue, everyone uses core.
may_use() { # may_use FOLDER ALLOWED: what src/FOLDER may include of src
  local strays
  strays=$(grep -rnE "#include *\"(app|core|link|queue|solve|store)/" "src/$1" | grep -vE "\"($2)/" || true)
  if [ -n "$strays" ]; then
    printf 'src/%s may use %s only:\n%s\n' "$1" "$2" "$strays"
    status=1
  fi
}
may_use core 'core'
may_use solve 'solve|core'
may_use store 'store|core'
may_use queue 'queue|core'
may_use link 'link|queue|core'
[ $status -eq 0 ] && echo "every include stands where it may"
exit $status
