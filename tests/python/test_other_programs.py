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
        cls.folder = pathlib.Path(folder.name)
        cls.row = json.loads(subprocess.run([PROGRAM, "list", "--json", cls.file], check=True, capture_output=True,
                                            text=True).stdout)["plans"][2]
        cls.field_file = pathlib.Path(folder.name, "field.npy")
        cls.ids = ["00001", "00002", "00003", "00004"]

    def field(self):
        import numpy as np
        return np.load(self.field_file)

    @needs("h5py")
    def test_h5py(self):
        import h5py
        with h5py.File(self.file) as file:
            self.assertEqual(file["rows"]["mean_temp"][2], self.row["mean_temp"])
            self.assertEqual(list(file["fields"]), self.ids)
            self.assertTrue((file["fields"]["00003"][:] == self.field()).all())

    @needs("pandas", "tables")
    def test_pandas_read_hdf(self):
        import pandas as pd
        self.assertEqual(pd.read_hdf(self.file, "rows")["mean_temp"][2], self.row["mean_temp"])

    @needs("xarray", "h5netcdf")
    def test_xarray_by_h5netcdf(self):
        import xarray as xr
        with xr.open_dataset(self.file, engine="h5netcdf", phony_dims="sort") as root:
            self.assertEqual([plan.decode() for plan in root["rows"].values["id"]], self.ids)
            self.assertEqual(root["rows"].values["mean_temp"][2], self.row["mean_temp"])
        with xr.open_dataset(self.file, engine="h5netcdf", phony_dims="sort", group="fields") as fields:
            self.assertTrue((fields["00003"].values == self.field()).all())

    @needs("h5py")
    def test_h5py_while_a_run_goes_on_and_after_it_was_killed(self):
        """Rows as they come, each whole; the file is opened anew for each look."""
        import h5py
        plans, file = self.folder / "more", self.folder / "live.h5"
        subprocess.run([PROGRAM, "generate", "--out", plans, "--count", "60", "--size", "96"], check=True,
                       stdout=subprocess.DEVNULL)
        with subprocess.Popen([PROGRAM, "run", "--data", plans, "--out", file, "--save-fields", "--solver", "jacobi",
                               "--tolerance", "1e-9", "--log-level", "error"]) as run:
            counts = []
            while (not counts or counts[-1] < 5) and run.poll() is None:
                if not file.exists():
                    continue
                with h5py.File(file) as opened:
                    rows = opened["rows"][:]
                done = rows[rows["status"] != 0]
                self.assertTrue((done["interior_cells"] > 0).all())
                counts.append(len(done))
            run.kill()
        self.assertEqual(counts, sorted(counts))
        with h5py.File(file) as opened:
            done = int((opened["rows"]["status"] != 0).sum())
            self.assertGreaterEqual(done, counts[-1])
            self.assertEqual(len(opened["fields"]), 0)
        target = self.folder / "killed.npy"
        with h5py.File(file) as opened:
            plan = next(row["id"].decode() for row in opened["rows"][:] if row["status"] != 0)
        subprocess.run([PROGRAM, "export", file, "--field", plan, "-o", target], check=True)
        subprocess.run([PROGRAM, "repair", file], stdout=subprocess.DEVNULL)
        with h5py.File(file) as opened:
            import numpy as np
            self.assertGreaterEqual(len(opened["fields"]), done)
            self.assertTrue((opened["fields"][plan][:] == np.load(target)).all())

    @needs("h5dump")
    def test_h5dump(self):
        text = subprocess.run(["h5dump", "-m", "%.17g", "-d", "/rows", "-s", "2", "-c", "1", self.file], check=True,
                              capture_output=True, text=True).stdout
        self.assertIn(f"{self.row['mean_temp']:.17g}", text)
        self.assertIn("converged", text)

    @needs("pandas")
    def test_pandas_read_csv(self):
        import pandas as pd
        target = self.folder / "plain.csv"
        subprocess.run([PROGRAM, "list", "--columns", "all", self.file, "-o", target], check=True)
        rows = pd.read_csv(target, dtype={"id": str}, float_precision="round_trip")
        self.assertEqual((rows["id"][2], rows["mean_temp"][2]), (self.ids[2], self.row["mean_temp"]))

    # tests/python/test_paraview.sh has ParaView itself read such a file.
    @needs("h5py")
    def test_places_in_an_xdmf_file_by_h5py(self):
        import h5py
        target = self.folder / "series.xdmf"
        subprocess.run([PROGRAM, "export", self.file, "-o", target], check=True)
        grids = ElementTree.parse(target).findall("Domain/Grid/Grid")
        self.assertEqual([grid.get("Name") for grid in grids], self.ids)
        dataset = grids[2].find("Attribute/DataItem")
        self.assertEqual([grid.find("Time").get("Value") for grid in grids], ["0", "1", "2", "3"])
        self.assertEqual(grids[2].find("Topology").get("Dimensions"), "2 49 49")
        name, _, place = dataset.text.partition(":")
        with h5py.File(target.parent / name) as file:
            self.assertEqual([int(word) for word in dataset.get("Dimensions").split()][-2:], list(file[place].shape))
            self.assertTrue((file[place][:] == self.field()).all())


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    outcome = unittest.main(exit=False, verbosity=2).result
    if LACKING:
        print("not here:", ", ".join(sorted(set(LACKING))), "(jobs/install-packages.sh tests installs them)")
    if not outcome.wasSuccessful():
        sys.exit(1)
    sys.exit(77 if len(outcome.skipped) == outcome.testsRun else 0)
