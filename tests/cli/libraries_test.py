"""What the command `tenon` brings with it: no library of linear algebra or of neural networks, because it computes with
its own code; and LLVM only where something is compiled, from a file whose absence is one clear error."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

FOREIGN = re.compile(r"blas|lapack|mkl|dnnl|onednn|eigen|atlas|openvino|xnnpack|onnxruntime|torch", re.IGNORECASE)
COMMAND = Path(os.environ["TENON_COMMAND"]).resolve()
MODULE = COMMAND.parent / "libtenon_codegen.so"


class Libraries(unittest.TestCase):
    @unittest.skipUnless(shutil.which("ldd"), "there is no ldd")
    def test_none_that_multiplies_and_no_compiler(self):
        run = subprocess.run(["ldd", COMMAND], capture_output=True, text=True, check=True)
        libraries = [os.path.basename(line.split()[0]) for line in run.stdout.splitlines()]
        self.assertTrue(any(name.startswith("libc.") for name in libraries), run.stdout)
        self.assertEqual([name for name in libraries if FOREIGN.search(name) or "LLVM" in name], [])


@unittest.skipUnless(MODULE.exists(), "a build without LLVM")
class CodeModule(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.command = self.folder / "tenon"
        self.module = self.folder / MODULE.name
        shutil.copy(COMMAND, self.command)

    def tenon(self, *words, command=None):
        return subprocess.run([command or self.command, *words], capture_output=True, text=True, cwd=self.folder)

    def assert_refuses(self, text):
        run = self.tenon("run", "mlp", "--no-cache")
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertRegex(run.stderr, "^tenon: nothing can be compiled, because [^\n]*" + re.escape(text) + "[^\n]*\n$")

    def test_is_missing(self):
        self.assert_refuses(f"`{MODULE.name}`, which comes with Tenon, is not in `{self.folder}`")
        version = self.tenon("version")
        self.assertEqual((version.returncode, version.stderr), (0, ""))
        self.assertRegex(version.stdout, f"\n  problem  nothing can be compiled, because `{MODULE.name}`, ")
        self.assertNotIn("problem", self.tenon("version", command=COMMAND).stdout)
        self.assertEqual(json.loads(self.tenon("version", "--json", command=COMMAND).stdout)["problem"], "")

    def test_passes_are_shown_without_it(self):
        run = self.tenon("explain", "mlp", "--passes", "--no-cache")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertRegex(run.stdout, r"\n  fold_views +[\d.]+ .*\n(.*\n)*  code +-  nothing can be compiled, because .*\n")

    def test_is_no_library(self):
        self.module.write_text("text")
        self.assert_refuses("the code generator cannot be loaded: " + str(self.module))

    def test_is_of_another_build(self):
        shutil.copy(COMMAND.parent / "libtenon_run.so", self.module)
        self.assert_refuses(f"the `{MODULE.name}` of another build of Tenon was found for `{self.command}`")

    def test_program_files_run_without_it(self):
        built = self.tenon("build", "mlp", "-o", "mlp.tenon", "--no-cache", command=COMMAND)
        self.assertEqual(built.returncode, 0, built.stderr)
        run = self.tenon("run", "mlp.tenon", "--bind", "batch=3")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("f32[batch=3, 10]", run.stdout)

    def test_is_found_by_its_command(self):
        self.module.symlink_to(MODULE)
        link = self.folder / "elsewhere"
        link.mkdir()
        (link / "tenon").symlink_to(self.command)
        run = self.tenon("run", "mlp", "--no-cache", "--bind", "batch=3", command=link / "tenon")
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("f32[batch=3, 10]", run.stdout)


if __name__ == "__main__":
    unittest.main()
