"""The machine that was measured, and which of its processors a side gets."""

import os
import platform
from pathlib import Path

FEATURES = ("avx2", "avx512f", "avx512_vnni", "amx_tile", "asimd", "asimddp", "i8mm", "bf16", "sve", "sve2")


def lines_of(path):
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []


def cpu_name():
    found = dict(line.split(":", 1) for line in lines_of("/proc/cpuinfo") if ":" in line)
    found = {key.strip(): value.strip() for key, value in found.items()}
    if "model name" in found:
        return " ".join(found["model name"].split()), found.get("flags", "").split()
    part = f"ARM part {found.get('CPU part', '?')}, implementer {found.get('CPU implementer', '?')}"
    return part, found.get("Features", "").split()


def caches():
    """Sizes of the first processor's data caches, by level."""
    found = {}
    for folder in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = (lines_of(folder / name) for name in ("level", "type", "size"))
        if level and kind and size and kind[0] != "Instruction":
            found[f"L{level[0]}"] = size[0]
    return found


def processors():
    """All that may be used, those of different cores first: two of one core share its arithmetic."""
    seen, first, second = set(), [], []
    for cpu in sorted(os.sched_getaffinity(0)):
        siblings = (lines_of(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") or [str(cpu)])[0]
        (second if siblings in seen else first).append(cpu)
        seen.add(siblings)
    return first + second


def describe():
    name, flags = cpu_name()
    memory = next((int(line.split()[1]) * 1024 for line in lines_of("/proc/meminfo") if line.startswith("MemTotal")), 0)
    return {"cpu": name, "architecture": platform.machine(), "processors": len(processors()), "caches": caches(),
            "memory": memory, "features": [each for each in FEATURES if each in flags], "system": platform.release()}


def key(machine):
    """The same for the same kind of machine: which section of the page is its own."""
    return f"{machine['cpu']}, {machine['processors']} processors"


def text(machine):
    held = ", ".join(f"{level} {size}" for level, size in machine["caches"].items())
    return (f"{key(machine)} ({machine['architecture']}; {held or 'caches unknown'}; "
            f"{machine['memory'] / 2**30:.0f} GiB; {' '.join(machine['features']) or 'no features told'})")
