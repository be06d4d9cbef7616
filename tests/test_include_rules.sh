#!/usr/bin/env bash
# Where an include may stand. Folders stand on floors; what stands on one uses lower floors only, so
# that no two folders can use each other. Each third-party library has its folder, and the public
# headers name none. What takes long to compile is read by few files.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0

floors=(
  "core"            # plain data and arithmetic
  "solve io"        # solvers; files of the operating system
  "plans"           # where floor plans come from
  "node store queue forecast"
  "mpi bench isolation python"
  "view"
  "report"
  "run"
  "cli"
)
in_solve="cpu gpu steady"  # beside each other, on what lies in solve itself; fastforward is on cpu and steady

says() { printf '%s\n' "$1"; status=1; }
includes_of() { grep -rnE '#include *"' "$1" || true; }

all=" ${floors[*]} "
for folder in src/*/; do
  folder=$(basename "$folder")
  [[ $all == *" $folder "* ]] || says "src/$folder stands on no floor of this script"
done
below=""
for floor in "${floors[@]}"; do
  for folder in $floor; do
    allowed=$(tr ' ' '|' <<< "$folder $below" | sed 's/|*$//; s/||*/|/g')
    strays=$(includes_of "src/$folder" | grep -vE "#include *\"(wallheat|$allowed)/" || true)
    [ -z "$strays" ] || says "src/$folder may use ${allowed//|/, } and wallheat/ only:"$'\n'"$strays"
  done
  below="$below $floor"
done
strays=$(includes_of include | grep -v '"wallheat/' || true)
[ -z "$strays" ] || says "include/wallheat may use itself only:"$'\n'"$strays"

for part in $in_solve; do
  strays=$(includes_of "src/solve/$part" | grep -E "\"solve/(${in_solve// /|})/" | grep -v "\"solve/$part/" || true)
  [ -z "$strays" ] || says "src/solve/$part may not use the other folders of src/solve:"$'\n'"$strays"
done
strays=$(includes_of src/solve | grep "\"solve/fastforward/" | grep -v "^src/solve/fastforward/" || true)
strays+=$(includes_of src/solve/fastforward | grep "\"solve/gpu/" || true)
[ -z "$strays" ] || says "src/solve/fastforward may not use src/solve/gpu, and none may use it:"$'\n'"$strays"

only_in() { # only_in 'FOLDER|FOLDER' PATTERN: includes matching PATTERN may stand in these folders of src alone
  local strays
  strays=$(grep -rlE "#include *[<\"]($2)" src include | grep -vE "^src/($1)/" || true)
  [ -z "$strays" ] || says "$2 may be included in src/$1 only, but stands in:"$'\n'"$strays"
}
only_in plans 'xxhash\.h|png\.h'
only_in solve 'cuda|cooperative_groups'
only_in 'solve|io' 'immintrin\.h'
only_in node 'hwloc|nvml'
only_in store 'hdf5|H5'
only_in io 'libdeflate\.h'
only_in mpi 'mpi\.h'
only_in view 'spdlog/|nlohmann/'
only_in report 'sqlite3\.h'
only_in cli 'boost/'
only_in python 'pybind11/'
only_in 'io|forecast|queue|isolation|view|report|run|cli' 'fmt/'  # it stands in for std::format, which GCC 12 lacks

# Headers that take seconds to compile: the named files alone include them, and no header does but the named.
heavy() { # heavy 'FILE|FILE' PATTERN
  local strays
  strays=$(grep -rlE "#include *[<\"]($2)[>\"]" src include | grep -vE "^src/($1)$" || true)
  [ -z "$strays" ] || says "$2 takes long to compile and may be included by src/$1 only, but stands in:"$'\n'"$strays"
}
heavy 'cli/options\.cpp' 'boost/.*'
heavy 'view/json\.hpp' 'nlohmann/json\.hpp'
heavy '.*\.cpp' 'view/json\.hpp'
heavy 'run/batch_job\.cpp' 'regex'
heavy '.*\.cpp' 'iostream'

# A folder may compile as one file. There two private functions of one name would be overloads of each other, and a call
# could silently go to the other one.
for folder in src/*/ tests/*/; do
  case $folder in tests/bench/ | tests/package/) continue ;; esac  # a program a file, or none
  strays=$(find "$folder" -name '*.cpp' -exec awk '
    FNR == 1 { private = 0 }
    /^namespace \{/ { private = 1 }
    /^\}  \/\/ namespace$/ { private = 0 }
    private && /^[a-z_A-Z]/ && !/^(template|struct|class|enum|using|namespace|static_assert|typedef|with |[A-Z_]+\()/ && !/;$/ && !/^[^(]*=/ &&
      match($0, /[a-z_A-Z0-9]+\(/) { print substr($0, RSTART, RLENGTH - 1), FILENAME }' {} + | sort -u |
    awk '$1 !~ /^__/ { files[$1] = files[$1] "\n  " $2; ++count[$1] } END { for (name in count) if (count[name] > 1) print name ":" files[name] }')
  [ -z "$strays" ] || says "one private name in two files of $folder:"$'\n'"$strays"
done

# No drawer for everything: a folder that holds more than 22 % of the lines wants to be divided.
total=$(find src -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' | grep '^src/' | xargs cat | wc -l)
for folder in src/*/; do
  lines=$(find "$folder" \( -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' \) -exec cat {} + | wc -l)
  [ $((lines * 100)) -le $((total * 22)) ] || says "$folder holds $lines of $total lines, more than 22 %"
done
[ $status -eq 0 ] && echo "every include stands where it may"
exit $status
