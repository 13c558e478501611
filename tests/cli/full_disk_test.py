"""What the command leaves where a file cannot be written whole, as on a disk that is full: the old file, or none."""

import os
import resource
import subprocess
import tempfile
import unittest
from pathlib import Path

COMMAND = os.environ["TENON_COMMAND"]


def small_files():
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))


class FullDisk(unittest.TestCase):
    def test_standard_output(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("there is no /dev/full")
        for words in [["explain", "examples/softmax.graph"], ["help", "explain"],
                      ["bench", "examples/softmax.graph", "--bind", "row=2,col=9", "--seconds", "0.01"]]:
            with self.subTest(words=words), open("/dev/full", "w", encoding="utf-8") as full:
                run = subprocess.run([COMMAND, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual((run.returncode, run.stderr), (1, "tenon: cannot write to standard output\n"))

    def expect_nothing_left(self, verb, output, *options):
        """A file that may not grow stands for a full disk."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / output
            words = [COMMAND, verb, "mlp", *(["-o", path] if verb == "build" else [path]), *options]
            run = subprocess.run(words, capture_output=True, text=True, preexec_fn=small_files, check=False)
            if "TENON_ONNX=OFF" in run.stderr:
                self.skipTest("built without ONNX")
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertRegex(run.stderr, rf"^tenon: cannot write `{path}(\.data)?`: \w.*\n$")
            self.assertEqual(os.listdir(folder), [])
            path.write_text("old")
            subprocess.run(words, capture_output=True, preexec_fn=small_files, check=False)
            self.assertEqual((os.listdir(folder), path.read_text()), ([output], "old"))

    def test_build(self):
        self.expect_nothing_left("build", "mlp.tenon")

    def test_build_what_is_linked(self):
        for form, output in [("object", "mlp.o"), ("static", "mlp.a"), ("c", "mlp.c")]:
            with self.subTest(form=form):
                self.expect_nothing_left("build", output, "--emit", form)

    def test_export(self):
        self.expect_nothing_left("export", "mlp.graph")
        self.expect_nothing_left("export", "mlp.onnx")
        self.expect_nothing_left("export", "mlp.onnx", "--external-data")

    def test_outputs_of_a_run(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [COMMAND, "run", "mlp", "--bind", "batch=64", "--output", folder]
            run = subprocess.run(words, capture_output=True, text=True, preexec_fn=small_files, check=False)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertRegex(run.stderr, rf"^tenon: cannot write `{folder}/logits.npy`: \w.*\n$")
            self.assertEqual(os.listdir(folder), [])

    def test_what_a_link_leads_to_is_replaced(self):
        with tempfile.TemporaryDirectory() as folder:
            link, target = Path(folder) / "link.tenon", Path(folder) / "there" / "mlp.tenon"
            target.parent.mkdir()
            target.write_text("old")
            link.symlink_to(target)
            subprocess.run([COMMAND, "build", "mlp", "-o", link], capture_output=True, check=True)
            self.assertTrue(link.is_symlink())
            self.assertGreater(target.stat().st_size, 1000)


if __name__ == "__main__":
    unittest.main()
