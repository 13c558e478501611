"""Operators that the device records by C++ alone where operands are plain: as on the CPU, there and elsewhere."""

import math

import pytest
import tenon
import tenon.torch
import torch
from tenon.torch.handles import unwrap
from tenon.torch.table import rows

SPECIAL = [0.0, -0.0, 1.0, -2.5, math.inf, -math.inf, math.nan, 0.5, 3.0]
BINARY = ["add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge"]
UNARY = ["relu", "abs", "neg", "exp", "tanh", "sigmoid", "sqrt", "rsqrt", "log1p"]
IN_PLACE = ["add_", "sub_", "mul_", "div_", "lt_", "relu_", "exp_", "neg_"]


def numbers(count, dtype, start=0):
    values = [SPECIAL[(start + i) % len(SPECIAL)] for i in range(count)]
    return torch.tensor(values).to(dtype)


def same(ours, theirs):
    """Both computed, all of ours in one program."""
    tenon.realize([unwrap(x) for x in ours if x.is_contiguous()])
    for x, y in zip(ours, theirs):
        assert (x.dtype, x.shape, x.stride()) == (y.dtype, y.shape, y.stride())
        torch.testing.assert_close(x.cpu(), y, rtol=2e-2 if y.dtype == torch.bfloat16 else 1e-5, atol=1e-6, equal_nan=True)


def binary(x, y):
    return [getattr(torch, name)(x, y) for name in BINARY]


@pytest.mark.parametrize("count", [0, 1, 7, 8, 9])
def test_two_tensors(count):
    x, y = numbers(count, torch.float32), numbers(count, torch.float32, 4)
    same(binary(x.to("tenon"), y.to("tenon")), binary(x, y))


def test_a_scalar_and_axes_of_size_1_are_spread():
    x, y = numbers(6, torch.float32).reshape(2, 3), numbers(3, torch.float32, 2)
    for other in (y, y[0], y.reshape(1, 3), y.reshape(3, 1)[:2]):
        same(binary(x.to("tenon"), other.to("tenon")), binary(x, other))
    same(binary(x.to("tenon"), y[2]), binary(x, y[2]))  # a number on the CPU


@pytest.mark.parametrize("number", [2, -3, 0, 0.5, math.nan, math.inf, True, 2**62])
def test_numbers_beside_a_tensor(number):
    x = numbers(9, torch.float32)
    for name in ("add", "sub", "mul", "div", "eq", "lt"):
        if name != "sub" or number is not True:
            same([getattr(torch, name)(x.to("tenon"), number)], [getattr(torch, name)(x, number)])
    same([1 - x.to("tenon"), 2 / x.to("tenon")], [1 - x, 2 / x])


@pytest.mark.parametrize("left,right", [
    (torch.float32, torch.int64), (torch.int32, torch.int64), (torch.bool, torch.bool), (torch.float64, torch.float32),
    (torch.bfloat16, torch.bfloat16), (torch.float16, torch.float32), (torch.uint8, torch.int8),
])  # fmt: skip
def test_dtypes_are_promoted(left, right):
    x, y = torch.tensor([0, 1, 2, 3, 7]).to(left), torch.tensor([1, 1, 2, 2, 5]).to(right)
    names = [n for n in BINARY if n != "sub" or left != torch.bool]
    same([getattr(torch, n)(x.to("tenon"), y.to("tenon")) for n in names], [getattr(torch, n)(x, y) for n in names])


def test_functions_of_one():
    for dtype in (torch.float32, torch.bfloat16, torch.int64):
        x = torch.tensor([0, 1, 2, 5]).to(dtype)
        names = [n for n in UNARY if n != "rsqrt" or dtype.is_floating_point]
        same([getattr(torch, n)(x.to("tenon")) for n in names], [getattr(torch, n)(x) for n in names])


def test_views_and_strides():
    x, y = numbers(12, torch.float32).reshape(3, 4), numbers(12, torch.float32, 5).reshape(4, 3)
    ours = x.to("tenon")
    for name in BINARY:
        f = getattr(torch, name)
        same([f(ours.t(), y.to("tenon")), f(ours[1:], ours[:2])], [f(x.t(), y), f(x[1:], x[:2])])
    negated = torch.randn(4, dtype=torch.complex64)
    assert torch.equal((negated.conj().imag.to("tenon") + 1).cpu(), negated.conj().imag + 1)


def test_in_place():
    for name in IN_PLACE:
        for dtype in (torch.float32, torch.float64):
            x, y = numbers(9, dtype), numbers(9, torch.float32, 3)
            ours = x.to("tenon")
            seen = ours[2:5]
            others = () if name.removesuffix("_") in UNARY else (y,)
            assert getattr(ours, name)(*[o.to("tenon") for o in others]) is ours
            getattr(x, name)(*others)
            same([ours, seen.clone()], [x, x[2:5]])
    x = torch.ones(3).to("tenon")
    x.add_(1).mul_(3).sub_(torch.ones(3).to("tenon"))
    assert x.tolist() == [5, 5, 5]


def test_what_pytorch_refuses_is_refused_in_its_words():
    x, y = torch.ones(3).to("tenon"), torch.ones(4).to("tenon")
    with pytest.raises(RuntimeError, match="broadcast"):
        x + y
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        torch.ones(1, device="tenon").add_(x)
    with pytest.raises(RuntimeError, match="reduction dim"):
        torch.mm(torch.ones(2, 3, device="tenon"), torch.ones(4, 5, device="tenon"))
    with pytest.raises(RuntimeError, match="result type"):
        torch.ones(3, dtype=torch.int64, device="tenon").add_(1.5)


def test_products():
    a, b = torch.randn(5, 7), torch.randn(7, 9)
    same([torch.mm(a.to("tenon"), b.to("tenon"))], [a @ b])
    c, d = torch.randn(2, 3, 4), torch.randn(2, 4, 5)
    same([torch.bmm(c.to("tenon"), d.to("tenon"))], [c @ d])


def test_every_direct_row_names_an_operation():
    direct = {name: found.direct for name, found in rows().items() if found.direct is not None}
    assert {"aten.add.Tensor", "aten.mm.default", "aten.exp.default"} <= direct.keys()
    assert set(direct.values()) <= set(tenon._tenon.operation_names())
