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
    "src/a/llvm_part.h": "#include <llvm/nothing.h>\n",  # not of this tree, which has no LLVM
}


@unittest.skipUnless(shutil.which("clang++-19"), "needs clang 19")
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
        self.assertIn("2 of 3 headers compile alone\n", text)

    def test_headers_that_compile(self):
        self.assertEqual(self.check(["src/a/wrong.h"]), (0, "2 of 2 headers compile alone\n"))


if __name__ == "__main__":
    unittest.main()
