"""Pages of well-known models, and of a program of 2,000 steps, in a browser: at three widths, dark and light. Skipped where
Chromium is not installed. TENON_SCREENSHOTS may name a folder for pictures to look at."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parent))
from browser import CHROMIUM, FRAME, Browser
from page_models import detr, googlenet, long_chain

COMMAND = os.environ["TENON_COMMAND"]
PROBE = "".join((Path(__file__).parent / f"{name}_probe.js").read_text(encoding="utf-8") for name in ("chart", "page"))
PICTURES = os.environ.get("TENON_SCREENSHOTS")
VIEWS = ((420, False), (420, True), (1000, False), (1000, True), (1600, False), (1600, True))


@unittest.skipUnless(CHROMIUM, "Chromium is not installed")
class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        cls.addClassCleanup(folder.cleanup)
        cls.folder = Path(folder.name)
        cls.browser = Browser(cls.folder / "browser")
        cls.addClassCleanup(cls.browser.close)

    def page(self, name, model, *options):
        if model.startswith("graph "):
            path = self.folder / f"{name}.graph"
            path.write_text(model, encoding="utf-8")
            model = path
        page = self.folder / f"{name}.html"
        run = subprocess.run([COMMAND, "explain", model, *options, "--html", page], capture_output=True, text=True, check=False)
        self.assertEqual(run.returncode, 0, run.stderr)
        return page

    def check(self, name, page):
        self.browser.complaints.clear()
        for width, dark in VIEWS:
            with self.subTest(name=name, width=width, dark=dark):
                self.browser.show(width, 900, dark)
                self.browser.open(page)
                self.browser.value(FRAME)
                self.keep(f"{name}_{width}_{'dark' if dark else 'light'}")
                found = self.browser.value(PROBE)
                self.assertEqual(found["overlaps"], [])
                self.assertEqual(found.get("inside", []), [])
                self.assertEqual(found["misled"], [])
                self.assertFalse(found["wide"], "the page is wider than the window")
                self.assertFalse(found["table"], "the table is wider than the page")
                self.assertFalse(found["covered"], "the small map lies on the picture")
                self.assertEqual(found["chosen"], 1)
                self.assertTrue(found["clicked"] and found["zoomed"] and found["fitted"] and found["themes"])
                self.assertGreater(len(found["shown"]), 0)
                self.assertEqual((found["none"], found["all"]), (0, found["rows"]))
                self.assertGreater(found["hits"], 0)
                if found["modules"]:
                    self.assertTrue(found["folds"] and found["unfolds"] and found["revealed"])
        self.assertEqual(self.browser.complaints, [])
        return found

    def keep(self, name):
        if PICTURES:
            self.browser.picture(Path(PICTURES) / f"{name}.png")

    def test_googlenet(self):
        found = self.check("googlenet", self.page("googlenet", googlenet(), "--bind", "batch=1"))
        self.assertIn("inception4a", found["modules"])
        self.assertTrue(found["ports"]["x"] and found["ports"]["logits"], found["ports"])

    def test_bert(self):
        found = self.check("bert_base", self.page("bert_base", "bert_base", "--bind", "batch=1,seq=16"))
        self.assertTrue(any("11" in module for module in found["modules"]), found["modules"])

    def test_unet(self):
        found = self.check("unet", self.page("unet", "unet", "--bind", "batch=1,rows=32,columns=32"))
        self.assertTrue(found["ports"]["image"], found["ports"])
        # What a module reads of far above pulls it to no side.
        centres = self.browser.value("""items.forEach(i => { i.open = i.open || i.kind === "module"; }); refold(items, null);
            ["level.3", "level.0"].map(name => places.get(items.find(i => i.kind === "module" && i.label === name))).map(p => p.x + p.w / 2)""")
        self.assertLess(abs(centres[0] - centres[1]), 40, centres)

    def test_detr(self):
        found = self.check("detr", self.page("detr", detr(), "--bind", "batch=2"))
        self.assertIn("decoder", found["modules"])
        self.assertEqual(found["turned"], 0, "the decoder stands below the encoder, which it reads")

    def test_a_training_step(self):
        page = self.page("resnet18_train", "resnet18", "--train", "--bind", "batch=2,height=32,width=32")
        found = self.check("resnet18_train", page)
        self.assertGreater(found["turned"], 0, "what leads back through the modules points up")
        self.browser.show(1500, 950)
        self.browser.open(page)
        self.browser.value(FRAME)
        # The first view has the inputs at the top, and is at most half as wide as the picture.
        self.assertEqual(self.browser.value("box.y"), 0)
        self.assertTrue(self.browser.value("(p => p.x >= box.x && p.x + p.w <= box.x + box.w && p.y < 20)(places.get(items.find(i => i.label === 'image')))"))
        self.assertLessEqual(self.browser.value("whole.w"), 2 * self.browser.value("svg.clientWidth"))

    def test_two_thousand_steps(self):
        page = self.page("tall", long_chain(400), "--no-fuse")
        self.browser.show(1500, 1000)
        self.browser.open(page)
        self.browser.value(FRAME)
        self.assertEqual(self.browser.value("steps.length"), 2000)
        painted = self.browser.value("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        if PICTURES:
            print(f"first paint of 2,000 steps: {painted:.0f} ms")
        self.keep("tall_1500_light")
        # All of it unfolded is drawn, and can be moved and searched.
        self.browser.value("if (!items.some(i => i.kind === 'module' && i.open)) foldAll('module'); 0")
        self.assertEqual(self.browser.value("document.querySelectorAll('#picture g.step').length"), 2000)
        self.browser.value("choose(1999, true); 0")
        self.browser.value(FRAME)
        self.assertEqual(self.browser.value("document.querySelectorAll('#picture g.step.chosen').length"), 1)
        self.browser.value("needRows(steps.length); 0")
        self.assertEqual(self.browser.value("document.querySelectorAll('tr.step').length"), 2000)
        self.assertEqual(self.browser.complaints, [])

    def test_prints(self):
        page = self.page("print", "mlp", "--bind", "batch=8")
        self.browser.show(800, 1100, media="print")
        self.browser.open(page)
        self.browser.value(FRAME)
        self.keep("print_800")
        hidden = "getComputedStyle(document.querySelector('.bar-of-tools')).display"
        self.assertEqual(self.browser.value(hidden), "none")
        self.assertGreater(self.browser.value("document.getElementById('picture').getBoundingClientRect().height"), 300)
        self.assertEqual(self.browser.value("[...document.querySelectorAll('tr.step')].every(r => r.offsetHeight > 0)"), True)
        self.browser.show(1500, 1000)


if __name__ == "__main__":
    unittest.main()
