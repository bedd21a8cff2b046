"""The gateway's door: who is let in, and that no upstream hears of anybody else."""

import socket
import subprocess
import tempfile
import unittest

import ron
from gateway_case import Case, tenant
from gateway_nginx import Nginx
from gateway_origin import Origin

MIB = 1 << 20
PAGE = "https://app.test"


def serves(name):
    def way(peer, request):
        peer.read_body(request)
        peer.answer(name, "Access-Control-Allow-Origin: *", "X-Own: 1")
    return way


class Door(Case):
    """One upstream that says what it was asked for."""

    def setUp(self):
        self.origin = Origin(x=serves(b"x"))
        self.addCleanup(self.origin.close)

    def front(self, route=(), keys=(), **more):
        return self.start([{"prefix": "/x", "upstream": self.origin.url, "open": True,
                            **dict(route)}], keys, **more)

    def unheard(self):
        self.assertEqual(self.origin.requests, [], "the upstream heard of it")

    def unfinished(self):
        """What the upstream had of it, if anything, is no request: its body never ended."""
        self.assertEqual([head.body for head, _ in self.origin.requests if head.body], [])

    def raw(self, server, *lines):
        with server.connect() as connection:
            connection.send("\r\n".join([*lines, "", ""]).encode())
            return connection.read_response()


class Routes(Case):
    def test_the_longest_prefix_of_whole_segments(self):
        origins = {name: Origin(a=serves(name), ab=serves(name)) for name in (b"a", b"a/b")}
        for origin in origins.values():
            self.addCleanup(origin.close)
        server = self.start([{"prefix": "/" + name.decode(), "upstream": origin.url, "open": True}
                             for name, origin in origins.items()])
        for path, wanted in (("/a", b"a"), ("/a/", b"a"), ("/a/c", b"a"), ("/a/bc", b"a"),
                             ("/a/b", b"a/b"), ("/a/b/c?d=e", b"a/b"), ("/a%2Fb", None),
                             ("/ab", None), ("/", None)):
            with self.subTest(path):
                response = self.ask(server, "GET", path)
                if wanted is None:
                    self.assertIn(response.status, (400, 404))
                else:
                    self.assertEqual((response.status, response.body), (200, wanted))
        response = self.moves(server, "gateway_refused_total", 1,
                              lambda: self.ask(server, "GET", "/nowhere"), reason="route")
        self.refused(response, 404, "NotFound")

    def test_a_service_that_is_out_is_named(self):
        server = ron.Process(["up", "--only", "gateway,storage", "--amnesia"], ["svc-gateway"])
        self.addCleanup(server.close)
        stored = self.ask(server, "POST", "/o", [server.auth], b"through the door")
        self.assertEqual(stored.status, 201)
        address = stored.json()["address"]
        self.assertEqual(self.ask(server, "GET", f"/o/{address}").body, b"through the door")
        for path, service in (("/resolve/x", "svc-index"), ("/names/x", "svc-index"),
                              ("/providers/x", "svc-index"), ("/registry/head", "svc-registry"),
                              ("/edge/x", "svc-edge")):
            with self.subTest(path):
                details = self.refused(self.ask(server, "GET", path), 404, "NotFound")
                self.assertEqual(details["service"], service)

    def test_without_storage_its_paths_say_so(self):
        server = ron.Process(["up", "--only", "gateway", "--amnesia"], ["svc-gateway"])
        self.addCleanup(server.close)
        details = self.refused(self.ask(server, "GET", "/o/b3:" + "0" * 64), 404, "NotFound")
        self.assertEqual(details["service"], "svc-storage")


class Hosts(Door):
    def test_only_names_it_answers_to(self):
        server = self.front(keys={"hosts": ["front.test", "*.example.org"]})
        for host in ("evil.test", "front.test.evil.test", "xfront.test", "example.org.evil.test",
                     "127.0.0.1", "a.b"):
            with self.subTest(host):
                response = self.moves(
                    server, "gateway_refused_total", 1,
                    lambda: self.raw(server, "GET /x HTTP/1.1", f"Host: {host}"), reason="host")
                self.refused(response, 400, "Malformed")
        self.unheard()
        for host in ("front.test", "FRONT.test", "front.test:8080", "www.example.org",
                     "a.b.example.org"):
            with self.subTest(host):
                response = self.raw(server, "GET /x HTTP/1.1", f"Host: {host}")
                self.assertEqual(response.status, 200)


class Methods(Door):
    def test_only_those_of_the_route(self):
        server = self.front({"methods": ["GET"]})
        for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
            with self.subTest(method):
                response = self.moves(server, "gateway_refused_total", 1,
                                      lambda: self.ask(server, method, "/x", (), b""),
                                      reason="method")
                self.refused(response, 405, "MethodNotAllowed")
                self.assertEqual(response.get("Allow"), "GET, HEAD")
        for method in ("TRACE", "CONNECT", "BREW"):
            with self.subTest(method):
                self.assertIn(self.ask(server, method, "/x").status, (400, 405, 501))
        self.unheard()
        for method in ("GET", "HEAD"):
            self.assertEqual(self.ask(server, method, "/x").status, 200)


class Pages(Door):
    """Cross-origin: nothing, unless the route says so; what upstreams say about it is dropped."""

    def preflight(self, server, origin, method="PUT"):
        return self.raw(server, "OPTIONS /x HTTP/1.1", "Host: t", f"Origin: {origin}",
                        f"Access-Control-Request-Method: {method}",
                        "Access-Control-Request-Headers: authorization")

    def said(self, response):
        return {name: value for name, value in response.headers
                if name.lower().startswith("access-control-")}

    def test_denied_by_default(self):
        server = self.front()
        response = self.moves(server, "gateway_refused_total", 1,
                              lambda: self.preflight(server, PAGE), reason="origin")
        self.refused(response, 403, "NotAllowed")
        self.assertEqual(self.said(response), {})
        self.unheard()
        self.assertEqual(response.all("Vary"), ["Origin"])
        response = self.ask(server, "GET", "/x", [("Origin", PAGE)])
        self.assertEqual((response.status, self.said(response)), (200, {}))
        self.assertEqual(response.get("X-Own"), "1")

    def test_allowed_for_one_origin(self):
        server = self.front({"cors": [PAGE], "methods": ["GET", "PUT"]})
        response = self.preflight(server, PAGE)
        self.assertEqual(response.status, 204)
        said = self.said(response)
        self.assertEqual(said["Access-Control-Allow-Origin"], PAGE)
        self.assertEqual(said["Access-Control-Allow-Methods"], "GET, HEAD, PUT")
        self.assertEqual(said["Access-Control-Allow-Headers"], "authorization")
        self.assertGreater(int(said["Access-Control-Max-Age"]), 0)
        for origin, method in (("https://evil.test", "PUT"), (PAGE + ".evil.test", "PUT"),
                               ("http://app.test", "PUT"), ("null", "PUT"), (PAGE, "DELETE")):
            with self.subTest(origin, method=method):
                response = self.preflight(server, origin, method)
                self.refused(response, 403, "NotAllowed")
        self.unheard()
        response = self.ask(server, "GET", "/x", [("Origin", PAGE)])
        self.assertEqual(response.all("Access-Control-Allow-Origin"), [PAGE])
        self.assertIn("Origin", response.get("Vary"))
        for origin in ([("Origin", "https://evil.test")], []):
            response = self.ask(server, "GET", "/x", origin)
            self.assertEqual((response.status, self.said(response)), (200, {}))
            self.assertIn("Origin", response.all("Vary"))

    def test_an_error_can_be_read_by_the_page(self):
        server = self.front({"cors": [PAGE], "open": False})
        response = self.ask(server, "PUT", "/x", [("Origin", PAGE)], b"")
        self.refused(response, 401, "Unauthorized")
        self.assertEqual(response.get("Access-Control-Allow-Origin"), PAGE)


class Capabilities(Case):
    """Before any upstream is asked, as nginx' own log shows."""

    def front(self, route=(), sets=()):
        self.nginx = Nginx({"x/file": b"nginx"})
        self.addCleanup(self.nginx.close)
        return self.start([{"prefix": "/x", "upstream": self.nginx.url, **dict(route)}],
                          flags=[word for each in sets for word in ("--set", each)])

    @staticmethod
    def bearer(server, *caveats):
        return "Authorization", "Bearer " + ron.attenuate(server.token, *caveats)

    def test_writing_needs_one_and_reading_does_not(self):
        server = self.front({"scope": "storage:write"})
        forged = ("Authorization", "Bearer " + server.token[:-4] + "AAAA")
        for method in ("POST", "PUT", "DELETE"):
            for header, status, code in ((None, 401, "Unauthorized"), (forged, 401, "Unauthorized"),
                                         (("Authorization", "Basic eDp5"), 401, "Unauthorized"),
                                         (self.bearer(server, "scope = storage:delete"), 403,
                                          "Forbidden")):
                with self.subTest(method, status=status):
                    response = self.moves(
                        server, "rejected_total", 1,
                        lambda: self.ask(server, method, "/x/file", [header] if header else [],
                                         b""), reason="capability")
                    self.refused(response, status, code)
        self.assertEqual(self.nginx.asked(), [])
        self.assertEqual(self.ask(server, "GET", "/x/file").body, b"nginx")
        may_write = self.bearer(server, "scope = storage:write")
        allowed = self.ask(server, "POST", "/x/file", [may_write], b"")
        self.assertEqual(allowed.status, 405)  # nginx' own answer
        self.nginx.wait_asked(["GET /x/file", "POST /x/file"])

    def test_reading_needs_one_if_reads_are_not_public(self):
        server = self.front(sets=["auth.public_reads=false"])
        for method in ("GET", "HEAD", "OPTIONS"):
            response = self.moves(server, "rejected_total", 1,
                                  lambda: self.ask(server, method, "/x/file"), reason="capability")
            self.assertEqual(response.status, 401)
        self.assertEqual(self.nginx.asked(), [])
        self.assertEqual(self.ask(server, "GET", "/x/file", [server.auth]).body, b"nginx")

    def test_an_open_route_asks_nobody(self):
        server = self.front({"open": True}, sets=["auth.public_reads=false"])
        self.assertEqual(self.ask(server, "GET", "/x/file").body, b"nginx")
        self.assertEqual(self.ask(server, "POST", "/x/file", (), b"").status, 405)


class Sizes(Door):
    def test_a_body_over_the_limit(self):
        server = self.front()
        largest = b"x" * MIB
        self.assertEqual(self.ask(server, "POST", "/x", (), largest).status, 200)
        self.origin.requests.clear()
        response = self.moves(server, "rejected_total", 1,
                              lambda: self.ask(server, "POST", "/x", (), largest + b"x"),
                              reason="body-cap")
        self.refused(response, 413, "BodyCap")
        self.unheard()

    def test_chunks_over_the_limit(self):
        server = self.front()

        def pour():
            connection = self.connect(server)
            connection.send(b"POST /x HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n")
            try:
                for _ in range(17):
                    connection.send(b"10000\r\n" + bytes(1 << 16) + b"\r\n")
            except ConnectionError:
                pass
            return connection.read_response()

        response = self.moves(server, "rejected_total", 1, pour, reason="body-cap")
        self.refused(response, 413, "BodyCap")
        self.unfinished()
        self.assertEqual(self.ask(server, "GET", "/x").body, b"x")

    def test_chunks_beyond_the_capability(self):
        """Whatever the framing: the upstream never has a whole request that was too large."""
        server = self.front({"open": False})
        token = "Bearer " + ron.attenuate(server.token, "max_bytes = 1000")

        def post(pieces):
            connection = self.connect(server)
            connection.send(ron.request("POST", "/x", [
                ("Authorization", token), ("Transfer-Encoding", "chunked")]))
            try:
                for piece in pieces:
                    connection.send(b"%x\r\n%s\r\n" % (len(piece), piece))
                connection.send(b"0\r\n\r\n")
            except ConnectionError:
                pass
            return connection.read_response()

        self.assertEqual(post([b"x" * 999, b"x"]).status, 200)
        for pieces in ([b"x" * 1001], [b"x" * 1000, b"x"], [b"x"] * 1001):
            with self.subTest(len(pieces)):
                self.origin.requests.clear()
                response = self.moves(server, "rejected_total", 1, lambda: post(pieces),
                                      reason="capability")
                details = self.refused(response, 403, "Forbidden")
                self.assertEqual(details, {"max_bytes": "1000"})
                self.unfinished()


class Streams(Case):
    """Event streams that pass through: each client has its share of them."""

    def setUp(self):
        self.origin = Origin(x=serves(b"x"), stream=self.follow)
        self.addCleanup(self.origin.close)

    @staticmethod
    def follow(peer, _request):
        peer.socket.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n:\n\n")
        peer.ended(ron.REPLY_S)
        return False

    def open(self, server, source="127.0.0.1", headers=()):
        connection = ron.Connection(server.address, source=source)
        self.addCleanup(connection.close)
        connection.send(ron.request("GET", "/stream", headers))
        return connection

    def status(self, connection):
        """Of an answer that may have no end."""
        return int(connection.socket.recv(1 << 16, socket.MSG_PEEK).split(b" ", 2)[1])

    def test_an_address_has_its_share(self):
        server = self.start([{"prefix": "/", "upstream": self.origin.url, "open": True}],
                            {"sse.max_streams_per_tenant": 2})
        mine = [self.open(server) for _ in range(2)]
        self.assertEqual([self.status(each) for each in mine], [200, 200])
        response = self.moves(server, "http_event_streams_refused_total", 1,
                              lambda: self.open(server).read_response(), full="share")
        details = self.refused(response, 429, "Busy")
        self.assertTrue(response.get("Retry-After"))
        self.assertEqual(details["tenant"], "127.0.0.1")
        self.assertEqual(details["share_of"], "address 127.0.0.1")
        self.assertEqual(details["max_streams_per_tenant"], "2")
        other = self.open(server, "127.0.0.2")
        self.assertEqual(self.status(other), 200)
        self.assertEqual(self.ask(server, "GET", "/x").body, b"x")
        mine[0].close()
        ron.wait_until("its place is free", lambda: self.status(self.open(server)) == 200)

    def test_a_tenant_has_its_share_from_every_address(self):
        server = self.start([{"prefix": "/", "upstream": self.origin.url, "open": True}],
                            {"sse.max_streams_per_tenant": 1})
        a, b = (tenant(server, name) for name in "ab")
        first = self.open(server, "127.0.0.1", [a])
        self.assertEqual(self.status(first), 200)
        details = self.refused(self.open(server, "127.0.0.2", [a]).read_response(), 429, "Busy")
        self.assertEqual((details["tenant"], details["share_of"]), ("a", "tenant a"))
        self.assertEqual(self.status(self.open(server, "127.0.0.1", [b])), 200)

    def test_all_together_leave_room_for_requests(self):
        server = self.start([{"prefix": "/", "upstream": self.origin.url, "open": True}],
                            {"sse.max_streams": 2})
        streams = [self.open(server, f"127.0.0.{host}") for host in (1, 2)]
        self.assertEqual([self.status(each) for each in streams], [200, 200])
        details = self.refused(self.open(server, "127.0.0.3").read_response(), 429, "Busy")
        self.assertEqual(details["streams"], "2")
        self.assertEqual(self.ask(server, "GET", "/x").body, b"x")


class Tls(Door):
    def setUp(self):
        super().setUp()
        home = tempfile.TemporaryDirectory(prefix="ron-e2e-tls-")
        self.addCleanup(home.cleanup)
        self.certificate = ron.Certificate(home.name)

    def curl(self, server, *flags):
        done = subprocess.run(
            ["curl", "-sS", "-i", "--cacert", str(self.certificate.cert), "--max-time",
             str(int(ron.REPLY_S)), *flags, "https://localhost:%d/x" % server.address[1]],
            capture_output=True, check=False, timeout=2 * ron.REPLY_S)
        return done.returncode, done.stdout.decode("latin-1")

    def test_tls_13_and_no_older_one(self):
        server = self.front(tls=self.certificate)
        code, answer = self.curl(server, "--tlsv1.3")
        self.assertEqual(code, 0)
        self.assertTrue(answer.startswith("HTTP/1.1 200"), answer)
        self.assertIn("Strict-Transport-Security: max-age=31536000", answer)
        request, _ = self.origin.requests[-1]
        self.assertEqual(request.all("x-forwarded-proto"), ["https"])
        code, _ = self.curl(server, "--tls-max", "1.2")
        self.assertEqual(code, 35)
        self.assertGreater(server.metrics().value("rejected_total", reason="tls"), 0)

    def test_errors_say_it_too_and_no_plain_answer_does(self):
        server = self.front({"methods": ["GET"]}, tls=self.certificate)
        response = self.ask(server, "POST", "/x", (), b"")
        self.refused(response, 405, "MethodNotAllowed")
        self.assertTrue(response.get("Strict-Transport-Security"))
        plain = self.front()
        self.assertIsNone(self.ask(plain, "GET", "/x").get("Strict-Transport-Security"))

    def test_it_may_be_left_out(self):
        server = self.front(keys={"hsts_max_age": "0s"}, tls=self.certificate)
        response = self.ask(server, "GET", "/x")
        self.assertEqual((response.status, response.get("Strict-Transport-Security")), (200, None))


if __name__ == "__main__":
    unittest.main()
