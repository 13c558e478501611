"""Sizes and offsets that change from step to step become symbols: compiles are counted, results held against the CPU."""

import random

import pytest
import torch
from torch import nn

import tenon
import tenon.torch

DEVICE = "tenon"


def compiles(function):
    tenon.clear_realizations()
    function()
    return tenon.realization_counts()["compiles"]


def close(got, expected):
    torch.testing.assert_close(got.detach().cpu(), expected, rtol=1e-4, atol=1e-5)


def test_an_index_that_moves():
    x = torch.arange(60.0).reshape(20, 3)
    moved = x.to(DEVICE)

    def loop():
        for i in range(20):
            close(moved[i] * 2, x[i] * 2)

    assert compiles(loop) <= 3
    assert compiles(loop) == 0


def test_a_cache_that_grows():
    torch.manual_seed(0)

    def loop():
        ours = torch.randn(2, 3, 4).to(DEVICE)
        theirs = ours.cpu()
        for _ in range(20):
            new = torch.randn(2, 1, 4)
            ours, theirs = torch.cat([ours, new.to(DEVICE)], 1), torch.cat([theirs, new], 1)
            attended = [(x[:, -1:] @ x.transpose(1, 2)).softmax(-1) @ x for x in (ours, theirs)]
            close(*attended)

    assert compiles(loop) <= 4


def test_a_cache_that_is_written_by_slices():
    torch.manual_seed(0)

    def loop():
        ours, theirs = torch.zeros(2, 32, 4).to(DEVICE), torch.zeros(2, 32, 4)
        for i in range(20):
            new = torch.randn(2, 1, 4)
            ours[:, i : i + 1] = new.to(DEVICE)
            theirs[:, i : i + 1] = new
            close(*[(x[:, i : i + 1] @ x[:, : i + 1].transpose(1, 2)).softmax(-1) @ x[:, : i + 1] for x in (ours, theirs)])

    assert compiles(loop) <= 6
    assert compiles(loop) <= 1  # the first step, of one key, by what is known to change since
    assert compiles(loop) == 0


def test_an_encoder_at_random_batch_and_length():
    random.seed(0)
    torch.manual_seed(0)
    layer = nn.TransformerEncoderLayer(16, 4, 32, dropout=0.0, batch_first=True)
    net = nn.Sequential(nn.TransformerEncoder(layer, 2), nn.Linear(16, 8)).to(DEVICE)
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-3)

    def loop():
        for _ in range(20):
            batch, length = random.randint(2, 16), random.randint(4, 32)
            x = torch.randn(batch, length, 16).to(DEVICE)
            y = torch.randint(0, 8, (batch, length)).to(DEVICE)
            loss = nn.functional.cross_entropy(net(x).flatten(0, 1), y.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss.item()

    assert compiles(loop) <= 5
    assert compiles(loop) <= 1


def test_the_report_says_what_differed():
    tenon.torch.reset_report()
    x = torch.arange(4.0).to(DEVICE)
    for power in (x.exp, x.tanh):
        power().cpu()
    report = tenon.torch.report()
    assert "tanh, was exp" in report.realizations[-1].why
    assert "1 programs compiled again" in str(report)
    assert tenon.realization_counts()["recompiles"] == 1


def test_a_learning_rate_that_changes():
    weight, theirs = torch.ones(4).to(DEVICE), torch.ones(4)

    def loop():
        for step in range(1, 20):
            for w in (weight, theirs):
                w.mul_(1 - 0.3 / step)
            close(weight, theirs)

    assert compiles(loop) <= 3
    assert compiles(loop) == 0


def test_a_mean_whose_count_changes():
    weight = torch.randn(4, 3).to(DEVICE).requires_grad_()

    def loop():
        for n in range(2, 20):
            x = torch.randn(n, 4)
            weight.grad = None
            (x.to(DEVICE) @ weight).square().mean().backward()
            close(weight.grad, 2 * x.t() @ (x @ weight.detach().cpu()) / (3 * n))

    assert compiles(loop) <= 5
    assert compiles(loop) <= 1


OPTIMIZERS = {
    "sgd": lambda weights: torch.optim.SGD(weights, 0.1, momentum=0.9),
    "adamw": lambda weights: torch.optim.AdamW(weights, 1e-3),
    "nadam": lambda weights: torch.optim.NAdam(weights, 1e-3),
    "rmsprop": lambda weights: torch.optim.RMSprop(weights, 1e-3),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_steps_with_dropout_and_a_schedule(name):
    torch.manual_seed(0)
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 3)).to(DEVICE)
    optimizer = OPTIMIZERS[name](net.parameters())
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 24)

    def loop():
        for _ in range(12):
            x, y = torch.randn(5, 4).to(DEVICE), torch.randint(0, 3, (5,)).to(DEVICE)
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            loss.item()

    assert compiles(loop) <= 3
    assert compiles(loop) == 0


@pytest.mark.parametrize("change,most", [
    (lambda x, i: x * (i * 1.7), 3),
    (lambda x, i: x.clamp(0, 1 / (i + 1)), 3),
    (lambda x, i: x.fill_(i * 0.3).exp(), 3),
    (lambda x, i: torch.addcmul(x, x, x, value=i * 0.3), 3),
    (lambda x, i: x.masked_fill(x > 0.5, i * 0.3), 3),
    (lambda x, i: torch.softmax(x / (1 + 0.1 * i), -1), 3),
    (lambda x, i: x + torch.tensor(i * 0.3), 3),
    (lambda x, i: x[i % 5 : i % 5 + 2] + 1, 4),
])  # fmt: skip
def test_numbers_of_a_step_are_data(change, most):
    ours, theirs = torch.rand(8).to(DEVICE), None
    theirs = ours.cpu()

    def loop():
        for i in range(12):
            close(change(ours, i), change(theirs, i))

    assert compiles(loop) <= most
    assert compiles(loop) == 0


def test_a_number_that_is_looked_at_and_fed_back():
    start = torch.rand(6)

    def loop():
        x, y = start.to(DEVICE), start
        for _ in range(15):
            s, t = x.norm().item(), y.norm().item()
            x, y = x.sin() / s + s * 0.1, y.sin() / t + t * 0.1
        close(x, y)

    assert compiles(loop) <= 5  # the first look, the second, the one that learns what to store, all others, the end
    assert compiles(loop) == 0


def test_sizes_of_new_tensors_change_on_one_line_and_stay_on_another():
    def loop():
        for n in range(2, 14):
            close(torch.zeros(n, device=DEVICE) + 1, torch.ones(n)), close(torch.zeros(3, device=DEVICE) + 2, torch.full((3,), 2.0))
            x = torch.arange(float(n))
            close(x.to(DEVICE) + torch.empty_strided((n,), (1,), device=DEVICE).fill_(2), x + 2)

    assert compiles(loop) <= 9  # three lines, each of one number, of another, and of any
    assert compiles(loop) == 0


def test_an_element_that_is_added_to():
    ours, theirs = torch.zeros(20).to(DEVICE), torch.zeros(20)

    def loop():
        for i in range(20):
            for x in (ours, theirs):
                x[i] += i
            close(ours, theirs)

    assert compiles(loop) <= 5  # of 0, of 1, of a number that is data at two places, of every place
    assert compiles(loop) == 0
