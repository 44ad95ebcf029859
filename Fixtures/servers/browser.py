"""Headless Chromium, driven over the DevTools protocol.

It keeps what the page did wrong: errors on the console, and requests to other places.
"""

import base64
import json
import os
import shutil
import subprocess
import tempfile
import time
import urllib.request

import websocket

CODES = {
    "Enter": 13, "Escape": 27, " ": 32, "PageDown": 34, "End": 35, "Home": 36, "ArrowUp": 38,
    "ArrowDown": 40, "Tab": 9,
}
ALT, CONTROL, SHIFT = 1, 2, 8


def until(what, condition, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.05)
    raise SystemExit("not in time: " + what)


class Browser:
    def __init__(self, program, url):
        self.number = 0
        self.events = []
        self.home = tempfile.mkdtemp()
        self.process = subprocess.Popen(
            [
                program, "--headless=new", "--no-sandbox", "--disable-gpu",
                "--disable-dev-shm-usage", "--disable-background-networking",
                "--remote-debugging-port=0", "--remote-allow-origins=*",
                "--user-data-dir=" + self.home, "about:blank",
            ],
            env={**os.environ, "HOME": self.home},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self.url = url
        self.socket = websocket.create_connection(until("DevTools", self.devtools), timeout=60)
        for domain in ("Runtime", "Page", "Network", "Log"):
            self.command(domain + ".enable")
        self.command("Page.navigate", url=url)
        until("the page", lambda: self.evaluate("document.readyState === 'complete'"))

    def devtools(self):
        try:
            number = open(self.home + "/DevToolsActivePort").readline().strip()
            pages = json.load(urllib.request.urlopen(f"http://127.0.0.1:{number}/json/list"))
            found = [page for page in pages if page["type"] == "page"]
            return found[0]["webSocketDebuggerUrl"] if found else None
        except OSError:
            return None

    def command(self, method, **parameters):
        self.number += 1
        self.socket.send(
            json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self.events.append(answer)

    def evaluate(self, text):
        result = self.command(
            "Runtime.evaluate", expression=text, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def text(self, selector):
        return self.evaluate(f"document.querySelector({json.dumps(selector)})?.textContent ?? ''")

    def key(self, key, modifiers=0):
        code = CODES.get(key, ord(key.upper()[0]))
        fields = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
        typed = "\r" if key == "Enter" else key if len(key) == 1 and not modifiers else None
        down = {**fields, "text": typed} if typed else fields
        self.command("Input.dispatchKeyEvent", type="keyDown", **down)
        self.command("Input.dispatchKeyEvent", type="keyUp", **fields)

    def type(self, text):
        for letter in text:
            self.key(letter)

    def tab_to(self, selector):
        """The keyboard alone has to get there."""
        for _ in range(80):
            if self.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
                return
            self.key("Tab")
        raise SystemExit(f"Tab does not lead to {selector}")

    def size(self, width, scheme):
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=900,
            deviceScaleFactor=1, mobile=width < 600)
        self.command(
            "Emulation.setEmulatedMedia",
            features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self, path):
        data = self.command("Page.captureScreenshot")["data"]
        with open(path, "wb") as file:
            file.write(base64.b64decode(data))

    def problems(self):
        """What the page did wrong so far."""
        self.evaluate("1")
        found = []
        for event in self.events:
            parameters = event.get("params", {})
            if event["method"] == "Runtime.exceptionThrown":
                found.append(json.dumps(parameters)[:400])
            elif event["method"] == "Log.entryAdded":
                found.append(parameters["entry"]["text"][:400])
            elif event["method"] == "Runtime.consoleAPICalled":
                found.append(json.dumps(parameters["args"])[:400])
            elif event["method"] == "Network.requestWillBeSent":
                address = parameters["request"]["url"]
                if not address.startswith((self.url, "data:", "about:")):
                    found.append("a request to " + address)
        return found

    def close(self):
        self.process.kill()
        self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)
