"""Door 1: a `torch.export` program as a graph with named axes."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import sympy
import tenon
import torch
from torch.export.graph_signature import InputKind, OutputKind
from torch.utils import _pytree as pytree

from .decompositions import decompositions
from .lower import MissingOperators, lower
from .program import Program
from .recurrent import whole_recurrent_layers
from .report import record_compile
from .symbols import expression

_WEIGHTS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
_LARGEST = 2**31


class ExportedModel:
    """A compiled module. Called with torch tensors or NumPy arrays it gives the same kind.

    Weights are shared with the module that was exported, not copied. Buffers that the module changes are changed in
    its place.
    """

    def __init__(self, program: torch.export.ExportedProgram, lowered, weights: dict[str, torch.Tensor]):
        self.program = program
        self._compiled = Program(lowered)
        signature = program.graph_signature
        self._slots: list[torch.Tensor | None] = []
        for spec in signature.input_specs:
            self._slots.append(None if spec.kind == InputKind.USER_INPUT else weights[spec.target])
        self._writes = []
        for i, spec in enumerate(signature.output_specs):
            if spec.kind == OutputKind.BUFFER_MUTATION:
                self._writes.append((i, weights[spec.target], None))
            elif spec.kind == OutputKind.USER_INPUT_MUTATION:
                self._writes.append((i, None, self._argument(spec.target)))
        kinds = [spec.kind for spec in signature.output_specs]
        self._results = [i for i, kind in enumerate(kinds) if kind == OutputKind.USER_OUTPUT]
        self._takes, self._gives = program.call_spec.in_spec, program.call_spec.out_spec  # made anew when asked for
        self._weights = _before_arguments(self._slots)
        positional = self._takes.children()[0]
        keywords = self._takes.children()[1].num_leaves
        is_flat = not keywords and all(child.is_leaf() for child in positional.children())
        self._plain_count = positional.num_children if is_flat and self._weights is not None else None
        self._gives_one = self._gives.is_leaf() and self._results == [0] and kinds == [OutputKind.USER_OUTPUT]

    def _argument(self, name: str) -> int:
        return [spec.arg.name for spec in self.program.graph_signature.input_specs].index(name)

    @property
    def graph(self) -> tenon.Graph:
        return self._compiled.lowered.graph

    @property
    def executable(self) -> tenon.Executable:
        return self._compiled.executable

    def save(self, path, **options) -> None:
        """Build the program into a file, which `tenon.load` runs without PyTorch or a compiler; options as `tenon.save`.

        Weights are in it as they are now. It takes and gives what the module does, flat and in order. An error for a
        module that changes its arguments or buffers, or hands arguments or numbers through.
        """
        lowered = self._compiled.lowered
        if self._writes or not self._compiled.gives_values or lowered.sizes or lowered.random:
            raise tenon.Unsupported(
                "a program in a file takes arrays and gives arrays: a module that changes its arguments or buffers, draws "
                "random numbers, or takes or gives numbers cannot be saved (one that was trained: export it in eval())"
            )
        tenon.save(self.graph, path, **options)

    def explain(self, *args) -> tenon.RunExplanation:
        """The steps of the program, under the modules and lines that they came from: text, and a page by `.save(path)`.
        With tensors as for a call, it is run, and the page has times."""
        inputs = []
        if args:
            slots = iter(args)
            arguments = [next(slots) if slot is None else slot for slot in self._slots]
            inputs = [arguments[i].detach().contiguous() for i in self._compiled.lowered.arguments]
        empty = tenon.explain_realizations(0)
        return empty.with_graph(self.graph, "exported program", self.graph.name, inputs)

    def __call__(self, *args, **kwargs):
        if len(args) == self._plain_count and not kwargs and all(type(a) is torch.Tensor for a in args):
            results = self._run(self._weights + args)
            return results[0] if self._gives_one else self._structured([results[i] for i in self._results])
        flat, spec = pytree.tree_flatten((args, kwargs))
        if spec != self._takes:
            raise tenon.Error(f"arguments are {spec}, the exported program takes {self._takes}")
        numpy = any(isinstance(a, np.ndarray) for a in flat) and not any(isinstance(a, torch.Tensor) for a in flat)
        given = iter(torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in flat)
        arguments = [next(given) if slot is None else slot for slot in self._slots]
        results = self._run(arguments)
        outputs = [results[i] for i in self._results]
        if numpy:
            outputs = [o.numpy() if isinstance(o, torch.Tensor) else o for o in outputs]
        return self._structured(outputs)

    def _run(self, arguments) -> list:
        """Of all arguments, weights that change among them, the results of the program, after its writes."""
        results = self._compiled(*arguments)
        if self._writes:
            with torch.no_grad():
                for i, buffer, argument in self._writes:
                    (arguments[argument] if buffer is None else buffer).copy_(results[i])
        return results

    def _structured(self, outputs: list):
        return pytree.tree_unflatten(outputs, self._gives)

    def __repr__(self) -> str:
        return str(self.graph)


def _before_arguments(slots: list) -> tuple | None:
    """The weights, where all come before the arguments of a call."""
    count = sum(slot is not None for slot in slots)
    return tuple(slots[:count]) if None not in slots[:count] else None


def export(
    module: torch.nn.Module, example, dynamic_shapes=None, kwargs: dict[str, Any] | None = None
) -> ExportedModel:
    """Compile a module for all sizes of its dynamic axes.

    `example` is a tuple of arguments (or one tensor), `dynamic_shapes` as `torch.export.export` takes it; the names of
    its `torch.export.Dim` become axes, their ranges relations. `tenon.Error` lists every operator that is missing.
    """
    example = (example,) if isinstance(example, torch.Tensor) else tuple(example)
    with whole_recurrent_layers():
        program = torch.export.export(module, example, kwargs, dynamic_shapes=dynamic_shapes)
    program = program.run_decompositions(dict(decompositions()))
    weights = _weights(program)
    signature = program.graph_signature
    changed = {s.target for s in signature.output_specs if s.kind == OutputKind.BUFFER_MUTATION}
    constants = {
        spec.arg.name: weights[spec.target]
        for spec in signature.input_specs
        if spec.kind in _WEIGHTS and spec.target not in changed
    }
    names = _names(program, example, kwargs or {}, dynamic_shapes, inspect.signature(module.forward))
    lowered = lower(
        program.graph_module,
        constants=constants,
        names={symbol: tenon.Extent(name) for symbol, name in names.items()},
        relations=_relations(program, names),
        name=type(module).__name__,
    )
    if lowered.failures:
        raise MissingOperators(lowered.failures)
    model = ExportedModel(program, lowered, weights)
    record_compile("export", model._compiled, type(module).__name__)
    return model


def _weights(program) -> dict[str, torch.Tensor]:
    weights = dict(program.state_dict)
    weights.update(program.constants)
    weights.update(dict(program.named_buffers()))
    return weights


def _names(program, example, kwargs, dynamic_shapes, signature) -> dict[sympy.Symbol, str]:
    """The user's names of symbols, where a `Dim` gave one; else the argument's name and the axis."""
    names: dict[sympy.Symbol, str] = {}
    values = _user_values(program)
    for value, dims in zip(values, _dims_of_leaves(example, kwargs, dynamic_shapes, signature)):
        for axis, dim in (dims or {}).items():
            expr = expression(value.shape[axis])
            name = getattr(getattr(dim, "root", dim), "__name__", None)  # `half` of 2 * half
            if len(expr.free_symbols) == 1 and isinstance(name, str) and name.isidentifier():
                names.setdefault(next(iter(expr.free_symbols)), name)
    taken = set(names.values())
    for node in program.graph_module.graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder" and isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                expr = expression(size)
                if isinstance(expr, sympy.Symbol) and expr not in names and f"{node.name}_{axis}" not in taken:
                    names[expr] = f"{node.name}_{axis}"
                    taken.add(names[expr])
    return names


def _user_values(program) -> list:
    kinds = {spec.arg.name: spec.kind for spec in program.graph_signature.input_specs if hasattr(spec.arg, "name")}
    nodes = [n for n in program.graph_module.graph.nodes if n.op == "placeholder"]
    return [n.meta.get("val") for n in nodes if kinds.get(n.name) == InputKind.USER_INPUT]


def _dims_of_leaves(example, kwargs, dynamic_shapes, signature) -> list:
    """For each leaf of the arguments the mapping from axes to Dims."""
    leaves = pytree.tree_leaves((example, kwargs))
    if not dynamic_shapes:
        return [None] * len(leaves)
    try:
        by_name = dict(signature.bind_partial(*example).arguments) | kwargs  # *arguments are one, a tuple
    except TypeError:
        by_name = dict(enumerate(example)) | kwargs
    arguments = list(by_name.values())
    is_named = isinstance(dynamic_shapes, dict)
    specs = [dynamic_shapes.get(name) for name in by_name] if is_named else list(dynamic_shapes)
    found: list = []
    for spec, argument in zip(specs, arguments):
        found += _spread(spec, argument)
    return found + [None] * (len(leaves) - len(found))


def _spread(spec, argument) -> list:
    if spec is None or isinstance(argument, (torch.Tensor, int, float, bool)) or argument is None:
        count = len(pytree.tree_leaves(argument))
        if spec is None:
            return [None] * count
        dims = spec if isinstance(spec, dict) else dict(enumerate(spec)) if isinstance(spec, (list, tuple)) else {}
        return [{axis: dim for axis, dim in dims.items() if dim is not None}] * count
    if isinstance(argument, dict):
        return [leaf for name, item in argument.items() for leaf in _spread(spec.get(name), item)]
    return [leaf for item, part in zip(argument, spec) for leaf in _spread(part, item)]


def _relations(program, names: dict[sympy.Symbol, str]) -> list[str]:
    """Ranges of the symbols that say more than that they are sizes."""
    relations = []
    for symbol, limits in program.range_constraints.items():
        name = names.get(symbol)
        if name is None:
            continue
        if limits.lower.is_Integer and limits.lower > 2:
            relations.append(f"{name} >= {limits.lower}")
        if limits.upper.is_Integer and limits.upper < _LARGEST:
            relations.append(f"{name} <= {limits.upper}")
    return relations
