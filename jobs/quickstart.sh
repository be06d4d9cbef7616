#!/usr/bin/env bash
# Takes a fresh clone to its first results: installs missing libraries, builds wallheat, generates 24 floor plans,
# solves them on all cores of this machine, prints the summary and draws one plan.
#
#   bash jobs/quickstart.sh
#
# Takes no arguments, and works from any directory, as root or as an ordinary user. If the libraries are available
# already, for example from environment modules, it installs nothing. It creates all files in build/. You may run it
# again: existing files and results are kept.
# Exit status: 0 all done, 3 some plans failed, 75 stopped early, other numbers for an error.
set -euo pipefail

root=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=usage.sh
. "$root/jobs/usage.sh"
usage 0 "$@"
[ $# = 0 ] || { echo "quickstart.sh: unexpected argument: '$*'" >&2; exit 2; }
wallheat=$root/build/wallheat
folder=$root/build/quickstart
plans=$folder/plans
results=$folder/results.h5
picture=$folder/00001.png

print_heading() { printf '\n== %s\n' "$*"; }

# Uses no preset, because presets need a newer cmake than that of Ubuntu 22.04. An existing build folder keeps its
# settings; CMAKE_GENERATOR applies to a new one only.
log=$root/build/configure.log
mkdir -p "$root/build"
settings=()
[ -e "$root/build/CMakeCache.txt" ] || settings=(-DWALLHEAT_TESTS=OFF)
configure() {
  if command -v ninja > /dev/null; then export CMAKE_GENERATOR=Ninja; fi
  cmake -S "$root" -B "$root/build" "${settings[@]}" > "$log" 2>&1
}

print_heading "Libraries"
if configure; then
  echo "All libraries are installed."
else
  bash "$root/jobs/install-packages.sh" || { printf '\nOutput of cmake:\n' >&2; grep -A 8 '^CMake Error' "$log" >&2 || cat "$log" >&2; exit 1; }
  configure || { cat "$log" >&2; exit 1; }
fi

print_heading "Build"
cmake --build "$root/build" --target wallheat

print_heading "24 floor plans"
# The list of IDs is written last: if it exists, all plans exist.
if [ -e "$plans/building_ids.txt" ]; then
  echo "They already exist in $plans."
else
  "$wallheat" generate --out "$plans" --count 24
fi

print_heading "Solve"
# With --resume, plans that are solved are not solved again.
[ ! -e "$results" ] || echo "$results exists; plans with a result in it are not solved again."
status=0
"$wallheat" run --data "$plans" --out "$results" --resume || status=$?
case $status in
  0) echo "All plans are solved." ;;
  3) echo "Some plans failed; the summary lists them." >&2 ;;
  75) echo "Stopped early. To resume, run this script again." >&2; exit 75 ;;
  *) echo "The run ended with exit status $status; see the messages above." >&2; exit "$status" ;;
esac

print_heading "Summary"
"$wallheat" summary "$results"

print_heading "Picture of plan 00001"
if [ -e "$picture" ]; then
  echo "It already exists."
else
  "$wallheat" solve 00001 --data "$plans" --png "$picture"
fi

print_heading "Done"
cat <<END
picture  $picture
results  $results

Next, for example:
  "$wallheat" export "$results"
      the results as CSV
  "$wallheat" solve 00002 --data "$plans" --png plan.png
      another plan, with its statistics
  "$wallheat" run --help
      how to solve your own plans
  bash "$root/tests/run.sh"
      builds and runs the tests
END
exit "$status"
