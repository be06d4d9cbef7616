#!/usr/bin/python3
"""The installed Python module: test_module.py PROGRAM, with the module in PYTHONPATH.

Each call returns the bits of plain NumPy, or raises an exception of the documented type with a message of one line.
Exit status: 0 success; 1 failure; 77 the module, h5py or pandas is not installed.
"""

import decimal
import importlib.util
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock
from concurrent.futures import ThreadPoolExecutor

try:
    import h5py
    import numpy as np
    import pandas as pd
    import wallheat
except ImportError as error:
    print(f"skipped: {error} (jobs/install-packages.sh tests installs the requirements of the module and its tests)")
    sys.exit(77)

DATA = pathlib.Path(__file__).resolve().parents[1] / "data"
PROGRAM = ""  # the first argument
LIMIT = 150  # iterations
RANDOM = np.random.default_rng(29)
INTERIOR = RANDOM.random((12, 17)) < 0.8
DOMAIN = np.where(INTERIOR, 3.0, RANDOM.choice([5.0, 25.0, -7.0], INTERIOR.shape))
RING = np.pad(DOMAIN, 1, constant_values=2.5)


def numpy_jacobi(u, interior_mask, max_iter=LIMIT, atol=1e-6):
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


def solve(domain=DOMAIN, interior=INTERIOR, max_iterations=LIMIT, **more):
    return wallheat.solve(domain, interior, max_iterations=max_iterations, **more)


def jacobi(u=RING, interior_mask=INTERIOR, max_iter=LIMIT, **more):
    return wallheat.jacobi(u, interior_mask, max_iter, **more)


def solved(domain=DOMAIN, interior=INTERIOR, tolerance=1e-4, limit=LIMIT):
    """The field of solve() by NumPy."""
    return numpy_jacobi(np.pad(domain, 1), interior, limit, tolerance)[1:-1, 1:-1]


def changed(array, value):
    array = array.copy()
    array[3, 4] = value
    return array


def layouts(array):
    """Arrays that are equal to `array` and have other memory layouts."""
    rows, cols = array.shape
    wide = np.zeros((3 * rows, 2 * cols), array.dtype)
    wide[::3, ::2] = array
    readonly = array.copy()
    readonly.flags.writeable = False
    odd_address = np.frombuffer(np.zeros(array.nbytes + 1, np.uint8).data, array.dtype, array.size, 1).reshape(array.shape)
    odd_address[...] = array
    return {"Fortran order": np.asfortranarray(array), "steps": wide[::3, ::2], "unaligned": odd_address,
            "backwards": array[::-1, ::-1].copy()[::-1, ::-1], "read-only": readonly,
            "a slice of three dimensions": np.stack([array, array], 2)[:, :, 1]}


def mentions(text, fact):
    """Returns whether the text contains the fact as whole words."""
    return re.search(r"(?<!\w)" * (fact[:1].isalnum()) + re.escape(fact) + r"(?!\w)" * (fact[-1:].isalnum()), text) is not None


class Results(unittest.TestCase):
    def expect_field(self, expected, field, message=""):
        self.assertEqual(field.dtype, np.float64, message)
        self.assertTrue(field.flags.c_contiguous and field.flags.writeable, message)
        self.assertEqual((field.shape, field.tobytes()), (expected.shape, expected.tobytes()), message)

    def test_jacobi_is_bit_identical_to_numpy(self):
        random = np.random.default_rng(2613)
        for rows, cols in (1, 1), (1, 30), (7, 5), (33, 64), (70, 129):
            u = random.choice([0.0, -0.0, 5.0, 25.0, -3.7, 1e-300], (rows + 2, cols + 2))
            interior = random.random((rows, cols)) < 0.8
            interior[rows // 2, cols // 2] = True
            for atol in 1e-1, 1e-4:
                before = u.copy()
                self.expect_field(numpy_jacobi(u, interior, 2000, atol), wallheat.jacobi(u, interior, 2000, atol), (rows, cols))
                self.assertEqual(u.tobytes(), before.tobytes(), "u was changed")
        for limit, atol in (0, 1e-6), (1, 1e-6), (37, 0.0), (37, -1.0), (37, math.nan), (37, math.inf):
            self.expect_field(numpy_jacobi(RING, INTERIOR, limit, atol), jacobi(max_iter=limit, atol=atol), (limit, atol))
        self.expect_field(numpy_jacobi(RING, INTERIOR, 5000), wallheat.jacobi(u=RING, interior_mask=INTERIOR, max_iter=5000))
        for value in 5e-324, -0.0, -1e300:
            self.expect_field(numpy_jacobi(changed(RING, value), INTERIOR), jacobi(changed(RING, value)), value)

    def test_solve_returns_the_published_iterate_and_its_statistics(self):
        solution = wallheat.solve(DOMAIN, INTERIOR)
        self.expect_field(solved(limit=20000), solution.field)
        inside = solution.field[INTERIOR]
        self.assertEqual((solution.mean_temp, solution.std_temp), (inside.mean(), inside.std()))
        self.assertEqual(solution.pct_above, (inside > 18).mean() * 100)
        self.assertEqual(solution.pct_below, (inside < 15).mean() * 100)
        self.assertTrue(solution.converged)
        self.assertLess(solution.last_delta, 1e-4)
        self.assertEqual(solve(max_iterations=3).iterations, 3)
        self.assertRegex(str(solution), r"^Solution\(iterations=\d+, last_delta=[^,]+, converged=True, .*mean_temp=[^,]+, ")
        field, total = solution.field, solution.field.sum()
        del solution
        field[0, 0] += 1  # the field outlives the solution
        self.assertAlmostEqual(field.sum(), total + 1)
        roomless = solve(interior=np.zeros_like(INTERIOR))
        self.expect_field(DOMAIN, roomless.field)
        self.assertTrue(math.isnan(roomless.mean_temp))

    def test_other_solvers_return_their_results(self):
        iterate = wallheat.solve(DOMAIN, INTERIOR)
        fast = wallheat.solve(DOMAIN, INTERIOR, solver="fastforward")
        self.assertEqual(fast.iterations, iterate.iterations)
        np.testing.assert_allclose(fast.field, iterate.field, rtol=0, atol=1e-9)
        steady = wallheat.solve(DOMAIN, INTERIOR, solver="steady", accuracy=1e-9)
        self.assertLessEqual(steady.error_bound, 1e-9)
        self.assertLess(np.abs(numpy_jacobi(np.pad(steady.field, 1), INTERIOR, 1)[1:-1, 1:-1] - steady.field).max(), 1e-9)

    def test_heat_source_spacing_and_norm_take_effect(self):
        domain, interior = np.zeros((9, 9)), np.ones((9, 9), bool)
        options = {"tolerance": 1e-10, "source": np.ones((9, 9))}
        plain = wallheat.solve(domain, interior, **options)
        self.assertGreater(plain.field.min(), 0)
        np.testing.assert_allclose(wallheat.solve(domain, interior, spacing=2, **options).field, 4 * plain.field, rtol=1e-8)
        self.assertGreater(wallheat.solve(domain, interior, norm="l2", **options).iterations, plain.iterations)

    def test_accepts_any_layout_shape_and_type(self):
        more = {"a frame": pd.DataFrame, "a list": np.ndarray.tolist}
        for name, domain in (layouts(DOMAIN) | {name: make(DOMAIN) for name, make in more.items()}).items():
            self.expect_field(solved(), solve(domain).field, name)
        for name, interior in (layouts(INTERIOR) | {name: make(INTERIOR) for name, make in more.items()}).items():
            self.expect_field(solved(), solve(interior=interior).field, name)
            self.expect_field(numpy_jacobi(RING, INTERIOR), jacobi(interior_mask=interior), name)
        for name, u in (layouts(RING) | {"the other byte order": RING.astype(">f8")}).items():
            self.expect_field(numpy_jacobi(RING, INTERIOR), jacobi(u), name)
        for dtype in "f2", ">f4", "<f8", ">f8", "i1", ">i2", "i4", ">i8":
            self.expect_field(solved(), solve(DOMAIN.astype(dtype), INTERIOR.astype(dtype)).field, dtype)
        for dtype in "u1", ">u4", "u8":
            self.expect_field(solved(np.abs(DOMAIN)), solve(np.abs(DOMAIN).astype(dtype), INTERIOR.astype(dtype)).field, dtype)
        for shape in (1, 1), (1, 40), (40, 1), (2, 2):
            domain, interior = np.full(shape, 7.0), np.ones(shape, bool)
            self.expect_field(solved(domain, interior), solve(domain, interior).field, shape)
        for number in 0.25, np.float32(0.25), decimal.Decimal("0.25"):
            self.expect_field(solved(tolerance=0.25), solve(tolerance=number, max_iterations=np.int16(LIMIT)).field, number)

    def test_concurrent_threads_get_their_own_results(self):
        with ThreadPoolExecutor(16) as pool:
            for shift, answer in enumerate(pool.map(lambda shift: solve(DOMAIN + shift).field, range(40))):
                self.expect_field(solved(DOMAIN + shift), answer)

    def test_ctrl_c_stops_each_solver_and_a_script_exits_while_daemon_threads_solve(self):
        # No solver converges: they run until they are stopped.
        script = """
import os, signal, sys, threading
import numpy as np, wallheat
random = np.random.default_rng(1)
interior = random.random((300, 300)) < 0.95
domain = np.where(interior, 5.0, 25.0)
def endless(solver):
    began.set()
    while True:
        wallheat.solve(domain, interior, tolerance=0, max_iterations=10**15, solver=solver, accuracy=1e-9)
def interrupt():
    began.wait()
    os.kill(os.getpid(), signal.SIGINT)
began = threading.Event()
threading.Thread(target=interrupt).start()
try:
    endless(sys.argv[1])
except KeyboardInterrupt:
    assert wallheat.solve(domain, interior, max_iterations=3).iterations == 3
    print("interrupted")
def again_and_again():
    while True:
        wallheat.solve(domain[:9, :9], interior[:9, :9], max_iterations=3, solver=sys.argv[1])
        solved.set()
solved = threading.Event()
began.clear()
threading.Thread(target=endless, args=["jacobi"], daemon=True).start()
threading.Thread(target=again_and_again, daemon=True).start()
threading.Thread(target=again_and_again, daemon=True).start()
began.wait()
solved.wait()
"""
        for solver in "jacobi", "fastforward", "steady":
            ended = subprocess.run([sys.executable, "-c", script, solver], capture_output=True, text=True, check=False,
                                   timeout=300)
            self.assertEqual((ended.stderr, ended.returncode, ended.stdout), ("", 0, "interrupted\n"), solver)


class ErrorMessages(unittest.TestCase):
    def expect_error(self, error, facts, call, **arguments):
        """Expects an exception of this type with a message of one line that mentions all facts."""
        with self.assertRaises(Exception) as raised:
            call(**arguments)
        message = str(raised.exception)
        self.assertIsInstance(raised.exception, error, message)
        for fact in facts:
            self.assertTrue(mentions(message, fact), f"{fact!r} is not in: {message}")
        self.assertNotIn("\n", message)
        self.assertLess(len(message), 400)

    def test_rejects_types_that_are_not_numeric(self):
        for dtype in "?", "c16", "g", "O", "S4", "U4", "M8[s]", "V8", [("a", "f8")]:
            values = np.zeros(DOMAIN.shape, dtype)
            name = str(values.dtype)
            self.expect_error(ValueError, ["domain", "float64", name], solve, domain=values)
            self.expect_error(ValueError, ["source", "float64", name], solve, source=values)
            if dtype not in ("?", "g"):
                self.expect_error(ValueError, ["interior", "bool", name], solve, interior=values)
        for dtype in "f4", "i8", "g", "O":
            self.expect_error(ValueError, ["u", "float64"], jacobi, u=RING.astype(dtype))
        for dtype in "u1", "f8", "O":
            self.expect_error(ValueError, ["interior_mask", "bool"], jacobi, interior_mask=INTERIOR.astype(dtype))

    def test_rejects_shapes_that_do_not_match(self):
        for shape in (), (12 * 17,), (1, 12, 17), (12, 17, 1):
            self.expect_error(ValueError, ["domain", "dimensions", str(shape)], solve, domain=np.zeros(shape),
                              interior=np.zeros(shape, bool))
            self.expect_error(ValueError, ["u", "dimensions", str(shape)], jacobi, u=np.zeros(shape))
        for value in None, "plan", {}, object():
            self.expect_error(ValueError, ["domain", "dimensions", "()"], solve, domain=value, interior=value)
        self.expect_error(ValueError, ["domain", "cells", "(0, 5)"], solve, domain=np.zeros((0, 5)), interior=np.zeros((0, 5)))
        self.expect_error(ValueError, ["inhomogeneous"], solve, domain=[[1, 2], [3]])
        self.expect_error(ValueError, ["domain", "(12, 17)", "interior", "(17, 12)"], solve, interior=INTERIOR.T)
        self.expect_error(ValueError, ["domain", "(12, 17)", "source", "(17, 12)"], solve, source=DOMAIN.T)
        self.expect_error(ValueError, ["u", "(12, 17)", "interior_mask"], jacobi, u=DOMAIN)
        for many in 10**6, 10**9:
            arguments = {"domain": np.broadcast_to(np.float32(0), (many, many)), "interior": np.broadcast_to(True, (many, many))}
            with self.assertRaisesRegex((MemoryError, ValueError), "allocate|too big|memory"):  # messages of NumPy
                solve(**arguments)
            self.expect_error((MemoryError, ValueError), [], solve, **arguments)

    def test_rejects_invalid_values(self):
        for value in math.nan, -math.inf, 1e301:
            self.expect_error(ValueError, ["domain", "row 3", "column 4"], solve, domain=changed(DOMAIN, value))
            self.expect_error(ValueError, ["source", "row 3", "column 4"], solve, source=changed(DOMAIN, value))
            self.expect_error(ValueError, ["interior", "row 3", "column 4"], solve,
                              interior=changed(INTERIOR.astype(float), value))
            self.expect_error(ValueError, ["u", "row 3", "column 4"], jacobi, u=changed(RING, value))
        for value in 2**53, -2**63:
            self.expect_error(ValueError, ["domain", "row 3", "column 4", "float64"], solve,
                              domain=changed(DOMAIN.astype(np.int64), value))
        self.expect_error(ValueError, ["interior", "row 3", "column 4", "0", "1"], solve,
                          interior=changed(INTERIOR.astype(int), 2))
        self.expect_error(ValueError, ["domain", "masked array"], solve, domain=np.ma.masked_less(DOMAIN, 6))

    def test_rejects_invalid_options(self):
        for number in math.nan, math.inf, -5e-324, 10**400:
            for name in "tolerance", "accuracy", "spacing":
                self.expect_error(ValueError, [name], solve, **{name: number})
        for number in 1j, None, "warm", np.zeros(3):
            self.expect_error(TypeError, ["tolerance"], solve, tolerance=number)
            self.expect_error(TypeError, ["atol"], jacobi, atol=number)
        self.expect_error(ValueError, ["max_iterations", "2**63"], solve, max_iterations=2**70)
        for number in 0, -2**80:
            self.expect_error(ValueError, ["max_iterations"], solve, max_iterations=number)
        for number in 1.5, "7", None:
            self.expect_error(TypeError, ["max_iterations"], solve, max_iterations=number)
        for word in "", "JACOBI", "\ud800", "jacobi\0", b"jacobi", None:
            self.expect_error(ValueError, ["solver", "jacobi", "fastforward", "steady"], solve, solver=word)
            self.expect_error(ValueError, ["norm", "max", "l2"], solve, norm=word)
        self.expect_error(TypeError, ["colour"], solve, colour="red")
        self.expect_error(ValueError, ["device", "cpu", "gpu", "tpu"], solve, device="tpu")
        self.expect_error(ValueError, ["solver", "jacobi"], solve, device="gpu", solver="steady")
        self.expect_error(RuntimeError, ["CUDA"], solve, device="gpu")


class ResultFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def open_test_data(self, name):
        for file in DATA.glob(name + ".h5*"):
            shutil.copy(file, self.folder)
        return wallheat.open(self.folder / (name + ".h5"))

    def expect_lookup_error(self, results, plan, facts):
        with self.assertRaises(LookupError) as raised:
            results.field(plan)
        for fact in facts:
            self.assertTrue(mentions(str(raised.exception), fact), f"{fact!r} is not in: {raised.exception}")

    def test_rows_equal_those_of_the_list_command(self):
        results = self.open_test_data("fields")
        rows = results.rows
        listed = subprocess.run([PROGRAM, "list", "--columns", "all", "--json", self.folder / "fields.h5"],
                                check=True, stdout=subprocess.PIPE).stdout
        for position, expected in enumerate(json.loads(listed)["plans"]):
            found = rows.iloc[position]
            self.assertEqual(found["index"], position)
            # The thresholds of the counts are settings in Python, not columns.
            for threshold in ("above", "below"):
                self.assertEqual(results.settings[threshold], expected.pop(threshold))
            for column, value in expected.items():
                got = f"{found[column]:016x}" if column == "input_hash" else found[column]
                if value is None:
                    self.assertTrue(np.isnan(got), column)
                elif rows[column].dtype == np.float32:
                    self.assertEqual(got, np.float32(value), column)
                else:
                    self.assertEqual(got, value, f"row {position}, {column}")
        self.assertIsInstance(rows, pd.DataFrame)
        self.assertEqual((rows["iterations"].dtype, rows["mean_temp"].dtype), (np.int64, np.float64))

    def test_fields_equal_those_of_the_file(self):
        results = self.open_test_data("fields")
        with h5py.File(self.folder / "fields.h5") as file:
            expected = file["fields/00004"][:]
        self.assertEqual(results.field("00004").tobytes(), expected.tobytes())
        self.assertEqual((results.journals, results.settings["solver"], len(results.sessions)), ([], "jacobi", 1))
        self.assertEqual(repr(results), f"wallheat.open('{self.folder}/fields.h5')")
        for plan in "nobody", "", 4, None, "..":
            self.expect_lookup_error(results, plan, ["fields.h5", repr(plan)])
        self.expect_lookup_error(results, "00001", ["fields.h5", "00001", "--save-fields"])

    def solve(self, *options, sizes=(24,)):
        """Returns the results of a run of plans of these sizes, three of each."""
        for size in sizes:
            subprocess.run([PROGRAM, "generate", "--out", self.folder / str(size), "--count", "3", "--size", str(size)],
                           check=True, stdout=subprocess.DEVNULL)
        plans = self.folder / "plans"
        plans.mkdir()
        for size in sizes:
            for file in (self.folder / str(size)).glob("0*.npy"):
                file.rename(plans / f"{size}-{file.name}")
        subprocess.run([PROGRAM, "run", "--data", plans, "--out", self.folder / "r.h5", "--log-level", "error", *options],
                       check=True)
        return wallheat.open(self.folder / "r.h5")

    def test_settings_have_the_types_of_their_values(self):
        settings = self.solve("--rooms", "--door", "7", "--tolerance", "0.001").settings
        self.assertEqual(settings, {"above": 18.0, "below": 15.0, "max_iterations": 20000, "rooms_door": 7,
                                    "solver": "jacobi", "solver_version": settings["solver_version"], "tolerance": 0.001})
        self.assertEqual({name: type(value) for name, value in settings.items()},
                         {"above": float, "below": float, "max_iterations": int, "rooms_door": int, "solver": str,
                          "solver_version": str, "tolerance": float})

    def test_rooms_equal_those_of_the_list_command(self):
        rooms = self.solve("--rooms", sizes=(48,)).rooms
        listed = json.loads(subprocess.run([PROGRAM, "list", "--rooms", "--json", self.folder / "r.h5"], check=True,
                                           stdout=subprocess.PIPE).stdout)["rooms"]
        self.assertGreater(len(listed), 3)
        self.assertEqual(rooms[["id", "room", "cells", "mean_temp"]].to_dict("records"),
                         [{name: room[name] for name in ("id", "room", "cells", "mean_temp")} for room in listed])

    def test_missing_rooms_are_explained(self):
        with self.assertRaises(LookupError) as raised:
            self.open_test_data("fields").rooms
        self.assertTrue(mentions(str(raised.exception), "--rooms"), raised.exception)
        results = self.open_test_data("killed")
        with self.assertRaises(LookupError) as raised:
            results.rooms
        self.assertTrue(mentions(str(raised.exception), f"wallheat repair {self.folder / 'killed.h5'}"), raised.exception)

    @unittest.skipUnless(importlib.util.find_spec("xarray") and importlib.util.find_spec("h5netcdf"),
                         "xarray or h5netcdf is not installed (jobs/install-packages.sh tests installs them)")
    def test_datasets_label_plans_and_cells(self):
        results = self.solve("--save-fields", sizes=(24, 32))
        data = results.to_xarray()
        self.assertEqual(list(data["plan"].values), list(results.rows["id"]))
        self.assertEqual(data["mean_temp"].sel(plan="32-00002").item(), results.rows.set_index("id")["mean_temp"]["32-00002"])
        self.assertEqual((data["mean_temp"].units, data["pct_below"].units, data["seconds"].units),
                         ("degree_Celsius", "percent", "s"))
        self.assertEqual(data.attrs["tolerance"], 1e-4)
        chosen = results.to_xarray(["32-00003", "32-00001"], fields=True)
        temperature = chosen["temperature"]
        self.assertEqual((temperature.dims, temperature.units), (("plan", "row", "col"), "degree_Celsius"))
        for plan in "32-00003", "32-00001":
            self.assertEqual(temperature.sel(plan=plan).values.tobytes(), results.field(plan).tobytes())
            self.assertEqual(temperature.sel(plan=plan, row=20, col=5).item(), results.field(plan)[20, 5])
        self.assertEqual(list(chosen["iterations"].values),
                         [results.rows.set_index("id")["iterations"][plan] for plan in ("32-00003", "32-00001")])
        chosen.to_netcdf(self.folder / "fields.nc", engine="h5netcdf")
        for error, facts, plans in ((ValueError, ["6 plans", "2 shapes"], None), (LookupError, ["r.h5", "'24-9'"], ["24-9"])):
            with self.assertRaises(error) as raised:
                results.to_xarray(plans, fields=True)
            for fact in facts:
                self.assertTrue(mentions(str(raised.exception), fact), raised.exception)

    def test_a_dataset_without_xarray_names_the_package(self):
        results = self.open_test_data("fields")
        with unittest.mock.patch.dict(sys.modules, {"xarray": None}):  # makes its import fail
            with self.assertRaises(ImportError) as raised:
                results.to_xarray()
        for fact in "pip install xarray", "python3-xarray":
            self.assertTrue(mentions(str(raised.exception), fact), raised.exception)

    def test_a_killed_file_has_its_rows_and_names_the_journal_of_its_fields(self):
        results = self.open_test_data("killed")
        self.assertEqual(list(results.rows.query("status != 'pending'")["id"]), ["00001", "00003", "00005"])
        self.assertEqual(results.journals, [str(self.folder / "killed.h5.wal0")])
        file = self.folder / "killed.h5"
        self.expect_lookup_error(results, "00003", ["00003", f"{file}.wal0", f"wallheat repair {file}"])
        ended = subprocess.run([PROGRAM, "repair", self.folder / "killed.h5"], check=False, stdout=subprocess.DEVNULL)
        self.assertEqual(ended.returncode, 75, "plans are pending")
        self.assertEqual((results.field("00003").shape, results.journals), ((24, 24), []))

    def test_accepts_ids_with_any_characters(self):
        plans, out = self.folder / "plans", self.folder / "odd [1].h5"
        subprocess.run([PROGRAM, "generate", "--out", plans, "--count", "1", "--size", "16"], check=True,
                       stdout=subprocess.DEVNULL)
        for file in plans.glob("00001*"):
            file.rename(plans / file.name.replace("00001", "50% é"))
        (plans / "building_ids.txt").write_text("50% é\n", encoding="utf-8")
        subprocess.run([PROGRAM, "run", "--data", plans, "--out", out, "--save-fields", "--log-level", "error"], check=True)
        for path in out, str(out), os.fsencode(out):
            self.assertEqual(wallheat.open(path).field("50% é").shape, (16, 16))

    def test_rejects_and_closes_other_files(self):
        with h5py.File(self.folder / "other.h5", "w") as file:
            file["rows"] = 5
        (self.folder / "text.h5").write_text("no results")
        for name in "other.h5", "text.h5":
            with self.assertRaises(ValueError) as raised:
                wallheat.open(self.folder / name)
            self.assertTrue(mentions(str(raised.exception), str(self.folder / name)), raised.exception)
        with self.assertRaises(IsADirectoryError):
            wallheat.open(self.folder)
        for name in "missing.h5", "\udcff.h5":
            with self.assertRaisesRegex(FileNotFoundError, "No such file"):
                wallheat.open(self.folder / name)
        self.open_test_data("fields").field("00004")
        files = [os.readlink(link) for link in pathlib.Path("/proc/self/fd").iterdir() if link.is_symlink()]
        self.assertEqual([file for file in files if file.startswith(str(self.folder))], [])



class Serve(unittest.TestCase):
    """wallheat.serve() as the solver command of a run."""

    # The function gets what it returns from `result`; Device is an array in the memory of another device, as CuPy has it.
    PROGRAM = """import sys, numpy as np, wallheat
class Device:
    def __init__(self, array): self.array = array
    def get(self): return self.array
def jacobi(u, interior_mask, max_iter, atol=1e-6{more}):
    print("solving")
    u = wallheat.jacobi(u, interior_mask, max_iter, atol)
    {result}
wallheat.serve(jacobi)
"""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.call("generate", "--out", "plans", "--count", "2", "--size", "32")

    def call(self, *words, status=0):
        run = subprocess.run([PROGRAM, *words], cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, status, run.stderr)
        return run

    def run_program(self, result, more="", data="plans", status=0):
        (self.folder / "mine.py").write_text(self.PROGRAM.format(result=result, more=more), encoding="utf-8")
        log = self.call("run", "--data", data, "--out", "out.h5", "--overwrite", "--max-attempts", "1", "--solver-command",
                        f"{sys.executable} mine.py", status=status).stderr
        return wallheat.open(self.folder / "out.h5").rows, log

    def test_returned_values_become_columns(self):
        self.call("run", "--data", "plans", "--out", "jacobi.h5")
        expected = self.call("export", "jacobi.h5").stdout
        for result, status, iterations in (("return u", "convergence_unknown", 0), ("return u[1:-1, 1:-1], 7", "convergence_unknown", 7),
                                           ("return Device(u), np.int64(7), np.True_", "converged", 7),
                                           ("return u, None, False", "max_iterations", 0)):
            rows, log = self.run_program(result)
            self.assertEqual((set(rows["status"]), set(rows["iterations"])), ({status}, {iterations}), result)
            self.assertEqual(self.call("export", "out.h5").stdout, expected, result)
            self.assertTrue(mentions(log, "solving"))

    @unittest.skipUnless(importlib.util.find_spec("numba"), "Numba is not installed")
    def test_numba_example_computes_the_results_of_jacobi(self):
        example = pathlib.Path(__file__).resolve().parents[2] / "jobs/examples/numba_solver.py"
        results = []
        for options in [], ["--solver-command", f"{sys.executable} {example}"]:
            self.call("run", "--data", "plans", "--out", "out.h5", "--overwrite", *options)
            rows = wallheat.open(self.folder / "out.h5").rows
            results.append((self.call("export", "out.h5").stdout, list(rows["status"]), list(rows["iterations"])))
        self.assertEqual(*results)
        self.call("generate", "--out", "heated", "--count", "1", "--size", "32", "--kind", "poisson")
        self.call("run", "--data", "heated", "--out", "out.h5", "--overwrite", "--max-attempts", "1",
                  "--solver-command", f"{sys.executable} {example}", status=3)
        self.assertTrue(mentions(wallheat.open(self.folder / "out.h5").rows["error"][0], "source"))

    def test_exceptions_are_reasons(self):
        rows, log = self.run_program("raise ValueError('no wall')", status=3)
        self.assertEqual(set(rows["status"]), {"failed"})
        for text in rows["error"][0], log:
            self.assertTrue(mentions(text, "ValueError: no wall"), text)

    def test_heat_sources_need_parameters(self):
        self.call("generate", "--out", "heated", "--count", "1", "--size", "32", "--kind", "poisson")
        rows, _ = self.run_program("return u", data="heated", status=3)
        self.assertTrue(mentions(rows["error"][0], "source"))
        rows, _ = self.run_program("assert source.shape == interior_mask.shape and spacing > 0; return u",
                                   more=", source=None, spacing=1", data="heated")
        self.assertEqual(list(rows["status"]), ["convergence_unknown"])

    def test_explains_how_to_start_the_program(self):
        (self.folder / "mine.py").write_text(self.PROGRAM.format(result="return u", more=""), encoding="utf-8")
        run = subprocess.run([sys.executable, self.folder / "mine.py"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertTrue(mentions(run.stderr, "wallheat run --solver-command"))


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
