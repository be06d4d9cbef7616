"""Reader of result files. It requires h5py and pandas, which the solvers do not."""

from __future__ import annotations

import glob
import os
import pathlib

import h5py
import numpy as np
import numpy.typing as npt
import pandas as pd


class Results:
    """Contents of a result file at the time of opening. The file is not kept open.

    rows: a DataFrame with one row per plan in the order of the IDs, pending plans included. src/store/README.md
        describes the columns and their units; cells are counted by the thresholds settings["above"] and
        settings["below"]. Strings are str, and the status is one of "pending", "converged", "max_iterations", "empty",
        "failed" and "convergence_unknown".
    settings: the settings that determine the results: solver, tolerance and so on.
    sessions: the attributes of each session (the first run, each resume), oldest first.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Reads the file. Raises FileNotFoundError if it does not exist, another OSError if it cannot be read, and
        ValueError if it is not a result file of wallheat."""
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
        """Journals next to the file. They exist while a run continues, or after it was stopped, and contain fields and
        rooms, and after a power loss the latest rows, that the file does not. The end of the run, or
        `wallheat repair FILE`, compacts them into the file."""
        return sorted(map(str, self._path.parent.glob(glob.escape(self._path.name) + ".wal[0-9]*")))

    def field(self, plan: str) -> npt.NDArray[np.float64]:
        """Returns the temperatures of a plan in °C, shape of the plan. Raises LookupError if they are not in the file;
        the message explains how to get them from a journal."""
        if plan not in self.rows["id"].values:
            raise LookupError(f"{self._path} contains no plan with the ID {plan!r}")
        name = plan.replace("%", "%25").replace("/", "%2F")
        with self._opened() as file:
            field = file.get("fields/" + ("%2E" if name == "." else name))
            if field is not None:
                return field[:]
        if self.journals:
            raise LookupError(f"if the field of plan {plan} is stored, it is in {self.journals[0]}; after the run, "
                              f"'wallheat repair {self._path}' compacts it into {self._path}")
        raise LookupError(f"{self._path} has no field of plan {plan}: it is not solved, or the run did not use "
                          "--save-fields")

    def _opened(self) -> h5py.File:
        self._path.open("rb").close()  # raises a shorter error than h5py if the file does not exist
        try:
            file = h5py.File(self._path, "r")
        except OSError as error:
            raise ValueError(f"{self._path} is not a result file of wallheat: {error}") from None
        if file.attrs.get("wallheat") == b"results" and file.attrs.get("format_version") == 3:
            return file
        file.close()
        raise ValueError(f"{self._path} is not a result file of wallheat in format 3")


def _texts(group: h5py.Group) -> dict[str, str]:
    return {name: text.decode(errors="surrogateescape") for name, text in group.attrs.items()}


def _column(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic] | list[str]:
    return [text.decode(errors="surrogateescape") for text in values] if values.dtype.kind == "S" else values
