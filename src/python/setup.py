"""Has CMake build the part that is written in C++. pip runs this; pyproject.toml has the rest."""

import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import setuptools
from setuptools.command.build_ext import build_ext

# Before version 70.1 setuptools makes a wheel only with the help of that package.
if not any(importlib.util.find_spec(name) for name in ("setuptools.command.bdist_wheel", "wheel")):
    sys.exit(f"{sys.executable} has no package 'wheel', without which setuptools cannot install wallheat: leave out "
             "--no-build-isolation, or take the system's Python: /usr/bin/python3 -m venv --system-site-packages FOLDER")

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Nothing is written into the source tree. A folder that is kept makes the next build short.
BUILD = pathlib.Path(os.environ.get("WALLHEAT_PYTHON_BUILD") or tempfile.mkdtemp(prefix="wallheat-python-"))
BUILD.mkdir(parents=True, exist_ok=True)  # setuptools 68, of Ubuntu 24.04, does not make it

# ON: also for GPUs, with the CUDA toolkit; takes minutes.
CUDA = os.environ.get("WALLHEAT_CUDA", "OFF")


class BuildByCMake(build_ext):
    def build_extension(self, ext):
        subprocess.run(["cmake", "-S", ROOT, "-B", BUILD, "-DCMAKE_BUILD_TYPE=Release", "-DWALLHEAT_PYTHON=ON",
                        f"-DWALLHEAT_CUDA={CUDA}", f"-DPython_EXECUTABLE={sys.executable}", *pybind11()], check=True)
        subprocess.run(["cmake", "--build", BUILD, "--target", "wallheat_python", "--parallel", str(os.cpu_count())],
                       check=True)
        target = pathlib.Path(self.get_ext_fullpath(ext.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        built, = BUILD.glob("_wallheat*.so")
        shutil.copy2(built, target)


def pybind11():
    """Where CMake finds it: the one that pip brought; else CMake looks for the system's."""
    try:
        import pybind11
    except ImportError:
        return []
    return [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]


def version():
    """CMakeLists.txt is where it stands."""
    return re.search(r"project\(wallheat VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


setuptools.setup(
    version=version(),
    ext_modules=[setuptools.Extension("wallheat._wallheat", sources=[])],
    cmdclass={"build_ext": BuildByCMake},
    options={"build": {"build_base": str(BUILD / "setuptools")}, "egg_info": {"egg_base": str(BUILD)}})
