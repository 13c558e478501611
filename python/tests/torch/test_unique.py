"""Different elements: values, inverse and counts, of all elements and along an axis."""

import itertools
import warnings

import pytest
import torch

import tenon.torch

DEVICE = "tenon"
INPUTS = {
    "integers": torch.tensor([[3, 1, 3], [1, 1, 2], [3, 1, 3]]),
    "floats": torch.tensor([2.5, -1.0, 2.5, 2.5, 0.0]),
    "NaN": torch.tensor([float("nan"), 1.0, float("nan"), 1.0]),
    "bools": torch.tensor([True, False, True]),
    "nothing": torch.empty(0),
}


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("function", [torch.unique, torch.unique_consecutive])
def test_as_on_the_cpu(name, function):
    x = INPUTS[name]
    axes = [None, *range(x.dim())] if name not in ("NaN", "nothing") else [None]
    for dim, inverse, counts in itertools.product(axes, (False, True), (False, True)):
        options = {"return_inverse": inverse, "return_counts": counts, "dim": dim}
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # no fallback
            got = function(x.to(DEVICE), **options)
        expected = function(x, **options)
        got, expected = (r if isinstance(r, tuple) else (r,) for r in (got, expected))
        assert len(got) == len(expected)
        for ours, theirs in zip(got, expected):
            torch.testing.assert_close(ours.cpu(), theirs, equal_nan=True)


def test_values_inverse_and_counts_are_one_program():
    x = torch.tensor([3, 1, 3, 2]).to(DEVICE)
    tenon.clear_realizations()
    torch.unique(x, return_inverse=True, return_counts=True)
    assert tenon.realization_counts()["runs"] == 1
