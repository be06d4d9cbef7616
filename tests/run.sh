#!/usr/bin/env bash
# Installs what is missing, builds everything and runs all tests.
#
#   bash tests/run.sh [ARGUMENT OF ctest ...]     e.g.: bash tests/run.sh -R queue
#
# Works from any directory, as root or as an ordinary user. The exit status is that of ctest.
set -euo pipefail

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../jobs/usage.sh
. "$root/jobs/usage.sh"
usage 0 "$@"

bash "$root/jobs/install-packages.sh" tests || echo "Trying with what is here." >&2

# What the preset "default" says, but without the preset, as that needs a newer cmake than
# Ubuntu 22.04 has. A build folder that is there already keeps its generator.
CMAKE_GENERATOR=Ninja cmake -S "$root" -B "$root/build" -DCMAKE_BUILD_TYPE=Release -DWALLHEAT_TESTS=ON > /dev/null
cmake --build "$root/build"

# Open MPI refuses to run as root unless told twice.
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
echo "Why a test was skipped stands in $root/build/Testing/Temporary/LastTest.log"
# Open MPI's mpirun now and then waits for ever although all its ranks have ended: a test that takes
# so many seconds is ended, and repeated once.
exec ctest --test-dir "$root/build" --output-on-failure -j "$(nproc)" --timeout 400 --repeat after-timeout:2 "$@"
