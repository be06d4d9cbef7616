#!/usr/bin/env bash
# Installs the Python module without network, as its README says, but into a folder of its own: install.sh SITE BUILD
set -euo pipefail
source=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
site=$1
python=/usr/bin/python3  # the one that Debian's packages are for

skip() { printf 'skipped: %s (jobs/install-packages.sh tests installs it)\n' "$1"; exit 77; }
for module in numpy pip setuptools wheel; do
  "$python" -c "import $module" 2> /dev/null || skip "$python has no $module"
done
[ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] || skip "there is no python3-dev"
[ -e /usr/include/pybind11/pybind11.h ] || skip "there is no pybind11-dev"

strays() { git -C "$source" status --porcelain --ignored src/python 2> /dev/null | grep -v __pycache__ || true; }
before=$(strays)
rm -rf "$site"
WALLHEAT_PYTHON_BUILD=$2 PIP_ROOT_USER_ACTION=ignore \
  "$python" -m pip install --no-index --no-build-isolation --no-deps --target "$site" "$source/src/python"
[ "$(strays)" = "$before" ] || {
  echo "the installation wrote into the source tree:"
  strays
  exit 1
}
