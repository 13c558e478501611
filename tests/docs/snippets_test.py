"""Every C++ block of these pages is, byte for byte, a marked part of an example, which is built and run."""

import re
import sys
import textwrap
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = {"docs/tensors.md": "examples/tensors.cpp", "docs/cpp.md": "examples/cpp_guide.cpp",
         "docs/mesh.md": "examples/mesh.cpp"}


def complaints(page, example):
    source = (ROOT / example).read_text(encoding="utf-8")
    parts = {}
    for name, body in re.findall(r"^ *// \[(\w+)\]\n(.*?)^ *// \[/\1\]\n", source, re.MULTILINE | re.DOTALL):
        parts[textwrap.dedent(body)] = name
    blocks = re.findall(r"^```cpp\n(.*?)^```$", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if not blocks:
        yield f"{page} has no C++ block"
    for block in blocks:
        if parts.pop(block, None) is None:
            yield f"{page}: this block is no marked part of {example}:\n{block}"
    for name in parts.values():
        yield f"{example}: the part [{name}] is no block of {page}"


def main():
    found = [complaint for page, example in PAGES.items() for complaint in complaints(page, example)]
    print("\n".join(found))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
