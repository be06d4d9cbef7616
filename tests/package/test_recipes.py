#!/usr/bin/python3
"""The recipes for Spack, EasyBuild and conda name what CMake asks for, the container files what there is: test_recipes.py SOURCE

Spack, EasyBuild and rattler-build are not in Debian, so the recipes are only read here as what they are: Python and YAML.
Exit status: 0 they do; 1 something does not; 77 there is no python3-yaml.
"""

import ast
import pathlib
import re
import sys
import unittest

try:
    import yaml
except ImportError:
    print("skipped: needs python3-yaml (jobs/install-packages.sh tests installs it)")
    sys.exit(77)

ROOT = pathlib.Path()  # the first argument
# What CMake calls a library: what Spack, EasyBuild and conda call it. None: nothing, as compilers bring it.
NAMES = {
    "Boost": ("boost", "Boost", "libboost-devel"),
    "HDF5": ("hdf5", "HDF5", "hdf5"),
    "MPI": ("mpi", None, "openmpi"),  # EasyBuild: the toolchain's
    "PkgConfig": ("pkgconfig", "pkgconf", "pkg-config"),
    "SQLite3": ("sqlite", "SQLite", "sqlite"),
    "Threads": (None, None, None),
    "deflate": ("libdeflate", "libdeflate", "libdeflate"),
    "fmt": ("fmt", "fmt", "fmt"),
    "hwloc": ("hwloc", "hwloc", "libhwloc"),
    "libxxhash": ("xxhash", "xxHash", "xxhash"),
    "nlohmann_json": ("nlohmann-json", "nlohmann_json", "nlohmann_json"),
    "spdlog": ("spdlog", "spdlog", "spdlog"),
}
PROGRAMS = ("gnuplot", "gnuplot", "gnuplot")  # at run time


def cmake_files():
    files = [ROOT / "CMakeLists.txt", *ROOT.glob("src/**/CMakeLists.txt")]
    return {file: file.read_text() for file in files if file.parent.name != "python"}  # the module is not packaged


def asked_for():
    text = "\n".join(cmake_files().values())
    return (set(re.findall(r"find_package\((\w+)", text))
            | set(re.findall(r"find_library\(\w+ (\w+) REQUIRED", text))
            | set(re.findall(r"pkg_check_modules\(\w+ REQUIRED IMPORTED_TARGET (\w+)\)", text)))


class Recipes(unittest.TestCase):
    def setUp(self):
        self.folder = ROOT / "configs/packages"
        self.version = re.search(r"project\(wallheat VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())[1]

    def names(self, column):
        return {NAMES[name][column] for name in asked_for()} - {None} | {PROGRAMS[column]}

    def check_options(self, text):
        known = "\n".join([*cmake_files().values(), (ROOT / "src/solve/cuda.cmake").read_text()])
        options = set(re.findall(r"WALLHEAT_\w+", text))
        self.assertIn("WALLHEAT_TESTS", options)
        for option in options:
            self.assertRegex(known, rf"(option|set)\({option}\b", option)

    def test_every_library_that_cmake_asks_for_has_a_name(self):
        self.assertEqual(asked_for(), set(NAMES))

    def test_spack(self):
        repository = self.folder / "spack/spack_repo/wallheat"
        self.assertEqual(yaml.safe_load((repository / "repo.yaml").read_text())["repo"]["namespace"], "wallheat")
        text = (repository / "packages/wallheat/package.py").read_text()
        package, = (node for node in ast.parse(text).body if isinstance(node, ast.ClassDef))
        self.assertEqual(package.name, "Wallheat")
        specs = [call.args[0].value for call in ast.walk(package)
                 if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "depends_on"]
        # Since version 2 of Spack's package interface, `import *` brings what every package needs, and no more.
        imported = {alias.name for node in ast.parse(text).body if isinstance(node, ast.ImportFrom)
                    and node.module.startswith("spack_repo.") for alias in node.names}
        self.assertIn("generator", imported)
        self.assertEqual({re.split("[@+~%]", spec)[0] for spec in specs} - {"c", "cxx", "cmake", "ninja"}, self.names(0))
        self.check_options(text)

    def test_easybuild(self):
        file, = (self.folder / "easybuild").glob("*.eb")
        recipe = {"SOURCE_TAR_GZ": "%(name)s-%(version)s.tar.gz"}
        exec(compile(file.read_text(), file, "exec"), recipe)
        toolchain = recipe["toolchain"]
        self.assertEqual(file.stem, f"wallheat-{self.version}-{toolchain['name']}-{toolchain['version']}")
        self.assertEqual((recipe["name"], recipe["version"]), ("wallheat", self.version))
        names = {name for name, _ in recipe["builddependencies"] + recipe["dependencies"]}
        self.assertEqual(names - {"CMake", "Ninja"}, self.names(1))
        for header in (path for path in recipe["sanity_check_paths"]["files"] if path.startswith("include/")):
            self.assertTrue((ROOT / header).exists(), header)
        self.check_options(recipe["configopts"])

    def test_conda(self):
        recipe = yaml.safe_load((self.folder / "conda/recipe.yaml").read_text())
        self.assertEqual(recipe["context"]["version"], self.version)
        self.assertEqual((self.folder / "conda" / recipe["source"]["path"]).resolve(), ROOT.resolve())
        variants = yaml.safe_load((self.folder / "conda/variants.yaml").read_text())
        self.assertIn('${{ stdlib("c") }}', recipe["requirements"]["build"])
        self.assertIn("c_stdlib", variants)  # unlike compiler(), stdlib() has no default
        listed = [name for kind in ("build", "host", "run") for name in recipe["requirements"][kind]]
        names = {name.split()[0] for name in listed if not name.startswith("$")}
        self.assertEqual(names - {"cmake", "ninja"}, self.names(2))
        self.check_options("\n".join(recipe["build"]["script"]))

    def test_containers_get_the_same_files(self):
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
