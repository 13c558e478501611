"""Graphs, compiled programs, models from files, and functions that are compiled."""

from pathlib import Path

import numpy as np
import pytest

import tenon


@pytest.fixture(scope="module")
def onnx_file(tmp_path_factory):
    x = tenon.input("x", "f32[batch, 4]")
    w = tenon.constant(np.arange(12, dtype=np.float32).reshape(4, 3))
    path = tmp_path_factory.mktemp("models") / "model.onnx"
    tenon.Graph("net", [x], {"y": (x @ w).relu()}).export_onnx(str(path))
    return path


def test_three_lines_run_a_model_at_any_size(onnx_file):
    model = tenon.load(onnx_file, disk_cache=False)
    w = np.arange(12, dtype=np.float32).reshape(4, 3)
    for rows in (1, 5, 0, 33):
        a = np.random.default_rng(rows).standard_normal((rows, 4)).astype(np.float32)
        np.testing.assert_allclose(model(a), np.maximum(a @ w, 0), rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(model(x=a), np.maximum(a @ w, 0), rtol=1e-4, atol=1e-5)
    assert model.compile_count == 1
    assert model.outputs == ["y"]
    assert "batch" in repr(model)
    model.specialize(batch=7)
    assert "kernel" in model.explain()._repr_html_()
    assert model.explain().svg().startswith("<svg")


def test_weights_in_fewer_bits():
    w = np.random.default_rng(1).standard_normal((96, 64)).astype(np.float32)
    x = tenon.input("x", "f32[n, 96]")
    graph = tenon.Graph("dense", [x], {"y": tenon.matmul(x, tenon.constant(w))})
    a = np.random.default_rng(2).standard_normal((3, 96)).astype(np.float32)
    exact = a @ w
    for weights in (tenon.bf16, tenon.f16, tenon.i8):
        got = tenon.compile(graph, weights=weights).run([a])[0].numpy()
        worst = np.abs(got - exact).max() / np.abs(exact).max()
        assert 0 < worst < 0.02
    got = tenon.compile(graph, weights="i4").run([a])[0].numpy()
    assert 0 < np.abs(got - exact).max() / np.abs(exact).max() < 0.2
    with pytest.raises(tenon.Error, match="bf16, f16, i8 or i4"):
        tenon.compile(graph, weights=tenon.f64)


def test_products_of_rounded_operands(onnx_file):
    w = np.random.default_rng(1).standard_normal((96, 64)).astype(np.float32)
    x = tenon.input("x", "f32[n, 96]")
    graph = tenon.Graph("dense", [x], {"y": tenon.matmul(x, tenon.constant(w))})
    a = np.random.default_rng(2).standard_normal((3, 96)).astype(np.float32)
    exact = a @ w
    worst = []
    for precision in ("f32", "tf32", "bf16"):
        got = tenon.compile(graph, precision=precision).run([a])[0].numpy()
        worst.append(np.abs(got - exact).max() / np.abs(exact).max())
    assert worst[0] < 1e-5 < worst[1] < 2e-3 < worst[2] < 2e-2
    with pytest.raises(tenon.Error, match="none of f32, tf32, bf16 and f16"):
        tenon.compile(graph, precision="f8")
    with pytest.raises(tenon.Error, match="tenon build"):
        tenon.load(onnx_file, precision="bf16").save("never.tenon")


def test_a_model_refuses_what_does_not_fit(onnx_file):
    model = tenon.load(onnx_file)
    with pytest.raises(tenon.Error, match="takes 1 inputs"):
        model(np.ones((1, 4), np.float32), np.ones(3, np.float32))
    with pytest.raises(tenon.Error, match="x"):
        model(np.ones((1, 5), np.float32))
    with pytest.raises(tenon.Error):
        model(np.ones((1, 4), np.float64))
    with pytest.raises(tenon.Error, match="missing.onnx"):
        tenon.load("missing.onnx")


def test_graph_building_and_text():
    x = tenon.input("x", "f32[n, 3]")
    with tenon.building_graph():
        bias = tenon.ops.full(tenon.Shape(tenon.f32, [x.sizes[0], 1]), 2.0)
    graph = tenon.Graph("g", [x], [("y", x + bias)], ["n >= 1"])
    assert tenon.parse_graph(graph.to_text()) == graph
    exe = tenon.compile(graph)
    assert exe.kernel_count == 1
    a = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(exe.run([a])[0].numpy(), a + 2)
    np.testing.assert_array_equal(graph.interpret([a])[0].numpy(), a + 2)
    with pytest.raises(tenon.Error, match="n"):
        exe.run([np.ones((0, 3), np.float32)])
    trace = tenon.Trace()
    exe.run([a], trace=trace, threads=1)
    assert len(trace) == 1 and "traceEvents" in trace.to_json()


def test_extents():
    n = tenon.Extent("n")
    assert (2 * n + 1).at({"n": 4}) == 9
    assert n - n == 0 and isinstance(n - n, int)
    assert str((n + 3) // 4) == "(n+3) floordiv 4"
    assert tenon.ceildiv(n, 2).at({"n": 5}) == 3
    with pytest.raises(TypeError):
        n + 1.5


def test_jit():
    @tenon.jit(dynamic={"x": ["batch", None]})
    def scaled(x, factor=2.0):
        return x * factor, x.sum(axis=0)

    for rows in (2, 9):
        a = np.random.default_rng(rows).standard_normal((rows, 3)).astype(np.float32)
        twice, total = scaled(a)
        np.testing.assert_allclose(twice, a * 2, rtol=1e-6)
        np.testing.assert_allclose(total, a.sum(0), rtol=1e-5, atol=1e-6)
    assert scaled.compile_count == 1
    with pytest.raises(tenon.Error, match="declared with 2 axes"):
        scaled(np.ones(3, np.float32))
    with pytest.raises(tenon.Error, match="no parameter `z`"):
        tenon.jit(lambda x: x, dynamic={"z": []})


def test_builtin_models_are_there():
    assert "resnet18" in tenon.model_names()
    with pytest.raises(tenon.Error, match="resnet18"):
        tenon.builtin_model("no_such_model")


def test_every_operation_of_the_tables_is_a_function():
    for name in tenon._tenon.operation_names():
        function = getattr(tenon.ops, name)
        assert function.__doc__, name


def test_results_never_lie_in_the_inputs():
    x = tenon.input("x", "f32[n]")
    exe = tenon.compile(tenon.Graph("same", [x], {"y": x, "z": x.reshape(1, -1)}))
    a = np.ones(3, np.float32)
    y, z = (r.numpy() for r in exe.run([a]))
    y[0] = 5
    z[0, 1] = 7
    assert a.tolist() == [1, 1, 1] and y.tolist() == [5, 1, 1] and z.tolist() == [[1, 7, 1]]


def test_what_a_tensor_holds_cannot_be_written_through_numpy():
    t = tenon.tensor([1.0, 2.0]) + 1
    seen = t.numpy()
    with pytest.raises(ValueError, match="read-only"):
        seen[0] = 9
    assert t.tolist() == [2, 3]


def test_values_have_no_truth():
    @tenon.jit
    def f(x):
        return x if x.sum() > 0 else -x

    with pytest.raises(tenon.Error, match="no truth"):
        f(np.ones(3, np.float32))


def test_a_dict_as_result_of_jit():
    @tenon.jit
    def moments(x):
        return {"mean": x.mean(), "square": x * x}

    result = moments(np.array([1, 2, 3], np.float32))
    assert list(result) == ["mean", "square"] and result["mean"] == 2
    np.testing.assert_array_equal(result["square"], [1, 4, 9])
    with pytest.raises(tenon.Error, match="must give a value, a list of values, or a dict"):
        tenon.jit(lambda x: {"x": 3})(np.ones(2, np.float32))


def decoder_step():
    new = tenon.input("new", "f32[batch, seq, 4]")
    past = tenon.input("past", "f32[batch, past, 4]")
    present = tenon.ops.concat([past, new], axis=1)
    return tenon.Graph("step", [new, past], {"mean": present.mean(axis=1), "present": present})


def test_donated_state_is_updated_in_place(tmp_path):
    path = tmp_path / "step.onnx"
    decoder_step().export_onnx(str(path))
    model = tenon.load(path, donate="auto")
    assert [str(shape) for _, shape in model.inputs] == ["f32[batch, seq, 4]", "f32[batch, capacity, 4]"]
    rng = np.random.default_rng(0)
    cache = np.full((2, 9, 4), 7, np.float32)
    tokens = rng.standard_normal((2, 9, 4)).astype(np.float32)
    for place in range(9):
        given = tokens[:, place : place + 1].copy()
        kept = cache.copy()
        plain = model.run({"new": given, "past": kept}, sizes={"past": place})
        out = model.run({"new": given, "past": cache}, sizes={"past": place}, donate=True)
        assert out["present"] is cache
        np.testing.assert_array_equal(kept[:, place:], 7)  # not donated: not written
        np.testing.assert_array_equal(plain["present"].numpy(), cache)
        np.testing.assert_allclose(out["mean"].numpy(), tokens[:, : place + 1].mean(axis=1), rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(cache, tokens)
    assert model.compile_count == 1
    with pytest.raises(tenon.Error, match="capacity"):
        model.run({"new": given, "past": cache}, sizes={"past": 9}, donate=True)


def test_only_memory_that_may_be_written_is_donated():
    executable = tenon.compile(tenon.donate(decoder_step(), {"past": "present"}))
    new = np.ones((1, 1, 4), np.float32)
    fixed = np.zeros((1, 3, 4), np.float32)
    fixed.flags.writeable = False
    out = executable.run([new, fixed], sizes={"past": 1}, donate=True)[1]
    assert out is not fixed and fixed.sum() == 0 and out.numpy().sum() == 4
    turned = np.zeros((4, 3, 1), np.float32).transpose(2, 1, 0)  # not row-major: the result is an array of its own
    out = executable.run([new, turned], sizes={"past": 1}, donate=True)[1]
    assert out is not turned and out.numpy().sum() == 4
    state = tenon.Array(np.zeros((1, 3, 4), np.float32))
    for place in range(3):
        state = executable.run([new, state], sizes={"past": place}, donate=True)[1]
    assert state.numpy().sum() == 12
    both = np.zeros((1, 3, 4), np.float32)
    out = executable.run([both[:, 1:2], both], sizes={"past": 1}, donate=True)[1]  # the inputs share memory
    assert out is not both
    with pytest.raises(tenon.Error, match="no such input"):
        tenon.donate(decoder_step(), {"passed": "present"})
    for form in ("past=present", ["past=present"]):  # the command's form
        with pytest.raises(tenon.Error, match='write {"INPUT": "OUTPUT"}, or "auto"'):
            tenon.donate(decoder_step(), form)


def test_a_size_that_decides_a_rank_has_a_program_of_its_own():
    model = tenon.load(Path(__file__).resolve().parents[2] / "tests/cli/models/squeeze.onnx")
    assert model(np.ones((1, 4), np.float32)).shape == (4,)
    assert model(np.ones((3, 4), np.float32)).shape == (3, 4)
    assert model.assumptions == ["batch >= 2: so it is at the sizes that were given"]
    assert model(np.ones((1, 4), np.float32)).shape == (4,)
    assert model.compile_count == 2


def test_sizes_that_came():
    x = tenon.input("x", "f32[n]")
    executable = tenon.compile(tenon.Graph("double", [x], {"y": x * 2}))
    for size in (3, 5, 5):
        executable.run([np.ones(size, np.float32)])
    most = executable.size_counts[0]
    assert (most["sizes"], most["hits"], most["specializations"]) == ({"n": 5}, 1, 1)
    assert executable.counters["hits"] == 1 and executable.counters["evictions"] == 0
    assert '\ntenon_runs_total{model="double"} 3\n' in executable.metrics_text()
