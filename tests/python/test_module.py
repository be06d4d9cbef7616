#!/usr/bin/python3
"""The installed Python module: test_module.py PROGRAM, with the module in PYTHONPATH.

Exit status: 0 all went well; 1 something did not; 77 there is no module, or no pandas.
"""

import json
import math
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import unittest

try:
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

    def test_has_the_default_and_the_names_of_the_published_function(self):
        u, interior = random_plan(np.random.default_rng(1), 12, 9)
        self.assertEqual(wallheat.jacobi(u=u, interior_mask=interior, max_iter=5000).tobytes(),
                         numpy_jacobi(u, interior, 5000).tobytes())

    def test_ends_at_the_limit_of_iterations_and_with_any_atol(self):
        u, interior = random_plan(np.random.default_rng(2), 12, 9)
        for max_iter, atol in (0, 1e-6), (1, 1e-6), (37, 0.0), (37, -1.0), (37, math.nan), (37, math.inf):
            self.assertEqual(wallheat.jacobi(u, interior, max_iter, atol).tobytes(),
                             numpy_jacobi(u, interior, max_iter, atol).tobytes(), f"{max_iter}, {atol}")

    def test_changes_no_digit_of_a_script_that_imports_it(self):
        script = """
import sys
import numpy as np
{}
for plan in sys.argv[2:]:
    u = np.zeros((66, 66))
    u[1:-1, 1:-1] = np.load(f"{{sys.argv[1]}}/{{plan}}_domain.npy")
    interior = np.load(f"{{sys.argv[1]}}/{{plan}}_interior.npy")
    inside = jacobi(u, interior, 20_000, 1e-4)[1:-1, 1:-1][interior]
    print(plan, inside.mean(), inside.std(), np.sum(inside > 18) / inside.size * 100, np.sum(inside < 15) / inside.size * 100)
"""
        folders = os.pathsep.join([os.path.dirname(__file__), *sys.path])
        with tempfile.TemporaryDirectory() as directory:
            subprocess.run([PROGRAM, "generate", "--out", directory, "--count", "3", "--size", "64"], check=True,
                           stdout=subprocess.DEVNULL)
            printed = [subprocess.run([sys.executable, "-c", script.format(line), directory, "00001", "00002", "00003"],
                                      check=True, capture_output=True, text=True,
                                      env=dict(os.environ, PYTHONPATH=folders)).stdout
                       for line in ("from test_module import numpy_jacobi as jacobi", "from wallheat import jacobi")]
        self.assertEqual(len(printed[0].splitlines()), 3)
        self.assertEqual(printed[0], printed[1])


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
        for end in ".h5", ".h5.wal0":
            if (DATA / (name + end)).exists():
                shutil.copy(DATA / (name + end), self.folder)
        return wallheat.open(self.folder / (name + ".h5"))

    def test_rows_are_those_of_the_export(self):
        for name in "plain", "fields", "killed":
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

    def test_columns_have_types_and_meanings(self):
        rows = self.kept("plain").rows
        self.assertIsInstance(rows, pd.DataFrame)
        self.assertEqual(list(rows.columns), list(wallheat.column_meanings()))
        self.assertEqual((rows["iterations"].dtype, rows["mean_temp"].dtype), (np.int64, np.float64))
        self.assertEqual(set(rows["status"]), {"converged"})
        self.assertIn("°C", wallheat.column_meanings()["mean_temp"])

    def test_fields_are_those_that_h5py_reads(self):
        import h5py  # pylint: disable=import-outside-toplevel
        results = self.kept("fields")
        with h5py.File(self.folder / "fields.h5") as file:
            expected = file["fields/00004"][:]
        self.assertEqual(results.field("00004").tobytes(), expected.tobytes())
        self.assertTrue(results.closed_well)
        with self.assertRaisesRegex(LookupError, "no plan with the ID 'nobody'"):
            results.field("nobody")
        with self.assertRaisesRegex(LookupError, "no field of plan 00001"):
            results.field("00001")

    def test_a_killed_file_has_what_its_journal_holds(self):
        results = self.kept("killed")
        self.assertFalse(results.closed_well)
        self.assertEqual(list(results.rows.query("status != 'pending'")["id"]), ["00001", "00003", "00005"])
        self.assertEqual(results.field("00003").shape, (24, 24))
        self.assertEqual(results.settings["solver"], "jacobi")
        self.assertEqual(len(results.sessions), 1)
        self.assertEqual(results.damage, [])

    def test_damage_is_told(self):
        data = bytearray((DATA / "plain.h5").read_bytes())
        place = data.rindex(b"00004")  # in its row; what follows the text counts, too
        data[place + 20] ^= 1
        (self.folder / "damaged.h5").write_bytes(data)
        self.assertTrue(wallheat.open(self.folder / "damaged.h5").damage)


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.plans, self.out = os.path.join(folder.name, "plans"), pathlib.Path(folder.name) / "results.h5"
        subprocess.run([PROGRAM, "generate", "--out", self.plans, "--count", "4", "--size", "64"], check=True,
                       stdout=subprocess.DEVNULL)

    def test_tells_of_each_plan_and_stores_it(self):
        events = []
        ended = wallheat.run(self.plans, self.out, progress=events.append, program=PROGRAM, save_fields=True,
                             solver="steady", threads=1)
        self.assertEqual(ended.status, 0)
        self.assertIn("solved 4", ended.output)
        self.assertEqual((events[0]["event"], events[-1]["event"]), ("run_started", "run_finished"))
        self.assertEqual({event["id"] for event in events if event["event"] == "result"},
                         {"00001", "00002", "00003", "00004"})
        results = wallheat.open(self.out)
        self.assertEqual(set(results.rows["status"]), {"converged"})
        self.assertEqual(results.settings["solver"], "steady")
        solution = wallheat.solve(np.load(self.plans + "/00002_domain.npy"), np.load(self.plans + "/00002_interior.npy"),
                                  solver="steady")
        self.assertEqual(results.field("00002").tobytes(), solution.field.tobytes())
        self.assertEqual(wallheat.run(self.plans, self.out, program=PROGRAM, resume=True, solver="steady", progress=None,
                                      overwrite=False, save_fields=True).status, 0)

    def test_an_option_of_several_values_takes_a_list(self):
        self.assertEqual(wallheat.run(self.plans, self.out, program=PROGRAM, id=["00003", "00001"]).status, 0)
        self.assertEqual(list(wallheat.open(self.out).rows["id"]), ["00003", "00001"])

    def test_says_that_plans_failed(self):
        os.remove(self.plans + "/00003_interior.npy")
        self.assertEqual(wallheat.run(self.plans, self.out, program=PROGRAM).status, 3)
        failed = wallheat.open(self.out).rows.query("status == 'failed'")
        self.assertEqual(list(failed["id"]), ["00003"])
        self.assertIn("00003_interior.npy", failed["error"].iloc[0])

    def test_raises_what_the_program_refuses(self):
        with self.assertRaisesRegex(ValueError, "no option '--colour'"):
            wallheat.run(self.plans, self.out, program=PROGRAM, colour="red")
        with self.assertRaisesRegex(RuntimeError, "nowhere"):
            wallheat.run("nowhere", self.out, program=PROGRAM)
        with self.assertRaisesRegex(RuntimeError, "there is no program unheard-of"):
            wallheat.run(self.plans, self.out, program="unheard-of")

    def test_can_be_looked_at_and_stopped_by_ctrl_c_while_it_runs(self):
        living = []

        def interrupt(event):
            if event["event"] == "start" and not living:
                living.append(wallheat.open(self.out))
                os.kill(os.getpid(), signal.SIGINT)

        with self.assertRaises(KeyboardInterrupt):
            wallheat.run(self.plans, self.out, progress=interrupt, program=PROGRAM, tolerance=0, max_iterations=10**12)
        self.assertFalse(living[0].closed_well)
        self.assertTrue(wallheat.open(self.out).closed_well)
        self.assertEqual(set(living[0].rows["status"]), {"pending"})
        self.assertEqual(living[0].settings["max_iterations"], str(10**12))

    def test_ends_by_what_the_callback_raises(self):
        def refuse(_event):
            raise ArithmeticError("enough")

        with self.assertRaisesRegex(ArithmeticError, "enough"):
            wallheat.run(self.plans, self.out, progress=refuse, program=PROGRAM)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
