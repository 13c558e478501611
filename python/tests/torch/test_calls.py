"""Calls of compiled programs: what is read in place, what takes the longer way, whose memory results have."""

import numpy as np
import pytest
import tenon
import tenon.torch
import torch
from torch import nn


class Doubled(nn.Module):
    def forward(self, x):
        return x + x


@pytest.fixture(scope="module")
def doubled():
    rows = torch.export.Dim("rows", min=0)
    return tenon.torch.export(Doubled(), (torch.randn(3, 4),), dynamic_shapes=({0: rows},))


def plain_calls(monkeypatch):
    """Counts calls that are not read in place."""
    count = []
    original = tenon.torch.program.Program._run_arrays
    monkeypatch.setattr(
        tenon.torch.program.Program, "_run_arrays", lambda *args: count.append(1) or original(*args)
    )
    return count


@pytest.mark.parametrize("rows", [0, 1, 7, 8, 9, 33])
def test_tensors_are_read_in_place(doubled, monkeypatch, rows):
    longer = plain_calls(monkeypatch)
    x = torch.randn(rows, 4)
    for given in (x, nn.Parameter(x), torch.randn(4, rows).t(), torch.randn(2 * rows, 4)[::2], x[:1].expand(rows, 4)):
        if isinstance(given, nn.Parameter) or given.shape[0] == rows:
            assert torch.equal(doubled(given), (given + given).detach())
    assert not longer


def test_what_is_no_plain_tensor_takes_the_longer_way(doubled, monkeypatch):
    longer = plain_calls(monkeypatch)
    negated = torch.randn(5, 4, dtype=torch.complex64).conj().imag
    assert negated.is_neg()
    assert torch.equal(doubled(negated), negated + negated)
    assert len(longer) == 1
    array = np.ones((2, 4), np.float32)
    assert isinstance(doubled(array), np.ndarray)
    with pytest.raises((tenon.Error, TypeError)):
        doubled(torch.randn(3, 4).to_sparse())
    with pytest.raises(tenon.Error, match="f32"):
        doubled(torch.randn(3, 4, dtype=torch.float64))


def test_results_have_memory_of_their_own(doubled):
    x = torch.ones(2, 4)
    first, second = doubled(x), doubled(x)
    first.zero_()
    assert torch.equal(second, torch.full((2, 4), 2.0)) and torch.equal(x, torch.ones(2, 4))

    class Same(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", torch.ones(3))

        def forward(self, x):
            return x.view(-1), x + 0, self.kept + 0, x + 0

    model = Same()
    exported = tenon.torch.export(model, (x,))
    results = exported(x)
    for result in results:
        result.fill_(7)
    assert torch.equal(x, torch.ones(2, 4)) and torch.equal(model.kept, torch.ones(3))
    assert len({result.data_ptr() for result in exported(x)}) == 4


def test_a_result_outlives_its_program():
    exported = tenon.torch.export(Doubled(), (torch.ones(64, 64),))
    result = exported(torch.ones(64, 64))
    del exported
    assert torch.equal(result, torch.full((64, 64), 2.0))


def test_wrong_arguments_are_refused(doubled):
    with pytest.raises(tenon.Error, match="the exported program takes"):
        doubled(torch.ones(1, 4), torch.ones(1, 4))
    with pytest.raises(tenon.Error):
        doubled(torch.ones(1, 5))


def test_a_model_with_structure_and_numbers():
    class Structured(nn.Module):
        def forward(self, pair, scale):
            return {"sum": pair["a"] + pair["b"], "scaled": [pair["a"] * scale]}

    pair = {"a": torch.ones(3), "b": torch.full((3,), 2.0)}
    exported = tenon.torch.export(Structured(), (pair, torch.tensor(4.0)))
    got = exported(pair, torch.tensor(4.0))
    assert torch.equal(got["sum"], torch.full((3,), 3.0)) and torch.equal(got["scaled"][0], torch.full((3,), 4.0))


def test_buffers_that_change():
    model = nn.BatchNorm1d(4).train()
    x = torch.randn(6, 4)
    exported = tenon.torch.export(model, (x,))
    expected = nn.BatchNorm1d(4).train()
    for _ in range(3):
        torch.testing.assert_close(exported(x), expected(x), rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(model.running_mean, expected.running_mean)
    assert model.num_batches_tracked == 3
