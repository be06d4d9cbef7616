#!/usr/bin/python3
"""The headline: wallheat and a plain NumPy program print the same results, byte for byte.

  test_headline.py WALLHEAT                  generated plans
  test_headline.py WALLHEAT --plans DIR      the plans of DIR, whose published results are DIR/expected.csv

Exit status: 0 equal, 1 different, 77 skipped, with the reason on stdout.
"""

import argparse
import pathlib
import shutil
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError:
    print("skipped: /usr/bin/python3 has no NumPy (apt-get install python3-numpy)")
    sys.exit(77)
try:
    import h5py
except ImportError:
    h5py = None

NUMPY_PROGRAM = pathlib.Path(__file__).parents[2] / "jobs/examples/reference.py"

# Seed, size and number of generated plans. Every tenth plan extends over an edge of the grid.
GENERATED = [(1, 32, 10), (2, 64, 10), (3, 101, 4), (4, 160, 2), (5, 257, 1), (6, 512, 1)]


def output_of(*command):
    run = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, check=False)
    if run.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))} ended with status {run.returncode}")
    return run.stdout


def require_same_text(expected, actual, subject):
    """Compares bytes."""
    if expected == actual:
        return
    lines = zip(expected.splitlines(), actual.splitlines())
    unequal = [f"  {a.decode()}\n  {b.decode()}" for a, b in lines if a != b]
    sys.exit(f"{subject} differ:\n" + "\n".join(unequal or ["  in their number of lines"]))


def require_same_bits(expected, actual, subject):
    """Compares bits, so that a NaN equals itself and -0.0 is not 0.0."""
    expected, actual = np.asarray(expected), np.asarray(actual)
    if expected.shape != actual.shape or expected.dtype != actual.dtype:
        sys.exit(f"{subject}: {expected.dtype} {expected.shape} and {actual.dtype} {actual.shape}")
    if expected.tobytes() != actual.tobytes():
        sys.exit(f"{subject}: {np.sum(expected != actual)} of {expected.size} values differ")


def save(directory, plan_id, domain, interior):
    np.save(directory / f"{plan_id}_domain.npy", domain)
    np.save(directory / f"{plan_id}_interior.npy", interior)


def interior_without_edge(shape):
    return np.pad(np.ones((shape[0] - 2, shape[1] - 2), bool), 1)


def make_odd_plans(directory, domain, interior):
    """Cuts plans of shapes and data types that the generator does not make from a generated plan."""
    save(directory, "wide", domain[25:50], interior[25:50])
    save(directory, "tall", domain[:, 17:48], interior[:, 17:48])
    save(directory, "columns-first", np.asfortranarray(domain), np.asfortranarray(interior))
    save(directory, "float32", domain.astype(np.float32), interior.astype(np.uint8))
    save(directory, "no-interior", domain, np.zeros_like(interior))
    save(directory, "one-cell", np.zeros((1, 1)), np.ones((1, 1), bool))
    # Interior cells only, with initial values that need all digits.
    uneven = np.random.default_rng(1).uniform(-40, 90, (37, 53))
    save(directory, "no-walls", uneven, np.ones(uneven.shape, bool))
    # A hall so large that the iteration reaches the default limit before the tolerance.
    inside = interior_without_edge((177, 189))
    hall = np.where(inside, 0.0, 5.0)
    hall[:, -1] = 25.0
    save(directory, "hall", hall, inside)


def make_plans(wallheat, directory):
    for seed, size, count in GENERATED:
        made = directory / "generated"
        output_of(wallheat, "generate", "--out", made, "--seed", seed, "--size", size, "--count", count, "--overwrite")
        for plan_id in (made / "building_ids.txt").read_text().split():
            for array in ("domain", "interior"):
                (made / f"{plan_id}_{array}.npy").rename(directory / f"size{size}-{plan_id}_{array}.npy")
    source = directory / "size64-00001"
    make_odd_plans(directory, np.load(f"{source}_domain.npy"), np.load(f"{source}_interior.npy"))
    # The order differs from that of the names.
    ids = sorted(file.name.removesuffix("_domain.npy") for file in directory.glob("*_domain.npy"))
    np.random.default_rng(1).shuffle(ids)
    (directory / "building_ids.txt").write_text("".join(plan_id + "\n" for plan_id in ids))


def require_same_rows(results, expected):
    """Compares a result file with the field, the iterations and the last delta of each plan."""
    if h5py is None:
        print("not compared, as /usr/bin/python3 has no h5py (apt-get install python3-h5py): fields, iterations, last changes")
        return
    with h5py.File(results) as file:
        rows = {row["id"].decode(): row for row in file["rows"][:]}
        if rows.keys() != expected.keys():
            sys.exit(f"{results} has the plans {sorted(rows)}, and not {sorted(expected)}")
        for plan_id, (field, iterations, last_change) in expected.items():
            row = rows[plan_id]
            require_same_bits(field, file[f"fields/{plan_id}"][:], f"plan {plan_id}: the fields")
            require_same_bits(last_change, row["last_delta"], f"plan {plan_id}: the last changes")
            if iterations != row["iterations"]:
                sys.exit(f"plan {plan_id}: {iterations} and {row['iterations']} iterations")


def require_same_results(wallheat, plans, data, scratch, limits=()):
    """Solves `plans` with both programs, wallheat from `data`. Returns the CSV and the numbers of iterations."""
    scratch.mkdir()
    csv = output_of(sys.executable, NUMPY_PROGRAM, plans, "--fields", scratch, *limits)
    results = scratch / "results.h5"
    output_of(wallheat, "run", "--data", data, "--out", results, "--save-fields", "--progress", "none", *limits)
    require_same_text(csv, output_of(wallheat, "export", results), "the output of NumPy and the export")
    expected = {}
    for file in scratch.glob("*.npz"):
        result = np.load(file)
        expected[file.stem] = result["field"], int(result["iterations"]), result["last_delta"]
    require_same_rows(results, expected)
    return csv, {plan_id: iterations for plan_id, (_, iterations, _) in expected.items()}


def compare_generated(wallheat, scratch):
    plans = scratch / "plans"
    plans.mkdir()
    make_plans(wallheat, plans)
    csv, iterations = require_same_results(wallheat, plans, plans, scratch / "default")
    if (iterations["hall"], iterations["no-interior"]) != (20000, 0) or b"no-interior, nan, nan, nan, nan\n" not in csv:
        sys.exit("hall does not stop at the iteration limit, or no-interior is not empty")
    archive = shutil.make_archive(str(scratch / "archive"), "zip", scratch, "plans")
    require_same_results(wallheat, plans, archive, scratch / "limits", ("--tolerance", "0.001", "--max-iterations", "137"))


def poisson(source, spacing, tolerance, max_iterations):
    """Poisson's equation on a plate with edges of 0, as courses write it with NumPy's slices.

    Returns the field, the number of iterations and the last change, of which the squares are added by numpy.sum.
    """
    old = np.zeros(source.shape)
    iterations, change = 0, np.nan
    while iterations < max_iterations and not change < tolerance:
        new = old.copy()
        new[1:-1, 1:-1] = 0.25 * (old[:-2, 1:-1] + old[2:, 1:-1] + old[1:-1, :-2] + old[1:-1, 2:]
                                  + spacing**2 * source[1:-1, 1:-1])
        change = np.sqrt(np.sum((new - old) ** 2))
        old, iterations = new, iterations + 1
    return old, iterations, change


def compare_poisson(wallheat, scratch):
    """Plates with sources, wide and tall ones among them, from a directory and from a zip archive."""
    plates = scratch / "plates"
    output_of(wallheat, "generate", "--kind", "poisson", "--out", plates, "--size", 48, "--count", 4)
    random = np.random.default_rng(2)
    for plan_id, shape in ("wide", (20, 61)), ("tall", (45, 13)):
        save(plates, plan_id, np.zeros(shape), interior_without_edge(shape))
        np.save(plates / f"{plan_id}_source.npy", random.normal(0, 500, shape))
    (plates / "building_ids.txt").unlink()
    archive = shutil.make_archive(str(scratch / "plates"), "zip", plates)
    spacing, tolerance, limit = 0.03, 1e-5, 5000
    expected = {file.name.removesuffix("_source.npy"): poisson(np.load(file), spacing, tolerance, limit)
                for file in plates.glob("*_source.npy")}
    for data, results in (plates, scratch / "of-plates.h5"), (archive, scratch / "of-archive.h5"):
        output_of(wallheat, "run", "--data", data, "--out", results, "--save-fields", "--progress", "none", "--norm", "l2",
                  "--spacing", spacing, "--tolerance", tolerance, "--max-iterations", limit)
        require_same_rows(results, expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wallheat", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("--plans", type=pathlib.Path, metavar="DIR")
    arguments = parser.parse_args()
    if arguments.plans and not (arguments.plans / "expected.csv").is_file():
        print(f"skipped: the real floor plans and their published results are not in {arguments.plans}")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        scratch, plans = pathlib.Path(folder), arguments.plans
        if plans:
            csv = require_same_results(arguments.wallheat, plans, plans, scratch / "published")[0]
            require_same_text((plans / "expected.csv").read_bytes(), csv, "the published results and the output of NumPy")
        else:
            compare_generated(arguments.wallheat, scratch)
            compare_poisson(arguments.wallheat, scratch)
    print("equal to the last bit")


if __name__ == "__main__":
    main()
