"""tools/check_headers.py on a small tree: a header that counts on what others include fails."""
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "check_headers.py"
FILES = {
    "build/CMakeCache.txt": "",
    "include/tenon/part.h": "#pragma once\n#include <vector>\nstruct Part {\n  std::vector<int> x;\n};\n",
    "src/a/whole.h": '#pragma once\n#include "tenon/part.h"\nstruct Whole {\n  Part part;\n};\n',
    "src/a/wrong.h": "#pragma once\n#include <vector>\nstd::vector<Part> parts();\n",
    "src/a/other.h": "#pragma once\nstruct Other {};\n",
    "src/a/made.h": '#pragma once\n#include "tenon/made.h"\n',
    "build/generated/include/tenon/made.h": "#pragma once\n",
    "src/a/source.cpp": "",
    "src/a/llvm_part.h": "#include <llvm/nothing.h>\n",  # not of this tree, which has no LLVM
}


@unittest.skipUnless(shutil.which("clang++-19") and shutil.which("git"), "needs clang 19 and git")
class CheckHeaders(unittest.TestCase):
    def check(self, left_out=()):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in FILES.items():
                if name not in left_out:
                    path = pathlib.Path(folder, name)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_text(text)
            done = subprocess.run([sys.executable, "-B", SCRIPT, "--root", folder, "--build", f"{folder}/build"],
                                  capture_output=True, text=True, check=False)
            return done.returncode, done.stdout + done.stderr

    def test_a_header_without_what_it_names(self):
        status, text = self.check()
        self.assertEqual(status, 1)
        self.assertIn("a/wrong.h does not compile alone:\n", text)
        self.assertIn("4 of 5 headers compile alone\n", text)

    def test_headers_that_compile(self):
        self.assertEqual(self.check(["src/a/wrong.h"]), (0, "4 of 4 headers compile alone\n"))

    def check_since(self, *changed):
        """The answer about a tree in which these files got a line since its last commit."""
        with tempfile.TemporaryDirectory() as folder:
            git = ["git", "-C", folder, "-c", "user.name=x", "-c", "user.email=x@x"]
            for name, text in FILES.items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            for words in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "x"]):
                subprocess.run([*git, *words], check=True)
            for name in changed:
                with pathlib.Path(folder, name).open("a") as file:
                    file.write("// more\n")
            done = subprocess.run([sys.executable, "-B", SCRIPT, "--root", folder, "--build", f"{folder}/build",
                                   "--since", "HEAD"], capture_output=True, text=True, check=False)
            return done.returncode, (done.stdout + done.stderr).splitlines()[-1]

    def test_only_what_changed(self):
        self.assertEqual(self.check_since(), (0, "no header changed"))
        self.assertEqual(self.check_since("src/a/other.h"), (0, "1 of 1 headers compile alone"))
        self.assertEqual(self.check_since("src/a/wrong.h"), (1, "0 of 1 headers compile alone"))

    def test_what_includes_what_changed(self):
        self.assertEqual(self.check_since("include/tenon/part.h"), (0, "2 of 2 headers compile alone"))

    def test_what_includes_generated_headers_after_any_source(self):
        self.assertEqual(self.check_since("src/a/source.cpp"), (0, "1 of 1 headers compile alone"))

    def test_all_when_the_rules_change(self):
        self.assertEqual(self.check_since("CMakeLists.txt"), (1, "4 of 5 headers compile alone"))


if __name__ == "__main__":
    unittest.main()
