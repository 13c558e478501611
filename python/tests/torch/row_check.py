"""Runs PyTorch code on the CPU and holds every ATen call it makes against the row of the table.

with RowCheck() as check:
    torch.nn.functional.softmax(x, -1).sum().backward()
assert not check.wrong
"""

import collections

import tenon
import torch
from tenon.torch import table
from tenon.torch.dtypes import Unsupported, is_supported
from tenon.torch.values import cast
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

# Whatever memory held, or no tensors at all.
_NOT_COMPARED = {
    "aten.empty.memory_format", "aten.empty_strided.default", "aten.empty_like.default", "aten.new_empty.default",
    "aten.new_empty_strided.default", "aten.detach.default", "aten.empty_permuted.default",
    "aten._local_scalar_dense.default",
}  # fmt: skip


class RowCheck(TorchDispatchMode):
    """`right` counts calls by operator, `wrong` lists (operator, what is different), `missing` counts what has no row
    or one that does not apply."""

    def __init__(self, rtol=2e-4, atol=1e-4):
        super().__init__()
        self.right, self.missing = collections.Counter(), collections.Counter()
        self.wrong = []
        self.tolerance = {"rtol": rtol, "atol": atol}
        self.draws = 0

    def __torch_dispatch__(self, overload, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        name = str(overload)
        if name in _NOT_COMPARED:
            return overload(*args, **kwargs)
        functional = table.find_functional(overload)
        tensors = [x for x in tree_leaves((args, kwargs)) if isinstance(x, torch.Tensor)]
        if functional is None or not all(is_supported(x.dtype) and x.layout == torch.strided for x in tensors):
            self.missing[name] += 1
            return overload(*args, **kwargs)
        ours = [tree_map(self._lazy, a) for a in args]
        named = {k: tree_map(self._lazy, v) for k, v in kwargs.items() if k not in functional.drop}
        ours = [a for a, s in zip(ours, overload._schema.arguments) if s.name not in functional.drop]
        expected = overload(*args, **kwargs)
        try:
            with table.random_by(self._draw):
                results = table.call_row(functional.row, ours, named)
            self._compare(functional, results, expected)
            self.right[name] += 1
        except Unsupported:
            self.missing[name] += 1
        except (AssertionError, tenon.Error, TypeError) as error:
            shapes = [tuple(x.shape) for x in tensors]
            self.wrong.append((name, f"{shapes} {tensors[0].dtype if tensors else ''}: {error}"))
        return expected

    def _draw(self):
        self.draws += 1
        return tuple(tenon.ops.scalar(tenon.u64, float(n)) for n in (7, self.draws))

    @staticmethod
    def _lazy(x):
        return tenon.tensor(x.detach().clone().contiguous()) if isinstance(x, torch.Tensor) else x

    def _compare(self, functional, results, expected):
        results = list(results) if isinstance(results, (list, tuple)) else [results]
        results = results if functional.returns is None else [results[i] for i in functional.returns]
        expected = list(expected) if isinstance(expected, (list, tuple)) else [expected]
        for ours, theirs in zip(results, expected):
            if not isinstance(theirs, torch.Tensor) or ours is None:
                continue
            ours = cast(ours, theirs.dtype) if functional.writes else ours
            made = torch.from_dlpack(ours.to_array())
            assert made.dtype == theirs.dtype, f"dtype {made.dtype}, PyTorch {theirs.dtype}"
            assert made.shape == theirs.shape, f"sizes {tuple(made.shape)}, PyTorch {tuple(theirs.shape)}"
            if not functional.row.random:
                torch.testing.assert_close(made, theirs.detach().contiguous(), equal_nan=True, **self.tolerance)
