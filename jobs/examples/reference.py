#!/usr/bin/python3
"""Solves a directory of floor plans in plain NumPy and prints the CSV of the published program.

It shares no code with wallheat: both follow the same definition, and print the same digits. The definition, for
each plan:

  * The initial field is {id}_domain.npy in °C with a border of zeros around it. Only cells where
    {id}_interior.npy is not 0 change; the border never changes.
  * An iteration computes 0.25 * (((left + right) + up) + down) for every interior cell from the old
    field. It is the last one if the largest change is below the tolerance; the new field is the result.
  * The statistics are computed over the interior cells in row-major order.

A plan without interior cells makes no iteration, and its numbers are NaN.

With --numba, a loop over rows and columns, compiled by Numba, makes the same iterations.
"""

import argparse
import pathlib
import sys
import time

import numpy as np


def load(directory, plan_id):
    """Returns the field with its border of zeros, and the mask of the interior cells without a border."""
    domain = np.load(directory / f"{plan_id}_domain.npy")
    interior = np.load(directory / f"{plan_id}_interior.npy") != 0
    return np.pad(np.asarray(domain, dtype=np.float64, order="C"), 1), np.ascontiguousarray(interior)


def iterate(field, interior, tolerance, max_iterations):
    """Iterates in place. Returns the number of iterations and the delta of the last one."""
    width = field.shape[1]
    values = field.reshape(-1)
    cells = np.flatnonzero(np.pad(interior, 1))
    iterations, delta = 0, np.nan
    while cells.size > 0 and iterations < max_iterations:
        new = 0.25 * (((values[cells - 1] + values[cells + 1]) + values[cells - width]) + values[cells + width])
        delta = np.max(np.abs(new - values[cells]))
        values[cells] = new
        iterations += 1
        if delta < tolerance:
            break
    return iterations, delta


def compile_iterate():
    """Returns a compiled version of iterate(). Exits if Numba is not installed."""
    try:
        import numba
    except ImportError:
        sys.exit("reference.py: this Python has no Numba; omit --numba, or install it")

    @numba.njit
    def sweep(old, new, interior):
        delta = 0.0
        for row in range(interior.shape[0]):
            for col in range(interior.shape[1]):
                if interior[row, col]:
                    value = 0.25 * (((old[row + 1, col] + old[row + 1, col + 2]) + old[row, col + 1])
                                    + old[row + 2, col + 1])
                    delta = max(delta, abs(value - old[row + 1, col + 1]))
                    new[row + 1, col + 1] = value
        return delta

    @numba.njit
    def iterate_compiled(field, interior, tolerance, max_iterations):
        old, new = field.copy(), field.copy()
        iterations, delta = 0, np.nan
        while interior.any() and iterations < max_iterations:
            delta = sweep(old, new, interior)
            old, new = new, old
            iterations += 1
            if delta < tolerance:
                break
        field[:] = old
        return iterations, delta

    iterate_compiled(np.zeros((3, 3)), np.ones((1, 1), np.bool_), 1.0, 1)
    return iterate_compiled


def summary(temperatures):
    """Returns mean, population standard deviation, and the shares above 18 °C and below 15 °C in percent."""
    if temperatures.size == 0:
        return [np.nan] * 4
    return [
        temperatures.mean(),
        temperatures.std(),
        100 * (np.sum(temperatures > 18) / temperatures.size),
        100 * (np.sum(temperatures < 15) / temperatures.size),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("plans", type=pathlib.Path, help="directory of floor plans")
    parser.add_argument("--ids", type=pathlib.Path, metavar="FILE",
                        help="plan IDs, one per line (default: building_ids.txt of the directory)")
    parser.add_argument("--tolerance", type=float, default=1e-4, metavar="DEGREES", help="tolerance in °C (default: 1e-4)")
    parser.add_argument("--max-iterations", type=int, default=20000, metavar="N", help="maximum number of iterations (default: 20000)")
    parser.add_argument("--fields", type=pathlib.Path, metavar="DIR",
                        help="write {id}.npz with field, iterations and last_delta to DIR")
    parser.add_argument("--first", type=int, metavar="N", help="only the first N plans (default: all)")
    parser.add_argument("--numba", action="store_true", help="compile the iteration with Numba")
    parser.add_argument("--seconds", action="store_true",
                        help="also print the wall time, without compilation, as the last line: # seconds: S")
    arguments = parser.parse_args()

    iterate_plan = compile_iterate() if arguments.numba else iterate
    start = time.perf_counter()
    print("building_id, mean_temp, std_temp, pct_above_18, pct_below_15")
    lines = (arguments.ids or arguments.plans / "building_ids.txt").read_text().splitlines()
    for plan_id in [line.strip() for line in lines if line.strip()][:arguments.first]:
        padded, interior = load(arguments.plans, plan_id)
        iterations, delta = iterate_plan(padded, interior, arguments.tolerance, arguments.max_iterations)
        field = padded[1:-1, 1:-1]
        print(plan_id, *(float(value) for value in summary(field[interior])), sep=", ", flush=True)
        if arguments.fields:
            np.savez(arguments.fields / f"{plan_id}.npz", field=field, iterations=iterations, last_delta=delta)
    if arguments.seconds:
        print(f"# seconds: {time.perf_counter() - start}")


if __name__ == "__main__":
    main()
