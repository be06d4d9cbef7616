"""Steady-state heat of building floor plans: solvers for NumPy arrays, and the files of `wallheat run`.

    import wallheat
    solution = wallheat.solve(domain, interior)         # one plan, from arrays
    rows = wallheat.open("results.h5").rows             # the results of a run, as a pandas DataFrame

Temperatures are in °C. Arrays have the shape (rows, columns); around them it is 0 °C.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wallheat._wallheat import version as __version__
from wallheat.arrays import Solution, jacobi, solve

if TYPE_CHECKING:
    from wallheat.results import Results

__all__ = ["Solution", "jacobi", "open", "solve"]


def open(path: str | os.PathLike[str]) -> Results:  # pylint: disable=redefined-builtin
    """Reads a result file, also one that is being written, or whose run was killed; wallheat.results.Results tells
    what it has. Takes h5py and pandas. Raises FileNotFoundError if there is no such file, and ValueError if it is no
    result file of wallheat."""
    from wallheat.results import Results  # pylint: disable=import-outside-toplevel,redefined-outer-name

    return Results(path)
