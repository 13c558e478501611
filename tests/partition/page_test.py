"""A page of 5,000 operators opens, draws them all, scrolls and answers clicks, in headless Chromium.

Skipped where there is no `chromium`. TENON_COMMAND names the command; TENON_SCREENSHOT may name a file .png to look at.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

COMMAND = os.environ["TENON_COMMAND"]
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
OPERATORS = 5000


def long_graph(blocks):
    """Residual blocks of five operators each, on rows of four."""
    lines, last = ["graph tall(x: f32[n, 4], w: f32[4, 4]) {"], "x"
    for i in range(blocks):
        lines += [f"  a{i} = matmul({last}, w)", f"  b{i} = relu(a{i})", f"  c{i} = matmul(b{i}, w)",
                  f"  d{i} = add(c{i}, {last})", f"  e{i} = tanh(d{i})"]
        last = f"e{i}"
    return "\n".join([*lines, f"  return y={last}", "}", ""])


class Browser:
    """Speaks Chromium's debugging protocol over a pair of pipes: no package is needed."""

    def __init__(self, folder):
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                   "--remote-debugging-pipe", f"--user-data-dir={folder}", "--window-size=1500,1000"]
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", CHROMIUM, *options], pass_fds=(to_read, to_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.count, self.rest, self.session = 0, b"", None
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def message(self):
        while b"\0" not in self.rest:
            more = os.read(self.read, 1 << 20)
            if not more:
                raise RuntimeError("chromium ended")
            self.rest += more
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method, **parameters):
        self.count += 1
        request = {"id": self.count, "method": method, "params": parameters}
        if self.session:
            request["sessionId"] = self.session
        os.write(self.write, json.dumps(request).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.count:
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return answer["result"]

    def open(self, path):
        self.call("Page.navigate", url=path.as_uri())
        for _ in range(600):
            if self.value(f"location.href === {json.dumps(path.as_uri())} && document.readyState") == "complete":
                return
            time.sleep(0.1)
        raise RuntimeError("the page does not come to an end")

    def value(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def close(self):
        os.close(self.write)
        os.close(self.read)
        self.process.terminate()
        self.process.wait(timeout=30)


FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"


@unittest.skipIf(CHROMIUM is None, "needs chromium")
class Page(unittest.TestCase):
    def test_thousands_of_operators_open_scroll_and_answer(self):
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            folder = Path(name)
            (folder / "tall.graph").write_text(long_graph(OPERATORS // 5))
            subprocess.run([COMMAND, "partition", folder / "tall.graph", "--bind", "n=8", "--html", folder / "page.html"],
                           check=True, capture_output=True)
            browser = Browser(folder / "profile")
            try:
                browser.open(folder / "page.html")
                self.assertEqual(browser.value("document.querySelectorAll('.op').length"), OPERATORS)
                parts = browser.value("data.plans[0].parts.length")
                self.assertEqual(browser.value("document.querySelectorAll('.part').length"), parts)
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
                    image = browser.call("Page.captureScreenshot", format="png")["data"]
                    Path(os.environ["TENON_SCREENSHOT"]).write_bytes(base64.b64decode(image))
            finally:
                browser.close()


if __name__ == "__main__":
    unittest.main()
