"""Products by groups of rows."""

import pytest
import tenon.torch
import torch
from device_support import close
from tenon.torch.table import rows

moe = pytest.importorskip("transformers.integrations.moe", reason="the PyPI package transformers is not installed")


def test_each_row_meets_the_matrix_of_its_group():
    torch._dynamo.reset()
    tenon.torch.reset_report()
    torch.manual_seed(0)
    forward = torch.compile(lambda *given: torch.ops.transformers.grouped_mm_fallback(*given), backend="tenon")
    backward = torch.compile(lambda *given: torch.ops.transformers.grouped_mm_fallback_backward(*given), backend="tenon")
    for ends in ([2, 2, 7, 9], [0, 0, 0, 0], [0, 9, 9, 9], [1, 3, 4, 6]):
        x, weight, grad = torch.randn(9, 5), torch.randn(4, 5, 3), torch.randn(9, 3)
        offsets = torch.tensor(ends, dtype=torch.int32)
        with torch.no_grad():
            pairs = zip(backward(x, weight, offsets, grad), moe._grouped_mm_fallback_bwd(x, weight, offsets, grad))
            for got, wanted in pairs:
                close(got, wanted)
            if ends[0] == ends[1]:
                weight[1, 0, 0] = float("inf")  # of a group without rows: nobody's infinity is nobody's NaN
            close(forward(x, weight, offsets), moe._grouped_mm_fallback(x, weight, offsets))
    door = tenon.torch.report().doors["compile"]
    assert door.compiles == 2 and not door.fallbacks
    assert "aten._grouped_mm.default" in rows()
