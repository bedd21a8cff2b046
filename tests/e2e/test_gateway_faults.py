"""Upstreams that fail in every way there is: the client gets a typed error, or a cut that it
notices, and never a wrong answer or a part of somebody else's."""

import json
import socket
import struct
import tempfile
import threading
import time
import unittest

import ron
from desync_programs import free_port
from gateway_case import CUT, Case, curl
from gateway_nginx import Authority, Nginx
from gateway_origin import Origin

KIB = 1 << 10
MIB = 1 << 20
BODY = bytes(range(256)) * 256  # 64 KiB that show where a piece of them belongs
DEADLINE_S = 1.0


def reset(peer):
    """Ends the connection by a RST."""
    peer.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def scripted(*steps, then=None):
    """A way that sends these bytes; numbers are pauses in seconds. `then` ends it: None keeps the
    connection, False closes it, `reset` resets it."""
    def way(peer, request):
        peer.read_body(request)
        for step in steps:
            if isinstance(step, bytes):
                peer.socket.sendall(step)
            else:
                time.sleep(step)
        return then(peer) if callable(then) else then
    return way


def sized(length, body, *fields):
    head = "\r\n".join(["HTTP/1.1 200 OK", f"Content-Length: {length}", *fields, "", ""])
    return head.encode() + body


def chunks(*pieces):
    return (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            + b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces))


# No answer can be made of these.
HOPELESS = {
    "noise": scripted(b"\x00\xff\x17\x03\x03 noise\r\n\r\n", then=False),
    "ssh": scripted(b"SSH-2.0-OpenSSH_9.2\r\n\r\n", then=False),
    "silent-end": scripted(then=False),
    "silent-reset": scripted(then=reset),
    "half-head": scripted(b"HTTP/1.1 200 OK\r\nContent-Le", then=False),
    "half-head-reset": scripted(b"HTTP/1.1 200 OK\r\nContent-Le", then=reset),
    "large-field": scripted(b"HTTP/1.1 200 OK\r\nX: " + b"x" * MIB + b"\r\n\r\n", then=False),
    "many-fields": scripted(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000 + b"\r\n", then=False),
    "endless-head": scripted(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100_000, then=False),
    "two-lengths": scripted(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
                            then=False),
    "bad-length": scripted(b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nabcde", then=False),
    "only-interim": scripted(b"HTTP/1.1 100 Continue\r\n\r\n", then=False),
}

# These begin well and break off: with a status, and less of the body than was promised.
BROKEN = {
    "short": scripted(sized(len(BODY), BODY[:40_000]), then=False),
    "short-reset": scripted(sized(len(BODY), BODY[:40_000]), 0.05, then=reset),
    "no-body": scripted(sized(len(BODY), b""), 0.05, then=False),
    "chunks-end": scripted(chunks(BODY[:1000], BODY[1000:5000]), then=False),
    "chunks-reset": scripted(chunks(BODY[:1000], BODY[1000:5000]), 0.05, then=reset),
    "chunk-short": scripted(chunks(BODY[:1000])[:-100], then=False),
    "chunk-noise": scripted(chunks(BODY[:1000]) + b"xyz\r\nnoise\r\n0\r\n\r\n", then=False),
    "chunk-size": scripted(chunks(BODY[:1000]) + b"fffffffffffffffff\r\n", then=False),
}


class Scripts(Case):
    """Against sockets that do what they please."""

    def serve(self, ways):
        self.origin = Origin(well=scripted(sized(4, b"well")), **ways)
        self.addCleanup(self.origin.close)
        self.server = self.start(
            [{"prefix": f"/{way}", "upstream": self.origin.url, "open": True}
             for way in self.origin.ways],
            {"upstream.deadline": f"{DEADLINE_S * 1000:.0f}ms", "limits.max_body_bytes": "8MiB"})

    def is_well(self):
        """The client behind a broken answer gets its own, on the connection that was used before
        and on another."""
        for _ in range(2):
            response = self.ask(self.server, "GET", "/well")
            self.assertEqual((response.status, response.body), (200, b"well"))


class Answers(Scripts):
    def test_no_answer_can_be_made_of_it(self):
        self.serve(HOPELESS)
        for name in HOPELESS:
            for method in ("GET", "POST"):
                with self.subTest(name, method=method):
                    self.is_well()
                    before = len(self.origin.requests)
                    stale = self.stale_retries()
                    body = b"body" if method == "POST" else None
                    response = self.moves(
                        self.server, "upstream_requests_total", 1,
                        lambda: self.ask(self.server, method, f"/{name}", (), body),
                        upstream="well.0", outcome="failed")
                    self.refused(response, 502, "UpstreamFail")
                    # A kept connection that ends is what a dead one looks like: reading may be
                    # tried on another, at once.
                    again = self.stale_retries() - stale
                    self.assertLessEqual(again, 1 if method == "GET" else 0)
                    self.assertEqual(len(self.origin.requests) - before, 1 + again)
                    self.is_well()

    def stale_retries(self):
        return self.server.metrics().value("upstream_stale_retries_total")

    def test_a_break_in_the_body_is_seen_by_the_client(self):
        self.serve(BROKEN)
        cuts = 0
        for name in BROKEN:
            with self.subTest(name):
                self.is_well()
                code, status, body = self.moves(
                    self.server, "upstream_requests_total", 1,
                    lambda: curl(self.server, f"/{name}"), upstream="well.0", outcome="failed")
                self.is_well()
                if status == 502:  # nothing of the answer had been sent yet
                    self.assertEqual(code, 0)
                    self.assertEqual(json.loads(body)["error"]["code"], "UpstreamFail")
                    continue
                self.assertIn(code, CUT, (status, body[:200]))
                self.assertEqual(status, 200)
                self.assertLess(len(body), len(BODY))
                self.assertTrue(BODY.startswith(body), "bytes that the upstream did not send")
                cuts += 1
        self.assertGreaterEqual(cuts, 3)

    def test_more_than_was_promised_goes_nowhere(self):
        extra = sized(5, b"right") + b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nWRONG"
        self.serve({
            "long": scripted(sized(5, b"rightWRONG")),
            "second-answer": scripted(extra),
            "late-extra": scripted(sized(5, b"right"), 0.05, b"WRONG"),
            "bodiless": scripted(b"HTTP/1.1 204 No Content\r\n\r\nWRONG"),
        })
        for name in ("long", "second-answer", "late-extra", "bodiless"):
            with self.subTest(name):
                response = self.ask(self.server, "GET", f"/{name}")
                self.assertIn((response.status, response.body), ((200, b"right"), (204, b"")))
                time.sleep(0.06)
                for _ in range(4):
                    self.is_well()

    def test_an_answer_before_the_end_of_the_request(self):
        def early(status, end):
            def way(peer, _request):
                peer.answer(b"too early", status=status)
                return end(peer)
            return way

        def read_on(peer):
            return not peer.ended(ron.REPLY_S)  # to the gateway's end

        def leave(_peer):
            time.sleep(0.05)
            return False

        self.serve({"refuses": early("413 Content Too Large", read_on),
                    "leaves": early("413 Content Too Large", leave),
                    "resets": early("413 Content Too Large", reset),
                    "succeeds": early("200 OK", read_on)})
        for name, status in (("refuses", 413), ("leaves", 413), ("resets", 413), ("succeeds", 200)):
            for sent in (0, 1000, MIB):
                with self.subTest(name, sent=sent):
                    self.is_well()
                    self.one_early_answer(name, status, sent)
                    self.is_well()

    def one_early_answer(self, name, status, sent):
        """The client has sent `sent` of 4 MiB and waits. Either it is told what the upstream said,
        or that it failed; then the connection ends, for nobody knows what comes next on it."""
        connection = self.connect(self.server)
        connection.send(b"POST /%s HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n"
                        % (name.encode(), 4 * MIB))
        try:
            connection.send(b"x" * sent)
        except ConnectionError:
            pass  # it was told already
        try:
            response = connection.read_response()
        except (ron.Closed, ron.Truncated):
            self.assertIn(name, ("leaves", "resets"), "cut although the upstream stayed")
            return
        if response.status == 502 and name in ("leaves", "resets"):
            self.refused(response, 502, "UpstreamFail")
        else:
            self.assertEqual((response.status, response.body), (status, b"too early"))
        self.assertTrue(response.closes)
        self.assertTrue(connection.ends())


class Time(Scripts):
    def test_slow_is_not_dead(self):
        whole = sized(len(BODY), BODY)
        steps = [0.3]
        for at in range(0, len(whole), 16 * KIB):
            steps += [whole[at:at + 16 * KIB], 0.3]  # 1.5 s in all, each pause within the deadline
        self.serve({"slow": scripted(*steps)})
        code, status, body = curl(self.server, "/slow")
        self.assertEqual((code, status), (0, 200))
        self.assertTrue(body == BODY)

    def test_an_answer_that_does_not_begin(self):
        self.serve({"hangs": lambda peer, _: not peer.ended(ron.REPLY_S)})
        for method, body in (("GET", None), ("POST", b"body")):
            with self.subTest(method):
                began = time.monotonic()
                response = self.moves(self.server, "io_timeouts_total", 1,
                                      lambda: self.ask(self.server, method, "/hangs", (), body),
                                      op="read")
                self.refused(response, 504, "Timeout")
                took = time.monotonic() - began
                self.assertGreater(took, 0.9 * DEADLINE_S)
                self.assertLess(took, DEADLINE_S + 1 * ron.SLOW)
        self.is_well()

    def test_an_answer_that_stops(self):
        self.serve({"stops": scripted(sized(len(BODY), BODY[:1000]), ron.REPLY_S)})
        code, status, body = curl(self.server, "/stops")
        self.assertIn(code, CUT)
        self.assertEqual((status, body), (200, BODY[:1000]))
        self.server.wait_metric("io_timeouts_total", 1, op="read")
        self.is_well()

    def test_a_request_that_is_not_read(self):
        self.serve({"sleeps": lambda peer, _: time.sleep(ron.REPLY_S)})
        connection = self.connect(self.server, timeout=ron.REPLY_S)
        connection.send(b"POST /sleeps HTTP/1.1\r\nHost: t\r\nContent-Length: %d\r\n\r\n"
                        % (8 * MIB))

        def pour():
            try:
                connection.send(bytes(8 * MIB))
            except OSError:
                pass

        threading.Thread(target=pour, daemon=True).start()
        try:
            self.refused(connection.read_response(), 504, "Timeout")
        except ron.Closed:
            pass  # the answer was lost with what was still being sent
        self.server.wait_metric("io_timeouts_total", 1, op="write")
        self.is_well()


class Addresses(Case):
    """Upstreams that cannot be reached at all."""

    def fails(self, upstream, kind, status=502, code="UpstreamFail", keys=()):
        server = self.start([{"prefix": "/x", "upstream": upstream, "open": True}], keys)
        server.wait_metric("upstream_probe_failures_total", 1, upstream="x.0")
        began = time.monotonic()
        response = self.moves(server, "upstream_errors_total", 1,
                              lambda: self.ask(server, "GET", "/x"), kind=kind)
        self.refused(response, status, code)
        self.assertLess(time.monotonic() - began, 4 * ron.SLOW)
        return server

    def test_refused(self):
        self.fails(f"http://127.0.0.1:{free_port()}", "connect")

    def test_no_such_socket(self):
        self.fails("unix:/tmp/ron-e2e-nobody-listens-here", "connect")

    def test_no_such_name(self):
        self.fails("http://nobody.invalid:8080", "resolve")

    def test_a_machine_that_does_not_answer(self):
        """A listener whose queue is full drops what knocks, as a machine that is gone does."""
        listener = socket.create_server(("127.0.0.1", 0), backlog=0)
        self.addCleanup(listener.close)
        for _ in range(4):
            filler = socket.socket()
            self.addCleanup(filler.close)
            filler.setblocking(False)
            filler.connect_ex(listener.getsockname())
        time.sleep(0.1)
        server = self.fails("http://127.0.0.1:%d" % listener.getsockname()[1], "timeout", 504,
                            "Timeout", {"upstream.connect_timeout": "300ms"})
        self.assertGreater(server.metrics().value("io_timeouts_total", op="connect"), 0)


class Certificates(Case):
    """https upstreams are those that an authority of ours vouches for, by name and by date."""

    @classmethod
    def setUpClass(cls):
        home = tempfile.TemporaryDirectory(prefix="ron-e2e-ca-")
        cls.addClassCleanup(home.cleanup)
        cls.ours = Authority(home.name, "ours")
        theirs = Authority(home.name, "theirs")
        cls.good = cls.ours.issue("good")
        cls.bad = {
            "unknown": theirs.issue("unknown"),
            "expired": cls.ours.issue("expired", ends="20210101000000Z"),
            "not-yet": cls.ours.issue("not-yet", begins="20980101000000Z"),
            "other-name": cls.ours.issue("other-name", subject="DNS:other.test"),
        }

    def through(self, certificate):
        nginx = Nginx({"x/file": BODY}, tls=certificate)
        self.addCleanup(nginx.close)
        server = self.start([{"prefix": "/x", "upstream": nginx.url, "open": True}],
                            {"tls.ca_path": str(self.ours.cert)})
        return nginx, self.ask(server, "GET", "/x/file")

    def test_a_good_one(self):
        nginx, response = self.through(self.good)
        self.assertEqual((response.status, response.body == BODY), (200, True))
        nginx.wait_asked(["GET /x/file"])

    def test_bad_ones(self):
        for name, certificate in self.bad.items():
            with self.subTest(name):
                nginx, response = self.through(certificate)
                self.refused(response, 502, "UpstreamFail")
                self.assertEqual(nginx.asked(), [], "it was asked all the same")

    def test_an_upstream_without_tls(self):
        nginx = Nginx({"x/file": BODY})
        self.addCleanup(nginx.close)
        server = self.start([{"prefix": "/x", "upstream": f"https://127.0.0.1:{nginx.port}",
                              "open": True}], {"tls.ca_path": str(self.ours.cert)})
        self.refused(self.ask(server, "GET", "/x/file"), 502, "UpstreamFail")


class Programs(Case):
    """A real server that is killed, stopped and started again, on a port and on a Unix socket."""

    FILES = {f"x/{size}": BODY * (size // len(BODY)) + BODY[:size % len(BODY)]
             for size in (1, 1000, 65536, MIB)}
    CLIENTS = 6

    def test_killed_under_load_and_started_again(self):
        for unix in (False, True):
            with self.subTest(unix=unix):
                self.once(unix)

    def once(self, unix):
        nginx = Nginx(self.FILES, unix=unix)
        self.addCleanup(nginx.close)
        server = self.start([{"prefix": "/x", "upstream": nginx.url, "open": True}], {
            "upstream.deadline": "2s", "upstream.probe_interval": "100ms", "retry.max_tries": 3,
            "breaker.min_volume": 10, "breaker.window": "1s", "breaker.open_for": "200ms"})
        seen = []
        paths = sorted(self.FILES)

        def work(index):
            path = paths[(index + len(seen)) % len(paths)]
            with server.connect() as connection:
                try:
                    response = connection.ask("GET", "/" + path)
                except (ron.Truncated, ron.Closed) as cut:
                    assert isinstance(cut, ron.Truncated), "no answer at all"
                    seen.append("cut")
                    return
            if response.status == 200:
                assert response.body == self.FILES[path], f"wrong bytes of {path}"
            else:
                assert (response.status, response.code) in (
                    (502, "UpstreamFail"), (503, "BreakerOpen"), (504, "Timeout")), response.body
            seen.append(response.status)

        load = ron.Load(self.CLIENTS, work)
        ron.wait_until("a good start", lambda: seen.count(200) > 50)
        nginx.kill()
        ron.wait_until("failures", lambda: 502 in seen or 503 in seen)
        time.sleep(0.5)
        ron.wait_until("unready", lambda: self.ask(server, "GET", "/readyz").status == 503)
        nginx.run()
        good = seen.count(200)
        ron.wait_until("recovery", lambda: seen.count(200) > good + 50)
        self.assertEqual(load.finish(), [])
        self.assertEqual(seen[-1], 200)
        ron.wait_until("ready", lambda: self.ask(server, "GET", "/readyz").status == 200)

    def test_hung_and_woken(self):
        nginx = Nginx(self.FILES)
        self.addCleanup(nginx.close)
        server = self.start([{"prefix": "/x", "upstream": nginx.url, "open": True}],
                            {"upstream.deadline": "500ms"})
        self.assertEqual(self.ask(server, "GET", "/x/1000").body, self.FILES["x/1000"])
        nginx.hang()
        waiting = [self.send(server, "GET", "/x/65536") for _ in range(8)]
        for connection in waiting:
            self.refused(connection.read_response(), 504, "Timeout")
        nginx.go_on()
        for name, data in self.FILES.items():
            response = self.ask(server, "GET", "/" + name)
            self.assertEqual((response.status, response.body == data), (200, True))


if __name__ == "__main__":
    unittest.main()
