"""Weights are constants of what torch.compile makes, until somebody writes to them."""

import copy
import gc
import weakref

import numpy as np
import pytest
import tenon
import tenon.torch
import torch
from tenon.torch.report import programs
from torch import nn


@pytest.fixture(autouse=True)
def fresh():
    torch._dynamo.reset()
    tenon.torch.reset_report()
    torch.manual_seed(0)


def door():
    return tenon.torch.report().doors["compile"]


def net():
    return nn.Sequential(nn.Linear(40, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 24))


def close(a, b):
    torch.testing.assert_close(a, b, rtol=2e-4, atol=2e-4)


class Weights:
    """The numbers of weights of the programs that were compiled, in order."""

    def __init__(self, monkeypatch):
        self.compiled = []
        original = tenon.torch.program.WeightedProgram._compiled

        def counted(program, executable, weights):
            self.compiled.append(weights)
            original(program, executable, weights)

        monkeypatch.setattr(tenon.torch.program.WeightedProgram, "_compiled", counted)


@pytest.fixture
def weights(monkeypatch):
    return Weights(monkeypatch)


@torch.no_grad()
def test_inference_compiles_once_with_weights_as_constants(weights):
    model = net().eval()
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    for n in (4, 7, 9, 33):
        x = torch.randn(n, 40)
        close(compiled(x), model(x))
    assert len(weights.compiled) == 1 and weights.compiled[0] == 8  # two layers, and what the norm has
    assert door().compiles == 1


def _in_place(model):
    model[0].weight.mul_(2)


def _of_a_row(model):
    model[3].weight[5].fill_(0.5)


def _of_a_buffer(model):
    model[1].running_mean.add_(1)


def _by_load(model):
    model.load_state_dict({name: tensor + 0.25 for name, tensor in model.state_dict().items()})


def _by_data(model):
    model[0].weight.data.mul_(2)


def _by_numpy(model):
    np.copyto(model[3].weight.detach().numpy(), 0.125)


def _other_data(model):
    model[0].weight.data = torch.randn(64, 40)


def _other_parameter(model):
    model[0].weight = nn.Parameter(torch.randn(64, 40))


@torch.no_grad()
@pytest.mark.parametrize(
    "write", [_in_place, _of_a_row, _of_a_buffer, _by_load, _by_data, _by_numpy, _other_data, _other_parameter]
)
def test_a_write_counts_in_the_next_call(write):
    model = net().eval()
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    x = torch.randn(5, 40)
    for _ in range(3):
        close(compiled(x), model(x))
        write(model)
        for _ in range(3):
            close(compiled(x), model(x))


@torch.no_grad()
def test_weights_are_constants_again_when_they_have_been_still(weights):
    model = net().eval()
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    x = torch.randn(5, 40)
    compiled(x)
    model[0].weight.mul_(2)
    for _ in range(40):
        close(compiled(x), model(x))
    assert weights.compiled == [8, 0, 7, 8], "those that were not written have been still for longer"
    assert (door().compiles, door().laid_out) == (2, 2)


@torch.no_grad()
def test_writes_that_come_often_are_waited_for(weights):
    model = net().eval()
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    x = torch.randn(5, 40)
    for i in range(200):
        close(compiled(x), model(x))
        if i % 6 == 5:
            model[0].weight.mul_(0.99)
    assert len(weights.compiled) <= 4, "each time that a version served for few runs, the next one waits twice as long"


@torch.no_grad()
def test_layers_that_share_a_program_have_weights_of_their_own():
    layers = [nn.Linear(48, 48).eval() for _ in range(4)]
    expected = copy.deepcopy(layers)

    @torch.compile(backend="tenon", dynamic=True)
    def block(layer, x):
        return layer(x).relu()

    for _ in range(8):
        x = torch.randn(3, 48)
        for layer, same in zip(layers, expected):
            close(block(layer, x), same(x).relu())


def test_training_takes_frozen_layers_for_constants(weights):
    model = nn.Sequential(nn.Linear(40, 64), nn.Tanh(), nn.Linear(64, 24))
    model[0].requires_grad_(False)
    same = copy.deepcopy(model)
    compiled = torch.compile(model, backend="tenon", dynamic=True)
    steps = [torch.optim.SGD(m[2].parameters(), 0.1) for m in (model, same)]
    for _ in range(12):
        x = torch.randn(6, 40)
        for run, step in zip((compiled, same), steps):
            step.zero_grad()
            run(x).square().mean().backward()
            step.step()
        close(model[2].weight, same[2].weight)
    assert sorted(weights.compiled) == [0, 0, 2], "forward, backward, and forward with the frozen layer"


@torch.no_grad()
def test_memory_goes_with_the_model():
    def bytes_held():
        model = nn.Linear(256, 256).eval()
        compiled = torch.compile(model, backend="tenon", dynamic=True)
        compiled(torch.ones(2, 256))
        return weakref.ref(model.weight.untyped_storage()), weakref.ref(model.weight)

    bytes_held()
    storage, weight = bytes_held()
    gc.collect()
    torch._dynamo.reset()
    gc.collect()
    assert weight() is None and storage() is None


@torch.no_grad()
def test_without_a_budget_weights_are_arguments(weights):
    model = net().eval()
    x = torch.randn(5, 40)
    tenon.set_weight_budget(0)
    try:
        compiled = torch.compile(model, backend="tenon", dynamic=True)
        for _ in range(8):
            close(compiled(x), model(x))
    finally:
        tenon.set_weight_budget(2**34)
    assert weights.compiled == [0]


def test_weights_of_inference_mode_are_arguments(weights):
    with torch.inference_mode():
        model = net().eval()
        compiled = torch.compile(model, backend="tenon", dynamic=True)
        x = torch.randn(5, 40)
        for _ in range(6):
            close(compiled(x), model(x))
            model[0].weight.mul_(1.5)  # which nobody counts
    assert weights.compiled == [0]


@torch.no_grad()
def test_programs_go_with_what_was_compiled():
    compiled = torch.compile(net().eval(), backend="tenon", dynamic=True)
    compiled(torch.ones(2, 40))
    program = next(weakref.ref(program) for door, _, program in reversed(programs()) if door == "compile")
    del compiled
    torch._dynamo.reset()
    gc.collect()
    assert program() is None
