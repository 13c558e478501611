"""How much the device runs: kernels, programs and compiles."""

import gc
import resource

import torch
from device_support import DEVICE, close, counted
from torch import nn

import tenon
import tenon.torch


def test_conv_bn_relu_in_evaluation_is_one_kernel():
    block = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(inplace=True)).eval()
    block[1].running_mean.uniform_(-1, 1)
    block[1].running_var.uniform_(0.5, 2)
    x = torch.randn(2, 3, 12, 12)
    expected = block(x)
    block.to(DEVICE)
    moved = x.to(DEVICE)
    with torch.no_grad():
        counts, y = counted(lambda: block(moved).cpu())
    close(y, expected)
    assert counts["kernels"] == 1 and counts["runs"] == 1


def test_residual_add_and_relu_are_inside_the_convolution_before_them():
    conv = nn.Conv2d(8, 8, 3, padding=1, bias=False).to(DEVICE)
    norm = nn.BatchNorm2d(8).to(DEVICE).eval()
    x = torch.randn(2, 8, 10, 10).to(DEVICE)

    def block():
        out = norm(conv(x))
        out += x
        return nn.functional.relu(out).cpu()

    with torch.no_grad():
        counts, _ = counted(block)
    assert counts["kernels"] == 1


def test_a_convolution_of_itself_with_gradients_is_one_realisation():
    torch.manual_seed(0)
    w = torch.randn(4, 4, 3, 3)
    b = torch.randn(4)
    x = torch.randn(2, 4, 10, 10)

    def work(device):
        wd, bd, xd = (t.to(device).requires_grad_() for t in (w, b, x))
        conv = nn.functional.conv2d
        conv(conv(xd, wd, bd).relu(), wd, bd).sum().backward()
        return [wd.grad, bd.grad, xd.grad]

    grads = work(DEVICE)
    counts, moved = counted(lambda: [g.cpu() for g in _together(grads)])
    assert counts["runs"] == 1
    for got, expected in zip(moved, work("cpu")):
        close(got, expected, rtol=1e-3, atol=1e-3)


def _together(tensors):
    from tenon.torch.handles import unwrap

    tenon.realize([unwrap(t) for t in tensors])
    return tensors


def test_fifty_batch_sizes_are_two_compiles_and_flat_memory():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4)).to(DEVICE)
    steps = torch.optim.SGD(net.parameters(), lr=0.01)

    def step(n):
        x = torch.randn(n, 8).to(DEVICE)
        y = torch.randint(0, 4, (n,)).to(DEVICE)
        loss = nn.functional.cross_entropy(net(x), y)
        steps.zero_grad()
        loss.backward()
        steps.step()
        return loss.item()

    sizes = torch.randint(2, 100, (50,)).tolist()
    counts, _ = counted(lambda: [step(n) for n in sizes[:10]])
    first = counts["compiles"]
    counts, _ = counted(lambda: [step(n) for n in sizes[10:]])
    assert first <= 4 and counts["compiles"] == 0
    gc.collect()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for n in sizes * 4:
        step(n)
    gc.collect()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 30_000


def test_numbers_that_change_are_no_new_programs():
    net = nn.Linear(8, 4).to(DEVICE)
    optimizer = torch.optim.Adam(net.parameters(), lr=0.1)
    x = torch.ones(5, 8).to(DEVICE)

    def steps():
        for _ in range(20):
            loss = net(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()

    counts, _ = counted(steps)
    assert counts["compiles"] <= 5
