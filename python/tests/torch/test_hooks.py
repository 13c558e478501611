"""Exceptions of the user's that pass through PyTorch's engine, which calls the device on its way out."""

import threading

import pytest
import torch
from device_support import DEVICE

import tenon.torch  # noqa: F401  (registers the device)


class Fails(torch.autograd.Function):
    @staticmethod
    def forward(context, x):
        return x * 2

    @staticmethod
    def backward(context, gradient):
        raise ValueError("the gradient fails")


class FailsInside(Fails):
    @staticmethod
    def backward(context, gradient):
        return gradient @ torch.ones(7, 9, device=DEVICE)


def leaf():
    return torch.ones(3, device=DEVICE, requires_grad=True)


def works():
    x = leaf()
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3, 3, 3]


@pytest.mark.parametrize("raised", [KeyError("mine"), KeyboardInterrupt(), RuntimeError("mine")])
def test_an_exception_of_a_hook_reaches_the_caller(raised):
    def hook(gradient):
        raise raised

    x = leaf()
    x.register_hook(hook)
    for _ in range(2):
        with pytest.raises(type(raised)) as caught:
            (x * 2).sum().backward()
        assert caught.value is raised and any(entry.name == "hook" for entry in caught.traceback)
    works()


def test_an_exception_of_a_function_reaches_the_caller():
    x = leaf()
    for _ in range(2):
        with pytest.raises(ValueError, match="the gradient fails"):
            Fails.apply(x).sum().backward()
    with pytest.raises(RuntimeError, match="same reduction dim"):
        torch.autograd.grad(FailsInside.apply(x).sum(), x)
    works()


def test_a_backward_pass_runs_on_the_thread_of_its_caller():
    threads = set()
    x = leaf()
    y = (x * 2).exp()
    y.register_hook(lambda gradient: threads.add(threading.get_ident()))
    y.sum().backward()
    assert threads == {threading.get_ident()}
    assert torch.autograd.is_multithreading_enabled()
