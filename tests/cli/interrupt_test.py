"""Ctrl-C: the command ends at once, with status 130 and without a word; training saves where it stands and says so."""

import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

COMMAND = os.environ["TENON_COMMAND"]
# Long in the middle of one run: a chain of large products.
LONG = """graph long(x: f32[n, n]) {
  a = matmul(x, x)
  b = matmul(sin(a), x)
  c = matmul(sin(b), x)
  d = matmul(sin(c), x)
  return y=matmul(sin(d), x)
}
"""


def catches_interrupts(process):
    """Whether the command has come so far that it handles the signal."""
    try:
        status = Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
    except OSError:
        return True  # ended, or no /proc here: the assertions decide
    caught = next(line.split()[1] for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught, 16) >> (signal.SIGINT - 1) & 1)


# A command that inherits that interrupts are ignored goes on ignoring them, and programs in the background of a script do.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Interrupt(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.model = Path(folder.name) / "long.graph"
        self.model.write_text(LONG, encoding="utf-8")

    def interrupt(self, *commands, after):
        """Several at once: what takes time is to wait."""
        running = [subprocess.Popen([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
                   for words in commands]
        try:
            while not all(map(catches_interrupts, running)):
                time.sleep(0.01)
            time.sleep(after)
            for process in running:
                process.send_signal(signal.SIGINT)
            for words, process in zip(commands, running):
                _, err = process.communicate(timeout=60)
                said = [line for line in err.splitlines() if not line.startswith("tenon: note: ")]
                self.assertEqual((process.returncode, said), (130, []), words)
        finally:
            for process in running:
                process.kill()
                process.communicate()

    def test_every_long_verb(self):
        sizes = ["--bind", "n=5000"]
        for after in (0, 0.3, 1.5):
            self.interrupt(*([verb, self.model, *sizes] for verb in ("run", "check", "bench")), after=after)

    def test_building_leaves_nothing(self):
        program = self.model.with_name("resnet50.tenon")
        self.interrupt(["build", "resnet50", "--no-cache", "-o", program], after=1)
        self.assertEqual(sorted(path.name for path in program.parent.iterdir()), [self.model.name])

    def test_between_runs(self):
        self.interrupt(["run", self.model, "--bind", "n=2", "--repeat", "1000000000"], after=0.5)

    def test_training_saves_and_says_how_to_go_on(self):
        checkpoint = self.model.with_name("run.safetensors")
        words = ["train", "mlp", "--examples", "64", "--epochs", "100000", "--checkpoint", checkpoint]
        with subprocess.Popen([COMMAND, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            try:
                while process.stdout.readline().split()[:1] != ["2"]:  # an epoch or two
                    self.assertIsNone(process.poll(), "it ended by itself")
                process.send_signal(signal.SIGINT)
                _, err = process.communicate(timeout=60)
            finally:
                process.kill()
        self.assertEqual(process.returncode, 130, err)
        told = re.fullmatch(r"tenon: interrupted after step (\d+); (.*) has the run. To go on:\n  tenon (.*)\n", err)
        self.assertIsNotNone(told, err)
        self.assertEqual(told[2], str(checkpoint))
        epochs = int(told[1]) // 2 + 1  # of two steps each
        again = subprocess.run([COMMAND, *shlex.split(told[3]), "--epochs", str(epochs), "--json"], capture_output=True,
                               text=True, check=True)
        self.assertEqual(json.loads(again.stdout)["steps"], 2 * epochs)
        checkpoint.write_bytes(checkpoint.read_bytes()[:-1000])  # as a full disk leaves it
        cut = subprocess.run([COMMAND, *shlex.split(told[3])], capture_output=True, text=True, check=False)
        self.assertEqual((cut.returncode, cut.stdout, cut.stderr.count("\n")), (1, "", 1), cut.stderr)
        self.assertIn(str(checkpoint), cut.stderr)

    def test_ignored_where_the_caller_ignores_it(self):
        command = f"trap '' INT; exec {COMMAND} models"
        with subprocess.Popen(["sh", "-c", command], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=60)
        self.assertIn(process.returncode, (0, -signal.SIGINT))  # sh itself may be hit before its trap


if __name__ == "__main__":
    unittest.main()
