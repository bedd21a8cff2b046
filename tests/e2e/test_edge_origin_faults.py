"""Origins that misbehave. Each fault of the table has the status, code and reason that a client
without a copy gets; whoever has one gets that instead, if the fault is the origin's. Afterwards the
origin is well again and its bytes are right: no fault leaves anything wrong in the cache."""

import dataclasses
import json
import random
import socket
import threading
import time
import unittest

import edge
import origin
import ron
from edge import LiveCase
from origin import Answer, Resource

MIB = 1 << 20
TRIES = 2
DAY = "Cache-Control: max-age=86400"
TAG = 'ETag: "1"'
BODY = random.Random(4).randbytes(100_000)
WHOLE = Answer(BODY, DAY, TAG)
KEYS = {"fill.max_tries": TRIES, "fill.base": "5ms", "fill.max_object_bytes": "2MiB"}
HEAD = "HTTP/1.1 200 OK\r\n" + DAY + "\r\n" + TAG + "\r\n"


def head(*lines):
    return (HEAD + "".join(line + "\r\n" for line in lines) + "\r\n").encode()


def coded(data, coding="gzip"):
    return Answer(data, DAY, TAG, "Content-Encoding: " + coding)


@dataclasses.dataclass
class Fault:
    name: str
    way: object  # what the origin does
    status: int
    code: str
    reason: str = None  # of edge_rejects_total
    tries: int = 1      # how often the origin is asked; None: as often as it likes, in bounds
    excused: bool = True  # an old copy takes its place
    silent: bool = False  # the connection ends as one does that was kept for too long


def late(name, way):
    """Tried again, and each try has its time."""
    return Fault(name, way, 504, "Timeout", "timeout", TRIES)


def broken(name, way, tries=None):
    return Fault(name, way, 502, "UpstreamFail", None, tries)


def refused(name, way, status, code, reason):
    return Fault(name, way, status, code, reason, excused=False)


def hung_in_the_head(peer, _request):
    peer.socket.sendall(b"HTTP/1.1 200 OK\r\nETag: ")
    peer.ended(None)
    return False


LATE = (
    late("slow to answer", origin.after(5, WHOLE)),
    late("hung", origin.hung),
    late("hung in the head", hung_in_the_head),
    late("stalled in the body", origin.stalled_after(WHOLE, 50_000)),
    late("a byte at a time", origin.dripping(WHOLE, 0.05)),
)
FAULTS = (
    # Cut off.
    broken("reset at once", origin.reset),
    broken("reset in the body", origin.reset_after(WHOLE, 50_000)),
    broken("reset before the last byte", origin.reset_after(WHOLE, len(BODY) - 1)),
    dataclasses.replace(broken("closed without an answer", origin.raw(b"")), silent=True),
    broken("closed in the head", origin.raw(b"HTTP/1.1 200 OK\r\nContent-Le")),
    broken("shorter than it says", origin.closed_after(WHOLE, 99_999)),
    broken("nothing of what it says", origin.closed_after(WHOLE, 0)),
    # Not HTTP.
    broken("no HTTP", origin.raw(b"SSH-2.0-OpenSSH_9.2\r\n\r\n")),
    broken("HTTP of another kind", origin.raw(b"HTTP/2.0 200 OK\r\n\r\n")),
    broken("two lengths", origin.raw(head("Content-Length: 3", "Content-Length: 4") + b"abcd")),
    broken("a length that is none", origin.raw(head("Content-Length: -3") + b"abc")),
    broken("a length and chunks", origin.raw(
        head("Content-Length: 3", "Transfer-Encoding: chunked") + b"3\r\nabc\r\n0\r\n\r\n")),
    broken("a coding nobody knows", origin.raw(head("Transfer-Encoding: snail") + b"abc")),
    broken("chunks that are garbage", origin.raw(
        head("Transfer-Encoding: chunked") + b"3\r\nabc\r\nxyz\r\n")),
    broken("a chunk without its end", origin.raw(
        head("Transfer-Encoding: chunked") + b"3\r\nabcdef\r\n0\r\n\r\n")),
    broken("a chunk that breaks off", origin.raw(
        head("Transfer-Encoding: chunked") + b"ff\r\nabc")),
    broken("no last chunk", origin.raw(head("Transfer-Encoding: chunked") + b"3\r\nabc\r\n")),
    broken("a huge chunk size", origin.raw(
        head("Transfer-Encoding: chunked") + b"fffffffffffffffff\r\nabc")),
    broken("a head without an end", origin.raw(
        b"HTTP/1.1 200 OK\r\n" + b"".join(b"X-%d: y\r\n" % n for n in range(100_000)))),
    # Says that it fails.
    broken("500", Answer(b"sorry", status="500 Internal Server Error"), 1),
    broken("502", Answer(b"sorry", status="502 Bad Gateway"), 1),
    broken("503 again and again", Answer(b"sorry", status="503 Service Unavailable"), TRIES),
    broken("504 again and again", Answer(b"sorry", status="504 Gateway Timeout"), TRIES),
    broken("a part nobody asked for", Answer(
        b"abc", DAY, TAG, "Content-Range: bytes 0-2/9", status="206 Partial Content"), 1),
    # Bombs and sizes.
    refused("a bomb", coded(origin.gzipped(bytes(9 * MIB))), 413, "DecodedRatio", "decompress_cap"),
    refused("a bomb in a bomb", coded(origin.gzipped(origin.gzipped(bytes(20 * MIB)) * 600)), 413,
            "DecodedRatio", "decompress_cap"),
    refused("larger than may be", Answer(bytes(2 * MIB + 1), DAY, TAG), 413, "BodyCap", "body_cap"),
    refused("a large length", Answer(b"abc", DAY, TAG, length=1 << 40), 413, "BodyCap", "body_cap"),
    refused("without an end", origin.endless(DAY, TAG), 413, "BodyCap", "body_cap"),
    broken("gzip that is none", coded(b"\x1f\x8b\x08nonsense and more of it")),
    broken("gzip that breaks off", coded(origin.gzipped(BODY)[:50_000])),
    broken("gzip with a wrong sum", coded(origin.gzipped(BODY)[:-8] + b"\x00" * 8)),
    # Tags.
    refused("no tag", Answer(BODY, DAY), 502, "UpstreamFail", "etag_invalid"),
    refused("a weak tag", Answer(BODY, DAY, 'ETag: W/"1"'), 502, "UpstreamFail", "etag_invalid"),
    refused("a tag without quotes", Answer(BODY, DAY, "ETag: 1"), 502, "UpstreamFail",
            "etag_invalid"),
    refused("two tags", Answer(BODY, DAY, 'ETag: "1"', 'ETag: "2"'), 502, "UpstreamFail",
            "etag_invalid"),
)


class Faults(LiveCase):
    faults, keys = FAULTS, KEYS

    def setUp(self):
        super().setUp()
        self.server = self.live(self.keys)

    def rejects(self):
        metrics = self.server.metrics()
        return {each: metrics.value("edge_rejects_total", reason=each) for each in edge.REASONS}

    def moved(self, before, reason):
        """Exactly the reason was counted, or none."""
        wanted = {**before, **({reason: before[reason] + 1} if reason else {})}
        ron.wait_until(f"{reason} is counted alone", lambda: self.rejects() == wanted, 5)

    def well_again(self, path):
        fresh = BODY[::-1] + path.encode()
        self.origin.say(path, Resource(fresh, DAY, etag='"well"'))
        self.assertTrue(self.filled(self.server, path, cache="miss").body == fresh)
        self.assertTrue(self.filled(self.server, path, cache="hit").body == fresh)

    def test_without_a_copy(self):
        for number, fault in enumerate(self.faults):
            with self.subTest(fault.name):
                path = self.origin.say(f"/cold/{number}", fault.way)
                before = self.rejects()
                self.refused(self.server.asset(self.origin, path), fault.status, fault.code)
                self.moved(before, fault.reason)
                asked = self.origin.count(path)
                if fault.tries:
                    self.assertEqual(asked, fault.tries)
                # A try on a connection that was kept and is closed without a word is made once more, on
                # a new one: it may have been too old.
                self.assertLessEqual(asked, TRIES * (2 if fault.silent else 1))
                self.well_again(path)
        self.assertEqual(self.server.readyz().status, 200)

    def test_with_a_copy(self):
        for number, fault in enumerate(self.faults):
            with self.subTest(fault.name):
                old = b"old %d" % number
                path = self.origin.say(f"/warm/{number}", Resource(
                    old, "Cache-Control: max-age=0", etag='"0"'))
                self.filled(self.server, path, cache="miss")
                self.origin.say(path, fault.way)
                response = self.server.asset(self.origin, path)
                if fault.excused:
                    self.assertEqual((response.status, response.get("X-Cache"), response.body),
                                     (200, "stale", old))
                elif response.status == 200:
                    self.assertEqual((response.get("X-Cache"), response.body), ("stale", old))
                else:
                    self.refused(response, fault.status, fault.code)
                self.well_again(path)

    def test_nothing_wrong_is_kept_over_a_restart(self):
        for number, fault in enumerate(self.faults):
            path = self.origin.say(f"/kept/{number}", fault.way)
            self.server.asset(self.origin, path)
        self.server = self.restart(self.server, sets={**self.live_sets(), **self.keys})
        self.origin.kill()
        for number, fault in enumerate(self.faults):
            with self.subTest(fault.name):
                self.refused(self.server.asset(self.origin, f"/kept/{number}"), 502,
                             "UpstreamFail")


class Late(Faults):
    faults, keys = LATE, {**KEYS, "fill.timeout": "250ms"}

    def well_again(self, path):
        self.origin.say(path, Resource(BODY, DAY, etag='"well"'))
        ron.wait_until("it is had in time", lambda: self.server.asset(
            self.origin, path).get("X-Cache") in ("miss", "hit"))
        self.assertTrue(self.filled(self.server, path, cache="hit").body == BODY)


class Recovers(LiveCase):
    """Faults that pass."""

    def test_the_second_try(self):
        server = self.live({"fill.base": "5ms", "fill.timeout": "500ms"})
        for name, way in (("503", Answer(b"", status="503 Service Unavailable")),
                          ("504", Answer(b"", status="504 Gateway Timeout")),
                          ("hung", origin.hung)):
            with self.subTest(name):
                path = self.origin.say("/" + name, way, Resource(BODY, DAY))
                self.moves(server, "backoff_retries_total", 1, lambda path=path: self.assertTrue(
                    self.filled(server, path, cache="miss").body == BODY), op="live_fill")
                self.assertEqual(self.origin.count(path), 2)

    def test_half_a_body_and_then_all_of_it(self):
        """What came with the first try is not in front of what comes with the second."""
        server = self.live({"fill.base": "5ms", "fill.timeout": "500ms"})
        self.origin.say("/a", origin.stalled_after(Answer(bytes(100_000), DAY, TAG), 60_000),
                        Resource(BODY, DAY))
        self.assertTrue(self.filled(server, "/a", cache="miss").body == BODY)

    def test_the_times_between_tries(self):
        """min(800, 50 · 2ⁿ) + U[0, 50] ms, three tries in all."""
        server = self.live()
        self.origin.say("/a", Answer(b"", status="503 Service Unavailable"))
        times = []
        inner = self.origin._ways["/a"]

        def timed(peer, request):
            times.append(time.monotonic())
            return inner(peer, request)

        self.origin.say("/a", timed)
        pauses = []
        for _ in range(5):
            del times[:]
            self.refused(server.asset(self.origin, "/a"), 502, "UpstreamFail")
            self.assertEqual(len(times), 3)
            pauses.append((times[1] - times[0], times[2] - times[1]))
        for first, second in pauses:
            self.assertGreaterEqual(first, 0.049)
            self.assertGreaterEqual(second, 0.099)
        # Noise of the machine only ever adds.
        self.assertLess(min(first for first, _ in pauses), 0.1 + 0.1 * ron.SLOW)
        self.assertLess(min(second for _, second in pauses), 0.15 + 0.1 * ron.SLOW)
        self.assertGreater(len({round(first, 4) for first, _ in pauses}), 1)
        server.wait_metric("backoff_retries_total", 10, op="live_fill")

    def test_five_seconds_for_a_try_by_default(self):
        server = self.live({"fill.max_tries": 1})
        self.origin.say("/hung", origin.hung)
        began = time.monotonic()
        self.refused(server.asset(self.origin, "/hung"), 504, "Timeout")
        took = time.monotonic() - began
        self.assertGreater(took, 4.9)
        self.assertLess(took, 5.1 + 0.5 * (ron.SLOW - 1) + 0.4)

    def test_an_interim_answer_is_not_the_answer(self):
        server = self.live()
        self.origin.say("/a", origin.raw(
            b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + WHOLE.head() + BODY))
        self.assertTrue(self.filled(server, "/a", cache="miss").body == BODY)

    def test_more_than_it_says_is_not_taken(self):
        """What follows is not part of it, nor of the next answer on that connection."""
        server = self.live()
        more = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n" + TAG.encode() + b"\r\n\r\nwrong"
        self.origin.say("/a", lambda peer, _: peer.socket.sendall(WHOLE.head() + BODY + more))
        self.origin.say("/b", Resource(b"right", DAY))
        self.assertTrue(self.filled(server, "/a", cache="miss").body == BODY)
        self.assertEqual(self.filled(server, "/b", cache="miss").body, b"right")

    def test_connections_are_used_again(self):
        server = self.live()
        for number in range(20):
            path = self.origin.say(f"/{number}", Resource(b"x", DAY))
            self.filled(server, path, cache="miss")
        self.assertLessEqual(self.origin.connections, 4)

    def test_a_connection_that_died_while_idle(self):
        server = self.live()
        self.origin.say("/a", Resource(b"a", DAY))
        self.origin.say("/b", Resource(b"b", DAY))
        self.filled(server, "/a", cache="miss")
        self.origin.kill()
        self.origin.revive()
        self.assertEqual(self.filled(server, "/b", cache="miss").body, b"b")


class Tags(LiveCase):
    """A strong tag stands for exactly one sequence of bytes."""

    def test_a_304_with_another_tag_confirms_nothing(self):
        """It is asked again without a condition; if that is of no use, the copy is an old one."""
        server = self.live()
        other = Answer(b"", DAY, 'ETag: "2"', status="304 Not Modified", length=None)
        for path, then, cache, body in (("/a", Resource(b"two", DAY, etag='"2"'), "miss", b"two"),
                                        ("/b", other, "stale", b"one")):
            self.origin.say(path, Resource(b"one", "Cache-Control: max-age=0", etag='"1"'), other,
                            then)
            self.filled(server, path, cache="miss")
            self.assertEqual(self.filled(server, path, cache=cache).body, body)

    def test_a_304_that_nobody_asked_for(self):
        server = self.live()
        self.origin.say("/a", Answer(b"", DAY, TAG, status="304 Not Modified", length=None))
        self.refused(server.asset(self.origin, "/a"), 502, "UpstreamFail")

    def test_a_tag_that_changes_is_another_representation(self):
        server = self.live()
        bodies = [b"body %d" % number for number in range(5)]
        self.origin.say("/a", *[Resource(body, "Cache-Control: max-age=0", etag=f'"{number}"')
                                for number, body in enumerate(bodies)])
        seen = [self.filled(server, "/a") for _ in bodies]
        self.assertEqual([each.body for each in seen], bodies)
        self.assertEqual(len({each.get("ETag") for each in seen}), 5)

    def test_a_tag_that_stays_with_other_bytes_never_mixes_them(self):
        """A range of one and a range of the other do not make a third."""
        server = self.live()
        first, second = b"a" * 1000, b"b" * 1000
        self.origin.say("/a", Answer(first, "Cache-Control: max-age=0", TAG),
                        Answer(second, "Cache-Control: max-age=0", TAG))
        one = self.filled(server, "/a")
        self.assertEqual(one.body, first)
        rest = server.asset(self.origin, "/a", [("Range", "bytes=500-"),
                                                ("If-Range", one.get("ETag"))])
        if rest.status == 206:
            self.assertEqual(rest.body, first[500:])
        else:
            self.assertIn(rest.body, (first, second))


class Trust(LiveCase):
    """Whoever is not who the URL says is not asked."""

    def check_refused(self, made):
        server = self.live({"fill.max_tries": 1}, origins=[made])
        made.say("/a", Resource(b"x", DAY))
        self.refused(server.asset(made, "/a"), 502, "UpstreamFail")
        self.assertEqual(made.count(), 0)
        server.close()

    def test_certificates(self):
        stranger = origin.new_authority(self.home + "/stranger")
        bad = {"another authority": stranger.issue("other", "DNS:localhost"),
               "another name": self.authority.issue("name", "DNS:elsewhere.example"),
               "an address only": self.authority.issue("address", "IP:127.0.0.2"),
               "expired": self.authority.issue("expired", "DNS:localhost", ends="20200102000000Z"),
               "not yet": self.authority.issue("early", "DNS:localhost", begins="20900101000000Z")}
        for name, issued in bad.items():
            with self.subTest(name):
                made = origin.Origin(self.authority, issued=issued)
                self.addCleanup(made.close)
                self.check_refused(made)

    def test_no_tls_at_all(self):
        with socket.create_server(("127.0.0.1", 0)) as listener:
            def serve():
                with listener.accept()[0] as connection:
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")

            threading.Thread(target=serve, daemon=True).start()
            here = f"localhost:{listener.getsockname()[1]}"
            server = self.live({"allow": json.dumps([here]), "fill.max_tries": 1})
            self.refused(server.fetch(f"/edge/assets/{here}/a"), 502, "UpstreamFail")

    def test_nobody_there(self):
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            port = taken.getsockname()[1]
        server = self.live({"allow": json.dumps([f"localhost:{port}", "nowhere.invalid"]),
                            "fill.base": "5ms"})
        for host in (f"localhost:{port}", "nowhere.invalid"):
            response = server.fetch(f"/edge/assets/{host}/x")
            self.refused(response, 502, "UpstreamFail")


class Redirects(LiveCase):
    def setUp(self):
        super().setUp()
        self.server = self.live({"fill.max_tries": 1})
        self.other = self.new_origin()
        self.other.say("/secret", Resource(b"secret", DAY))

    def test_loops(self):
        self.origin.say("/self", origin.redirect("/self"))
        self.origin.say("/ping", origin.redirect("/pong"))
        self.origin.say("/pong", origin.redirect("/ping"))
        for number in range(50):
            self.origin.say(f"/far/{number}", origin.redirect(f"/far/{number + 1}"))
        for path in ("/self", "/ping", "/far/0"):
            with self.subTest(path):
                before = self.origin.count()
                self.refused(self.server.asset(self.origin, path), 502, "UpstreamFail")
                self.assertLessEqual(self.origin.count() - before, 12)

    def test_to_whom_is_not_allowed(self):
        for number, to in enumerate((
                self.other.url("/secret"), f"https://127.0.0.1:{self.origin.port}/x",
                "https://other.example/", "//other.example/", "https://localhost/x")):
            with self.subTest(to):
                path = self.origin.say(f"/{number}", origin.redirect(to))
                self.moves(self.server, "edge_rejects_total", 1, lambda path=path: self.refused(
                    self.server.asset(self.origin, path), 403, "NotAllowed"), reason="not_allowed")
        self.assertEqual(self.other.connections, 0)

    def test_to_what_is_no_place_of_the_kind(self):
        for number, to in enumerate((f"http://{self.origin.authority}/x", "file:///etc/passwd",
                                     "gopher://localhost/", "javascript:alert(1)",
                                     f"https://user:word@{self.origin.authority}/x",
                                     f"https://{self.origin.authority}/a/../x", "https://", "//")):
            with self.subTest(to):
                path = self.origin.say(f"/{number}", origin.redirect(to))
                response = self.server.asset(self.origin, path)
                self.assertIn((response.status, response.code),
                              ((403, "NotAllowed"), (502, "UpstreamFail")))
        self.assertEqual(self.origin.count("/x"), 0)

    def test_without_a_place(self):
        self.origin.say("/none", Answer(b"", status="302 Found"))
        self.origin.say("/empty", origin.redirect(""))
        for path in ("/none", "/empty"):
            self.assertEqual(self.server.asset(self.origin, path).status, 502)


if __name__ == "__main__":
    unittest.main()
