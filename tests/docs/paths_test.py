"""Files and folders that pages name are there: in README.md, CONTRIBUTING.md, docs/ and the READMEs of src/.

A path is what stands in backticks and begins with a folder of the repository or of src/ (`docs/compiler.md`,
`kernel/abi.h`), or what a link without a scheme points to. `*` and `<word>` stand for anything.
"""

import re
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
QUOTED = re.compile(r"`([\w.-]+/[\w./*<>-]*)`")
LINK = re.compile(r"\]\(([^)#:\s]+)(?:#[^)\s]*)?\)")
PLACEHOLDER = re.compile(r"<\w+>")


def pages(root):
    return [root / "README.md", root / "CONTRIBUTING.md", *sorted((root / "docs").rglob("*.md")),
            *sorted((root / "src").rglob("README.md"))]


def is_there(folder, path):
    return any(True for _ in folder.glob(PLACEHOLDER.sub("*", path).rstrip("/")))


def missing(root):
    """One line for each path that names nothing."""
    found = []
    for page in pages(root):
        if not page.exists():
            continue
        text = FENCE.sub("", page.read_text(encoding="utf-8"))
        shown = page.relative_to(root).as_posix()
        for path in QUOTED.findall(text):
            roots = [folder for folder in (root, root / "src") if (folder / path.split("/")[0]).is_dir()]
            if roots and not any(is_there(folder, path) for folder in roots):
                found.append(f"{shown}: there is no {path}")
        for path in LINK.findall(text):
            if not (page.parent / path).exists():
                found.append(f"{shown}: there is no {path}")
    return found


class Paths(unittest.TestCase):
    def test_the_real_pages(self):
        self.assertEqual(missing(ROOT), [])

    def test_that_they_name_some(self):
        text = FENCE.sub("", (ROOT / "README.md").read_text(encoding="utf-8"))
        self.assertGreater(len(QUOTED.findall(text)), 10)
        self.assertGreater(len(LINK.findall(text)), 5)

    def test_a_page_with_wrong_paths(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for name in ("src/plan/waves.h", "src/plan/waves.cpp", "docs/running.md"):
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text("")
            (root / "README.md").write_text(
                "`src/plan/`, `src/plan/waves.h`, `plan/waves.h`, `src/plan/*.cpp`, `src/<layer>/<name>.h`, `other/thing`,"
                " `a / b`, [page](docs/running.md#part), [far](https://example.org/x)\n"
                "```\n`src/fenced.h`\n```\n"
                "`src/plan/rooms.h`, `plan/rooms.h`, `src/*.py`, [lost](docs/lost.md)\n")
            self.assertEqual(missing(root), [f"README.md: there is no {path}" for path in
                                             ("src/plan/rooms.h", "plan/rooms.h", "src/*.py", "docs/lost.md")])


if __name__ == "__main__":
    unittest.main()
