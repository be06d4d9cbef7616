#!/usr/bin/env bash
# Checks the includes. Folders belong to layers; a folder may include lower layers only, so that there are no
# cyclic dependencies. Each third-party library is included by few folders, and not by the public headers.
# Headers that are slow to compile are included by few files.
set -euo pipefail
cd "$(dirname "$0")/.."
status=0

layers=(
  "core"            # plain data and arithmetic
  "solve io"        # solvers; files of the operating system
  "plans"           # where floor plans come from
  "node store queue forecast"
  "mpi bench python view"
  "isolation"
  "monitor"
  "report run"
  "iterates"
  "cli"
)
in_solve="cpu gpu steady"  # one layer above the files of solve itself; fastforward is above cpu and steady

report() { printf '%s\n' "$1"; status=1; }
includes_of() { grep -rnE '#include *"' "$1" || true; }

all=" ${layers[*]} "
for folder in src/*/; do
  folder=$(basename "$folder")
  [[ $all == *" $folder "* ]] || report "src/$folder is in no layer of this script"
done
below=""
for layer in "${layers[@]}"; do
  for folder in $layer; do
    allowed=$(tr ' ' '|' <<< "$folder $below" | sed 's/|*$//; s/||*/|/g')
    strays=$(includes_of "src/$folder" | grep -vE "#include *\"(wallheat|$allowed)/" || true)
    [ -z "$strays" ] || report "src/$folder may use ${allowed//|/, } and wallheat/ only:"$'\n'"$strays"
  done
  below="$below $layer"
done
strays=$(includes_of include | grep -v '"wallheat/' || true)
[ -z "$strays" ] || report "include/wallheat may use itself only:"$'\n'"$strays"

for part in $in_solve; do
  strays=$(includes_of "src/solve/$part" | grep -E "\"solve/(${in_solve// /|})/" | grep -v "\"solve/$part/" || true)
  [ -z "$strays" ] || report "src/solve/$part may not use the other folders of src/solve:"$'\n'"$strays"
done
strays=$(includes_of src/solve | grep "\"solve/fastforward/" | grep -v "^src/solve/fastforward/" || true)
strays+=$(includes_of src/solve/fastforward | grep "\"solve/gpu/" || true)
[ -z "$strays" ] || report "src/solve/fastforward may not use src/solve/gpu, and no other folder may use it:"$'\n'"$strays"

only_in() { # only_in 'FOLDER|FOLDER' PATTERN: includes matching PATTERN are allowed in these folders of src only
  local strays
  strays=$(grep -rlE "#include *[<\"]($2)" src include | grep -vE "^src/($1)/" || true)
  [ -z "$strays" ] || report "$2 may be included in src/$1 only, but is included in:"$'\n'"$strays"
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
only_in 'io|forecast|queue|isolation|view|monitor|report|iterates|run|cli' 'fmt/'  # replaces std::format, which GCC 12 lacks

# Headers that take seconds to compile: only these files may include them.
heavy() { # heavy 'FILE|FILE' PATTERN
  local strays
  strays=$(grep -rlE "#include *[<\"]($2)[>\"]" src include | grep -vE "^src/($1)$" || true)
  [ -z "$strays" ] || report "$2 takes long to compile and may be included by src/$1 only, but is included in:"$'\n'"$strays"
}
heavy 'cli/options\.cpp' 'boost/.*'
heavy 'view/json\.hpp' 'nlohmann/json\.hpp'
heavy '.*\.cpp' 'view/json\.hpp'
heavy '(core/duration|run/batch_job)\.cpp' 'regex'
heavy '.*\.cpp' 'iostream'

# A unity build joins the files of a folder. Two private functions with the same name would be overloads of each other, and
# a call could silently resolve to the other one; two types, constants or variables would not compile. So a name that a
# file declares in an unnamed namespace must not be declared in that of another file of the folder, unless both are
# aliases of the same type.
private_names() { # private_names FILE...: prints "NAME FILE MEANING" for each declaration that begins in the first column
  awk '
    FNR == 1 { private = 0 }
    /^namespace \{/ { private = 1; next }
    /^\}  \/\/ namespace$/ { private = 0 }
    !private || !/^[A-Za-z_]/ { next }
    /^(template|namespace|static_assert|typedef|with |using (namespace|enum) |[A-Z_]+\()/ { next }
    /^(struct|class|union|enum|using) / {
      sub(/^enum (class|struct) /, "enum ")
      if ($0 ~ /^[a-z]+ [A-Za-z_0-9]+( =| final| :| \{|;)/) { sub(/;$/, "", $2); print $2, FILENAME, $1 == "using" ? $0 : FILENAME }
      next
    }
    {
      end = match($0, /[=({;[]/)
      if (!end || (substr($0, end, 1) == "(" && /;$/)) next  # not a declaration, or only a prototype
      declaration = substr($0, 1, end - 1)
      sub(/ +$/, "", declaration)
      if (match(declaration, /[ *&][A-Za-z_0-9]+$/) && declaration !~ /operator$/) print substr(declaration, RSTART + 1), FILENAME, FILENAME
    }' "$@" | sort -u
}
for folder in src/*/ tests/*/; do
  case $folder in tests/bench/ | tests/package/) continue ;; esac  # one program per file, or none
  mapfile -t files < <(find "$folder" -name '*.cpp')
  [ ${#files[@]} -gt 0 ] || continue
  strays=$(private_names "${files[@]}" |
    awk '$1 !~ /^__/ {
           name = $1; file = $2; sub(/^[^ ]+ [^ ]+ /, "")
           files[name] = files[name] "\n  " file
           if (!seen[name, $0]++) ++meanings[name]
         }
         END { for (name in meanings) if (meanings[name] > 1) print name ":" files[name] }')
  [ -z "$strays" ] || report "the same private name in two files of $folder:"$'\n'"$strays"
done

# A folder with more than 22 % of the lines must be divided.
total=$(find src -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' | grep '^src/' | xargs cat | wc -l)
for folder in src/*/; do
  lines=$(find "$folder" \( -name '*.[ch]pp' -o -name '*.cu' -o -name '*.cuh' \) -exec cat {} + | wc -l)
  [ $((lines * 100)) -le $((total * 22)) ] || report "$folder holds $lines of $total lines, more than 22 %"
done
[ $status -eq 0 ] && echo "all includes are allowed"
exit $status
