"""What `./dev bench first` computes and prints; it runs one small model where NumPy is installed."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT / "bench"))

import first  # noqa: E402

COMMAND = Path(os.environ.get("TENON_COMMAND", ROOT / "build/release/tenon"))

try:
    import numpy as np
except ImportError:
    np = None


def side(seconds, memory=1 << 20):
    return {"first": seconds, "memory": memory}


ROWS = [
    {"name": "mlp.1", "sides": {"cold": side(0.4), "warm": side(0.2), "file": side(0.01), "onnxruntime": side(0.1),
                                "openvino": side(0.2, 1 << 19)}},
    {"name": "gpt2.decode", "sides": {"cold": side(0.1), "warm": side(0.1), "file": {"missing": "it is off"},
                                      "onnxruntime": side(0.4), "openvino": {"missing": "it was slow"}}},
]  # fmt: skip


class Figures(unittest.TestCase):
    def test_ratios_are_of_the_faster_of_those_that_are_there(self):
        self.assertEqual(first.ratio(ROWS[0], "cold", "first"), 0.25)
        self.assertEqual(first.ratio(ROWS[1], "cold", "first"), 4.0)
        self.assertEqual(first.ratio(ROWS[0], "cold", "memory"), 0.5)
        self.assertIsNone(first.ratio(ROWS[1], "file", "first"))
        self.assertIsNone(first.ratio(ROWS[1], "cold", "first", ["openvino"]))

    def test_means_are_geometric_over_what_is_there(self):
        means = first.means(ROWS)
        self.assertAlmostEqual(means["cold"]["fastest"], 1.0)
        self.assertAlmostEqual(means["file"]["onnxruntime"], 10.0)
        self.assertAlmostEqual(means["cold"]["memory"], 0.5**0.5)

    def test_what_is_left_out_is_said(self):
        text = first.text(ROWS)
        for part in ("mlp.1", "10.0 ms", "gpt2.decode: file: it is off", "gpt2.decode: openvino: it was slow"):
            self.assertIn(part, text)


class Script(unittest.TestCase):
    def script(self, *words):
        run = subprocess.run([sys.executable, "-I", ROOT / "bench/first.py", *words], capture_output=True, text=True)
        return run.returncode, run.stdout, run.stderr

    def test_help_teaches(self):
        for run in (self.script("--help"),
                    subprocess.run([ROOT / "dev", "bench", "first", "--help"], capture_output=True, text=True)):
            status, out = run[:2] if isinstance(run, tuple) else (run.returncode, run.stdout)
            self.assertEqual(status, 0)
            for word in ("--quick", "cold", "warm", "tenon build", "Memory"):
                self.assertIn(word, out)

    @unittest.skipUnless(np and COMMAND.with_name("bench_peers_steps").exists(), "needs NumPy and bench_peers_steps")
    def test_all_ways_of_tenon_are_measured(self):
        with tempfile.TemporaryDirectory() as folder:
            status, out, err = self.script("--tenon", COMMAND, "--folder", folder, "--only", "mlp", "--quick", "--json")
        self.assertEqual((status, err), (0, ""))
        found, means = map(json.loads, out.splitlines())
        for way in first.WAYS:
            self.assertGreater(found["sides"][way]["first"], 0)
            self.assertGreater(found["sides"][way]["memory"], 0)
        for name in first.OTHERS:
            self.assertTrue({"first", "missing"} & found["sides"][name].keys())
        self.assertEqual(set(means["means"]), set(first.WAYS))


if __name__ == "__main__":
    unittest.main()
