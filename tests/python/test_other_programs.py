#!/usr/bin/python3
"""What other programs make of a result file: test_other_programs.py PROGRAM

Each opens the file of a run as it is, and a value that it shows is compared with the one that `wallheat export` prints.
Exit status: 0 all went well; 1 something did not; 77 none of the programs is here.
"""

import csv
import importlib.util
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

PROGRAM = ""  # the first argument
LACKING = []


def needs(*names):
    """Passes over a test where a Python module or a program is not here, and says so."""
    missing = [name for name in names if importlib.util.find_spec(name) is None and shutil.which(name) is None]
    LACKING.extend(missing)
    return unittest.skipIf(missing, f"there is no {', '.join(missing)} here")


class OtherPrograms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        plans, cls.file = folder.name + "/plans", folder.name + "/results.h5"
        for words in (["generate", "--out", plans, "--count", "4", "--size", "48"],
                      ["run", "--data", plans, "--out", cls.file, "--save-fields", "--log-level", "error"],
                      ["solve", "00003", "--data", plans, "--npy", folder.name + "/field.npy"]):
            subprocess.run([PROGRAM, *words], check=True, stdout=subprocess.DEVNULL)
        cls.row = json.loads(subprocess.run([PROGRAM, "export", "--format", "json", cls.file], check=True,
                                            capture_output=True, text=True).stdout)[2]
        cls.field_file = pathlib.Path(folder.name, "field.npy")
        cls.ids = ["00001", "00002", "00003", "00004"]

    def field(self):
        import numpy as np
        return np.load(self.field_file)

    def slot(self):
        import h5py
        with h5py.File(self.file) as file:
            return int(file["rows"][2]["field_slot"])

    @needs("h5py")
    def test_h5py(self):
        import h5py
        with h5py.File(self.file) as file:
            self.assertEqual(file["rows"]["mean_temp"][2], self.row["mean_temp"])
            fields = file["fields/48x48/0"]
            self.assertEqual([dimension[0].name.split("/")[-1] for dimension in fields.dims], ["slot_0", "row", "col"])
            self.assertEqual(fields.attrs["units"], b"degree_Celsius")
            self.assertEqual((fields[self.slot()] == self.field()).all(), True)

    @needs("pandas", "h5py")
    def test_pandas(self):
        import h5py
        import pandas as pd
        with h5py.File(self.file) as file:
            self.assertEqual(pd.DataFrame(file["rows"][:])["mean_temp"][2], self.row["mean_temp"])

    @needs("pandas", "tables")
    def test_pandas_read_hdf(self):
        import pandas as pd
        self.assertEqual(pd.read_hdf(self.file, "rows")["mean_temp"][2], self.row["mean_temp"])

    @needs("xarray", "h5netcdf", "h5py")
    def test_xarray_by_h5netcdf(self):
        import xarray as xr
        with xr.open_dataset(self.file, engine="h5netcdf") as root:
            self.assertEqual([plan.decode() for plan in root["ids"].values], self.ids)
            self.assertEqual(root["rows"].values["mean_temp"][2], self.row["mean_temp"])
            self.assertEqual(root["rows"].dims, ("plan",))
        self.compare_field_by_xarray("h5netcdf")

    @needs("xarray", "netCDF4", "h5py")
    def test_xarray_by_netcdf4(self):
        import xarray as xr
        with xr.open_dataset(self.file, engine="netcdf4") as root:
            self.assertEqual([plan.decode() for plan in root["ids"].values], self.ids)
        self.compare_field_by_xarray("netcdf4")

    def compare_field_by_xarray(self, engine):
        import xarray as xr
        with xr.open_dataset(self.file, engine=engine, group="fields/48x48") as fields:
            field = fields["0"].isel(slot_0=self.slot())
            self.assertEqual((field.dims, field.attrs["units"]), (("row", "col"), "degree_Celsius"))
            self.assertTrue((field.values == self.field()).all())

    @needs("ncdump", "h5py")
    def test_ncdump(self):
        text = subprocess.run(["ncdump", "-p", "9,17", self.file], check=True, capture_output=True, text=True).stdout
        self.assertIn('"00003"', text)
        self.assertIn(':Conventions = "CF-1.11"', text)
        values = text[text.index("\\0 ="):].split("=", 1)[1].split(";", 1)[0]
        found = [float(value) for value in next(csv.reader([values.replace("\n", " ")]))]
        cells = self.field().size
        self.assertEqual(found[self.slot() * cells:][:cells], list(self.field().flat))

    @needs("h5dump")
    def test_h5dump(self):
        text = subprocess.run(["h5dump", "-m", "%.17g", "-d", "/rows", "-s", "2", "-c", "1", self.file], check=True,
                              capture_output=True, text=True).stdout
        self.assertIn(f"{self.row['mean_temp']:.17g}", text)
        self.assertIn("converged", text)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    outcome = unittest.main(exit=False, verbosity=2).result
    if LACKING:
        print("not here:", ", ".join(sorted(set(LACKING))), "(jobs/install-packages.sh tests installs them)")
    if not outcome.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if len(outcome.skipped) == outcome.testsRun else 0)
