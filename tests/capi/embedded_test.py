"""`tenon build --emit`: programs that are linked into others, here and for ARM64, where they run under an emulator."""

import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = Path(os.environ["TENON_COMMAND"]).resolve()
BUILD = COMMAND.parent
FLAGS = ["-std=c11", "-pedantic", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}"]
GRAPH = """graph dense_net(x: f32[batch, in], w: f32[in, `x*/`]) {
  return `y-1`=relu(matmul(x, w))
}
"""


def cached(name):
    found = re.search(rf"^{name}:\w+=(.*)$", (BUILD / "CMakeCache.txt").read_text(), re.MULTILINE)
    return found[1] if found else ""


class Embedded(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "dense_net.graph").write_text(GRAPH)

    def call(self, *words):
        done = subprocess.run([str(word) for word in words], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def build(self, form, output, *options):
        printed = self.call(COMMAND, "build", "dense_net.graph", "--emit", form, "-o", output, *options)
        self.assertTrue(printed.startswith(f"wrote {output} and dense.h: "), printed)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()),
                         sorted(["dense.h", output, "dense_net.graph"]))

    def link_and_run(self, compiler, library, part, *emulator):
        sanitizers = cached("TENON_SANITIZE")
        flags = [f"-fsanitize={sanitizers}"] if sanitizers and not emulator else []
        self.call(compiler, *FLAGS, *flags, "-I", self.folder, ROOT / "tests/capi/embedded.c", part, library, "-lstdc++",
                  "-lm", "-lpthread", "-o", "embedded")
        # No file is there at run time.
        (self.folder / part).unlink()
        self.assertEqual(self.call(*emulator, "./embedded"), "the embedded program holds\n")

    def test_each_form_is_linked_into_a_program(self):
        for form, output in [("object", "dense.o"), ("static", "dense.a"), ("c", "dense.c")]:
            with self.subTest(form=form):
                self.build(form, output)
                self.link_and_run(cached("CMAKE_C_COMPILER") or "cc", BUILD / "libtenon_run.a", output)
                for left in ("dense.h", "embedded"):
                    (self.folder / left).unlink()

    def test_the_header_is_for_c_plus_plus_too(self):
        self.build("object", "dense.o")
        (self.folder / "user.cpp").write_text('#include "dense.h"\nint main() { return dense_run(nullptr, nullptr, '
                                              "nullptr) == TENON_OK; }\n")
        sanitizers = cached("TENON_SANITIZE")
        self.call(cached("CMAKE_CXX_COMPILER"), "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", "user.cpp",
                  "dense.o", BUILD / "libtenon_run.a", *([f"-fsanitize={sanitizers}"] if sanitizers else []),
                  "-lpthread", "-o", "user")
        self.call("./user")

    def test_a_program_for_arm_runs_under_an_emulator(self):
        compiler, emulator = "aarch64-linux-gnu-gcc", "qemu-aarch64"
        library = ROOT / "build/arm64/libtenon_run.a"
        for tool in (compiler, emulator):
            if shutil.which(tool) is None:
                self.skipTest(f"there is no {tool}")
        if not library.exists() or library.stat().st_mtime < (BUILD / "libtenon_run.a").stat().st_mtime:
            self.skipTest("build/arm64/libtenon_run.a is not there, or older than that of this machine: "
                          "cmake --preset arm64 && cmake --build --preset arm64")
        for machine in ("armv8.2", "armv9") if cached("TENON_LLVM") == "ON" else ("armv8.2",):
            with self.subTest(machine=machine):
                self.build("object", "dense.o", "--machine", machine)
                self.link_and_run(compiler, library, "dense.o", emulator, "-cpu", "max,sve-default-vector-length=16",
                                  "-L", "/usr/aarch64-linux-gnu")
                for left in ("dense.h", "embedded"):
                    (self.folder / left).unlink()

    def test_what_is_refused(self):
        def refused(*options):
            done = subprocess.run([COMMAND, "build", "dense_net.graph", *options], cwd=self.folder, capture_output=True,
                                  text=True)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertEqual([path.name for path in self.folder.iterdir()], ["dense_net.graph"])
            return done.stderr

        self.assertIn("`--emit exe`: there are object, static and c", refused("--emit", "exe"))
        self.assertIn("`x86-64-v3` and `armv8.2` are of two",
                      refused("--emit", "object", "--machine", "x86-64-v3", "--machine", "armv8.2"))
        self.assertIn("`dense.h` is where the header goes", refused("--emit", "object", "-o", "dense.h"))
        self.assertIn("none", refused("--emit", "static", "-o", "none/dense.a"))


if __name__ == "__main__":
    unittest.main()
