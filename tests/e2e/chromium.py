"""A headless Chromium, driven through the DevTools protocol. Standard library only: the protocol is
JSON over a WebSocket, of which this speaks as much as one honest server on loopback needs.

Every browser has a profile of its own and dies with the test. It can resolve no name, so that
whatever a page asks for elsewhere fails, and every request a page makes is remembered.
"""

import base64
import http.client
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import tempfile
import time
import zlib

import ron

PATIENCE_S = 120 * ron.SLOW  # a software renderer on a busy machine
MAX_MESSAGE_BYTES = 64 << 20


class WebSocket:
    """The client's side of RFC 6455, text messages only."""

    def __init__(self, url):
        host, port, path = re.fullmatch(r"ws://([^:/]+):(\d+)(/.*)", url).groups()
        self.socket = socket.create_connection((host, int(port)), timeout=PATIENCE_S)
        key = base64.b64encode(os.urandom(16)).decode()
        self.socket.sendall((f"GET {path} HTTP/1.1\r\nHost: {host}:{port}\r\nUpgrade: websocket\r\n"
                             f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
                             "Sec-WebSocket-Version: 13\r\n\r\n").encode())
        self.file = self.socket.makefile("rb")
        status = self.file.readline()
        assert b" 101 " in status, status
        while self.file.readline().strip():
            pass

    def send(self, text):
        payload, mask = text.encode(), os.urandom(4)
        size = len(payload)
        if size < 126:
            length = struct.pack("!B", 0x80 | size)
        elif size < 1 << 16:
            length = struct.pack("!BH", 0x80 | 126, size)
        else:
            length = struct.pack("!BQ", 0x80 | 127, size)
        masked = bytes(byte ^ mask[i % 4] for i, byte in enumerate(payload))
        self.socket.sendall(b"\x81" + length + mask + masked)

    def receive(self, timeout):
        """The next message; None when there was none in time."""
        whole = b""
        self.socket.settimeout(timeout)
        while True:
            try:
                first = self.file.read(2)
            except TimeoutError:
                return None
            self.socket.settimeout(PATIENCE_S)  # the rest of a frame that has begun
            if len(first) < 2:
                raise ConnectionError("the browser closed the connection")
            length = first[1] & 0x7F
            if length >= 126:
                form = "!H" if length == 126 else "!Q"
                length = struct.unpack(form, self.file.read(struct.calcsize(form)))[0]
            assert length <= MAX_MESSAGE_BYTES, length
            payload = self.file.read(length)
            if first[0] & 0x0F in (0, 1):
                whole += payload
                if first[0] & 0x80:
                    return whole.decode()

    def close(self):
        self.file.close()
        self.socket.close()


class Page:
    """One tab. What happened in it is in `requests` (URLs), `complaints` (errors and warnings of the
    console, exceptions, violated policies), `failures` (requests that got no answer) and `workers`
    (URLs of their scripts)."""

    # What Chromium says of its own software renderer.
    NOT_OURS = re.compile(r"GPU stall due to ReadPixels|GL Driver Message|Automatic fallback to software")

    def __init__(self, socket_url):
        self.socket = WebSocket(socket_url)
        self.last_id = 0
        self.requests, self.complaints, self.failures, self.workers = [], [], [], []
        self.is_loaded = True
        for domain in ("Page", "Runtime", "Log", "Network", "Security", "Audits"):
            self.call(domain + ".enable")
        # Workers are targets of their own; they run once we listen to them as well.
        self.call("Target.setAutoAttach", autoAttach=True, waitForDebuggerOnStart=True, flatten=True)

    def call(self, method, session=None, **params):
        self.last_id += 1
        message = {"id": self.last_id, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        self.socket.send(json.dumps(message))
        wanted, end = self.last_id, time.monotonic() + PATIENCE_S
        while True:
            answer = self.listen(end - time.monotonic())
            if answer is None:
                raise AssertionError(f"{method} was not answered")
            if answer.get("id") == wanted:
                assert "error" not in answer, (method, answer["error"])
                return answer["result"]

    def listen(self, timeout):
        """Takes one message; None when there was none in time."""
        text = self.socket.receive(max(timeout, 0.001))
        if text is None:
            return None
        message = json.loads(text)
        if "method" in message:
            self.note(message["method"], message["params"])
        return message

    def note(self, method, params):
        if method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Network.loadingFailed" and not params.get("canceled"):
            self.failures.append(params["errorText"])
        elif method == "Page.loadEventFired":
            self.is_loaded = True
        elif method == "Runtime.exceptionThrown":
            details = params["exceptionDetails"]
            self.complain(details.get("exception", {}).get("description") or details["text"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.complain(" ".join(str(arg.get("value", arg.get("description"))) for arg in params["args"]))
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.complain(params["entry"]["text"])
        elif method == "Audits.issueAdded":
            issue = params["issue"]
            if issue["code"] == "ContentSecurityPolicyIssue":
                self.complain(json.dumps(issue["details"]))
        elif method == "Target.attachedToTarget":
            self.workers.append(params["targetInfo"]["url"])
            child = params["sessionId"]
            for command in ("Runtime.enable", "Log.enable", "Network.enable", "Runtime.runIfWaitingForDebugger"):
                self.last_id += 1
                self.socket.send(json.dumps({"id": self.last_id, "method": command, "sessionId": child,
                                             "params": {}}))

    def complain(self, text):
        if not self.NOT_OURS.search(text):
            self.complaints.append(text)

    def evaluate(self, expression):
        """The value of a JavaScript expression, which may be a promise."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True,
                           returnByValue=True)
        if "exceptionDetails" in answer:
            raise AssertionError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def wait_for(self, expression, timeout=PATIENCE_S):
        return ron.wait_until(expression, lambda: self.evaluate(expression), timeout, pause=0.05)

    def look_like(self, width, height, phone=False, dark=False):
        """Size, touch and colour scheme, for pages that are opened afterwards and for this one."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=2 if phone else 1, mobile=phone)
        self.call("Emulation.setTouchEmulationEnabled", enabled=phone)
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}])

    def open(self, url):
        self.requests, self.complaints, self.failures, self.workers = [], [], [], []
        self.is_loaded = False
        self.call("Page.navigate", url=url)
        end = time.monotonic() + PATIENCE_S
        while not self.is_loaded:
            if self.listen(end - time.monotonic()) is None:
                raise AssertionError(f"{url} was not loaded")

    def click(self, x, y):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def tap(self, x, y):
        self.call("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.call("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def screenshot(self, scale=1, **clip):
        more = {"clip": {**clip, "scale": scale}} if clip else {}
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", **more)["data"])

    def color(self, x, y):
        """(red, green, blue) of a pixel as it is on the screen."""
        png, data, at = self.screenshot(x=round(x), y=round(y), width=1, height=1), b"", 8
        while at < len(png):
            size, kind = struct.unpack("!I4s", png[at:at + 8])
            data += png[at + 8:at + 8 + size] if kind == b"IDAT" else b""
            at += size + 12
        # A filter's byte comes first, and no filter changes the first pixel.
        return tuple(zlib.decompress(data)[1:4])

    def close(self):
        self.socket.close()


class Chromium:
    """A browser process with one page at a time."""

    def __init__(self, webgl=True):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-chromium-"))
        graphics = ["--use-angle=swiftshader", "--enable-unsafe-swiftshader"] if webgl else [
            "--disable-gpu", "--disable-3d-apis"]
        self.process = subprocess.Popen(
            ["chromium", "--headless=new", "--no-sandbox", "--remote-debugging-port=0",
             f"--user-data-dir={self.home}", "--no-first-run", "--disable-extensions",
             "--disable-background-networking", "--disable-component-update", "--disable-sync",
             "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
             "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1", *graphics, "about:blank"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": str(self.home)}, preexec_fn=ron.die_with_parent)
        self.page_ = None
        try:
            self.port = int(ron.wait_until("Chromium listens", self.read_port, PATIENCE_S))
        except AssertionError:
            self.close()
            raise

    def read_port(self):
        file = self.home / "DevToolsActivePort"
        return file.read_text().split("\n")[0] if file.exists() else None

    def page(self):
        """The one tab."""
        if self.page_ is None:
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
            connection.request("GET", "/json/list")
            targets = json.loads(connection.getresponse().read())
            connection.close()
            found = next(each for each in targets if each["type"] == "page")
            self.page_ = Page(found["webSocketDebuggerUrl"])
        return self.page_

    def close(self):
        if self.page_ is not None:
            self.page_.close()
        self.process.terminate()
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.home, ignore_errors=True)
