#!/usr/bin/env bash
# ParaView opens the XDMF files of `wallheat export`: test_paraview.sh WALLHEAT
# pvpython is in Debian's packages paraview and python3-paraview.
set -euo pipefail
wallheat=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
here=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
command -v pvpython > /dev/null || { echo "skipped: needs pvpython (apt-get install paraview python3-paraview)"; exit 77; }
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"

# Plans of two shapes; an ID that needs escaping in XML; a result file in another folder whose name needs escaping, too.
"$wallheat" generate --out plans --count 2 --size 40 > /dev/null
"$wallheat" generate --out wide --count 1 --size 64 > /dev/null
for kind in domain interior; do
  mv "wide/00001_$kind.npy" "plans/<\"Côté\" & 'co'>_$kind.npy"
done
printf '00001\n<"Côté" & '"'co'"'>\n00002\n' > plans/building_ids.txt
mkdir "a & b"
"$wallheat" run --data plans --out "a & b/my results.h5" --save-fields --log-level error
"$wallheat" export "a & b/my results.h5" --out series.xdmf
fields=()
while read -r id; do
  fields+=("${#fields[@]}.npy")
  "$wallheat" export "a & b/my results.h5" --field "$id" --out "${fields[-1]}"
done < plans/building_ids.txt
pvpython "$here/read_by_paraview.py" series.xdmf "${fields[@]}"

# Plans of one shape.
"$wallheat" run --data plans --first 1 --out one.h5 --save-fields --log-level error
"$wallheat" export one.h5 --out one.xdmf
pvpython "$here/read_by_paraview.py" one.xdmf 0.npy
