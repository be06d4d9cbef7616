#!/usr/bin/python3
"""Solves as many generated plans as the published data set has, by each solver, and prints the times.

It also compares quantiles of the generated plans with those of the published results, because only similar plans give
meaningful times. The real plans take a third more cell updates than the generated ones.
"""

import argparse
import csv
import io
import pathlib
import resource
import subprocess
import sys
import tempfile
import time

import numpy as np

RANKS = [0.1, 0.25, 0.5, 0.75, 0.9]
PUBLISHED = {
    "mean_temp": [11.90, 13.36, 14.83, 16.18, 17.25],
    "std_temp": [6.24, 6.57, 6.84, 7.08, 7.30],
    "pct_above": [23.62, 30.65, 39.04, 47.14, 53.95],
    "pct_below": [36.57, 43.12, 51.33, 60.23, 68.50],
    "iterations": [3760, 5817, 8832, 11183, 13512],
    "interior_cells": [48042, 64709, 81115, 96303, 112344],
}


def output_of(*command):
    result = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"whole_set.py: {' '.join(map(str, command))} ended with status {result.returncode}")
    return result.stdout


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def solve(wallheat, plans, results, solver, threads):
    """Returns wall and CPU seconds of the complete command."""
    start, cpu = time.monotonic(), cpu_seconds()
    output_of(wallheat, "run", "--data", plans, "--out", results, "--overwrite", "--solver", solver,
              "--device", "cpu", "--threads", threads, "--progress", "none", "--log-level", "warning")
    return time.monotonic() - start, cpu_seconds() - cpu


def numbers(rows, column):
    return np.array([float(row[column]) for row in rows])


def likeness(wallheat, results, count):
    """Yields lines of the output: each quantile of the generated plans, divided by the published one."""
    rows = list(csv.DictReader(io.StringIO(output_of(wallheat, "list", results, "--format", "csv",
                                                      "--columns", ",".join(PUBLISHED)))))
    yield "quantiles, as parts of the published ones: " + " ".join(f"{rank:7.0%}" for rank in RANKS)
    for column, published in PUBLISHED.items():
        ratios = np.quantile(numbers(rows, column), RANKS) / published
        yield f"{column:43}" + " ".join(f"{ratio:7.3f}" for ratio in ratios)
    for column, published in (("pct_above", 804), ("pct_below", 2471)):
        plans = np.mean(numbers(rows, column) >= 50) * 4571
        yield f"{column} of at least half of the area: {plans:.0f} of 4571 plans (published: {published})"
    updates = numbers(rows, "iterations") @ numbers(rows, "interior_cells") / count
    yield f"cell updates per plan by jacobi: {updates:.3g} (real plans: 7.76e8)"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wallheat", type=pathlib.Path)
    parser.add_argument("--count", type=int, default=4571, help="plans (default: %(default)s)")
    parser.add_argument("--solvers", nargs="+", default=["jacobi", "fastforward", "steady"])
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2], help="default: 1 and 2")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        scratch = pathlib.Path(directory)
        plans, results = scratch / "plans.zip", scratch / "results.h5"
        output_of(options.wallheat, "generate", "--out", plans, "--count", options.count)
        for solver in options.solvers:
            for threads in options.threads:
                wall_s, cpu_s = solve(options.wallheat, plans, results, solver, threads)
                print(f"{solver:12} {threads} thread(s) {wall_s:8.1f} s wall {cpu_s:8.1f} s CPU", flush=True)
            if solver == "jacobi":
                print("\n".join(likeness(options.wallheat, results, options.count)), flush=True)


if __name__ == "__main__":
    main()
