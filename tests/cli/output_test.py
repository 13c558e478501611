"""What the command writes is well formed: JSON of every verb, pictures and plots, scripts for shells, the manual page;
and what only a terminal sees."""

import json
import os
import pty
import re
import shutil
import subprocess
import tempfile
import unittest
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMMAND = os.environ["TENON_COMMAND"]
SVG = "{http://www.w3.org/2000/svg}"
SOFTMAX = "examples/softmax.graph"
SIZES = ["--bind", "row=2,col=9"]
TRAIN = ["mlp", "--epochs", "2", "--examples", "40"]


def tenon(*words):
    run = subprocess.run([COMMAND, *words], capture_output=True, text=True, cwd=ROOT, check=False)
    if run.returncode != 0:
        raise AssertionError(f"{words}: {run.stderr}")
    return run.stdout


def on_a_terminal(*words, **environment):
    """What a terminal is sent, both outputs together."""
    main, side = pty.openpty()
    run = subprocess.Popen([COMMAND, *words], stdout=side, stderr=side, cwd=ROOT,
                           env={**os.environ, "TERM": "xterm", **environment})
    os.close(side)
    text = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:  # the other end is closed
            break
        if not part:
            break
        text += part
    os.close(main)
    run.wait()
    return text.decode()


class Json(unittest.TestCase):
    def test_cores_are_those_that_the_process_may_use(self):
        one = min(os.sched_getaffinity(0))
        run = subprocess.run([COMMAND, "--version", "--json"], capture_output=True, text=True, check=True,
                             preexec_fn=lambda: os.sched_setaffinity(0, {one}))
        self.assertEqual(json.loads(run.stdout)["machine"]["cores"], 1)

    def test_every_verb_prints_one_object(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        program = f"{folder}/softmax.tenon"
        words = {"build": [SOFTMAX, "-o", program], "inspect": [program], "run": [SOFTMAX, *SIZES],
                 "explain": [SOFTMAX, *SIZES], "check": [SOFTMAX, *SIZES],
                 "bench": [SOFTMAX, *SIZES, "--seconds", "0"], "completion": ["bash"], "export": None,
                 "generate": None, "serve": None, "train": TRAIN, "partition": ["mlp"]}
        verbs = json.loads(tenon("help", "--json"))["verbs"]
        self.assertGreater(len(verbs), 10)
        for verb in verbs:
            more = words.get(verb["name"], [])
            if more is not None:
                out = tenon(verb["name"], *more, "--json")
                self.assertEqual(out.count("\n"), 1)
                self.assertIsInstance(json.loads(out), dict, verb["name"])

    def test_examples_of_help_name_options_that_exist(self):
        for verb in json.loads(tenon("help", "--json"))["verbs"]:
            options = {option["name"] for option in verb["options"]}
            examples = tenon("help", verb["name"]).partition("examples:")[2]
            self.assertLessEqual(set(re.findall(r"(?<![\w-])--[a-z-]+", examples)), options, verb["name"])


    def test_help_of_training_names_what_there_is(self):
        for verb in json.loads(tenon("help", "--json"))["verbs"]:
            for option in verb["options"]:
                if option["name"] in ("--loss", "--optimizer") and "|" in option["value"]:
                    words = [verb["name"], "mlp", "--train"] if verb["name"] == "explain" else [verb["name"], "mlp"]
                    run = subprocess.run([COMMAND, *words, option["name"], "none"], capture_output=True, text=True,
                                         check=False)
                    self.assertEqual(run.stderr.partition("there is: ")[2].strip().split(", "),
                                     option["value"].split("|"), verb["name"])


class Places(unittest.TestCase):
    def test_a_program_is_named_after_the_file_of_its_model(self):
        with tempfile.TemporaryDirectory() as folder:
            shutil.copy(ROOT / "examples/softmax.graph", f"{folder}/one.v2.graph")  # the graph in it is called `softmax`
            for model, name in (("one.v2.graph", "one.v2.tenon"), ("./one.v2.graph", "one.v2.tenon"), ("mlp", "mlp.tenon")):
                run = subprocess.run([COMMAND, "build", model, "--json"], capture_output=True, text=True, cwd=folder,
                                     check=True)
                self.assertEqual(json.loads(run.stdout)["file"], name)
                self.assertTrue(Path(folder, name).is_file())

    def test_a_folder_that_was_removed_is_one_error(self):
        for words in (["run", "x.onnx"], ["build", "x.onnx"], ["build", "mlp"], ["partition", "mlp", "--export", "x"]):
            folder = tempfile.mkdtemp()
            run = subprocess.run(["sh", "-c", 'rmdir "$PWD" && exec "$@"', "sh", COMMAND, *words], capture_output=True,
                                 text=True, cwd=folder, check=False)
            self.assertEqual(run.returncode, 1, words)
            self.assertRegex(run.stderr, r"^tenon: (there is no file `x.onnx`|cannot write .*: No such file.*)\n$")


class Pictures(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_losses_of_training_are_lines(self):
        path = self.folder / "curve.svg"
        tenon("train", *TRAIN, "--curve", path)
        root = ElementTree.parse(path).getroot()
        lines = [line.get("points").split() for line in root.iter(f"{SVG}polyline")]
        self.assertEqual([len(points) for points in lines], [2, 2])  # of one step an epoch, and of what is held out

    def test_kernels_are_hulls(self):
        explained = json.loads(tenon("explain", "examples/block.graph", "--dot", str(self.folder / "b.dot"), "--json"))
        dot = (self.folder / "b.dot").read_text()
        self.assertEqual(len(re.findall(r"subgraph cluster_\d+", dot)), len(explained["steps"]))
        for name in ["x", "up", "down", "y"]:
            self.assertIn(f'[label="{name}", shape=ellipse', dot)
        # Every operation of a step is drawn in one hull.
        drawn = re.findall(r'label="(\w+)", tooltip', dot)
        for operation in " ".join(step["operators"] for step in explained["steps"]).split():
            self.assertIn(operation, drawn)

    @unittest.skipUnless(shutil.which("dot"), "Graphviz is not installed")
    def test_laid_out(self):
        tenon("explain", "examples/block.graph", "--svg", str(self.folder / "b.svg"), "--html",
              str(self.folder / "b.html"))
        svg = ElementTree.parse(self.folder / "b.svg").getroot()
        hulls = [group for group in svg.iter(SVG + "g") if group.get("class") == "cluster"]
        page = (self.folder / "b.html").read_text()
        self.assertEqual(len(hulls), page.count('<tr id="step'))
        self.assertIn("<svg", page)

    def test_no_graphviz_is_a_clear_error(self):
        run = subprocess.run([COMMAND, "explain", SOFTMAX, "--svg", self.folder / "x.svg"], capture_output=True, text=True,
                             cwd=ROOT, env={**os.environ, "PATH": str(self.folder)}, check=False)
        self.assertEqual(run.returncode, 1)
        self.assertIn("needs Graphviz's program `dot`", run.stderr)

    def test_plot(self):
        tenon("bench", SOFTMAX, "--sweep", "row=1,2", "--sweep", "col=1,10,100", "--seconds", "0", "--svg",
              str(self.folder / "p.svg"))
        svg = ElementTree.parse(self.folder / "p.svg").getroot()
        lines = list(svg.iter(SVG + "polyline"))
        self.assertEqual(len(lines), 2 * 2 + 2)  # latency: steady and first for each row; throughput: steady
        for line in lines:
            self.assertEqual(len(line.get("points").split()), 3)

    def test_trace(self):
        tenon("run", SOFTMAX, *SIZES, "--trace", str(self.folder / "t.json"))
        trace = json.loads((self.folder / "t.json").read_text())
        self.assertTrue(any(event["ph"] == "X" for event in trace["traceEvents"]))


class Scripts(unittest.TestCase):
    def test_bash_completes(self):
        complete = ('source /dev/stdin <<<"$SCRIPT"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tenon; '
                    'printf "%s\\n" "${COMPREPLY[@]}"')
        def offered(*words):
            run = subprocess.run(["bash", "-c", complete, "_", *words], capture_output=True, text=True, cwd=ROOT,
                                 env={**os.environ, "SCRIPT": tenon("completion", "bash")}, check=False)
            self.assertEqual(run.stderr, "")
            return run.stdout.split()
        self.assertEqual(offered("tenon", "ex"), ["explain", "export"])
        self.assertEqual(offered("tenon", "run", "resnet"), ["resnet18", "resnet50"])
        self.assertEqual(offered("tenon", "run", "mlp", "--th"), ["--threads"])
        self.assertEqual(offered("tenon", "completion", "z"), ["zsh"])
        self.assertEqual(offered("tenon", "run", "examples/softmax.g"), [SOFTMAX])
        self.assertEqual(offered("tenon", "run", "mlp", "--output", "exam"), ["examples"])

    def test_every_verb_and_option_is_in_all_of_them(self):
        texts = [tenon("completion", shell) for shell in ("bash", "zsh", "fish")]
        page = tenon("man").replace("\\-", "-")
        for verb in json.loads(tenon("help", "--json"))["verbs"]:
            self.assertIn(f".SS {verb['name']}\n", page)
            for option in verb["options"]:
                for text in texts:
                    self.assertIn(option["name"][2:], text)
                self.assertIn(option["name"], page)

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_manual_page_has_no_mistakes(self):
        run = subprocess.run(["groff", "-man", "-Tascii", "-ww"], input=tenon("man"), capture_output=True, text=True,
                             check=False)
        self.assertEqual((run.returncode, run.stderr), (0, ""))
        self.assertIn("compile a model once, run it at every shape", re.sub(".\x08", "", run.stdout))


class Terminal(unittest.TestCase):
    def test_build_shows_how_far_it_is(self):
        with tempfile.TemporaryDirectory() as folder:
            shown = on_a_terminal("build", SOFTMAX, "-o", f"{folder}/softmax.tenon", "--no-cache")
            for what in ("loading", "scheduling for", "compiling for", "writing: "):
                self.assertIn(what, shown)

    def test_colours_and_progress_are_for_terminals(self):
        self.assertNotIn("\x1b", tenon("run", SOFTMAX, *SIZES))
        shown = on_a_terminal("run", SOFTMAX, *SIZES, "--no-cache")
        self.assertIn("\x1b[1msoftmax.graph\x1b[0m", shown)
        self.assertIn("compiling", shown)

    def test_training_shows_where_it_is(self):
        self.assertNotIn("step 1 of 1", tenon("train", *TRAIN))
        self.assertIn("step 2 of 2, epoch 2 of 2, loss ", on_a_terminal("train", *TRAIN))

    def test_texts_of_files_are_no_commands(self):
        with tempfile.TemporaryDirectory() as folder:
            program = f"{folder}/softmax.tenon"
            tenon("build", SOFTMAX, "-o", program, "--metadata", "a\x1b[31m=red\n  b = 2", "--metadata",
                  b"c=caf\xc3\xa9 \xff \xe2\x80\xae \xc2\x9b1m")
            lines = tenon("inspect", program).splitlines()
            self.assertIn(r"  a\x1b[31m = red\n  b = 2", lines)
            self.assertIn(r"  c = café \xff \u202e \u009b1m", lines)
            self.assertIn("red\n  b = 2", json.loads(tenon("inspect", program, "--json"))["metadata"].values())
            run = subprocess.run([COMMAND, "run", f"{folder}/\x1b[31m.onnx"], capture_output=True, text=True, check=False)
            self.assertEqual((run.returncode, run.stdout), (1, ""))
            self.assertIn(r"\x1b[31m.onnx", run.stderr)
            self.assertNotIn("\x1b", run.stderr)

    def test_no_color(self):
        self.assertNotIn("\x1b[1m", on_a_terminal("run", SOFTMAX, *SIZES, NO_COLOR="1"))


if __name__ == "__main__":
    unittest.main()
