"""Reads result files by h5py, which need not be there for solving."""

from __future__ import annotations

import glob
import os
import pathlib

import h5py
import numpy as np
import numpy.typing as npt
import pandas as pd


class Results:
    """What a result file held when it was opened; it is not kept open.

    rows: a DataFrame, one row a plan in the order of the IDs, pending ones included. src/store/README.md tells the
        columns with their units; cells are counted by the thresholds settings["above"] and settings["below"]. Texts are
        str, and the status is one of "pending", "converged", "max_iterations", "empty" and "failed".
    settings: what decides the answers: solver, tolerance and so on.
    sessions: what is known of each session (the first run, each resume), oldest first.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises FileNotFoundError if there is no such file, another OSError if it cannot be read, and ValueError if it
        is no result file of wallheat."""
        self._path = pathlib.Path(os.fsdecode(path))
        with self._opened() as file:
            table = file["rows"][:]
            statuses = {number: word for word, number in h5py.check_enum_dtype(file["rows"].dtype["status"]).items()}
            self.settings = _texts(file["settings"])
            self.sessions = [_texts(file["sessions"][number]) for number in sorted(file["sessions"], key=int)]
        self.rows = pd.DataFrame({name: _column(table[name]) for name in table.dtype.names})
        self.rows["status"] = self.rows["status"].map(statuses)

    def __repr__(self) -> str:
        return f"wallheat.open({str(self._path)!r})"

    @property
    def journals(self) -> list[str]:
        """Files beside it that hold fields and rooms, and after a loss of power the latest rows, which are not in it:
        a run goes on, or was stopped. The run's end, or `wallheat repair FILE`, puts them into it."""
        return sorted(map(str, self._path.parent.glob(glob.escape(self._path.name) + ".wal[0-9]*")))

    def field(self, plan: str) -> npt.NDArray[np.float64]:
        """The temperatures of a plan in °C, shape of the plan. Raises LookupError if they are not in the file, and
        says how to get them out of a journal."""
        if plan not in self.rows["id"].values:
            raise LookupError(f"{self._path} has no plan with the ID {plan!r}")
        name = plan.replace("%", "%25").replace("/", "%2F")
        with self._opened() as file:
            field = file.get("fields/" + ("%2E" if name == "." else name))
            if field is not None:
                return field[:]
        if self.journals:
            raise LookupError(f"if the field of plan {plan} is stored, it is in {self.journals[0]}: when no run goes on, "
                              f"'wallheat repair {self._path}' puts it into {self._path}")
        raise LookupError(f"{self._path} has no field of plan {plan}: it is not solved, or the run was without "
                          "--save-fields")

    def _opened(self) -> h5py.File:
        self._path.open("rb").close()  # which says in fewer words than h5py that there is none
        try:
            file = h5py.File(self._path, "r")
        except OSError as error:
            raise ValueError(f"{self._path} is no result file of wallheat: {error}") from None
        if file.attrs.get("wallheat") == b"results" and file.attrs.get("format_version") == 3:
            return file
        file.close()
        raise ValueError(f"{self._path} is no result file of wallheat in format 2")


def _texts(group: h5py.Group) -> dict[str, str]:
    return {name: text.decode(errors="surrogateescape") for name, text in group.attrs.items()}


def _column(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic] | list[str]:
    return [text.decode(errors="surrogateescape") for text in values] if values.dtype.kind == "S" else values
