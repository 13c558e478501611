"""What tests of the device share."""

from __future__ import annotations

import torch

import tenon

DEVICE = "tenon"


def close(got, expected, rtol=1e-4, atol=1e-5):
    torch.testing.assert_close(got.detach().cpu(), expected.detach().cpu(), rtol=rtol, atol=atol)


def counted(function):
    """Runs, compiles and kernels of lazy tensors while the function runs, and what it gives."""
    tenon.clear_realizations()
    result = function()
    return tenon.realization_counts(), result
