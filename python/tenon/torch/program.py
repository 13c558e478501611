"""Programs that run on torch tensors: what was lowered, compiled."""

from __future__ import annotations

import bisect
import weakref
from collections.abc import Callable, Collection
from typing import Any

import numpy as np
import tenon
import torch

from .lower import Lowered
from .profile import is_profiling, span
from .report import record_compile, record_fallback
from .symbols import look

_exchange = tenon._tenon.TensorExchange(torch.Tensor, torch.nn.Parameter)


class Program:
    """A compiled `Lowered`: called with the arguments of the FX graph, gives its results as a list.

    Tensors go in without copies where they are contiguous, and come out sharing the memory of Tenon's arrays.
    """

    def __init__(self, lowered: Lowered, name: str = "exported"):
        self._prepare(lowered, name)
        self._executable = tenon.compile(lowered.graph) if lowered.graph is not None else None
        if self._executable is not None:
            self._call = tenon._tenon.TensorCall(self._executable, _exchange, lowered.arguments, lowered.sizes)

    def _prepare(self, lowered: Lowered, name: str) -> None:
        self.lowered, self.name = lowered, name
        self._weights = sorted(_range(t) for t in lowered.constants)
        self._call: Any = None
        values = [("value", i) for i in range(len(lowered.outputs))]
        self.gives_values = lowered.outputs == values and not lowered.mutations

    @property
    def executable(self) -> tenon.Executable | None:
        return self._executable

    @property
    def kernel_count(self) -> int:
        return self.executable.kernel_count if self.executable is not None else 0

    def __call__(self, *arguments) -> list:
        if is_profiling():
            with span(self._title()):
                return self._called(arguments)
        return self._called(arguments)

    def _called(self, arguments) -> list:
        results = self._run(arguments) if self._call is not None else []
        return results if self.gives_values else self._outputs(arguments, results)

    def _title(self) -> str:
        """Its name in profiles."""
        name = self.name if self.lowered.graph is None else f"{self.name} {self.lowered.graph.name}"
        return f"tenon: {name}, {self.kernel_count} kernels"

    def _outputs(self, arguments, results: list) -> list:
        """What the FX graph gives, after its writes to arguments."""
        low = self.lowered
        outputs = []
        for kind, content in low.outputs:
            if kind == "value":
                outputs.append(results[content])
            elif kind == "argument":
                outputs.append(arguments[content])
            else:
                outputs.append(content(arguments) if kind == "size" else content)
        for argument, result in low.mutations:
            arguments[argument].copy_(results[result])
        return outputs

    def _run(self, arguments) -> list:
        key = _random_key() if self.lowered.random else None
        threads = torch.get_num_threads()
        results = self._call(arguments, threads, key)
        return self._run_arrays(arguments, threads, key) if results is None else results

    def _run_arrays(self, arguments, threads: int, key: int | None) -> list:
        """The same for arguments that are not read in place: arrays, subclasses of tensors, all that DLPack refuses."""
        low = self.lowered
        feed = [_plain(arguments[i]) for i in low.arguments]
        feed += [np.empty((look(arguments, place), 0), np.uint8) for place in low.sizes]
        if key is not None:
            feed.append(np.array(key, np.uint64))
        results = self.executable.run(feed, threads=threads)
        return self._own([torch.from_dlpack(a) for a in results], feed)

    def _own(self, results: list, feed: list) -> list:
        """Results in memory of their own: Tenon gives a view of an input as just that, and equal results as one."""
        lent = sorted(_range(t) for t in feed if isinstance(t, torch.Tensor))
        taken = set()
        for i, result in enumerate(results):
            start = result.data_ptr()
            if start and (start in taken or _is_inside(start, lent) or _is_inside(start, self._weights)):
                results[i] = result.clone()
            else:
                taken.add(start)
        return results


class WeightedProgram(Program):
    """A graph that PyTorch calls with its weights. It is compiled when it is called. Parameters, and `buffers` among the
    arguments, become constants of a version of it as long as nobody writes to them: after some calls in which they
    stayed the same or, where they are `expected` to stay, at once.

    A graph that Tenon refuses to compile runs as `module`, which gives a list, and is reported.
    """

    def __init__(
        self, lowered: Lowered, name: str, module: Callable[..., list], buffers: Collection[int], expected: bool
    ):
        self._prepare(lowered, name)
        self._module = module
        self._is_refused = False
        self.plain_arguments = -1  # how many arguments direct() takes; -1: it is not to be called
        self.dynamic: list[tuple[int, set[int]]] = []  # results with dynamic axes, which are these
        self._kernels = self._compiles = 0
        if lowered.graph is not None:
            written = {argument for argument, _ in lowered.mutations}
            still = [i for i, argument in enumerate(lowered.arguments) if argument in buffers and argument not in written]
            self._call = tenon._tenon.WeightedCall(
                lowered.graph, _exchange, lowered.arguments, lowered.sizes, still, still if expected else [],
                torch.nn.Parameter, _without_keeping(self._compiled),
            )  # fmt: skip

    @property
    def executable(self) -> tenon.Executable | None:
        """The one for any weights."""
        return self._call.general() if self._call is not None else None

    @property
    def kernel_count(self) -> int:
        """Of what was compiled last."""
        return self._kernels

    def _compiled(self, executable: tenon.Executable, weights: int) -> None:
        self._kernels = executable.kernel_count
        self._compiles += 1
        record_compile("compile", self, "graph", again=self._compiles > 1, laid_out=weights > 0 and self._compiles > 1)

    def _title(self) -> str:
        return f"tenon: {self.name}, {self.kernel_count} kernels"

    def _called(self, arguments) -> list:
        if self._is_refused:
            return self._module(*arguments)
        try:
            return super()._called(arguments)
        except _Refused as reason:
            record_fallback("compile", "(graph)", str(reason))
            self._is_refused = True
            return self._module(*arguments)

    def direct(self, mark_dynamic) -> Callable[..., list]:
        """The same as a call, in as few steps as there may be; of programs that give new values alone."""
        call, get_threads, dynamic = self._call, torch.get_num_threads, self.dynamic
        if call is None or self.lowered.random:
            return self

        def run(*arguments):
            results = None if is_profiling() else call(arguments, get_threads())
            if type(results) is not list:
                results = self(*arguments)
            for result, axes in dynamic:
                mark_dynamic(results[result], axes)
            return results

        return run

    def _run(self, arguments) -> list:
        key = _random_key() if self.lowered.random else None
        threads = torch.get_num_threads()
        results = self._call(arguments, threads, key)
        if results is None:
            return self._run_arrays(arguments, threads, key)
        if type(results) is str:
            raise _Refused(results)
        return results


def _without_keeping(method: Callable) -> Callable:
    """The method of an object that lives when it is called, for those who the object holds itself."""
    weak = weakref.WeakMethod(method)
    return lambda *arguments: weak()(*arguments)


class _Refused(Exception):
    """A graph that cannot be compiled, before anything ran."""


def _random_key() -> int:
    """From PyTorch's generator, so that torch.manual_seed decides these numbers too."""
    return int(torch.randint(2**62, ()))


_FAR = 1 << 64


def _range(tensor: torch.Tensor) -> tuple[int, int]:
    """Where its memory begins and ends."""
    start = tensor.data_ptr()
    return start, start + tensor.numel() * tensor.element_size()


def _is_inside(place: int, ranges: list[tuple[int, int]]) -> bool:
    at = bisect.bisect_right(ranges, (place, _FAR)) - 1
    return at >= 0 and place < ranges[at][1]


def _plain(tensor):
    return tensor.detach() if isinstance(tensor, torch.Tensor) and tensor.requires_grad else tensor
