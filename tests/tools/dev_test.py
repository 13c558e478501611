"""./dev explains itself and refuses what it does not know. (What it builds is tested by using it.)"""

import subprocess
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERBS = "run test build wheel bench counts accuracy soak conformance torch-conformance models fuzz fmt lint clean help".split()


def dev(*arguments):
    run = subprocess.run([ROOT / "dev", *arguments], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    return run.returncode, run.stdout, run.stderr


class Dev(unittest.TestCase):
    def test_help_lists_every_verb(self):
        status, out, _ = dev("help")
        self.assertEqual(status, 0)
        self.assertEqual([line.split()[0] for line in out.splitlines() if line.startswith("  ")], VERBS)

    def test_every_verb_explains_itself(self):
        for verb in VERBS:
            status, out, _ = dev(verb, "--help")
            self.assertEqual(status, 0)
            self.assertIn(f"usage: ./dev {verb}", out)

    def test_bench_without_a_name_lists(self):
        status, out, _ = dev("bench")
        self.assertEqual(status, 0)
        self.assertIn("counts", out.splitlines())

    def test_refusals_are_one_line(self):
        for arguments, message in [
            (["frobnicate"], "dev: no verb 'frobnicate'; ./dev help lists them\n"),
            (["test", "--frob"], "dev: test: what is '--frob'? See ./dev test --help\n"),
            (["test", "-R"], "dev: test: -R takes a value\n"),
            (["build", "--preset", "fast"], "dev: --preset takes dev, release, asan or tsan\n"),
            (["build", "--compiler", "no-such-compiler"], "dev: there is no compiler no-such-compiler\n"),
            (["fmt", "src"], "dev: fmt takes no arguments\n"),
            (["accuracy", "exp", "log"], "dev: accuracy takes one function at most\n"),
            (["models"], "dev: models takes a folder with .onnx files; see ./dev models --help\n"),
            (["fuzz", "long"], "dev: fuzz takes a number of seconds\n"),
        ]:
            self.assertEqual(dev(*arguments), (1, "", message))
        status, _, err = dev("bench", "frobnicate")
        self.assertEqual((status, err.count("\n")), (1, 1))


if __name__ == "__main__":
    unittest.main()
