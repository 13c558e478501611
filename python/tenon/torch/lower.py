"""An FX graph of ATen operators as a `tenon.Graph`.

Every node is tried, also behind one that has no row, so that one error lists all that is missing, with counts.
"""

from __future__ import annotations

import collections
import operator
from dataclasses import dataclass, field
from typing import Any

import tenon
import torch
from tenon import ops
from torch.fx import GraphModule, Node
from torch.utils._python_dispatch import _disable_current_modes

from .dtypes import Unsupported, Weak, is_supported, is_value, tenon_dtype, torch_dtype
from .origins import place_of
from .symbols import SYMBOLIC, Symbols
from .table import call_row, find_functional, random_by

# Checks of what PyTorch knew when it traced; they compute nothing.
_CHECKS = {
    "aten._assert_scalar.default", "aten._assert_async.default", "aten._assert_async.msg",
    "aten._assert_tensor_metadata.default", "aten.sym_constrain_range.default",
    "aten.sym_constrain_range_for_size.default", "aten._functional_assert_async.msg",
    "aten._functional_assert_scalar.default",
}  # fmt: skip


@dataclass(frozen=True)
class Failure:
    """An operator that could not be built."""

    node: Node
    operator: str
    reason: str


class MissingOperators(tenon.Error):
    """Operators of a program that cannot be built, all of them."""

    def __init__(self, failures: list[Failure]):
        self.failures = failures
        counts = collections.Counter((f.operator, f.reason) for f in failures)
        lines = [f"  {name} x {n}: {reason}" for (name, reason), n in sorted(counts.items())]
        super().__init__("operators that Tenon cannot build:\n" + "\n".join(lines))


@dataclass(frozen=True)
class Missing:
    """Stands for a result that no Tenon value can be."""

    reason: str


@dataclass
class Lowered:
    """A graph, and how a run of it is fed and what it gives."""

    graph: Any = None
    arguments: list[int] = field(default_factory=list)  # of the FX graph, in the order of the graph's inputs
    sizes: list[tuple] = field(default_factory=list)  # where sizes are found that no argument has: inputs without elements
    random: bool = False  # the last input is a fresh key
    outputs: list[tuple[str, Any]] = field(default_factory=list)
    mutations: list[tuple[int, int]] = field(default_factory=list)  # argument, result that is written to it
    constants: list[torch.Tensor] = field(default_factory=list)  # tensors whose memory is part of the graph
    failures: list[Failure] = field(default_factory=list)


def lower(module: GraphModule, *, constants=None, names=None, relations=(), name="main") -> Lowered:
    """The graph of `module`. `constants` maps placeholders to tensors that become part of it; `names` maps symbols to
    extents. With failures there is no graph."""
    return _Lowering(module, constants or {}, names).run(name, list(relations))


class _Lowering:
    def __init__(self, module: GraphModule, constants: dict[str, torch.Tensor], names):
        self.module = module
        self.constants = constants
        self.symbols = Symbols(names)
        self.has_users_names = names is not None
        self.env: dict[Node, Any] = {}
        self.result = Lowered()
        self.inputs: list = []
        self.placeholders: dict[Node, int] = {}
        self.key = None
        self.draws = 0
        self.written: list[tuple[int, Any]] = []

    def run(self, name: str, relations: list[str]) -> Lowered:
        nodes = list(self.module.graph.nodes)
        self._declare([n for n in nodes if n.op == "placeholder"])
        self.symbols.settle()
        # PyTorch does not always see that two of its symbols are one size: those of two caches that grow alike.
        with tenon.building_graph(unify_names=not self.has_users_names), random_by(self._draw):
            for node in nodes:
                if node.op == "output":
                    self._outputs(node)
                else:
                    with tenon.place(place_of(node)):
                        self.env[node] = self._node(node)
        if not self.result.failures:
            self._finish(name, relations)
        return self.result

    # --- Inputs

    def _declare(self, placeholders: list[Node]) -> None:
        for index, node in enumerate(placeholders):
            self.placeholders[node] = index
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor) and node.name not in self.constants:
                for axis, size in enumerate(value.shape):
                    self.symbols.declare(size, index, axis)
            elif isinstance(value, torch.SymInt):
                self.symbols.declare(value, index, None)

    def _placeholder(self, node: Node):
        value = node.meta.get("val")
        if node.name in self.constants:
            return self._constant(self.constants[node.name])
        if isinstance(value, torch.Tensor):
            made = self._stand_in(node.name, value)
            if not isinstance(made, Missing):
                self.inputs.append(made)
                self.result.arguments.append(self.placeholders[node])
            return made
        if isinstance(value, SYMBOLIC):
            return self._symbol(node, value)
        return value

    def _constant(self, tensor: torch.Tensor):
        if not is_supported(tensor.dtype) or tensor.layout != torch.strided:
            return Missing(f"a constant of {tensor.dtype}")
        with _disable_current_modes():  # which, while torch.compile traces, take no tensor that has elements
            shared = tensor.detach().contiguous()
            self.result.constants.append(shared)
            return tenon.constant(shared)

    def _stand_in(self, name: str, value):
        """An input of the sizes of `value`."""
        if not isinstance(value, torch.Tensor) or value.layout != torch.strided:
            return Missing("what is no dense tensor")
        try:
            return tenon.input(name, tenon.Shape(tenon_dtype(value.dtype), self.symbols.sizes(value.shape)))
        except Unsupported as reason:
            return Missing(str(reason))

    def _draw(self) -> tuple:
        if self.key is None:
            self.key = tenon.input("random_key", tenon.Shape(tenon.u64, []))
        self.draws += 1
        return self.key, ops.scalar(tenon.u64, float(self.draws))

    # --- Nodes

    def _node(self, node: Node):
        if node.op == "placeholder":
            return self._placeholder(node)
        if node.op == "get_attr":
            value = _attribute(self.module, node.target)
            return self._constant(value) if isinstance(value, torch.Tensor) else Missing(f"a {type(value).__name__}")
        if node.op != "call_function":
            return self._failed(node, f"{node.op} of {node.target}")
        if node.target is operator.getitem:
            base = self.env[node.args[0]]
            return base if isinstance(base, Missing) else base[node.args[1]]
        value = node.meta.get("val")
        if isinstance(value, SYMBOLIC):
            return self._symbol(node, value)
        if str(node.target) in _CHECKS:
            return None
        try:
            return self._call(node)
        except Unsupported as error:  # any other error is one of the call's, or of ours
            return self._failed(node, str(error))

    def _symbol(self, node: Node, value):
        try:
            if isinstance(value, torch.SymInt):
                return self.symbols.extent(value)
            if isinstance(value, torch.SymFloat):
                return Weak(self.symbols.number(value), float)
            return Missing("a symbolic bool")
        except Unsupported as error:
            return Missing(str(error))

    def _call(self, node: Node):
        if not isinstance(node.target, torch._ops.OpOverload):
            raise Unsupported("no ATen operator")
        args = torch.fx.map_arg(node.args, self.env.__getitem__)
        kwargs = torch.fx.map_arg(node.kwargs, self.env.__getitem__)
        if str(node.target) == "aten.copy_.default" and node.args[0] in self.placeholders:
            return self._epilogue(node, args)
        found = find_functional(node.target)
        if found is None:
            raise Unsupported("there is no row for it")
        if found.writes:
            raise Unsupported("it writes to its arguments")
        _refuse_missing(args, kwargs)
        return _as_expected(call_row(found.row, args, kwargs), node.meta.get("val"))

    def _epilogue(self, node: Node, args):
        """`copy_` to an argument at the end of a graph that AOTAutograd made."""
        _refuse_missing(args, {})
        target, source = args[0], args[1]
        value = ops.cast(source, target.dtype)
        if value.sizes != target.sizes:
            value = ops.broadcast_to(value, list(target.sizes))
        self.written.append((self.placeholders[node.args[0]], value))
        return value

    def _failed(self, node: Node, reason: str):
        self.result.failures.append(Failure(node, str(node.target).removesuffix(".default"), reason))
        value = node.meta.get("val")
        if isinstance(value, (list, tuple)):
            return [self._stand_in(f"{node.name}_{i}", v) for i, v in enumerate(value)]
        return self._stand_in(node.name, value)

    # --- Outputs

    def _outputs(self, node: Node) -> None:
        leaves = node.args[0] if isinstance(node.args[0], (list, tuple)) else [node.args[0]]
        self.leaves = []
        for leaf in leaves:
            if not isinstance(leaf, Node):
                self.leaves.append(("number", leaf))
            elif leaf in self.placeholders and leaf.name not in self.constants:
                self.leaves.append(("argument", self.placeholders[leaf]))
            elif isinstance(leaf.meta.get("val"), SYMBOLIC):
                self._size(leaf)
            elif self.env[leaf] is None:
                self.leaves.append(("number", None))
            else:
                self.leaves.append(("value", self.env[leaf]))

    def _size(self, leaf: Node) -> None:
        try:
            self.leaves.append(("size", self.symbols.reader(leaf.meta["val"])))
        except Unsupported as error:
            self.result.failures.append(Failure(leaf, "output", str(error)))

    def _finish(self, name: str, relations: list[str]) -> None:
        r = self.result
        outputs: list = []
        for kind, content in self.leaves:
            if kind == "value":
                r.outputs.append((kind, len(outputs)))
                outputs.append((f"out_{len(outputs)}", content))
            else:
                r.outputs.append((kind, content))
        for argument, value in self.written:
            r.mutations.append((argument, len(outputs)))
            outputs.append((f"out_{len(outputs)}", value))
        for symbol in self.symbols.unbound():
            size = self.symbols.name(symbol)
            self.inputs.append(tenon.input(f"size_{size}", tenon.Shape(tenon.u8, [size, 0])))
            r.sizes.append(self.symbols.places[symbol])
        if self.key is not None:
            self.inputs.append(self.key)
            r.random = True
        r.graph = tenon.Graph(name, self.inputs, outputs, relations) if outputs else None


def _attribute(module, target: str):
    for part in target.split("."):
        module = getattr(module, part)
    return module


def _refuse_missing(args, kwargs) -> None:
    def refuse(x):
        if isinstance(x, Missing):
            raise Unsupported(f"an operand is {x.reason}")
        if isinstance(x, (list, tuple)):
            for item in x:
                refuse(item)

    refuse(args)
    refuse(list(kwargs.values()))


def _as_expected(result, expected):
    """What a row gave, held against what PyTorch says it gives. Of floats the precision may differ: it is changed."""
    if isinstance(expected, (list, tuple)):
        return [_as_expected(made, wanted) for made, wanted in zip(result, expected)]
    if not isinstance(expected, torch.Tensor) or not is_value(result):
        return result
    dtype = torch_dtype(result.dtype)
    if dtype != expected.dtype and dtype.is_floating_point and expected.dtype.is_floating_point:
        return ops.cast(result, tenon_dtype(expected.dtype))
    if dtype != expected.dtype or result.ndim != expected.ndim:
        raise Unsupported(
            f"its row gives {result.dtype} of rank {result.ndim}, PyTorch {expected.dtype} of rank {expected.ndim}"
        )
    return result


__all__ = ["Failure", "Lowered", "MissingOperators", "lower"]
