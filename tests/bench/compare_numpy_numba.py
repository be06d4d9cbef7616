#!/usr/bin/python3
"""Times three programs for the same iteration side by side: NumPy, Numba and wallheat.

All three get the same plans, run on one thread, and must agree on the mean temperature to the last
bit and on the number of iterations. What is timed is the solving alone: from a plan in memory to its
final field, without reading files, compiling (Numba) and starting programs. The repetitions take
turns, so that whatever else the machine does hits all three alike.
"""

import argparse
import json
import pathlib
import re
import statistics
import subprocess
import sys
import time

try:
    import numba
    import numpy as np
except ImportError as error:
    sys.exit(f"compare_numpy_numba.py: {error.name} is missing; on Debian: apt install python3-numpy python3-numba")

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


class ComparisonError(Exception):
    """Something that a person has to put right."""


def iterate_in_numpy(u, interior, max_iterations, tolerance):
    """The reference: whole-array expressions and a mask, as in the published course program."""
    u = np.copy(u)
    for iteration in range(1, max_iterations + 1):
        u_new = 0.25 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1])
        u_new_interior = u_new[interior]
        delta = np.abs(u[1:-1, 1:-1][interior] - u_new_interior).max()
        u[1:-1, 1:-1][interior] = u_new_interior
        if delta < tolerance:
            break
    return u, iteration


@numba.njit
def iterate_in_numba(u, interior, max_iterations, tolerance):
    """The same as plain loops over the cells, with two arrays that swap places."""
    old = u.copy()
    new = u.copy()
    rows, cols = interior.shape
    for iteration in range(1, max_iterations + 1):
        delta = 0.0
        for i in range(1, rows + 1):
            for j in range(1, cols + 1):
                if interior[i - 1, j - 1]:
                    value = 0.25 * (old[i, j - 1] + old[i, j + 1] + old[i - 1, j] + old[i + 1, j])
                    change = abs(value - old[i, j])
                    if change > delta:
                        delta = change
                    new[i, j] = value
        old, new = new, old
        if delta < tolerance:
            return old, iteration
    return old, max_iterations


def load_plan(directory, plan_id):
    """The padded start field (°C, float64) and the mask of the interior cells."""
    domain = np.load(directory / f"{plan_id}_domain.npy")
    interior = np.load(directory / f"{plan_id}_interior.npy").astype(bool)
    return np.pad(domain.astype(np.float64), 1), np.ascontiguousarray(interior)


def timed_in_python(iterate, plan, arguments):
    u, interior = plan
    start = time.perf_counter()
    u, iterations = iterate(u, interior, arguments.max_iterations, arguments.tolerance)
    seconds = time.perf_counter() - start
    return seconds, iterations, float(u[1:-1, 1:-1][interior].mean())


def timed_in_wallheat(plan_id, arguments):
    command = [arguments.wallheat, "solve", plan_id, "--data", arguments.data, "--isa", arguments.isa,
               "--tolerance", arguments.tolerance, "--max-iterations", arguments.max_iterations]
    run = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if run.returncode != 0:
        raise ComparisonError(f"wallheat could not solve plan {plan_id}: {run.stderr.strip()}")

    def printed(pattern):
        found = re.search(pattern, run.stdout)
        if not found:
            raise ComparisonError(f"wallheat solve printed nothing like '{pattern}':\n{run.stdout}")
        return found[1]

    return (float(printed(r"solved in\s+([0-9.e+-]+) s\b")), int(printed(r"after (\d+) iterations")),
            float(printed(r"mean temperature\s+(\S+)")))


def compare(plan_id, arguments):
    """Runs all programs in turns; returns each one's seconds."""
    plan = load_plan(arguments.data, plan_id)
    if not plan[1].any():
        raise ComparisonError(f"plan {plan_id} has no interior cell, which the reference cannot solve")
    programs = {
        "numpy": lambda: timed_in_python(iterate_in_numpy, plan, arguments),
        "numba": lambda: timed_in_python(iterate_in_numba, plan, arguments),
        "wallheat": lambda: timed_in_wallheat(plan_id, arguments),
    }
    seconds = {name: [] for name in programs}
    answers = {}
    for _ in range(arguments.repeat):
        for name, run in programs.items():
            elapsed, iterations, mean_temp = run()
            seconds[name].append(elapsed)
            answers.setdefault((iterations, mean_temp), name)
    if len(answers) != 1:
        told = "; ".join(f"{name}: {iterations} iterations, mean {mean_temp!r} °C"
                         for (iterations, mean_temp), name in answers.items())
        raise ComparisonError(f"plan {plan_id}: the programs disagree ({told})")
    (iterations, mean_temp), = answers
    return {"id": plan_id, "rows": plan[1].shape[0], "cols": plan[1].shape[1],
            "interior_cells": int(plan[1].sum()), "iterations": iterations, "mean_temp": mean_temp,
            "seconds": seconds}


def print_table(result):
    print(f"plan {result['id']}: {result['rows']} x {result['cols']} cells, {result['interior_cells']} interior, "
          f"{result['iterations']} iterations, mean {result['mean_temp']!r} °C from all three")
    print(f"  {'':10}{'min s':>10}{'median s':>10}{'max s':>10}   wallheat is faster by (median, min)")
    ours = result["seconds"]["wallheat"]
    for name, theirs in result["seconds"].items():
        row = f"  {name:10}{min(theirs):10.4f}{statistics.median(theirs):10.4f}{max(theirs):10.4f}"
        if theirs is not ours:
            row += f"   {statistics.median(theirs) / statistics.median(ours):8.1f} x {min(theirs) / min(ours):8.1f} x"
        print(row, flush=True)


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=pathlib.Path, help="directory of floor plans with a building_ids.txt")
    parser.add_argument("--plans", type=int, default=3, metavar="N", help="the first N plans (default: 3)")
    parser.add_argument("--repeat", type=int, default=5, metavar="N", help="repetitions a plan (default: 5)")
    parser.add_argument("--wallheat", type=pathlib.Path, default=REPOSITORY / "build" / "wallheat", metavar="PATH")
    parser.add_argument("--isa", default="auto", help="instruction set for wallheat (default: auto)")
    parser.add_argument("--tolerance", type=float, default=1e-4, metavar="DEGREES", help="in °C (default: 1e-4)")
    parser.add_argument("--max-iterations", type=int, default=20000, metavar="N", help="default: 20000")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write every time measured here, too")
    arguments = parser.parse_args()
    if min(arguments.plans, arguments.repeat, arguments.max_iterations) < 1:
        parser.error("--plans, --repeat and --max-iterations must be at least 1")
    return arguments


def run(arguments):
    if not arguments.wallheat.is_file():
        raise ComparisonError(f"{arguments.wallheat} does not exist; build it, or name it by --wallheat")
    plan_ids = (arguments.data / "building_ids.txt").read_text().split()[:arguments.plans]
    # Numba compiles at the first call with these types.
    iterate_in_numba(np.zeros((3, 3)), np.ones((1, 1), bool), 1, arguments.tolerance)
    print(f"NumPy {np.__version__}, Numba {numba.__version__}, wallheat --isa {arguments.isa}; "
          f"one thread each, {arguments.repeat} repetitions in turns")
    results = []
    for plan_id in plan_ids:
        results.append(compare(plan_id, arguments))
        print_table(results[-1])
    if arguments.json:
        arguments.json.write_text(json.dumps({"numpy": np.__version__, "numba": numba.__version__,
                                              "isa": arguments.isa, "plans": results}, indent=1) + "\n")


def main():
    try:
        run(parse_arguments())
    except (ComparisonError, OSError) as error:
        sys.exit(f"compare_numpy_numba.py: {error}")


if __name__ == "__main__":
    main()
