"""A headless Chromium, driven over a pipe with the DevTools protocol: no port, no package besides the standard library."""
import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

ABSENT = "no Chromium here (Debian's chromium; scripts/install --tests)"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find():
    """The browser's program, or None; TAUTLINE_CHROMIUM names another one."""
    return os.environ.get("TAUTLINE_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


class Browser:
    def __init__(self, program, timeout_s=60, profile=None):
        """`profile`: a folder of the caller's that keeps what pages store; without one nothing is kept."""
        self.timeout_s = timeout_s
        self.own_profile = tempfile.TemporaryDirectory(prefix="tautline-chromium-", ignore_cleanup_errors=True)
        # The browser reads commands from descriptor 3 and writes to 4.
        theirs_in, self.commands = os.pipe()
        self.answers, theirs_out = os.pipe()
        far = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_in, theirs_out)]

        def place():
            os.dup2(far[0], 3)
            os.dup2(far[1], 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--remote-debugging-pipe", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
             "--no-first-run", "--disable-extensions", "--disable-background-networking", "--disable-component-update",
             "--hide-scrollbars", "--force-device-scale-factor=1", f"--user-data-dir={profile or self.own_profile.name}", "about:blank"],
            preexec_fn=place, pass_fds=(3, 4), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        for end in (theirs_in, theirs_out, *far):
            os.close(end)
        self.buffer = b""
        self.number = 0
        self.events = []
        self.session = None
        target = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=target["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(domain + ".enable")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        # Asked to close it writes what pages stored; ended by a signal it may not.
        with contextlib.suppress(BrokenPipeError):  # it ended by itself
            os.write(self.commands, json.dumps({"id": self.number + 1, "method": "Browser.close"}).encode() + b"\0")
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        os.close(self.commands)
        os.close(self.answers)
        self.own_profile.cleanup()

    def message(self, until):
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.answers], [], [], max(0, until - time.monotonic()))
            chunk = os.read(self.answers, 1 << 20) if ready else b""
            if not chunk:
                raise RuntimeError("the browser ended" if ready else f"no answer of the browser in {self.timeout_s} s")
            self.buffer += chunk
        text, self.buffer = self.buffer.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        command = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        os.write(self.commands, json.dumps(command).encode() + b"\0")
        until = time.monotonic() + self.timeout_s
        while True:
            message = self.message(until)
            if message.get("id") == self.number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message["result"]
            self.events.append(message)

    def run(self, script):
        """The value of an expression or promise in the page."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def look(self, width, theme="light", medium="screen"):
        # The size last: its event is what a page redraws itself for.
        self.call("Emulation.setEmulatedMedia", media=medium,
                  features=[{"name": "prefers-color-scheme", "value": theme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)

    def open(self, path):
        """Opens a file or a URL and waits until it is drawn."""
        self.events.clear()
        self.call("Page.navigate", url=path if str(path).startswith("http://") else "file://" + os.path.abspath(path))
        until = time.monotonic() + self.timeout_s
        while not any(event.get("method") == "Page.loadEventFired" for event in self.events):
            self.events.append(self.message(until))
        self.settle()

    def settle(self):
        """Two frames: what waits for the next one is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 0))))")

    def complaints(self):
        """What the console was told since the page was opened."""
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event.get("method") == "Runtime.exceptionThrown":
                details = parameters["exceptionDetails"]
                found.append(details.get("exception", {}).get("description") or details["text"])
            elif event.get("method") == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
                found.append(" ".join(str(one.get("value", one.get("description"))) for one in parameters["args"]))
            elif event.get("method") == "Log.entryAdded" and parameters["entry"]["level"] in ("error", "warning"):
                found.append(parameters["entry"]["text"])
        return found

    def print_layout(self, width, theme="light"):
        """As a page is laid out for paper."""
        self.run("dispatchEvent(new Event('beforeprint'))")
        self.look(width, theme, "print")
        self.settle()

    def screenshot(self, path, height=None):
        """Of the whole page, or of so many pixels from its top."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True, clip={
            "x": 0, "y": 0, "width": size["width"], "height": min(height or size["height"], size["height"]), "scale": 1})["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, paperWidth=8.27, paperHeight=11.69,
                                          marginTop=0.4, marginBottom=0.4, marginLeft=0.4, marginRight=0.4)["data"])
