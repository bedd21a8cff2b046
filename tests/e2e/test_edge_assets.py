"""Copies of what origins have: from a miss to a hit and back, what is kept and for how long, what
origins and clients are told, who may be asked, and what operators see. The rules of RFC 9111 one by
one are in edge_rules.py and run by test_edge_matrix.py; faults are in test_edge_origin_faults.py.
`--long` also waits until the disk is given back."""

import gzip
import json
import pathlib
import random
import re
import sys
import time
import unittest

import edge
import origin
import ron
import traced
from edge import LiveCase, asset_path
from origin import Answer, Resource

MIB = 1 << 20
DAY = "Cache-Control: max-age=86400"
STRONG = re.compile(r'^"[\x21\x23-\x7e]+"$')


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


class Fill(LiveCase):
    def test_a_miss_and_hits(self):
        server = self.live()
        body = noise(70_000)
        self.origin.say("/a.bin", Resource(body, DAY, "Content-Type: font/woff2", etag='"v1"'))
        first = self.filled(server, "/a.bin", cache="miss")
        self.assertEqual(first.body, body)
        for _ in range(3):
            again = self.filled(server, "/a.bin", cache="hit")
            self.assertEqual(again.body, body)
            self.assertRegex(again.get("Age", ""), r"^\d+$")
            self.assertRegex(again.get("ETag"), STRONG)
            self.assertEqual(again.get("Content-Type"), "font/woff2")
            self.assertEqual(again.get("Accept-Ranges"), "bytes")
        self.assertEqual(first.get("ETag"), again.get("ETag"))
        self.assertEqual(self.origin.count("/a.bin"), 1)

    def test_sizes_and_types(self):
        server = self.live()
        for size in (0, 1, 65_535, 65_536, 65_537, MIB, 5 * MIB + 3):
            body = noise(size, size)
            path = self.origin.say(f"/size/{size}", Resource(body, DAY, etag=f'"{size}"'))
            for cache in ("miss", "hit", "hit"):
                self.assertTrue(self.filled(server, path, cache=cache).body == body, size)
            self.assertEqual(self.origin.count(path), 1, size)

    def test_the_query_and_the_escapes_are_part_of_the_name(self):
        server = self.live()
        for target in ("/q?a=1", "/q?a=2", "/q?a=1&b=%2F", "/q?a=1&b=/", "/q", "/q%20r", "/q%3B"):
            path = target.partition("?")[0]
            self.origin.say(path, lambda peer, request: Answer(
                request.target.encode(), DAY, 'ETag: "1"')(peer, request))
            for cache in ("miss", "hit"):
                body = self.filled(server, target, cache=cache).body
                self.assertEqual(body, target.encode())
        # Nobody knows whether that is one segment or two.
        self.refused(server.asset(self.origin, "/q%2Fr"), 400, "Malformed")

    def test_every_spelling_of_a_url_is_one(self):
        server = self.live()
        for path, *spellings in (("/a", "/%61", "/a?", "/%61?"), ("/~x", "/%7ex", "/%7Ex"),
                                 ("/b%3Bc?%2F", "/%62%3bc?%2f"), ("/c?d%5B%5D", "/c?d[]")):
            self.origin.say(path.partition("?")[0], Resource(path.encode(), DAY))
            self.filled(server, spellings[0], cache="miss")
            for spelling in (path, *spellings):
                self.assertEqual(self.filled(server, spelling, cache="hit").body, path.encode())
            self.assertEqual([each.target for each in self.origin.asked(path.partition("?")[0])],
                             [path])

    def test_head(self):
        server = self.live()
        body = noise(1000)
        self.origin.say("/h", Resource(body, DAY))
        for cache in ("miss", "hit"):
            response = server.asset(self.origin, "/h", method="HEAD")
            self.assertEqual((response.status, response.get("Content-Length")), (200, "1000"))
        self.assertEqual(self.filled(server, "/h").body, body)
        self.assertLessEqual(self.origin.count("/h"), 2)

    def test_other_methods_are_refused(self):
        server = self.live()
        self.origin.say("/m", Resource(b"x", DAY))
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            response = server.ask(method, asset_path(self.origin, "/m"),
                                  body=b"" if method != "DELETE" else None)
            self.refused(response, 405, "MethodNotAllowed")
        self.assertEqual(self.origin.count(), 0)

    def test_a_range_of_a_miss_is_cut_out_of_the_whole(self):
        server = self.live()
        body = noise(3 * MIB)
        self.origin.say("/r", Resource(body, DAY))
        response = server.asset(self.origin, "/r", [("Range", "bytes=1000000-2000000")])
        self.assertEqual((response.status, response.body), (206, body[1000000:2000001]))
        self.assertIsNone(self.origin.asked("/r")[0].get("range"))
        self.assertEqual(self.filled(server, "/r", cache="hit").body, body)
        self.assertEqual(self.origin.count("/r"), 1)

    def test_what_origins_are_told(self):
        server = self.live()
        self.origin.say("/t", Resource(b"x", DAY))
        self.filled(server, "/t", [
            ("Cookie", "a=b"), ("Authorization", server.auth[1]), ("X-Own", "1"),
            ("Referer", "http://secret.example/"), ("X-Forwarded-For", "10.0.0.1"),
            ("Accept-Language", "de"), ("If-None-Match", '"other"'), ("Range", "bytes=0-0")],
            status=206)
        request = self.origin.asked("/t")[0]
        self.assertEqual(request.get("host"), self.origin.authority)
        names = {name for name, _ in request.fields}
        self.assertFalse(names & {"cookie", "authorization", "x-own", "referer", "range",
                                  "x-forwarded-for", "if-none-match", "forwarded"}, names)

    def test_what_clients_are_not_told(self):
        server = self.live()
        self.origin.say("/t", Resource(b"x", DAY + ", public", "Set-Cookie: id=1",
                                       "Server: secret/1",
                                       "X-Powered-By: y", "Strict-Transport-Security: max-age=1",
                                       "Clear-Site-Data: *", "Access-Control-Allow-Origin: *",
                                       'Content-Disposition: attachment; filename="a"',
                                       "Content-Language: de"))
        for cache in ("miss", "hit"):
            response = self.filled(server, "/t", cache=cache)
            names = {name.lower() for name, _ in response.headers}
            self.assertFalse(names & {"set-cookie", "server", "x-powered-by", "clear-site-data",
                                      "strict-transport-security"}, names)
            self.assertEqual(response.get("Content-Language"), "de")
            self.assertEqual(response.get("Content-Disposition"), 'attachment; filename="a"')

    def test_browsers_are_told_that_it_is_not_ours(self):
        """A page of somebody else's is in the same origin as sites and the API."""
        server = self.live()
        self.origin.say("/page", Resource(b"<script>alert(1)</script>", DAY,
                                          "Content-Type: text/html",
                                          "Content-Security-Policy: default-src 'none'"))
        self.origin.say("/large", Resource(noise(9 * MIB), DAY))
        for path, own in (("/page", {"default-src 'none'", "sandbox"}), ("/large", {"sandbox"})):
            for fields in ((), (), (("Range", "bytes=0-3"),)):
                response = server.asset(self.origin, path, fields)
                self.assertIn(response.status, (200, 206))
                self.assertEqual(response.get("X-Content-Type-Options"), "nosniff")
                policies = {value for name, value in response.headers
                            if name.lower() == "content-security-policy"}
                self.assertEqual(policies, own, path)

    def test_a_coding_that_may_not_be_taken_off(self):
        server = self.live()
        self.origin.say("/n", Resource(origin.gzipped(b"text"), DAY + ", no-transform",
                                       "Content-Encoding: gzip"))
        self.refused(server.asset(self.origin, "/n"), 502, "UpstreamFail")
        self.origin.say("/i", Resource(b"text", DAY + ", no-transform"))
        self.assertEqual(self.filled(server, "/i").body, b"text")

    def test_codings_of_origins_are_taken_off(self):
        server = self.live()
        body = (b"a line of text, %d\n" * 400) % tuple(range(400))
        self.origin.say("/z", Resource(origin.gzipped(body), DAY, "Content-Encoding: gzip",
                                       "Vary: Accept-Encoding", "Content-Type: text/plain"))
        for encoding in ("gzip, br", "identity"):
            response = self.filled(server, "/z", [("Accept-Encoding", encoding)])
            got = response.body
            if response.get("Content-Encoding") == "gzip":
                got = gzip.decompress(got)
            self.assertEqual(got, body)

    def test_chunks_and_ends_of_connections_are_bodies_too(self):
        server = self.live()
        pieces = [noise(size, size) for size in (1, 5000, 70_000)]
        self.origin.say("/chunks", origin.chunked(pieces, DAY, 'ETag: "1"'))
        self.assertEqual(self.filled(server, "/chunks", cache="miss").body, b"".join(pieces))
        self.assertEqual(self.filled(server, "/chunks", cache="hit").body, b"".join(pieces))
        self.assertEqual(self.origin.count("/chunks"), 1)

    def test_redirects_within_the_allow_list_are_followed(self):
        server = self.live()
        self.origin.say("/to", Resource(b"there", DAY))
        for status in ("301 Moved Permanently", "302 Found", "307 Temporary Redirect",
                       "308 Permanent Redirect"):
            path = self.origin.say("/from/" + status[:3], origin.redirect("/to", status))
            self.assertEqual(self.filled(server, path).body, b"there")
        path = self.origin.say("/whole", origin.redirect(self.origin.url("/to")))
        self.assertEqual(self.filled(server, path).body, b"there")

    def test_a_redirect_by_language(self):
        """What is behind it is kept for those who were sent there, though it does not vary."""
        server = self.live()
        for language in ("de", "en"):
            self.origin.say(f"/{language}/", Resource(language.encode(), DAY, etag='"same"'))
        self.origin.say("/", lambda peer, request: origin.redirect(
            f"/{request.get('accept-language')}/", "302 Found", "Vary: Accept-Language",
            DAY)(peer, request))
        for cache in ("miss", "hit"):
            for language in ("de", "en"):
                response = self.filled(server, "/", [("Accept-Language", language)], cache=cache)
                self.assertEqual(response.body, language.encode())
                self.assertEqual(response.get("Vary"), "accept-language")
        self.assertEqual(self.origin.count("/"), 2)

    def test_a_redirect_that_may_not_be_kept(self):
        server = self.live()
        self.origin.say("/signed", Resource(b"for one", "Cache-Control: public, max-age=31536000"))
        for control in ("no-store", "private"):
            path = self.origin.say("/" + control, origin.redirect(
                "/signed", "302 Found", "Cache-Control: " + control))
            for _ in range(2):
                response = self.filled(server, path, cache="miss")
                self.assertIn("no-store", response.get("Cache-Control"))
            self.assertEqual(self.origin.count(path), 2)

    def test_a_redirect_to_a_new_version_with_the_old_ones_tag(self):
        server = self.live()
        for version in ("v1", "v2"):
            self.origin.say("/" + version, Resource(version.encode(), DAY, etag='"same"'))
        self.origin.say("/latest", origin.redirect("/v1"))
        self.assertEqual(self.filled(server, "/latest", cache="miss").body, b"v1")
        # Without a lifetime of its own the redirect holds once: it is asked where it leads now.
        self.assertEqual(self.filled(server, "/latest", cache="revalidated").body, b"v1")
        self.assertEqual(self.origin.asked("/v1")[-1].get("if-none-match"), '"same"')
        self.origin.say("/latest", origin.redirect("/v2"))
        self.assertEqual(self.filled(server, "/latest", cache="miss").body, b"v2")
        self.assertIsNone(self.origin.asked("/v2")[-1].get("if-none-match"))


class Keeping(LiveCase):
    def test_an_old_copy_is_validated_and_says_so(self):
        server = self.live()
        resource = Resource(b"one", "Cache-Control: max-age=0", etag='"v1"')
        self.origin.say("/a", resource)
        self.filled(server, "/a", cache="miss")
        for _ in range(2):
            self.assertEqual(self.filled(server, "/a", cache="revalidated").body, b"one")
        self.assertEqual(self.origin.asked("/a")[-1].get("if-none-match"), '"v1"')
        resource.body, resource.etag = b"two", '"v2"'
        self.assertEqual(self.filled(server, "/a", cache="miss").body, b"two")
        self.assertEqual(self.origin.count("/a"), 4)

    def test_a_404_is_remembered_for_a_while(self):
        server = self.live({"cache.negative_ttl": "1s"})
        for status in ("404 Not Found", "410 Gone"):
            path = "/" + status[:3]
            self.origin.say(path, Answer(b"no", status=status))
            for _ in range(3):
                self.refused(server.asset(self.origin, path), 404, "NotFound")
            self.assertEqual(self.origin.count(path), 1, status)
            time.sleep(1.2)
            self.origin.say(path, Resource(b"now", DAY))
            self.assertEqual(self.filled(server, path, cache="miss").body, b"now")
            self.assertEqual(self.origin.count(path), 2, status)

    def test_other_errors_are_not_remembered(self):
        server = self.live({"fill.max_tries": 1})
        for status in ("500 Internal Server Error", "503 Service Unavailable", "403 Forbidden"):
            path = "/" + status[:3]
            self.origin.say(path, Answer(b"no", status=status), Resource(b"now", DAY))
            self.refused(server.asset(self.origin, path), 502, "UpstreamFail")
            self.assertEqual(self.filled(server, path, cache="miss").body, b"now")

    def test_an_old_copy_instead_of_an_error(self):
        server = self.live({"fill.max_tries": 1})
        self.origin.say("/a", Resource(b"old", "Cache-Control: max-age=0"),
                        Answer(b"sorry", status="500 Internal Server Error"))
        self.filled(server, "/a", cache="miss")
        response = self.filled(server, "/a", cache="stale")
        self.assertEqual(response.body, b"old")
        self.origin.kill()
        self.assertEqual(self.filled(server, "/a", cache="stale").body, b"old")

    def test_not_for_longer_than_the_key_says(self):
        server = self.live({"fill.max_tries": 1, "cache.stale_if_error": "0s"})
        self.origin.say("/a", Resource(b"old", "Cache-Control: max-age=0"))
        self.filled(server, "/a", cache="miss")
        self.origin.kill()
        self.refused(server.asset(self.origin, "/a"), 502, "UpstreamFail")

    def test_what_may_not_be_kept_is_not_on_disk(self):
        """Not even on its way: what is too large for memory is refused."""
        server = self.live()
        before = self.on_disk()
        for number, control in enumerate(("no-store", "private, max-age=60")):
            path = self.origin.say(f"/{number}", Resource(noise(9 * MIB), "Cache-Control: " +
                                                          control))
            self.moves(server, "edge_rejects_total", 1, lambda path=path: self.refused(
                server.asset(self.origin, path), 413, "BodyCap"), reason="body_cap")
            path = self.origin.say(f"/small/{number}", Resource(noise(MIB), "Cache-Control: " +
                                                                control))
            self.assertTrue(self.filled(server, path, cache="miss").body == noise(MIB))
        self.assertEqual(self.on_disk(), before)

    def test_a_restart_keeps_the_cache(self):
        server = self.live()
        bodies = {}
        for size in (0, 5, 100_000, 5 * MIB):
            path = self.origin.say(f"/{size}", Resource(noise(size, size), DAY, "X: y",
                                                        "Content-Type: image/png", "Age: 100"))
            bodies[path] = self.filled(server, path, cache="miss")
        server = self.restart(server, sets=self.live_sets())
        self.origin.kill()
        for path, before in bodies.items():
            response = self.filled(server, path, cache="hit")
            self.assertTrue(response.body == before.body, path)
            for name in ("ETag", "Content-Type"):
                self.assertEqual(response.get(name), before.get(name))
            self.assertGreaterEqual(int(response.get("Age")), 100)

    def test_more_than_the_cache_holds(self):
        """What is evicted is asked for again; memory and disk stay within their bounds."""
        server = self.live({"cache.bytes": "8MiB", "cache.ram_bytes": "1MiB"})
        for number in range(40):
            body = noise(MIB // 2, number)
            path = self.origin.say(f"/{number}", Resource(body, DAY, etag=f'"{number}"'))
            self.assertTrue(self.filled(server, path, cache="miss").body == body)
        for number in (0, 39):
            self.assertTrue(self.filled(server, f"/{number}").body == noise(MIB // 2, number))
        seen = server.ask_admin("GET", "/admin/cache").json()
        self.assertLessEqual(seen["bytes"], 8 * MIB)
        self.assertGreater(server.metrics().value("edge_evictions_total"), 20)
        self.assertLessEqual(server.metrics().value("edge_memory_bytes"), MIB)
        if "--long" in FLAGS:
            ron.wait_until("the disk is given back", lambda: self.on_disk() < 16 * MIB, 60)

    def test_a_burst_that_is_faster_than_the_disk_is_freed(self):
        """Twice what may be kept, four segments of 8 MiB, and what is being written: no more."""
        server = self.live({"cache.bytes": "8MiB", "cache.ram_bytes": "1MiB"})
        most = 0
        for number in range(240):
            body = noise(MIB // 2, number)
            path = self.origin.say(f"/{number}", Resource(body, DAY, etag=f'"{number}"'))
            self.assertTrue(self.filled(server, path, cache="miss").body == body)
            most = max(most, self.on_disk())
        self.assertLessEqual(most, (2 * 8 + 4 * 8 + 1) * MIB)
        ron.wait_until("the disk is given back", lambda: self.on_disk() <= 24 * MIB, 60)

    def on_disk(self):
        found = 0
        for path in pathlib.Path(self.data, "edge").rglob("*.seg"):
            try:
                found += path.stat().st_size
            except FileNotFoundError:  # compacted meanwhile
                pass
        return found

    def test_one_entry_more_than_the_table_has(self):
        server = self.live({"cache.entries": 16})
        for number in range(64):
            path = self.origin.say(f"/{number}", Resource(b"%d" % number, DAY))
            self.assertEqual(self.filled(server, path).body, b"%d" % number)
        for number in range(64):
            self.assertEqual(self.filled(server, f"/{number}").body, b"%d" % number)
        self.assertGreaterEqual(self.origin.count(), 64 + 48)


class Operators(LiveCase):
    def purge(self, server, body, **more):
        return server.ask_admin("POST", "/admin/purge", body, **more)

    def test_who_may(self):
        server = self.live()
        wrong = (server.scoped("storage:admin", "gateway:admin", "index:admin"),)
        right = (server.scoped("edge:admin"),)
        everything = {"all": True}
        self.refused(self.purge(server, everything, auth=()), 401, "Unauthorized")
        self.refused(self.purge(server, everything, auth=wrong), 403, "Forbidden")
        self.assertEqual(self.purge(server, everything, auth=right).status, 200)
        self.refused(server.ask_admin("GET", "/admin/cache", auth=()), 401, "Unauthorized")
        self.refused(server.ask_admin("GET", "/admin/cache", auth=wrong), 403, "Forbidden")
        self.assertEqual(server.ask_admin("GET", "/admin/cache", auth=right).status, 200)
        # Not where clients are.
        self.assertEqual(server.ask("POST", "/admin/purge", everything).status, 404)
        self.assertEqual(server.ask("GET", "/admin/cache").status, 404)

    def test_purge(self):
        server = self.live()
        for path in ("/a/1", "/a/2", "/b/1", "/bc"):
            self.origin.say(path, Resource(path.encode(), DAY))
            self.filled(server, path, cache="miss")
            self.filled(server, path, cache="hit")
        purged = self.purge(server, {"url": self.origin.url("/a/1")})
        self.assertEqual((purged.status, purged.json()["purged"]), (200, 1), purged.body)
        self.filled(server, "/a/1", cache="miss")
        self.filled(server, "/a/2", cache="hit")
        self.assertEqual(self.purge(server, {"prefix": self.origin.url("/a/")}).json()["purged"], 2)
        self.filled(server, "/a/1", cache="miss")
        self.filled(server, "/a/2", cache="miss")
        self.filled(server, "/b/1", cache="hit")
        # Whole hosts and segments.
        part = self.origin.url("")[:-1]
        self.assertEqual(self.purge(server, {"prefix": part}).json()["purged"], 0, part)
        self.assertEqual(self.purge(server, {"prefix": self.origin.url("/b")}).json()["purged"], 1)
        self.filled(server, "/b/1", cache="miss")
        self.assertEqual(self.purge(server, {"all": True}).json()["purged"], 4)
        for path in ("/a/1", "/a/2", "/b/1", "/bc"):
            self.filled(server, path, cache="miss")
        self.assertEqual(self.purge(server, {"url": self.origin.url("/none")}).json()["purged"], 0)
        server.wait_log("purged")

    def test_a_purge_covers_every_spelling_and_variant(self):
        server = self.live()
        self.origin.say("/a", lambda peer, request: Answer(
            b"x", DAY, 'ETag: "1"', "Vary: Accept-Language")(peer, request))
        spellings = ("/a", "/%61", "/a?", "/%61?")
        for purged in spellings:
            for spelling in spellings:
                for language in ("de", "fr"):
                    self.filled(server, spelling, [("Accept-Language", language)])
            answer = self.purge(server, {"url": self.origin.url(purged)})
            self.assertEqual(answer.json()["purged"], 2, purged)
            self.assertEqual(server.ask_admin("GET", "/admin/cache").json()["entries"], 0)
            for spelling in spellings:
                self.refused(server.asset(self.origin, spelling, [
                    ("Cache-Control", "only-if-cached")]), 504, "Timeout")
        # A prefix is about what is there, whatever a prefix of edge.allow covers.
        for path in ("/p/..;/x", "/p/%2541"):
            self.origin.say(path, Resource(b"x", DAY))
            self.filled(server, path, cache="miss")
        self.assertEqual(self.purge(server, {"prefix": self.origin.url("/p")}).json()["purged"], 2)

    def test_what_was_purged_does_not_come_back(self):
        server = self.live()
        self.origin.say("/a", Resource(b"one", DAY))
        self.filled(server, "/a", cache="miss")
        self.assertEqual(self.purge(server, {"url": self.origin.url("/a")}).status, 200)
        server = self.restart(server, sets=self.live_sets())
        self.origin.kill()
        self.assertEqual(server.asset(self.origin, "/a").status, 502)

    def test_malformed_purges(self):
        server = self.live()
        for body in (b"", b"{", {}, [], {"url": 1}, {"what": "x"}, {"url": "nonsense"},
                     {"prefix": "localhost"}, {"prefix": self.origin.url("/a?b")}):
            self.refused(self.purge(server, body), 400, "Malformed")

    def test_the_cache_as_operators_see_it(self):
        server = self.live()
        empty = server.ask_admin("GET", "/admin/cache").json()
        for number in range(5):
            path = self.origin.say(f"/{number}", Resource(noise(10_000, number), DAY))
            self.filled(server, path)
        full = server.ask_admin("GET", "/admin/cache").json()
        self.assertEqual((empty["entries"], full["entries"]), (0, 5))
        self.assertGreaterEqual(full["bytes"], 50_000)
        self.assertLess(full["bytes"], 200_000)

    def test_every_fill_is_audited(self):
        server = self.live({"fill.max_tries": 1})
        self.origin.say("/good", Resource(b"good", DAY))
        self.origin.say("/bad", Answer(b"", status="500 Internal Server Error"))
        for path, message in (("/good", "filled"), ("/bad", "fill failed")):
            response = server.asset(self.origin, path)
            line = server.wait_log(message, subject=self.origin.url(path))
            self.assertEqual(line["corr_id"], response.get("X-Corr-ID"))
        server.asset(self.new_origin(), "/x")
        server.wait_log("fill refused")


class Allowed(LiveCase):
    def check(self, server, target, allowed):
        """`target` is what follows /edge/assets/."""
        before = self.origin.count()
        response = server.fetch("/edge/assets/" + target)
        if allowed:
            self.assertEqual(response.status, 200, (target, response.body))
        else:
            self.assertIn((response.status, response.code), (
                (400, "Malformed"), (403, "NotAllowed"), (404, "NotFound")), target)
            self.assertEqual(self.origin.count(), before, target)

    def test_hosts_and_prefixes(self):
        port = self.origin.port
        server = self.start({**self.live_sets(), "allow": json.dumps([
            f"localhost:{port}/pub", f"LOCALHOST:{port}/Case/"])})
        for path in ("/pub", "/pub/a", "/pub/a/b", "/Case/x", "/public", "/priv", "/case/x",
                     "/pub/../priv", "/pub/%2e%2e/priv", "/pub/a%2f..%2f..%2fpriv"):
            self.origin.say(path, Resource(b"x", DAY))
        here = f"localhost:{port}"
        for path in ("/pub", "/pub/a", "/pub/a/b", "/Case/x"):
            self.check(server, here + path, True)
        self.check(server, f"LocalHost:{port}/pub/a", True)
        for path in ("/public", "/priv", "/case/x", "/", "", "/pub/../priv", "/pub/%2e%2e/priv"):
            self.check(server, here + path, False)
        for other in (f"127.0.0.1:{port}/pub/a", "localhost/pub/a", f"localhost:{port + 1}/pub/a",
                      f"localhost.:{port}/pub/a", f"user@localhost:{port}/pub/a",
                      f"[::1]:{port}/pub/a", f"2130706433:{port}/pub/a", f"%6cocalhost:{port}/pub",
                      f"localhost:{port}@evil/pub/a", f"evil#localhost:{port}/pub", "evil/pub"):
            self.check(server, other, False)

    def test_paths_that_servers_read_in_different_ways(self):
        port = self.origin.port
        server = self.start({**self.live_sets(), "allow": json.dumps([f"localhost:{port}/pub"])})
        ways = ("/..;/priv", "/..;x/priv", "/a;/b", "/;/priv", "/%3b/priv", "/..%3B/priv",
                "/%252e%252e/priv", "/%25252e%25252e/priv", "/..%252fpriv", "/..%255cpriv",
                "/%25u002e%25u002e/priv", "/%c0%ae%c0%ae/priv", "/..%20/priv", "/.../priv",
                "/..%2fpriv", "/..%5cpriv", "/..\\priv", "/%2e%2e/priv", "/../priv", "//priv")
        for way in ways:
            self.check(server, f"localhost:{port}/pub{way}", False)
        # Neither is it followed there.
        for number, way in enumerate(ways[:8]):
            path = self.origin.say(f"/pub/{number}", origin.redirect("/pub" + way))
            self.refused(server.asset(self.origin, path), 403, "NotAllowed")
        for way in ("/a..b", "/100%25", "/%C3%A4?x=..;/%252e"):
            self.origin.say(("/pub" + way).partition("?")[0], Resource(b"x", DAY))
            self.check(server, f"localhost:{port}/pub{way}", True)
        # Where all of a host is allowed nothing is left to find.
        server = self.restart(server, sets=self.live_sets())
        for way in ("/..;/priv", "/%252e%252e/priv", "/a;b=1"):
            self.origin.say("/pub" + way, Resource(b"x", DAY))
            self.check(server, f"localhost:{port}/pub{way}", True)

    def test_refusals_are_counted_and_name_the_host(self):
        server = self.live()
        self.moves(server, "edge_rejects_total", 1, lambda: self.refused(
            server.fetch("/edge/assets/other.example/x"), 403, "NotAllowed"), reason="not_allowed")

    def test_nothing_is_filled_offline(self):
        server = self.start({**self.live_sets(), "mode": "offline"})
        self.origin.say("/a", Resource(b"one", DAY))
        self.moves(server, "edge_rejects_total", 1, lambda: self.refused(
            server.asset(self.origin, "/a"), 403, "NotAllowed"), reason="not_allowed")
        self.assertEqual(self.origin.count(), 0)

    def test_offline_has_what_it_had(self):
        server = self.live()
        self.origin.say("/a", Resource(b"one", DAY))
        self.filled(server, "/a", cache="miss")
        server = self.restart(server, sets={**self.live_sets(), "mode": "offline"})
        self.assertEqual(self.filled(server, "/a", cache="hit").body, b"one")
        self.assertEqual(self.origin.count(), 1)

    def test_loopback_is_refused_unless_it_is_allowed(self):
        server = self.live({"egress.allow_private": "false"})
        self.origin.say("/a", Resource(b"one", DAY))
        self.moves(server, "edge_rejects_total", 1, lambda: self.refused(
            server.asset(self.origin, "/a"), 403, "NotAllowed"), reason="not_allowed")
        self.assertEqual(self.origin.connections, 0)

    def test_the_list_follows_a_reload(self):
        lines = {**self.live_sets(), "bind": "127.0.0.1:0", "admin": "127.0.0.1:0"}

        def text(**more):
            return "".join(f"edge.{key} = {self.toml(value)}\n"
                           for key, value in {**lines, **more}.items())

        self.origin.say("/a", Resource(b"one", DAY))
        server = self.start(config=text(allow="[]"))
        self.refused(server.asset(self.origin, "/a"), 403, "NotAllowed")
        server.reload(text())
        self.filled(server, "/a", cache="miss")
        server.reload(text(allow="[]"))
        self.refused(server.asset(self.origin, "/a?other"), 403, "NotAllowed")

    @staticmethod
    def toml(value):
        text = str(value)
        return text if text in ("true", "false") or text.startswith("[") else json.dumps(text)


class Deadlines(LiveCase):
    def test_what_the_client_gives_it(self):
        server = self.live({"fill.timeout": "20s"})
        self.origin.say("/hung", origin.hung)
        for name, say in (("Request-Timeout", lambda s: str(s)),
                          ("Deadline", lambda s: f"{time.time() + s:.3f}"),
                          ("Deadline", lambda s: time.strftime(
                              "%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + s + 1)))):
            with self.subTest(name):
                began = time.monotonic()
                self.refused(server.asset(self.origin, "/hung", [(name, say(1))]), 504, "Timeout")
                took = time.monotonic() - began
                self.assertGreater(took, 0.9)
                self.assertLess(took, 2 + 2 * ron.SLOW)

    def test_who_leaves_takes_nothing_from_others(self):
        server = self.live()
        self.origin.say("/slow", origin.after(1, Resource(b"slow", DAY)))
        leaving = server.ask_for(asset_path(self.origin, "/slow"))
        ron.wait_until("it is asked for", lambda: self.origin.count("/slow"))
        staying = server.ask_for(asset_path(self.origin, "/slow"))
        self.addCleanup(staying.close)
        server.wait_metric("edge_loads_joined_total", 1)
        leaving.close()
        self.assertEqual(staying.read_response().body, b"slow")
        self.assertEqual(self.origin.count("/slow"), 1)


class Amnesia(LiveCase):
    def test_a_fill_is_refused_where_nothing_may_be_kept(self):
        """What does not fit into memory has no place to go."""
        with edge.Server(sets={f"edge.{key}": value for key, value in {
                **self.live_sets(), "cache.ram_bytes": "1MiB"}.items()}) as server:
            self.origin.say("/small", Resource(b"x", DAY))
            self.origin.say("/large", Resource(noise(4 * MIB), DAY))
            self.assertEqual(server.asset(self.origin, "/small").status, 200)
            self.moves(server, "edge_rejects_total", 1, lambda: self.refused(
                server.asset(self.origin, "/large"), 503, "Amnesia"), reason="amnesia")

    def test_it_is_forgotten(self):
        self.origin.say("/a", Resource(b"x", DAY))
        for number in (1, 2):
            with edge.Server(sets={f"edge.{key}": value
                                   for key, value in self.live_sets().items()}) as server:
                for cache in ("miss", "hit"):
                    self.filled(server, "/a", cache=cache)
            self.assertEqual(self.origin.count("/a"), number)


class AmnesiaTraced(LiveCase, traced.Case):
    def setUp(self):
        traced.Case.setUp(self)
        LiveCase.setUp(self)

    def test_only_the_token_is_written(self):
        with edge.Server(sets={f"edge.{key}": value for key, value in self.live_sets().items()},
                         binary=str(self.binary),
                         env={"TMPDIR": str(self.trace.parent)}) as server:
            for size in (10, 100_000, 3 * MIB):
                path = self.origin.say(f"/{size}", Resource(noise(size), DAY, etag=f'"{size}"'))
                for _ in range(2):
                    self.assertTrue(server.asset(self.origin, path).body == noise(size))
            self.only_the_token(server)


FLAGS = [each for each in sys.argv if each == "--long"]

if __name__ == "__main__":
    sys.argv = [each for each in sys.argv if each not in FLAGS]
    unittest.main()
