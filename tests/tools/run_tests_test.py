"""tools/run_tests.py: cases share processes, and each gets its own verdict whatever the others do."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

RUNNER = pathlib.Path(__file__).resolve().parents[2] / "tools" / "run_tests.py"

# A program that speaks as GoogleTest does. What a case does is in its name.
PROGRAM = f"""#!{sys.executable}
import os, signal, sys, time
print("process", os.getpid(), file=open("processes", "a"))
cases = next(each for each in sys.argv if each.startswith("--gtest_filter=")).split("=", 1)[1].split(":")
for case in cases:
    print(f"[ RUN      ] {{case}}", flush=True)
    print("by", case, end="", flush=True)
    if "crashes" in case:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "hangs" in case:
        time.sleep(60)
    if "leaves" in case:
        sys.exit(3)
    verdict = "  FAILED  " if "fails" in case else "  SKIPPED " if "skips" in case else "       OK "
    print(f"[{{verdict}}] {{case}}{{', where GetParam() = 1' if '/' in case else ''}} (0 ms)", flush=True)
print("at the end")
sys.exit(any("fails" in case or "leaks" in case for case in cases))
"""


def run(cases, *options, properties=""):
    """Run the cases of one program, and a command that ends as `true` does; (status, output, processes of the program)."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        program = folder / "program"
        program.write_text(PROGRAM)
        program.chmod(0o755)
        lists = [f'add_test(p.{case} "{program}" "--gtest_filter={case}")\n'
                 f'set_tests_properties(p.{case} PROPERTIES LABELS fast TIMEOUT 1 WORKING_DIRECTORY "{folder}" {properties})'
                 for case in cases]
        (folder / "CTestTestfile.cmake").write_text("\n".join(lists) + '\nadd_test(script true)\n')
        done = subprocess.run([sys.executable, "-B", RUNNER, "-j", "1", folder, *options], capture_output=True, text=True,
                              check=False)
        count = (folder / "processes").read_text().count("process") if (folder / "processes").exists() else 0
        return done.returncode, done.stdout + done.stderr, count


def verdicts(output):
    return dict(re.findall(r"^\t(\S+) \((.*)\)$", output, re.MULTILINE))


class RunTests(unittest.TestCase):
    def test_cases_share_a_process(self):
        status, output, processes = run([f"A.c{i}" for i in range(5)] + ["A.skips", "B/A.c/0"])
        self.assertEqual((status, verdicts(output)), (0, {}), output)
        self.assertEqual(processes, 1)
        self.assertIn("100% tests passed, 0 tests failed out of 8\n", output)
        self.assertIn("skipped: p.A.skips\n", output)

    def test_a_failure_is_named_and_shown(self):
        status, output, _ = run(["A.first", "A.fails", "B/A.fails/0", "A.last"])
        self.assertEqual((status, verdicts(output)), (1, {"p.A.fails": "Failed", "p.B/A.fails/0": "Failed"}))
        self.assertIn("by A.fails", output)
        self.assertNotIn("by A.first", output)
        self.assertIn("60% tests passed, 2 tests failed out of 5\n", output)

    def test_what_ends_a_process_fails_one_case(self):
        status, output, _ = run(["A.first", "A.crashes", "A.between", "A.hangs", "A.leaves", "A.last"])
        self.assertEqual((status, verdicts(output)),
                         (1, {"p.A.crashes": "Failed, ended by SIGSEGV", "p.A.hangs": "Failed, Timeout",
                              "p.A.leaves": "Failed, exit status 3"}), output)

    def test_a_program_that_fails_behind_its_cases_does_not_pass(self):
        status, output, _ = run(["A.first", "A.leaks"])
        self.assertEqual((status, verdicts(output)), (1, {"p.A.leaks": "Failed, outside of any test: exit status 1"}))

    def test_tests_are_chosen_as_ctest_chooses(self):
        status, output, _ = run(["A.first", "A.fails"], "-R", "first")
        self.assertEqual(status, 0)
        self.assertIn("out of 1\n", output)
        self.assertEqual(run(["A.first"], "-R", "nothing")[:2], (1, "run_tests: there are no such tests\n"))

    def test_properties_it_does_not_know_are_refused(self):
        status, output, _ = run(["A.first"], properties="WILL_FAIL TRUE")
        self.assertEqual((status, output), (1, "run_tests: test p.A.first has a property that is not known here: "
                                               "WILL_FAIL\n"))


if __name__ == "__main__":
    unittest.main()
