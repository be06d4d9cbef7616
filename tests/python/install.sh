#!/usr/bin/env bash
# Installs the Python module without network, as in its README, but into a separate folder: install.sh SITE BUILD
set -euo pipefail
source=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
site=$1
python=/usr/bin/python3  # the interpreter of Debian's packages

skip() { printf 'skipped: %s (jobs/install-packages.sh tests installs it)\n' "$1"; exit 77; }
for module in numpy pip setuptools wheel; do
  "$python" -c "import $module" 2> /dev/null || skip "$python lacks the module $module"
done
[ -e "$("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h" ] || skip "python3-dev is not installed"
[ -e /usr/include/pybind11/pybind11.h ] || skip "pybind11-dev is not installed"

untracked_files() { git -C "$source" status --porcelain --ignored src/python 2> /dev/null | grep -v __pycache__ || true; }
before=$(untracked_files)
rm -rf "$site"
WALLHEAT_PYTHON_BUILD=$2 PIP_ROOT_USER_ACTION=ignore \
  "$python" -m pip install --no-index --no-build-isolation --no-deps --target "$site" "$source/src/python"
[ "$(untracked_files)" = "$before" ] || {
  echo "the installation wrote into the source tree:"
  untracked_files
  exit 1
}
