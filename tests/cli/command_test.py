"""The command `tenon`: what it prints, and what it refuses with status 1. TENON_COMMAND names it."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VERBS = "explain demo models ops version".split()
SOFTMAX = "examples/softmax.graph"


def tenon(*arguments):
    with tempfile.TemporaryDirectory() as cache:
        run = subprocess.run([os.environ["TENON_COMMAND"], *arguments], capture_output=True, text=True, cwd=ROOT,
                             stdin=subprocess.DEVNULL, env={**os.environ, "XDG_CACHE_HOME": cache})
    return run.returncode, run.stdout, run.stderr


def has_llvm():
    return "native code by LLVM" in tenon("version")[1]


class Case(unittest.TestCase):
    def prints(self, *arguments):
        status, out, err = tenon(*arguments)
        self.assertEqual((status, err), (0, ""), arguments)
        return out

    def refuses(self, arguments, *parts):
        status, out, err = tenon(*arguments)
        self.assertEqual((status, out), (1, ""), (arguments, err))
        self.assertTrue(err.startswith("tenon: "), err)
        for part in parts:
            self.assertIn(part, err)


class Help(Case):
    def test_lists_every_verb(self):
        out = self.prints("help")
        self.assertEqual(re.findall(r"^  (\w+)", out, re.M), [*VERBS, "help"])
        self.assertEqual(self.prints("--help"), out)

    def test_every_verb_explains_itself(self):
        for verb in VERBS:
            out = self.prints(verb, "--help")
            self.assertTrue(out.startswith(f"usage: tenon {verb}"), out)
            self.assertEqual(self.prints("help", verb), out)

    def test_nothing_is_not_enough(self):
        self.assertEqual(tenon()[0], 1)

    def test_refuses_what_it_does_not_know(self):
        self.refuses(["frobnicate"], "there is no verb `frobnicate`")
        self.refuses(["models", "mlp"], "what is `mlp`?")

    def test_examples_name_options_that_exist(self):
        out = self.prints("explain", "--help")
        options = set(re.findall(r"^  (--[a-z-]+)", out, re.M))
        examples = out.split("examples:")[1]
        self.assertLessEqual(set(re.findall(r"--[a-z-]+", examples)), options)


class Version(Case):
    def test_says_how_kernels_run_and_where_code_is_kept(self):
        out = self.prints("version")
        self.assertRegex(out, r"^tenon \d+\.\d+\.\d+\n")
        self.assertRegex(out, r"kernels +(native code by LLVM|loop interpreter)")
        self.assertRegex(out, r"cache +(on: /|off: )")
        self.assertEqual("target" in out, has_llvm())


class Demo(Case):
    def test_agrees_with_the_interpreter_at_every_binding(self):
        lines = re.findall(r"^  batch=\d+, seq=\d+ .* (\S+)$", self.prints("demo"), re.M)
        self.assertEqual(len(lines), 5)
        for difference in lines:
            self.assertLess(float(difference), 1e-5)


class Explain(Case):
    def test_a_built_in_model(self):
        out = self.prints("explain", "mlp")
        self.assertRegex(out, r"^mlp: \d+ kernels")
        self.assertIn("out logits: f32[batch, 10]", out)
        self.assertIn("  1. kernel ", out)
        self.assertIn("ends here: ", out)

    def test_a_text_file(self):
        self.assertTrue(self.prints("explain", SOFTMAX).startswith("softmax: 1 kernel\n  in  x: f32[row, col]\n"))

    def test_fusion_is_worth_something(self):
        unfused = self.prints("explain", SOFTMAX, "--no-fuse")
        self.assertGreater(int(re.match(r"softmax: (\d+) kernels", unfused)[1]), 1)

    def test_bytes_at_sizes(self):
        out = self.prints("explain", SOFTMAX, "--bind", "row=2,col=256")
        self.assertIn("at col=256, row=2:\n", out)
        self.assertRegex(out, r"all +2 KiB +2 KiB\n")
        self.assertIn("outputs take 2 KiB\n", out)

    def test_training(self):
        out = self.prints("explain", "mlp", "--train")
        self.assertIn("out loss: f32[]", out)
        self.assertIn("next_step", out)

    def test_passes(self):
        out = self.prints("explain", SOFTMAX, "--passes")
        self.assertRegex(out, r"canonicalize +[\d.]+  (yes|no)\n")
        self.assertRegex(out, r"recognize_composites +[\d.]+  yes\n")
        self.assertNotIn("simplify", self.prints("explain", SOFTMAX, "--passes", "--skip", "simplify,fold_views"))

    def test_the_graph_after_a_pass_is_text_that_can_be_explained(self):
        self.assertIn("body=softmax", self.prints("explain", SOFTMAX, "--after", "recognize_composites"))
        text = self.prints("explain", SOFTMAX, "--after=simplify:1")
        with tempfile.NamedTemporaryFile("w", suffix=".graph") as file:
            file.write(text)
            file.flush()
            self.assertEqual(self.prints("explain", file.name), self.prints("explain", SOFTMAX))

    def test_loops(self):
        out = self.prints("explain", SOFTMAX, "--kernel", "1")
        self.assertTrue(out.startswith("# step 1, part 1 of "), out)
        for word in ["max", "exp", "sum", "div"]:
            self.assertIn(word, out)

    def test_assembly(self):
        if not has_llvm():
            self.refuses(["explain", SOFTMAX, "--asm", "1"], "no machine code")
            return
        self.assertIn("ret", self.prints("explain", SOFTMAX, "--asm", "1"))
        wide = self.prints("explain", SOFTMAX, "--asm", "1", "--target", "x86-64-v4")
        self.assertIn("# x86-64-v4, 512-bit vectors", wide)
        self.assertIn("%zmm", wide)
        self.assertNotIn("%zmm", self.prints("explain", SOFTMAX, "--asm", "1", "--target", "x86-64-v3"))
        self.assertIn("fmla", self.prints("explain", SOFTMAX, "--asm", "1", "--target", "armv8.2"))


class Refusals(Case):
    def test_models(self):
        self.refuses(["explain"], "explain takes a built-in model or a file")
        self.refuses(["explain", "mlp", "gpt2"], "takes one model, not 2: mlp, gpt2")
        self.refuses(["explain", "mpl"], "there is no model called `mpl`", "did you mean `mlp`?", "resnet50")
        self.refuses(["explain", "nowhere.graph"], "cannot read the file `nowhere.graph`")
        self.refuses(["explain", "tests"], "there is no model called `tests`")
        self.refuses(["explain", "./tests"], "cannot read the file `./tests`")

    def test_text_with_a_mistake(self):
        with tempfile.NamedTemporaryFile("w", suffix=".graph") as file:
            file.write("graph f(x: f32[n]) {\n  return y=expp(x)\n}\n")
            file.flush()
            self.refuses(["explain", file.name], f"{file.name}:2:", "did you mean `exp`?")

    def test_passes(self):
        self.refuses(["explain", SOFTMAX, "--after", "frob"], "no pass called `frob` ran", "fold_views")
        self.refuses(["explain", SOFTMAX, "--after", "simplify:9"], "`simplify` ran 3 times")
        self.refuses(["explain", SOFTMAX, "--skip", "frob"], "there is no pass called `frob` to skip")

    def test_targets(self):
        self.refuses(["explain", SOFTMAX, "--target", "x86-64-v3"], "`--target` is the machine for `--asm`")
        if has_llvm():
            self.refuses(["explain", SOFTMAX, "--asm", "1", "--target", "z80"], "z80", "x86-64-v3")

    def test_sizes(self):
        self.refuses(["explain", SOFTMAX, "--bind", "row=2,depth=3"], "`--bind depth=3`", "there is: ")
        self.refuses(["explain", SOFTMAX, "--bind", "row=2"], "axis `col` is not bound")
        self.refuses(["explain", SOFTMAX, "--bind", "row"], "row")
        self.refuses(["explain", SOFTMAX, "--bind", "row=2,col=-1"], "col")

    def test_steps(self):
        self.refuses(["explain", SOFTMAX, "--kernel", "2"], "there is no step 2", "steps 1 to 1")
        self.refuses(["explain", SOFTMAX, "--kernel", "one"], "`--kernel` takes a number, not `one`")

    def test_options(self):
        self.refuses(["explain", SOFTMAX, "--pases"], "there is no option `--pases`; did you mean `--passes`?")
        self.refuses(["explain", SOFTMAX, "--kernel"], "`--kernel` takes a value")
        self.refuses(["explain", SOFTMAX, "--train=yes"], "`--train` takes no value")
        self.refuses(["explain", SOFTMAX, "--train", "--train"], "`--train` is given twice")
        self.refuses(["explain", SOFTMAX, "--passes", "--kernel", "1"], "cannot be shown at once")


if __name__ == "__main__":
    unittest.main()
