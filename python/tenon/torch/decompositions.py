"""Which operators are taken apart before a graph is lowered: those that PyTorch can take apart and that have no row."""

from __future__ import annotations

import functools

import torch
import torch._decomp
import torch._export.utils as _export

from .table import find_functional


@functools.cache
def decompositions() -> dict:
    """A decomposition table for AOTAutograd and `ExportedProgram.run_decompositions`."""
    table = dict(torch._decomp.decomposition_table)
    core = torch._decomp.core_aten_decompositions()
    table.update(core.materialize() if hasattr(core, "materialize") else core)
    table.update(_composites(table))
    return {overload: function for overload, function in table.items() if not _has_row(overload)}


def _composites(known) -> dict:
    """Operators that PyTorch takes apart before autograd sees them (`true_divide`, `multiply`), and does not where there
    is no autograd: under `torch.inference_mode()`."""
    overloads = _export._collect_all_valid_cia_ops_for_aten_namespace()
    return {overload: _export._get_decomp_for_cia(overload) for overload in overloads if overload not in known}


def _has_row(overload) -> bool:
    if not isinstance(overload, torch._ops.OpOverload):
        return False
    found = find_functional(overload)
    return found is not None and not found.writes
