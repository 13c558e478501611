"""What ran on the device, and what the other doors compiled, as a page: `tenon.torch.explain("page.html")`."""

from __future__ import annotations

import weakref

import tenon
import torch
from tenon import _tenon
from torch.nn.modules import module as hooks

from .report import programs


class explaining:
    """While it lasts, programs of the device keep what a page shows: the module and the line that recorded each operation,
    and how long each step took. Recording and running take longer meanwhile, and programs are compiled anew.

        with tenon.torch.explaining():
            loss = model(x).sum()
            loss.backward()
            optimizer.step()
            loss.item()
        tenon.torch.explain("step.html")
    """

    def __enter__(self):
        self._keeps = _tenon.Explaining()
        self._keeps.__enter__()
        self._stack: list[str] = []
        self._names: weakref.WeakKeyDictionary = weakref.WeakKeyDictionary()
        self._hooks = [
            hooks.register_module_forward_pre_hook(self._enter_module),
            hooks.register_module_forward_hook(self._leave_module, always_call=True),
        ]
        return self

    def __exit__(self, *_):
        for hook in self._hooks:
            hook.remove()
        _tenon.set_module_path("")
        self._keeps.__exit__()

    def _enter_module(self, module: torch.nn.Module, _):
        if not self._stack:  # what the user calls: paths are below it
            for name, inside in module.named_modules():
                self._names[inside] = name
        self._stack.append(self._names.get(module, self._stack[-1] if self._stack else ""))
        _tenon.set_module_path(self._stack[-1])

    def _leave_module(self, *_):
        if self._stack:
            self._stack.pop()
        _tenon.set_module_path(self._stack[-1] if self._stack else "")


def explain(path=None, most: int = 64) -> tenon.RunExplanation:
    """The last `most` programs that ran on the device, why each was compiled, and the exported and compiled programs that
    are in use. With `path`, also written there as a page. Lines, modules and times are there of what ran inside of
    `tenon.torch.explaining()`.
    """
    found = _tenon.explain_realizations(most)
    for door, name, program in programs():
        if program.lowered.graph is not None:
            found = found.with_graph(program.lowered.graph, f"{door} program", name)
    if path is not None:
        found.save(path)
    return found
