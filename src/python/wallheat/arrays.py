"""Solves floor plans that are NumPy arrays."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from wallheat import _wallheat


@dataclasses.dataclass(frozen=True)
class Solution:
    """The answer for one plan."""

    field: npt.NDArray[np.float64] = dataclasses.field(repr=False)  # printed, it would hide the numbers
    """Temperatures in °C, shape of the plan. The array is the caller's."""
    iterations: int
    """How many were made; of "steady", those of conjugate gradients."""
    last_delta: float
    """The change of the last iteration in °C; NaN if there was none."""
    converged: bool
    """False if max_iterations came first."""
    error_bound: float
    """°C: proven, no cell is farther from the steady state. NaN unless the solver is "steady"."""
    mean_temp: float
    """°C, mean over the interior cells; like the next three NaN if there are none."""
    std_temp: float
    """°C, standard deviation of the population."""
    pct_above: float
    """% of the interior cells above 18 °C."""
    pct_below: float
    """% of the interior cells below 15 °C."""


def _array(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array: say by filled() what its masked cells are")
    return np.asarray(values)


def _number(name: str, value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None
    except OverflowError:
        raise ValueError(f"{name} must be a number that float64 can hold") from None


def _word(value: str) -> str:
    return str(value).encode(errors="backslashreplace").decode()


def _count(name: str, value: int) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if count >= 2**63:
        raise ValueError(f"{name} must be below 2**63, not {count}")
    return max(count, -1)  # whatever is less is refused, or the same


def solve(domain: npt.ArrayLike, interior: npt.ArrayLike, tolerance: float = 1e-4, max_iterations: int = 20000,
          solver: Literal["jacobi", "fastforward", "steady"] = "jacobi", accuracy: float = 1e-8,
          source: npt.ArrayLike | None = None, spacing: float = 1.0, norm: Literal["max", "l2"] = "max",
          device: Literal["cpu", "gpu"] = "cpu") -> Solution:
    """Solves one floor plan on one core, or on a GPU. The interpreter's lock is released meanwhile; Ctrl-C ends it.

    domain: start field in °C, shape (rows, columns), float64, float32, or integers that float64 holds exactly.
        Cells that are not interior keep their value.
    interior: which cells are room, same shape: bool or uint8 that is not 0, or numbers that are 0 or 1.
    tolerance: °C; stops when an iteration changes less than this (not "steady").
    max_iterations: stops after so many.
    solver: "jacobi" (the published program's iterate, bit for bit), "fastforward" (the same iterate to 1e-11 of the
        largest temperature) or "steady" (the steady state itself, with a proven bound).
    accuracy: °C; no cell may be farther than this from the steady state ("steady" only).
    source: f of Poisson's equation -laplace(u) = f, same shape, in °C per square of the unit of spacing.
    spacing: distance between neighbouring cells; matters to plans with a source only.
    norm: how the change of an iteration is measured: "max" (the largest of a cell) or "l2" (the root of the sum of
        squares).
    device: "cpu", or "gpu" for the first GPU: "jacobi" alone, with the same bits. Needs a module that was built with
        WALLHEAT_CUDA=ON.

    Raises RuntimeError if there is no GPU to use, ValueError if an array or a parameter cannot be used, and TypeError if a parameter is no number.
    """
    return Solution(**_wallheat.solve(
        _array("domain", domain), _array("interior", interior), _number("tolerance", tolerance),
        _count("max_iterations", max_iterations), _word(solver), _number("accuracy", accuracy),
        None if source is None else _array("source", source), _number("spacing", spacing), _word(norm),
        _word(device)))


def jacobi(u: npt.NDArray[np.float64], interior_mask: npt.NDArray[np.bool_], max_iter: int,
           atol: float = 1e-6) -> npt.NDArray[np.float64]:
    """Takes the place of the function of this name in the course's simulate.py; returns the same bits.

    u: start field in °C with a ring of fixed cells around it, float64, shape (rows + 2, columns + 2), such as
        (514, 514). It is not changed.
    interior_mask: which cells inside the ring are room, bool, shape (rows, columns), such as (512, 512).
    max_iter: the largest number of iterations.
    atol: °C; the iteration ends when no cell changes by as much.

    Returns a new array of u's shape. Without any room it is a copy of u, where NumPy's max() would raise an error.
    Raises ValueError if an array cannot be used, and TypeError if max_iter or atol is no number. The interpreter's
    lock is released meanwhile; Ctrl-C ends it.
    """
    return _wallheat.jacobi(_array("u", u), _array("interior_mask", interior_mask), _count("max_iter", max_iter),
                            _number("atol", atol))
