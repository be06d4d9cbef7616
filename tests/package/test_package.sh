#!/usr/bin/env bash
# The result of `cmake --install` works after it is moved, and contains neither the path of the sources nor of the build.
#   test_package.sh SOURCE BUILD CMAKE COMPILER [FLAGS]
set -uo pipefail
source=$1 build=$2 cmake=$3 compiler=$4 flags=${5:-}
# shellcheck source-path=SCRIPTDIR source=../cluster/checks.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../cluster/checks.sh"
cd "$scratch" || exit 1
PATH=$(tr : '\n' <<< "$PATH" | while read -r folder; do [ -e "$folder/wallheat" ] || echo "$folder"; done | paste -sd :)

"$cmake" --install "$build" --prefix "$scratch/first" > install.log || { cat install.log; exit 1; }
prefix=$scratch/moved
mv first "$prefix"

check "no text file contains the path of the sources or the build" same '' "$(grep -rIlF -e "$source" -e "$build" "$prefix")"

# configure NAME COMPONENTS [OPTION...]
configure() {
  "$cmake" -S "$here/../package/project" -B "$1" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_CXX_COMPILER="$compiler" \
    -DCMAKE_CXX_FLAGS="$flags" -Dcomponents="$2" "${@:3}" > "$1.log" 2>&1 || { cat "$1.log"; return 1; }
}
make() { "$cmake" --build "$1" > "$1.log" 2>&1 || { cat "$1.log"; return 1; }; }

check "a project that only solves configures without HDF5" configure solver solver -DCMAKE_DISABLE_FIND_PACKAGE_HDF5=ON
check "a project that only solves builds" make solver
if [ ! -e "$prefix/bin/wallheat" ]; then
  fails_to_configure() { not configure results results > /dev/null; }
  check "a project that reads results fails to configure, as this build lacks the library" fails_to_configure
  finish
fi

check "only the public headers are installed" same "$(cd "$source/include" && find . -name '*.hpp' | sort)" \
  "$(cd "$prefix/include" && find . -type f | sort)"
run_path=$(readelf -d "$prefix/bin/wallheat" | sed -n 's/.*R.*PATH.*\[\(.*\)\]/\1/p')
check "the run path has no system folders, and neither sources nor build" same '' "$(tr : '\n' <<< "$run_path" | grep -E "^(/usr)?/lib|^$build|^$source")"

wallheat=$prefix/bin/wallheat
jobs=$prefix/share/wallheat/jobs
"$wallheat" generate --out plans --count 3 --size 24 > /dev/null
check "the installed launch.sh starts the installed wallheat, which is not in PATH" \
  "$wallheat" launch -n 2 --oversubscribe -- wallheat run --config "$prefix/share/wallheat/configs/many-buildings.cfg" \
  --data plans --out results.h5 --progress none --log-level warning

"$wallheat" run --data plans --out one.h5 --progress none --log-level warning 2> messages
check "the installed program accepts the installed solver program" same '' "$(cat messages)"
check "the solver program is installed" test -x "$prefix/bin/wallheat-solver-process"

# A stand-in for the HDF5 of a module that was built with MPI.
mkdir modules
# shellcheck disable=SC2016  # CMake expands it
printf 'include(${CMAKE_ROOT}/Modules/FindHDF5.cmake)\nset(HDF5_IS_PARALLEL TRUE)\n' > modules/FindHDF5.cmake
"$cmake" -S "$source" -B with_mpi -DCMAKE_MODULE_PATH="$scratch/modules" -DCMAKE_CXX_COMPILER="$compiler" \
  -DWALLHEAT_TESTS=OFF -DWALLHEAT_CUDA=OFF > with_mpi.log 2>&1
check "CMake warns of an HDF5 that was built with MPI" mentions with_mpi.log Warning HDF5 MPI -serial

check "a project that reads results configures" configure results 'solver;results'
check "a project that reads results builds" make results
"./results/read_results" results.h5 > rows
for id in 00001 00002 00003; do "./solver/solve_plan" plans "$id"; done > answers
check "it reads the results of the project that solves" same "$(cat answers)" "$(cat rows)"
check "it reads three results" same 3 "$(wc -l < rows)"

"$wallheat" submit --scheduler slurm --dry-run -- --config "$prefix/share/wallheat/configs/many-buildings.cfg" \
  --data plans --out results.h5 > job 2> messages
check "the installed submit.sh prints a job" same 0 $?
check "it has called the installed wallheat" mentions messages submit.sh "3 plans"
check "the job starts the installed script with its folder, for the copy of Slurm" contains job "$(printf '%q %q ' "$jobs/slurm.sh" "$jobs")"
cp "$jobs/slurm.sh" copy
check "a copy of the script starts the installed wallheat" env SLURM_JOB_NUM_NODES=1 bash copy "$jobs" -- --data plans --out from-a-copy.h5
check "the copy has solved the plans" test -e from-a-copy.h5
check "the examples are installed as executables" test -x "$jobs/examples/week.sh"
check "the job uses the installed site file" contains job ' --time=240:00 '

page=$prefix/share/man/man1/wallheat.1
"$wallheat" --help | sed '/^To begin:/,$d' | sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p' > commands
check "wallheat --help lists commands" contains commands run
while read -r command; do
  check "the manual page has a section of wallheat $command" contains "$page" ".SH \"WALLHEAT ${command^^}\""
done < commands
check "the manual page has an option of run" contains "$page" '\-\-resume'
check "the manual page has an option of the script submit.sh" contains "$page" '\-\-scheduler NAME'
if command -v man > /dev/null; then
  check "man has no warning about the page" same '' "$(man --warnings -l -Tutf8 "$page" 2>&1 > /dev/null)"
fi

# The modulefile, used where it is and through a link. The version of its module is the name of the file.
modules=$prefix/share/wallheat/modulefiles
version=$("$wallheat" version | cut -d ' ' -f 2)
check "the modulefile is named by the version" test -f "$modules/wallheat/$version"
ln -s "$modules/wallheat" linked-wallheat && mkdir modulepath && mv linked-wallheat modulepath/wallheat
# loads_program COMMAND...: a command that prints what a shell evaluates to load the module from a folder.
loads_program() {
  local folder
  for folder in "$modules" "$scratch/modulepath"; do
    check "$1: the module in ${folder##*/} makes the program available" same "$wallheat" \
      "$(eval "$(MODULEPATH=$folder "$@" 2> module.log)" && command -v wallheat)" || cat module.log
  done
}
tried=''
for modulecmd in "$(command -v modulecmd)" /usr/lib/*/modulecmd.tcl "${LMOD_CMD:-/usr/share/lmod/lmod/libexec/lmod}"; do
  if [ -x "$modulecmd" ]; then
    tried=yes
    loads_program "$modulecmd" bash load wallheat
  fi
done
[ -n "$tried" ] || echo "skipped: the modulefile: needs Environment Modules or Lmod"
check "the completion is installed" contains "$prefix/share/bash-completion/completions/wallheat" "wallheat complete"

if command -v dpkg-shlibdeps > /dev/null && command -v file > /dev/null; then
  (cd "$build" && cpack -G DEB -B "$scratch/deb") > deb.log 2>&1
  check "a Debian package is made" same 0 $? || cat deb.log
  deb=$(echo deb/wallheat_*.deb)
  check "the Debian package depends on the libraries of the program" contains <(dpkg-deb -f "$deb" Depends) libopenmpi
  dpkg-deb -x "$deb" unpacked
  rm -f results.h5
  check "the program in the Debian package solves" unpacked/usr/bin/wallheat run --data plans --out results.h5 --log-level warning
  check "the Debian package has the completion" test -e unpacked/usr/share/bash-completion/completions/wallheat
  for file in man/man1/wallheat.1.gz doc/wallheat/changelog.gz; do
    check "the Debian package has $file" gzip -t "unpacked/usr/share/$file"
  done
  check "the copyright file reports that no licence has been chosen" mentions unpacked/usr/share/doc/wallheat/copyright licence owner
  check "an upgrade keeps the site file" same /etc/wallheat/site.sh "$(dpkg-deb -I "$deb" conffiles)"
  check "the site file has no settings" same '' "$(grep -v '^#' unpacked/etc/wallheat/site.sh)"
  settings_file=$(grep -o '/usr/share/[^ ]*site.sh' unpacked/etc/wallheat/site.sh)
  check "the site file names the list of settings" test -f "unpacked$settings_file"
else
  echo "skipped: the Debian package: needs dpkg-shlibdeps and file (jobs/install-packages.sh tests installs them)"
fi
finish
