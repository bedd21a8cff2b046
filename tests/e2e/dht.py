"""A real DHT for the tests of svc-index: `dhtnode`s with their REST proxies, provider records made
and signed here, and proxies that are up to no good.

`dhtnode` binds every address, so all of it lives in a network of its own: `in_own_network()`."""

import base64
import concurrent.futures
import http.client
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

import provider_record
import registry
import ron

LANES = 5
FIRST_PORT = 8100
INSIDE = "RON_E2E_OWN_NETWORK"


def in_own_network():
    """Goes on in a network namespace that has nothing but a loopback; it ends with the process."""
    if os.environ.get(INSIDE) != "1":
        words = ["unshare", "--net", *([] if os.geteuid() == 0 else ["--map-root-user"])]
        os.environ[INSIDE] = "1"
        os.execvp("unshare", [*words, sys.executable, *sys.argv])
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)


def proxy_url(lane):
    return f"http://127.0.0.1:{FIRST_PORT + lane}"


class Nodes:
    """So many nodes that know each other, each with a proxy: lane i of the index is proxy i."""

    def __init__(self, count=LANES):
        self.home = tempfile.TemporaryDirectory(prefix="ron-e2e-dht-")
        self.processes = []
        for lane in range(count):
            words = ["dhtnode", "-s", "-p", str(4100 + lane), "--proxyserver",
                     str(FIRST_PORT + lane)]
            if lane:
                words += ["-b", "127.0.0.1:4100"]
            with open(pathlib.Path(self.home.name) / f"{lane}.log", "wb") as log:
                self.processes.append(subprocess.Popen(
                    words, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                    cwd=self.home.name, preexec_fn=ron.die_with_parent))
            if lane == 0:
                ron.wait_until("the first node answers", lambda: self.known(0) >= 0, 20 * ron.SLOW)
        ron.wait_until("the nodes have met",
                       lambda: all(self.known(lane) >= 1 for lane in range(count)),
                       60 * ron.SLOW, 0.1)
        ron.wait_until("each finds what any other was given", self.are_one, 60 * ron.SLOW, 0.1)

    @staticmethod
    def known(lane):
        """How many others are known to answer; below zero before it can say."""
        try:
            status, body = ask("GET", lane, "/")
        except OSError:
            return -1
        return json.loads(body)["ipv4"]["good"] if status == 200 else -1

    def are_one(self):
        lanes = range(len(self.processes))
        key = "/" + os.urandom(20).hex()
        for lane in lanes:
            ask("POST", lane, key, line(b"from %d" % lane).strip())
        values = [{json.loads(one)["data"] for one in ask("GET", lane, key)[1].splitlines()}
                  for lane in lanes]
        return all(len(several) == len(values) for several in values)

    def pause(self, lane):
        self.processes[lane].send_signal(signal.SIGSTOP)

    def go_on(self, lane):
        self.processes[lane].send_signal(signal.SIGCONT)

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        self.home.cleanup()


def ask(method, lane, path, body=None):
    connection = http.client.HTTPConnection("127.0.0.1", FIRST_PORT + lane, timeout=30 * ron.SLOW)
    try:
        connection.request(method, path, body, {"Content-Type": "application/json"} if body else {})
        response = connection.getresponse()
        return response.status, response.read()
    finally:
        connection.close()


def some_address():
    return os.urandom(32)


def text(address):
    return "b3:" + address.hex()


def record(signer, address, seq=1, ttl_s=3600, url="http://127.0.0.1:9", region="eu-west"):
    """The bytes of a provider record; the signature may be spoilt later."""
    return provider_record.record(signer, text(address), url, region, seq,
                                  int((time.time() + ttl_s) * 1000))


def lane_keys(addresses, lanes=LANES):
    """{(lane, address): key}"""
    wanted = [(lane, address) for address in addresses for lane in range(lanes)]
    digests = registry.b3_all([provider_record.lane_text(lane, text(address))
                               for lane, address in wanted])
    return {pair: digest.removeprefix("b3:")[:40] for pair, digest in zip(wanted, digests)}


def line(value):
    return json.dumps({"data": base64.b64encode(value).decode(), "type": 0}).encode() + b"\n"


def publish(values, lanes=range(LANES)):
    """Puts {address: [bytes, …]} straight into the DHT, in all lanes, by nobody's leave."""
    keys = lane_keys(list(values))

    def put(job):
        lane, address, value = job
        status, body = ask("POST", lane, "/" + keys[lane, address], line(value).strip())
        assert status == 200, (status, body)

    jobs = [(lane, address, value) for address, several in values.items() for value in several
            for lane in lanes]
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        list(pool.map(put, jobs))


class Proxy:
    """A proxy by hand: `act(socket, request)` for every request. Counts who asked, and how long
    each one that was kept waiting stayed before it closed the connection."""

    def __init__(self, act):
        self.act = act
        self.asked = 0
        self.left_after = []  # seconds
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._talk, args=(connection,), daemon=True).start()

    def _talk(self, connection):
        with connection:
            began = time.monotonic()
            try:
                request = b""
                while b"\r\n\r\n" not in request:
                    more = connection.recv(65536)
                    if not more:
                        return
                    request += more
                self.asked += 1
                began = time.monotonic()
                self.act(connection, request)
                while connection.recv(65536):
                    pass
            except OSError:
                pass
            self.left_after.append(time.monotonic() - began)

    def close(self):
        self.listener.close()


HEAD = (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")


def chunk(piece):
    return b"%x\r\n%s\r\n" % (len(piece), piece)


def whole(*values):
    """An answer with these values."""
    return HEAD + b"".join(chunk(line(value)) for value in values) + b"0\r\n\r\n"


def says(*values):
    return lambda connection, _: connection.sendall(whole(*values))


def silent(_connection, _request):
    pass


def _for_ever(connection, first, piece, pause=0.0):
    connection.sendall(first)
    while True:
        connection.sendall(piece)
        if pause:
            time.sleep(pause)


HOSTILE = {
    "garbage": lambda c, _: c.sendall(HEAD + chunk(b"this is no JSON\n" * 100) + b"0\r\n\r\n"),
    "endless body": lambda c, _: _for_ever(c, HEAD, chunk(line(b"no record"))),
    "a line of a gibibyte": lambda c, _: _for_ever(
        c, b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        b"Content-Length: 1073741824\r\n\r\n",
        b"x" * 65536),
    "slow drip": lambda c, _: _for_ever(c, HEAD, chunk(b"{"), 0.02),
    "slow head": lambda c, _: _for_ever(c, b"HTTP/1.1 200 OK\r\n", b"X-Drip: y\r\n", 0.02),
    "redirect": lambda c, _: c.sendall(
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"),
    "another type": lambda c, _: c.sendall(
        b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 2\r\n\r\n{}"),
    "cut off": lambda c, _: (c.sendall(HEAD + b"40\r\n{"), c.shutdown(socket.SHUT_RDWR)),
    "silence": silent,
}
