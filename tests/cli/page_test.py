"""The page of `tenon explain --html`: one file without network, tried in a browser where Chromium is installed."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

COMMAND = os.environ["TENON_COMMAND"]
BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Runs behind the page's own script; what it finds is left where --dump-dom shows it.
PROBE = """<script>{
const found = {};
const rows = [...document.querySelectorAll("tr.step")];
const key = k => document.dispatchEvent(new KeyboardEvent("keydown", { key: k, bubbles: true }));
found.rows = rows.length;
found.hulls = document.querySelectorAll("#view g.cluster").length;
found.memory = !document.getElementById("memory").hidden;
found.stretches = [...new Set([...document.querySelectorAll("#run rect.stretch")].map(r => +r.dataset.step))];
found.run = document.getElementById("run").textContent;
found.sizes = document.getElementById("sizes").textContent;
rows[0].click();
found.chosen = document.querySelectorAll("tr.chosen").length;
found.detail = document.getElementById("detail").textContent;
key("n");
found.next = location.hash;
const search = document.getElementById("search");
search.value = data.steps[1].operators;
search.dispatchEvent(new Event("input"));
found.shown = rows.filter(r => !r.hidden).map(r => r.id);
found.said = document.getElementById("found").textContent;
search.value = "no such thing";
search.dispatchEvent(new Event("input"));
found.none = rows.filter(r => !r.hidden).length;
search.value = "";
search.dispatchEvent(new Event("input"));
found.all = rows.filter(r => !r.hidden).length;
const inside = document.querySelector("#view g.node.inside");
document.getElementById("fold").click();
found.folded = getComputedStyle(inside).display;
document.getElementById("fold").click();
found.unfolded = getComputedStyle(inside).display;
const svg = document.querySelector("#view > svg"), width = () => svg.viewBox.baseVal.width;
document.getElementById("fit").click();
const whole = width();
document.getElementById("in").click();
found.zoomed = width() < whole;
key("0");
found.fitted = width() === whole;
const ground = () => getComputedStyle(document.body).backgroundColor, before = ground();
document.getElementById("theme").click();
found.themes = ground() !== before;
// Labels of a chart may not lie on one another.
found.overlaps = [...document.querySelectorAll("svg.chart")].flatMap(chart => {
  const boxes = [...chart.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
  return boxes.flatMap(([a, x], i) => boxes.slice(i + 1).filter(([, y]) => x.left < y.right && y.left < x.right && x.top < y.bottom && y.top < x.bottom).map(([b]) => a + " on " + b));
});
found.wide = document.documentElement.scrollWidth > innerWidth + 1;
document.body.append(Object.assign(document.createElement("pre"), { id: "probe", textContent: JSON.stringify(found) }));
}</script></body>"""


@unittest.skipUnless(shutil.which("dot"), "Graphviz, which lays the picture out, is not installed")
class Page(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
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
        self.assertTrue(all("www.w3.org" in each or "graphviz" in each for each in addresses), addresses)
        self.assertNotRegex(self.html, r"<script[^>]+src=|<link[^>]+href=|@import|fetch\(")

    def test_has_what_json_has(self):
        data = json.loads(re.search(r"const data = (.*);\n", self.html).group(1))
        self.assertEqual(data["model"], "mlp")
        self.assertEqual(len(data["steps"]), len(data["loops"]))
        self.assertIn("kernel", data["loops"][0])
        self.assertEqual(data["bindings"], "batch=8")
        self.assertGreater(data["timeline"]["arena_bytes"], 0)

    @unittest.skipUnless(BROWSER, "Chromium is not installed")
    def test_answers_in_a_browser(self):
        probed = self.folder / "probed.html"
        cut = self.html.rindex("</body>")
        probed.write_text(self.html[:cut] + PROBE + self.html[cut + len("</body>"):], encoding="utf-8")
        for width in (420, 1000, 1600):
            with self.subTest(width=width):
                run = subprocess.run(
                    [BROWSER, "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
                     f"--user-data-dir={self.folder}/browser", f"--window-size={width},900",
                     "--virtual-time-budget=2000", "--dump-dom", probed.as_uri()],
                    capture_output=True, text=True, timeout=300, check=False)
                self.assertNotIn("CONSOLE", run.stderr)
                match = re.search(r'<pre id="probe">(.*?)</pre>', run.stdout, re.DOTALL)
                self.assertIsNotNone(match, run.stderr)
                self.look_at(json.loads(match.group(1).replace("&gt;", ">").replace("&lt;", "<").replace("&amp;", "&")))

    def look_at(self, found):
        self.assertEqual(found["rows"], 3)
        self.assertEqual(found["hulls"], 3)
        self.assertTrue(found["memory"])
        self.assertIn(1, found["stretches"])
        self.assertIn("at steps", found["run"])
        self.assertIn("batch=8", found["sizes"])
        self.assertEqual(found["chosen"], 1)
        self.assertIn("ends here", found["detail"])
        self.assertIn("loops", found["detail"])
        self.assertEqual(found["next"], "#step2")
        self.assertIn("row2", found["shown"])
        self.assertIn("step", found["said"])
        self.assertEqual((found["none"], found["all"]), (0, 3))
        self.assertEqual(found["folded"], "none")
        self.assertNotEqual(found["unfolded"], "none")
        self.assertTrue(found["zoomed"] and found["fitted"] and found["themes"])
        self.assertEqual(found["overlaps"], [])
        self.assertFalse(found["wide"], "the page is wider than the window")


if __name__ == "__main__":
    unittest.main()
