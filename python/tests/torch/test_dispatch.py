"""Kernels that PyTorch calls without Python: each call gives what the same kernel gives by way of Python."""

import os
import subprocess
import sys

import pytest
import tenon.torch
import torch
from tenon.torch import dispatch
from torch.nn import functional as F

CALLS = 5  # the first ones are Python's, from which the others are known

pytestmark = pytest.mark.skipif(dispatch.why_not() is not None, reason=str(dispatch.why_not()))


def drawn(*sizes, seed=0):
    return torch.randn(sizes, generator=torch.Generator().manual_seed(seed))


def both(function, make):
    for seed in range(CALLS):
        theirs, ours = make(seed), [x.to("tenon") for x in make(seed)]
        expected, found = function(*theirs), function(*ours)
        expected, found = (r if isinstance(r, (list, tuple)) else [r] for r in (expected, found))
        assert len(expected) == len(found)
        for x, y in zip(found, expected, strict=True):
            if y is None:
                assert x is None
                continue
            assert (x.dtype, x.shape, x.stride()) == (y.dtype, y.shape, y.stride())
            torch.testing.assert_close(x.cpu(), y, rtol=1e-4, atol=1e-5)
        for x, y in zip(ours, theirs):
            torch.testing.assert_close(x.cpu(), y, rtol=1e-4, atol=1e-5)


def test_all_kinds_of_arguments():
    image = (2, 4, 6, 6)
    both(lambda x, w: F.conv2d(x, w, None, 1, [1, 1]), lambda s: [drawn(*image, seed=s), drawn(4, 4, 3, 3, seed=s)])
    both(lambda x, y: torch.cat([x, y, x], 1), lambda s: [drawn(2, 3, seed=s), drawn(2, 1, seed=s)])
    both(lambda x: [*x.split([1, 2], 1), *x.unbind(0)], lambda s: [drawn(2, 3, seed=s)])
    both(lambda x: [x.sum(1), x.sum(1, True, dtype=torch.float64), x.mean()], lambda s: [drawn(2, 3, seed=s)])
    both(lambda x: [F.gelu(x), F.gelu(x, approximate="tanh")], lambda s: [drawn(2, 3, seed=s)])
    both(lambda x: [x.std(0, correction=0), x.std(0), x.quantile(0.25)], lambda s: [drawn(4, 3, seed=s)])
    both(lambda x: list(F.max_pool2d(x, 2, return_indices=True)), lambda s: [drawn(*image, seed=s)])
    both(lambda x, i: [x[i], x[:, i], x[i, i]], lambda s: [drawn(3, 3, seed=s), (torch.arange(3) + s) % 3])
    both(lambda x: [torch.zeros_like(x), x.new_zeros(2, 2), torch.zeros(2, dtype=torch.int32, device=x.device)], lambda s: [drawn(3)])
    both(lambda x: x.permute(2, 0, 1).contiguous(memory_format=torch.contiguous_format), lambda s: [drawn(2, 3, 4, seed=s)])


def test_gradients_that_are_not_asked_for():
    def step(x, w, b):
        w.requires_grad_()
        results = [*torch.autograd.grad(F.conv2d(x, w, b).square().sum(), [w])]
        results += torch.autograd.grad(F.linear(x, w[0, 0]).exp().sum(), [w])
        w.requires_grad_(False)
        return results

    both(step, lambda s: [drawn(2, 4, 3, 3, seed=s), drawn(4, 4, 3, 3, seed=s), drawn(4, seed=s)])


@pytest.mark.parametrize("sizes", [(3, 5), (2, 3, 5), (5,), (0, 5)])
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex64])
def test_linear_layers_of_any_rank_twice_differentiated(sizes, dtype):
    def step(x, w, b):
        for each in (x, w, b):
            each.requires_grad_()
        y = F.linear(x, w, b).abs().square().sum() + F.linear(x, w[0]).abs().sum()
        first = torch.autograd.grad(y, [x, w, b], create_graph=True)
        second = torch.autograd.grad(sum(g.abs().square().sum() for g in first), [x, w])
        for each in (x, w, b):
            each.requires_grad_(False)
        return [g.detach().contiguous() for g in (*first, *second)]

    both(step, lambda s: [t.to(dtype) for t in (drawn(*sizes, seed=s), drawn(4, 5, seed=s), drawn(4, seed=s))])


NUMBERS = [2, 2.5, True, torch.tensor(2.5, dtype=torch.float64), torch.tensor(2), torch.tensor(True)]


@pytest.mark.parametrize("number", NUMBERS, ids=str)
def test_numbers_are_no_tensors_to_promotion(number):
    def make(seed):
        return [drawn(3, seed=seed), torch.arange(3, dtype=torch.int32) + seed, drawn(seed=seed)]

    both(lambda x, i, z: [x * number, i * number, z * number, i / number], make)


def test_what_is_written_is_what_is_given():
    def step(x, y):
        out = torch.empty_like(x)
        assert x.mul_(y) is x and torch.exp(x, out=out) is out
        x[0].sigmoid_()
        x.t().mul_(y.t())
        return [out, x[0], x]

    both(step, lambda s: [drawn(3, 3, seed=s), drawn(3, 3, seed=s + 1)])
    both(  # what may be nothing is written, too
        lambda x, mean, var: F.batch_norm(x, mean, var, None, None, True, 0.3),
        lambda s: [drawn(4, 2, seed=s), drawn(2, seed=s), drawn(2, seed=s).abs()],
    )
    both(lambda x: F.batch_norm(x, None, None, None, None, True, 0.3), lambda s: [drawn(4, 2, seed=s)])


def test_what_one_call_taught_is_for_no_other():
    def step(a, b, c):  # rank 0, views, and what fills its storage go different ways inside of one operator
        return [c.t() * c.t(), a * b, c[0] * c[1], b * a, c * c, a * c, c[0, 1] * b, c[1] * a]

    both(step, lambda s: [drawn(seed=s), drawn(seed=s + 1), drawn(2, 2, seed=s)])
    both(step, lambda s: [drawn(seed=s), drawn(seed=s + 1), drawn(3, 3, seed=s)])


def test_the_default_dtype_decides():
    try:
        for _ in range(CALLS):
            for dtype in (torch.float32, torch.float64):
                torch.set_default_dtype(dtype)
                assert torch.zeros(2, device="tenon").dtype == dtype
                i = torch.arange(3, device="tenon")
                assert (i / i).dtype == dtype
    finally:
        torch.set_default_dtype(torch.float32)


def test_errors_are_those_of_pytorch():
    x = torch.zeros(2, 3, device="tenon")
    for _ in range(CALLS):
        with pytest.raises(IndexError, match="out of range|out of bounds"):
            x.select(0, 5)
        with pytest.raises(IndexError):
            x.softmax(4)
        with pytest.raises(RuntimeError, match="must have same reduction dim"):
            x.mm(x)
        with pytest.raises(RuntimeError, match="cannot be multiplied|reduction dim"):
            F.linear(x, torch.zeros(2, 2, device="tenon"))


class Odd(Exception):
    pass


def test_exceptions_of_python_pass_as_they_are(monkeypatch):
    def refuse(*args, **kwargs):
        raise Odd("a row", 3)

    x = torch.zeros(7, 3, device="tenon")
    monkeypatch.setattr(tenon.torch.device, "call_row", refuse)
    for _ in range(CALLS):
        with pytest.raises(Odd) as caught:
            x.logcumsumexp(0)
        assert caught.value.args == ("a row", 3)


def test_exceptions_of_python_pass_through_a_backward_pass(monkeypatch):
    x = torch.zeros(7, 3, device="tenon", requires_grad=True)
    y = F.gelu(x)
    grad = torch.full((7, 3), 0.3, device="tenon")

    def refuse(*args, **kwargs):
        raise Odd("a row", 4)

    monkeypatch.setattr(tenon.torch.device, "call_row", refuse)
    with pytest.raises(Odd) as caught:
        torch.autograd.grad(y, x, grad)
    assert caught.value.args == ("a row", 4)


def test_nothing_is_kept():
    x, y = torch.zeros(4, 4, device="tenon"), torch.zeros(4, 4, device="tenon")

    def step():
        parts = torch.cat([x, y]).split(2)
        F.conv2d(x.view(1, 1, 4, 4), y.view(1, 1, 4, 4), torch.zeros(1, device="tenon"))
        torch.stack([p * 2 for p in parts])
        with pytest.raises(RuntimeError):
            torch.cat([x, y[:, :1]])

    before = None
    for _ in range(4 * CALLS):
        step()
        before = before if before is not None else torch.tenon.memory_allocated()
        assert torch.tenon.memory_allocated() == before


def test_without_it_everything_goes_by_way_of_python():
    code = (
        "import torch, tenon.torch as t; from tenon.torch import dispatch; x = torch.ones(2, 3, device='tenon')\n"
        "for _ in range(4): y = (x.exp() @ x.t()).sum(0)\n"
        "print(y.tolist()); print(dispatch.why_not()); print('by way of Python' in str(t.report()))"
    )
    environment = os.environ | {"TENON_TORCH_DISPATCH": "python", "PYTHONPATH": os.pathsep.join(sys.path)}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=240)
    lines = found.stdout.splitlines()
    assert found.returncode == 0, found.stderr
    assert lines[1:] == ["TENON_TORCH_DISPATCH=python", "True"] and lines[0].startswith("[16.3")
    assert "by way of Python" not in str(tenon.torch.report())
