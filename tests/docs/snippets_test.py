"""Every C++ block of docs/tensors.md is, byte for byte, a marked part of examples/tensors.cpp, which is built and run."""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tensors.md"
EXAMPLE = ROOT / "examples/tensors.cpp"


def main():
    source = EXAMPLE.read_text(encoding="utf-8")
    parts = {}
    for name, body in re.findall(r"^ *// \[(\w+)\]\n(.*?)^ *// \[/\1\]\n", source, re.MULTILINE | re.DOTALL):
        parts[textwrap.dedent(body)] = name
    blocks = re.findall(r"^```cpp\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    status = 0
    if not blocks:
        print(f"{PAGE.name} has no C++ block")
        status = 1
    for block in blocks:
        if parts.pop(block, None) is None:
            print(f"{PAGE.name}: this block is no marked part of {EXAMPLE.name}:\n{block}")
            status = 1
    for name in parts.values():
        print(f"{EXAMPLE.name}: the part [{name}] is no block of {PAGE.name}")
        status = 1
    return status


if __name__ == "__main__":
    sys.exit(main())
