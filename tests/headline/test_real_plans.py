#!/usr/bin/python3
"""wallheat gives the published results of real floor plans, byte for byte, after the published iterations.

  test_real_plans.py WALLHEAT DIR             every eighth plan of the data set, from DIR/every-eighth.zip
  test_real_plans.py WALLHEAT DIR --first N   the first N of these plans

fastforward must end at the same iterations, with the same means to 1e-9 °C.

Exit status: 0 equal, 1 different, 77 skipped, with the reason on stdout.
"""

import argparse
import csv
import pathlib
import subprocess
import sys
import tempfile

MEAN_TOLERANCE = 1e-9


def output_of(*command):
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with status {run.returncode}")
    return run.stdout.decode()


def differences(expected, actual, subject):
    """Yields a message for each line that differs."""
    for line, (a, b) in enumerate(zip(expected, actual), start=1):
        if a != b:
            yield f"{subject}, line {line}: published {a!r}, here {b!r}"
    if len(expected) != len(actual):
        yield f"{subject}: {len(expected)} published lines, {len(actual)} here"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wallheat", type=pathlib.Path)
    parser.add_argument("directory", type=pathlib.Path, metavar="DIR")
    parser.add_argument("--first", type=int, metavar="N", help="plans (default: all)")
    options = parser.parse_args()
    plans = options.directory / "every-eighth.zip"
    if not plans.is_file():
        print(f"skipped: the real floor plans are not in {options.directory}")
        return 77
    lines = None if options.first is None else options.first + 1
    results = (options.directory / "every-eighth-expected.csv").read_bytes().decode().splitlines(keepends=True)[:lines]
    iterations = (options.directory / "every-eighth-iterations.csv").read_text().splitlines()[:lines]
    means = [float(line.split(",")[1]) for line in results[1:]]
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        for solver in "jacobi", "fastforward":
            file = pathlib.Path(scratch) / f"{solver}.h5"
            output_of(options.wallheat, "run", "--data", plans, "--out", file, "--solver", solver, "--device", "cpu",
                      "--first", options.first or 0, "--progress", "none", "--log-level", "warning")
            rows = list(csv.DictReader(output_of(options.wallheat, "list", file, "--format", "csv",
                                                 "--columns", "id,iterations,mean_temp").splitlines()))
            counts = [iterations[0]] + [f"{row['id']},{row['iterations']}" for row in rows]
            problems += differences(iterations, counts, f"iterations of {solver}")
            if solver == "jacobi":
                problems += differences(results, output_of(options.wallheat, "export", file).splitlines(keepends=True),
                                        "results")
            else:
                problems += [f"plan {row['id']}: {solver}'s mean is {row['mean_temp']}, jacobi's {mean}"
                             for mean, row in zip(means, rows)
                             if not abs(float(row["mean_temp"]) - mean) <= MEAN_TOLERANCE]
    print("\n".join(problems) or f"{len(means)} real plans: published results and iterations")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
