#!/usr/bin/env bash
# Runs the Poisson exercise of a Python course: NumPy, Numba and wallheat solve a heated plate of several sizes. Creates
# a table, pictures and a page.
#   jobs/examples/poisson-study.sh --out OUT [OPTIONS]
#   jobs/examples/poisson-study.sh --out poisson --sizes 64,128
#   jobs/examples/poisson-study.sh --out poisson --list        # only prints the steps
# The folder OUT is created if it does not exist; the page is OUT/index.html. If the study was stopped, the same command
# resumes it.
#   --sizes LIST     cells per side (default: 64,128,256,512,1024)
#   --python LIST    sizes that NumPy solves, too; NumPy takes minutes for size 512 (default: 64,128,256)
# Set the environment variable PYTHON to a Python with NumPy, and with Numba if you want to time it (default: python3, or
# else /usr/bin/python3).
set -Eeuo pipefail
# shellcheck source-path=SCRIPTDIR source=../steps.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../steps.sh"
out='' sizes=64,128,256,512,1024 python=64,128,256
start_study out sizes python -- "$@"
[ "$interpreter" ] || die "no Python with NumPy found; set PYTHON to one" 1
first_size=${sizes%%,*}
stop_options=(--norm l2 --tolerance 1e-4 --max-iterations 100000)

begin_task "Task 1: the plate"
run_step plate.txt "$wallheat" generate --kind poisson --count 1 --size "$first_size" --out plate --overwrite
solve_step plate.h5 --data plate "${stop_options[@]}" --save-fields
plot_step plate "N = $first_size: source and temperatures" plate.h5 00001 --data plate --show source,field

begin_task "Task 2: all programs over the size" "All stop when the 2-norm of a change is below 1e-4, except steady, which finds the steady state itself.\
 The seconds are those of one core, without the start of a program; speed-ups are relative to NumPy with the same size."
"$interpreter" -c 'import numba' 2> /dev/null || note_omission Numba "it is not installed"
# The program writes each row to rows.json when it is measured, so a study that was stopped resumes with the next row.
run_step programs.json "$interpreter" "$jobs/examples/poisson.py" "$wallheat" "$sizes" "$python" -- "${stop_options[@]}"
page_inputs+=(programs.json)

write_page "Poisson's equation on a plate"
