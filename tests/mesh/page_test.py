"""The page of a mesh: `tenon explain --mesh --html`, and `tenon partition --ranks --html`."""

import os
import re
import subprocess
import tempfile
import unittest
from html.parser import HTMLParser
from pathlib import Path

COMMAND = os.environ["TENON_COMMAND"]
EMPTY = {"meta", "input", "rect", "br"}


class Balanced(HTMLParser):
    """Fails where a tag is closed that is not open."""

    def __init__(self):
        super().__init__()
        self.open, self.cells, self.problems = [], 0, []

    def handle_starttag(self, tag, attributes):
        if tag not in EMPTY:
            self.open.append(tag)
        self.cells += ("class", "rank") in attributes

    def handle_endtag(self, tag):
        if tag in EMPTY:
            return
        if not self.open or self.open.pop() != tag:
            self.problems.append(tag)


def page(*words):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "page.html"
        run = subprocess.run([COMMAND, *words, "--html", file], capture_output=True, text=True, timeout=100, check=False)
        if run.returncode != 0:
            raise AssertionError(run.stderr)
        return file.read_text(encoding="utf-8")


class Pages(unittest.TestCase):
    def check(self, text):
        parser = Balanced()
        parser.feed(text)
        self.assertEqual((parser.problems, parser.open), ([], []))
        return parser

    def test_a_mesh(self):
        text = page("explain", "mlp", "--mesh", "data=2,model=3", "--shard",
                    "batch=data,layers.0.weight.1=model,layers.1.weight.0=model", "--bind", "batch=64")
        self.assertEqual(self.check(text).cells, 6)
        self.assertIn("2 exchanges", text)
        self.assertIn("<td>all_reduce</td><td>model</td>", text)
        rows = re.findall(r"<tr><td>([^<]*)</td><td>f32\[", text)
        self.assertIn("layers.0.weight", rows)
        self.assertIn("contract layers.2", rows)
        self.assertIn("sum of parts over model", text)

    def test_meshes_that_are_compared(self):
        text = page("partition", "mlp", "--ranks", "64", "--bind", "batch=4096")
        self.check(text)
        for mesh in ("data=64,model=1", "data=8,model=8", "data=1,model=64"):
            self.assertIn(f"<tr><td>{mesh}</td>", text)
        self.assertIn("Meshes of as many ranks", text)


if __name__ == "__main__":
    unittest.main()
