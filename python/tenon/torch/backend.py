"""Door 2: `torch.compile(model, backend="tenon", dynamic=True)`.

AOTAutograd makes graphs of forward and backward; each becomes one Tenon program for all sizes of its dynamic axes.
Operators that Tenon cannot build stay in PyTorch: the rest is cut into programs around them, and
`tenon.torch.report()` says what and why.
"""

from __future__ import annotations

import tenon
import torch
from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.registry import register_backend
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .decompositions import decompositions
from .lower import Failure, Program, lower
from .report import record_compile, record_fallback

_SMALLEST = 2  # operators of a part that is worth a program of its own


@register_backend(name="tenon")
def tenon_backend(module: GraphModule, example_inputs, **options):
    """The compiler that `torch.compile` calls. Of tensors on the device tenon there is nothing to compile ahead: they record
    what the graph asks of them, and their programs are compiled when somebody looks."""
    if any(_is_on_device(x) for x in (*example_inputs, *module.parameters(), *module.buffers())):
        return module.forward
    compiler = aot_autograd(
        fw_compiler=compile_graph,
        bw_compiler=compile_graph,
        inference_compiler=compile_graph,
        decompositions=dict(decompositions()),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )
    return compiler(module, example_inputs)


def _is_on_device(x) -> bool:
    return isinstance(x, torch.Tensor) and x.device.type == "tenon"


def compile_graph(module: GraphModule, example_inputs):
    """A graph of ATen operators as a function of its flat arguments."""
    return make_boxed_func(_compiled(module))


def _compiled(module: GraphModule):
    lowered = lower(module)
    if not lowered.failures:
        program = _program(lowered)
        return module if program is None else program
    for failure in lowered.failures:
        record_fallback("compile", failure.operator, failure.reason)
    return _in_parts(module, lowered.failures)


def _program(lowered) -> Program | None:
    """Nothing where Tenon refuses the whole, which is reported."""
    try:
        program = Program(lowered)
    except tenon.Error as error:
        record_fallback("compile", "(graph)", str(error))
        return None
    record_compile("compile", program, "graph")
    return program


class _Support(OperatorSupportBase):
    """All operators but those that failed."""

    def __init__(self, failures: list[Failure]):
        self.failed = {failure.node for failure in failures}

    def is_node_supported(self, submodules, node: Node) -> bool:
        if node.op != "call_function" or node in self.failed:
            return False
        return not (isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable)


def _in_parts(module: GraphModule, failures: list[Failure]):
    partitioner = CapabilityBasedPartitioner(module, _Support(failures), allows_single_node_partition=False)
    partitions = [p for p in partitioner.propose_partitions() if _operators(p) >= _SMALLEST]
    if not partitions:
        return module
    whole = partitioner.fuse_partitions(partitions, prefix="tenon_part_")
    for name, part in list(whole.named_children()):
        if name.startswith("tenon_part_"):
            setattr(whole, name, _Part(part))
    return whole


def _operators(partition) -> int:
    return sum(isinstance(node.target, torch._ops.OpOverload) for node in partition.nodes)


class _Part(torch.nn.Module):
    """A part of a graph that is a Tenon program, or runs as it is where Tenon refuses it."""

    def __init__(self, part: GraphModule):
        super().__init__()
        lowered = lower(part)
        for failure in lowered.failures:
            record_fallback("compile", failure.operator, failure.reason)
        program = None if lowered.failures else _program(lowered)
        self._run = part if program is None else program
        leaves = next(n for n in part.graph.nodes if n.op == "output").args[0]
        self._single = program is not None and not isinstance(leaves, (list, tuple))

    def forward(self, *arguments):
        results = self._run(*arguments)
        return results[0] if self._single else results
