"""What the libraries with the C interface export and need: the names of src/capi/exports.map, which are those that
tenon/c.h declares; no library beside the system's; and how large libtenon_run is."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ["TENON_COMMAND"]).resolve().parent
RUN = BUILD / "libtenon_run.so"
LIBRARIES = [path for path in (RUN, BUILD / "libtenon.so") if path.exists()]
SYSTEM = re.compile(r"lib(c|m|stdc\+\+|gcc_s|pthread)\.so\.\d+|ld-linux\S*\.so\.\d+")
MOST_BYTES = 2_000_000


def output(*words):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True).stdout


def cached(name):
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found[1] if found else ""


class Exports(unittest.TestCase):
    def setUp(self):
        self.map = (ROOT / "src/capi/exports.map").read_text()

    def test_each_library_exports_what_the_map_names_and_nothing_else(self):
        names = sorted(f"{name}@@TENON_1" for name in re.findall(r"^    (\w+);$", self.map, re.MULTILINE))
        self.assertGreater(len(names), 30)
        for library in LIBRARIES:
            with self.subTest(library=library.name):
                listed = output("nm", "-D", "--defined-only", "--extern-only", library).splitlines()
                symbols = [line.split()[1:] for line in listed]
                self.assertEqual(sorted(name for kind, name in symbols if kind != "A"), names)
                self.assertEqual([name for kind, name in symbols if kind == "A"], ["TENON_1"])

    def test_the_map_names_what_the_header_declares(self):
        header = re.sub(r"/\*.*?\*/", "", (ROOT / "include/tenon/c.h").read_text(), flags=re.DOTALL)
        declared = re.findall(r"\b(tenon_\w+)\(", header)
        self.assertEqual(sorted(declared), sorted(re.findall(r"^    (\w+);$", self.map, re.MULTILINE)))

    def test_what_runs_programs_needs_the_system_alone(self):
        if cached("TENON_SANITIZE"):
            self.skipTest("sanitizers are libraries, too")
        needed = re.findall(r"\(NEEDED\).*\[(.*)\]", output("readelf", "-d", RUN))
        self.assertIn("libc.so.6", needed)
        self.assertEqual([name for name in needed if not SYSTEM.fullmatch(name)], [])

    def test_what_runs_programs_is_small(self):
        if cached("CMAKE_BUILD_TYPE") != "Release":
            self.skipTest("only an optimized build is what is shipped")
        if "libstdc++" not in output("readelf", "-d", RUN):
            self.skipTest("this compiler links the C++ library into what it makes")
        with tempfile.TemporaryDirectory() as folder:
            stripped = Path(shutil.copy(RUN, folder))
            output("strip", stripped)
            self.assertLessEqual(stripped.stat().st_size, MOST_BYTES)


if __name__ == "__main__":
    unittest.main()
