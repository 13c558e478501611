"""Exported modules in files."""

import numpy as np
import pytest
import torch
from torch import nn

import tenon
import tenon.torch


def test_an_exported_module_is_saved(tmp_path):
    module = nn.Sequential(nn.Linear(6, 5), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 2)).eval()
    x = torch.randn(3, 6)
    exported = tenon.torch.export(module, (x,), dynamic_shapes=({0: torch.export.Dim("batch", min=1)},))
    exported.save(tmp_path / "net.tenon", metadata={"from": "PyTorch"})
    model = tenon.load(tmp_path / "net.tenon")
    for rows in (1, 3, 40):
        x = torch.randn(rows, 6)
        np.testing.assert_array_equal(model(x), exported(x).detach().numpy())
    assert tenon.program_info(tmp_path / "net.tenon")["metadata"] == {"from": "PyTorch"}


class Counting(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("calls", torch.zeros(()))

    def forward(self, x):
        self.calls += 1
        return x * self.calls


class Noisy(nn.Module):
    def forward(self, x):
        return x + torch.rand_like(x)


@pytest.mark.parametrize("module", [Counting(), Noisy()])
def test_what_has_a_state_outside_of_its_arrays_is_refused(module, tmp_path):
    exported = tenon.torch.export(module, (torch.ones(2),))
    with pytest.raises(tenon.Unsupported, match="cannot be saved"):
        exported.save(tmp_path / "net.tenon")
    assert not (tmp_path / "net.tenon").exists()
