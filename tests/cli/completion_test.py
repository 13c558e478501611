"""Completion in the shells themselves: zsh and fish, where they are installed. (bash is in output_test.py.)"""

import os
import pty
import select
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

COMMAND = Path(os.environ["TENON_COMMAND"]).resolve()


class Completion(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        (self.folder / "bin").mkdir()
        (self.folder / "bin/tenon").symlink_to(COMMAND)
        (self.folder / "notes.json").write_text("{}", encoding="ascii")
        self.environment = {**os.environ, "PATH": f"{self.folder}/bin:{os.environ['PATH']}", "TERM": "dumb",
                            "HOME": str(self.folder), "PS1": "> "}

    def script(self, shell):
        return subprocess.run([COMMAND, "completion", shell], capture_output=True, text=True, check=True).stdout

    def fish(self, line):
        run = subprocess.run(["fish", "--no-config", "-c", f"tenon completion fish | source; complete -C '{line}'"],
                             capture_output=True, text=True, check=True, cwd=self.folder, env=self.environment)
        self.assertEqual(run.stderr, "")
        return [each.split("\t")[0] for each in run.stdout.splitlines()]

    @unittest.skipUnless(shutil.which("fish"), "fish is not installed")
    def test_fish(self):
        self.assertEqual(self.fish("tenon che"), ["check"])
        self.assertEqual(self.fish("tenon run ml"), ["mlp"])
        self.assertEqual(self.fish("tenon run mlp --thr"), ["--threads"])
        self.assertEqual(self.fish("tenon run mlp --trace no"), ["notes.json"])
        self.assertEqual(self.fish("tenon run mlp --threads no"), [])
        self.assertEqual(self.fish("tenon completion z"), ["zsh"])

    def zsh(self, setup, line, expected):
        """Types the line and a tab, and waits until the terminal shows what is expected."""
        pid, terminal = pty.fork()
        if pid == 0:
            os.chdir(self.folder)
            os.execvpe("zsh", ["zsh", "-f", "-i"], self.environment)
        shown = ""

        def wait_for(text):
            nonlocal shown
            end = time.monotonic() + 60
            while text not in shown and time.monotonic() < end:
                if select.select([terminal], [], [], 0.5)[0]:
                    shown += os.read(terminal, 65536).decode(errors="replace")
            self.assertIn(text, shown)

        os.write(terminal, f"{setup}; echo all-is-$((1+1))-set\n".encode())
        wait_for("all-is-2-set")
        shown = ""
        os.write(terminal, f"{line}\t".encode())
        wait_for(expected)
        os.write(terminal, b"\x15exit\n")
        os.close(terminal)
        os.waitpid(pid, 0)

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_zsh(self):
        sourced = "autoload -U compinit; compinit -u -D; source <(tenon completion zsh)"
        self.zsh(sourced, "tenon che", "tenon check ")
        self.zsh(sourced, "tenon run mlp --thr", "--threads ")
        self.zsh(sourced, "tenon run mlp --trace no", "notes.json ")
        # As `cmake --install` puts it.
        (self.folder / "site").mkdir()
        (self.folder / "site/_tenon").write_text(self.script("zsh"), encoding="utf-8")
        self.zsh(f"fpath=({self.folder}/site $fpath); autoload -U compinit; compinit -u -D", "tenon completion z",
                 "tenon completion zsh ")


if __name__ == "__main__":
    unittest.main()
