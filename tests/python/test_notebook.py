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

NOTEBOOK = pathlib.Path(__file__).resolve().parents[2] / "src" / "python" / "analyse.ipynb"


def main():
    missing = [name for name in ("wallheat", "nbconvert", "ipykernel", "matplotlib", "pandas")
               if importlib.util.find_spec(name) is None]
    if missing:
        print(f"skipped: not installed: {', '.join(missing)} (jobs/install-packages.sh tests installs them)")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        def output_of(*words):
            return subprocess.run([sys.argv[1], *words], check=True, cwd=folder, stdout=subprocess.PIPE, text=True).stdout

        output_of("generate", "--out", "plans", "--count", "6", "--size", "64")
        output_of("run", "--data", "plans", "--out", "results.h5", "--save-fields", "--log-level", "error")
        coldest = json.loads(output_of("list", "results.h5", "--sort", "mean_temp", "--json"))["plans"][0]["id"]
        pathlib.Path(folder, NOTEBOOK.name).write_bytes(NOTEBOOK.read_bytes())
        environment = dict(os.environ, HOME=folder, MPLBACKEND="module://matplotlib_inline.backend_inline")
        subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "done.ipynb",
                        NOTEBOOK.name], check=True, cwd=folder, env=environment)
        done = json.loads(pathlib.Path(folder, "done.ipynb").read_text(encoding="utf-8"))
    outputs = [output["data"] for cell in done["cells"] for output in cell.get("outputs", []) if "data" in output]
    tables = ["".join(data["text/plain"]) for data in outputs if "text/html" in data]
    assert sum("image/png" in data for data in outputs) == 2, "expected a histogram and a field"
    assert coldest in tables[0].splitlines()[1], f"another plan is the coldest:\n{tables[0]}"
    assert all(solver in tables[1] for solver in ("jacobi", "fastforward", "steady")), tables[1]
    return 0


if __name__ == "__main__":
    sys.exit(main())
