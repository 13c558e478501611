"""Operators whose operations are recorded again without their row, from the third call of a kind on: the same results as
on the CPU, whatever the elements, numbers, strides and sizes are."""

import math

import pytest
import tenon.torch
import torch
from torch.nn import functional as F

CALLS = 4  # the row alone, the row again to learn from, and two recorded again


def drawn(*sizes, seed=0):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


def numbers(*sizes, seed=0):
    x = drawn(*sizes, seed=seed)
    if x.numel() > 3:
        x.view(-1)[1:3] = torch.tensor([math.nan, math.inf])
    return x


def both(function, make, calls=CALLS):
    """The same calls with other elements, here and on the CPU."""
    for seed in range(calls):
        theirs, ours = make(seed), [x.to("tenon") for x in make(seed)]
        for x, y in zip(flat(function(*ours)), flat(function(*theirs)), strict=True):
            assert (x.dtype, x.shape, x.stride()) == (y.dtype, y.shape, y.stride())
            torch.testing.assert_close(x.cpu(), y, rtol=1e-4, atol=1e-5, equal_nan=True)
        for x, y in zip(ours, theirs):  # what was written
            torch.testing.assert_close(x.cpu(), y, rtol=1e-4, atol=1e-5, equal_nan=True)


def flat(results):
    return [results] if isinstance(results, torch.Tensor) else [x for x in results if x is not None]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9])
def test_reductions_losses_and_norms(count):
    both(lambda x: [x.sum(0), x.sum(), x.softmax(0), x.amax(1), x.mean(1)], lambda s: [numbers(count, 4, seed=s)])
    both(lambda x, w: F.layer_norm(x, (4,), w, w, 1e-3), lambda s: [numbers(count, 4, seed=s), drawn(4, seed=s)])
    if count:
        both(lambda x: F.cross_entropy(x, torch.arange(count, device=x.device) % 4), lambda s: [numbers(count, 4, seed=s)])


def test_batch_norm_writes_its_statistics():
    def make(seed):
        return [numbers(3, 2, 5, seed=seed)[:, :, 3:], torch.zeros(2), torch.ones(2), torch.tensor([0.5, 2.0])]

    both(lambda x, mean, var, w: F.batch_norm(x.contiguous(), mean, var, w, w, True, 0.1, 1e-5), make)
    both(lambda x, mean, var, w: F.batch_norm(x.contiguous(), mean, var, w, w, False, 0.1, 1e-5), make)


def test_operands_and_results_that_are_strided():
    def make(seed):
        return [numbers(3, 5, seed=seed), numbers(3, 5, seed=seed + 9)]

    both(lambda x, y: [x.t() @ y, x.t() + y.t(), x.t().exp(), x[:, 1:3].clamp(-1, 1), x.t().relu()], make)
    both(lambda x, y: [x.t().add_(y.t()), y[1].mul_(x[0]), x[:, 2].zero_()], make)


def test_an_expanded_tensor_is_not_written():
    x = torch.zeros(1, 3, device="tenon").expand(2, 3)
    for _ in range(CALLS):
        with pytest.raises(RuntimeError, match="more than one element"):
            x.mul_(torch.ones(2, 3, device="tenon"))


def test_lists_and_results_that_are_none():
    both(lambda x, y: torch.cat([x, y, x], 1), lambda s: [numbers(2, 3, seed=s), numbers(2, 4, seed=s)])

    def gradients(x, w, g):
        return torch.ops.aten.convolution_backward(g, x, w, [2], [2], [1], [1], False, [0], 1, [False, True, True])

    both(gradients, lambda s: [drawn(2, 3, 6, seed=s), drawn(2, 3, 3, seed=s), drawn(2, 2, 3, seed=s + 5)])


def test_lists_that_are_written():
    def step(x, y):
        torch._foreach_mul_([x, y], [2.0, 0.5])
        torch._foreach_add_([x], [y])
        torch._foreach_exp_([x, y])
        return torch._foreach_exp([x, y])

    both(step, lambda s: [drawn(5, seed=s), drawn(5, seed=s + 9)])


def test_positions_of_a_pool_are_those_of_the_elements_then():
    for seed in range(CALLS):
        x = drawn(1, 2, 6, 6, seed=seed)
        ours = x.to("tenon")
        values, positions = F.max_pool2d(ours, 2, return_indices=True)
        ours.zero_()
        expected = F.max_pool2d(x, 2, return_indices=True)
        torch.testing.assert_close(values.cpu(), expected[0])
        assert torch.equal(positions.cpu(), expected[1])


def test_numbers_that_change():
    x = torch.arange(5.0)
    ours = x.to("tenon")
    for number in (0.5, 0.5, 0.5, 0.25, 0.125, 0.5, 3, 3, 3, 3.0, True, True, True):
        torch.testing.assert_close(torch.clamp(ours, max=number).cpu(), torch.clamp(x, max=number))
        torch.testing.assert_close((ours + 2 * number).cpu(), x + 2 * number)


def test_the_default_dtype_counts():
    x = torch.arange(1, 5)
    ours = x.to("tenon")
    for _ in range(CALLS):
        assert (ours / 2).dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        for _ in range(CALLS):
            assert (ours / 2).dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)


def test_out_of_the_right_and_of_other_sizes():
    x = torch.arange(6.0).view(2, 3)
    ours = x.to("tenon")
    for _ in range(CALLS):
        out = torch.empty(3, device="tenon")
        assert torch.sum(ours, 0, out=out) is out
        assert out.tolist() == [3, 5, 7]
    for _ in range(CALLS):
        with pytest.warns(UserWarning, match="was resized"):
            torch.sum(ours, 0, out=(other := torch.empty(2, device="tenon")))
        assert other.tolist() == [3, 5, 7]


def test_rows_that_look_and_sizes_that_data_decide():
    both(lambda x: x[x > 0], lambda s: [drawn(9, seed=s)])
    both(lambda x: torch.unique(x.round()), lambda s: [drawn(9, seed=s)])


def test_random_numbers_are_other_ones_each_time():
    x = torch.ones(64, device="tenon")
    masks = [F.dropout(x, 0.5).tolist() for _ in range(CALLS)] + [torch.rand_like(x).tolist() for _ in range(CALLS)]
    assert all(a != b for i, a in enumerate(masks) for b in masks[:i])


def test_positions_out_of_range_name_the_line_of_the_call():
    x = torch.arange(4.0, device="tenon")
    for k in range(CALLS):
        at = torch.tensor([0, k + 1], device="tenon")
        if k + 1 < 4:
            assert torch.index_select(x, 0, at).tolist() == [0, k + 1]
    wrong = torch.index_select(x, 0, torch.tensor([0, 4], device="tenon"))
    with pytest.raises((IndexError, tenon.Error), match=r"test_replays\.py"):
        wrong.cpu()


def test_sizes_that_change():
    for n in (3, 4, 5, 3, 4, 5, 3, 4, 5, 6):
        both(lambda x: F.layer_norm(x.relu(), (4,)) @ x.t(), lambda s, n=n: [numbers(n, 4, seed=s)], calls=2)


def test_filled_tensors_are_each_their_own():
    for sizes in ((), (0,), (3,), (2, 3)):
        for _ in range(CALLS):
            made = [torch.zeros(sizes, device="tenon"), torch.ones(sizes, device="tenon"), torch.empty(sizes, device="tenon")]
            assert [x.tolist() for x in made] == [torch.full(sizes, n).tolist() for n in (0.0, 1.0, 0.0)]
            for x in made:
                x.add_(5)
        y = torch.zeros(sizes, device="tenon", dtype=torch.int32)
        assert y.dtype == torch.int32 and y.tolist() == torch.zeros(sizes, dtype=torch.int32).tolist()


@pytest.mark.parametrize("number", [0.0, -0.0, 0, False, 1.0, 1, True, math.nan, -math.inf, 2**62, 1j])
def test_filled_with_numbers_that_are_equal_or_not(number):
    for dtype in (None, torch.float64):
        if isinstance(number, complex) and dtype is not None:
            continue
        for _ in range(CALLS):
            for each in (0.0, number, 1.0):
                x, y = torch.full((2,), each, device="tenon", dtype=dtype), torch.full((2,), each, dtype=dtype)
                assert x.dtype == y.dtype
                torch.testing.assert_close(x.cpu(), y, rtol=0, atol=0, equal_nan=True)
                if x.dtype.is_floating_point:
                    assert torch.equal(x.cpu().signbit(), y.signbit())


def test_filled_by_the_default_dtype_and_formats():
    for _ in range(CALLS):
        assert torch.zeros(2, device="tenon").dtype == torch.float32
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.zeros(2, device="tenon").dtype == torch.float64
    finally:
        torch.set_default_dtype(torch.float32)
    for _ in range(CALLS):
        x = torch.empty(2, 3, 4, 5, device="tenon", memory_format=torch.channels_last)
        assert x.stride() == torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride()
        with pytest.raises(RuntimeError, match="one device"):
            torch.zeros(2, device="tenon:1")


def test_views_of_parts_see_what_is_written():
    x = torch.zeros(4, 6, device="tenon")
    for k in range(CALLS):
        part = x[1:3].t()[2:4]
        part.view(2, 2).add_(1)
        x[:, 2].mul_(2)
        assert part.stride() == (1, 6) and part.storage_offset() == 8
        y = torch.zeros(4, 6)
        for _ in range(k + 1):
            y[1:3].t()[2:4].add_(1)
            y[:, 2].mul_(2)
        assert x.tolist() == y.tolist()


@pytest.fixture
def rows_that_ran(monkeypatch):
    """The names of the rows that run in Python."""
    names = []
    before = tenon.torch.device.call_row

    def call_row(row, *args, **kwargs):
        names.append(row.name)
        return before(row, *args, **kwargs)

    monkeypatch.setattr(tenon.torch.device, "call_row", call_row)
    return names


def test_lists_are_written_by_what_was_recorded(rows_that_ran):
    def make(seed):
        return [numbers(3, 2, seed=seed), drawn(4, seed=seed), numbers(3, 2, seed=seed + 1), drawn(4, seed=seed + 1)]

    def step(a, b, c, d):
        torch._foreach_lerp_([a, b], [c, d], 0.3)
        torch._foreach_mul_([a, b], 0.9)
        torch._foreach_addcmul_((a, b), (c, d), (c, d), -0.25)
        return torch._foreach_add([a, b], [c, d], alpha=2)

    both(step, make)
    rows_that_ran.clear()
    both(step, make, 1)
    assert rows_that_ran == []


def test_lists_in_which_a_tensor_stands_twice():
    def step(a, b, c):
        torch._foreach_add_([a, b], [c, c])
        torch._foreach_add_([a, b], [b, a])  # b gets what a has become
        torch._foreach_mul_([c, c, c[0]], 0.5)
        return []

    both(step, lambda seed: [drawn(2, 3, seed=seed + k) for k in range(3)])


def test_lists_with_tensors_of_other_sizes_and_dtypes():
    def make(seed):
        return [numbers(3, 1, seed=seed), drawn(1, 4, seed=seed)]

    def step(a, b):
        whole = torch.zeros(3, 1, dtype=torch.float16, device=a.device)
        torch._foreach_add_([a, whole], [b[:, :1], a])  # the second is rounded
        with pytest.raises(RuntimeError):
            torch._foreach_add_([a], [b])
        return [a, whole]

    both(step, make)


def test_a_row_s_own_numbers_are_constants(rows_that_ran):
    def step(x, y):
        return [torch.ops.aten.gelu_backward(x, y), torch.ops.aten.gelu_backward(x, y, approximate="tanh")]

    for _ in range(3):
        both(step, lambda seed: [drawn(3, seed=seed), drawn(3, seed=seed + 1)], 1)
    rows_that_ran.clear()
    both(step, lambda seed: [drawn(3, seed=seed), drawn(3, seed=seed + 1)], 1)
    assert rows_that_ran == []


def test_layers_of_other_sizes_on_one_line_are_recorded_again(monkeypatch):
    """Numbers that a row makes of sizes are no data, as long as those that it is given stay the same."""
    ours, theirs = ([torch.nn.BatchNorm2d(3) for _ in range(3)] for _ in range(2))
    for layer in ours:
        layer.to("tenon")
    image = torch.arange(384.0).reshape(2, 3, 8, 8).sin()

    def step(layers, device):
        x = image.to(device)
        for layer in layers:
            x = F.avg_pool2d(layer(x), 2)
        x.square().sum().backward()

    for i in range(5):
        if i == 4:
            monkeypatch.setattr(tenon.torch.device, "call_row", None)
        step(ours, "tenon")
        step(theirs, "cpu")
    for layer, other in zip(ours, theirs):
        torch.testing.assert_close(layer.running_var.cpu(), other.running_var)
        torch.testing.assert_close(layer.weight.grad.cpu(), other.weight.grad, rtol=1e-3, atol=1e-4)


def test_a_momentum_that_changes_is_data():
    ours, theirs = torch.nn.BatchNorm1d(3).to("tenon"), torch.nn.BatchNorm1d(3)
    x = torch.arange(15.0).reshape(5, 3).square()

    def loop():
        for i in range(12):
            for layer, device in ((ours, "tenon"), (theirs, "cpu")):
                layer.momentum = 0.1 + 0.05 * i
                layer(x.to(device))
            torch.testing.assert_close(ours.running_var.cpu(), theirs.running_var)

    before = tenon.realization_counts()["compiles"]
    loop()
    assert tenon.realization_counts()["compiles"] - before <= 4


@pytest.mark.parametrize("heads_first", [True, False])
@pytest.mark.parametrize("is_causal", [True, False])
def test_attention_without_gradients_is_recorded_again(monkeypatch, heads_first, is_causal):
    def attend(operands):
        q, k, v = operands if heads_first else [x.transpose(1, 2) for x in operands]
        mask = None if is_causal else (q[0, 0] @ k[0, 0].t()) > 0
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=is_causal)

    for i in range(5):
        theirs = [torch.randn(2, 4, 4, 8, generator=torch.Generator().manual_seed(3 * i + k)) for k in range(3)]
        ours = [x.to("tenon") for x in theirs]
        if i == 3:
            monkeypatch.setattr(tenon.torch.differentiated, "call_row", None)
        found, expected = attend(ours), attend(theirs)
        assert found.stride() == expected.stride()
        torch.testing.assert_close(found.cpu(), expected, rtol=1e-4, atol=1e-5, equal_nan=True)
    monkeypatch.undo()
    ours[0].requires_grad_()
    attend(ours).nansum().backward()
    theirs[0].requires_grad_()
    attend(theirs).nansum().backward()
    torch.testing.assert_close(ours[0].grad.cpu(), theirs[0].grad, rtol=1e-3, atol=1e-4, equal_nan=True)
