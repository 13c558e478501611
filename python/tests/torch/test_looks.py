"""State that a loop carries is computed once, however often it is looked at."""

import torch
from torch import nn

import tenon
import tenon.torch

DEVICE = "tenon"


def close(got, expected):
    torch.testing.assert_close(got.detach().cpu(), expected, rtol=1e-4, atol=1e-5)


def looked(function):
    """What ran: the number of compiles, and the most operations of a run after the second one."""
    tenon.clear_realizations()
    function()
    runs = [one.operations for one in tenon.realizations()]
    return tenon.realization_counts()["compiles"], max(runs[2:-1])


def test_a_power_iteration():
    torch.manual_seed(0)
    matrix = torch.randn(8, 8)
    matrix = matrix @ matrix.T
    found = {}

    def loop(device):
        a, v = matrix.to(device), torch.ones(8, 1, device=device)
        for _ in range(40):
            v = a @ v
            length = v.norm()
            v = v / length
            length.item()
        found[device] = v.cpu()

    compiles, operations = looked(lambda: loop(DEVICE))
    loop("cpu")
    close(found[DEVICE], found["cpu"])
    assert compiles <= 4  # three of the loop, and the last look
    assert operations <= 12


def test_a_cache_that_grows_beside_a_state():
    torch.manual_seed(0)
    weight = torch.randn(4, 4)
    sums = {"cpu": [], DEVICE: []}

    def loop(device):
        w, k, x = weight.to(device), torch.ones(1, 4, device=device), torch.ones(1, 4, device=device)
        for _ in range(30):
            k = torch.cat([k, torch.tanh(x @ w)])
            x = torch.tanh((x @ k.T).softmax(-1) @ k)
            sums[device].append(x.sum().item())

    compiles, operations = looked(lambda: loop(DEVICE))
    loop("cpu")
    torch.testing.assert_close(torch.tensor(sums[DEVICE]), torch.tensor(sums["cpu"]), rtol=1e-3, atol=1e-4)
    assert compiles <= 5  # two until it is known what is carried, three until the length is a symbol
    assert operations <= 9


def test_a_loss_that_is_printed_before_the_step():
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 2)).to(DEVICE)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def loop():
        for _ in range(12):
            loss = net(torch.randn(5, 6).to(DEVICE)).square().mean()
            loss.item()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()

    compiles, _ = looked(loop)
    assert compiles <= 5
    compiles, _operations = looked(loop)
    assert compiles == 0


def test_counters_that_nobody_looks_at_do_not_grow():
    net, counter = nn.BatchNorm1d(3).to(DEVICE), torch.zeros(4, dtype=torch.int64, device=DEVICE)
    x = torch.arange(12.0).reshape(4, 3).sin().to(DEVICE)
    tenon.clear_realizations()
    for _ in range(70):
        counter += 1
        net(x).square().sum().item()
    aside = [one for one in tenon.realizations() if one.reason == "writes that nobody looks at"]
    assert 2 <= len(aside) <= 20
    assert max(one.operations for one in aside) <= 80  # since they were last computed
    assert counter.tolist() == [70] * 4 and net.num_batches_tracked.item() == 70
