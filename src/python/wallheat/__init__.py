"""Steady-state heat of building floor plans: solvers for NumPy arrays, and the files of `wallheat run`.

    import wallheat
    solution = wallheat.solve(domain, interior)         # one plan, from arrays
    rows = wallheat.open("results.h5").rows             # the results of a run, as a pandas DataFrame
    wallheat.run("plans", "results.h5")                 # all plans of a directory, by the program

Temperatures are in °C. Arrays have the shape (rows, columns); around them it is 0 °C.
"""

from wallheat._wallheat import version as __version__
from wallheat.arrays import Solution, jacobi, solve
from wallheat.program import Run, run
from wallheat.results import Results, column_meanings, open  # pylint: disable=redefined-builtin

__all__ = ["Results", "Run", "Solution", "column_meanings", "jacobi", "open", "run", "solve"]
