#!/usr/bin/python3
"""Solves Poisson's equation on square plates with cold edges with NumPy, with Numba if it is installed, and with wallheat.

  poisson.py WALLHEAT SIZES SIZES-FOR-PYTHON -- OPTIONS OF wallheat solve

A plate is N x N cells of a width of 1 / N, with a heat source of 10000 in its middle cell. An iteration computes
0.25 * (neighbours + width^2 * source) for all inner cells; it ends when the 2-norm of the change is below 1e-4. Prints
the results and times of the programs as JSON for `wallheat page`. Rows that exist in rows.json are not measured again.
"""

import json
import pathlib
import subprocess
import sys
import time

import numpy as np

COLUMNS = ["size", "program", "iterations", "last_change", "mean", "middle_cell", "seconds"]


def numpy_step(old, new, source):
    new[1:-1, 1:-1] = 0.25 * (((old[1:-1, :-2] + old[1:-1, 2:]) + old[:-2, 1:-1]) + old[2:, 1:-1] + source)
    return np.linalg.norm(new - old)


def numba_step(old, new, source):
    squares = 0.0
    for row in range(1, old.shape[0] - 1):
        for col in range(1, old.shape[1] - 1):
            new[row, col] = 0.25 * (((old[row, col - 1] + old[row, col + 1]) + old[row - 1, col])
                                    + old[row + 1, col] + source[row - 1, col - 1])
            squares += (new[row, col] - old[row, col]) ** 2
    return np.sqrt(squares)


def iterate(step, size):
    step(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((1, 1)))  # compiles the step
    start = time.perf_counter()
    old, new = np.zeros((size, size)), np.zeros((size, size))
    source = np.zeros((size, size))
    source[size // 2, size // 2] = 10000
    source = (1 / size) ** 2 * source[1:-1, 1:-1]
    iterations, delta = 0, np.inf
    while iterations < 100000 and delta >= 1e-4:
        delta = step(old, new, source)
        old, new = new, old
        iterations += 1
    return iterations, float(delta), float(old[1:-1, 1:-1].mean()), float(old[size // 2, size // 2]), \
        time.perf_counter() - start


def solve(wallheat, size, options):
    subprocess.run([wallheat, "generate", "--kind", "poisson", "--count", "1", "--size", str(size), "--out", "plates",
                    "--overwrite"], check=True, stdout=subprocess.DEVNULL)
    finished = subprocess.run([wallheat, "solve", "00001", "--data", "plates", "--npy", "plate.npy", "--overwrite", "--json",
                               *options], check=True, capture_output=True)
    result = json.loads(finished.stdout)
    middle = np.load("plate.npy")[size // 2, size // 2]
    return result["iterations"], result["last_delta"], result["mean_temp"], float(middle), result["cpu_s"]


def report(rows):
    """Returns a table and a chart. `layout` describes them to wallheat page: styles are [format, digits, unit], an axis
    has its scale (1: powers of two, 2: powers of ten), and mark 2 is points with a line."""
    for row in rows:
        numpy_seconds = [other["seconds"] for other in rows
                         if other["size"] == row["size"] and other["program"] == "numpy"]
        row["speed_up"] = numpy_seconds[0] / row["seconds"] if numpy_seconds else None
    programs = dict.fromkeys(row["program"] for row in rows)
    series = [{"name": name, "x": [row["size"] for row in rows if row["program"] == name],
               "y": [row["seconds"] for row in rows if row["program"] == name]} for name in programs]
    columns = [[key, key.replace("_", " "), [0, 6, ""]] for key in [*COLUMNS, "speed_up"]]
    return {"programs": rows, "figures": {"times": series}, "layout": [
        "Iterations, results and times", ["table", ["programs", "", columns, len(rows), False]],
        ["figure", ["times", "seconds over the size", ["cells per side", 1, []], ["seconds", 2, []],
                    [[one["name"], 2, [], False] for one in series], False]]]}


def main():
    wallheat, sizes, python_sizes = sys.argv[1], *([int(size) for size in text.split(",")] for text in sys.argv[2:4])
    options = sys.argv[5:]
    rows_file, temporary_file = pathlib.Path("rows.json"), pathlib.Path("part-rows.json")
    rows = json.loads(rows_file.read_text(encoding="utf-8")) if rows_file.exists() else []
    programs = {"numpy": lambda size: iterate(numpy_step, size)}
    try:
        import numba
        programs["numba"] = lambda size: iterate(numba.njit(numba_step), size)
    except ImportError:
        pass
    wallheat_options = {"jacobi": options, "fastforward": [*options, "--solver", "fastforward"],
                        "steady": ["--solver", "steady"]}
    for size in sizes:
        for program in [*(programs if size in python_sizes else []), *wallheat_options]:
            if any((row["size"], row["program"]) == (size, program) for row in rows):
                continue
            row = programs[program](size) if program in programs else solve(wallheat, size, wallheat_options[program])
            rows.append(dict(zip(COLUMNS, [size, program, *row])))
            temporary_file.write_text(json.dumps(rows), encoding="utf-8")
            temporary_file.replace(rows_file)
    print(json.dumps(report(rows)))


if __name__ == "__main__":
    main()
