"""Where the user's program asked for something: modules by their paths, and lines of source."""

from __future__ import annotations

import os
import re

import torch

_FRAME = re.compile(r'File "([^"]+)", line (\d+)')
_LIBRARIES = (os.path.dirname(torch.__file__) + os.sep, os.path.dirname(os.path.dirname(__file__)) + os.sep, "<")


def place_of(node: torch.fx.Node) -> str:
    """What an operation of an FX graph is called: "layer4.1.conv2 (convolution) at model.py:12"; "" where nothing is
    known. Of a backward graph it is the module whose gradient it is."""
    if node.op != "call_function":
        return ""
    forward = _module(node.meta.get("nn_module_stack"))
    path = forward or _module(node.meta.get("fwd_nn_module_stack"))
    is_backward = not forward and bool(path)
    operator = _operator(node)
    called = f"{path} ({'backward, ' if is_backward else ''}{operator})" if path else operator
    line = line_of_stack(node.meta.get("stack_trace") or "")
    return f"{called} at {line}" if line else called if path else ""


def _operator(node: torch.fx.Node) -> str:
    target = node.target
    name = target.overloadpacket.__name__ if isinstance(target, torch._ops.OpOverload) else getattr(target, "__name__", "")
    return name.strip("_")


def _module(stack) -> str:
    """The path of the innermost module of a stack that torch.export or Dynamo recorded."""
    if not stack:
        return ""
    path = list(stack.values())[-1]
    return plain_path(str(path[0] if isinstance(path, (tuple, list)) else path))


def plain_path(path: str) -> str:
    """`L['self'].layers[0]._modules['up']` as `layers.0.up`."""
    path = re.sub(r"^L\['\w+'\]", "", path)
    path = path.replace("._modules", "")
    path = re.sub(r"\[(?:'([^']*)'|\"([^\"]*)\"|(\d+))\]", lambda m: "." + next(g for g in m.groups() if g), path)
    return re.sub(r"@\d+$", "", path).strip(".")


def line_of_stack(text: str) -> str:
    """The innermost line of a stack in Python's form that is neither PyTorch's nor ours: "model.py:12"."""
    for file, line in reversed(_FRAME.findall(text)):
        if not file.startswith(_LIBRARIES):
            return f"{os.path.basename(file)}:{line}"
    return ""
