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

    def test_stages_in_pieces(self):
        for model, mesh, pipeline in (("mlp", "pipe=3", "pipe=4"), ("small_cnn", "pipe=2,data=2", "pipe=3")):
            whole = losses(train(model, "--epochs", "2"))
            parts = losses(train(model, "--epochs", "2", "--mesh", mesh, "--pipeline", pipeline, "--ranks", "threads"))
            for a, b in zip(whole, parts, strict=True):
                self.assertAlmostEqual(a, b, delta=1e-3 * max(1, a), msg=f"{model} on {mesh}")

    def test_norms_of_the_whole_batch_are_not_cut_into_pieces(self):
        run = subprocess.run([COMMAND, "train", "resnet18", "--examples", "4", "--batch", "4", "--epochs", "1", "--mesh",
                              "pipe=2", "--pipeline", "pipe=2", "--ranks", "threads"], capture_output=True, text=True,
                             check=False, timeout=200)
        self.assertEqual(run.returncode, 1)
        self.assertIn("graph `resnet` cannot be cut into pieces along `batch`", run.stderr)

    def test_a_checkpoint_goes_on_from_stages_to_none(self):
        with tempfile.TemporaryDirectory() as folder:
            file = str(Path(folder) / "run.safetensors")
            whole = losses(train("mlp", "--epochs", "4"))
            train("mlp", "--epochs", "2", "--mesh", "pipe=2,data=2", "--pipeline", "pipe=2", "--ranks", "threads",
                  "--checkpoint", file)
            parts = losses(train("mlp", "--resume", file, "--epochs", "3", "--mesh", "pipe=3", "--pipeline", "pipe=2",
                                 "--ranks", "threads", "--checkpoint", file))
            parts += losses(train("mlp", "--resume", file, "--epochs", "4"))
            for a, b in zip(whole[2:], parts, strict=True):
                self.assertAlmostEqual(a, b, delta=1e-3 * max(1, a))

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
