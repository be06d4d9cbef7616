#!/usr/bin/python3
"""The installed Python module: test_module.py PROGRAM, with the module in PYTHONPATH.

Exit status: 0 all went well; 1 something did not; 77 there is no module, no h5py or no pandas.
"""

import json
import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

try:
    import h5py
    import numpy as np
    import pandas as pd
    import wallheat
except ImportError as error:
    print(f"skipped: {error} (jobs/install-packages.sh tests installs what the module and its tests take)")
    sys.exit(77)

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
PROGRAM = ""  # the first argument


def numpy_jacobi(u, interior_mask, max_iter, atol=1e-6):
    """The published algorithm, in NumPy."""
    u = u.copy()
    inside = u[1:-1, 1:-1]
    for _ in range(max_iter):
        old = inside[interior_mask]
        new = (0.25 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]))[interior_mask]
        inside[interior_mask] = new
        if np.abs(old - new).max() < atol:
            break
    return u


def random_plan(random, rows, cols):
    """With a ring around it, and room up to the edges."""
    u = random.choice([0.0, -0.0, 5.0, 25.0, -3.7, 1e-300], (rows + 2, cols + 2))
    interior = random.random((rows, cols)) < 0.8
    interior[rows // 2, cols // 2] = True
    return u, interior


class Jacobi(unittest.TestCase):
    def test_gives_the_bits_of_numpy(self):
        random = np.random.default_rng(2613)
        for rows, cols in (1, 1), (1, 30), (7, 5), (33, 64), (70, 129):
            for atol in 1e-1, 1e-4:
                u, interior = random_plan(random, rows, cols)
                before = u.copy()
                ours = wallheat.jacobi(u, interior, 2000, atol)
                theirs = numpy_jacobi(u, interior, 2000, atol)
                self.assertEqual(ours.tobytes(), theirs.tobytes(), f"{rows} x {cols}, {atol}")
                self.assertEqual(u.tobytes(), before.tobytes(), "u was changed")

    def test_ends_at_the_limit_of_iterations_and_with_any_atol(self):
        u, interior = random_plan(np.random.default_rng(2), 12, 9)
        self.assertEqual(wallheat.jacobi(u=u, interior_mask=interior, max_iter=5000).tobytes(),
                         numpy_jacobi(u, interior, 5000).tobytes(), "the published names and default")
        for max_iter, atol in (0, 1e-6), (1, 1e-6), (37, 0.0), (37, -1.0), (37, math.nan), (37, math.inf):
            self.assertEqual(wallheat.jacobi(u, interior, max_iter, atol).tobytes(),
                             numpy_jacobi(u, interior, max_iter, atol).tobytes(), f"{max_iter}, {atol}")


class Solve(unittest.TestCase):
    def setUp(self):
        random = np.random.default_rng(5)
        self.interior = random.random((40, 50)) < 0.9
        self.domain = np.where(self.interior, 0.0, random.choice([5.0, 25.0], (40, 50)))

    def test_gives_the_published_iterate_and_its_statistics(self):
        solution = wallheat.solve(self.domain, self.interior)
        u = np.pad(self.domain, 1)
        self.assertEqual(solution.field.tobytes(), numpy_jacobi(u, self.interior, 20000, 1e-4)[1:-1, 1:-1].tobytes())
        inside = solution.field[self.interior]
        self.assertEqual(solution.mean_temp, inside.mean())
        self.assertEqual(solution.std_temp, inside.std())
        self.assertEqual(solution.pct_above_18, (inside > 18).mean() * 100)
        self.assertEqual(solution.pct_below_15, (inside < 15).mean() * 100)
        self.assertTrue(solution.converged)
        self.assertLess(solution.last_delta, 1e-4)
        self.assertEqual(wallheat.solve(self.domain, self.interior, max_iterations=3).iterations, 3)

    def test_a_gpu_is_asked_for_by_name(self):
        domain, interior = np.full((16, 16), 5.0), np.pad(np.ones((14, 14), bool), 1)
        np.testing.assert_array_equal(wallheat.solve(domain, interior, device="cpu").field,
                                      wallheat.solve(domain, interior).field)
        with self.assertRaisesRegex(ValueError, "device must be one of cpu, gpu, not 'tpu'"):
            wallheat.solve(domain, interior, device="tpu")
        with self.assertRaisesRegex(ValueError, "solver jacobi alone"):
            wallheat.solve(domain, interior, device="gpu", solver="steady")
        with self.assertRaisesRegex(RuntimeError, "built without CUDA"):
            wallheat.solve(domain, interior, device="gpu")

    def test_other_solvers_give_their_answers(self):
        iterate = wallheat.solve(self.domain, self.interior)
        fast = wallheat.solve(self.domain, self.interior, solver="fastforward")
        self.assertEqual(fast.iterations, iterate.iterations)
        np.testing.assert_allclose(fast.field, iterate.field, rtol=0, atol=1e-9)
        steady = wallheat.solve(self.domain, self.interior, solver="steady", accuracy=1e-9)
        self.assertLessEqual(steady.error_bound, 1e-9)
        u = np.pad(steady.field, 1)
        residual = 0.25 * (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]) - steady.field
        self.assertLess(np.abs(residual[self.interior]).max(), 1e-9)

    def test_a_source_its_spacing_and_the_norm_matter(self):
        domain, interior = np.zeros((9, 9)), np.ones((9, 9), bool)
        source = np.ones((9, 9))
        options = {"tolerance": 1e-10, "source": source}
        plain = wallheat.solve(domain, interior, **options)
        self.assertGreater(plain.field.min(), 0)
        np.testing.assert_allclose(wallheat.solve(domain, interior, spacing=2, **options).field, 4 * plain.field, rtol=1e-8)
        self.assertGreater(wallheat.solve(domain, interior, norm="l2", **options).iterations, plain.iterations)

    def test_the_field_outlives_the_solution(self):
        solution = wallheat.solve(self.domain, self.interior)
        field, total = solution.field, solution.field.sum()
        del solution
        field[0, 0] += 1
        self.assertAlmostEqual(field.sum(), total + 1)

    def test_prints_as_its_numbers(self):
        self.assertRegex(str(wallheat.solve(self.domain, self.interior)),
                         r"^Solution\(iterations=\d+, last_delta=[^,]+, converged=True, .*mean_temp=[^,]+, .*\)$")

    def test_a_plan_without_rooms_has_no_statistics(self):
        solution = wallheat.solve(self.domain, np.zeros_like(self.interior))
        self.assertEqual(solution.field.tobytes(), self.domain.tobytes())
        self.assertTrue(math.isnan(solution.mean_temp))


class Open(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def kept(self, name):
        for file in DATA.glob(name + ".h5*"):
            shutil.copy(file, self.folder)
        return wallheat.open(self.folder / (name + ".h5"))

    def test_rows_are_those_of_the_export(self):
        for name in "plain", "fields":
            rows = self.kept(name).rows
            for position, expected in enumerate(json.loads((DATA / (name + ".json")).read_text(encoding="utf-8"))):
                found = rows.iloc[position]
                self.assertEqual(found["index"], position)
                for column, value in expected.items():
                    got = f"{found[column]:016x}" if column == "input_hash" else found[column]
                    if value is None:
                        self.assertTrue(np.isnan(got), column)
                    elif rows[column].dtype == np.float32:
                        self.assertEqual(got, np.float32(value), column)
                    else:
                        self.assertEqual(got, value, f"{name}, row {position}, {column}")
            self.assertIsInstance(rows, pd.DataFrame)
            self.assertEqual((rows["iterations"].dtype, rows["mean_temp"].dtype), (np.int64, np.float64))

    def test_fields_are_those_of_the_file(self):
        results = self.kept("fields")
        with h5py.File(self.folder / "fields.h5") as file:
            expected = file["fields/00004"][:]
        self.assertEqual(results.field("00004").tobytes(), expected.tobytes())
        self.assertEqual((results.journals, results.settings["solver"], len(results.sessions)), ([], "jacobi", 1))
        self.assertEqual(repr(results), f"wallheat.open('{self.folder}/fields.h5')")
        for plan in "nobody", "", 4, None, "..":
            with self.assertRaisesRegex(LookupError, "no plan with the ID"):
                results.field(plan)
        with self.assertRaisesRegex(LookupError, "no field of plan 00001"):
            results.field("00001")

    def test_a_killed_file_has_its_rows_and_says_where_its_fields_are(self):
        results = self.kept("killed")
        self.assertEqual(list(results.rows.query("status != 'pending'")["id"]), ["00001", "00003", "00005"])
        self.assertEqual(results.journals, [str(self.folder / "killed.h5.wal0")])
        with self.assertRaisesRegex(LookupError, "it is in .*killed.h5.wal0: .* 'wallheat repair .*killed.h5'"):
            results.field("00003")
        ended = subprocess.run([PROGRAM, "repair", self.folder / "killed.h5"], check=False, stdout=subprocess.DEVNULL)
        self.assertEqual(ended.returncode, 75, "work is left")
        self.assertEqual((results.field("00003").shape, results.journals), ((24, 24), []))

    def test_ids_of_any_letters(self):
        plans, out = self.folder / "plans", self.folder / "odd [1].h5"
        subprocess.run([PROGRAM, "generate", "--out", plans, "--count", "1", "--size", "16"], check=True,
                       stdout=subprocess.DEVNULL)
        for file in plans.glob("00001*"):
            file.rename(plans / file.name.replace("00001", "50% é"))
        (plans / "building_ids.txt").write_text("50% é\n", encoding="utf-8")
        subprocess.run([PROGRAM, "run", "--data", plans, "--out", out, "--save-fields", "--log-level", "error"], check=True)
        for path in out, str(out), os.fsencode(out):
            self.assertEqual(wallheat.open(path).field("50% é").shape, (16, 16))

    def test_what_is_no_result_file_is_refused_and_closed(self):
        with h5py.File(self.folder / "other.h5", "w") as file:
            file["rows"] = 5
        (self.folder / "text.h5").write_text("no results")
        for name in "other.h5", "text.h5":
            with self.assertRaisesRegex(ValueError, f"{name} is no result file of wallheat"):
                wallheat.open(self.folder / name)
        with self.assertRaises(IsADirectoryError):
            wallheat.open(self.folder)
        for name in "missing.h5", "\udcff.h5":
            with self.assertRaisesRegex(FileNotFoundError, "No such file"):
                wallheat.open(self.folder / name)
        self.kept("fields").field("00004")
        files = [os.readlink(link) for link in pathlib.Path("/proc/self/fd").iterdir() if link.is_symlink()]
        self.assertEqual([file for file in files if file.startswith(str(self.folder))], [])


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
