"""Programs in files: saved from what was compiled, loaded, run."""

import pathlib
import time

import numpy as np
import pytest

import tenon


@pytest.fixture(scope="module")
def graph():
    x = tenon.input("x", "f32[batch, 4]")
    w = tenon.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
    return tenon.Graph("net", [x], {"y": (x @ w).relu(), "total": x.sum()})


def rows(count):
    return np.random.default_rng(count).standard_normal((count, 4)).astype(np.float32)


def test_what_was_compiled_is_saved_and_loaded(graph, tmp_path):
    path = tmp_path / "net.tenon"
    compiled = tenon.compile(graph)
    assert isinstance(compiled, tenon.Executable)
    compiled.save(path, metadata={"trained": 3})
    model = tenon.load(path)
    assert repr(model) == "Model(x: f32[batch, 4]) -> y, total"
    for count in (0, 1, 5, 33):
        y, total = compiled.run([rows(count)])
        got = model(rows(count))
        np.testing.assert_array_equal(got["y"], y.numpy())
        np.testing.assert_array_equal(model(x=rows(count))["total"], total.numpy())
    assert model.compile_count == 0
    model.specialize(batch=9)
    assert "kernel" in model.explain()._repr_html_()
    info = tenon.program_info(path)
    assert (info["name"], info["metadata"], info["tenon_version"]) == ("net", {"trained": "3"}, tenon.__version__)
    assert [runs for _, _, runs in info["machines"]] == [True]


@pytest.mark.parametrize("key", ["", "source", "source_checksum"])
def test_metadata_has_keys_that_are_not_ours(graph, tmp_path, key):
    with pytest.raises(tenon.Error, match="metadata"):
        tenon.compile(graph).save(tmp_path / "net.tenon", metadata={key: "x"})
    assert not (tmp_path / "net.tenon").exists()


def test_a_graph_is_saved_for_several_machines_and_known_sizes(graph, tmp_path):
    path = tmp_path / "net.tenon"
    tenon.save(graph, path, machines=["x86-64-v3", "armv8.2"], sizes={"batch": 2}, reasons=False)
    assert [name for name, _, _ in tenon.program_info(path)["machines"]] == ["x86-64-v3", "armv8.2"]
    tenon.save(graph, str(path), sizes="batch=2")
    model = tenon.load(path)
    assert model(rows(2))["y"].shape == (2, 3)
    with pytest.raises(tenon.Error, match="batch"):
        model(rows(3))
    with pytest.raises(tenon.Error, match="vax"):
        tenon.save(graph, path, machines="vax")
    with pytest.raises(tenon.Error, match="depth"):
        tenon.save(graph, path, sizes={"depth": 2})


def test_a_graph_need_not_be_kept(graph, tmp_path):
    compiled = tenon.compile(graph, keep_graph=False)
    np.testing.assert_array_equal(compiled.run([rows(2)])[0].numpy(), tenon.compile(graph).run([rows(2)])[0].numpy())
    with pytest.raises(tenon.Error, match=r"keep_graph=False.*tenon.save\(graph, path\)"):
        compiled.save(tmp_path / "net.tenon")


def test_a_model_that_was_loaded_before_is_not_compiled(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = pathlib.Path(__file__).resolve().parents[2] / "tests/cli/models/step.onnx"
    first = tenon.load(path)
    assert first.compile_count == 1
    explained = str(first.explain())
    del first  # now it is written, on another thread
    end = time.monotonic() + 20
    while not list(tmp_path.glob("tenon/*.tenon")) and time.monotonic() < end:
        time.sleep(0.01)
    second = tenon.load(path)
    assert second.compile_count == 0
    assert str(second.explain()) == explained
    assert tenon.load(path, disk_cache=False).compile_count == 1


def test_options_of_the_compile_are_those_of_the_file(tmp_path):
    w = np.random.default_rng(1).standard_normal((96, 64)).astype(np.float32)
    x = tenon.input("x", "f32[n, 96]")
    graph = tenon.Graph("dense", [x], {"y": tenon.matmul(x, tenon.constant(w))})
    compiled = tenon.compile(graph, weights=tenon.i8)
    compiled.save(tmp_path / "dense.tenon")
    a = np.random.default_rng(2).standard_normal((3, 96)).astype(np.float32)
    got = tenon.load(tmp_path / "dense.tenon")(a)
    np.testing.assert_array_equal(got, compiled.run([a])[0].numpy())
    assert (got != tenon.compile(graph).run([a])[0].numpy()).any()


def test_weights_are_named_by_a_dtype_or_its_name(tmp_path):
    w = np.random.default_rng(1).standard_normal((96, 64)).astype(np.float32)
    graph = tenon.Graph("dense", [x := tenon.input("x", "f32[n, 96]")], {"y": tenon.matmul(x, tenon.constant(w))})
    a = np.random.default_rng(2).standard_normal((3, 96)).astype(np.float32)
    expected = tenon.compile(graph, weights=tenon.i8).run([a])[0].numpy()
    np.testing.assert_array_equal(tenon.compile(graph, weights="i8").run([a])[0].numpy(), expected)
    tenon.save(graph, tmp_path / "dense.tenon", weights="int8")
    np.testing.assert_array_equal(tenon.load(tmp_path / "dense.tenon")(a), expected)
    graph.export_onnx(str(tmp_path / "dense.onnx"))
    np.testing.assert_array_equal(tenon.load(tmp_path / "dense.onnx", weights="i8")(a), expected)
    for wrong in ("i9", 3):
        with pytest.raises(TypeError, match=f"{wrong} is no dtype"):
            tenon.save(graph, tmp_path / "wrong.tenon", weights=wrong)


def test_a_model_is_saved(graph, tmp_path):
    graph.export_onnx(str(tmp_path / "net.onnx"))
    model = tenon.load(tmp_path / "net.onnx")
    model.save(tmp_path / "net.tenon")
    program = tenon.load(tmp_path / "net.tenon")
    np.testing.assert_array_equal(program(rows(7))["y"], model(rows(7))["y"])
    with pytest.raises(tenon.Error, match="is a program already"):
        program.save(tmp_path / "again.tenon")


def test_state_is_updated_in_place(tmp_path):
    new = tenon.input("new", "f32[batch, seq, 4]")
    past = tenon.input("past", "f32[batch, past, 4]")
    present = tenon.ops.concat([past, new], axis=1)
    graph = tenon.donate(tenon.Graph("step", [new, past], {"present": present}), {"past": "present"})
    tenon.save(graph, tmp_path / "step.tenon")
    step = tenon.load(tmp_path / "step.tenon")
    cache = np.zeros((1, 3, 4), np.float32)
    for place in range(3):
        out = step(np.full((1, 1, 4), place, np.float32), cache, sizes={"past": place}, donate=True)
        assert out is cache
    assert cache[0, :, 0].tolist() == [0, 1, 2]


def test_what_is_refused(graph, tmp_path):
    path = tmp_path / "net.tenon"
    tenon.save(graph, path)
    with pytest.raises(tenon.Error, match="which was compiled when it was built"):
        tenon.load(path, weights=tenon.i8)
    model = tenon.load(path)
    with pytest.raises(tenon.Error, match="input `x` is not given; the program takes `x`"):
        model.run({})
    with pytest.raises(tenon.Error, match="no input `z`"):
        model.run({"x": rows(1), "z": rows(1)})
    with pytest.raises(tenon.Error, match="x"):
        model(np.ones((2, 5), np.float32))
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(tenon.Error, match="is damaged"):
        tenon.load(path)
    with pytest.raises(tenon.Error, match="is damaged"):
        tenon.program_info(path)
    with pytest.raises(tenon.Error, match="missing"):
        tenon.save(graph, tmp_path / "missing" / "net.tenon")
