"""Steady-state heat of building floor plans: solvers for NumPy arrays, and access to the files of `wallheat run`.

    import wallheat
    solution = wallheat.solve(domain, interior)         # one plan, from arrays
    rows = wallheat.open("results.h5").rows             # the results of a run, as a pandas DataFrame
    wallheat.serve(function)                            # a function of your own solves the plans of a run

Temperatures are in °C. Arrays have the shape (rows, columns); cells outside of them are at 0 °C.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from wallheat._wallheat import version as __version__
from wallheat.arrays import Solution, jacobi, solve
from wallheat.commands import serve

if TYPE_CHECKING:
    from wallheat.results import Results

__all__ = ["Solution", "jacobi", "open", "serve", "solve"]


def open(path: str | os.PathLike[str]) -> Results:  # pylint: disable=redefined-builtin
    """Reads a result file, which may still be written, or whose run may have been killed. wallheat.results.Results
    describes its contents. Requires h5py and pandas. Raises FileNotFoundError if the file does not exist, and
    ValueError if it is not a result file of wallheat."""
    from wallheat.results import Results  # pylint: disable=import-outside-toplevel,redefined-outer-name

    return Results(path)
