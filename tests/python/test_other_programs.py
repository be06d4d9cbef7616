#!/usr/bin/python3
"""Reads a result file with other programs: test_other_programs.py PROGRAM

Each program opens the file of a run; one of its values is compared with the output of `wallheat list`.
Exit status: 0 success; 1 failure; 77 none of the programs is installed.
"""

import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
from xml.etree import ElementTree

PROGRAM = ""  # the first argument
MISSING = set()


def needs(*names):
    """Skips a test with a message if a Python module or a program is not installed."""
    missing = [name for name in names if importlib.util.find_spec(name) is None and shutil.which(name) is None]
    MISSING.update(missing)
    return unittest.skipIf(missing, f"not installed: {', '.join(missing)}")


def wallheat(*words):
    return subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.PIPE, text=True).stdout


class OtherPrograms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.file = cls.folder / "results.h5"
        wallheat("generate", "--out", cls.folder / "plans", "--count", "4", "--size", "48")
        wallheat("run", "--data", cls.folder / "plans", "--out", cls.file, "--save-fields", "--log-level", "error")
        wallheat("solve", "00003", "--data", cls.folder / "plans", "--npy", cls.folder / "field.npy")
        cls.ids = ["00001", "00002", "00003", "00004"]
        cls.mean = json.loads(wallheat("list", "--json", cls.file))["plans"][2]["mean_temp"]

    def expect_field(self, values):
        import numpy as np
        np.testing.assert_array_equal(values, np.load(self.folder / "field.npy"))

    # test_paraview.sh reads such an XDMF file with ParaView.
    @needs("h5py")
    def test_h5py_with_the_paths_of_an_xdmf_file(self):
        import h5py
        wallheat("export", self.file, "-o", self.folder / "series.xdmf")
        grids = ElementTree.parse(self.folder / "series.xdmf").findall("Domain/Grid/Grid")
        self.assertEqual([grid.get("Name") for grid in grids], self.ids)
        self.assertEqual([grid.find("Time").get("Value") for grid in grids], ["0", "1", "2", "3"])
        self.assertEqual(grids[2].find("Topology").get("Dimensions"), "2 49 49")
        dataset = grids[2].find("Attribute/DataItem")
        self.assertEqual(dataset.get("Dimensions"), "1 48 48")
        name, _, path = dataset.text.partition(":")
        with h5py.File(self.folder / name) as file:
            self.assertEqual(file["rows"]["mean_temp"][2], self.mean)
            self.assertEqual(list(file["fields"]), self.ids)
            self.expect_field(file[path][:])

    @needs("pandas", "tables")
    def test_pandas(self):
        import pandas as pd
        self.assertEqual(pd.read_hdf(self.file, "rows")["mean_temp"][2], self.mean)
        wallheat("list", "--columns", "all", self.file, "-o", self.folder / "plain.csv")
        rows = pd.read_csv(self.folder / "plain.csv", dtype={"id": str}, float_precision="round_trip")
        self.assertEqual((rows["id"][2], rows["mean_temp"][2]), (self.ids[2], self.mean))

    @needs("xarray", "h5netcdf")
    def test_xarray_by_h5netcdf(self):
        import xarray as xr
        with xr.open_dataset(self.file, engine="h5netcdf", phony_dims="sort") as root:
            self.assertEqual([plan.decode() for plan in root["rows"].values["id"]], self.ids)
            self.assertEqual(root["rows"].values["mean_temp"][2], self.mean)
        with xr.open_dataset(self.file, engine="h5netcdf", phony_dims="sort", group="fields") as fields:
            self.expect_field(fields["00003"].values)

    @needs("h5dump")
    def test_h5dump(self):
        text = subprocess.run(["h5dump", "-m", "%.17g", "-d", "/rows", "-s", "2", "-c", "1", self.file], check=True,
                              capture_output=True, text=True).stdout
        self.assertIn(f"{self.mean:.17g}", text)
        self.assertIn("converged", text)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    outcome = unittest.main(exit=False, verbosity=2).result
    if MISSING:
        print("not installed:", ", ".join(sorted(MISSING)), "(jobs/install-packages.sh tests installs them)")
    if not outcome.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if len(outcome.skipped) == outcome.testsRun else 0)
