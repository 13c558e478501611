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
from torch._functorch._aot_autograd import runtime_wrappers
from torch.fx import GraphModule, Node
from torch.fx.passes.infra.partitioner import CapabilityBasedPartitioner
from torch.fx.passes.operator_support import OperatorSupportBase

from .decompositions import decompositions
from .lower import Failure, lower
from .program import WeightedProgram
from .report import record_fallback

# Tells the graph that reads a result which of its axes are dynamic.
_mark_dynamic = getattr(runtime_wrappers, "mark_dynamo_propagated_dynamic_indices", None)
_SMALLEST = 2  # operators of a part that is worth a program of its own


@register_backend(name="tenon")
def tenon_backend(module: GraphModule, example_inputs, **options):
    """The compiler that `torch.compile` calls. Of tensors on the device tenon there is nothing to compile ahead: they record
    what the graph asks of them, and their programs are compiled when somebody looks."""
    if any(_is_on_device(x) for x in (*example_inputs, *module.parameters(), *module.buffers())):
        return module.forward
    inference: list[WeightedProgram] = []
    compiler = aot_autograd(
        fw_compiler=_compile_forward,
        bw_compiler=_compile_backward,
        inference_compiler=lambda graph, inputs: _compile_inference(graph, inputs, inference),
        decompositions=dict(decompositions()),
        partition_fn=min_cut_rematerialization_partition,
        keep_inference_input_mutations=True,
    )
    compiled = compiler(module, example_inputs)
    # Dynamo calls it with the graph's arguments. Where AOTAutograd's wrapper has nothing to do, it only takes time.
    return inference[0].direct(_mark_dynamic) if inference and len(example_inputs) == inference[0].plain_arguments else compiled


def _is_on_device(x) -> bool:
    return isinstance(x, torch.Tensor) and x.device.type == "tenon"


def _compile_forward(module: GraphModule, _):
    return make_boxed_func(_compiled(module, "forward", _weights_of_module(), expected=False))


def _compile_backward(module: GraphModule, _):
    return make_boxed_func(_compiled(module, "backward", set(), expected=False))


def _compile_inference(module: GraphModule, _, programs: list[WeightedProgram]):
    """Weights are expected to stay: the first call compiles a program that has them as constants. `programs` gets it
    where its results are all that a call gives."""
    program = _compiled(module, "inference", _weights_of_module(), expected=True)
    metadata = _metadata()
    if isinstance(program, WeightedProgram) and program.gives_values and _has_plain_results(metadata):
        program.plain_arguments = sum(node.op == "placeholder" for node in module.graph.nodes)
        program.dynamic = [(i, o.dynamic_dims) for i, o in enumerate(metadata.output_info) if o.dynamic_dims]
        programs.append(program)
    return make_boxed_func(program)


def _metadata():
    """What AOTAutograd knows of the graph that it compiles now."""
    return getattr(torch._guards.TracingContext.try_get(), "fw_metadata", None)


def _weights_of_module() -> set[int]:
    """Which arguments of that graph are parameters and buffers."""
    return set(getattr(_metadata(), "static_input_indices", None) or ())


def _has_plain_results(metadata) -> bool:
    """Whether calls give new tensors, of no class of their own, and write to nothing: no wrapper has to see to it."""
    try:
        results = metadata.output_info
        tensors = (*metadata.subclass_inp_meta, *metadata.subclass_fw_graph_out_meta)
        return (
            all(result.output_type.name == "non_alias" and not result.requires_grad for result in results)
            and (_mark_dynamic is not None or not any(result.dynamic_dims for result in results))
            and metadata.num_mutated_inp_runtime_indices == 0
            and not any(argument.mutates_data or argument.mutates_metadata for argument in metadata.input_info)
            and metadata.num_intermediate_bases == 0
            and metadata.grad_enabled_mutation is None
            and not metadata.tokens
            and not metadata.num_graphsafe_rng_states
            and all(type(tensor).__name__ == "PlainTensorMeta" for tensor in tensors)
        )
    except AttributeError:  # another version of PyTorch
        return False


def _compiled(module: GraphModule, kind: str, weights: set[int], expected: bool):
    """A function of the arguments of a graph of ATen operators, which gives its results as a list."""
    name = f"compiled {torch._guards.CompileContext.current_compile_id() or ''} {kind}".replace("  ", " ")
    lowered = lower(module)
    if not lowered.failures:
        return WeightedProgram(lowered, name, module, weights, expected)
    for failure in lowered.failures:
        record_fallback("compile", failure.operator, failure.reason)
    return _in_parts(module, lowered.failures, name, weights, expected)


class _Support(OperatorSupportBase):
    """All operators but those that failed."""

    def __init__(self, failures: list[Failure]):
        self.failed = {failure.node for failure in failures}

    def is_node_supported(self, submodules, node: Node) -> bool:
        if node.op != "call_function" or node in self.failed:
            return False
        return not (isinstance(node.target, torch._ops.OpOverload) and node.target._schema.is_mutable)


def _in_parts(module: GraphModule, failures: list[Failure], name: str, weights: set[int], expected: bool):
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
            setattr(whole, node.target, _Part(getattr(whole, node.target), name, taken, expected))
    return whole


def _operators(partition) -> int:
    return sum(isinstance(node.target, torch._ops.OpOverload) for node in partition.nodes)


class _Part(torch.nn.Module):
    """A part of a graph that is a Tenon program."""

    def __init__(self, part: GraphModule, name: str, weights: set[int], expected: bool):
        super().__init__()
        lowered = lower(part)
        for failure in lowered.failures:
            record_fallback("compile", failure.operator, failure.reason)
        leaves = next(n for n in part.graph.nodes if n.op == "output").args[0]
        self._single = not isinstance(leaves, (list, tuple))
        listed = (lambda *arguments: [part(*arguments)]) if self._single else part
        self._run = listed if lowered.failures else WeightedProgram(lowered, name, listed, weights, expected)

    def forward(self, *arguments):
        results = self._run(*arguments)
        return results[0] if self._single else results
