"""Every block of docs/pytorch.md runs."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "docs/pytorch.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    names = {"__name__": "page"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"pytorch.md, block {number + 1}", "exec"), names)
