"""What README.md and docs/ show of the command is what it prints: a block after `<!-- tenon ARGUMENTS -->`, byte for
byte. TENON_COMMAND names the command.

    python3 tests/docs/output_test.py           check
    python3 tests/docs/output_test.py --write   put what the command prints into the pages
"""

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"(<!-- tenon (.+?) -->\n```\n)(.*?)(```\n)", re.S)


def printed(arguments):
    run = subprocess.run([os.environ["TENON_COMMAND"], *arguments.split()], capture_output=True, text=True, cwd=ROOT,
                         check=False)
    if run.returncode != 0:
        sys.exit(f"tenon {arguments}: {run.stderr}")
    return run.stdout


def main():
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    blocks, stale = 0, []
    for page in pages:
        text = page.read_text(encoding="utf-8")
        blocks += len(BLOCK.findall(text))
        wanted = BLOCK.sub(lambda block: block[1] + printed(block[2]) + block[4], text)
        if wanted != text:
            stale.append(page.relative_to(ROOT))
            if "--write" in sys.argv[1:]:
                page.write_text(wanted, encoding="utf-8")
    if blocks == 0:
        sys.exit("no page shows what the command prints")
    if stale and "--write" not in sys.argv[1:]:
        sys.exit(f"the command prints something else than {', '.join(map(str, stale))} show; run "
                 "`TENON_COMMAND=build/release/tenon python3 tests/docs/output_test.py --write`")


if __name__ == "__main__":
    main()
