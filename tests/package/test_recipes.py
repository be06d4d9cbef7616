#!/usr/bin/python3
"""The Spack recipe names the dependencies of CMake, and the container files name existing files: test_recipes.py SOURCE

Spack is not in Debian, so its recipe is only parsed, as Python.
"""

import ast
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path()  # the first argument
# CMake name of a library: Spack name. None: no package, as compilers provide it or the Python module is not packaged.
NAMES = {
    "Boost": "boost",
    "HDF5": "hdf5",
    "MPI": "mpi",
    "PNG": "libpng",
    "PkgConfig": "pkgconfig",
    "SQLite3": "sqlite",
    "Threads": None,
    "deflate": "libdeflate",
    "fmt": "fmt",
    "hwloc": "hwloc",
    "libxxhash": "xxhash",
    "nlohmann_json": "nlohmann-json",
    "pybind11": None,
    "spdlog": "spdlog",
}


class Recipes(unittest.TestCase):
    def test_spack_recipe_names_the_dependencies_of_cmake(self):
        cmake = "\n".join((ROOT / file).read_text() for file in ("CMakeLists.txt", "src/targets.cmake", "src/solve/cuda.cmake"))
        required = (set(re.findall(r"find_package\((\w+)", cmake)) - {"CUDAToolkit"}
                     | set(re.findall(r"find_library\(\w+ (\w+) REQUIRED", cmake))
                     | set(re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\w+)\)", cmake)))
        self.assertEqual(required, set(NAMES))

        repository = ROOT / "configs/packages/spack/spack_repo/wallheat"
        self.assertRegex((repository / "repo.yaml").read_text(), r"(?m)^ +namespace: wallheat$")
        recipe = (repository / "packages/wallheat/package.py").read_text()
        package, = (node for node in ast.parse(recipe).body if isinstance(node, ast.ClassDef))
        self.assertEqual(package.name, "Wallheat")
        specs = [call.args[0].value for call in ast.walk(package)
                 if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "depends_on"]
        self.assertEqual({re.split("[@+~%]", spec)[0] for spec in specs} - {"c", "cxx", "cmake", "ninja"},
                         set(NAMES.values()) - {None} | {"gnuplot"})
        # Since version 2 of Spack's package interface, `import *` imports only the names that every package needs.
        imported = {alias.name for node in ast.parse(recipe).body if isinstance(node, ast.ImportFrom)
                    and node.module.startswith("spack_repo.") for alias in node.names}
        self.assertIn("generator", imported)
        options = set(re.findall(r"WALLHEAT_\w+", recipe))
        self.assertIn("WALLHEAT_TESTS", options)
        for option in options:
            self.assertRegex(cmake, rf"(option|set)\({option}\b", option)

    def test_containers_copy_the_same_files(self):
        docker = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if re.match(r"![^/]+$", line)}
        recipe = (ROOT / "docker/wallheat.def").read_text()
        files = re.search(r"^%files\n((?: +.*\n)+)", recipe, re.MULTILINE)[1]
        apptainer = dict(line.split() for line in files.splitlines())
        self.assertEqual(docker, set(apptainer))
        for name, inside in apptainer.items():
            self.assertTrue((ROOT / name).exists(), name)
            self.assertEqual(inside, f"/src/{name}")


if __name__ == "__main__":
    ROOT = pathlib.Path(sys.argv.pop(1))
    unittest.main(verbosity=2)
