"""What a terminal sees of a training run while it goes on: a bar, the step, and the time that is left."""

import fcntl
import os
import pty
import re
import struct
import subprocess
import tempfile
import termios
import unittest

COMMAND = os.environ["TENON_COMMAND"]


def seen_by_a_terminal(words, columns=0, terminal="xterm"):
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    with tempfile.TemporaryDirectory() as cache:
        run = subprocess.Popen([COMMAND, *words], stdout=subprocess.DEVNULL, stderr=theirs, stdin=subprocess.DEVNULL,
                               env={**os.environ, "XDG_CACHE_HOME": cache, "TERM": terminal})
        os.close(theirs)
        seen = b""
        try:
            while part := os.read(ours, 65536):
                seen += part
        except OSError:
            pass  # the other end is closed
        os.close(ours)
        return run.wait(), seen.decode(errors="replace")


class Progress(unittest.TestCase):
    def test_training_shows_a_bar_and_the_time_that_is_left(self):
        status, seen = seen_by_a_terminal(["train", "mlp", "--examples", "64", "--epochs", "3"])
        self.assertEqual(status, 0, seen)
        shown = re.findall(r"\[(#*)(-*)\] +(\d+) % step (\d+) of (\d+), epoch (\d) of 3, loss [0-9.e+-]+, left (\d+) s",
                           seen)
        self.assertTrue(shown, seen)
        for done, rest, share, step, steps, _, _ in shown:
            self.assertEqual(len(done) + len(rest), 24)
            self.assertAlmostEqual(int(share), 100 * int(step) / int(steps), delta=1)
        self.assertEqual(shown[-1][3], shown[-1][4])
        self.assertEqual(shown[-1][6], "0")

    def test_no_line_is_wider_than_the_terminal(self):
        for columns in (80, 60, 20):
            status, seen = seen_by_a_terminal(["train", "mlp", "--examples", "64", "--epochs", "2"], columns)
            self.assertEqual(status, 0, seen)
            lines = [line.strip() for line in seen.split("\r\x1b[K")]
            self.assertLess(max(map(len, lines)), columns, seen)
            self.assertTrue(any("step" in line for line in lines), seen)
            if columns == 80:
                self.assertRegex(seen, r"\[#+\] 100 % step 4 of 4, epoch 2 of 2, loss [0-9.e+-]+, left 0 s")
            if columns == 60:
                self.assertIn(", left 0 s", seen)

    def test_a_terminal_without_commands_has_none(self):
        status, seen = seen_by_a_terminal(["train", "mlp", "--examples", "64", "--epochs", "2"], terminal="dumb")
        self.assertEqual((status, seen), (0, ""))


if __name__ == "__main__":
    unittest.main()
