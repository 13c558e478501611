"""Exported parts pass ONNX's checker and, one after the other in ONNX Runtime, give what the whole gives there.

Skipped where Python has no onnx and onnxruntime. TENON_COMMAND names the command; TENON_MODELS may list other models.
"""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

try:
    import numpy
    import onnx
    import onnxruntime
except ImportError:
    onnxruntime = None

COMMAND = os.environ["TENON_COMMAND"]
MODELS = os.environ.get("TENON_MODELS", "mlp small_cnn mobilenet_v2").split()


def session(path):
    onnx.checker.check_model(str(path))
    return onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])


def run(model, arrays, sizes):
    """Runs a session on named arrays; an input that no array is named after is the size of an axis."""
    feeds = {}
    for port in model.get_inputs():
        feeds[port.name] = arrays[port.name] if port.name in arrays else numpy.array(sizes[port.name], numpy.int64)
    names = [port.name for port in model.get_outputs()]
    return dict(zip(names, model.run(names, feeds)))


def random_input(shape_text, sizes, generator):
    dtype, axes = shape_text.rstrip("]").split("[")
    dims = []
    for axis in filter(None, axes.split(", ")):
        size = axis.split("=")[-1]
        dims.append(int(eval(size.replace("floordiv", "//"), {}, dict(sizes))))  # an extent of our own printing
    if dtype == "f32":
        return generator.standard_normal(dims).astype(numpy.float32)
    if dtype == "bool":
        return numpy.ones(dims, bool)
    return generator.integers(0, 2, dims).astype({"i64": numpy.int64, "i32": numpy.int32}[dtype])


@unittest.skipIf(onnxruntime is None, "needs numpy, onnx and onnxruntime")
class Parts(unittest.TestCase):
    def check(self, model, options):
        with tempfile.TemporaryDirectory() as folder:
            whole_file = Path(folder) / "whole.onnx"
            subprocess.run([COMMAND, "export", model, whole_file], check=True, capture_output=True)
            parts = Path(folder) / "parts"
            subprocess.run([COMMAND, "partition", model, *options, "--export", parts], check=True, capture_output=True)
            manifest = json.loads((parts / "manifest.json").read_text())
            generator = numpy.random.default_rng(1)
            sizes = manifest["sizes"]
            arrays = {port["name"]: random_input(port["shape"], sizes, generator) for port in manifest["inputs"]}
            wanted = run(session(whole_file), arrays, sizes)
            for part in manifest["parts"]:
                got = run(session(parts / part["file"]), arrays, sizes)
                self.assertEqual(sorted(got), sorted(port["name"] for port in part["outputs"]))
                arrays.update(got)
            for port in manifest["outputs"]:
                largest = numpy.abs(wanted[port["name"]]).max()
                error = numpy.abs(arrays[port["name"]] - wanted[port["name"]]).max() / largest
                self.assertLess(error, 1e-4, f"{model} {port['name']}")

    def test_fused_parts(self):
        for model in MODELS:
            with self.subTest(model=model):
                self.check(model, [])

    def test_blocks(self):
        for model in MODELS:
            with self.subTest(model=model):
                self.check(model, ["--by", "blocks"])


if __name__ == "__main__":
    unittest.main()
