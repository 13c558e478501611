"""Lazy tensors from Python, held against NumPy."""

import copy
import gc
import pickle
import resource
import threading
import time

import numpy as np
import pytest

import tenon
from tenon import nn, optim


def test_elementwise_and_reductions_as_numpy():
    a = np.random.default_rng(0).standard_normal((5, 7)).astype(np.float32)
    x = tenon.tensor(a)
    np.testing.assert_allclose((x * 2 + 1).numpy(), a * 2 + 1, rtol=1e-6)
    np.testing.assert_allclose((1 / (x.abs() + 1)).numpy(), 1 / (np.abs(a) + 1), rtol=1e-6)
    np.testing.assert_allclose(x.mean(axis=0).numpy(), a.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x.sum(axis=(0, 1)).item(), a.sum(), rtol=1e-5)
    np.testing.assert_array_equal((x > 0).numpy(), a > 0)
    np.testing.assert_allclose(x.max(axis=1).numpy(), a.max(1))
    np.testing.assert_allclose((x @ x.T).numpy(), a @ a.T, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        (1, 2),
        slice(1, 4),
        slice(None, None, 2),
        slice(None, None, -1),
        slice(4, 1, -2),
        (slice(None), slice(-3, None)),
        (Ellipsis, 0),
        (None, 1),
        slice(3, 1),
        slice(0, 100),
    ],
    ids=str,
)
def test_basic_indexing_as_numpy(key):
    a = np.arange(35, dtype=np.float32).reshape(5, 7)
    np.testing.assert_array_equal(tenon.tensor(a)[key].numpy(), a[key])


def test_indexing_by_tensors():
    a = np.arange(12, dtype=np.float32).reshape(4, 3)
    x = tenon.tensor(a)
    np.testing.assert_array_equal(x[tenon.tensor([2, 0])].numpy(), a[[2, 0]])
    mask = np.array([True, False, True, True])
    np.testing.assert_array_equal(x[tenon.tensor(mask)].numpy(), a[mask])


def test_writes_stay_lazy_and_go_through_views():
    tenon.clear_realizations()
    x = tenon.zeros(4, 4)
    x[1:3, 1:3] = 1
    x[0] += 2
    x.T[3].relu_()
    x[tenon.tensor([3])] = 5
    assert tenon.realization_counts()["runs"] == 0
    expected = np.zeros((4, 4), np.float32)
    expected[1:3, 1:3] = 1
    expected[0] += 2
    expected[3] = 5
    np.testing.assert_array_equal(x.numpy(), expected)
    assert tenon.realization_counts()["runs"] == 1


def test_errors_name_tensors_by_their_shapes():
    a, b = tenon.tensor(np.ones((2, 3), np.float32)), tenon.tensor(np.ones((5, 7), np.float32))
    with pytest.raises(tenon.Error, match=r"axis 1 of f32\[2, 3\] is 3.*\n  lhs: f32\[2, 3\]\n  rhs: f32\[5, 7\]"):
        a @ b
    with pytest.raises(tenon.Error, match=r"\n  operand 0: f32\[2, 3\]\n  operand 1: f32\[5, 7\]"):
        a + b


def test_what_tenon_cannot_do_is_unsupported():
    a, b = tenon.tensor(np.ones((2, 3), np.int8)), tenon.tensor(np.ones((3, 4), np.float32))
    with pytest.raises(tenon.Unsupported, match="i8 times f32 in .* is not supported"):
        tenon.ops.matmul(a, b)
    with pytest.raises(tenon.Error) as wrong:
        b @ b
    assert not isinstance(wrong.value, tenon.Unsupported)


def test_an_index_out_of_range_names_the_line_that_indexed():
    x = tenon.ops.take(tenon.tensor(np.ones((3, 4), np.float32)), tenon.tensor(np.array([7])))
    with pytest.raises(tenon.PositionError, match=r"position 7 .*\n  recorded at .*test_tensors.py:\d+\n  computed for"):
        x.to_array()


def test_errors_are_tenons_with_the_same_text():
    with pytest.raises(tenon.Error, match="axis 1 .* is 3, axis 0 .* is 4"):
        tenon.ones(2, 3) @ tenon.ones(4, 5)
    with pytest.raises(IndexError, match="position 9"):
        tenon.ones(3)[9]
    with pytest.raises(TypeError, match="no argument `axs`"):
        tenon.softmax(tenon.ones(3), axs=0)
    with pytest.raises(TypeError, match="needs `x`"):
        tenon.ops.softmax()
    with pytest.raises(TypeError, match="is no dtype"):
        tenon.ones(3).to("complex64")
    with pytest.raises(TypeError, match="a tenon.Tensor"):
        tenon.ops.softmax("text")


def test_gradients():
    x = tenon.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]
    with tenon.no_grad():
        assert not (x * 2).requires_grad
    y = (x**3).sum()
    (first,) = tenon.grad(y, [x], create_graph=True)
    (second,) = tenon.grad(first.sum(), [x])
    np.testing.assert_allclose(second.numpy(), [6, 12, 18], rtol=1e-6)


def test_training_loop_compiles_once_per_structure():
    net = tenon.nn.Sequential(tenon.nn.Linear(3, 16), tenon.nn.Tanh(), tenon.nn.Linear(16, 1))
    step = tenon.optim.Adam(net.parameters(), lr=1e-2)
    rng = np.random.default_rng(1)
    losses = []
    tenon.clear_realizations()
    for _i in range(60):
        a = rng.standard_normal((int(rng.integers(2, 50)), 3)).astype(np.float32)
        x = tenon.tensor(a, ["batch", 3])
        target = tenon.tensor(a.sum(1, keepdims=True), ["batch", 1])
        loss = ((net(x) - target) ** 2).mean()
        step.zero_grad()
        loss.backward()
        step.step()
        losses.append(loss.item())
    assert np.mean(losses[-10:]) < 0.3 * np.mean(losses[:5])
    assert tenon.realization_counts()["compiles"] <= 3


def test_state_goes_to_a_file_and_back(tmp_path):
    net = tenon.nn.Linear(3, 2)
    net.save(str(tmp_path / "w.safetensors"))
    other = tenon.nn.Linear(3, 2)
    other.load(str(tmp_path / "w.safetensors"))
    np.testing.assert_array_equal(net.weight.numpy(), other.weight.numpy())
    assert set(tenon.load_safetensors(str(tmp_path / "w.safetensors"))) == {"weight", "bias"}


def test_arrays_are_shared_without_copies():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    array = tenon.Array(a)
    assert array.numpy().ctypes.data == a.ctypes.data
    np.testing.assert_array_equal(np.from_dlpack(array), a)
    np.testing.assert_array_equal(tenon.Array(a.T).numpy(), a.T)
    np.testing.assert_array_equal(tenon.Array(a[::-1]).numpy(), a[::-1])
    assert tenon.Array(np.zeros((0, 3), np.int64)).shape == (0, 3)
    with pytest.raises(TypeError):
        tenon.Array(np.zeros(3, np.complex64))


def test_tensor_copies_what_it_is_made_of():
    a = np.ones(3, np.float32)
    x = tenon.tensor(a)
    x += 1
    assert x.tolist() == [2, 2, 2]
    assert a.tolist() == [1, 1, 1]


@pytest.mark.parametrize("dtype", ["f64", "f16", "i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "bool"])
def test_every_dtype_goes_in_and_out(dtype):
    numpy_name = {"f": "float", "i": "int", "u": "uint"}.get(dtype[0], "") + dtype[1:] if dtype != "bool" else "bool"
    a = np.array([0, 1, 1], numpy_name)
    x = tenon.tensor(a)
    assert str(x.dtype) == dtype
    np.testing.assert_array_equal(x.numpy(), a)
    assert x.numpy().dtype == a.dtype


def test_the_lock_is_released_while_computing():
    x = tenon.tensor(np.random.default_rng(0).standard_normal((1500, 1500)).astype(np.float32))
    seen = []
    stop = threading.Event()

    def count():
        while not stop.is_set():
            seen.append(time.perf_counter())
            time.sleep(0.001)

    other = threading.Thread(target=count)
    y = x
    for _ in range(6):
        y = (y @ x).tanh()
    other.start()
    begin = time.perf_counter()
    y.to_array()
    end = time.perf_counter()
    stop.set()
    other.join()
    inside = [t for t in seen if begin < t < end]
    assert len(inside) > 5, f"another thread ran {len(inside)} times in {end - begin:.2f} s"


def test_nothing_leaks():
    def once():
        x = tenon.tensor(np.ones((64, 1024), np.float32), ["rows", 1024])
        x.requires_grad_()
        (x * 3).relu().sum().backward()
        x.grad.to_array()
        y = tenon.from_numpy(np.ones(1 << 16, np.float32))
        (y + 1).numpy()

    for _ in range(50):
        once()
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(400):
        once()
    gc.collect()
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert grown < 20_000, f"{grown} KiB more after 400 rounds of 0.5 MiB each"


def test_random_numbers_by_seed():
    tenon.manual_seed(3)
    first = tenon.randn([1000]).numpy()
    tenon.manual_seed(3)
    np.testing.assert_array_equal(first, tenon.randn([1000]).numpy())
    assert abs(first.mean()) < 0.2 and abs(first.std() - 1) < 0.1


def test_names_and_places():
    tenon.clear_realizations()
    x = tenon.tensor(np.ones((2, 3), np.float32), ["batch", 3])
    assert str(x.type) == "f32[batch, 3]"
    (x + 1).sum().item()
    assert tenon.realizations()[-1].reason == "item()"
    assert tenon.realizations()[-1].place.startswith("test_tensors.py:")


def test_arrays_beside_tensors():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = tenon.tensor(a)
    np.testing.assert_array_equal((a + x).numpy(), a + a)
    np.testing.assert_array_equal((x * a).numpy(), a * a)
    np.testing.assert_array_equal((np.float32(2) * x).numpy(), 2 * a)
    with pytest.raises(TypeError):
        x + None
    with pytest.raises(TypeError):
        x + "text"


def test_indexing_by_lists_arrays_and_whole_masks():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = tenon.tensor(a)
    np.testing.assert_array_equal(x[[1, 0]].numpy(), a[[1, 0]])
    np.testing.assert_array_equal(x[:, np.array([2, 0])].numpy(), a[:, [2, 0]])
    np.testing.assert_array_equal(x[x > 2].numpy(), a[a > 2])
    x[x > 2] = 0
    np.testing.assert_array_equal(x.numpy(), np.where(a > 2, 0, a))


def test_copies_and_pickles():
    x = tenon.tensor([1.0, 2.0])
    twin = copy.deepcopy(x)
    x += 1
    assert twin.tolist() == [1, 2]
    assert pickle.loads(pickle.dumps(x)).tolist() == [2, 3]
    assert f"{x[0]:.2f}" == "2.00"


def test_axes_by_the_names_of_pytorch():
    a = np.random.default_rng(0).standard_normal((3, 4)).astype(np.float32)
    x = tenon.tensor(a)
    np.testing.assert_allclose(x.sum(dim=1, keepdim=True).numpy(), a.sum(1, keepdims=True), rtol=1e-5)
    np.testing.assert_allclose(x.max(dim=0).numpy(), a.max(0))
    np.testing.assert_allclose(x.std(dim=1).numpy(), a.std(1), rtol=1e-5)
    np.testing.assert_allclose(x.cumsum(dim=1).numpy(), a.cumsum(1), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(x.cumsum().numpy(), a.cumsum(), rtol=1e-4, atol=1e-5)
    with pytest.raises(TypeError, match="`axis` and `dim` are the same"):
        x.sum(0, dim=1)


def test_where_and_arange_as_numpy():
    mask = np.array([True, False, True])
    a = np.arange(3, dtype=np.float32)
    x, c = tenon.tensor(a), tenon.tensor(mask)
    np.testing.assert_array_equal(tenon.where(c, x, -1.0).numpy(), np.where(mask, a, -1))
    np.testing.assert_array_equal(tenon.where(c, 2.0, x).numpy(), np.where(mask, 2, a))
    assert tenon.where(c, 1, 0).dtype == tenon.i64 and tenon.where(c, 1, 0).tolist() == [1, 0, 1]
    assert tenon.where(c, 1.5, 0).tolist() == [1.5, 0.0, 1.5]
    for given in ((0.5, 3.0, 0.5), (5.0,), (1, 0, -0.25), (0.0, 1.0, 0.1)):
        np.testing.assert_allclose(tenon.arange(*given).numpy(), np.arange(*given).astype(np.float32), rtol=1e-6)


def test_counts_of_different_elements_alone():
    x = tenon.tensor([3, 1, 3, 2])
    assert tenon.unique(x)[3].tolist() == [1, 1, 2]


def test_positions_that_move_are_no_new_programs():
    x = tenon.zeros(50)
    tenon.clear_realizations()
    for i in range(30):
        x[i] += 1
        tenon.realize([x])
    assert tenon.realization_counts()["compiles"] <= 4
    np.testing.assert_array_equal(x.numpy(), np.arange(50) < 30)


def test_a_trained_network_goes_along_as_onnx(tmp_path):
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = nn.Conv2d(1, 2, 3, padding=1)
            self.norm = nn.BatchNorm2d(2)
            self.pool = nn.MaxPool2d(2)
            self.out = nn.Linear(8, 3)

        def forward(self, x):
            return self.out(self.pool(self.norm(self.conv(x)).relu()).flatten(1))

    net = Net()
    examples = {"image": tenon.tensor(np.zeros((1, 1, 4, 4), np.float32), ["batch", 1, 4, 4])}
    tenon.save_onnx(net, tmp_path / "net.onnx", examples, ["logits"])
    assert net.training
    net.eval()
    model = tenon.load(tmp_path / "net.onnx")
    assert model.outputs == ["logits"]
    for batch in (1, 3):
        a = np.random.default_rng(batch).standard_normal((batch, 1, 4, 4)).astype(np.float32)
        np.testing.assert_allclose(model(a), net(tenon.tensor(a)).numpy(), rtol=1e-4, atol=1e-5)
    graph, weights = tenon.trace(net, examples)
    assert [value.name for value in graph.inputs][:3] == ["image", "conv.weight", "conv.bias"]
    assert str(graph.input("out.bias").type) == "f32[3]" and weights["out.bias"].shape == (3,)


def test_writes_that_cannot_be_computed_say_so_and_are_taken_back():
    table = nn.Embedding(3, 2)
    step = optim.SGD(table.parameters(), lr=0.1)
    before = table.weight.numpy().copy()
    loss = table(tenon.tensor(np.array([7]))).sum()
    loss.backward()
    step.step()
    for look in (loss.item, table.weight.numpy):
        with pytest.raises(tenon.Error, match="7"):
            look()
    assert step.undo_step() and step.steps == 0
    np.testing.assert_array_equal(table.weight.numpy(), before)


def test_gru_as_its_recurrence():
    gru = nn.GRU(3, 2)
    w, r, bias_w, bias_r = (p.numpy() for p in gru.parameters())
    x = np.random.default_rng(0).standard_normal((2, 4, 3)).astype(np.float32)
    h = np.zeros((2, 2), np.float32)

    def sigmoid(a):
        return 1 / (1 + np.exp(-a))

    for t in range(4):
        of_x, of_h = np.split(x[:, t] @ w.T + bias_w, 3, 1), np.split(h @ r.T + bias_r, 3, 1)
        reset, update = sigmoid(of_x[0] + of_h[0]), sigmoid(of_x[1] + of_h[1])
        h = (1 - update) * np.tanh(of_x[2] + reset * of_h[2]) + update * h
    outputs, last = gru(tenon.tensor(x))
    np.testing.assert_allclose(last.numpy()[0], h, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(outputs.numpy()[:, 3], h, rtol=1e-4, atol=1e-5)
