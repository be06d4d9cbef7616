#!/usr/bin/python3
"""Runs the notebook without a browser: test_notebook.py PROGRAM, with the module in PYTHONPATH.

Exit status: 0 success; 1 failure; 77 a required module is not installed.
"""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "jobs" / "examples" / "analyse.ipynb"


def main():
    missing = [name for name in ("wallheat", "nbconvert", "ipykernel", "matplotlib", "pandas", "xarray")
               if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: not installed: {', '.join(missing)} (jobs/install-packages.sh tests installs them)")
        return 77
    program = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        def first(table, *words):
            return json.loads(subprocess.run([program, "list", "results.h5", *words, "--sort", "mean_temp", "--json"],
                                             check=True, cwd=folder, stdout=subprocess.PIPE, text=True).stdout)[table][0]

        pathlib.Path(folder, NOTEBOOK.name).write_bytes(NOTEBOOK.read_bytes())
        environment = dict(os.environ, HOME=folder, MPLBACKEND="module://matplotlib_inline.backend_inline",
                           PATH=f"{program.parent}:{os.environ['PATH']}")
        subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb",
                        NOTEBOOK.name], check=True, cwd=folder, env=environment)
        done = json.loads(pathlib.Path(folder, "done.ipynb").read_text(encoding="utf-8"))
        coldest_plan = first("plans")
        coldest_room = first("rooms", "--rooms", "--where", "cells >= 50")
        picture = pathlib.Path(folder, "coldest.png").read_bytes()
    outputs = [output["data"] for cell in done["cells"] for output in cell.get("outputs", []) if "data" in output]
    tables = ["".join(data["text/plain"]) for data in outputs if "text/html" in data]
    assert sum("image/png" in data for data in outputs) == 2, "expected a histogram and fields"
    assert picture.startswith(b"\x89PNG"), "the figure was not saved"
    assert coldest_plan["id"] in tables[0].splitlines()[1], f"another plan is the coldest:\n{tables[0]}"
    room = tables[1].splitlines()[1].split()
    assert room[1:4] == [coldest_room["id"], str(coldest_room["room"]), str(coldest_room["cells"])], (tables[1], coldest_room)
    assert all(solver in tables[2] for solver in ("jacobi", "fastforward", "steady")), tables[2]
    return 0


if __name__ == "__main__":
    sys.exit(main())
