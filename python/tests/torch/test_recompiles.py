"""Sizes and offsets that change from step to step become symbols: compiles are counted, results held against the CPU."""

import random

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
