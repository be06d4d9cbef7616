"""Solvers for floor plans in NumPy arrays."""

from __future__ import annotations

import dataclasses
import operator
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from wallheat import _wallheat


@dataclasses.dataclass(frozen=True)
class Solution:
    """The solution of one plan."""

    field: npt.NDArray[np.float64] = dataclasses.field(repr=False)  # its text would hide the numbers
    """Temperatures in °C, shape of the plan. The caller owns the array."""
    iterations: int
    """Number of iterations; for "steady", of conjugate gradients."""
    last_delta: float
    """Delta of the last iteration in °C; NaN if there was none."""
    converged: bool
    """False if max_iterations was reached first."""
    error_bound: float
    """Proven error bound in °C: no cell is farther from the steady state. NaN unless the solver is "steady"."""
    mean_temp: float
    """Mean of the interior cells in °C; like the next three values NaN if there are no interior cells."""
    std_temp: float
    """Standard deviation of the population in °C."""
    pct_above: float
    """% of the interior cells above 18 °C."""
    pct_below: float
    """% of the interior cells below 15 °C."""


def _array(name: str, values: npt.ArrayLike) -> npt.NDArray[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise ValueError(f"{name} is a masked array; use filled() to set the values of its masked cells")
    return np.asarray(values)


def _number(name: str, value: float) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be a number, not {value!r}") from None
    except OverflowError:
        raise ValueError(f"{name} must be a number that float64 can represent") from None


def _word(value: str) -> str:
    return str(value).encode(errors="backslashreplace").decode()


def _count(name: str, value: int) -> int:
    try:
        count = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be an integer, not {value!r}") from None
    if count >= 2**63:
        raise ValueError(f"{name} must be below 2**63, not {count}")
    return max(count, -1)  # lower values are rejected like -1, or have the same effect


def solve(domain: npt.ArrayLike, interior: npt.ArrayLike, tolerance: float = 1e-4, max_iterations: int = 20000,
          solver: Literal["jacobi", "fastforward", "steady"] = "jacobi", accuracy: float = 1e-8,
          source: npt.ArrayLike | None = None, spacing: float = 1.0, norm: Literal["max", "l2"] = "max",
          device: Literal["cpu", "gpu"] = "cpu") -> Solution:
    """Solves one floor plan on one core, or on a GPU. Releases the GIL meanwhile; Ctrl-C stops it.

    domain: initial field in °C, shape (rows, columns), float64, float32, or integers that float64 can represent.
        Cells that are not interior keep their value.
    interior: mask of the interior cells, same shape: bool or uint8, in which any value other than 0 is interior, or
        numbers that are 0 or 1.
    tolerance: °C; the iteration converges when its delta is below this value (not used by "steady").
    max_iterations: maximum number of iterations.
    solver: "jacobi" (the published program's iterate, bit-identical), "fastforward" (the same iterate, exact to 1e-11
        times the largest temperature) or "steady" (the steady state, with a proven error bound).
    accuracy: °C; maximum distance of a cell from the steady state ("steady" only).
    source: heat source f of Poisson's equation -laplace(u) = f, same shape, in °C per square of the unit of spacing.
    spacing: grid spacing, the distance between neighbouring cells; only matters with a heat source.
    norm: norm of delta: "max" (the largest change of a cell) or "l2" (the root of the sum of squares).
    device: "cpu", or "gpu" for the first GPU, which supports "jacobi" only, with bit-identical results. Requires a
        module that was built with WALLHEAT_CUDA=ON.

    Raises RuntimeError if no GPU is available, ValueError if an array or a parameter is invalid, and TypeError if a
    parameter is not a number.
    """
    settings = {"tolerance": _number("tolerance", tolerance), "max_iterations": _count("max_iterations", max_iterations),
                "solver": _word(solver), "accuracy": _number("accuracy", accuracy),
                "spacing": _number("spacing", spacing), "norm": _word(norm)}
    return Solution(**_wallheat.solve(
        _array("domain", domain), _array("interior", interior), None if source is None else _array("source", source),
        _word(device), {name: str(value) for name, value in settings.items()}))


def jacobi(u: npt.NDArray[np.float64], interior_mask: npt.NDArray[np.bool_], max_iter: int,
           atol: float = 1e-6) -> npt.NDArray[np.float64]:
    """Replaces the function of this name in the course's simulate.py. The result is bit-identical.

    u: initial field in °C with a border of fixed cells around it, float64, shape (rows + 2, columns + 2), such as
        (514, 514). It is not changed.
    interior_mask: mask of the interior cells within the border, bool, shape (rows, columns), such as (512, 512).
    max_iter: maximum number of iterations.
    atol: °C; the iteration ends when the change of every cell is below this value.

    Returns a new array of u's shape. If there are no interior cells, it is a copy of u, while NumPy's max() would raise
    an error. Raises ValueError if an array is invalid, and TypeError if max_iter or atol is not a number. Releases the
    GIL meanwhile; Ctrl-C stops it.
    """
    return _wallheat.jacobi(_array("u", u), _array("interior_mask", interior_mask), _count("max_iter", max_iter),
                            _number("atol", atol))
