#!/usr/bin/env bash
# The Poisson exercise of a Python course, whole: a heated plate, solved by NumPy, Numba and wallheat over its size,
# with tables, pictures and a page of them.
#   jobs/examples/poisson-study.sh --out OUT [OPTIONS]
#   jobs/examples/poisson-study.sh --out poisson --sizes 64,128
#   jobs/examples/poisson-study.sh --out poisson --list        # only tells what it would do
# OUT is a folder, made if missing; the page is OUT/index.html. The same command goes on where it was stopped.
#   --sizes LIST     cells along a side (default: 64,128,256,512,1024)
#   --python LIST    those of them that NumPy solves; 512 takes it minutes (default: 64,128,256)
# PYTHON names a Python with NumPy, and Numba if it is to be timed (default: python3, else /usr/bin/python3).
set -Eeuo pipefail
jobs=$(CDPATH='' cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source-path=SCRIPTDIR source=../usage.sh
. "$jobs/usage.sh"
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$jobs/steps.sh"
usage 1 "$@"
me=poisson-study.sh
out='' sizes=64,128,256,512,1024 python=64,128,256
study out sizes python -- "$@"
read -ra sizes <<< "${sizes//,/ }"
python_sizes=" ${python//,/ } "
wallheat=$("$jobs/own-wallheat.sh")
find_python
stop=(--norm l2 --tolerance 1e-4 --max-iterations 100000)

# plate SIZE    the plate of that size, as a folder of plans
plate() {
  [ -e "plate-$1/building_ids.txt" ] || made "plate-$1-made" "$wallheat" generate --kind poisson --count 1 --size "$1" --out "plate-$1"
}
# value NAME FILE    of JSON with one plan
value() { sed -n 's/^ *"'"$1"'": "\{0,1\}\([^",]*\)"\{0,1\},\{0,1\}$/\1/p' "$2"; }
# centre SIZE FILE    the middle cell of an array: a NumPy file's head has 128 bytes
# shellcheck disable=SC2017  # N / 2 is a whole number
centre() { od -A n -t f8 -j $((128 + 8 * ($1 / 2 * $1 + $1 / 2))) -N 8 "$2" | tr -d ' '; }
# wallheat_row SIZE PROGRAM OPTIONS...    solves the plate; a line of the table
wallheat_row() {
  local size=$1 name=$2-$1
  "$wallheat" solve 00001 --data "plate-$size" "${@:3}" --npy "$name.npy" --overwrite --json > "$name.json"
  echo "$size  $2  $(value iterations "$name.json")  $(value last_delta "$name.json")  $(value mean_temp "$name.json")  \
$(centre "$size" "$name.npy")  $(value cpu_s "$name.json")"
}
# python_row SIZE PROGRAM OPTIONS...    the same by poisson.py
python_row() {
  local answer
  answer=$("$python" "$jobs/examples/poisson.py" --size "$1" "${@:3}")
  echo "$1  $2  ${answer// /  }"
}
# rows    of all programs, with the speed-up against the first of each size
rows() {
  echo "N  program  iterations  last change  mean  middle cell  seconds  speed-up"
  cat ./*.row | sort -n -k1,1 -s |
    awk -F '  ' '$2 == "numpy" { base[$1] = $7 } { line[NR] = $0; size[NR] = $1; seconds[NR] = $7 }
      END { for (i = 1; i <= NR; i++) print line[i] "  " (size[i] in base ? sprintf("%.1f", base[size[i]] / seconds[i]) : "-") }'
}

task 1 "The plate"
for size in "${sizes[@]}"; do plate "$size"; done
first=${sizes[0]}
solved plate.h5 --data "plate-$first" "${stop[@]}" --save-fields
figure plate "N = $first: source and temperatures" \
  "$wallheat" plot plate.h5 00001 --data "plate-$first" --show source,field --out @OUT@

task 2 "Every program over the size"
[ "$python" ] || left_out "NumPy" "no Python here has it; PYTHON=... names one that has"
compiled=
if [ "$python" ] && "$python" -c 'import numba' 2> /dev/null; then compiled=yes; else left_out "Numba" "no Python here has it"; fi
for size in "${sizes[@]}"; do
  if [ "$python" ] && [[ $python_sizes == *" $size "* ]]; then
    made "numpy-$size.row" python_row "$size" numpy
    [ ! "$compiled" ] || made "numba-$size.row" python_row "$size" numba --numba
  fi
  made "jacobi-$size.row" wallheat_row "$size" jacobi "${stop[@]}"
  made "jacobi-max-$size.row" wallheat_row "$size" jacobi-max --norm max --tolerance 1e-6 --max-iterations 100000
  made "fastforward-$size.row" wallheat_row "$size" fastforward "${stop[@]}" --solver fastforward
  made "steady-$size.row" wallheat_row "$size" steady --solver steady
done
note "All stop when the 2-norm of a change is below 1e-4, but jacobi-max, which stops when no cell changes by 1e-6, and\
 steady, which finds the steady state itself. Seconds are those of one core; speed-ups are against NumPy of that size."
made all-rows rows
table programs "Iterations, answers and times" cat all-rows
figure times "Seconds over the size" curves @OUT@ all-rows 1 2 7 "cells along a side" seconds

task 3 "Error against iterations"
solved steady.h5 --data "plate-$first" --solver steady --save-fields
# error_rows    how far so many iterations leave the plate from the steady state
error_rows() {
  local count
  echo "iterations  largest error"
  for count in 100 300 1000 3000 10000; do
    "$wallheat" run --data "plate-$first" --out errors.h5 --overwrite --tolerance 0 --max-iterations "$count" \
      --save-fields --log-level error --progress none
    echo "$count  $("$wallheat" compare errors.h5 steady.h5 --json | sed -n 's/.*"column": "field".*"largest": \([^,]*\),.*/\1/p')"
  done
}
table errors "N = $first: the largest distance of a cell from the steady state" error_rows
figure errors-plot "Error over iterations" curves @OUT@ errors.txt 1 3 2 iterations "largest error"

task 4 "What a GPU would have to bring"
if has_gpu; then
  text gpu "This GPU against these cores" "$wallheat" bench --device gpu --quick
else
  note "There is no GPU here. An iteration reads and writes each cell, some five operations; a plate of 1024 x 1024 cells\
 goes to the GPU once and comes back once, so the way pays from few operations a value on:"
  text offload "15 GB/s to the GPU, 1e12 operations/s there, 1e10 of a core here" \
    "$wallheat" offload --bandwidth 15e9 --gpu 1e12 --cpu 1e10
fi

page "Poisson's equation on a plate"
