"""Names: set, compared, read, listed, removed; whose they are, and all that is wrong with those
that are refused."""

import json
import random
import tempfile
import time
import unittest
import urllib.parse

import cbor
import index
import ron
from index import ACCEPT_CBOR, Case, address_of, path_of

UNICODE = "docs/größe/文档/emoji 🎈/a b+c%d"


class Fresh(Case):
    """An index in memory for each test."""

    def setUp(self):
        super().setUp()
        self.server = index.Server()
        self.addCleanup(self.server.close)

    def skews(self, response, version, target=None):
        details = self.refused(response, 409, "VersionSkew")
        self.assertEqual(details.get("version"), str(version))
        self.assertEqual(details.get("target"), target)


class Set(Fresh):
    def test_first_and_next_versions(self):
        one, two = address_of(1), address_of(2)
        response = self.server.put_name("docs/v1", one, type="text/plain", meta={"by": "me"})
        self.assertEqual(response.status, 201)
        self.assertEqual(response.get("Location"), "/names/docs/v1")
        body = response.json()
        self.assertAlmostEqual(time.mktime(time.strptime(body.pop("at"), "%Y-%m-%dT%H:%M:%SZ")),
                               time.mktime(time.gmtime()), delta=5)
        self.assertEqual(body, {"name": "docs/v1", "target": one, "version": 1,
                                "type": "text/plain", "meta": {"by": "me"}})
        response = self.server.put_name("docs/v1", two)
        self.assertEqual((response.status, response.get("Location")), (200, None))
        self.assertEqual(response.json()["version"], 2)
        current = self.server.name("docs/v1").json()
        self.assertEqual((current["target"], current["version"]), (two, 2))
        self.assertNotIn("type", current)  # a version says all of it, nothing is inherited
        self.assertNotIn("meta", current)

    def test_repeat_is_idempotent(self):
        one = address_of(1)
        first = self.server.put_name("docs", one, type="text/plain", meta={"a": "b"})
        again = self.moves(self.server, "index_name_versions_total", 0,
                           lambda: self.server.put_name("docs", one, type="text/plain",
                                                        meta={"a": "b"}))
        self.assertEqual((again.status, again.json()), (200, first.json()))
        for change in ({"type": "text/html", "meta": {"a": "b"}}, {"type": "text/html"},
                       {"type": "text/html", "meta": {"a": "c"}}):
            before = self.server.name("docs").json()["version"]
            self.assertEqual(self.server.set_name("docs", one, **change), before + 1, change)

    def test_target_in_any_case_is_one(self):
        upper = "b3:" + address_of(1)[3:].upper()
        self.assertEqual(self.server.put_name("docs", upper).json()["target"], address_of(1))
        self.assertEqual(self.server.put_name("docs", address_of(1)).json()["version"], 1)

    def test_compare_and_set(self):
        one, two, three = map(address_of, (1, 2, 3))
        self.skews(self.server.put_name("docs", one, expected_version=1), 0)
        self.assertEqual(self.server.put_name("docs", one, expected_version=0).status, 201)
        self.skews(self.server.put_name("docs", two, expected_version=0), 1, one)
        self.skews(self.server.put_name("docs", two, expected_version=2), 1, one)
        self.assertEqual(self.server.put_name("docs", two, expected_version=1).status, 200)
        # The right to say the same again was compared, too: it is a version of its own.
        self.assertEqual(self.server.put_name("docs", two, expected_version=2).json()["version"], 3)
        failed = self.moves(self.server, "index_cas_fail_total", 1,
                            lambda: self.server.put_name("docs", three, expected_version=2))
        self.skews(failed, 3, two)
        self.assertEqual(self.server.name("docs").json()["target"], two)

    def test_compare_and_remove(self):
        one, two = map(address_of, (1, 2))
        self.server.set_name("docs", one)
        self.skews(self.server.remove("docs", "?expected_version=2"), 1, one)
        self.assertEqual(self.server.remove("docs", "?expected_version=1").status, 200)
        # It is not there, and it is at version 2: both may be expected.
        self.skews(self.server.put_name("docs", two, expected_version=1), 2)
        again = self.server.put_name("docs", two, expected_version=0)
        self.assertEqual((again.status, again.json()["version"]), (201, 3))
        self.assertEqual(again.get("Location"), "/names/docs")
        self.server.remove("docs")
        again = self.server.put_name("docs", one, expected_version=4)
        self.assertEqual((again.status, again.json()["version"]), (201, 5))

    def version(self, name, connection):
        return self.server.name(name, connection=connection).json()["version"]

    def test_of_many_who_compare_one_wins(self):
        """Each round of 8 clients has one winner, and the versions have no gap."""
        rounds, wins = 40, []
        self.server.set_name("docs", address_of("start"))

        def work(worker):
            with self.server.connect() as connection:
                for version in range(1, rounds + 1):
                    response = self.server.put_name("docs", address_of((worker, version)),
                                                    expected_version=version, connection=connection)
                    if response.status == 200:
                        wins.append((version + 1, address_of((worker, version))))
                    else:
                        self.refused(response, 409, "VersionSkew")
                    while self.version("docs", connection) <= version:
                        pass
            return False

        self.assertEqual(ron.Load(8, work).join(), [])
        self.assertEqual(sorted(number for number, _ in wins), list(range(2, rounds + 2)))
        history = self.server.name("docs", "?history=1&limit=1000").json()["versions"]
        self.assertEqual({each["version"]: each["target"] for each in history},
                         {1: address_of("start"), **dict(wins)})


class Removed(Fresh):
    def test_tombstone_is_a_version(self):
        one = address_of(1)
        self.server.set_name("docs", one, type="text/plain")
        response = self.server.remove("docs")
        self.assertEqual(response.status, 200)
        body = response.json()
        self.assertEqual((body["name"], body["version"], body["target"], body["deleted"]),
                         ("docs", 2, None, True))
        self.assertEqual(self.refused(self.server.name("docs"), 404, "NotFound"), {"version": "2"})
        self.refused(self.server.resolve("docs"), 404, "NotFound")
        self.assertEqual(self.server.name("docs@1").json()["target"], one)
        self.assertEqual(self.server.resolved("docs@1")["address"], one)
        grave = self.server.name("docs@2").json()
        self.assertEqual((grave["target"], grave["deleted"]), (None, True))
        self.refused(self.server.resolve("docs@2"), 404, "NotFound")
        history = self.server.name("docs", "?history=1").json()["versions"]
        self.assertEqual([each["version"] for each in history], [2, 1])

    def test_what_is_not_there(self):
        self.refused(self.server.remove("docs"), 404, "NotFound")
        self.server.set_name("docs", address_of(1))
        self.server.remove("docs")
        self.refused(self.moves(self.server, "index_name_versions_total", 0,
                                lambda: self.server.remove("docs")), 404, "NotFound")
        self.refused(self.server.remove("docs@1"), 400, "Malformed")  # versions stay
        for query in ("?expected_version=x", "?expected_version=-1",
                      "?expected_version=1&expected_version=1"):
            self.refused(self.server.remove("docs", query), 400, "Malformed")


class Read(Fresh):
    def test_versions(self):
        for number in range(1, 6):
            self.server.set_name("docs/v", address_of(number))
        for number in range(1, 6):
            response = self.server.name(f"docs/v@{number}")
            self.assertEqual(response.json()["target"], address_of(number))
            self.assertIn("immutable", response.get("Cache-Control"))
            resolved = self.server.resolved(f"docs/v@{number}")
            self.assertEqual((resolved["key"], resolved["address"], resolved["version"]),
                             (f"docs/v@{number}", address_of(number), number))
        self.assertEqual(self.server.name("docs/v").get("Cache-Control"), "no-cache")
        for absent in ("docs/v@6", "docs/v@18446744073709551615", "docs@1", "docs/v/x@1"):
            self.refused(self.server.name(absent), 404, "NotFound")
            self.refused(self.server.resolve(absent), 404, "NotFound")
        for bad in ("docs/v@0", "docs/v@01", "docs/v@18446744073709551616"):
            self.refused(self.server.name(bad), 400, "Malformed")
            self.refused(self.server.resolve(bad), 400, "Malformed")

    def test_tags(self):
        self.server.set_name("docs", address_of(1))
        self.server.set_name("docs", address_of(2))
        tags = set()
        for path in ("/names/docs", "/names/docs@1", "/names/docs@2"):
            for accept in ((), (ACCEPT_CBOR,)):
                with self.subTest(path, accept=accept):
                    first = self.server.ask("GET", path, headers=accept, auth=())
                    tag = first.get("ETag")
                    self.assertRegex(tag or "", r'^"[^"]+"$')
                    tags.add(tag)
                    for condition in (tag, f'"x", {tag}', "*", "W/" + tag):
                        again = self.server.ask("GET", path, auth=(), headers=[
                            ("If-None-Match", condition), *accept])
                        self.assertEqual((again.status, again.body), (304, b""), condition)
                        self.assertEqual(again.get("ETag"), tag)
                    other = self.server.ask("GET", path, auth=(), headers=[
                        ("If-None-Match", '"other"'), *accept])
                    self.assertEqual((other.status, other.body), (200, first.body))
        self.assertGreaterEqual(len(tags), 4)  # each version and each representation has its own
        before = self.server.name("docs").get("ETag")
        self.server.set_name("docs", address_of(3))
        after = self.server.ask("GET", "/names/docs", headers=[("If-None-Match", before)], auth=())
        self.assertEqual((after.status, after.json()["version"]), (200, 3))

    def test_cbor_says_the_same(self):
        self.server.set_name(UNICODE, address_of(1), type="text/plain", meta={"ü": "🎈"})
        for path in (path_of(UNICODE), path_of(UNICODE) + "?history=1", "/names"):
            as_json = self.server.ask("GET", path, auth=())
            as_cbor = self.server.ask("GET", path, headers=[ACCEPT_CBOR], auth=())
            self.assertEqual(as_cbor.get("Content-Type"), "application/cbor")
            self.assertEqual(cbor.decode(as_cbor.body), as_json.json())
            self.assertEqual(cbor.encode(cbor.decode(as_cbor.body)), as_cbor.body)

    def test_head(self):
        self.server.set_name("docs", address_of(1))
        whole, head = self.server.name("docs"), self.server.ask("HEAD", "/names/docs", auth=())
        self.assertEqual((head.status, head.get("ETag"), head.get("Content-Length")),
                         (200, whole.get("ETag"), whole.get("Content-Length")))
        self.assertEqual(self.server.ask("HEAD", "/names/none", auth=()).status, 404)

    def test_history_in_pages(self):
        targets = []
        for number in range(1, 26):
            if number % 5 == 0:
                self.server.remove("docs/h")
                targets.append(None)
            else:
                self.server.set_name("docs/h", address_of(number))
                targets.append(address_of(number))
        found, query, pages = [], "?history=1&limit=7", 0
        while True:
            page = self.server.name("docs/h", query).json()
            self.assertEqual(page["name"], "docs/h")
            found += page["versions"]
            pages += 1
            if page["next"] is None:
                break
            query = f"?history=1&limit=7&before={page['next']}"
        self.assertEqual(pages, 4)
        self.assertEqual([each["version"] for each in found], list(range(25, 0, -1)))
        self.assertEqual([each["target"] for each in found], targets[::-1])
        whole = self.server.name("docs/h", "?history=1").json()
        self.assertEqual((whole["versions"], whole["next"]), (found, None))
        self.assertEqual(self.server.name("docs/h", "?history=1&before=1").json()["versions"], [])
        page = self.server.name("docs/h", "?history=1&limit=25").json()
        self.assertEqual((len(page["versions"]), page["next"]), (25, None))
        self.refused(self.server.name("docs/none", "?history=1"), 404, "NotFound")
        for query in ("history=x", "history=1&limit=x", "history=1&before=-1",
                      "history=1&history=1", "history=1&limit="):
            self.refused(self.server.name("docs/h", "?" + query), 400, "Malformed")


class Encoded(Fresh):
    def test_unicode(self):
        response = self.server.put_name(UNICODE, address_of(1))
        self.assertEqual((response.status, response.json()["name"]), (201, UNICODE))
        location = response.get("Location")
        self.assertEqual(location, path_of(UNICODE))
        self.assertEqual(self.server.ask("GET", location, auth=()).json()["name"], UNICODE)
        self.assertEqual(self.server.resolved(UNICODE)["key"], UNICODE)
        self.assertEqual(self.server.resolved(UNICODE + "@1")["version"], 1)
        self.assertEqual(self.server.listed()[0], [UNICODE])

    def test_one_name_however_it_is_written(self):
        self.server.set_name("docs/a~b/c-d", address_of(1))
        for path in ("/names/docs/a~b/c-d", "/names/docs/a%7Eb/c%2Dd", "/names/docs/a%7eb/c%2dd",
                     "/names/%64ocs/a~b/c-d", "/names/docs%2Fa~b%2fc-d"):
            with self.subTest(path):
                response = self.server.ask("GET", path, auth=())
                self.assertIn(response.status, (200, 400), response.body)
                if "%2F" not in path:
                    self.assertEqual(response.json()["name"], "docs/a~b/c-d")
                    self.assertEqual(self.server.ask("GET", path.replace("/names/", "/resolve/"),
                                                     auth=()).json()["key"], "docs/a~b/c-d")

    def test_names_like_others(self):
        """An '@' without digits behind it is a letter like any other; a name may look like a
        query, a route or an address."""
        names = ["docs/@", "docs/me@home", "docs/a@1b", "docs/a@1/b", "docs/?history=1", "docs/#x",
                 "docs/names", "resolve", "names", "b3", "docs/b3:" + "0" * 64, "docs/%41",
                 "docs/+", "docs/...", "docs/..a", "docs/.hidden", "docs/a..", "0", "a-_.z",
                 "docs/ ",
                 "docs/" + "x" * 1019, "n" * 63]
        for number, name in enumerate(names):
            with self.subTest(name):
                self.assertEqual(self.server.set_name(name, address_of(number)), 1)
                self.assertEqual(self.server.name(name).json()["target"], address_of(number))
                self.assertEqual(self.server.resolved(name)["address"], address_of(number))
        self.assertEqual(self.server.listed("limit=1000")[0],
                         sorted(names, key=lambda name: name.encode()))


class Malformed(Fresh):
    def test_names(self):
        bad = ["Docs", "-docs", ".docs", "_docs", "d" * 64, "do cs", "döcs", "docs:", "docs/",
               "docs//a", "docs/a//b", "docs/a/", "docs/a@1", "docs/a@007", "docs/\u0001",
               "docs/\u007f",
               "docs/a\u0085b", "docs/a\nb", "docs/a\\b", "docs/" + "x" * 1020,
               "docs/" + "ü" * 510, "docs@1", "@1", "docs/a@18446744073709551616"]
        for name in bad:
            with self.subTest(name):
                self.refused(self.server.put_name(name, address_of(1)), 400, "Malformed")
                self.refused(self.server.remove(name), 400, "Malformed")

    def test_paths(self):
        body = json.dumps({"target": address_of(1)}).encode()
        for path in ("docs/%FF", "docs/%C0%AF", "docs/%ED%A0%80", "docs/%F4%90%80%80", "docs/%C3",
                     "docs/a%00b", "docs/%", "docs/%4", "docs/%GG", "docs/%2e%2e/x", "docs/%2e",
                     "docs/../x", "docs/./x", "%2F", "docs/a%0ab", "docs/a%5Cb"):
            for method in ("PUT", "GET", "DELETE"):
                with self.subTest(path, method=method):
                    response = self.server.ask(method, "/names/" + path,
                                               body if method == "PUT" else None)
                    self.assertEqual(response.status, 400, (response.status, response.body))
                    self.assertIn(response.code, ("Malformed", "BadAddress"))
        self.assertEqual(self.server.listed(), ([], [], None))

    def test_bodies(self):
        good = {"target": address_of(1)}
        cases = [
            (b"", 400, "Malformed"), (b"{", 400, "Malformed"), (b"[]", 400, "Malformed"),
            (b"null", 400, "Malformed"), (b"{}", 400, "Malformed"), (b'"x"', 400, "Malformed"),
            ({**good, "extra": 1}, 400, "Malformed"), ({**good, "Type": "x/y"}, 400, "Malformed"),
            ({"target": 5}, 400, "Malformed"), ({"target": None}, 400, "Malformed"),
            ({"target": ""}, 400, "Malformed"), ({"target": "b3:12"}, 400, "BadAddress"),
            ({"target": "sha256:" + "0" * 64}, 400, None),
            ({"target": "b3:" + "g" * 64}, 400, "BadAddress"),
            ({"target": address_of(1) + "0"}, 400, None),
            ({"target": address_of(1)[3:]}, 400, "BadAddress"),
            ({**good, "expected_version": -1}, 400, "Malformed"),
            ({**good, "expected_version": 1.5}, 400, "Malformed"),
            ({**good, "expected_version": "1"}, 400, "Malformed"),
            ({**good, "expected_version": 2 ** 64}, 400, "Malformed"),
            ({**good, "type": ""}, 400, "Malformed"), ({**good, "type": "text"}, 400, "Malformed"),
            ({**good, "type": "text/"}, 400, "Malformed"),
            ({**good, "type": "/x"}, 400, "Malformed"),
            ({**good, "type": "text/pl ain"}, 400, "Malformed"),
            ({**good, "type": "text/plain\r\nX: y"}, 400, "Malformed"),
            ({**good, "type": 1}, 400, "Malformed"),
            ({**good, "type": "x/" + "y" * 300}, 400, "Malformed"),
            ({**good, "meta": []}, 400, "Malformed"),
            ({**good, "meta": {"a": 1}}, 400, "Malformed"),
            ({**good, "meta": {"a": None}}, 400, "Malformed"),
            ({**good, "meta": {"": "a"}}, 400, "Malformed"),
            ({**good, "meta": {"a": {"b": "c"}}}, 400, "Malformed"),
            ({**good, "meta": {"a": "x" * 2048}}, 400, "Malformed"),
            (b'{"target":"%s","target":"%s"}' % (address_of(1).encode(), address_of(2).encode()),
             400, "Malformed"),
            (b'{"target":"%s"} x' % address_of(1).encode(), 400, "Malformed"),
            (b'{"target":"\xff"}', 400, "Malformed"),
            (b"{" + b" " * (1 << 20) + b"}", 413, "BodyCap"),
            (b"[" * 5000, 400, "Malformed"),
        ]
        for number, (body, status, code) in enumerate(cases):
            with self.subTest(f"{number}: {str(body)[:40]} {str(body)[-60:]}"):
                response = self.server.ask("PUT", "/names/docs", body)
                self.refused(response, status, code or response.code)
        self.refused(self.server.name("docs"), 404, "NotFound")
        most = self.server.put_name("docs", address_of(1), meta={"a": "x" * 2047})
        self.assertEqual(most.status, 201)
        other = self.server.put_name("docs", address_of(1), type="text/plain; charset=utf-8",
                                     meta={})
        self.assertEqual(other.status, 200)

    def test_body_in_cbor_and_in_neither(self):
        body = cbor.encode({"target": address_of(1), "meta": {"ü": "x"}, "expected_version": 0})
        as_cbor = ("Content-Type", "application/cbor")
        response = self.server.ask("PUT", "/names/docs", body, headers=[as_cbor])
        self.assertEqual((response.status, response.json()["meta"]), (201, {"ü": "x"}))
        self.refused(self.server.ask("PUT", "/names/docs", b"\xa1", headers=[as_cbor]), 400,
                     "Malformed")
        self.refused(self.server.ask("PUT", "/names/docs", b"<x/>", headers=[
            ("Content-Type", "application/xml")]), 415, "UnsupportedMedia")

    def test_methods(self):
        for path in ("/names", "/names/docs", "/resolve/docs", "/providers/" + address_of(1)):
            self.refused(self.server.ask("POST", path, b"{}"), 405, "MethodNotAllowed")
        self.refused(self.server.ask("PUT", "/resolve/docs", b"{}"), 405, "MethodNotAllowed")


class Listed(Fresh):
    def fill(self, names):
        with self.server.connect() as connection:
            for name in names:
                self.assertEqual(self.server.put_name(name, address_of(name),
                                                      connection=connection).status, 201)

    def walk(self, query, limit):
        """All pages: (names, prefixes); each page is within its limit, in order, nothing twice."""
        names, prefixes, after = [], [], None
        for _ in range(10000):
            more = "" if after is None else "&after=" + urllib.parse.quote(after, safe="")
            page, common, after = self.server.listed(f"{query}&limit={limit}{more}")
            self.assertLessEqual(len(page) + len(common), limit)
            names += page
            prefixes += common
            if after is None:
                return names, prefixes
        raise AssertionError("it never ends")

    @staticmethod
    def expected(all_names, prefix, delimiter):
        names, prefixes = [], []
        for name in sorted(all_names, key=lambda each: each.encode()):
            if not name.startswith(prefix):
                continue
            cut = name.find(delimiter, len(prefix)) if delimiter else -1
            if cut < 0:
                names.append(name)
            elif name[:cut + len(delimiter)] not in prefixes:
                prefixes.append(name[:cut + len(delimiter)])
        return names, prefixes

    def test_against_a_model(self):
        dice = random.Random(5)
        parts = ["a", "b", "ab", "ba", "ü", "文", "a b", "z", "🎈", "a@b", "%"]
        names = {"/".join([dice.choice(["ns", "nt", "n"])] +
                          [dice.choice(parts) for _ in range(dice.randrange(4))])
                 for _ in range(150)}
        self.fill(sorted(names, key=lambda _: dice.random()))
        gone = set(dice.sample(sorted(names), len(names) // 3))
        for name in gone:
            self.assertEqual(self.server.remove(name).status, 200)
        alive = names - gone
        for prefix in ("", "n", "ns", "ns/", "ns/a", "ns/ü/", "nt/文", "none", "ns/a/b/"):
            for delimiter in ("", "/"):
                for limit in (1, 3, 1000):
                    with self.subTest(prefix=prefix, delimiter=delimiter, limit=limit):
                        query = urllib.parse.urlencode({"prefix": prefix, "delimiter": delimiter})
                        self.assertEqual(self.walk(query, limit),
                                         self.expected(alive, prefix, delimiter))

    def test_entries_are_the_current_versions(self):
        self.server.set_name("docs/a", address_of(1))
        self.server.set_name("docs/a", address_of(2), type="text/plain")
        entry, = self.server.get("/names?prefix=docs")["names"]
        self.assertEqual(entry, self.server.name("docs/a").json())

    def test_many_common_prefixes_and_many_removed(self):
        self.fill([f"docs/d{number:03}/x" for number in range(150)])
        names, prefixes, following = self.server.listed("prefix=docs/&delimiter=/&limit=1000")
        self.assertEqual((names, len(prefixes), following), ([], 150, None))
        with self.server.connect() as connection:
            for number in range(149):
                self.server.remove(f"docs/d{number:03}/x", connection=connection)
        self.assertEqual(self.walk("prefix=docs/", 2), (["docs/d149/x"], []))
        self.assertEqual(self.walk("prefix=docs/&delimiter=/", 2), ([], ["docs/d149/"]))

    def test_names_that_come_and_go_between_pages(self):
        self.fill([f"docs/{letter}" for letter in "abcdefgh"])
        page, _, after = self.server.listed("limit=3")
        self.assertEqual((page, after), (["docs/a", "docs/b", "docs/c"], "docs/c"))
        for name in ("docs/c", "docs/e"):
            self.server.remove(name)
        self.fill(["docs/bb", "docs/cc"])
        self.assertEqual(self.server.listed(f"limit=3&after={after}"),
                         (["docs/cc", "docs/d", "docs/f"], [], "docs/f"))
        self.assertEqual(self.server.listed("after=docs/zzz"), ([], [], None))
        self.assertEqual(self.server.listed("after=a&limit=1")[0], ["docs/a"])

    def test_limits_of_a_page(self):
        self.fill([f"docs/{number:04}" for number in range(1100)])
        self.assertEqual(len(self.server.listed()[0]), 100)
        self.assertEqual(len(self.server.listed("limit=1000")[0]), 1000)
        self.assertEqual(len(self.server.listed("limit=5000")[0]), 1000)
        self.assertEqual(len(self.walk("x=y", 1000)[0]), 1100)
        for query in ("limit=x", "limit=-1", "limit=1&limit=2", "prefix=a&prefix=b",
                      "prefix=" + "x" * 1025, "delimiter=/&delimiter=/", "prefix=%GG",
                      "delimiter=a", "delimiter=//"):
            with self.subTest(query[:40]):
                self.refused(self.server.ask("GET", "/names?" + query, auth=()), 400, "Malformed")


class Rights(Fresh):
    def test_scopes(self):
        wrong = self.server.scoped("storage:write", "registry:propose", "gateway:admin")
        right = self.server.scoped("index:write")
        for method, path, body in (("PUT", "/names/docs", {"target": address_of(1)}),
                                   ("DELETE", "/names/docs", None)):
            with self.subTest(method):
                self.refused(self.server.ask(method, path, body, auth=()), 401, "Unauthorized")
                self.refused(self.server.ask(method, path, body, auth=(
                    ("Authorization", "Bearer nonsense"),)), 401, "Unauthorized")
                self.refused(self.server.ask(method, path, body, auth=(wrong,)), 403, "Forbidden")
                self.assertIn(self.server.ask(method, path, body, auth=(right,)).status, (200, 201))

    def test_path_prefix(self):
        mine = self.server.may("scope = index:write", "path_prefix = /names/team/a")
        for name, status in (("team/a", 201), ("team/a/b", 201), ("team/a/ü", 201),
                             ("team/ab", 403), ("team", 403), ("team/b", 403),
                             ("docs/team/a", 403)):
            with self.subTest(name):
                response = self.server.put_name(name, address_of(1), auth=(mine,))
                self.assertEqual(response.status, status, response.body)
                if status == 403:
                    self.refused(response, 403, "Forbidden")
                    self.refused(self.server.remove(name, auth=(mine,)), 403, "Forbidden")
        for path in ("/names/team/a/%2e%2e/b", "/names/team%2Fb", "/names/team/%61/../b"):
            response = self.server.ask("PUT", path, {"target": address_of(1)}, auth=(mine,))
            self.assertIn((response.status, response.code),
                          ((400, "Malformed"), (403, "Forbidden")), path)
        self.assertEqual(self.server.listed()[0], ["team/a", "team/a/b", "team/a/ü"])
        self.assertEqual(self.server.remove("team/a/b", auth=(mine,)).status, 200)

    def test_other_caveats(self):
        for caveat in ("method = DELETE", "expires = 2020-01-01T00:00:00Z", "colour = blue"):
            with self.subTest(caveat):
                response = self.server.put_name("docs", address_of(1),
                                                auth=(self.server.may(caveat),))
                self.assertIn(response.status, (401, 403), response.body)
        self.assertEqual(self.server.listed()[0], [])

    def test_a_limit_holds_for_a_body_of_unknown_length(self):
        body = json.dumps({"target": address_of(1)}).encode()
        for limit, status in ((len(body) - 1, 403), (len(body), 201)):
            auth = self.server.may("scope = index:write", f"max_bytes = {limit}")
            with self.server.connect() as connection:
                connection.send(ron.request("PUT", "/names/limited", [
                    auth, ("Content-Type", "application/json"),
                    ("Transfer-Encoding", "chunked")]))
                connection.send(b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n")
                self.assertEqual(connection.read_response().status, status)

    def tenant(self, name, *scopes):
        scope = "scope = " + ",".join(scopes or ("index:write",))
        return (self.server.may(scope, "tenant = " + name),)

    def test_names_belong_to_tenants(self):
        blue, red = self.tenant("blue"), self.tenant("red")
        self.assertEqual(self.server.put_name("docs", address_of(1), auth=blue).status, 201)
        self.refused(self.server.put_name("docs", address_of(2), auth=red), 403, "Forbidden")
        # Not even by saying the same, and nobody is told what is there.
        self.refused(self.server.put_name("docs", address_of(1), auth=red), 403, "Forbidden")
        self.refused(self.server.put_name("docs", address_of(1), expected_version=7, auth=red), 403,
                     "Forbidden")
        self.refused(self.server.remove("docs", auth=red), 403, "Forbidden")
        again = self.server.put_name("docs", address_of(3), auth=blue)
        self.assertEqual(again.json()["version"], 2)
        # Reads are public.
        self.assertEqual(self.server.name("docs").json()["target"], address_of(3))
        # A removed name stays whose it was.
        self.assertEqual(self.server.remove("docs", auth=blue).status, 200)
        self.refused(self.server.put_name("docs", address_of(2), auth=red), 403, "Forbidden")
        self.assertEqual(self.server.put_name("docs", address_of(4), auth=blue).status, 201)

    def test_operators_may(self):
        blue, admin = self.tenant("blue"), self.tenant("ops", "index:admin")
        self.server.put_name("docs", address_of(1), auth=blue)
        self.assertEqual(self.server.put_name("docs", address_of(2), auth=admin).status, 200)
        self.assertEqual(self.server.remove("docs", auth=admin).status, 200)
        # It is still the tenant's.
        self.assertEqual(self.server.put_name("docs", address_of(3), auth=blue).status, 201)


class Quotas(Case):
    def test_names_of_a_tenant(self):
        server = self.start({"quotas.names_per_tenant": 3})
        blue = (server.may("scope = index:write", "tenant = blue"),)
        red = (server.may("scope = index:write", "tenant = red"),)
        admin = (server.may("scope = index:admin", "tenant = ops"),)
        for number in range(3):
            response = server.put_name(f"blue/{number}", address_of(1), auth=blue)
            self.assertEqual(response.status, 201)
        details = self.refused(server.put_name("blue/3", address_of(1), auth=blue), 429, "Quota")
        self.assertEqual(details, {"names": "3", "limit": "3"})
        # Another version is no other name.
        self.assertEqual(server.put_name("blue/0", address_of(2), auth=blue).status, 200)
        self.assertEqual(server.put_name("red/0", address_of(1), auth=red).status, 201)
        server.remove("blue/0", auth=blue)
        server.remove("blue/0", auth=blue)  # not there: counts once
        self.assertEqual(server.put_name("blue/3", address_of(1), auth=blue).status, 201)
        self.refused(server.put_name("blue/0", address_of(1), auth=blue), 429, "Quota")
        # What an operator removes is given back to whose it was.
        server.remove("blue/1", auth=admin)
        self.assertEqual(server.put_name("blue/0", address_of(1), auth=blue).status, 201)
        server = self.restart(server, sets={"quotas.names_per_tenant": 3})
        blue = (server.may("scope = index:write", "tenant = blue"),)
        self.refused(server.put_name("blue/9", address_of(1), auth=blue), 429, "Quota")
        server = self.restart(server, sets={"quotas.names_per_tenant": 4})
        blue = (server.may("scope = index:write", "tenant = blue"),)
        self.assertEqual(server.put_name("blue/9", address_of(1), auth=blue).status, 201)


if __name__ == "__main__":
    unittest.main()
