"""Reader of result files. It requires h5py and pandas, which the solvers do not."""

from __future__ import annotations

import functools
import glob
import os
import pathlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import h5py
import numpy as np
import numpy.typing as npt
import pandas as pd

if TYPE_CHECKING:
    import xarray


_UNITS = {"mean_temp": "degree_Celsius", "min_temp": "degree_Celsius", "max_temp": "degree_Celsius",
          "std_temp": "degree_Celsius", "last_delta": "degree_Celsius", "error_bound": "degree_Celsius",
          "error_estimate": "degree_Celsius", "seconds": "s", "peak_memory": "byte", "field_bytes": "byte"}


class Results:
    """Contents of a result file at the time of opening. The file is not kept open.

    rows: a DataFrame with one row per plan in the order of the IDs, pending plans included. src/store/README.md
        describes the columns and their units; cells are counted by the thresholds settings["above"] and
        settings["below"]. Strings are str, and the status is one of "pending", "converged", "max_iterations", "empty",
        "failed" and "convergence_unknown".
    settings: the settings that determine the results: int, float, or str for all others and for solver_version. Those
        that the solver does not use are missing.
    sessions: the attributes of each session (the first run, each resume), oldest first.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Reads the file. Raises FileNotFoundError if it does not exist, another OSError if it cannot be read, and
        ValueError if it is not a result file of wallheat."""
        self._path = pathlib.Path(os.fsdecode(path))
        with self._opened() as file:
            table = file["rows"][:]
            statuses = {number: word for word, number in h5py.check_enum_dtype(file["rows"].dtype["status"]).items()}
            self.settings = {name: _setting(name, text) for name, text in _texts(file["settings"]).items()}
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
        raise self._missing(f"the field of plan {plan}", "it is not solved, or the run did not use --save-fields")

    @functools.cached_property
    def rooms(self) -> pd.DataFrame:
        """The rooms of all plans: a DataFrame with one row per room in the order of the plans and rooms.
        src/store/README.md describes the columns and their units; the column "id" is the ID of the plan, and "room"
        counts from 1. Raises LookupError if there are no rooms in the file, as field() does."""
        with self._opened() as file:
            table = file["rooms"][:] if "rooms" in file else None
        if table is None:
            raise self._missing("the rooms", "the run did not use --rooms")
        rooms = pd.DataFrame({name: _column(table[name]) for name in table.dtype.names if name != "room_crc32"})
        rooms = rooms[rooms["cells"] > 0].reset_index(drop=True)
        rooms.insert(0, "id", self.rows["id"].to_numpy()[rooms["plan"]])
        return rooms

    def to_xarray(self, plans: Iterable[str] | None = None, fields: bool = False) -> xarray.Dataset:
        """Returns results as an xarray.Dataset: the columns of `rows` as variables along the dimension "plan", whose
        coordinate is the ID, with their units.

        plans: the IDs of the plans, in the order of the dataset; None: all plans of the file.
        fields: adds the variable "temperature" in °C with the dimensions "plan", "row" and "col", whose coordinates are
            the numbers of the cells, counted from 0. All its plans must have the same shape. The fields are loaded into
            memory, 2 MB per plan of 512 x 512 cells, so name the plans if the file has many.

        Raises ImportError if xarray is not installed, LookupError if a plan or its field is not in the file, and
        ValueError if the shapes differ."""
        try:
            import xarray  # pylint: disable=import-outside-toplevel,redefined-outer-name
        except ImportError as error:
            raise ImportError("to_xarray() requires xarray, which is not installed: run 'pip install xarray', or on Debian "
                              "'apt-get install python3-xarray'") from error
        rows = self.rows.set_index("id")
        if plans is not None:
            ids = list(plans)
            unknown = next((plan for plan in ids if plan not in rows.index), None)
            if unknown is not None:
                raise LookupError(f"{self._path} has no plan with the ID {unknown!r}")
            rows = rows.loc[ids]
        data = xarray.Dataset({name: ("plan", rows[name].to_numpy(), _attributes(name)) for name in rows.columns},
                              {"plan": ("plan", rows.index.to_numpy(), {"long_name": "plan ID"})},
                              {"source": str(self._path), **self.settings})
        if not fields:
            return data
        shapes = set(zip(rows["rows"], rows["cols"]))
        if len(shapes) != 1:
            raise ValueError(f"{self._path}: the fields of {len(rows)} plans have {len(shapes)} shapes, and a dataset can "
                             "contain fields of only one shape; name plans of one shape (columns rows and cols)")
        (height, width), = shapes
        temperature = np.empty((len(rows), height, width))
        for number, plan in enumerate(rows.index):
            temperature[number] = self.field(plan)
        cells = {name: (name, np.arange(size), {"long_name": f"{name} of the cell, from 0"})
                 for name, size in (("row", height), ("col", width))}
        return data.assign_coords(cells).assign(temperature=(("plan", "row", "col"), temperature, {
            "units": "degree_Celsius", "long_name": "temperature"}))

    def _missing(self, what: str, why: str) -> LookupError:
        """Returns the error that the file does not contain `what`."""
        if self.journals:
            return LookupError(f"if {what} is stored, it is in {self.journals[0]}; after the run, "
                               f"'wallheat repair {self._path}' compacts it into {self._path}")
        return LookupError(f"{self._path} does not contain {what}: {why}")

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


def _setting(name: str, text: str) -> float | int | str:
    """Returns a setting as a number if its text is one. wallheat writes each float64 with a point or an exponent."""
    if name == "solver_version":
        return text
    for number in int, float:
        try:
            return number(text)
        except ValueError:
            pass
    return text


def _attributes(column: str) -> dict[str, str]:
    """Returns the attributes of a column in a dataset: its unit, if it has one, in the notation of CF."""
    unit = _UNITS.get(column) or ("percent" if column.startswith("pct_") else "s" if column.endswith("_s") else None)
    return {"units": unit} if unit else {}


def _column(values: npt.NDArray[np.generic]) -> npt.NDArray[np.generic] | list[str]:
    return [text.decode(errors="surrogateescape") for text in values] if values.dtype.kind == "S" else values
