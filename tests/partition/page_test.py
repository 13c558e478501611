"""A page of 5,000 operators opens, draws them all, scrolls and answers clicks, in headless Chromium.

Skipped where there is no `chromium`. TENON_COMMAND names the command; TENON_SCREENSHOT may name a file .png to look at.
"""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
sys.path.insert(0, str(Path(__file__).parents[1] / "cli"))
from browser import CHROMIUM, FRAME, Browser
from page_models import long_chain

COMMAND = os.environ["TENON_COMMAND"]
OPERATORS = 5000


@unittest.skipIf(CHROMIUM is None, "needs chromium")
class Page(unittest.TestCase):
    def test_thousands_of_operators_open_scroll_and_answer(self):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            folder = Path(name)
            (folder / "tall.graph").write_text(long_chain(OPERATORS // 5))
            subprocess.run([COMMAND, "partition", folder / "tall.graph", "--bind", "n=8", "--html", folder / "page.html"],
                           check=True, capture_output=True)
            browser = Browser(folder / "profile")
            try:
                browser.open(folder / "page.html")
                self.assertEqual(browser.value("document.querySelectorAll('.op').length"), OPERATORS)
                parts = browser.value("data.plans[0].parts.length")
                self.assertEqual(browser.value("document.querySelectorAll('.part .hull').length"), parts)
                view = "document.querySelector('.graph')"
                height = browser.value(f"{view}.scrollHeight - {view}.clientHeight")
                self.assertGreater(height, 1000)
                begin = browser.value(FRAME)
                for step in range(1, 11):
                    browser.value(f"{view}.scrollTop = {height} * {step} / 10")
                    end = browser.value(FRAME)
                self.assertGreaterEqual(browser.value(f"{view}.scrollTop"), height - 2)
                self.assertLess(end - begin, 20_000)  # milliseconds, on a machine with neighbours
                browser.value(f"""document.querySelector('.part[data-part="{parts - 1}"] rect')
                                  .dispatchEvent(new MouseEvent('click', {{bubbles: true}}))""")
                self.assertIn(f"Part {parts} on", browser.value("document.getElementById('detail').textContent"))
                if "TENON_SCREENSHOT" in os.environ:
                    browser.value("window.scrollTo(0, document.body.scrollHeight)")
                    browser.value(FRAME)
                    browser.picture(Path(os.environ["TENON_SCREENSHOT"]))
            finally:
                browser.close()


if __name__ == "__main__":
    unittest.main()
