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
import threading
import unittest
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
RANDOM = np.random.default_rng(29)
INTERIOR = RANDOM.random((ROWS, COLS)) < 0.8
DOMAIN = np.where(INTERIOR, 3.0, RANDOM.choice([5.0, 25.0, -7.0], (ROWS, COLS)))
RING = np.pad(DOMAIN, 1, constant_values=2.5)


def solve(domain=DOMAIN, interior=INTERIOR, max_iterations=LIMIT, **more):
    return wallheat.solve(domain, interior, max_iterations=max_iterations, **more).field


def jacobi(u=RING, interior_mask=INTERIOR, max_iter=LIMIT, **more):
    return wallheat.jacobi(u, interior_mask, max_iter, **more)


def solved(domain=DOMAIN, interior=INTERIOR, tolerance=1e-4):
    return numpy_jacobi(np.pad(domain, 1), interior, LIMIT, tolerance)[1:-1, 1:-1]


def unaligned(array):
    """The same values from an odd address on."""
    memory = np.zeros(array.nbytes + 1, np.uint8)
    view = np.frombuffer(memory.data, array.dtype, array.size, 1).reshape(array.shape)
    view[...] = array
    return view


def layouts(array):
    """Arrays that are equal to `array`, and lie in memory in other ways."""
    wide = np.zeros((3 * ROWS, 2 * COLS), array.dtype)
    wide[::3, ::2] = array
    readonly = array.copy()
    readonly.flags.writeable = False
    return {"Fortran order": np.asfortranarray(array), "steps": wide[::3, ::2],
            "backwards": array[::-1, ::-1].copy()[::-1, ::-1], "read-only": readonly, "unaligned": unaligned(array),
            "a slice of three dimensions": np.stack([array, array], 2)[:, :, 1], "a frame": pd.DataFrame(array),
            "a list": array.tolist()}


class Attack(unittest.TestCase):
    def gives(self, expected, field):
        self.assertEqual(field.dtype, np.float64)
        self.assertTrue(field.flags.c_contiguous and field.flags.writeable)
        self.assertEqual((field.shape, field.tobytes()), (expected.shape, expected.tobytes()))

    def refuses(self, error, words, call, **arguments):
        with self.assertRaises(Exception) as raised:
            call(**arguments)
        sentence = str(raised.exception)
        self.assertIsInstance(raised.exception, error, sentence)
        self.assertRegex(sentence, words)
        self.assertNotIn("\n", sentence)
        self.assertLess(len(sentence), 400)

    def test_any_layout_in_memory(self):
        iterated = numpy_jacobi(RING, INTERIOR, LIMIT)
        for name, domain in layouts(DOMAIN).items():
            with self.subTest(name):
                self.gives(solved(), solve(domain))
        for name, interior in layouts(INTERIOR).items():
            with self.subTest(name):
                self.gives(solved(), solve(interior=interior))
                self.gives(iterated, jacobi(interior_mask=interior))
        for u in RING[::-1, ::-1].copy()[::-1, ::-1], np.asfortranarray(RING), unaligned(RING), RING.astype(">f8"):
            self.gives(iterated, jacobi(u))

    def test_any_type_of_numbers(self):
        for dtype in "f2", ">f4", "<f8", ">f8", "i1", ">i2", "i4", ">i8":
            with self.subTest(dtype):
                self.gives(solved(), solve(DOMAIN.astype(dtype), INTERIOR.astype(dtype)))
        for dtype in "u1", ">u4", "u8":
            self.gives(solved(np.abs(DOMAIN)), solve(np.abs(DOMAIN).astype(dtype), INTERIOR.astype(dtype)))
        for dtype in "?", "c16", "g", "O", "S4", "U4", "M8[s]", "V8", [("a", "f8")]:
            values = np.zeros((ROWS, COLS), dtype)
            with self.subTest(dtype):
                self.refuses(ValueError, "^domain must hold", solve, domain=values)
                self.refuses(ValueError, "^source must hold", solve, source=values)
                if dtype not in ("?", "g"):
                    self.refuses(ValueError, "^interior must hold", solve, interior=values)
        for dtype in "f4", "i8", "g", "O":
            self.refuses(ValueError, "^u must be float64", jacobi, u=RING.astype(dtype))
        for dtype in "u1", "f8", "O":
            self.refuses(ValueError, "^interior_mask must be bool", jacobi, interior_mask=INTERIOR.astype(dtype))

    def test_any_shape(self):
        for shape in (), (ROWS * COLS,), (1, ROWS, COLS), (ROWS, COLS, 1):
            self.refuses(ValueError, "two dimensions", solve, domain=np.zeros(shape), interior=np.zeros(shape, bool))
            self.refuses(ValueError, "two dimensions", jacobi, u=np.zeros(shape))
        self.refuses(ValueError, "has no cells", solve, domain=np.zeros((0, 5)), interior=np.zeros((0, 5)))
        for shape in (1, 1), (1, 40), (40, 1), (2, 2):
            domain, interior = np.full(shape, 7.0), np.ones(shape, bool)
            self.gives(solved(domain, interior), solve(domain, interior))
        self.refuses(ValueError, r"domain has the shape \(12, 17\) and interior \(17, 12\); they must be equal", solve,
                     interior=INTERIOR.T)
        self.refuses(ValueError, r"domain has the shape \(12, 17\) and source \(17, 12\)", solve, source=DOMAIN.T)
        self.refuses(ValueError, r"u has the shape \(12, 17\) and interior_mask \(12, 17\)", jacobi, u=DOMAIN)
        self.refuses(ValueError, "inhomogeneous", solve, domain=[[1, 2], [3]])
        for nothing in None, "plan", {}, object():
            self.refuses(ValueError, "two dimensions", solve, domain=nothing, interior=nothing)
        for many in 10**6, 10**9:
            self.refuses((MemoryError, ValueError), "allocate|too big|memory", solve,
                         domain=np.broadcast_to(np.float32(0), (many, many)), interior=np.broadcast_to(True, (many, many)))

    def test_values_that_no_temperature_has(self):
        def changed(array, value):
            array = array.copy()
            array[3, 4] = value
            return array
        for value in math.nan, -math.inf, 1e301:
            self.refuses(ValueError, "row 3, column 4", solve, domain=changed(DOMAIN, value))
            self.refuses(ValueError, "row 3, column 4", solve, source=changed(DOMAIN, value))
            self.refuses(ValueError, "row 3, column 4", solve, interior=changed(INTERIOR.astype(float), value))
            self.refuses(ValueError, "row 3, column 4", jacobi, u=changed(RING, value))
        for value in 5e-324, -0.0, -1e300:
            ring = changed(RING, value)
            self.gives(numpy_jacobi(ring, INTERIOR, LIMIT), jacobi(ring))
        self.refuses(ValueError, "row 3, column 4 is neither 0 nor 1", solve, interior=changed(INTERIOR.astype(int), 2))
        self.refuses(ValueError, "domain is a masked array", solve, domain=np.ma.masked_less(DOMAIN, 6))
        for value in 2**53, -2**63:
            self.refuses(ValueError, "row 3, column 4 is an integer", solve, domain=changed(DOMAIN.astype(np.int64), value))

    def test_numbers_of_any_kind(self):
        for number in 0.25, np.float32(0.25), decimal.Decimal("0.25"), fractions.Fraction(1, 4):
            self.gives(solved(tolerance=0.25), solve(tolerance=number, max_iterations=np.int16(LIMIT)))
        for number in math.nan, math.inf, -5e-324, 10**400:
            for name in "tolerance", "accuracy", "spacing":
                self.refuses(ValueError, f"^{name} must be", solve, **{name: number})
        for number in 1j, None, "warm", np.zeros(3):
            self.refuses(TypeError, "^tolerance must be a number", solve, tolerance=number)
            self.refuses(TypeError, "^atol must be a number", jacobi, atol=number)
        self.refuses(ValueError, r"max_iterations must be below 2\*\*63", solve, max_iterations=2**70)
        for number in 0, -2**80:
            self.refuses(ValueError, "^max_iterations must be", solve, max_iterations=number)
        for number in 1.5, "7", None:
            self.refuses(TypeError, "^max_iterations must be", solve, max_iterations=number)
        for word in "", "JACOBI", "\ud800", "jacobi\0", b"jacobi", None:
            self.refuses(ValueError, "^solver must be one of", solve, solver=word)
            self.refuses(ValueError, "^norm must be one of", solve, norm=word)
        self.refuses(TypeError, "argument", solve, colour="red")

    def test_many_threads_at_once_get_their_own_answers(self):
        shifts = range(40)
        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(lambda shift: solve(DOMAIN + shift), shifts))
        for answer, shift in zip(answers, shifts):
            self.gives(solved(DOMAIN + shift), answer)

    def test_a_forked_process_solves_while_its_parent_does(self):
        began, stop = threading.Event(), []

        def endless():
            began.set()
            while not stop:
                solve(tolerance=0, max_iterations=10**5)

        other = threading.Thread(target=endless)
        other.start()
        began.wait()
        forks = multiprocessing.get_context("fork")
        for _ in range(5):
            queue = forks.Queue()
            child = forks.Process(target=lambda queue=queue: queue.put(solve().tobytes()))
            child.start()
            self.assertEqual(queue.get(timeout=600), solved().tobytes())
            child.join()
            self.assertEqual(child.exitcode, 0)
        stop.append(True)
        other.join()

    def ends(self, script, *arguments):
        """What a script of its own prints, which must end well."""
        ended = subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False,
                               timeout=600)
        self.assertEqual((ended.stderr, ended.returncode), ("", 0), arguments)
        return ended.stdout

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
            self.assertEqual(self.ends(script, solver), "interrupted\n", solver)

    def test_a_script_ends_although_a_daemon_solves(self):
        self.ends("""
import threading
import numpy as np, wallheat
began = threading.Event()
def endless():
    began.set()
    wallheat.solve(np.full((90, 90), 5.0), np.ones((90, 90), bool), tolerance=0, max_iterations=10**15)
for _ in range(3):
    threading.Thread(target=endless, daemon=True).start()
began.wait()
""")


if __name__ == "__main__":
    unittest.main()
