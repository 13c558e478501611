"""Views on the device: what they see, and who sees what is written through them."""

import pytest
import torch
from device_support import DEVICE, close

import tenon.torch  # noqa: F401  (registers the device)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[1:, ::2],
        lambda x: x.diagonal(),
        lambda x: x.view(-1)[3:9],
        lambda x: x.unsqueeze(0).squeeze(),
        lambda x: x.unfold(1, 2, 2)[:, 0],
        lambda x: x.as_strided((2, 2), (6, 1), 1),
        lambda x: x.permute(1, 0).chunk(2)[1],
        lambda x: x.select(0, 2),
        lambda x: x.detach(),
    ],
)
def test_views_see_and_write_what_they_are_views_of(view):
    a = torch.arange(24.0).reshape(4, 6)
    x = a.to(DEVICE)
    on_cpu, on_tenon = view(a), view(x)
    assert on_tenon.stride() == on_cpu.stride() and on_tenon.storage_offset() == on_cpu.storage_offset()
    close(on_tenon, on_cpu)
    for t in (on_cpu, on_tenon):
        t.mul_(2)
    close(x, a)
    for t in (a, x):
        t += 1
    close(on_tenon, on_cpu)


def test_gradients_flow_through_writes_to_views():
    def work(device):
        x = torch.arange(6.0).reshape(2, 3).to(device).requires_grad_()
        y = x * 2
        y[0].mul_(3)
        y[:, 1] = x[:, 0] ** 2
        (y.t()[2:] * 5).sum().backward()
        return x.grad, y

    for got, expected in zip(work(DEVICE), work("cpu")):
        close(got, expected)


def test_elements_of_expanded_views_are_written():
    seen = []
    for device in ("cpu", DEVICE):
        x = torch.zeros(3).to(device)
        x.expand(2, 3)[0, 1] = 5
        x.expand(2, 3)[1, 2:] += 1
        y = torch.zeros(2, 1).to(device)
        y.expand(2, 3).fill_(4)
        y[:0].expand(3, 0, 1).clamp_(0, 1)  # nothing is written
        seen.append([x.tolist(), y.tolist()])
        with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
            x.expand(2, 3).add_(1)
    assert seen[0] == seen[1]


@pytest.mark.parametrize("one", [lambda x: x.t().flatten()[3], lambda x: x.flip(0).t().flatten()[3], lambda x: x.t().reshape(-1)[1]])
def test_single_elements_of_flattened_views(one):
    x = torch.rand(3, 2)
    close(one(x.to(DEVICE)).tanh(), one(x).tanh())


def test_positions_of_a_pool_are_those_of_when_it_was_called():
    x = torch.randn(2, 3, 6, 6)
    ours = x.to("tenon")
    y, places = torch.nn.functional.max_pool2d(ours, 2, return_indices=True)
    expected, expected_places = torch.nn.functional.max_pool2d(x, 2, return_indices=True)
    ours.zero_()
    y.zero_()
    assert places.shape == expected_places.shape and places.dtype == torch.int64
    assert torch.equal(places[:, 1].cpu(), expected_places[:, 1])
    assert torch.equal(torch.nn.functional.max_unpool2d(expected.to("tenon"), places, 2).cpu(),
                       torch.nn.functional.max_unpool2d(expected, expected_places, 2))  # fmt: skip
    places.add_(1)
    assert torch.equal(places.cpu(), expected_places + 1)
