"""Chromium without a window, asked over a pipe: what a page requests, says on the console, looks like and does."""

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

OPTIONS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--no-first-run", "--disable-extensions",
    "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
)  # fmt: skip


# The browser reads from 3 and writes to 4.
START = """
import os, sys
first, second = (os.dup(int(pipe)) for pipe in sys.argv[1:3])
for pipe, place in ((first, 3), (second, 4)):
    os.dup2(pipe, place)
    os.set_inheritable(place, True)
os.execv(sys.argv[3], sys.argv[3:])
"""


class Browser:
    """One page at a time, by the DevTools protocol: messages are JSON that ends with a zero byte.

    requests: addresses that the page asked for; complaints: errors and warnings on the console, and uncaught ones.
    """

    def __init__(self):
        self.profile = tempfile.TemporaryDirectory()
        read, child_write = os.pipe()
        child_read, write = os.pipe()

        command = [sys.executable, "-c", START, str(child_read), str(child_write), CHROMIUM, *OPTIONS]
        self.process = subprocess.Popen(
            [*command, f"--user-data-dir={self.profile.name}", "about:blank"],
            pass_fds=(child_read, child_write),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(child_read)
        os.close(child_write)
        self.input, self.output = os.fdopen(write, "wb"), os.fdopen(read, "rb")
        self.count, self.rest, self.session = 0, b"", None
        self.requests, self.complaints, self.loaded = [], [], False
        target = next(t for t in self("Target.getTargets")["targetInfos"] if t["type"] == "page")["targetId"]
        self.session = self("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Runtime", "Log"):
            self(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.session = None
        self("Browser.close")
        self.process.wait()
        self.input.close()
        self.output.close()
        self.profile.cleanup()

    def __call__(self, method, **params):
        """Ask, and wait for the answer; what happens meanwhile is noted."""
        self.count += 1
        message = {"id": self.count, "method": method, "params": params}
        self.input.write(json.dumps(message | ({"sessionId": self.session} if self.session else {})).encode() + b"\0")
        self.input.flush()
        while (answer := self._next()).get("id") != self.count:
            self._note(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def _next(self):
        while b"\0" not in self.rest:
            more = os.read(self.output.fileno(), 1 << 20)
            if not more:
                raise RuntimeError("The browser has gone.")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event):
        params = event.get("params", {})
        match event.get("method"):
            case "Network.requestWillBeSent":
                self.requests.append(params["request"]["url"])
            case "Runtime.exceptionThrown":
                self.complaints.append(params["exceptionDetails"]["text"])
            case "Runtime.consoleAPICalled" if params["type"] in ("error", "warning", "assert"):
                self.complaints.append(str([argument.get("value") for argument in params["args"]]))
            case "Log.entryAdded" if params["entry"]["level"] in ("error", "warning"):
                self.complaints.append(params["entry"]["text"])
            case "Page.loadEventFired":
                self.loaded = True

    def open(self, path, width=1280, height=900, dark=False, paper=False, phone=False):
        """Open a file in a window of this size."""
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self("Emulation.setEmulatedMedia", media="print" if paper else "", features=features)
        size = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self("Emulation.setDeviceMetricsOverride", **size)
        self.requests, self.complaints, self.loaded = [], [], False
        self("Page.navigate", url=Path(path).absolute().as_uri())
        while not self.loaded:
            self._note(self._next())

    def ask(self, script):
        """The value of an expression of JavaScript in the page."""
        answer = self("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(answer["exceptionDetails"]["exception"].get("description"))
        return answer["result"].get("value")

    def press(self, key, code, text=""):
        """Press a key in the element that has the focus."""
        options = {"key": key, "code": key, "windowsVirtualKeyCode": code, "text": text}
        self("Input.dispatchKeyEvent", type="keyDown", **options)
        self("Input.dispatchKeyEvent", type="keyUp", **options)

    def picture(self, path):
        """Keep the whole page as a PNG."""
        taken = self("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        Path(path).write_bytes(base64.b64decode(taken["data"]))

    def print(self, path):
        """Keep the page as a PDF, as it would be printed on A4."""
        made = self("Page.printToPDF", printBackground=False, paperWidth=8.27, paperHeight=11.69)
        Path(path).write_bytes(base64.b64decode(made["data"]))
