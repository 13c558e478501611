"""Door 2: `torch.compile(model, backend="tenon", dynamic=True)`.

AOTAutograd makes graphs of forward and backward; each becomes one Tenon program for all sizes of its dynamic axes.
Operators that Tenon cannot build stay in PyTorch: the rest is cut into programs around them, and
`tenon.torch.report()` says what and why.
"""

from __future__ import annotations

import torch
from functorch.compile import make_boxed_func, min_cut_rematerialization_partition
from torch._dynamo.backends.common import aot_autograd
from torch._dynamo.backends.registry import register_backend
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .decompositions import decompositions
from .lower import Failure, lower
from .program import WeightedProgram
from .report import record_compile, record_fallback

_SMALLEST = 2  # operators of a part that is worth a program of its own


@register_backend(name="tenon")
def tenon_backend(module: GraphModule, example_inputs, **options):
    """The compiler that `torch.compile` calls. Of tensors on the device tenon there is nothing to compile ahead: they record
    what the graph asks of them, and their programs are compiled when somebody looks."""
    if any(_is_on_device(x) for x in (*example_inputs, *module.parameters(), *module.buffers())):
        return module.forward
    compiler = aot_autograd(
        fw_compiler=_compile_forward,
        bw_compiler=_compile_backward,
        inference_compiler=_compile_inference,
        decompositions=dict(decompositions()),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )
    return compiler(module, example_inputs)


def _is_on_device(x) -> bool:
    return isinstance(x, torch.Tensor) and x.device.type == "tenon"


def _compile_forward(module: GraphModule, _):
    return make_boxed_func(_compiled(module, _weights_of_module(), expected=False))


def _compile_backward(module: GraphModule, _):
    return make_boxed_func(_compiled(module, set(), expected=False))


def _compile_inference(module: GraphModule, _):
    """Weights are expected to stay: the first call compiles a program that has them as constants."""
    return make_boxed_func(_compiled(module, _weights_of_module(), expected=True))


def _weights_of_module() -> set[int]:
    """Which arguments of the graph that AOTAutograd compiles now are parameters and buffers."""
    context = torch._guards.TracingContext.try_get()
    metadata = getattr(context, "fw_metadata", None)
    return set(getattr(metadata, "static_input_indices", None) or ())


def _compiled(module: GraphModule, weights: set[int], expected: bool):
    """A function of the arguments of a graph of ATen operators, which gives its results as a list."""
    lowered = lower(module)
    if not lowered.failures:
        return WeightedProgram(lowered, module, weights, expected)
    for failure in lowered.failures:
        record_fallback("compile", failure.operator, failure.reason)
    return _in_parts(module, lowered.failures, weights, expected)


class _Support(OperatorSupportBase):
    """All operators but those that failed."""

    def __init__(self, failures: list[Failure]):
        self.failed = {failure.node for failure in failures}

    def is_node_supported(self, submodules, node: Node) -> bool:
        if node.op != "call_function" or node in self.failed:
            return False
        return not (isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable)


def _in_parts(module: GraphModule, failures: list[Failure], weights: set[int], expected: bool):
    partitioner = CapabilityBasedPartitioner(module, _Support(failures), allows_single_node_partition=False)
    partitions = [p for p in partitioner.propose_partitions() if _operators(p) >= _SMALLEST]
    if not partitions:
        return module
    whole = partitioner.fuse_partitions(partitions, prefix="tenon_part_")
    placeholders = [n for n in whole.graph.nodes if n.op == "placeholder"]
    of_module = {placeholders[i] for i in weights if i < len(placeholders)}
    for node in list(whole.graph.nodes):
        if node.op == "call_module" and node.target.startswith("tenon_part_"):
            taken = {i for i, argument in enumerate(node.args) if argument in of_module}
            setattr(whole, node.target, _Part(getattr(whole, node.target), taken, expected))
    return whole


def _operators(partition) -> int:
    return sum(isinstance(node.target, torch._ops.OpOverload) for node in partition.nodes)


class _Part(torch.nn.Module):
    """A part of a graph that is a Tenon program."""

    def __init__(self, part: GraphModule, weights: set[int], expected: bool):
        super().__init__()
        lowered = lower(part)
        for failure in lowered.failures:
            record_fallback("compile", failure.operator, failure.reason)
        leaves = next(n for n in part.graph.nodes if n.op == "output").args[0]
        self._single = not isinstance(leaves, (list, tuple))
        listed = (lambda *arguments: [part(*arguments)]) if self._single else part
        self._run = listed if lowered.failures else WeightedProgram(lowered, listed, weights, expected)

    def forward(self, *arguments):
        results = self._run(*arguments)
        return results[0] if self._single else results
