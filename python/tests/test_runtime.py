"""The package tenon_runtime, over libtenon_run: the same results as the compiler's, and errors in its words."""

import threading

import numpy as np
import pytest
import tenon
import tenon_runtime


def saved(folder, *graph):
    graph = tenon.Graph(*graph)
    tenon.save(graph, folder / "model.tenon")
    return tenon_runtime.load(folder / "model.tenon"), tenon.compile(graph)


@pytest.fixture
def net(tmp_path):
    x = tenon.input("x", "f32[batch, 4]")
    w = tenon.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
    return saved(tmp_path, "net", [x], {"y": (x @ w).relu(), "total": x.sum()})


def rows(count):
    return np.random.default_rng(count).standard_normal((count, 4)).astype(np.float32)


def test_results_are_those_of_the_compiler(net):
    model, compiled = net
    assert repr(model) == "net(x: f32[batch, 4]) -> y, total"
    assert model.outputs == [("y", "f32[batch, 3]"), ("total", "f32[]")]
    for count in (0, 1, 5, 33):
        y, total = compiled.run([rows(count)])
        got = model(rows(count))
        np.testing.assert_array_equal(got["y"], y.numpy())
        np.testing.assert_array_equal(model(x=rows(count), threads=1)["total"], total.numpy())
        got["y"] += 1  # memory of its own
    np.testing.assert_array_equal(model(np.asfortranarray(rows(9)))["y"], model(rows(9))["y"])
    assert tenon_runtime.__version__ == tenon.__version__


def test_every_dtype(tmp_path):
    floats = {"f32": "float32", "f64": "float64", "f16": "float16", "bf16": "uint16"}
    integers = {f"{kind}{bits}": f"{word}{bits}" for kind, word in (("i", "int"), ("u", "uint")) for bits in (8, 16, 32, 64)}
    for dtype, seen in {**floats, **integers, "bool": "bool"}.items():
        x = tenon.input("x", f"{dtype}[n]")
        model, _ = saved(tmp_path, "flipped", [x], {"y": tenon.ops.flip(x, [0])})
        a = np.array([1, 0, 1, 1], seen)
        np.testing.assert_array_equal(model(a), a[::-1])


def test_sizes_that_data_decide_or_no_input_shows(tmp_path):
    x = tenon.input("x", "f32[n]")
    model, _ = saved(tmp_path, "found", [x], {"where": tenon.ops.nonzero(x, "found")})
    assert model(np.array([0, 2, 0, 4], np.float32)).ravel().tolist() == [1, 3]
    s = tenon.input("s", "f32[]")
    model, _ = saved(tmp_path, "many", [s], {"y": tenon.ops.broadcast_to(s, ["count"])})
    assert model(np.float32(2), sizes={"count": 3}).tolist() == [2, 2, 2]


def test_threads_share_a_model(net):
    model, _ = net
    expected = [model(rows(count))["y"] for count in range(8)]
    wrong = []

    def run():
        for count in range(8):
            if not np.array_equal(model(rows(count))["y"], expected[count]):
                wrong.append(count)

    threads = [threading.Thread(target=run) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong


def test_what_is_refused(net, tmp_path):
    model, _ = net
    for arguments, words in [
        (([rows(1).astype(np.float64)], {}), "input `x` is float32, and float64 is given"),
        (([np.ones((2, 5), np.float32)], {}), "x"),
        (([np.ones(4, np.float32)], {}), "rank"),
        (([], {}), "input `x` is not given"),
        (([rows(1)], {"z": rows(1)}), "there is no input `z`; the model takes `x`"),
        (([rows(1)], {"x": rows(1)}), "given twice"),
        (([rows(1), rows(1)], {}), "takes 1 inputs"),
        (([rows(1)], {"sizes": {"depth": 1}}), "depth"),
        (([rows(1)], {"threads": -1}), "-1"),
    ]:
        with pytest.raises(tenon_runtime.Error, match=words):
            model(*arguments[0], **arguments[1])
    with pytest.raises(tenon_runtime.Error, match="none.tenon"):
        tenon_runtime.load(tmp_path / "none.tenon")
    path = tmp_path / "model.tenon"
    (tmp_path / "cut.tenon").write_bytes(path.read_bytes()[:-9])
    with pytest.raises(tenon_runtime.Error, match="is damaged"):
        tenon_runtime.load(tmp_path / "cut.tenon")
