"""What the doors to PyTorch did: compiles, kernels, and what ran in PyTorch instead, with reasons."""

from __future__ import annotations

import collections
import threading
import weakref
from dataclasses import dataclass, field

import tenon

from . import dispatch


_MOST_REASONS = 20


@dataclass
class Door:
    """One way from PyTorch to Tenon."""

    compiles: int = 0
    kernels: int = 0
    laid_out: int = 0  # programs compiled anew with weights that stayed as constants; not part of compiles
    fallbacks: collections.Counter = field(default_factory=collections.Counter)  # (operator, reason)


class Report:
    """A snapshot; prints as a table."""

    def __init__(self, doors: dict[str, Door], realizations: list, text: str, slow: str | None = None):
        self.doors = doors
        self.why_by_python = slow  # why PyTorch calls all kernels of the device by way of Python; None where it does not
        self.realizations = realizations
        self._text = text

    def __str__(self) -> str:
        lines = [f"{'door':<10}{'compiles':>10}{'kernels':>10}{'fallbacks':>11}"]
        for name, door in self.doors.items():
            lines.append(f"{name:<10}{door.compiles:>10}{door.kernels:>10}{sum(door.fallbacks.values()):>11}")
        for name, door in self.doors.items():
            if door.fallbacks:
                lines += ["", f"{name}: ran in PyTorch"]
                width = max(len(operator) for operator, _ in door.fallbacks)
                for (operator, reason), count in door.fallbacks.most_common():
                    lines.append(f"  {count:>5}  {operator:<{width}}  {reason}")
        if self.why_by_python:
            lines += ["", f"device: every call is recorded by way of Python, which takes longer: {self.why_by_python}"]
        again = [r for r in self.realizations if r.why]
        if again:
            lines += ["", f"device: {len(again)} programs compiled again, and what differed"]
            lines += [f"  {r.place}  {r.why}" for r in again[-_MOST_REASONS:]]
        if self.realizations:
            lines += ["", "device: programs that ran", self._text.rstrip("\n")]
        return "\n".join(lines)

    __repr__ = __str__


_lock = threading.Lock()
_doors: dict[str, Door] = {name: Door() for name in ("export", "compile", "device")}


_MOST_PROGRAMS = 64
_programs: collections.deque = collections.deque(maxlen=_MOST_PROGRAMS)  # (door, name, weak reference)


def record_compile(door: str, program, name: str, *, again: bool = False, laid_out: bool = False) -> None:
    """`program` is a program.Program, which is not kept alive by this. `again`: it has been recorded before; `laid_out`:
    because weights have become constants."""
    with _lock:
        _doors[door].laid_out += laid_out
        if not laid_out:
            _doors[door].compiles += 1
            _doors[door].kernels += program.kernel_count
        if not again:
            _programs.append((door, name, weakref.ref(program)))


def programs() -> list:
    """(door, name, Program) of those that were compiled last and are in use."""
    with _lock:
        return [(door, name, reference()) for door, name, reference in _programs if reference() is not None]


def record_fallback(door: str, operator: str, reason: str) -> None:
    with _lock:
        _doors[door].fallbacks[operator, reason] += 1


def report() -> Report:
    """All since the start, or since `reset_report()`. The device's programs are those of all lazy tensors."""
    with _lock:
        copies = {name: Door(d.compiles, d.kernels, d.laid_out, collections.Counter(d.fallbacks)) for name, d in _doors.items()}
    counts = tenon.realization_counts()
    device = copies["device"]
    device.compiles, device.kernels, device.laid_out = counts["compiles"], counts["kernels"], counts["laid_out"]
    return Report(copies, list(tenon.realizations()), tenon.realizations_text(), dispatch.why_not())


def reset_report() -> None:
    with _lock:
        for name in _doors:
            _doors[name] = Door()
    tenon.clear_realizations()
