#!/usr/bin/python3
"""Solves the plans of `wallheat run --solver-command 'python3 numba_solver.py'` with Numba and the module wallheat.
Plans with a heat source fail, because the function has no parameter `source`."""

import numba
import wallheat


# With the types of the arguments, Numba compiles the function here, once per slot, and not with the first plan.
@numba.njit("Tuple((f8[:, ::1], i8, b1))(f8[:, ::1], b1[:, ::1], i8, f8)")
def jacobi(u, interior_mask, max_iter, atol):
    """Iterates from u in °C, which has a ring of zeros. Returns the field, the iterations, and whether they converged."""
    new = u.copy()
    for iteration in range(1, max_iter + 1):
        delta = 0.0
        for row in range(interior_mask.shape[0]):
            for col in range(interior_mask.shape[1]):
                if interior_mask[row, col]:
                    value = 0.25 * (u[row + 1, col] + u[row + 1, col + 2] + u[row, col + 1] + u[row + 2, col + 1])
                    delta = max(delta, abs(value - u[row + 1, col + 1]))
                    new[row + 1, col + 1] = value
        u, new = new, u
        if delta < atol:
            return u, iteration, True
    return u, max_iter, False


if __name__ == "__main__":
    wallheat.serve(jacobi)
