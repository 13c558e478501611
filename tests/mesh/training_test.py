"""`tenon train --mesh`: losses are those of one process, and a checkpoint goes on whatever the mesh was."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

COMMAND = os.environ["TENON_COMMAND"]
DATA = ["--examples", "60", "--batch", "25", "--validate", "0.1", "--json"]


def train(*words):
    run = subprocess.run([COMMAND, "train", *words, *DATA], capture_output=True, text=True, check=False, timeout=200)
    if run.returncode != 0:
        raise AssertionError(run.stderr)
    return json.loads(run.stdout)


def losses(run):
    return [epoch["loss"] for epoch in run["epochs"]]


class Training(unittest.TestCase):
    def test_losses_are_those_of_one_process(self):
        for model in ("mlp", "small_cnn"):
            whole = losses(train(model, "--epochs", "3"))
            for mesh in ("data=2", "data=3"):
                parts = losses(train(model, "--epochs", "3", "--mesh", mesh, "--ranks", "threads"))
                for a, b in zip(whole, parts, strict=True):
                    self.assertAlmostEqual(a, b, delta=1e-3 * max(1, a), msg=f"{model} on {mesh}")

    def test_a_checkpoint_goes_on_on_another_mesh(self):
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "run.safetensors")
            whole = losses(train("mlp", "--epochs", "4"))
            train("mlp", "--epochs", "2", "--mesh", "data=4", "--ranks", "threads", "--checkpoint", file)
            more = train("mlp", "--resume", file, "--epochs", "4", "--mesh", "data=2", "--ranks", "threads")
            for a, b in zip(whole[2:], losses(more), strict=True):
                self.assertAlmostEqual(a, b, delta=1e-3 * max(1, a))


if __name__ == "__main__":
    unittest.main()
