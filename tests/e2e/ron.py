"""Harness of the end-to-end tests: the real binary on loopback, and clients that look closely.

Nothing here needs more than the standard library. Every server listens on port 0, lives in a
directory of its own, is ended by its pid and dies with the test that started it.
"""

import base64
import ctypes
import gzip
import hashlib
import hmac
import json
import os
import pathlib
import random
import re
import resource
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

BINARY = os.environ.get(
    "RON_BINARY", str(pathlib.Path(__file__).resolve().parents[2] / "build/release/ron")
)
SLOW = float(os.environ.get("RON_E2E_SLOW", "1"))  # stretches patience, never a limit under test
SANITIZED = os.environ.get("RON_E2E_SANITIZED") == "1"  # its speed and memory say nothing
START_S = 20 * SLOW
REPLY_S = 20 * SLOW
PR_SET_PDEATHSIG = 1
PART = 1 << 20  # of an upload

ULID = re.compile(r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$")


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def b3(data):
    """The address of some bytes, from the reference tool."""
    out = subprocess.run(["b3sum", "--no-names"], input=data, capture_output=True, check=True)
    return "b3:" + out.stdout.decode().strip()


def large_object(seed=1, size=6 << 20, repeats=8):
    """Bytes larger than any socket buffer, and their gzip form, which fits a body and the decode
    guard: blocks of noise, each several times, are packed a little less than that many times."""
    noise = random.Random(seed)
    blocks = [noise.randbytes(1000) * repeats for _ in range(size // (1000 * repeats) + 1)]
    data = b"".join(blocks)[:size]
    return data, gzip.compress(data, mtime=0)


def wait_until(what, probe, timeout=REPLY_S, pause=0.01):
    """Polls until `probe` gives something true and returns that; else fails by name."""
    end = time.monotonic() + timeout
    while True:
        found = probe()
        if found:
            return found
        if time.monotonic() >= end:
            raise AssertionError(f"waited {timeout:.1f} s in vain: {what}")
        time.sleep(pause)


def percentile(values, fraction):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]


class ProtocolError(AssertionError):
    """The server broke HTTP."""


class Closed(Exception):
    """The connection ended where a response could have begun; `reset` tells a RST from a FIN."""

    def __init__(self, reset=False):
        super().__init__("reset" if reset else "closed")
        self.reset = reset


class Truncated(Exception):
    """The connection ended inside a response. `status` is set if the head was complete."""

    def __init__(self, status=None):
        super().__init__(f"truncated, status {status}")
        self.status = status


class Response:
    def __init__(self, status, headers, raw_head):
        self.status = status
        self.headers = headers  # in order, names as sent
        self.raw_head = raw_head
        self.body = b""

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    @property
    def closes(self):
        return "close" in [v.lower() for v in self.all("Connection")]

    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The error code of the envelope, or None."""
        return self.json()["error"]["code"] if self.status >= 400 and self.body else None


FIELD = re.compile(
    rb"^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ([\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?$")
STATUS = re.compile(rb"^HTTP/1\.1 ([1-5][0-9][0-9]) [\x20-\x7e]+$")


def parse_head(raw):
    """A response head, without mercy: exact line ends, exact fields, no repeated framing."""
    if not raw.endswith(b"\r\n\r\n"):
        raise ProtocolError(f"head without an end: {raw!r}")
    lines = raw[:-4].split(b"\r\n")
    start = STATUS.match(lines[0])
    if not start:
        raise ProtocolError(f"status line {lines[0]!r}")
    headers = []
    for line in lines[1:]:
        field = FIELD.match(line)
        if not field:
            raise ProtocolError(f"field line {line!r}")
        headers.append((field[1].decode(), (field[2] or b"").decode()))
    response = Response(int(start[1]), headers, raw)
    for name in ("Content-Length", "Connection", "X-Corr-ID", "Date", "ETag", "Retry-After"):
        if len(response.all(name)) > 1:
            raise ProtocolError(f"{name} twice in {raw!r}")
    if response.all("Transfer-Encoding"):
        raise ProtocolError("a transfer coding nobody asked for")
    return response


class Connection:
    """A socket that reads exactly one response at a time and keeps what follows."""

    def __init__(self, address, timeout=REPLY_S, receive_buffer=None, source=None):
        self.socket = socket.socket()
        if source:
            self.socket.bind((source, 0))
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(address)
        except BaseException:
            self.socket.close()
            raise
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.pending = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def _more(self):
        """False at the end of the stream."""
        piece = self.socket.recv(1 << 16)
        self.pending += piece
        return bool(piece)

    def read_head(self):
        try:
            while b"\r\n\r\n" not in self.pending:
                if not self._more():
                    if self.pending:
                        raise Truncated()
                    raise Closed()
        except ConnectionError as error:
            if self.pending:
                raise Truncated() from error
            raise Closed(reset=True) from error
        end = self.pending.index(b"\r\n\r\n") + 4
        raw, self.pending = self.pending[:end], self.pending[end:]
        return parse_head(raw)

    def read_response(self, head_only=False):
        """One response, interim ones included; `head_only` for the answer to HEAD."""
        response = self.read_head()
        lengths = response.all("Content-Length")
        bodiless = response.status < 200 or response.status in (204, 304)
        if bodiless:
            if lengths:
                raise ProtocolError(f"{response.status} with a Content-Length")
            return response
        if len(lengths) != 1 or not re.fullmatch("0|[1-9][0-9]*", lengths[0]):
            raise ProtocolError(f"no proper Content-Length in {response.raw_head!r}")
        if head_only:
            return response
        length = int(lengths[0])
        pieces, have = [self.pending], len(self.pending)
        try:
            while have < length:
                piece = self.socket.recv(min(1 << 20, length - have))
                if not piece:
                    raise Truncated(response.status)
                pieces.append(piece)
                have += len(piece)
        except ConnectionError as error:
            raise Truncated(response.status) from error
        received = b"".join(pieces)
        response.body, self.pending = received[:length], received[length:]
        return response

    def ask(self, method, path, headers=(), body=None):
        """Sends one plain request and reads its answer."""
        self.send(request(method, path, headers, body))
        return self.read_response(head_only=method == "HEAD")

    def ends(self, timeout=REPLY_S):
        """Waits until the server ends the connection; no byte may come before that."""
        self.socket.settimeout(timeout)
        try:
            stray = self.pending or self.socket.recv(4096)
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        if stray:
            raise ProtocolError(f"bytes nobody asked for: {stray[:80]!r}")
        return True

    def is_open(self):
        """Proves it by another request and its answer."""
        try:
            return self.ask("GET", "/healthz").status == 200
        except (Closed, ConnectionError):
            return False


def request(method, path, headers=(), body=None):
    lines = [f"{method} {path} HTTP/1.1", "Host: test"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")


class Metrics:
    """One scrape: sums of series by name and labels."""

    SAMPLE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$")
    LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"(?:,|$)')

    def __init__(self, text):
        self.text = text
        self.samples = []
        self.types = {}
        for line in text.splitlines():
            if line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                self.types[name] = kind
            elif line and not line.startswith("#"):
                name, labels, value = self.SAMPLE.match(line).groups()
                self.samples.append((name, dict(self.LABEL.findall(labels or "")), float(value)))

    def value(self, name, **labels):
        """The sum of the matching series; 0 when there is none."""
        return sum(
            value
            for each, have, value in self.samples
            if each == name and all(have.get(key) == want for key, want in labels.items())
        )


class Server:
    """One `ron storage`, or `ron up`, process: in memory, or on disk in the directory `data`, which outlives it.
    `sets` are --set overrides of the storage section."""

    def __init__(self, sets=None, flags=(), config=None, env=None, cores=2, bind="127.0.0.1:0",
                 admin="127.0.0.1:0", binary=BINARY, data=None, service="storage"):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-e2e-"))
        self.cwd = self.home / "cwd"
        self.cwd.mkdir()
        self.log_path = self.home / "log"
        self.token_path = self.home / "token"
        self.config_path = self.home / "ron.toml"
        where = ["--data", str(data)] if data else ["--amnesia"]
        command = [binary, service, *where, "--token-out", str(self.token_path),
                   "--log-format", "json", "--cores", str(cores)]
        if config is None:
            command += ["--bind", bind, "--admin", admin]
        else:
            self.config_path.write_text(config)
            command += ["--config", str(self.config_path)]
        for key, value in (sets or {}).items():
            command += ["--set", f"{key}={value}"]
        command += list(flags)
        self.out = []  # lines of standard output
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                command, cwd=self.cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=log, env={**os.environ, **(env or {})}, preexec_fn=die_with_parent)
        self.pid = self.process.pid
        try:
            self.address = self._listening(0)
            self.admin = self._admin()
            self.token = self.token_path.read_text().strip()
        except BaseException:
            self.close()
            raise
        self.auth = ("Authorization", "Bearer " + self.token)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.process.poll() is None:
            os.kill(self.pid, signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()
        shutil.rmtree(self.home, ignore_errors=True)

    # Start-up and end.

    def _listening(self, index):
        """The address in the index-th `listening on` line of standard output."""
        end = time.monotonic() + START_S
        descriptor = self.process.stdout.fileno()
        while len(self.out) <= index:
            ready, _, _ = select.select([descriptor], [], [], max(0, end - time.monotonic()))
            line = self.process.stdout.readline().decode() if ready else ""
            if not line:
                raise AssertionError(f"no listening line {index}: {self.log_text()}")
            self.out.append(line)
        host, port = re.fullmatch(r"svc-storage listening on (.+):(\d+)\n",
                                  self.out[index]).groups()
        return host, int(port)

    def moved(self):
        """The address after the next rebind."""
        self.address = self._listening(len(self.out))
        return self.address

    def _admin(self):
        line = self.wait_log("admin listening")
        host, port = line["addr"].rsplit(":", 1)
        return host, int(port)

    def signal(self, number):
        os.kill(self.pid, number)

    def wait_exit(self, timeout=REPLY_S):
        return self.process.wait(timeout)

    def stop(self, timeout=REPLY_S):
        self.signal(signal.SIGTERM)
        return self.wait_exit(timeout)

    # Looking at it.

    def log_text(self):
        return self.log_path.read_text(errors="replace")

    def logs(self):
        lines = []
        for line in self.log_text().splitlines(keepends=True):
            if line.endswith("\n") and line.startswith("{"):
                lines.append(json.loads(line))
        return lines

    def wait_log(self, message, timeout=REPLY_S, **fields):
        def found():
            for line in self.logs():
                if line.get("msg") == message and all(line.get(k) == v for k, v in fields.items()):
                    return line
            if self.process.poll() is not None:
                raise AssertionError(f"the server ended: {self.log_text()}")
            return None

        return wait_until(f"log line {message} {fields}", found, timeout)

    def connect(self, **options):
        return Connection(self.address, **options)

    def connect_admin(self):
        return Connection(self.admin)

    def metrics(self):
        with self.connect_admin() as connection:
            response = connection.ask("GET", "/metrics")
            assert response.status == 200, response.raw_head
            return Metrics(response.body.decode())

    def wait_metric(self, name, value, **labels):
        """Counters are added just after an answer left, so a scrape may be a moment early."""
        wait_until(f"{name}{labels} = {value}, is {self.metrics().value(name, **labels)}",
                   lambda: self.metrics().value(name, **labels) == value)

    def put(self, data, *headers):
        """Stores bytes and returns their address."""
        with self.connect() as connection:
            response = connection.ask("POST", "/o", [self.auth, *headers], data)
            assert response.status in (200, 201), (response.status, response.body)
            return response.json()["address"]

    def upload(self, data):
        """Stores bytes part by part, which may be more than a body, and returns their address."""
        with self.connect() as connection:
            def ask(method, path, body):
                response = connection.ask(method, path, [self.auth], body)
                assert response.status in (200, 201), (response.status, response.body)
                return response

            path = ask("POST", "/uploads", b'{"length":%d}' % len(data)).get("Location")
            for number, at in enumerate(range(0, len(data), PART)):
                ask("PUT", f"{path}/{number}", data[at:at + PART])
            return ask("POST", path + "/commit", b"").json()["address"]

    def put_large(self):
        """Stores large_object() and returns its path and bytes."""
        data, packed = large_object()
        return "/o/" + self.put(packed, ("Content-Encoding", "gzip")), data

    def rss_kib(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


class OnDisk:
    """Goes before a test class whose start() makes `server` with `data`: the same on disk, where a
    server can be ended and started again."""

    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="ron-e2e-data-")
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
        super().setUp()

    def restart(self):
        self.assertEqual(self.server.stop(), 0)
        self.start()

    def kill(self):
        self.server.close()
        self.start()


def run_ron(*arguments, timeout=START_S, env=None, cwd=None):
    """A start that is expected to end by itself: (exit code, stdout, stderr)."""
    with tempfile.TemporaryDirectory(prefix="ron-e2e-") as home:
        done = subprocess.run([BINARY, *arguments], cwd=cwd or home, capture_output=True,
                              timeout=timeout, env={**os.environ, **(env or {})}, check=False,
                              preexec_fn=die_with_parent)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


class Load:
    """Threads that each run `work(worker)` again and again until stopped. An exception ends the
    worker and is kept; `finish` hands all of them over."""

    def __init__(self, threads, work):
        self.errors = []
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._run, args=(work, i), daemon=True)
                         for i in range(threads)]
        for thread in self._threads:
            thread.start()

    def _run(self, work, index):
        try:
            while not self._stop.is_set():
                if work(index) is False:
                    return
        except Exception as error:  # noqa: BLE001: every failure is evidence
            self.errors.append(error)

    def finish_after(self, seconds):
        time.sleep(seconds)
        return self.finish()

    def finish(self, timeout=REPLY_S):
        self._stop.set()
        return self.join(timeout)

    def join(self, timeout=REPLY_S):
        """Waits for workers that end by themselves."""
        for thread in self._threads:
            thread.join(timeout)
            if thread.is_alive():
                self.errors.append(AssertionError("a load worker hangs"))
        return self.errors


def more_descriptors():
    """A thousand clients need more than the usual thousand descriptors, here and in children."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = min(hard, 16384)
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


# Macaroons, as far as narrowing one needs.

def attenuate(token, *caveats):
    """Adds first-party caveats to a v2 binary macaroon in base64url."""
    raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    signature_field = b"\x06\x20"
    body, signature = raw[:-34], raw[-32:]
    assert raw[-34:-32] == signature_field and body.endswith(b"\x00")
    body = body[:-1]  # the end of the caveat section comes after the new ones
    for caveat in caveats:
        text = caveat.encode()
        assert len(text) < 128
        body += b"\x02" + bytes([len(text)]) + text + b"\x00"
        signature = hmac.new(signature, text, hashlib.sha256).digest()
    raw = body + b"\x00" + signature_field + signature
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
