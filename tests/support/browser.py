"""Headless Chromium, driven over its debugging protocol by a pair of pipes: no package is needed."""

import base64
import json
import os
import shutil
import subprocess
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")

# Two frames later, so that what changed has been drawn.
FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(performance.now()))))"


class Browser:
    """One tab. What pages write to the console as errors is in `complaints`."""

    def __init__(self, folder, width=1500, height=1000):
        to_read, self.write = os.pipe()
        self.read, to_write = os.pipe()
        shell = f'exec "$@" 3<&{to_read} 4>&{to_write}'
        options = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars",
                   "--remote-debugging-pipe", f"--user-data-dir={folder}", f"--window-size={width},{height}"]
        self.process = subprocess.Popen(["bash", "-c", shell, "bash", CHROMIUM, *options], pass_fds=(to_read, to_write),
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.count, self.rest, self.session, self.complaints = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

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
            self.listen(answer)

    def listen(self, event):
        said, method = event.get("params", {}), event.get("method")
        if method == "Runtime.exceptionThrown":
            self.complaints.append(said["exceptionDetails"].get("exception", {}).get("description", "an exception"))
        elif method == "Runtime.consoleAPICalled" and said["type"] in ("error", "warning"):
            self.complaints.append(" ".join(str(a.get("value")) for a in said["args"]))
        elif method == "Log.entryAdded" and said["entry"]["level"] in ("error", "warning"):
            self.complaints.append(said["entry"]["text"])

    def show(self, width, height, dark=False, media=""):
        """The size of the window, the user's theme, and `print` or the screen."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.call("Emulation.setEmulatedMedia", media=media, features=features)

    def open(self, path, fragment=""):
        address = path.as_uri() + fragment
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=address)
        for _ in range(1200):
            if self.value(f"location.href.startsWith({json.dumps(path.as_uri())}) && document.readyState") == "complete":
                return
            time.sleep(0.05)
        raise RuntimeError("the page does not come to an end")

    def value(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"])
        return answer["result"].get("value")

    def picture(self, path, whole=False):
        """A screenshot as PNG, of the window or of the whole page."""
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)["data"]
        path.write_bytes(base64.b64decode(image))

    def close(self):
        os.close(self.write)
        os.close(self.read)
        self.process.terminate()
        self.process.wait(timeout=30)
