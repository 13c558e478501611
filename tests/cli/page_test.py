"""The page of `tenon explain --html`: one file without network, tried in a browser where Chromium is installed."""

import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from browser import CHROMIUM, FRAME, Browser

COMMAND = os.environ["TENON_COMMAND"]
PROBE = "".join((Path(__file__).parent / f"{name}_probe.js").read_text(encoding="utf-8") for name in ("chart", "page"))


class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.path = cls.folder / "page.html"
        run = subprocess.run([COMMAND, "explain", "mlp", "--bind", "batch=8", "--html", cls.path],
                             capture_output=True, text=True, check=False,
                             env={**os.environ, "XDG_CACHE_HOME": str(cls.folder)})
        assert run.returncode == 0, run.stderr
        cls.html = cls.path.read_text(encoding="utf-8")

    def test_is_one_file_without_network(self):
        addresses = set(re.findall(r"https?://[^\s\"'<>]+", self.html))
        self.assertTrue(all("www.w3.org" in each for each in addresses), addresses)
        self.assertNotRegex(self.html, r"<script[^>]+src=|<link[^>]+href=|@import|fetch\(")

    def test_has_what_json_has(self):
        data = json.loads(re.search(r"const data = (.*);\n", self.html).group(1))
        self.assertEqual(data["model"], "mlp")
        self.assertEqual(len(data["steps"]), len(data["loops"]))
        self.assertIn("kernel", data["loops"][0])
        self.assertEqual(data["bindings"], "batch=8")
        self.assertGreater(data["timeline"]["arena_bytes"], 0)
        self.assertEqual([size["bindings"] for size in data["stats"]["sizes"]], [{"batch": 8}])  # not those of curves
        steps = {node.get("step") for node in data["graph"]["nodes"]}
        self.assertLessEqual({1, 2, 3}, steps)
        self.assertNotIn("broadcast", {node["label"] for node in data["graph"]["nodes"]})  # biases lead to their sums
        self.assertTrue(all(0 <= a < b < len(data["graph"]["nodes"]) for a, b in data["graph"]["edges"]))

    def lead_of(self, page):
        return re.search(r'<p class="lead">([^<]*)</p>', page).group(1)

    def test_needs_no_graphviz(self):
        run = subprocess.run([COMMAND, "explain", "examples/softmax.graph", "--html", self.folder / "other.html"],
                             capture_output=True, text=True, check=False, env={**os.environ, "PATH": "/nowhere"})
        self.assertEqual(run.returncode, 0, run.stderr)
        page = (self.folder / "other.html").read_text(encoding="utf-8")
        self.assertIn("<title>softmax.graph</title>", page)
        self.assertEqual(self.lead_of(page), "1 step")  # nothing was compiled

    def test_says_for_which_machine_it_is(self):
        run = subprocess.run([COMMAND, "explain", "mlp", "--bind", "batch=2", "--machine", "armv8.2", "--html",
                              self.folder / "arm.html"], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        page = (self.folder / "arm.html").read_text(encoding="utf-8")
        self.assertEqual(self.lead_of(page), "3 steps; for armv8.2; at batch=2")

    @unittest.skipUnless(CHROMIUM, "Chromium is not installed")
    def test_answers_in_a_browser(self):
        browser = Browser(self.folder / "browser")
        self.addCleanup(browser.close)
        for width, dark in ((420, False), (1000, True), (1600, False)):
            with self.subTest(width=width, dark=dark):
                browser.show(width, 900, dark)
                browser.open(self.path)
                browser.value(FRAME)
                self.look_at(browser.value(PROBE))
        self.assertEqual(browser.complaints, [])

    def look_at(self, found):
        self.assertEqual(found["rows"], 3)
        self.assertTrue(found["memory"])
        self.assertIn(1, found["threads"])
        self.assertIn("at steps", found["run"])
        self.assertIn("batch=8", found["sizes"])
        self.assertEqual((found["chosen"], found["marked"]), (1, 1))
        for part in ("ends here", "loops", "read by", "roofline"):
            self.assertIn(part, found["detail"])
        self.assertEqual(found["next"], "#step2")
        self.assertTrue(found["clicked"])
        self.assertIn("row2", found["shown"])
        self.assertGreater(found["hits"], 0)
        self.assertIn("step", found["said"])
        self.assertEqual((found["none"], found["all"]), (0, 3))
        self.assertTrue(found["operators"] and found["zoomed"] and found["fitted"] and found["themes"])
        self.assertEqual((found["overlaps"], found["inside"], found["misled"]), ([], [], []))
        self.assertTrue(found["ports"]["x"] and found["ports"]["logits"], found["ports"])
        self.assertFalse(found["wide"], "the page is wider than the window")
        self.assertFalse(found["covered"], "the small map lies on the picture")

    @unittest.skipUnless(CHROMIUM, "Chromium is not installed")
    def test_a_model_without_steps_shows_its_inputs_and_outputs(self):
        model = self.folder / "same.graph"
        model.write_text("graph same(x: f32[n, 8]) {\n  return y=x\n}\n", encoding="utf-8")
        page = self.folder / "same.html"
        run = subprocess.run([COMMAND, "explain", model, "--bind", "n=2", "--html", page], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertIn("at n=2", self.lead_of(page.read_text(encoding="utf-8")))
        browser = Browser(self.folder / "same")
        self.addCleanup(browser.close)
        browser.open(page)
        browser.value(FRAME)
        self.assertEqual(browser.value("[...document.querySelectorAll('#picture text:not(.small)')].map(t => t.textContent)"), ["x", "y"])
        self.assertEqual(browser.value("document.querySelectorAll('#picture path.edge').length"), 1)
        self.assertEqual(browser.complaints, [])

    @unittest.skipUnless(CHROMIUM, "Chromium is not installed")
    def test_charts_of_a_plan_that_was_run(self):
        page = self.folder / "plan.html"
        run = subprocess.run([COMMAND, "partition", "small_cnn", "--profile", "host", "--fuse", "compiler", "--run", "--html", page],
                             capture_output=True, text=True, check=False, env={**os.environ, "XDG_CACHE_HOME": str(self.folder)})
        self.assertEqual(run.returncode, 0, run.stderr)
        browser = Browser(self.folder / "plan")
        self.addCleanup(browser.close)
        for width, dark in ((420, False), (1000, True), (1600, False)):
            with self.subTest(width=width, dark=dark):
                browser.show(width, 900, dark)
                browser.open(page)
                browser.value(FRAME)
                found = browser.value(PROBE.split("(async")[0] + """({ faults: chartFaults(), said: document.body.textContent,
                    points: document.querySelectorAll("#roofline circle").length, parts: data.plans[0].parts.length })""")
                self.assertEqual(found["faults"], [])
                self.assertEqual(found["points"], 2 * found["parts"])  # measured, and estimated beside it
                for words in ("points measured, rings estimated", "FLOPs a second", "conv1 "):
                    self.assertIn(words, found["said"])
        self.assertEqual(browser.complaints, [])

    @unittest.skipUnless(CHROMIUM, "Chromium is not installed")
    def test_marks_the_loop_that_computes_most(self):
        data = json.loads(re.search(r"const data = (.*);\n", self.html).group(1))
        if not any(data["assembly"]):
            self.skipTest("this build has no assembly")
        browser = Browser(self.folder / "marks")
        self.addCleanup(browser.close)
        browser.open(self.path)
        step = next(i for i, code in enumerate(data["assembly"]) if code and code.get("hot"))
        found = browser.value(f"choose({step + 1}, true); [...document.querySelectorAll('#detail mark')].map(m => m.textContent)")
        first, last = data["assembly"][step]["hot"]
        lines = data["assembly"][step]["text"].split("\n")[first : last + 1]
        self.assertEqual(found, ["".join(f"\u2503 {line}\n" for line in lines)])


if __name__ == "__main__":
    unittest.main()
