#!/usr/bin/env bash
# Installs the Debian or Ubuntu packages that wallheat requires and that this machine lacks.
#
#   jobs/install-packages.sh           installs the packages that are required to build wallheat
#   jobs/install-packages.sh tests     also installs the packages that only the tests require
#
# Run it as root, or as a user who may use sudo. Otherwise it prints the missing packages and alternatives that require
# neither root nor sudo, and ends with status 1. If no package is missing, it prints nothing and calls neither apt-get
# nor sudo.
set -euo pipefail

# This script does not source usage.sh, because container files copy it before all other files.
case ${1:-} in
  -h | --help) sed -n '2,/^set -/{/^set -/!s/^# \{0,1\}//p}' "$0"; exit 0 ;;
  '' | tests) ;;
  *) echo "install-packages.sh: unexpected argument '$1'; the only argument is 'tests'" >&2; exit 2 ;;
esac

packages=(
  g++ cmake ninja-build pkg-config
  make                               # the default generator of cmake
  libopenmpi-dev openmpi-bin         # MPI and its mpirun
  libhdf5-dev libdeflate-dev         # the result file
  libhwloc-dev                       # the cores of a machine
  gnuplot-nox                        # pictures and plots
  libsqlite3-dev                     # formulas over the columns of results
  libpng-dev                         # plans from pictures
  libspdlog-dev libfmt-dev libboost-program-options-dev nlohmann-json3-dev libxxhash-dev
)
if [ "${1:-}" = tests ]; then
  packages+=(libgtest-dev libgmock-dev)
  packages+=(python3 python3-numpy python3-h5py hdf5-tools)  # read the files of wallheat
  packages+=(zip)                                            # archives of plans
  packages+=(pybind11-dev python3-dev python3-pandas)        # the Python module
  packages+=(python3-pip python3-setuptools python3-wheel)   # installation of the Python module
  packages+=(python3-xarray python3-h5netcdf python3-netcdf4 python3-tables netcdf-bin)  # read result files without wallheat
  packages+=(dpkg-dev file)                                  # cpack -G DEB finds the required packages with them
  packages+=(python3-nbconvert python3-ipykernel python3-matplotlib)  # the notebook
  packages+=(libeigen3-dev)                                  # direct solutions, with which the steady solver is compared
  # A test opens the report page in Chromium. Ubuntu has only a snap of Chromium; without Chromium the test is skipped.
  if grep -qx 'ID=debian' /etc/os-release 2> /dev/null; then packages+=(chromium); fi
fi

if ! command -v dpkg-query > /dev/null; then
  echo "This is neither Debian nor Ubuntu, so nothing is installed. The required packages of Debian are:" >&2
  echo "  ${packages[*]}" >&2
  exit 0  # cmake will report missing libraries
fi

missing=()
for package in "${packages[@]}"; do
  # dpkg-query fails for an unknown package, which counts as missing.
  state=$(dpkg-query --show --showformat='${db:Status-Status} ' "$package" 2> /dev/null || true)
  [[ " $state" == *" installed "* ]] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

# Try sudo without a password first. sudo may ask for a password only on a terminal.
if [ "$(id -u)" = 0 ]; then
  as_root=()
elif command -v sudo > /dev/null && { sudo -n true 2> /dev/null || { [ -t 0 ] && sudo -v; }; }; then
  as_root=(sudo)
else
  cat >&2 << END
Packages are missing, and only root or a user of sudo may install them:
  apt-get install --no-install-recommends ${missing[*]}
Without root, use one of these, and then start this script again:
  * environment modules of a cluster: module load gcc openmpi hdf5 boost hwloc cmake
  * Spack or conda, which install the libraries in your home directory (set CMAKE_PREFIX_PATH for cmake)
  * an Apptainer image that contains everything: docker/README.md
END
  exit 1
fi

apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 "$@" > /dev/null
}

echo "Installing ${missing[*]} (one to three minutes) ..."
apt_get update || echo "Some package lists could not be updated; trying to install anyway." >&2
if ! apt_get install --yes --no-install-recommends "${missing[@]}"; then
  echo "apt-get could not install the packages; see its message above." >&2
  exit 1
fi
