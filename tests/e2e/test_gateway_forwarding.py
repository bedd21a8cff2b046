"""What the gateway sends on, and how it streams: fields written anew, bodies of any size in pieces,
and nobody who waits longer than the other side."""

import socket
import threading
import time
import unittest

import desync_parser as parser
import gateway
import ron
from gateway_origin import Origin

KIB = 1 << 10
MIB = 1 << 20
GIB = 1 << 30
PIECE = bytes(range(256)) * 4 * KIB  # of a large body, 1 MiB
TWICE = PIECE * 2

KEYS = {
    "server.max_rps": 1000000,
    "drr.rate_limit_rps": 1000000,
    "limits.max_body_bytes": "64MiB",
}
STALL_S = 1.0
LEAVES_S = 0.05  # sooner, it has only said that it sends no more (peer_watch.h)
BUFFERS = 16 * MIB  # more than sockets and one request may hold on the way


def ask(server, text, timeout=ron.REPLY_S):
    """Sends latin-1 text that ends with `Connection: close`, or else says that there is no more, and
    reads all answers. Who says so and waits for long counts as gone (peer_watch.h)."""
    with socket.create_connection(server.address, timeout=timeout) as client:
        client.sendall(text.encode("latin-1"))
        if "Connection: close" not in text:
            client.shutdown(socket.SHUT_WR)
        received = b""
        while piece := client.recv(1 << 16):
            received += piece
    responses, rest = parser.read_responses(received)
    assert not rest, rest
    return responses


def get(path, *fields):
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: front.test", *fields,
                        "Connection: close", "", ""])


class Forwarding(unittest.TestCase):
    keys = {}

    def setUp(self):
        self.origin = Origin(**{name.removeprefix("way_"): getattr(self, name)
                                for name in dir(self) if name.startswith("way_")})
        self.addCleanup(self.origin.close)
        prefixes = sorted(self.origin.ways)
        self.server = gateway.Server(
            [{"prefix": f"/{prefix}", "upstream": self.origin.url, "open": True}
             for prefix in prefixes],
            {**KEYS, **self.keys}, sets={"safety.danger_ok": "true"})
        self.addCleanup(self.server.close)

    def last(self):
        return self.origin.requests[-1][0]

    @staticmethod
    def way_echo(peer, request):
        body, raw = peer.read_body(request)
        request.raw_body = raw
        peer.answer(body)


class Heads(Forwarding):
    def test_a_plain_request_is_written_anew(self):
        [answer] = ask(self.server, get("/echo/a?b=c", "Accept: x/y", "X-Own: 1", "x-own: 2"))
        self.assertEqual(answer.status, 200)
        request = self.last()
        self.assertEqual((request.method, request.target), ("GET", "/echo/a?b=c"))
        self.assertEqual(request.all("accept"), ["x/y"])
        self.assertEqual(request.all("x-own"), ["1", "2"])
        self.assertEqual(request.all("x-forwarded-for"), ["127.0.0.1"])
        self.assertEqual(request.all("x-forwarded-proto"), ["http"])
        self.assertEqual(request.all("x-forwarded-host"), ["front.test"])
        self.assertEqual(request.all("forwarded"),
                         ['for=127.0.0.1;proto=http;host="front.test"'])
        self.assertEqual(request.all("x-corr-id"), answer.all("x-corr-id"))
        self.assertRegex(request.get("x-corr-id"), ron.ULID)
        self.assertEqual(request.all("content-length") + request.all("transfer-encoding"), [])

    def test_what_clients_say_about_their_way_is_dropped(self):
        ask(self.server, get("/echo", "X-Forwarded-For: 203.0.113.7", "X-Forwarded-For: 1.2.3.4",
                             "Forwarded: for=203.0.113.7;host=evil", "X-Forwarded-Host: evil",
                             "X-Forwarded-Proto: https", "X-Real-IP: 203.0.113.7",
                             "X-Forwarded-By: evil", "X-Forwarded-Port: 99", "X-Corr-ID: evil"))
        said = "\n".join(f"{name}: {value}" for name, value in self.last().fields)
        self.assertNotIn("evil", said)
        self.assertNotIn("203.0.113.7", said)
        self.assertNotIn("1.2.3.4", said)
        self.assertNotIn("https", said)
        self.assertEqual(self.last().all("x-forwarded-for"), ["127.0.0.1"])

    def test_what_only_a_proxy_may_say_is_dropped(self):
        names = ["X-Client-IP", "X-Cluster-Client-IP", "Fastly-Client-IP", "True-Client-IP",
                 "CF-Connecting-IP", "X-Original-URL", "X-Rewrite-URL", "X-Original-Host",
                 "X-Host", "Client-IP", "X-Remote-Addr", "X_Original_URL"]
        ask(self.server, get("/echo", "X-Kept: 1", *(f"{name}: /admin" for name in names)))
        self.assertEqual(self.last().get("x-kept"), "1")
        self.assertNotIn("/admin", [value for _, value in self.last().fields])

    @staticmethod
    def way_hsts(peer, _request):
        peer.answer(b"", "Strict-Transport-Security: max-age=99; includeSubDomains")

    def test_an_upstream_does_not_say_whether_browsers_keep_to_tls(self):
        [answer] = ask(self.server, get("/hsts"))
        self.assertEqual((answer.status, answer.all("strict-transport-security")), (200, []))

    def test_the_host_is_the_upstream(self):
        ask(self.server, get("/echo"))
        self.assertEqual(self.last().all("host"), ["%s:%d" % self.origin.address])

    def test_fields_for_one_hop_stay(self):
        ask(self.server, get("/echo", "Connection: X-Own, keep-alive", "X-Own: a", "TE: trailers",
                             "Keep-Alive: timeout=5", "Proxy-Authorization: Basic x",
                             "Upgrade: h2c", "Trailer: x", "X-Kept: 1"))
        names = {name for name, _ in self.last().fields}
        self.assertLessEqual({"x-kept", "host"}, names)
        self.assertFalse(names & {"x-own", "te", "keep-alive", "proxy-authorization", "upgrade",
                                  "trailer", "transfer-encoding"}, names)

    def test_absolute_form_goes_on_in_origin_form(self):
        [answer] = ask(self.server, get("http://front.test/echo/x?y"))
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.last().target, "/echo/x?y")


class TrustedProxy(Forwarding):
    keys = {"trusted_proxies": ["127.0.0.0/8", "10.0.0.0/8"], "upstream.keep_host": True}

    def test_the_client_is_the_last_address_that_no_trusted_proxy_has(self):
        ask(self.server, get("/echo", "X-Forwarded-For: 9.9.9.9, 203.0.113.7, 10.1.2.3",
                             "X-Forwarded-Proto: https"))
        self.assertEqual(self.last().all("x-forwarded-for"), ["203.0.113.7"])
        self.assertEqual(self.last().all("x-forwarded-proto"), ["https"])
        self.assertEqual(self.last().all("forwarded"),
                         ['for=203.0.113.7;proto=https;host="front.test"'])

    def test_the_host_is_the_clients(self):
        ask(self.server, get("/echo"))
        self.assertEqual(self.last().all("host"), ["front.test"])


class Bodies(Forwarding):
    @staticmethod
    def way_chunks(peer, _request):
        peer.socket.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                            b"3;x=y\r\nabc\r\n0004\r\ndefg\r\n0\r\nX-Trailer: 1\r\n\r\n")

    def test_a_body_with_a_length(self):
        [answer] = ask(self.server, "POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n"
                                    "Connection: close\r\n\r\nhello")
        self.assertEqual(answer.body, b"hello")
        self.assertEqual(self.last().all("content-length"), ["5"])

    def test_a_body_in_chunks_goes_on_in_plain_chunks(self):
        [answer] = ask(self.server, "POST /echo HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked"
                                    "\r\nConnection: close\r\n\r\n2;a=b\r\nhe\r\n003\r\nllo\r\n"
                                    "0\r\nX-Trailer: x\r\n\r\n")
        self.assertEqual(answer.body, b"hello")
        request = self.last()
        self.assertEqual(request.all("transfer-encoding"), ["chunked"])
        self.assertNotIn(b";", request.raw_body)
        self.assertNotIn(b"Trailer", request.raw_body)

    def test_chunks_of_the_upstream_reach_the_client_as_chunks(self):
        [answer] = ask(self.server, get("/chunks"))
        self.assertEqual(answer.body, b"abcdefg")
        self.assertEqual(answer.all("transfer-encoding"), ["chunked"])
        self.assertEqual(answer.all("x-trailer"), [])

    def test_an_old_client_gets_chunks_as_bytes_to_the_end(self):
        with socket.create_connection(self.server.address, timeout=ron.REPLY_S) as client:
            client.sendall(b"GET /chunks HTTP/1.0\r\n\r\n")
            received = b""
            while piece := client.recv(1 << 16):
                received += piece
        head, _, body = received.partition(b"\r\n\r\n")
        self.assertEqual(body, b"abcdefg")
        self.assertNotIn(b"chunked", head.lower())

    def test_consent_comes_before_the_body(self):
        with socket.create_connection(self.server.address, timeout=ron.REPLY_S) as client:
            client.sendall(b"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 5\r\n"
                           b"Expect: 100-continue\r\nConnection: close\r\n\r\n")
            self.assertEqual(client.recv(1 << 16), b"HTTP/1.1 100 Continue\r\n\r\n")
            client.sendall(b"hello")
            received = b""
            while piece := client.recv(1 << 16):
                received += piece
        [answer], _ = parser.read_responses(received)
        self.assertEqual(answer.body, b"hello")
        self.assertEqual(self.last().all("expect"), [])


class Streams(Forwarding):
    """Sizes far beyond any buffer: what is held on the way does not grow with them."""

    GROWTH_KIB = 48 * KIB

    def setUp(self):
        self.sent = 0  # of a large answer, by the upstream
        self.taken = 0  # of a large request
        self.gone = threading.Event()  # the gateway closed its connection to the upstream
        self.may_read = threading.Event()
        super().setUp()
        ask(self.server, get("/echo"))
        self.before_kib = self.server.rss_kib()

    def grown_kib(self):
        return self.server.rss_kib() - self.before_kib

    def pour(self, peer, total):
        try:
            while self.sent < total:
                self.sent += peer.socket.send(PIECE[:min(len(PIECE), total - self.sent)])
        except OSError:
            self.gone.set()
            raise

    def way_large(self, peer, _request):
        peer.socket.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % GIB)
        self.pour(peer, GIB)

    def way_endless(self, peer, _request):
        peer.socket.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n")
        self.pour(peer, 64 * MIB)
        return False

    def way_sink(self, peer, request):
        self.may_read.wait(ron.REPLY_S)
        total = int(request.get("content-length"))
        self.taken = len(peer.pending)
        while self.taken < total:
            piece = peer.socket.recv(MIB)
            if not piece:
                self.gone.set()
                return False
            self.taken += len(piece)
        peer.pending = b""
        peer.answer(b"%d" % self.taken)
        return True

    def way_silent(self, peer, _request):
        if peer.ended(ron.REPLY_S):
            self.gone.set()
        return False

    def download(self, path, sink):
        """Reads an answer's head and hands all that follows to `sink`, piece by piece."""
        with socket.create_connection(self.server.address, timeout=ron.REPLY_S) as client:
            client.sendall(get(path).encode())
            pending = b""
            while b"\r\n\r\n" not in pending:
                pending += client.recv(1 << 16)
            head, _, first = pending.partition(b"\r\n\r\n")
            sink(first)
            buffer = bytearray(MIB)
            while count := client.recv_into(buffer):
                sink(memoryview(buffer)[:count])
        return head

    def test_a_gibibyte_is_streamed_in_little_memory(self):
        most = 0
        counted = 0

        def sink(piece):
            nonlocal counted, most
            at = counted % len(PIECE)
            self.assertTrue(TWICE.startswith(piece, at))
            before, counted = counted, counted + len(piece)
            if before // (64 * MIB) != counted // (64 * MIB):
                most = max(most, self.grown_kib())

        head = self.download("/large", sink)
        self.assertIn(b"Content-Length: %d" % GIB, head)
        self.assertEqual(counted, GIB)
        if not ron.SANITIZED:
            self.assertLess(most, self.GROWTH_KIB)

    def test_an_answer_without_a_length_is_streamed(self):
        received = bytearray()
        head = self.download("/endless", received.extend)
        self.assertIn(b"Transfer-Encoding: chunked", head)
        body, rest = parser.read_chunked(bytes(received))
        self.assertEqual((len(body), rest), (64 * MIB, b""))
        self.assertTrue(body == PIECE * 64)

    def test_a_reader_that_stops_stops_the_upstream(self):
        with socket.socket() as client:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 64 * KIB)
            client.settimeout(ron.REPLY_S)
            client.connect(self.server.address)
            client.sendall(get("/large").encode())
            ron.wait_until("the first bytes", lambda: self.sent)
            self.at_rest(lambda: self.sent)
            self.assertLess(self.sent, BUFFERS)
            if not ron.SANITIZED:
                self.assertLess(self.grown_kib(), self.GROWTH_KIB)
            held = self.sent
            for _ in range(32):
                client.recv(MIB)
            ron.wait_until("the upstream goes on", lambda: self.sent > held)

    def at_rest(self, progress):
        """Waits until nothing moves for a while."""
        since, last = time.monotonic(), progress()
        end = since + ron.REPLY_S
        while time.monotonic() - since < STALL_S:
            self.assertLess(time.monotonic(), end, "it never comes to rest")
            time.sleep(0.05)
            if progress() != last:
                since, last = time.monotonic(), progress()

    def test_an_upstream_that_does_not_read_stops_the_client(self):
        total = 64 * MIB
        sent = 0
        with socket.create_connection(self.server.address, timeout=ron.REPLY_S) as client:
            client.sendall(b"POST /sink HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n"
                           b"Connection: close\r\n\r\n" % total)
            client.settimeout(STALL_S)
            with self.assertRaises(TimeoutError):
                while sent < total:
                    sent += client.send(PIECE[:min(len(PIECE), total - sent)])
            self.assertLess(sent, BUFFERS)
            if not ron.SANITIZED:
                self.assertLess(self.grown_kib(), self.GROWTH_KIB)
            self.may_read.set()
            client.settimeout(ron.REPLY_S)
            while sent < total:
                sent += client.send(PIECE[:min(len(PIECE), total - sent)])
            received = b""
            while piece := client.recv(1 << 16):
                received += piece
        [answer], _ = parser.read_responses(received)
        self.assertEqual((answer.status, answer.body), (200, b"%d" % total))
        if not ron.SANITIZED:
            self.assertLess(self.grown_kib(), self.GROWTH_KIB)

    def test_a_client_that_leaves_in_the_middle_frees_the_upstream(self):
        with socket.create_connection(self.server.address, timeout=ron.REPLY_S) as client:
            client.sendall(get("/large").encode())
            client.recv(MIB)
        self.assertTrue(self.gone.wait(ron.REPLY_S))
        self.assertLess(self.sent, GIB)

    def test_a_client_that_leaves_before_the_answer_frees_the_upstream(self):
        before = len(self.origin.requests)
        with socket.create_connection(self.server.address, timeout=ron.REPLY_S) as client:
            client.sendall(get("/silent").encode())
            ron.wait_until("the request", lambda: len(self.origin.requests) > before)
            time.sleep(LEAVES_S)
        self.assertTrue(self.gone.wait(2 * ron.SLOW))

    def test_a_client_that_leaves_in_its_body_ends_the_request(self):
        self.may_read.set()
        before = len(self.origin.requests)
        with socket.create_connection(self.server.address, timeout=ron.REPLY_S) as client:
            client.sendall(b"POST /sink HTTP/1.1\r\nHost: t\r\nContent-Length: 100000\r\n\r\n"
                           b"the first part")
            ron.wait_until("the request", lambda: len(self.origin.requests) > before)
        self.assertTrue(self.gone.wait(2 * ron.SLOW))
        self.assertLess(self.taken, 100000)

    def test_a_small_body_goes_on_when_all_of_it_is_there(self):
        before = len(self.origin.requests)
        with socket.create_connection(self.server.address, timeout=ron.REPLY_S) as client:
            client.sendall(b"POST /echo HTTP/1.1\r\nHost: t\r\nContent-Length: 10\r\n"
                           b"Connection: close\r\n\r\nhello")
            time.sleep(0.3)
            self.assertEqual(len(self.origin.requests), before)
            client.sendall(b"world")
            received = b""
            while piece := client.recv(1 << 16):
                received += piece
        [answer], _ = parser.read_responses(received)
        self.assertEqual((answer.status, answer.body), (200, b"helloworld"))


if __name__ == "__main__":
    unittest.main()
