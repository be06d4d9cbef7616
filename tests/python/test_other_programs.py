#!/usr/bin/python3
"""What other programs make of a result file: test_other_programs.py PROGRAM

Each opens the file of a run as it is, and a value that it shows is compared with the one that `wallheat list` prints.
Exit status: 0 all went well; 1 something did not; 77 none of the programs is here.
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
LACKING = set()


def needs(*names):
    """Passes over a test if a Python module or a program is not here, and says so."""
    missing = [name for name in names if importlib.util.find_spec(name) is None and shutil.which(name) is None]
    LACKING.update(missing)
    return unittest.skipIf(missing, f"there is no {', '.join(missing)} here")


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

    def shows_the_field(self, values):
        import numpy as np
        np.testing.assert_array_equal(values, np.load(self.folder / "field.npy"))

    # crash/races.py has it read beside a run, and test_paraview.sh has ParaView read such an XDMF file.
    @needs("h5py")
    def test_h5py_also_by_the_places_in_an_xdmf_file(self):
        import h5py
        wallheat("export", self.file, "-o", self.folder / "series.xdmf")
        grids = ElementTree.parse(self.folder / "series.xdmf").findall("Domain/Grid/Grid")
        self.assertEqual([grid.get("Name") for grid in grids], self.ids)
        self.assertEqual([grid.find("Time").get("Value") for grid in grids], ["0", "1", "2", "3"])
        self.assertEqual(grids[2].find("Topology").get("Dimensions"), "2 49 49")
        dataset = grids[2].find("Attribute/DataItem")
        self.assertEqual(dataset.get("Dimensions"), "1 48 48")
        name, _, place = dataset.text.partition(":")
        with h5py.File(self.folder / name) as file:
            self.assertEqual(file["rows"]["mean_temp"][2], self.mean)
            self.assertEqual(list(file["fields"]), self.ids)
            self.shows_the_field(file[place][:])

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
            self.shows_the_field(fields["00003"].values)

    @needs("h5dump")
    def test_h5dump(self):
        text = subprocess.run(["h5dump", "-m", "%.17g", "-d", "/rows", "-s", "2", "-c", "1", self.file], check=True,
                              capture_output=True, text=True).stdout
        self.assertIn(f"{self.mean:.17g}", text)
        self.assertIn("converged", text)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    outcome = unittest.main(exit=False, verbosity=2).result
    if LACKING:
        print("not here:", ", ".join(sorted(LACKING)), "(jobs/install-packages.sh tests installs them)")
    if not outcome.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if len(outcome.skipped) == outcome.testsRun else 0)
