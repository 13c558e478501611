"""The command `tenon`, from text: every file of tests/cli/commands/ holds commands, what they print and their status.

    $ tenon explain mlp          a command; its words are split as a shell would, without any other magic
    mlp: 3 kernels               what it prints to standard output
    ! tenon: there is no ...     what it prints to standard error
    = 1                          its exit status, when that is not 0 (or 1 after a line with !)
    # ...                        a remark
    @ bad.graph                  a file for the commands below: the lines that follow, each after four spaces
    needs llvm                   skip the rest of the file in a build without it (or: onnx, dot, numpy)

In what is expected `*` stands for anything in a line, and a line `...` for any lines. $TMP is a fresh folder. Every
command runs at the root of the repository, with no terminal and a cache that is empty at first. TENON_COMMAND names the command.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).resolve().parent / "commands"
COMMAND = os.environ["TENON_COMMAND"]
CACHE = tempfile.TemporaryDirectory()


def tenon(words):
    run = subprocess.run([COMMAND, *words], capture_output=True, text=True, cwd=ROOT, stdin=subprocess.DEVNULL,
                         env={**os.environ, "XDG_CACHE_HOME": CACHE.name}, check=False)
    return run.returncode, run.stdout, run.stderr


def has(feature):
    if feature == "dot":
        return shutil.which("dot") is not None
    if feature == "numpy":
        return subprocess.run(["python3", "-c", "import numpy"], capture_output=True, check=False).returncode == 0
    version = json.loads(tenon(["version", "--json"])[1])
    return {"llvm": version["kernels"] == "native code by LLVM", "onnx": version["onnx"]}[feature]


def pattern(lines):
    """What is expected, as a regular expression over the whole output."""
    parts = []
    for line in lines:
        if line == "...":
            parts.append(r"(?:.*\n)*?")
        else:
            parts.append(".*".join(map(re.escape, line.split("*"))) + r"\n")
    return "".join(parts)


class Step:
    def __init__(self, words, line):
        self.words, self.line = words, line
        self.out, self.err, self.status = [], [], None


def parse(text):
    """The file as steps: commands, files to write, features that are needed."""
    steps, current = [], None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ tenon"):
            current = Step(shlex.split(line[2:])[1:], number)
            steps.append(current)
        elif line.startswith("needs "):
            steps.append(line.removeprefix("needs "))
        elif line.startswith("@ "):
            current = [line[2:], ""]
            steps.append(current)
        elif isinstance(current, list) and line.startswith("    "):
            current[1] += line[4:] + "\n"
        elif line.startswith("#") or (not line.strip() and not isinstance(current, Step)):
            continue
        elif line.startswith("! "):
            current.err.append(line[2:])
        elif re.fullmatch(r"= \d+", line):
            current.status = int(line[2:])
        else:
            current.out.append(line)
    for step in steps:
        if isinstance(step, Step):
            while step.out and not step.out[-1].strip():
                step.out.pop()
    return steps


class Commands(unittest.TestCase):
    def check(self, path):
        folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, folder)
        commands = 0
        for step in parse(path.read_text(encoding="utf-8")):
            if isinstance(step, str):
                if not has(step):
                    return
                continue
            if isinstance(step, list):
                (folder / step[0]).write_text(step[1], encoding="utf-8")
                continue
            commands += 1
            expand = lambda text: text.replace("$TMP", str(folder))
            status, out, err = tenon([expand(word) for word in step.words])
            where = f"{path.name}:{step.line}: tenon {' '.join(step.words)}"
            wanted = step.status if step.status is not None else int(bool(step.err))
            self.assertEqual(status, wanted, f"{where}\n{err}")
            for got, lines in [(out.rstrip("\n"), step.out), (err.rstrip("\n"), step.err)]:
                got = got + "\n" if got else ""
                self.assertRegex(got, re.compile("\\A" + pattern([expand(line) for line in lines]) + "\\Z"), where)
        self.assertGreater(commands, 0, path.name)


for case in sorted(CASES.glob("*.txt")):
    setattr(Commands, f"test_{case.stem}", lambda self, case=case: self.check(case))

if __name__ == "__main__":
    unittest.main()
