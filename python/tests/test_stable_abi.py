"""The wheel for Python 3.12 and newer uses the stable ABI alone: what of the module calls Python's C functions itself
compiles with the limited API. Python's headers must be those of 3.12 or newer, of any interpreter that is installed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = [  # the others see Python through nanobind
    "device_calls.cpp", "device_kernels.cpp", "device_replays.cpp", "device_tensors.cpp", "interrupt.cpp",
    "tensor_exchange.cpp",
]  # fmt: skip
ASK = "import sys, sysconfig; print(sys.version_info >= (3, 12), sysconfig.get_path('include'))"


def headers():
    """Of the first interpreter that is new enough and has them."""
    names = [sys.executable, "python3", *(f"python3.{minor}" for minor in range(12, 20))]
    for program in filter(None, map(shutil.which, names)):
        told = subprocess.run([program, "-c", ASK], capture_output=True, text=True)
        is_new, _, folder = told.stdout.strip().partition(" ")
        if is_new == "True" and (Path(folder) / "Python.h").exists():
            return folder
    return None


@pytest.mark.parametrize("source", SOURCES)
def test_a_source_compiles_with_the_limited_api(source):
    nanobind = pytest.importorskip("nanobind")
    compiler = shutil.which(os.environ.get("CXX", "c++"))
    folder = headers()
    if compiler is None or folder is None:
        pytest.skip("needs a C++ compiler and the headers of Python 3.12 or newer")
    generated = ROOT / "build/release/generated/include"
    done = subprocess.run([compiler, "-std=c++20", "-fsyntax-only", "-DPy_LIMITED_API=0x030C0000", "-isystem", folder,
                           "-isystem", nanobind.include_dir(), f"-I{ROOT / 'include'}", f"-I{ROOT / 'src'}",
                           f"-I{generated}", ROOT / "python/src" / source], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_project_asks_for_it():
    tomllib = pytest.importorskip("tomllib", reason="Python before 3.11 has no tomllib")
    settings = tomllib.loads((ROOT / "python/pyproject.toml").read_text())["tool"]["scikit-build"]
    (override,) = settings["overrides"]
    assert override == {"if": {"python-version": ">=3.12"}, "wheel": {"py-api": "cp312"}, "cmake": {"version": ">=3.26"}}
    runtime = tomllib.loads((ROOT / "python/runtime/pyproject.toml").read_text())
    assert runtime["tool"]["scikit-build"]["wheel"]["py-api"] == "py3"
