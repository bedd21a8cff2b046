"""Clients that dribble, stop reading, explode when decoded, or come in too large a crowd."""

import gzip
import json
import pathlib
import re
import subprocess
import sys
import threading
import time
import unittest
import zlib

import gateway
import ron
import storage

HERE = pathlib.Path(__file__).resolve().parent
MIB = 1 << 20
# Posts a file, whole or in pieces, and prints what came of it.
FETCH = """
const [path, url, authorization, how] = process.argv.slice(1);
const whole = require('fs').readFileSync(path);
let at = 0;
const pieces = () => new ReadableStream({pull(to) {
  if (at === whole.length) return to.close();
  to.enqueue(new Uint8Array(whole.subarray(at, at += 65536)));
}});
fetch(url, {method: 'POST', headers: {authorization}, duplex: 'half',
            body: how === 'pieces' ? pieces() : whole})
    .then(async (answer) => console.log(answer.status, (await answer.json()).error.code))
    .catch((error) => console.log(String(error), String(error.cause)));
"""


def latencies(server, path, seconds, stop=lambda: False):
    """Round trips of a well-behaved client, in seconds, half of them on fresh connections."""
    took = []
    end = time.monotonic() + seconds
    with server.connect() as steady:
        while time.monotonic() < end and not stop():
            begin = time.monotonic()
            assert steady.ask("GET", path).status == 200
            took.append(time.monotonic() - begin)
            begin = time.monotonic()
            with server.connect() as fresh:
                assert fresh.ask("GET", "/healthz").status == 200
            took.append(time.monotonic() - begin)
    return took


class Dribbling(unittest.TestCase):
    COUNT = 1000
    TIMEOUT_S = 1.0

    def setUp(self):
        ron.more_descriptors()
        self.server = storage.Server(sets={
            "storage.read_timeout": "1s", "storage.server.max_rps": 1000000,
            "storage.max_conns": 4096,
            "storage.max_conns_per_ip": 4096, "storage.server.max_inflight": 4096})
        self.addCleanup(self.server.close)
        self.path = "/o/" + self.server.put(b"x" * 1024)

    def dribblers(self, head, seconds):
        head_file = self.server.home / "head"
        head_file.write_bytes(head)
        process = subprocess.Popen(
            [sys.executable, str(HERE / "load.py"), "dribble", self.server.address[0],
             str(self.server.address[1]), str(self.COUNT), str(seconds), "0.1", str(head_file)],
            stdout=subprocess.PIPE, preexec_fn=ron.die_with_parent)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(lambda: process.poll() is None and process.kill())
        self.assertEqual(process.stdout.readline(), b"ready\n")
        return process

    def cut_while_others_are_served(self, head):
        process = self.dribblers(head, seconds=4)
        # Noise of the machine only ever adds: one quiet window of three shows what the server does.
        windows = [ron.percentile(latencies(self.server, self.path, 1.0), 0.99) for _ in range(3)]
        report = json.loads(process.stdout.readline())
        cuts = report["cuts"]
        self.assertEqual(report["uncut"], 0)
        self.assertGreaterEqual(len(cuts), self.COUNT)
        self.assertEqual({(cut["status"], cut["code"]) for cut in cuts}, {(408, "ReadTimeout")})
        seconds = [cut["seconds"] for cut in cuts]
        self.assertGreaterEqual(min(seconds), self.TIMEOUT_S - 0.05)
        self.assertLess(ron.percentile(seconds, 0.99), self.TIMEOUT_S + 1.0 * ron.SLOW)
        if not ron.SANITIZED:
            self.assertLess(min(windows), 0.050, windows)
        self.assertEqual(self.server.metrics().value("io_timeouts_total", op="read"), len(cuts))
        print(f"{len(cuts)} cut after {min(seconds):.2f} to {max(seconds):.2f} s; p99 of others "
              f"{', '.join(f'{1000 * w:.1f}' for w in windows)} ms", file=sys.stderr)

    def test_heads(self):
        self.cut_while_others_are_served(b"GET /healthz HTTP/1.1\r\nHost: test\r\nX-Slow: ")

    def test_heads_that_never_get_beyond_the_method(self):
        self.cut_while_others_are_served(b"")

    def test_bodies(self):
        self.cut_while_others_are_served(ron.request("POST", "/o",
                                                     [self.server.auth,
                                                      ("Content-Length", "1000")]))

    def test_chunked_bodies(self):
        head = ron.request("POST", "/o", [self.server.auth, ("Transfer-Encoding", "chunked")])
        self.cut_while_others_are_served(head + b"1000\r\n")


class Readers(unittest.TestCase):
    def setUp(self):
        self.server = storage.Server(sets={"storage.write_timeout": "1s"})
        self.addCleanup(self.server.close)
        self.path, self.data = self.server.put_large()

    def test_one_that_stops_is_cut(self):
        with self.server.connect(receive_buffer=4096) as connection:
            connection.send(ron.request("GET", self.path))
            began = time.monotonic()
            self.server.wait_metric("io_timeouts_total", 1, op="write")
            self.assertGreaterEqual(time.monotonic() - began, 0.95)
            self.assertLess(time.monotonic() - began, 1.0 + 2.0 * ron.SLOW)
            self.server.wait_metric("http_connections", 1)  # the scrape's own
            with self.assertRaises(ron.Truncated):
                connection.read_response()

    def test_as_many_as_may_be_in_flight_lock_nobody_out(self):
        self.server.close()
        self.server = storage.Server(sets={"storage.server.max_inflight": 8,
                                       "storage.write_timeout": "60s"})
        self.addCleanup(self.server.close)
        path, _ = self.server.put_large()
        for _ in range(16):
            connection = self.server.connect(receive_buffer=4096)
            self.addCleanup(connection.close)
            connection.send(ron.request("GET", path))
            connection.pending = connection.socket.recv(4)
        self.server.wait_metric("http_inflight_requests", 0)
        with self.server.connect() as connection:
            for _ in range(20):
                self.assertEqual(connection.ask("GET", path).status, 200)
        self.assertEqual(self.server.metrics().value("http_connections"), 16 + 1)

    def test_one_that_only_sips_is_cut(self):
        with self.server.connect(receive_buffer=4096) as connection:
            connection.send(ron.request("GET", self.path))
            received = 0

            def sip():
                nonlocal received
                try:
                    received += len(connection.socket.recv(64))
                except OSError:
                    pass
                return self.server.metrics().value("io_timeouts_total", op="write") == 1

            ron.wait_until("the sipper is cut", sip, pause=0.1)
            self.assertLess(received, len(self.data))

    def test_one_that_is_merely_slow_gets_everything(self):
        with self.server.connect(receive_buffer=65536) as connection:
            connection.send(ron.request("GET", self.path))
            response = connection.read_head()
            received = bytearray(connection.pending)
            began = time.monotonic()
            while len(received) < len(self.data):
                piece = connection.socket.recv(32768)
                self.assertTrue(piece, "cut although it read on")
                received += piece
                time.sleep(0.01)
            self.assertEqual(response.status, 200)
            self.assertEqual(bytes(received), self.data)
            self.assertGreater(time.monotonic() - began, 1.0, "not slow enough to show anything")
        self.assertEqual(self.server.metrics().value("io_timeouts_total", op="write"), 0)


class Bombs(unittest.TestCase):
    GROWTH_KIB = 48 * 1024  # of the whole process, whatever the bombs claim

    @classmethod
    def setUpClass(cls):
        zeros = b"\0" * MIB
        packer = zlib.compressobj(9, wbits=31)
        packed = b"".join(packer.compress(zeros) for _ in range(256)) + packer.flush()
        cls.bombs = {"gzip": packed, "br": cls.pipe("brotli", "-q", "5", "-c"),
                     "zstd": cls.pipe("zstd", "-q", "-c")}

    @staticmethod
    def pipe(*command):
        """256 MiB of zeros through a tool."""
        tool = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

        def feed():
            with tool.stdin:
                for _ in range(256):
                    tool.stdin.write(b"\0" * MIB)

        feeder = threading.Thread(target=feed)
        feeder.start()
        packed = tool.stdout.read()
        feeder.join()
        tool.stdout.close()
        assert tool.wait() == 0
        return packed

    def setUp(self):
        self.server = storage.Server(sets={"storage.server.max_rps": 1000000})
        self.addCleanup(self.server.close)

    def peak_kib(self):
        status = pathlib.Path(f"/proc/{self.server.pid}/status").read_text()
        return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1])

    def test_every_coding_is_defused_in_bounded_memory(self):
        warm = storage.large_object(size=1 << 16)[1]
        self.server.put(warm, ("Content-Encoding", "gzip"))
        for coding, bomb in self.bombs.items():
            with self.subTest(coding):
                self.assertGreater(256 * MIB / len(bomb), 1000)
                before = self.peak_kib()
                errors = ron.Load(8, lambda _, c=coding,
                                  b=bomb: self.explode(c, b)).finish_after(1.0)
                self.assertEqual(errors, [])
                if not ron.SANITIZED:
                    self.assertLess(self.peak_kib() - before, self.GROWTH_KIB)
        self.assertEqual(self.server.metrics().value("storage_objects"), 1)

    def explode(self, coding, bomb):
        with self.server.connect() as connection:
            response = connection.ask("POST", "/o",
                                      [self.server.auth, ("Content-Encoding", coding)], bomb)
            assert response.status == 413 and response.code in ("DecodedRatio",
                                                                "DecodedCap"), response.body

    def test_a_bomb_that_stays_below_the_ratio_meets_the_cap(self):
        data, packed = storage.large_object(size=8 * MIB + 1, repeats=10)
        self.assertLess(len(data) / len(packed), 10)
        self.assertLess(len(packed), MIB)
        with self.server.connect() as connection:
            response = connection.ask("POST", "/o",
                                      [self.server.auth, ("Content-Encoding", "gzip")], packed)
            self.assertEqual((response.status, response.code), (413, "DecodedCap"))

    def test_layers_are_refused_unread(self):
        layered = gzip.compress(self.bombs["gzip"])
        for coding in ("gzip, gzip", "gzip,br", "zstd, gzip, br"):
            with self.subTest(coding), self.server.connect() as connection:
                response = connection.ask("POST", "/o",
                                          [self.server.auth, ("Content-Encoding", coding)], layered)
                self.assertEqual((response.status, response.code), (413, "DecodedCap"))
                self.assertTrue(connection.ends())


class LargeBodies(unittest.TestCase):
    def setUp(self):
        self.server = storage.Server()
        self.addCleanup(self.server.close)

    def test_a_declared_length_is_refused_before_any_byte_of_it(self):
        with self.server.connect() as connection:
            head = [self.server.auth, ("Content-Length", str(2 * MIB))]
            response = connection.ask("POST", "/o", head)
            self.assertEqual((response.status, response.code), (413, "BodyCap"))
            self.assertTrue(connection.ends())

    def test_a_client_that_sends_it_all_the_same_can_read_the_answer(self):
        for _ in range(5):
            with self.server.connect() as connection:
                response = connection.ask("POST", "/o", [self.server.auth], b"x" * (2 * MIB))
                self.assertEqual((response.status, response.code), (413, "BodyCap"))

    def test_programs_that_send_a_large_body_see_the_refusal(self):
        """Each is still sending when the answer comes, or looks at it only when it has sent all."""
        url = "http://%s:%d/o" % self.server.address
        body = self.server.home / "body"
        body.write_bytes(bytes(64 * MIB))
        name, bearer = self.server.auth
        programs = {
            "node": ["node", "-e", FETCH, str(body), url, bearer, "whole"],
            "node, in pieces": ["node", "-e", FETCH, str(body), url, bearer, "pieces"],
            "curl": ["curl", "-s", "-o", "/dev/null", "-w", "%{http_code} BodyCap", "-H", "Expect:",
                     "-H", f"{name}: {bearer}", "--data-binary", f"@{body}", url]}
        for program, command in programs.items():
            for _ in range(5):
                done = subprocess.run(command, capture_output=True, text=True, check=False,
                                      timeout=60 * ron.SLOW)
                self.assertEqual(done.stdout.strip(), "413 BodyCap", (program, done.stderr))
        with self.server.connect() as connection:
            response = connection.ask("POST", "/o", [self.server.auth], body.read_bytes())
            self.assertEqual((response.status, response.code), (413, "BodyCap"))

    def test_chunks_are_refused_when_they_pass_the_cap(self):
        piece = 64 * 1024
        with self.server.connect() as connection:
            connection.send(ron.request("POST", "/o",
                                        [self.server.auth, ("Transfer-Encoding", "chunked")]))
            for _ in range(MIB // piece):
                connection.send(b"10000\r\n" + b"x" * piece + b"\r\n")
            connection.send(b"1\r\n")  # its byte is not even sent
            response = connection.read_response()
            self.assertEqual((response.status, response.code), (413, "BodyCap"))
            self.assertTrue(connection.ends())

    def test_exactly_the_cap_is_fine(self):
        with self.server.connect() as connection:
            self.assertEqual(connection.ask("POST", "/o", [self.server.auth], b"x" * MIB).status,
                             201)
            self.assertTrue(connection.is_open())
            connection.send(ron.request("POST", "/o",
                                        [self.server.auth, ("Transfer-Encoding", "chunked")]))
            connection.send(b"100000\r\n" + b"y" * MIB + b"\r\n0\r\n\r\n")
            self.assertEqual(connection.read_response().status, 201)
            self.assertTrue(connection.is_open())


class Crowds(unittest.TestCase):
    def admitted(self, server, source):
        """A connection from that loopback address, or the refusal it met."""
        connection = ron.Connection(server.address, source=source)
        self.addCleanup(connection.close)
        connection.send(ron.request("GET", "/healthz"))
        response = connection.read_response()
        if response.status == 200:
            return connection
        self.assertEqual((response.status, response.code), (429, "Busy"))
        self.assertEqual(response.get("Retry-After"), "1")
        self.assertTrue(response.closes)
        self.assertTrue(connection.ends())
        connection.close()
        return response.json()["error"]["details"]

    def fill(self, server, source, tries, most, details):
        """Opens `tries` connections: exactly `most` get in, the others are told why."""
        outcomes = [self.admitted(server, source) for _ in range(tries)]
        inside = [each for each in outcomes if isinstance(each, ron.Connection)]
        self.assertEqual(len(inside), most)
        self.assertEqual(outcomes[:most], inside, "a later one got in before an earlier one")
        self.assertEqual([each for each in outcomes if each not in inside],
                         [details] * (tries - most))
        return inside

    def leave(self, server, connections, left):
        for connection in connections:
            connection.close()
        # The scrape's own connection is one of the admin listener.
        server.wait_metric("http_connections", left + 1)

    def test_the_cap_per_address(self):
        with storage.Server(sets={"storage.max_conns_per_ip": 10}) as server:
            def full(address):
                return {"max_conns_per_ip": "10", "address": address}

            first = self.fill(server, "127.0.0.1", 25, 10, full("127.0.0.1"))
            other = self.fill(server, "127.0.0.2", 12, 10, full("127.0.0.2"))
            metrics = server.metrics()
            self.assertEqual(metrics.value("rejected_total", reason="connections-per-ip"), 15 + 2)
            self.assertEqual(metrics.value("http_connections"), 20 + 1)
            self.assertTrue(all(each.is_open() for each in first + other))
            self.leave(server, first[:3], left=17)
            self.fill(server, "127.0.0.1", 5, 3, full("127.0.0.1"))
            self.fill(server, "127.0.0.2", 2, 0, full("127.0.0.2"))

    def test_the_cap_in_all(self):
        with storage.Server(sets={"storage.max_conns": 16, "storage.max_conns_per_ip": 10}) as server:
            full = {"max_conns": "16"}
            first = self.fill(server, "127.0.0.1", 10, 10, full)
            second = self.fill(server, "127.0.0.2", 10, 6, full)
            self.fill(server, "127.0.0.3", 5, 0, full)
            self.assertEqual(server.metrics().value("rejected_total", reason="connections"), 4 + 5)
            self.leave(server, first + second, left=0)
            self.fill(server, "127.0.0.3", 12, 10,
                      {"max_conns_per_ip": "10", "address": "127.0.0.3"})
            self.fill(server, "127.0.0.1", 8, 6, full)

    def test_one_address_leaves_room_for_others(self):
        """With the gateway's defaults, after as many connections as one address gets."""
        server = gateway.Server([{"prefix": "/x", "upstream": "inproc:storage"}])
        self.addCleanup(server.close)
        outcomes = [self.admitted(server, "127.0.0.1") for _ in range(260)]
        inside = [each for each in outcomes if isinstance(each, ron.Connection)]
        for connection in inside:
            self.addCleanup(connection.close)
        self.assertLessEqual(len(inside), 512 // 4)
        self.assertEqual(outcomes[-1], {"max_conns_per_ip": str(len(inside)),
                                        "address": "127.0.0.1"})
        self.assertEqual(server.metrics().value("rejected_total", reason="connections-per-ip"),
                         260 - len(inside))
        other = self.admitted(server, "127.0.0.2")
        self.assertIsInstance(other, ron.Connection)
        other.close()

    def test_a_crowd_at_once(self):
        with storage.Server(sets={"storage.max_conns_per_ip": 50}) as server:
            outcomes = []
            gate = threading.Barrier(8)

            def rush(_):
                gate.wait()
                outcomes.extend([self.admitted(server, "127.0.0.1") for _ in range(25)])
                return False

            self.assertEqual(ron.Load(8, rush).join(), [])
            inside = [each for each in outcomes if isinstance(each, ron.Connection)]
            self.assertEqual((len(outcomes), len(inside)), (200, 50))
            self.assertTrue(all(each.is_open() for each in inside))
            self.leave(server, inside, left=0)
            self.fill(server, "127.0.0.1", 51, 50,
                      {"max_conns_per_ip": "50", "address": "127.0.0.1"})


if __name__ == "__main__":
    unittest.main()
