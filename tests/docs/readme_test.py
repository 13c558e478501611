"""The C++ example of README.md is, byte for byte, the marked part of examples/quickstart.cpp, which is built and run.

    python3 tests/docs/readme_test.py           check
    python3 tests/docs/readme_test.py --write   copy the example into README.md
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"
EXAMPLE = ROOT / "examples/quickstart.cpp"


def between(text, begin, end, where):
    """The text between the two marker lines."""
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        sys.exit(f"{where}: expected one {begin.strip()!r} and, after it, one {end.strip()!r}")
    return text.partition(begin)[2].partition(end)[0]


def main():
    if not EXAMPLE.exists():
        sys.exit("examples/quickstart.cpp, the example of README.md, does not exist")
    example = between(EXAMPLE.read_text(encoding="utf-8"), "// [quickstart]\n", "// [/quickstart]\n", EXAMPLE.name)
    readme_text = README.read_text(encoding="utf-8")
    begin, end = "<!-- quickstart -->\n", "<!-- /quickstart -->\n"
    shown = between(readme_text, begin, end, README.name)
    wanted = f"```cpp\n{example}```\n"
    if shown == wanted:
        return 0
    if "--write" in sys.argv[1:]:
        README.write_text(readme_text.replace(begin + shown + end, begin + wanted + end), encoding="utf-8")
        return 0
    print("README.md: the quickstart differs from examples/quickstart.cpp; "
          "run `python3 tests/docs/readme_test.py --write`")
    return 1


if __name__ == "__main__":
    sys.exit(main())
