#!/usr/bin/python3
"""Hostile calls of the installed Python module: test_attacks.py, with the module in PYTHONPATH.

Each call gives the bits of plain NumPy, or raises one sentence of a sensible type. Exit status: 0 all went well; 1
something did not; 77 there is no module, or no pandas.
"""

import decimal
import fractions
import math
import multiprocessing
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import unittest
import warnings
from concurrent.futures import ThreadPoolExecutor

try:
    import numpy as np
    import pandas as pd
    import wallheat
except ImportError as error:
    print(f"skipped: {error} (jobs/install-packages.sh tests installs what the module and its tests take)")
    sys.exit(77)

from test_module import DATA, numpy_jacobi

ROWS, COLS = 12, 17
LIMIT = 150  # iterations


def plan():
    random = np.random.default_rng(29)
    interior = random.random((ROWS, COLS)) < 0.8
    return np.where(interior, 3.0, random.choice([5.0, 25.0, -7.0], (ROWS, COLS))), interior


def unaligned(array):
    """The same values from an odd address on."""
    memory = np.zeros(array.nbytes + 1, np.uint8)
    view = np.frombuffer(memory.data, array.dtype, array.size, 1).reshape(array.shape)
    view[...] = array
    assert not view.flags.aligned or array.itemsize == 1
    return view


def layouts(array):
    """Arrays that are equal to `array`, and lie in memory in other ways."""
    wide = np.zeros((3 * ROWS, 2 * COLS), array.dtype)
    wide[::3, ::2] = array
    readonly = array.copy()
    readonly.flags.writeable = False
    with tempfile.NamedTemporaryFile() as file:
        mapped = np.memmap(file, array.dtype, "w+", shape=array.shape)
        mapped[...] = array
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # matrices are not recommended
        matrix = np.asmatrix(array)
    return {"C order": array.copy(), "Fortran order": np.asfortranarray(array), "steps": wide[::3, ::2],
            "rows from the last": array[::-1].copy()[::-1], "all from the last": array[::-1, ::-1].copy()[::-1, ::-1],
            "a transposed copy": array.T.copy().T, "read-only": readonly, "unaligned": unaligned(array), "mapped": mapped,
            "a matrix": matrix, "a slice of three dimensions": np.stack([array, array], 2)[:, :, 1]}


class Attack(unittest.TestCase):
    calls = 0

    def gives(self, expected, call, *arguments, **options):
        Attack.calls += 1
        answer = call(*arguments, **options)
        field = getattr(answer, "field", answer)
        self.assertEqual(field.dtype, np.float64)
        self.assertTrue(field.flags.c_contiguous and field.flags.writeable)
        self.assertEqual(field.shape, expected.shape)
        self.assertEqual(field.tobytes(), expected.tobytes())

    def refuses(self, error, words, call, *arguments, **options):
        Attack.calls += 1
        with self.assertRaises(Exception) as raised:
            call(*arguments, **options)
        sentence = str(raised.exception)
        self.assertIsInstance(raised.exception, error, sentence)
        self.assertRegex(sentence, words)
        self.assertNotIn("\n", sentence)
        self.assertLess(len(sentence), 400)

    @classmethod
    def setUpClass(cls):
        cls.domain, cls.interior = plan()
        cls.ring = np.pad(cls.domain, 1, constant_values=2.5)
        cls.iterated = numpy_jacobi(cls.ring, cls.interior, LIMIT, 1e-6)
        cls.solved = numpy_jacobi(np.pad(cls.domain, 1), cls.interior, LIMIT, 1e-4)[1:-1, 1:-1]


class Arrays(Attack):
    def test_any_layout_in_memory(self):
        for name, domain in layouts(self.domain).items():
            with self.subTest(name):
                self.gives(self.solved, wallheat.solve, domain, self.interior, max_iterations=LIMIT)
        for name, interior in layouts(self.interior).items():
            with self.subTest(name):
                self.gives(self.solved, wallheat.solve, self.domain, interior, max_iterations=LIMIT)
                self.gives(self.iterated, wallheat.jacobi, self.ring, interior, LIMIT)
        reversed_ring = self.ring[::-1, ::-1].copy()[::-1, ::-1]
        for u in reversed_ring, np.asfortranarray(self.ring), unaligned(self.ring), self.ring.astype(">f8"):
            self.gives(self.iterated, wallheat.jacobi, u, self.interior, LIMIT)

    def test_any_type_of_numbers(self):
        for dtype in "f2", "f4", ">f4", "<f8", ">f8", "i1", "i2", ">i2", "i4", "i8", ">i8":
            with self.subTest(dtype):
                self.gives(self.solved, wallheat.solve, self.domain.astype(dtype), self.interior, max_iterations=LIMIT)
                self.gives(self.solved, wallheat.solve, self.domain, self.interior.astype(dtype), max_iterations=LIMIT)
        for dtype in "u1", "u2", ">u4", "u8":
            positive = np.abs(self.domain)
            expected = numpy_jacobi(np.pad(positive, 1), self.interior, LIMIT, 1e-4)[1:-1, 1:-1]
            self.gives(expected, wallheat.solve, positive.astype(dtype), self.interior.astype(dtype),
                       max_iterations=LIMIT)
        for dtype in "?", "c8", "c16", "g", "O", "S4", "U4", "M8[s]", "m8[s]", "V8", [("a", "f8")]:
            values = np.zeros((ROWS, COLS), dtype)
            with self.subTest(dtype):
                self.refuses(ValueError, "^domain must hold", wallheat.solve, values, self.interior)
                self.refuses(ValueError, "^source must hold", wallheat.solve, self.domain, self.interior, source=values)
                if dtype not in ("?", "g"):
                    self.refuses(ValueError, "^interior must hold", wallheat.solve, self.domain, values)
        for dtype in "f2", "f4", "i8", "g", "?", "O", "c16":
            self.refuses(ValueError, "^u must be float64", wallheat.jacobi, self.ring.astype(dtype), self.interior, 3)
        for dtype in "u1", "i8", "f8", "O":
            self.refuses(ValueError, "^interior_mask must be bool", wallheat.jacobi, self.ring,
                         self.interior.astype(dtype), 3)

    def test_any_shape(self):
        for shape in (), (ROWS * COLS,), (1, ROWS, COLS), (ROWS, COLS, 1):
            values = np.resize(self.domain, shape)
            self.refuses(ValueError, "two dimensions", wallheat.solve, values, values > 4)
            self.refuses(ValueError, "two dimensions", wallheat.jacobi, values, self.interior, 3)
        for shape in (0, 0), (0, 5), (5, 0):
            self.refuses(ValueError, "has no cells", wallheat.solve, np.zeros(shape), np.zeros(shape))
        for rows, cols in (1, 1), (1, 40), (40, 1), (2, 2):
            domain, interior = np.full((rows, cols), 7.0), np.ones((rows, cols), bool)
            self.gives(numpy_jacobi(np.pad(domain, 1), interior, 9, 1e-4)[1:-1, 1:-1], wallheat.solve, domain, interior,
                       max_iterations=9)
        self.refuses(ValueError, r"domain has the shape \(12, 17\) and interior \(17, 12\); they must be equal",
                     wallheat.solve, self.domain, self.interior.T)
        self.refuses(ValueError, r"domain has the shape \(12, 17\) and source \(17, 12\)", wallheat.solve, self.domain,
                     self.interior, source=self.domain.T)
        self.refuses(ValueError, r"u has the shape \(12, 17\) and interior_mask \(12, 17\)", wallheat.jacobi, self.domain,
                     self.interior, 3)
        self.refuses(ValueError, "inhomogeneous", wallheat.solve, [[1, 2], [3]], [[1, 1], [1, 1]])
        for nothing in None, "plan", {}, {1, 2}, object():
            self.refuses(ValueError, "two dimensions", wallheat.solve, nothing, nothing)
        for many in 10**6, 10**9:
            self.refuses((MemoryError, ValueError), "allocate|too big|memory", wallheat.solve,
                         np.broadcast_to(np.float32(0), (many, many)), np.broadcast_to(True, (many, many)))

    def test_equal_values_may_be_one_in_memory(self):
        domain = np.broadcast_to(5.0, (ROWS, COLS))
        expected = numpy_jacobi(np.pad(domain, 1), self.interior, LIMIT, 1e-4)[1:-1, 1:-1]
        self.gives(expected, wallheat.solve, domain, self.interior, max_iterations=LIMIT)
        same = np.lib.stride_tricks.as_strided(np.arange(COLS + ROWS, dtype=float), (ROWS, COLS), (8, 8))
        self.gives(numpy_jacobi(np.pad(same, 1), self.interior, LIMIT, 1e-4)[1:-1, 1:-1], wallheat.solve, same,
                   self.interior, max_iterations=LIMIT)

    def test_frames_and_lists(self):
        self.gives(self.solved, wallheat.solve, pd.DataFrame(self.domain), pd.DataFrame(self.interior),
                   max_iterations=LIMIT)
        self.gives(self.solved, wallheat.solve, self.domain.tolist(), tuple(map(tuple, self.interior)),
                   max_iterations=LIMIT)

        class Odd:
            def __array__(self, *_):
                raise ArithmeticError("no array today")

        self.refuses(ArithmeticError, "no array today", wallheat.solve, Odd(), self.interior)

    def test_values_that_no_temperature_has(self):
        for value in math.nan, math.inf, -math.inf, 1e301, -1.7e308:
            domain = self.domain.copy()
            domain[3, 4] = value
            self.refuses(ValueError, "row 3, column 4", wallheat.solve, domain, self.interior)
            self.refuses(ValueError, "row 3, column 4", wallheat.jacobi, domain, self.interior[1:-1, 1:-1], 3)
            self.refuses(ValueError, "row 3, column 4", wallheat.solve, self.domain, self.interior, source=domain)
            mask = self.interior.astype(float)
            mask[3, 4] = value
            self.refuses(ValueError, "row 3, column 4", wallheat.solve, self.domain, mask)
        for value in 5e-324, -0.0, 1e300, -1e300:
            ring = self.ring.copy()
            ring[3, 4] = value
            self.gives(numpy_jacobi(ring, self.interior, LIMIT), wallheat.jacobi, ring, self.interior, LIMIT)
        mask = self.interior.astype(int)
        mask[3, 4] = 2
        self.refuses(ValueError, "row 3, column 4 is neither 0 nor 1", wallheat.solve, self.domain, mask)
        masked = np.ma.masked_less(self.domain, 6)
        self.refuses(ValueError, "domain is a masked array", wallheat.solve, masked, self.interior)
        for value in 2**53, -2**63, 2**63 - 1:
            domain = self.domain.astype(np.int64)
            domain[1, 1] = value
            self.refuses(ValueError, "row 1, column 1 is an integer", wallheat.solve, domain, self.interior)


class Parameters(Attack):
    def test_numbers_of_any_kind(self):
        expected = numpy_jacobi(np.pad(self.domain, 1), self.interior, LIMIT, 0.25)[1:-1, 1:-1]
        for number in 0.25, np.float32(0.25), np.float64(0.25), decimal.Decimal("0.25"), fractions.Fraction(1, 4):
            self.gives(expected, wallheat.solve, self.domain, self.interior, number, np.int16(LIMIT))
        for number in math.nan, math.inf, -math.inf, -5e-324, 10**400:
            self.refuses(ValueError, "^tolerance must be", wallheat.solve, self.domain, self.interior, number)
            self.refuses(ValueError, "^accuracy must be", wallheat.solve, self.domain, self.interior, accuracy=number)
            self.refuses(ValueError, "^spacing must be", wallheat.solve, self.domain, self.interior, spacing=number)
        for number in 1j, None, [1, 2], "warm", np.zeros(3), {}:
            self.refuses(TypeError, "^tolerance must be a number", wallheat.solve, self.domain, self.interior, number)
            self.refuses(TypeError, "^atol must be a number", wallheat.jacobi, self.ring, self.interior, 1, number)
        self.refuses(ValueError, r"max_iterations must be below 2\*\*63", wallheat.solve, self.domain, self.interior, 1, 2**70)
        for number in 0, -1, -2**80:
            self.refuses(ValueError, "^max_iterations must be", wallheat.solve, self.domain, self.interior, 1, number)
        for number in 1.5, "7", None, math.nan:
            self.refuses(TypeError, "^max_iterations must be", wallheat.solve, self.domain, self.interior, 1, number)
        for word in "", "JACOBI", "\ud800", "jacobi\0", b"jacobi", None, 7:
            self.refuses(ValueError, "^solver must be one of", wallheat.solve, self.domain, self.interior, solver=word)
            self.refuses(ValueError, "^norm must be one of", wallheat.solve, self.domain, self.interior, norm=word)

    def test_a_call_that_is_none(self):
        self.refuses(TypeError, "argument", wallheat.solve)
        self.refuses(TypeError, "argument", wallheat.solve, self.domain, self.interior, colour="red")
        self.refuses(TypeError, "argument", wallheat.jacobi, self.ring, self.interior)


def solve_in_child(queue):
    domain, interior = plan()
    queue.put(wallheat.solve(domain, interior, max_iterations=LIMIT).field.tobytes())


class Threads(Attack):
    def test_many_at_once_give_their_own_answers(self):
        plans = [(self.domain + shift, self.interior) for shift in range(40)]
        expected = [numpy_jacobi(np.pad(domain, 1), interior, LIMIT, 1e-4)[1:-1, 1:-1] for domain, interior in plans]
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda one: wallheat.solve(*one, max_iterations=LIMIT), plans))
        for answer, right in zip(answers, expected):
            self.gives(right, lambda answer=answer: answer)

    def test_an_array_that_another_thread_changes_is_copied_first(self):
        domain, stop = self.domain.copy(), threading.Event()

        def change():
            while not stop.is_set():
                domain[...] = self.domain

        other = threading.Thread(target=change)
        other.start()
        for _ in range(20):
            self.gives(self.solved, wallheat.solve, domain, self.interior, max_iterations=LIMIT)
        stop.set()
        other.join()

    def test_a_forked_process_solves_while_its_parent_does(self):
        began, stop = threading.Event(), []

        def endless():
            began.set()
            while not stop:
                wallheat.solve(self.domain, self.interior, tolerance=0, max_iterations=10**5)

        other = threading.Thread(target=endless)
        other.start()
        began.wait()
        forks = multiprocessing.get_context("fork")
        for _ in range(5):
            queue = forks.Queue()
            child = forks.Process(target=solve_in_child, args=(queue,))
            child.start()
            self.assertEqual(queue.get(timeout=600), self.solved.tobytes())
            child.join()
            self.assertEqual(child.exitcode, 0)
        stop.append(True)
        other.join()

    def test_ctrl_c_ends_each_solver_and_leaves_the_module_usable(self):
        # Too small a step for any solver: they go on until they are stopped.
        script = """
import os, signal, sys, threading
import numpy as np, wallheat
random = np.random.default_rng(1)
interior = random.random((300, 300)) < 0.95
domain = np.where(interior, 5.0, 25.0)
began = threading.Event()
def interrupt():
    began.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    began.set()
    while True:
        wallheat.solve(domain, interior, tolerance=0, max_iterations=10**15, solver=sys.argv[1], accuracy=1e-9)
except KeyboardInterrupt:
    assert wallheat.solve(domain, interior, max_iterations=3).iterations == 3
    print("interrupted")
"""
        for solver in "jacobi", "fastforward", "steady":
            ended = subprocess.run([sys.executable, "-c", script, solver], capture_output=True, text=True, check=False,
                                   timeout=600)
            self.assertEqual((ended.stdout, ended.stderr, ended.returncode), ("interrupted\n", "", 0), solver)

    def test_a_script_ends_although_a_daemon_solves(self):
        script = """
import threading
import numpy as np, wallheat
began = threading.Event()
def endless():
    began.set()
    wallheat.solve(np.full((90, 90), 5.0), np.ones((90, 90), bool), tolerance=0, max_iterations=10**15)
for _ in range(3):
    threading.Thread(target=endless, daemon=True).start()
began.wait()
"""
        ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=600)
        self.assertEqual((ended.stderr, ended.returncode), ("", 0))


class Files(Attack):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "fields.h5"
        shutil.copy(DATA / "fields.h5", self.file)
        self.field = wallheat.open(self.file).field("00004")

    def test_names_of_any_bytes(self):
        for name in "\xe9t\xe9.h5", "a b\n.h5", "\udcff\udcfe.h5", "'\"%s{}.h5":
            shutil.copy(self.file, self.folder / name)
            for path in self.folder / name, str(self.folder / name), os.fsencode(self.folder / name):
                self.gives(self.field, lambda path=path: wallheat.open(path).field("00004"))
        self.refuses(RuntimeError, "does not exist", wallheat.open, self.folder / "\udcff\udcfd.h5")
        self.refuses(RuntimeError, "does not exist", wallheat.open, os.fsencode(self.folder) + b"/\xc3\x28.h5")
        self.refuses(ValueError, "name", wallheat.open, "a\0b")
        self.refuses(ValueError, "surrogates", wallheat.open, "a\ud800b")
        self.refuses(RuntimeError, "empty", wallheat.open, "")
        for path in 5, None, 1.5, [], self.domain:
            self.refuses(TypeError, "PathLike", wallheat.open, path)
        for path in "/", "/dev/null", "/dev/zero", self.folder:
            self.refuses(RuntimeError, "regular file|HDF5|folder", wallheat.open, path)

    def test_plans_that_are_none(self):
        results = wallheat.open(self.file)
        for name in "", "nobody", 4, None, "\ud800", b"00004", 0.5, ("00004",):
            self.refuses(LookupError, "no plan with the ID", results.field, name)
        self.refuses(TypeError, "unhashable", results.field, ["00004"])

    def test_a_file_that_goes_changes_or_is_replaced_while_it_is_open(self):
        known = wallheat.open(self.file)
        known.field("00004")
        fresh = wallheat.open(self.file)
        os.remove(self.file)
        self.gives(self.field, known.field, "00004")
        self.assertEqual(len(fresh.rows), len(known.rows))
        self.gives(self.field, fresh.field, "00004")  # it goes on with what it has open
        shutil.copy(DATA / "plain.h5", self.file)
        self.gives(self.field, fresh.field, "00004")

        shutil.copy(DATA / "fields.h5", self.file)
        known = wallheat.open(self.file)
        known.field("00004")
        fresh = wallheat.open(self.file)
        os.truncate(self.file, 5000)
        self.refuses(RuntimeError, "damaged|changed", known.field, "00004")
        self.refuses(RuntimeError, "changed while it was read", lambda: fresh.rows)
        self.refuses(RuntimeError, "fields.h5", wallheat.open, self.file)

    def test_beside_h5py_in_one_process(self):
        import h5py  # pylint: disable=import-outside-toplevel
        for options in {}, {"locking": False}:
            with h5py.File(self.file, "r", **options) as file:
                self.gives(self.field, lambda: wallheat.open(self.file).field("00004"))
                self.assertEqual(len(file["rows"]), 7)
        known = wallheat.open(self.file)
        known.field("00004")
        with h5py.File(self.file, "r+") as file:
            self.gives(self.field, known.field, "00004")
        with h5py.File(self.folder / "other.h5", "w") as file:
            file["x"] = 5
        with h5py.File(self.folder / "own.h5", "w") as file:
            file["link"] = h5py.ExternalLink("other.h5", "x")
            self.assertEqual(file["link"][()], 5)

    def test_many_threads_read_one_file(self):
        results = wallheat.open(self.file)
        with ThreadPoolExecutor(8) as pool:
            fields = list(pool.map(lambda n: (results if n % 2 else wallheat.open(self.file)).field("00004"), range(40)))
        for field in fields:
            self.gives(self.field, lambda field=field: field)


class Runs(Attack):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.out = self.folder / "out.h5"

    def program(self, script):
        """A program that knows its pipe of events as $events."""
        path = self.folder / "wallheat"
        path.write_text('#!/bin/bash\nfor word; do case $word in --events=*) events=${word#*=};; esac; done\n' + script,
                        encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return path

    def test_a_program_that_is_killed_in_mid_line(self):
        events = []
        half = """printf '{"event": "start", "id": "\\xc3\\xa9"}\\n{"event": "res\\xc3' > "$events"; kill -KILL $$"""
        self.refuses(RuntimeError, "ended by Killed", wallheat.run, "plans", self.out, program=self.program(half),
                     progress=events.append)
        self.assertEqual(events, [{"event": "start", "id": "\xe9"}])

    def test_events_that_are_none(self):
        for line in "nonsense", "[1]", "{", "\\xff\\xfe":
            self.refuses(RuntimeError, "wrote an event that is not one", wallheat.run, "plans", self.out,
                         program=self.program(f"printf '{line}\\n' > \"$events\""), progress=print)

    def test_programs_that_are_none(self):
        self.refuses(RuntimeError, "there is no program", wallheat.run, "plans", self.out, program=self.folder)
        odd = self.program("")
        odd.write_bytes(b"\x7fELF but no program")
        self.refuses(OSError, "Exec format", wallheat.run, "plans", self.out, program=odd, progress=print)

    def test_options_of_any_type(self):
        echo = self.program('printf "%s\\n" "$@"')

        def words(**options):
            Attack.calls += 1
            return wallheat.run(b"pl", self.out, program=echo, **options).output.splitlines()

        self.assertEqual(words(), ["run", "--data=pl", f"--out={self.out}"])
        for ids in ["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Series(["a", "b"]), iter("ab"):
            self.assertEqual(words(id=ids)[3:], ["--id=a", "--id=b"])
        self.assertEqual(words(id="ab")[3:], ["--id=ab"])
        self.assertEqual(words(id=b"ab")[3:], ["--id=ab"])
        self.assertEqual(words(resume=np.True_, save_fields=np.False_, ids=self.folder)[3:],
                         ["--resume", f"--ids={self.folder}"])
        self.assertEqual(words(tolerance=np.float64(0.5), threads=np.int64(2))[3:], ["--tolerance=0.5", "--threads=2"])
        self.refuses(ValueError, "id has no values", wallheat.run, "pl", self.out, program=echo, id=[])
        self.refuses(ValueError, "no option can have the value", wallheat.run, "p\0", self.out, program=echo)

    def test_any_exception_ends_the_program(self):
        endless = self.program('echo "{\\"event\\": \\"$$\\"}" > "$events"; exec sleep 1000')
        told = []

        def heard(event):
            told.append(event)
            os.kill(os.getpid(), signal.SIGALRM)

        def alarm(*_):
            raise TimeoutError("time is up")

        before = signal.signal(signal.SIGALRM, alarm)
        try:
            self.refuses(TimeoutError, "time is up", wallheat.run, "plans", self.out, program=endless, progress=heard)
        finally:
            signal.signal(signal.SIGALRM, before)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(told[0]["event"]), 0)


def tearDownModule():
    print(Attack.calls, "hostile calls")


if __name__ == "__main__":
    unittest.main()
