"""Strides of results on the device: those of PyTorch on the CPU, because they decide what is a view."""

import pytest
import torch
from device_support import DEVICE, close
from torch import nn

import tenon.torch  # noqa: F401  (registers the device)


@pytest.mark.parametrize(
    "result",
    [
        lambda x: x.t() * 2,
        lambda x: x.t().clone(),
        lambda x: x.t().to(torch.float64),
        lambda x: torch.empty_like(x.t()).fill_(1),
        lambda x: x.t().sort(0)[0],
        lambda x: x.t() + x[0, 0],
        lambda x: torch.relu(x.t()[::2]),
        lambda x: x.t().contiguous() + 1,
        lambda x: x.reshape(1, 2, 3, 1).to(memory_format=torch.channels_last) * 2,
        lambda x: x.reshape(2, 3, 1, 1).transpose(1, 2) + 1,
    ],
)
def test_results_have_pytorchs_strides_and_reshape_copies_where_it_does(result):
    a = torch.arange(6.0).reshape(2, 3)
    on_cpu, on_tenon = result(a), result(a.to(DEVICE))
    assert on_tenon.stride() == on_cpu.stride()
    for t in (on_cpu, on_tenon):
        t.reshape(-1).zero_()
        t.flatten(1).add_(1)
        t.contiguous().mul_(5)
    close(on_tenon, on_cpu)


def test_writing_to_a_flattened_copy_leaves_the_heads_alone():
    q = torch.ones(5, 2, 3, 5, device=DEVICE)
    h = q.transpose(1, 2) + 1
    h.flatten(1).mul_(0)
    assert h.sum().item() == 300


def test_recurrent_layers_and_attention_have_pytorchs_strides():
    lstm = nn.LSTM(3, 4, batch_first=True)
    x = torch.randn(2, 5, 3)
    expected = lstm(x)[0]
    assert lstm.to(DEVICE)(x.to(DEVICE))[0].stride() == expected.stride()
    q = torch.randn(2, 5, 4, 8).transpose(1, 2)
    attention = nn.functional.scaled_dot_product_attention
    assert attention(*[q.to(DEVICE)] * 3).stride() == attention(q, q, q).stride()


@pytest.mark.parametrize("formats", [(0, 0), (0, 1), (1, 0), (1, 1)])
@pytest.mark.parametrize("transposed", [False, True])
def test_convolutions_are_channels_last_where_an_operand_is(formats, transposed):
    conv = nn.functional.conv_transpose2d if transposed else nn.functional.conv2d
    found = []
    for device in ("cpu", DEVICE):
        x, w = (torch.ones(4, 4, n, n).to(device) for n in (6, 3))
        x, w = (t.contiguous(memory_format=torch.channels_last) if f else t for t, f in zip((x, w), formats))
        y = conv(x, w, torch.ones(4).to(device))
        y.permute(0, 2, 3, 1).reshape(-1)[:5].zero_()  # a view of what is channels last, a copy of the rest
        found.append(y)
    assert found[0].stride() == found[1].stride()
    close(found[1], found[0])


def test_sizes_that_data_decide_are_sizes():
    x = torch.tensor([[1.0, 0, 2], [0, 3, 0]])
    for device in ("cpu", DEVICE):
        found = x.to(device).nonzero()
        assert found.stride() == (1, 3)
        zeros = torch.zeros_like(found)
        zeros[:, 1] = found[:, 1]
        found[:, 0] = 7
        assert zeros.tolist() == [[0, 0], [0, 2], [0, 1]] and found.tolist() == [[7, 0], [7, 2], [7, 1]]


def test_the_rule_for_strides_of_pointwise_results_is_pytorchs():
    import random

    from tenon.torch.strides import pointwise

    r = random.Random(0)
    for _ in range(2000):
        sizes = [r.choice((1, 1, 2, 3)) for _ in range(r.randint(1, 5))]
        operands = []
        for _ in range(r.randint(1, 3)):
            own = [1 if r.random() < 0.3 else n for n in sizes[r.choice((0, 0, 0, 1)) :]]
            order = r.sample(range(len(own)), len(own))
            x = torch.zeros([own[i] for i in order]).permute([order.index(i) for i in range(len(own))])
            operands.append(x.repeat_interleave(2, 0)[::2] if own and r.random() < 0.2 else x)
        result = {1: torch.neg, 2: torch.add, 3: torch.addcmul}[len(operands)](*operands)
        found = pointwise(operands)
        assert found == result.stride() or (found is None and result.is_contiguous()), [(x.shape, x.stride()) for x in operands]


@pytest.mark.parametrize(
    "result",
    [
        torch.empty_like,
        torch.zeros_like,
        torch.rand_like,
        lambda x: torch.full_like(x, 2),
        lambda x: x.flip(0),
        lambda x: x.sort(0)[1],
        lambda x: x.masked_fill(x > 0, 1),
        torch.nn.functional.hardtanh,
        torch.nan_to_num,
        torch.neg,
    ],
)
@pytest.mark.parametrize("sizes, strides", [((3, 1), (1, 3)), ((1, 3), (1, 1)), ((2, 1, 3), (1, 1, 2)), ((2, 3), (1, 2))])
def test_axes_of_size_1_have_pytorchs_strides_too(result, sizes, strides):
    x = torch.arange(6.0)[: sizes[0] * sizes[-1] * (1 if len(sizes) < 3 else sizes[1])].as_strided(sizes, strides).clone()
    assert x.stride() == strides
    found, expected = result(x.to(DEVICE)), result(x)
    assert found.stride() == expected.stride()
    column = torch.ones(x.shape[0], *[1] * x.dim())  # broadcast against it, those strides decide others
    assert (column.to(DEVICE) * found).stride() == (column * expected).stride()
