"""Chromium without a window, driven through a pair of pipes with its own protocol (CDP): no package is needed."""

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]


def find():
    """The path of a Chromium, or None."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


def without_network():
    """The beginning of a command that runs the rest where there is no network; empty where the system forbids it."""
    prefix = ["unshare", "--user", "--map-root-user", "--net"]
    try:
        allowed = subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL).returncode == 0
    except FileNotFoundError:
        allowed = False
    return prefix if allowed else []


class Browser:
    """One tab. What the page says on the console, throws, violates or asks the network for is kept."""

    def __init__(self, path, prefix):
        self._profile = tempfile.mkdtemp()
        to_browser, self._out = os.pipe()
        self._in, from_browser = os.pipe()

        def connect():  # Chromium reads commands from descriptor 3 and answers on 4
            os.dup2(to_browser, 13)
            os.dup2(from_browser, 14)
            os.dup2(13, 3)
            os.dup2(14, 4)

        self._process = subprocess.Popen(
            [*prefix, path, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--remote-debugging-pipe", "--no-first-run", "--disable-background-networking", "--disable-sync",
             "--disable-component-update", "--host-resolver-rules=MAP * ~NOTFOUND",
             f"--user-data-dir={self._profile}", "about:blank"],
            preexec_fn=connect, close_fds=False, start_new_session=True, stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_browser)
        os.close(from_browser)
        self._buffer = b""
        self._number = 0
        self._session = None
        self._loaded = False
        self.messages = []
        self.requests = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def close(self):
        os.killpg(self._process.pid, signal.SIGKILL)  # it has helpers
        self._process.wait()
        os.close(self._out)
        os.close(self._in)
        # A helper that is not quite dead may still make a file there.
        end = time.monotonic() + 60
        while os.path.exists(self._profile):
            shutil.rmtree(self._profile, ignore_errors=time.monotonic() < end)

    def _next(self):
        while b"\0" not in self._buffer:
            piece = os.read(self._in, 1 << 20)
            if not piece:
                raise RuntimeError("Chromium ended")
            self._buffer += piece
        message, self._buffer = self._buffer.split(b"\0", 1)
        return json.loads(message)

    def _note(self, event):
        name, of = event.get("method"), event.get("params", {})
        if name == "Page.loadEventFired":
            self._loaded = True
        elif name == "Runtime.consoleAPICalled":
            self.messages.append(f"console.{of['type']}: " + " ".join(str(arg.get("value")) for arg in of["args"]))
        elif name == "Runtime.exceptionThrown":
            self.messages.append("exception: " + of["exceptionDetails"]["text"])
        elif name == "Log.entryAdded":
            self.messages.append(f"{of['entry']['source']}: {of['entry']['text']}")
        elif name == "Network.requestWillBeSent":
            self.requests.append(of["request"]["url"])

    def call(self, method, **parameters):
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            command["sessionId"] = self._session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data):]
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self._note(answer)

    def open(self, url, scripts=True, width=1280, height=900, dark=False):
        self.messages, self.requests, self._loaded = [], [], False
        self.call("Emulation.setScriptExecutionDisabled", value=not scripts)
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])
        self.call("Page.navigate", url=url)
        while not self._loaded:
            self._note(self._next())
        self.call("Runtime.evaluate", expression="0")  # what the page said before is here now

    def value(self, expression):
        """What a JavaScript expression is on the page, also where the page itself may run none."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']['text']}")
        return answer["result"].get("value")

    def picture(self, file):
        """The whole page as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True,
                           clip={"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1})
        file.write_bytes(base64.b64decode(answer["data"]))
