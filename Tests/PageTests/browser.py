"""Headless Chromium, driven over the DevTools protocol. Needs Debian's chromium and python3-websocket."""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request

import websocket


class Browser:
    """A Chromium process with a profile of its own. Use it as a context manager."""

    def __init__(self, program=None, options=(), profile=None):
        more = options
        self.keeps_profile = profile is not None
        self.profile = profile or tempfile.mkdtemp(prefix="lockstep-page-")
        program = program or os.environ.get("CHROMIUM") or shutil.which("chromium") or "chromium"
        options = [
            "--headless=new", "--remote-debugging-port=0", f"--user-data-dir={self.profile}", "--no-first-run",
            "--no-default-browser-check", "--disable-background-networking", "--disable-component-update",
            "--disable-dev-shm-usage", "--hide-scrollbars", "--remote-allow-origins=*", "--force-color-profile=srgb",
            # Root, containers and changed roots cannot use the sandbox. Only pages of this machine are opened.
            "--no-sandbox",
        ]
        try:
            os.remove(os.path.join(self.profile, "DevToolsActivePort"))
        except FileNotFoundError:
            pass
        self.process = subprocess.Popen(
            [program, *options, *more, "about:blank"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self.own = None
        self.port = self._port(time.monotonic() + 60)

    def _port(self, deadline):
        path = os.path.join(self.profile, "DevToolsActivePort")
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"Chromium ended with code {self.process.returncode}")
            try:
                with open(path) as file:
                    return int(file.readline())
            except (OSError, ValueError):
                time.sleep(0.05)
        raise TimeoutError("Chromium did not open its DevTools port within 60 s")

    def call(self, method, **params):
        """Sends a command to the browser itself."""
        if self.own is None:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/json/version", timeout=30) as reply:
                self.own = Page(json.load(reply)["webSocketDebuggerUrl"])
        return self.own.call(method, **params)

    def context(self):
        """Creates a browser context with storage of its own, and returns its id."""
        return self.call("Target.createBrowserContext")["browserContextId"]

    def dispose(self, context):
        self.call("Target.disposeBrowserContext", browserContextId=context)

    def tab(self, context):
        """Opens a tab in a context, and returns the address of its DevTools."""
        target = self.call("Target.createTarget", url="about:blank", **({"browserContextId": context} if context else {}))["targetId"]
        return f"ws://127.0.0.1:{self.port}/devtools/page/{target}"

    def page(self, width=1440, height=900, scale=1, mobile=False, dark=False, reduced_motion=False):
        """Opens a tab of this size."""
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}/json/new?about:blank", method="PUT")
        with urllib.request.urlopen(request, timeout=30) as reply:
            target = json.load(reply)
        page = Page(target["webSocketDebuggerUrl"])
        page.call("Page.enable")
        page.call("Runtime.enable")
        page.call("Log.enable")
        page.call("Network.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=mobile)
        if mobile:
            page.call("Emulation.setTouchEmulationEnabled", enabled=True)
        page.call("Emulation.setEmulatedMedia", features=[
            {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
            {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"},
        ])
        return page

    def kill(self):
        """Ends the browser as a crash does."""
        self.process.kill()
        self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        if not self.keeps_profile:
            shutil.rmtree(self.profile, ignore_errors=True)


class Page:
    """A tab: evaluates scripts, records what goes wrong, takes screenshots."""

    def __init__(self, url):
        self.socket = websocket.create_connection(url, timeout=60)
        self.number = 0
        self.events = []
        self.errors = []
        self.requests = []

    def call(self, method, **params):
        """Sends a command and returns its result."""
        self.number += 1
        number = self.number
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            self._event(message)

    def _event(self, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.errors.append(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.errors.append(" ".join(str(part.get("value", part.get("description", ""))) for part in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.errors.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        self.events.append(message)
        if len(self.events) > 20000:
            del self.events[:10000]

    def event(self, method, timeout=15):
        """Waits for an event, takes it from the list of events, and returns its parameters."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            for message in self.events:
                if message.get("method") == method:
                    self.events.remove(message)
                    return message["params"]
            self.drain(0.05)
        raise AssertionError(f"no event {method} within {timeout} s")

    def drain(self, seconds=0.05):
        """Reads events for some time."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                self._event(json.loads(self.socket.recv()))
            except (websocket.WebSocketTimeoutException, TimeoutError):
                break
        self.socket.settimeout(60)

    def open(self, url):
        self.call("Page.navigate", url=url)

    def evaluate(self, script):
        """Returns the value of an expression; promises are awaited."""
        result = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in result:
            details = result["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description") or details["text"])
        return result["result"].get("value")

    def expect(self, script, timeout=60, what=None):
        """Waits until an expression is true, and returns its value; raises when the deadline has passed."""
        deadline = time.monotonic() + timeout
        value = None
        while time.monotonic() < deadline:
            try:
                value = self.evaluate(f"(value => value instanceof Node ? true : value)({script})")
            except RuntimeError as error:
                value = None
                if "navigat" not in str(error).lower() and "null" not in str(error):
                    raise
            if value:
                return value
            self.drain(0.05)
        raise AssertionError(f"{what or script} did not hold within {timeout} s (last value: {value!r})")

    def key(self, key, code=None, text=None, shift=False):
        """Presses and releases a key, with Shift held down or not."""
        codes = {"Enter": 13, "Tab": 9, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "ArrowLeft": 37, "ArrowRight": 39, "Home": 36, "End": 35, "PageDown": 34, "PageUp": 33}
        params = {"key": key, "code": code or key, "windowsVirtualKeyCode": codes.get(key, ord(key[0].upper())), "modifiers": 8 if shift else 0}
        if key == "Enter":
            text = "\r"
        self.call("Input.dispatchKeyEvent", type="keyDown", **params, **({"text": text or key} if text or len(key) == 1 else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **params)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def screenshot(self, path, full=False):
        """Writes a PNG of the window, or of the whole page."""
        params = {"format": "png"}
        if full:
            size = self.call("Page.getLayoutMetrics")["cssContentSize"]
            params |= {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}
        data = base64.b64decode(self.call("Page.captureScreenshot", **params)["data"])
        with open(path, "wb") as file:
            file.write(data)

    def close(self):
        try:
            self.call("Page.close")
        except Exception:
            pass
        self.socket.close()
