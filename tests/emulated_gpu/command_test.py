"""The command on a GPU that is emulated: `--device gpu` finds it as it would find NVIDIA's driver."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

COMMAND = Path(os.environ["TENON_COMMAND"])
DRIVER = COMMAND.parent / "emulated_gpu"


def tenon(*words, driver=True):
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder, "TENON_KEEP": "0"}
        if driver:
            environment["LD_LIBRARY_PATH"] = str(DRIVER)
        return subprocess.run([COMMAND, *words], capture_output=True, text=True, env=environment, check=False,
                              stdin=subprocess.DEVNULL)


@unittest.skipUnless((DRIVER / "libcuda.so.1").exists(), "this build has no emulated GPU")
class CommandOnGpu(unittest.TestCase):
    def test_check(self):
        done = tenon("check", "mlp", "--device", "gpu", "--bind", "batch=3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_run(self):
        done = tenon("run", "mlp", "--device", "gpu", "--bind", "batch=2")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stderr, "")

    def test_version_names_it(self):
        self.assertIn("GPU      an emulated GPU, sm_90, 132 multiprocessors", tenon("version").stdout)
        gpu = json.loads(tenon("version", "--json").stdout)["gpu"]
        self.assertEqual((gpu["problem"], gpu["architecture"], gpu["memory"]), ("", "sm_90", 2**31))

    def test_without_a_driver(self):
        text = json.loads(tenon("version", "--json", driver=False).stdout)["gpu"]
        if text["problem"] == "":
            self.skipTest("there is a GPU")
        self.assertTrue(text["problem"].startswith("there is no GPU that can be used"))
        self.assertNotIn("name", text)


if __name__ == "__main__":
    unittest.main()
