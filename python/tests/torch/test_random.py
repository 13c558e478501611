"""Random numbers on the device: states that PyTorch keeps and puts back, and generators."""

import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

import tenon.torch  # noqa: F401  (registers the device)

DEVICE = "tenon"


def test_states_are_put_back():
    state = torch.tenon.get_rng_state()
    a = torch.rand(8, device=DEVICE)
    torch.tenon.set_rng_state(state)
    assert torch.equal(a.cpu(), torch.rand(8, device=DEVICE).cpu())
    with torch.random.fork_rng(device_type=DEVICE):
        b = torch.rand(8, device=DEVICE)
    assert torch.equal(b.cpu(), torch.rand(8, device=DEVICE).cpu())
    assert not torch.equal(a.cpu(), b.cpu())


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_checkpoints_draw_the_same_numbers_again(use_reentrant):
    """Dropout of ones times a weight: the gradient of the weight is the sum of the mask that the result has."""
    weight = torch.ones(400).to(DEVICE).requires_grad_()
    y = checkpoint(lambda w: nn.functional.dropout(w, 0.5), weight, use_reentrant=use_reentrant)
    torch.rand(3, device=DEVICE)
    y.sum().backward()
    assert torch.equal(weight.grad.cpu(), y.detach().cpu())
    assert 0 < (y == 0).sum().item() < 400


def test_a_generator_of_the_cpu_decides_the_numbers():
    made = [torch.randn(6, device=DEVICE, generator=torch.Generator().manual_seed(3)) for _ in range(2)]
    assert torch.equal(made[0].cpu(), made[1].cpu())
    generator = torch.Generator().manual_seed(3)
    draws = [torch.empty(6, device=DEVICE).uniform_(generator=generator) for _ in range(2)]
    assert not torch.equal(draws[0].cpu(), draws[1].cpu())


def test_a_generator_of_the_device():
    drawn = []
    for _ in range(2):
        generator = torch.Generator(device=DEVICE).manual_seed(3)
        assert generator.device == torch.device(DEVICE, 0) and isinstance(generator, torch.Generator)
        drawn.append([torch.randn(4, device=DEVICE, generator=generator).cpu() for _ in range(2)])
    assert all(torch.equal(a, b) for a, b in zip(*drawn)) and not torch.equal(*drawn[0])
    assert isinstance(torch.Generator(), torch.Generator) and torch.Generator().device.type == "cpu"
    with pytest.raises(RuntimeError, match="there is one device"):
        torch.Generator(device=f"{DEVICE}:1")
