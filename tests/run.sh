#!/usr/bin/env bash
# Installs missing packages, builds everything and runs all tests.
#
#   bash tests/run.sh [ARGUMENT OF ctest ...]     e.g.: bash tests/run.sh -R queue
#
# Works from any directory, as root or as an ordinary user. The exit status is that of ctest.
set -euo pipefail

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../jobs/usage.sh
. "$root/jobs/usage.sh"
usage 0 "$@"

bash "$root/jobs/install-packages.sh" tests || echo "Continuing with the installed packages." >&2

# The settings of the preset "default", but without the preset, which needs a newer cmake than
# that of Ubuntu 22.04. An existing build folder keeps its generator.
CMAKE_GENERATOR=Ninja cmake -S "$root" -B "$root/build" -DCMAKE_BUILD_TYPE=Release -DWALLHEAT_TESTS=ON > /dev/null
cmake --build "$root/build"

# Open MPI runs as root only with both variables.
if [ "$(id -u)" = 0 ]; then
  export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
fi
echo "Reasons for skipped tests: $root/build/Testing/Temporary/LastTest.log"
# Open MPI's mpirun sometimes hangs although all its ranks have ended: a test is killed after this
# timeout, and repeated once.
exec ctest --test-dir "$root/build" --output-on-failure -j "$(nproc)" --timeout 400 --repeat after-timeout:2 "$@"
