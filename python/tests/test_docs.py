"""Every Python block of docs/python.md runs, one after the other; so does the notebook."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def run_page(page, folder, monkeypatch):
    monkeypatch.chdir(folder)
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    assert blocks
    names = {"__name__": "page"}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{page.name}, block {number + 1}", "exec"), names)


def test_the_page(tmp_path, monkeypatch):
    run_page(ROOT / "docs/python.md", tmp_path, monkeypatch)


def test_the_notebook(tmp_path):
    nbformat = pytest.importorskip("nbformat", reason="nbformat is not installed")
    nbclient = pytest.importorskip("nbclient", reason="nbclient is not installed")
    notebook = nbformat.read(ROOT / "examples/python/getting_started.ipynb", as_version=4)
    nbclient.NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(tmp_path)}}).execute()
    shown = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    assert any("text/html" in o.get("data", {}) for o in shown)
