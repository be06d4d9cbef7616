#!/usr/bin/python3
"""Hostile calls of the installed Python module: test_attacks.py, with the module in PYTHONPATH.

Each call gives the bits of plain NumPy, or raises one sentence of a sensible type. Exit status: 0 all went well; 1
something did not; 77 there is no module, or no pandas.
"""

import decimal
import fractions
import math
import multiprocessing
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

from test_module import numpy_jacobi

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
            "a matrix": matrix, "a slice of three dimensions": np.stack([array, array], 2)[:, :, 1],
            "a frame": pd.DataFrame(array), "a list": array.tolist()}


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


def tearDownModule():
    print(Attack.calls, "hostile calls")


if __name__ == "__main__":
    unittest.main()
