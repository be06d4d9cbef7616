#!/usr/bin/env bash
# The Poisson exercise of a Python course, whole: a heated plate, solved by NumPy, Numba and wallheat over its size,
# with a table, pictures and a page of them.
#   jobs/examples/poisson-study.sh --out OUT [OPTIONS]
#   jobs/examples/poisson-study.sh --out poisson --sizes 64,128
#   jobs/examples/poisson-study.sh --out poisson --list        # only tells what it would do
# OUT is a folder, made if missing; the page is OUT/index.html. The same command goes on where it was stopped.
#   --sizes LIST     cells along a side (default: 64,128,256,512,1024)
#   --python LIST    those of them that NumPy solves; 512 takes it minutes (default: 64,128,256)
# PYTHON names a Python with NumPy, and Numba if it is to be timed (default: python3, else /usr/bin/python3).
set -Eeuo pipefail
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../steps.sh"
out='' sizes=64,128,256,512,1024 python=64,128,256
study out sizes python -- "$@"
[ "$interpreter" ] || refuse "no Python here has NumPy; PYTHON=... names one that has" 1
first=${sizes%%,*}
stop=(--norm l2 --tolerance 1e-4 --max-iterations 100000)

task "Task 1: the plate"
made plate.txt "$wallheat" generate --kind poisson --count 1 --size "$first" --out plate --overwrite
solved plate.h5 --data plate "${stop[@]}" --save-fields
picture plate "N = $first: source and temperatures" plate.h5 00001 --data plate --show source,field

task "Task 2: every program over the size" "All stop when the 2-norm of a change is below 1e-4, but steady, which finds the steady state itself.\
 Seconds are those of one core, without the start of a program; speed-ups are against NumPy of that size."
"$interpreter" -c 'import numba' 2> /dev/null || left_out Numba "no Python here has it"
# One after the other into rows.json, so that a study that is stopped goes on with the next one.
made programs.json "$interpreter" "$jobs/examples/poisson.py" "$wallheat" "$sizes" "$python" -- "${stop[@]}"
pages+=(programs.json)

page "Poisson's equation on a plate"
