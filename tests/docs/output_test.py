"""What README.md and docs/ show of the command and of files is what it prints and what they hold: a block after
`<!-- tenon ARGUMENTS -->` or `<!-- file PATH -->`, byte for byte; a line `...` stands for any lines that were left out.
TENON_COMMAND names the command.

    python3 tests/docs/output_test.py           check
    python3 tests/docs/output_test.py --write   put what the command prints into the pages
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(<!-- (tenon|file) (.+?) -->\n```\n)(.*?)(```\n)", re.DOTALL)
LEFT_OUT = re.compile(r"^ *\.\.\.$")


def printed(arguments):
    run = subprocess.run([os.environ["TENON_COMMAND"], *arguments.split()], capture_output=True, text=True, cwd=ROOT,
                         check=False)
    if run.returncode != 0:
        sys.exit(f"tenon {arguments}: {run.stderr}")
    return run.stdout


def fits(shown, whole):
    """Whether `shown`, whose lines `...` stand for any number of lines, is `whole`."""
    lines = [r"(?:.*\n)*" if LEFT_OUT.match(line) else re.escape(line + "\n") for line in shown.splitlines()]
    return re.fullmatch("".join(lines), whole) is not None


def corrected(block):
    head, kind, argument, shown, end = block.groups()
    whole = (ROOT / argument).read_text(encoding="utf-8") if kind == "file" else printed(argument)
    return block[0] if fits(shown, whole) else head + whole + end


def check_that_it_can_fail():
    whole = "a.b\n  c\nd\n"
    assert fits(whole, whole) and fits("a.b\n  ...\nd\n", whole) and fits("...\n  c\n...\n", whole)
    assert not fits("a.b\nd\n", whole) and not fits("a.b\n...\ne\n", whole) and not fits("a_b\n...\n", whole)
    assert [block[1] for block in BLOCK.findall("<!-- file x -->\n```\ny\n```\n")] == ["file"]


def main():
    check_that_it_can_fail()
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks, stale = 0, []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        blocks += len(BLOCK.findall(text))
        wanted = BLOCK.sub(corrected, text)
        if wanted != text:
            stale.append(page.relative_to(ROOT))
            if "--write" in sys.argv[1:]:
                page.write_text(wanted, encoding="utf-8")
    if blocks == 0:
        sys.exit("no page shows what the command prints")
    if stale and "--write" not in sys.argv[1:]:
        sys.exit(f"{', '.join(map(str, stale))} show something else than what the command prints or a file holds; run "
                 "`TENON_COMMAND=build/release/tenon python3 tests/docs/output_test.py --write`")


if __name__ == "__main__":
    main()
