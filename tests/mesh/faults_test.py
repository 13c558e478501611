"""A rank that is killed in any phase of a training run: all ranks end, soon, and the checkpoint is whole and goes on.

TENON_FAULT_TRIALS sets how many ranks are killed, one after the other; a few unless told.
"""

import json
import os
import random
import shutil
import signal
import struct
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from processes_test import ENVIRONMENT, LIMIT, MODULE, children, is_running

COMMAND = os.environ["TENON_COMMAND"]
TRIALS = int(os.environ.get("TENON_FAULT_TRIALS", "4"))
PHASES = ("start", "step", "checkpoint", "resume")
RANKS = 3
TRAIN = ["train", "mlp", "--examples", "96", "--batch", "32", "--validate", "0"]


def epochs_of(file):
    """How many epochs the checkpoint has: three losses each."""
    data = file.read_bytes()
    header = json.loads(data[8:8 + struct.unpack("<Q", data[:8])[0]])
    return header["tenon/losses"]["shape"][0] // 3


def go_on(file, ranks):
    """One epoch more than the checkpoint has, on some number of ranks."""
    mesh = [] if ranks == 1 else ["--mesh", f"data={ranks}", "--ranks", "threads"]
    return subprocess.run([COMMAND, *TRAIN[:2], "--resume", file, "--epochs", str(epochs_of(file) + 1), "--json", *mesh],
                          capture_output=True, text=True, timeout=LIMIT, check=False)


class Killed:
    """A run of training under mpirun, until one of its ranks is killed in a phase."""

    def __init__(self, phase, chance, folder):
        self.file = Path(folder) / "run.safetensors"
        words = ["--checkpoint", self.file, "--epochs", "1000000"]
        train = TRAIN
        if phase == "resume":
            first = [COMMAND, *TRAIN, "--epochs", "1", "--checkpoint", self.file]
            subprocess.run(first, capture_output=True, timeout=LIMIT, check=True)
            train, words = TRAIN[:2], ["--resume", self.file, "--epochs", "1000000"]
        self.process = subprocess.Popen(
            ["mpirun", "-n", str(RANKS), COMMAND, *train, *words, "--mesh", f"data={RANKS}"], env=ENVIRONMENT, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        deadline = time.monotonic() + LIMIT
        self.ranks = []
        while len(self.ranks) < RANKS and time.monotonic() < deadline:
            self.ranks = children(self.process.pid)
        if phase in ("start", "resume"):  # while it loads and compiles, or soon after
            time.sleep(chance.uniform(0, 1.5))
        else:
            while not self.file.exists() and time.monotonic() < deadline:  # an epoch has ended
                time.sleep(0.01)
            time.sleep(chance.uniform(0, 0.3))
        if phase == "checkpoint":  # a file beside it is being written
            while len(list(Path(folder).iterdir())) < 2 and time.monotonic() < deadline:
                pass
        self.killed = chance.randrange(RANKS)
        os.kill(self.ranks[self.killed], signal.SIGKILL)
        _, self.err = self.process.communicate(timeout=LIMIT)


@unittest.skipUnless(MODULE.exists() and shutil.which("mpirun"), "this build has no MPI, or there is no mpirun")
class Faults(unittest.TestCase):
    def test_a_killed_rank_ends_all_and_leaves_a_whole_checkpoint(self):
        chance = random.Random(1)
        for trial in range(TRIALS):
            phase = PHASES[trial % len(PHASES)]
            with self.subTest(trial=trial, phase=phase), tempfile.TemporaryDirectory() as folder:
                run = Killed(phase, chance, folder)
                self.assertNotEqual(run.process.returncode, 0)
                self.assertIn("signal 9", run.err)
                deadline = time.monotonic() + LIMIT
                while any(map(is_running, run.ranks)) and time.monotonic() < deadline:
                    time.sleep(0.05)
                self.assertFalse(any(map(is_running, run.ranks)))
                if phase == "start" and not run.file.exists():
                    continue
                more = go_on(run.file, 1 + trial % 4)
                self.assertEqual(more.returncode, 0, more.stderr)
                self.assertEqual(len(json.loads(more.stdout)["epochs"]), 1)


if __name__ == "__main__":
    unittest.main()
