"""Builds the C++ part with CMake. pip runs this file; pyproject.toml contains the other settings."""

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

# setuptools before version 70.1 requires the package "wheel" to build a wheel.
if not any(importlib.util.find_spec(name) for name in ("setuptools.command.bdist_wheel", "wheel")):
    sys.exit(f"{sys.executable} has no package 'wheel', which setuptools requires to install wallheat; omit "
             "--no-build-isolation, or use the Python of the system: /usr/bin/python3 -m venv --system-site-packages FOLDER")

ROOT = pathlib.Path(__file__).resolve().parents[2]
# The build does not write into the source tree. If WALLHEAT_PYTHON_BUILD names a folder, the next build is incremental.
BUILD = pathlib.Path(os.environ.get("WALLHEAT_PYTHON_BUILD") or tempfile.mkdtemp(prefix="wallheat-python-"))
BUILD.mkdir(parents=True, exist_ok=True)  # setuptools 68 of Ubuntu 24.04 does not create it

# ON: build for GPUs, too, with the CUDA toolkit; this takes minutes.
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
    """Returns the CMake option for the pybind11 of pip; without it, CMake uses that of the system."""
    try:
        import pybind11
    except ImportError:
        return []
    return [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}"]


def version():
    """Returns the version in CMakeLists.txt."""
    return re.search(r"project\(wallheat VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8"))[1]


setuptools.setup(
    version=version(),
    ext_modules=[setuptools.Extension("wallheat._wallheat", sources=[])],
    cmdclass={"build_ext": BuildByCMake},
    options={"build": {"build_base": str(BUILD / "setuptools")}, "egg_info": {"egg_base": str(BUILD)}})
