#!/usr/bin/python3
"""Solves Poisson's equation on a square plate with cold edges in plain NumPy, and says how long that took.

The plate is N x N cells of a width of 1 / N, with a heat source of 10000 in its middle cell. An iteration computes
0.25 * (neighbours + width^2 * source) for all inner cells; it ends when the 2-norm of the change is below the
tolerance. Prints one line: iterations, last change, mean of the inner cells, middle cell, seconds.
"""

import argparse
import sys
import time

import numpy as np


def numpy_step(old, new, source):
    new[1:-1, 1:-1] = 0.25 * (((old[1:-1, :-2] + old[1:-1, 2:]) + old[:-2, 1:-1]) + old[2:, 1:-1] + source)
    return np.linalg.norm(new - old)


def compiled_step():
    try:
        import numba
    except ImportError:
        sys.exit("poisson.py: this Python has no Numba; leave out --numba, or install it")

    @numba.njit
    def step(old, new, source):
        squares = 0.0
        for row in range(1, old.shape[0] - 1):
            for col in range(1, old.shape[1] - 1):
                new[row, col] = 0.25 * (((old[row, col - 1] + old[row, col + 1]) + old[row - 1, col])
                                        + old[row + 1, col] + source[row - 1, col - 1])
                squares += (new[row, col] - old[row, col]) ** 2
        return np.sqrt(squares)

    step(np.zeros((3, 3)), np.zeros((3, 3)), np.zeros((1, 1)))
    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=256, metavar="N", help="cells along a side (default: 256)")
    parser.add_argument("--tolerance", type=float, default=1e-4, help="of the 2-norm (default: 1e-4)")
    parser.add_argument("--max-iterations", type=int, default=100000, metavar="N", help="default: 100000")
    parser.add_argument("--numba", action="store_true", help="compile the iteration by Numba")
    arguments = parser.parse_args()
    size = arguments.size
    step = compiled_step() if arguments.numba else numpy_step

    start = time.perf_counter()
    old, new = np.zeros((size, size)), np.zeros((size, size))
    source = np.zeros((size, size))
    source[size // 2, size // 2] = 10000
    source = (1 / size) ** 2 * source[1:-1, 1:-1]
    iterations, delta = 0, np.nan
    while iterations < arguments.max_iterations:
        delta = step(old, new, source)
        old, new = new, old
        iterations += 1
        if delta < arguments.tolerance:
            break
    seconds = time.perf_counter() - start
    print(iterations, float(delta), float(old[1:-1, 1:-1].mean()), float(old[size // 2, size // 2]), seconds)


if __name__ == "__main__":
    main()
