"""What one client may do to the copies of others: nothing. Requests with odd fields, origins that
answer them with errors, that vary on something, change their mind about it, or send parts nobody
asked for."""

import unittest

import origin
import ron
from edge import ROOM, Crowd, LiveCase
from origin import Answer, Resource

DAY = "Cache-Control: max-age=86400"
ODD = [("Accept", "odd/odd")]
PLAIN = [("Accept", "text/plain")]


def picky(odd, others):
    """Does the one for Accept: odd/odd, the other for all other requests."""
    def way(peer, request):
        return (odd if request.get("accept") == "odd/odd" else others)(peer, request)
    return way


class Waiting(Crowd):
    """Who waits for the same while the origin answers somebody else."""

    def trial(self, odd, status, code):
        server = self.live({**ROOM, "fill.timeout": "60s", "fill.max_tries": 1})
        first = self.held("/one", odd)
        refused = self.many(server, "/one", 1, ODD)
        ron.wait_until("the origin is asked", lambda: self.origin.count("/one") == 1)
        refused += self.many(server, "/one", 9, ODD)
        others = self.many(server, "/one", 100, PLAIN)
        server.wait_metric("edge_loads_joined_total", 109)
        second = self.held("/one", Resource(b"good", DAY))
        first.opened.set()
        # One of them asks for all of them.
        server.wait_metric("edge_loads_joined_total", 109 + 99)
        second.opened.set()
        for connection in refused:
            self.refused(connection.read_response(), status, code)
        for connection in others:
            response = connection.read_response()
            self.assertEqual((response.status, response.body), (200, b"good"), response.body)
        self.assertEqual(self.origin.count("/one"), 2)
        self.filled(server, "/one", PLAIN, cache="hit")

    def test_an_error_is_no_answer_to_those_who_ask_for_something_else(self):
        self.trial(Answer(b"what?", status="400 Bad Request"), 502, "UpstreamFail")

    def test_nor_is_a_404(self):
        self.trial(Answer(b"no", status="404 Not Found"), 404, "NotFound")

    def test_nor_is_a_connection_that_breaks(self):
        self.trial(origin.reset, 502, "UpstreamFail")

    def test_what_nobody_could_have_had_is_said_to_all(self):
        """The origin does not listen: no request would have done better."""
        server = self.live({**ROOM, "fill.max_tries": 1})
        self.origin.kill()
        for fields in (ODD, PLAIN):
            response = server.asset(self.origin, "/one", fields)
            self.refused(response, 502, "UpstreamFail")
            self.assertEqual(response.json()["error"]["details"].get("origin_asked"), "no")


class Missing(LiveCase):
    def test_a_404_says_nothing_of_other_requests(self):
        for number, control in enumerate(("max-age=60", "no-cache", "no-store")):
            server = self.live({"cache.negative_ttl": "60s"})
            path = self.origin.say(f"/{number}", picky(
                Answer(b"no", "Cache-Control: " + control, status="404 Not Found"),
                Resource(b"good", DAY)))
            with self.subTest(control, first="the 404"):
                self.filled(server, path, ODD, status=404)
                self.filled(server, path, PLAIN, cache="miss")
                self.filled(server, path, cache="hit")
            with self.subTest(control, first="the copy"):
                self.filled(server, path, [*ODD, ("Cache-Control", "no-cache")], status=404)
                self.assertEqual(self.filled(server, path, PLAIN, cache="hit").body, b"good")
            server = self.restart(server, sets=self.live_sets())
            self.assertEqual(self.filled(server, path, PLAIN, cache="hit").body, b"good")
            server.close()

    def test_a_404_is_remembered_as_it_says(self):
        server = self.live({"cache.negative_ttl": "60s"})
        for control, asked in (("no-cache", 2), ("no-store", 2), ("private", 2), ("max-age=0", 2),
                               ("max-age=30", 1), ("public", 1)):
            path = self.origin.say("/" + control, Answer(b"no", "Cache-Control: " + control,
                                                         status="404 Not Found"))
            for _ in range(2):
                self.filled(server, path, status=404)
            self.assertEqual(self.origin.count(path), asked, control)

    def test_a_copy_is_gone_for_those_who_are_told_so(self):
        server = self.live({"fill.max_tries": 1})
        missing = Answer(b"no", "Cache-Control: no-cache", status="404 Not Found")
        self.origin.say("/a", picky(missing, Resource(b"good", "Cache-Control: max-age=0")))
        self.filled(server, "/a", PLAIN, cache="miss")
        self.filled(server, "/a", ODD, status=404)
        self.origin.say("/a", Answer(b"", status="500 Internal Server Error"))
        self.filled(server, "/a", PLAIN, cache="stale")
        self.origin.say("/a", missing)
        self.filled(server, "/a", PLAIN, status=404)
        self.origin.say("/a", Answer(b"", status="500 Internal Server Error"))
        self.refused(server.asset(self.origin, "/a", PLAIN), 502, "UpstreamFail")

    def test_many_404s_push_no_copy_out(self):
        server = self.live({"cache.negative_ttl": "60s"})
        self.origin.say("/a", Resource(b"good", DAY), Answer(b"no", status="404 Not Found"))
        self.filled(server, "/a", cache="miss")
        for number in range(20):
            self.filled(server, "/a", [("Accept", f"x/{number}"), ("Cache-Control", "no-cache")],
                        status=404)
        self.filled(server, "/a", cache="hit")


class Fields(LiveCase):
    # All that an origin is ever sent. What is not in here can change no copy.
    SENT = {"host", "user-agent", "via", "accept", "accept-language", "accept-encoding",
            "connection", "if-none-match", "if-modified-since"}
    OF_CLIENTS = [("Cookie", "a=b"), ("Authorization", "Basic eDp5"), ("Range", "bytes=0-1"),
                  ("If-Range", '"x"'), ("If-None-Match", '"x"'), ("If-Match", '"x"'),
                  ("If-Modified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"),
                  ("If-Unmodified-Since", "Thu, 01 Jan 1970 00:00:00 GMT"),
                  ("Origin", "https://evil.example"), ("User-Agent", "odd"),
                  ("Accept-Encoding", "br"), ("Accept-Charset", "x"), ("Referer", "https://x/"),
                  ("X-Forwarded-Host", "evil.example"), ("X-Forwarded-Proto", "http"),
                  ("X-Forwarded-Scheme", "http"), ("X-Forwarded-For", "1.2.3.4"),
                  ("Forwarded", "host=evil.example"), ("X-Original-URL", "/other"),
                  ("X-Rewrite-URL", "/other"), ("X-HTTP-Method-Override", "DELETE"),
                  ("X-Host", "evil.example"), ("DNT", "1"), ("Save-Data", "on"),
                  ("Sec-Fetch-Mode", "cors"), ("Prefer", "return=minimal"), ("TE", "trailers"),
                  ("Pragma", "x"), ("From", "a@b"), ("X-Own", "1")]

    def test_what_origins_are_sent(self):
        server = self.live()
        for name, value in self.OF_CLIENTS:
            path = self.origin.say("/" + name, Resource(b"good", "Cache-Control: max-age=0"))
            server.asset(self.origin, path, [(name, value), *ODD, ("Accept-Language", "de")])
            self.filled(server, path)
            for request in self.origin.asked(path):
                names = {each.lower() for each, _ in request.fields}
                self.assertLessEqual(names, self.SENT, name)
                self.assertNotIn(value, [text for _, text in request.fields], name)

    def test_a_reflected_field_is_in_no_copy(self):
        """An origin that makes its answer of whatever it is sent."""
        server = self.live()

        def mirror(peer, request):
            text = repr(sorted((name.lower(), value) for name, value in request.fields))
            return Answer(text.encode(), DAY, 'ETag: "1"')(peer, request)

        for name, value in self.OF_CLIENTS:
            path = self.origin.say("/" + name, mirror)
            server.asset(self.origin, path, [(name, value)])
            copy = self.filled(server, path).body
            plain = self.origin.say("/plain/" + name, mirror)
            self.assertEqual(copy, self.filled(server, plain).body, name)


class Varying(LiveCase):
    def by(self, *names):
        """Answers with the fields that it says it varies by."""
        def way(peer, request):
            text = " ".join(request.get(each.lower()) or "-" for each in names)
            return Answer(text.encode(), DAY, "Vary: " + ", ".join(names),
                          f'ETag: "{abs(hash(text))}"')(peer, request)
        return way

    def test_by_what_is_sent_and_by_what_is_not(self):
        server = self.live()
        self.origin.say("/a", self.by("Accept", "Accept-Language", "Cookie", "User-Agent"))
        seen = {}
        for _ in range(2):
            for accept in ("text/plain", "text/html"):
                for language in ("de", "fr"):
                    for cookie in ("a", "b"):
                        body = self.filled(server, "/a", [
                            ("Accept", accept), ("Accept-Language", language),
                            ("Cookie", cookie), ("User-Agent", cookie)]).body.decode()
                        self.assertTrue(body.startswith(f"{accept} {language} - ron/"), body)
                        self.assertEqual(seen.setdefault((accept, language), body), body)
        self.assertEqual(self.origin.count("/a"), 4)

    def test_in_any_case_on_several_lines(self):
        server = self.live()

        def way(peer, request):
            text = (request.get("accept-language") or "-").encode()
            return Answer(text, DAY, "vary: ACCEPT-ENCODING", "Vary: , accept-LANGUAGE ,",
                          f'ETag: "{text.decode()}"')(peer, request)

        self.origin.say("/a", way)
        for cache in ("miss", "hit"):
            for language in ("de", "fr"):
                self.assertEqual(self.filled(server, "/a", [("Accept-Language", language)],
                                             cache=cache).body, language.encode())

    def test_on_everything(self):
        server = self.live()
        for number, value in enumerate(("*", "Accept, *", "*, Accept", "Accept Language", "\"*\"")):
            path = self.origin.say(f"/{number}", Resource(b"x", DAY, "Vary: " + value))
            for _ in range(2):
                self.filled(server, path, cache="miss")
            self.assertEqual(self.origin.count(path), 2, value)

    def test_an_origin_that_begins_to_vary(self):
        """What came before holds for as long as it said, and is checked by nobody else's word."""
        server = self.live()
        self.origin.say("/a", Resource(b"for all", "Cache-Control: max-age=0", etag='"all"'))
        for language in ("de", "fr"):
            self.filled(server, "/a", [("Accept-Language", language)])
        self.origin.say("/a", self.by("Accept-Language"))
        for _ in range(2):
            for language in ("de", "fr"):
                self.assertEqual(self.filled(server, "/a", [("Accept-Language", language)]).body,
                                 language.encode())
        self.assertEqual(self.origin.count("/a"), 4)

    def test_an_origin_that_stops_to_vary(self):
        server = self.live()
        self.origin.say("/a", self.by("Accept-Language"))
        for language in ("de", "fr"):
            self.filled(server, "/a", [("Accept-Language", language)], cache="miss")
        self.origin.say("/a", Resource(b"for all", DAY, etag='"all"'))
        self.filled(server, "/a", [("Accept-Language", "en")], cache="miss")
        for language in ("en", "it", "de"):
            self.assertEqual(self.filled(server, "/a", [("Accept-Language", language)],
                                         cache="hit").body, b"for all")

    def test_a_404_that_varies(self):
        server = self.live({"cache.negative_ttl": "60s"})

        def way(peer, request):
            if request.get("accept-language") == "de":
                return Answer(b"nein", DAY, "Vary: Accept-Language", status="404 Not Found")(
                    peer, request)
            return Resource(b"yes", DAY, "Vary: Accept-Language")(peer, request)

        self.origin.say("/a", way)
        for _ in range(2):
            self.filled(server, "/a", [("Accept-Language", "de")], status=404)
            self.filled(server, "/a", [("Accept-Language", "fr")])
        self.assertEqual(self.origin.count("/a"), 2)


class Parts(LiveCase):
    def test_a_part_that_nobody_asked_for(self):
        server = self.live({"fill.max_tries": 1})
        part = Answer(b"par", DAY, 'ETag: "1"', "Content-Range: bytes 0-2/4",
                      status="206 Partial Content")
        for fields in ((), [("Range", "bytes=0-2")], [("Range", "bytes=1-")]):
            path = self.origin.say(f"/{len(fields)}/{fields and fields[0][1][6:] or 'all'}", part,
                                   Resource(b"part", DAY))
            self.refused(server.asset(self.origin, path, fields), 502, "UpstreamFail")
            self.assertEqual(self.filled(server, path, cache="miss").body, b"part")

    def test_a_416_and_a_304_that_nobody_asked_for(self):
        server = self.live({"fill.max_tries": 1})
        for number, status in enumerate(("416 Range Not Satisfiable", "304 Not Modified")):
            odd = Answer(b"", DAY, "Content-Range: bytes */4", status=status,
                         length=None if status.startswith("304") else 0)
            path = self.origin.say(f"/{number}", odd, Resource(b"part", DAY))
            self.refused(server.asset(self.origin, path, [("Range", "bytes=9-")]), 502,
                         "UpstreamFail")
            self.assertEqual(self.filled(server, path, cache="miss").body, b"part")

    def test_what_a_200_says_of_ranges_is_not_passed_on(self):
        server = self.live()
        self.origin.say("/a", Resource(b"whole", DAY, "Content-Range: bytes 0-4/99",
                                       "Accept-Ranges: none"))
        for fields, status in (((), 200), ([("Range", "bytes=1-2")], 206), ((), 200)):
            response = self.filled(server, "/a", fields, status=status)
            self.assertEqual(response.get("Content-Range"),
                             "bytes 1-2/5" if status == 206 else None)
            self.assertEqual(response.get("Accept-Ranges"), "bytes")

    def test_a_part_during_a_validation_leaves_the_copy(self):
        server = self.live({"fill.max_tries": 1})
        self.origin.say("/a", Resource(b"good", "Cache-Control: max-age=0"), Answer(
            b"go", DAY, 'ETag: "1"', "Content-Range: bytes 0-1/4", status="206 Partial Content"))
        self.filled(server, "/a", cache="miss")
        for _ in range(2):
            self.assertEqual(self.filled(server, "/a", cache="stale").body, b"good")


if __name__ == "__main__":
    unittest.main()
