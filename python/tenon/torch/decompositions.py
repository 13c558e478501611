"""Which operators are taken apart before a graph is lowered: those that PyTorch can take apart and that have no row."""

from __future__ import annotations

import functools

import torch
import torch._decomp

from .table import find_functional


@functools.cache
def decompositions() -> dict:
    """A decomposition table for AOTAutograd and `ExportedProgram.run_decompositions`."""
    table = dict(torch._decomp.decomposition_table)
    core = torch._decomp.core_aten_decompositions()
    table.update(core.materialize() if hasattr(core, "materialize") else core)
    return {overload: function for overload, function in table.items() if not _has_row(overload)}


def _has_row(overload) -> bool:
    if not isinstance(overload, torch._ops.OpOverload):
        return False
    found = find_functional(overload)
    return found is not None and not found.writes
