"""Reads result files."""

from __future__ import annotations

import functools
import os
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from wallheat import _wallheat

if TYPE_CHECKING:
    import pandas as pd


class Results:
    """A result file as it was when it was opened. The file may be one that is being written, or whose run was killed:
    what is stored is read, and the file stays as it is."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises RuntimeError if there is no such file, or it is no result file of wallheat."""
        self._path = os.fsdecode(path)
        if b"\0" in os.fsencode(self._path):  # which raises what cannot be a path, either
            raise ValueError(f"no file can have the name {self._path!r}")
        self._reader = _wallheat.Reader(self._path)

    def __repr__(self) -> str:
        return f"wallheat.open({self._path!r})"

    @functools.cached_property
    def rows(self) -> pd.DataFrame:
        """One row a plan, in the order of the IDs, pending ones included. Texts are str, and the status is one of
        "pending", "converged", "max_iterations", "empty" and "failed". column_meanings() tells the units."""
        import pandas as pd  # pylint: disable=import-outside-toplevel  # solving does without it

        return pd.DataFrame(self._reader.columns())

    @functools.cached_property
    def _positions(self) -> dict[str, int]:
        return {plan: position for position, plan in enumerate(self._reader.columns()["id"])}

    def field(self, plan: str) -> npt.NDArray[np.float64]:
        """The temperatures of a plan in °C, shape of the plan. Raises LookupError if the file has no such plan or no
        field of it, and RuntimeError if the field is damaged."""
        if plan not in self._positions:
            raise LookupError(f"{self._path} has no plan with the ID {plan!r}")
        field = self._reader.field(self._positions[plan])
        if field is None:
            raise LookupError(f"{self._path} has no field of plan {plan}: it is not solved, or the run was without "
                              "--save-fields")
        return field

    @property
    def settings(self) -> dict[str, str]:
        """What decides the answers: solver, tolerance and so on."""
        return self._reader.settings()

    @property
    def sessions(self) -> list[dict[str, str]]:
        """What is known of each session (the first run, each resume), oldest first."""
        return self._reader.sessions()

    @property
    def closed_well(self) -> bool:
        """False while a run writes the file, or if that run was killed."""
        return self._reader.closed_well()

    @property
    def damage(self) -> list[str]:
        """A sentence for each kind of damage that was found in the rows; the plans concerned are pending."""
        return self._reader.damage()


def open(path: str | os.PathLike[str]) -> Results:  # pylint: disable=redefined-builtin
    """Opens a result file, also one that is being written, or whose run was killed. Raises RuntimeError if it cannot
    be read."""
    return Results(path)


def column_meanings() -> dict[str, str]:
    """What each column of Results.rows means, with its unit."""
    return _wallheat.meanings()
