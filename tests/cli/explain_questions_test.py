"""Every command of docs/explain.md runs as it stands there, and those of its table answer their questions."""

import json
import os
import re
import shlex
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ["TENON_COMMAND"]
PAGE = (ROOT / "docs" / "explain.md").read_text(encoding="utf-8")

# What an answer has, by the question. A file name is of what the command writes.
ANSWERS = {
    "What runs, and why is it not fewer kernels?": r"1\. kernel contract.*\n(.*\n)*?.*ends here: \w",
    "Why are these two not one kernel?": r"rule `operand` tried .*: \w(.*\n)*.*one kernel would save .* bytes",
    "How far is each step from what the machine can do?": r"limited by|roofs?\b",
    "Where does memory go, and what holds the peak?": r"the peak is .* during steps? [\d-]+.*\n +[\d.]+ \w+ +made by step \d+",
    "Which nodes of the file became which step?": r"1\. kernel contract .*\n.* from layers\.0,",
    "All of it on one page?": ("page.html", r"<title>mobilenet_v2</title>"),
    "What do the loops of a step look like?": r"\n +loop i1 begins (.*\n)*.* = exp_normal v",
    "What machine code is that?": r"\n\s+(v?movups|ret|ldr)\b",
    "Where does the time to compile go?": r"\n  fold_views +[\d.]+  yes\n(.*\n)*  all +[\d.]+\n",
    "What changed between two models, options, machines or versions?": r"split .*layers\.0",
    "Did it become faster or slower, beyond noise?": r"\b(faster|slower|same|too noisy to tell)\b",
    "Which sizes came, and was each prepared once?": r"specialised +3 ",
}


def tenon(words, folder):
    return subprocess.run([COMMAND, *words], capture_output=True, text=True, cwd=folder, stdin=subprocess.DEVNULL,
                          env={**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}, check=False)


def questions():
    """Of the table: each question and its command."""
    rows = re.findall(r"^\| (.*?) \| `(.*?)` \|$", PAGE, re.MULTILINE)
    return {question: command for question, command in rows if question != "question"}


def commands():
    """Of the blocks and the text, each once; a line that is cut off goes on."""
    text = re.sub(r"^\| .*\|$", "", PAGE, flags=re.MULTILINE)
    blocks = [line for block in re.findall(r"^```\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
              for line in block.splitlines()]
    spans = re.findall(r"`(tenon \w+ [^-`][^`]*? --[^`]*)`", re.sub(r"^```\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL))
    return list(dict.fromkeys(" ".join(each.split()) for each in blocks + spans if "MODEL" not in each))


class Questions(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        version = json.loads(tenon(["version", "--json"], ROOT).stdout)
        if version["kernels"] != "native code by LLVM":
            raise unittest.SkipTest("models of this size need native code")
        cls.onnx = version["onnx"]
        temporary = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name)
        (cls.folder / "examples").symlink_to(ROOT / "examples")
        # What the page takes for granted: models of the reader's own, and times of an earlier version.
        files = [["bench", "mlp", "--seconds", "0", "--save", "before.json"]]
        if cls.onnx:
            files += [["export", "mlp", name] for name in ("model.onnx", "new.onnx", "old.onnx")]
        for words in files:
            run = tenon(words, cls.folder)
            assert run.returncode == 0, f"{words}: {run.stderr}"

    def run_one(self, command):
        if ".onnx" in command and not self.onnx:
            return None
        words = shlex.split(command)
        self.assertEqual(words[0], "tenon", command)
        run = tenon(words[1:], self.folder)
        self.assertEqual(run.stderr, "", command)
        is_slower = "--against" in words and re.search(r"\bslower\b", run.stdout)  # the machine's noise, not an error
        self.assertEqual(run.returncode, 1 if is_slower else 0, f"{command}\n{run.stdout}")
        self.assertTrue(run.stdout.strip(), command)
        return run.stdout

    def test_every_question_has_its_answer(self):
        self.assertEqual(list(questions()), list(ANSWERS))
        for question, command in questions().items():
            with self.subTest(question=question):
                shown, wanted = self.run_one(command), ANSWERS[question]
                if isinstance(wanted, tuple):
                    shown, wanted = (self.folder / wanted[0]).read_text(encoding="utf-8"), wanted[1]
                if shown is not None:
                    self.assertIsNotNone(re.search(wanted, shown), f"{command}\n{shown[:4000]}")

    def test_every_other_command_runs(self):
        rest = [command for command in commands() if command not in questions().values()]
        self.assertGreater(len(rest), 8)
        for command in rest:
            with self.subTest(command=command):
                self.run_one(command)


if __name__ == "__main__":
    unittest.main()
