"""A wheel, tried where nothing of Tenon's sources is: run with the Python of a fresh environment."""

import os
import pathlib
import tempfile

import numpy as np

import tenon
import tenon_runtime

assert "site-packages" in tenon.__file__, tenon.__file__
x = tenon.input("x", "f32[batch, 4]")
w = tenon.constant(np.eye(4, dtype=np.float32))
with tempfile.TemporaryDirectory() as folder:
    path = pathlib.Path(folder) / "model.onnx"
    tenon.Graph("net", [x], {"y": (x @ w).relu()}).export_onnx(str(path))
    model = tenon.load(path, disk_cache=False)
    for rows in (1, 7):
        a = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
        assert np.allclose(model(a), np.maximum(a, 0))
    model.save(pathlib.Path(folder) / "model.tenon")
    program = tenon_runtime.load(pathlib.Path(folder) / "model.tenon")
    assert "site-packages" in tenon_runtime.__file__, tenon_runtime.__file__
    assert np.array_equal(program(a), model(a))
t = tenon.tensor([1.0, 2.0], requires_grad=True)
(t * t).sum().backward()
assert t.grad.tolist() == [2.0, 4.0]
with open("/proc/self/maps") as maps:
    foreign = {line.split()[-1] for line in maps if "LLVM" in line and "site-packages" not in line}
assert not foreign, foreign
print(f"tenon {tenon.__version__} in {os.path.dirname(tenon.__file__)}: works")
