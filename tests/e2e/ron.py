"""Harness of the end-to-end tests: any `ron` process on loopback, with what every service has.

Nothing here needs more than the standard library. Every process listens on port 0, lives in a
directory of its own, is ended by its pid and dies with the test that started it. What is one
service's own stands beside this file (`storage.py`).
"""

import base64
import ctypes
import hashlib
import hmac
import json
import os
import pathlib
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

from wire import (Closed, Connection, ProtocolError, REPLY_S, Response, SLOW,  # noqa: F401
                  Truncated, parse_head, request)

BINARY = os.environ.get(
    "RON_BINARY", str(pathlib.Path(__file__).resolve().parents[2] / "build/release/ron")
)
SANITIZED = os.environ.get("RON_E2E_SANITIZED") == "1"  # its speed and memory say nothing
START_S = 20 * SLOW
PR_SET_PDEATHSIG = 1

ULID = re.compile(r"^[0-7][0-9A-HJKMNP-TV-Z]{25}$")


def die_with_parent():
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def b3(data):
    """The address of some bytes, from the reference tool."""
    out = subprocess.run(["b3sum", "--no-names"], input=data, capture_output=True, check=True)
    return "b3:" + out.stdout.decode().strip()


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


def refuses(address):
    """Nobody listens there: on no core, since each has a listener of its own."""
    try:
        socket.create_connection(address, timeout=REPLY_S).close()
    except ConnectionRefusedError:
        return True
    return False


def percentile(values, fraction):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * fraction))]


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


def complaints_of_promtool(metrics):
    """What `promtool check metrics` says of a scrape, but for the one name that a specification has
    and promtool would have otherwise."""
    done = subprocess.run(["promtool", "check", "metrics"], input=metrics.text.encode(),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
                          timeout=REPLY_S)
    specified = "index_dht_lookup_ms metric names should not contain abbreviated units"
    lines = [line for line in done.stdout.decode().splitlines() if line != specified]
    return lines or ([] if done.returncode in (0, 3) else [f"promtool ended with {done.returncode}"])


class Certificate:
    """A certificate for localhost and its key, in a directory of the test's."""

    def __init__(self, directory, name="first"):
        self.directory = pathlib.Path(directory)
        self.cert, self.key = self.directory / "cert.pem", self.directory / "key.pem"
        self.renew(name)

    def renew(self, name):
        """A new one in place of the old, as a renewal does it."""
        cert, key = self.directory / "new.cert", self.directory / "new.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", str(key), "-out",
             str(cert), "-days", "2", "-subj", f"/CN={name}", "-addext",
             "subjectAltName=DNS:localhost,IP:127.0.0.1"],
            check=True, capture_output=True, timeout=REPLY_S)
        key.chmod(0o600)
        key.rename(self.key)
        cert.rename(self.cert)

    def sets(self, section):
        return {f"{section}.tls.cert_path": self.cert, f"{section}.tls.key_path": self.key}


class Process:
    """One `ron` process and its services. `command` are the words behind `ron`; `services` are those
    that say where they listen, in this order; `sets` are --set overrides, `uds` a socket's path and
    `tls` a Certificate for the first service. With `config`, a file's text, that says all of it."""

    def __init__(self, command, services, sets=None, flags=(), config=None, env=None, cores=2,
                 bind="127.0.0.1:0", admin="127.0.0.1:0", binary=BINARY, uds=None, tls=None):
        self.services = list(services)
        self.uds = uds
        self.trust = str(tls.cert) if tls else None
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-e2e-"))
        self.cwd = self.home / "cwd"
        self.cwd.mkdir()
        self.log_path = self.home / "log"
        self.token_path = self.home / "token"
        self.config_path = self.home / "ron.toml"
        words = [binary, *map(str, command), "--token-out", str(self.token_path),
                 "--log-format", "json", "--cores", str(cores)]
        if config is None:
            words += ["--bind", bind, "--admin", admin]
        else:
            self.config_path.write_text(config)
            words += ["--config", str(self.config_path)]
        sets = dict(sets or {})
        if tls:
            sets.update(tls.sets(self.services[0].removeprefix("svc-")))
        for key, value in sets.items():
            words += ["--set", f"{key}={value}"]
        if uds:
            words += ["--uds", str(uds)]
        words += map(str, flags)
        self.out = []  # lines of standard output
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                words, cwd=self.cwd, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=log, env={**os.environ, **(env or {})}, preexec_fn=die_with_parent)
        self.pid = self.process.pid
        self.addresses = {}  # by service
        try:
            for service in self.services:
                self.moved(service)
            self.address = self.addresses[self.services[0]]
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

    def _line(self):
        """The next line of standard output."""
        end = time.monotonic() + START_S
        descriptor = self.process.stdout.fileno()
        ready, _, _ = select.select([descriptor], [], [], max(0, end - time.monotonic()))
        line = self.process.stdout.readline().decode() if ready else ""
        if not line:
            raise AssertionError(f"no line after {self.out}: {self.log_text()}")
        self.out.append(line)
        return line

    def moved(self, service=None):
        """Where the service, or the first, says that it listens next: at its start, after a
        rebind."""
        service = service or self.services[0]
        line = self._line()
        said = re.fullmatch(rf"{service} listening on (.+):(\d+)\n", line)
        if not said:
            raise AssertionError(f"{service} does not say where it listens: {line!r}")
        host, port = said.groups()
        self.addresses[service] = (host, int(port))
        if service == self.services[0]:
            self.address = self.addresses[service]
        return self.addresses[service]

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

    def connect(self, service=None, **options):
        """To the service, or the first."""
        address = self.addresses[service] if service else self.address
        return Connection(address, tls=self.trust, **options)

    def connect_unix(self, **options):
        return Connection(str(self.uds), **options)

    def connect_admin(self):
        return Connection(self.admin, tls=self.trust)

    def metrics(self):
        with self.connect_admin() as connection:
            response = connection.ask("GET", "/metrics")
            assert response.status == 200, response.raw_head
            return Metrics(response.body.decode())

    def wait_metric(self, name, value, **labels):
        """Counters are added just after an answer left, so a scrape may be a moment early."""
        wait_until(f"{name}{labels} = {value}, is {self.metrics().value(name, **labels)}",
                   lambda: self.metrics().value(name, **labels) == value)

    def rss_kib(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1])


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


# Macaroons, as far as making and narrowing one needs.

def root_key(keys):
    """Id and secret of the one key in the directory."""
    [path] = pathlib.Path(keys).glob("*.key")
    _, key_id, secret, *_ = path.read_text().split()
    return key_id, base64.urlsafe_b64decode(secret + "=" * (-len(secret) % 4))


def mint_old(keys):
    """A token without caveats in the form there was before tenants were fixed at minting."""
    key_id, secret = root_key(keys)
    identifier = f"v1:{key_id}:{os.urandom(16).hex()}".encode()
    derived = hmac.new(b"macaroons-key-generator", secret, hashlib.sha256).digest()
    signature = hmac.new(derived, identifier, hashlib.sha256).digest()
    raw = (b"\x02\x01\x03ron\x02" + bytes([len(identifier)]) + identifier + b"\x00\x00\x06\x20" +
           signature)
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()


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
