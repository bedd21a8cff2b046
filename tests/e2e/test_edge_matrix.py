"""Ranges and conditions of RFC 9110 on everything that svc-edge serves: a file of a site, a copy of
an origin's, a tile and a pack answer the same table in the same way. And the rules of RFC 9111 that
it claims (edge_rules.py). `--table` puts Varnish and nginx to them as well and prints what came of
it, for docs/edge.md; `--peers` holds the page to that. Without either they are left alone: what
another program does in some hurry is no verdict on this one.
"""

import concurrent.futures
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import unittest

import edge
import edge_peers
import edge_rules
import origin
import packs
import ron
import strict_run
from edge import LiveCase, asset_path
from matrix_model import GROUP, OTHER, answer, conditions, range_answer, ranges

SMALL, LARGE = 5000, 3 * GROUP + 17
EDGES = (0, 1, GROUP - 1, GROUP, GROUP + 1)
DESCRIBED = ("Accept-Ranges", "Cache-Control", "Vary", "Content-Type")
PEERS = (edge_peers.Varnish, edge_peers.Nginx)


class Everything(strict_run.RunsCases, LiveCase):
    """`ron up` with a site, an origin and a pack; each kind has something small and something
    large."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        noise = random.Random(8)
        bodies = {size: noise.randbytes(size) for size in (0, 1, SMALL, LARGE)}
        cls.where = tempfile.mkdtemp(prefix="ron-e2e-matrix-")
        cls.addClassCleanup(shutil.rmtree, cls.where, ignore_errors=True)
        home = pathlib.Path(cls.where)
        cls.there = origin.Origin(cls.authority, issued=cls.issued)
        cls.addClassCleanup(cls.there.close)
        (home / "site").mkdir()
        for size, body in bodies.items():
            (home / f"site/{size}.bin").write_bytes(body)
            cls.there.say(f"/{size}", origin.Resource(body, "Cache-Control: max-age=86400"))
        tiles = {(1, 0, 0): bodies[SMALL], (1, 1, 0): bodies[LARGE], (1, 0, 1): bodies[1]}
        pack = packs.pmtiles(tiles, compression=packs.NONE, type=packs.PNG)
        packs.write(home / "p.pmtiles", pack)
        sets = {"edge.mode": "live", "edge.egress.allow_private": "true",
                "edge.tls.ca_path": cls.authority.cert,
                "edge.allow": json.dumps([cls.there.authority]),
                "edge.sites": edge.rows({"name": "s", "target": "docs"}),
                "edge.packs": edge.rows({"name": "p", "path": home / "p.pmtiles"})}
        cls.server = edge.Server(cls.where + "/data", command="up", sets=sets)
        cls.addClassCleanup(cls.server.close)
        url = "http://%s:%d" % cls.server.address
        subprocess.run([ron.BINARY, "put", str(home / "site"), "--name", "docs", "--url", url,
                        "--token", str(cls.server.token_path)], check=True, capture_output=True,
                       timeout=ron.START_S)
        cls.things = {"site": {f"/edge/sites/s/{size}.bin": body
                               for size, body in bodies.items()},
                      "asset": {asset_path(cls.there, f"/{size}"): body
                                for size, body in bodies.items()},
                      "tile": {f"/edge/tiles/p/{z}/{x}/{y}.png": body
                               for (z, x, y), body in tiles.items()},
                      "pack": {"/edge/packs/p.pmtiles": pack}}
        for path in (each for kind in cls.things.values() for each in kind):
            ron.wait_until(path + " is served",
                           lambda path=path: cls.server.fetch(path).status == 200)

    def setUp(self):
        super().setUp()
        self.connection = self.server.connect()
        self.addCleanup(self.connection.close)

    def described(self, path, body):
        """(entity-tag, the fields that every answer has) of what is there."""
        whole = self.connection.ask("GET", path)
        self.assertEqual((whole.status, whole.body == body), (200, True), path)
        tag = whole.get("ETag")
        self.assertRegex(tag, r'^"[\x21\x23-\x7e]+"$')
        self.assertEqual(whole.get("Accept-Ranges"), "bytes", path)
        return tag, {name: whole.get(name) for name in DESCRIBED}

    def expect(self, method, path, fields, wanted):
        response = self.connection.ask(method, path, fields.items())
        wanted.head_only = method == "HEAD"
        self.check(response, wanted)
        self.assertFalse(response.closes)

    def each(self):
        for kind, things in self.things.items():
            for path, body in things.items():
                tag, described = self.described(path, body)
                yield kind, path, body, tag, described

    def test_ranges_at_every_boundary(self):
        for kind, path, body, _, described in self.each():
            for value in ranges(len(body), EDGES):
                with self.subTest(kind, size=len(body), range=value):
                    self.expect("GET", path, {"Range": value},
                                range_answer(value, body, described))

    def test_every_combination_of_conditions(self):
        for kind, path, body, tag, described in self.each():
            if len(body) < 2:
                continue
            for fields in conditions(tag, len(body)):
                for method in ("GET", "HEAD"):
                    with self.subTest(kind, method=method, fields=fields, size=len(body)):
                        self.expect(method, path, fields,
                                    answer(method, fields, tag, body, described))

    def test_head_equals_the_head_of_get(self):
        for kind, path, _, tag, _ in self.each():
            for fields in ((), (("If-None-Match", tag),), (("If-None-Match", OTHER),),
                           (("If-Match", "W/" + tag),), (("If-Match", tag),)):
                with self.subTest(kind, path=path, fields=fields):
                    self.check_head_equals_get(path, fields)

    def test_what_is_not_there(self):
        for path in ("/edge/sites/s/none", asset_path(self.there, "/none"),
                     "/edge/packs/none.pmtiles", "/edge/tiles/none/0/0/0"):
            for fields in ((), (("If-None-Match", "*"),), (("Range", "bytes=0-1"),)):
                self.refused(self.server.fetch(path, fields), 404, "NotFound")

    def test_methods(self):
        for kind, things in self.things.items():
            for path in things:
                for method in ("POST", "PUT", "DELETE"):
                    with self.subTest(kind, method=method):
                        response = self.server.ask(method, path,
                                                   body=None if method == "DELETE" else b"")
                        self.refused(response, 405, "MethodNotAllowed")


class Ours:
    """svc-edge as a cache that trials can be put to."""

    name = "svc-edge"

    def __init__(self, server, there):
        self.address, self.origin = server.address, there

    def path_of(self, path):
        return asset_path(self.origin, path)


class RulesCase(LiveCase):
    def judge_ours(self):
        # A copy without a strong tag is refused by default; what is tried here is how copies age.
        server = self.live({"fill.require_strong_etag": "false", "fill.max_tries": 1,
                            "workers": 64})
        return edge_rules.judge(Ours(server, self.origin))

    def plain_origin(self):
        there = origin.Origin()
        self.addCleanup(there.close)
        return there


class Trials(RulesCase):
    def test_they_find_what_they_are_for(self):
        """Whoever asks the origin itself finds that nothing is kept."""
        there = self.plain_origin()

        class Nothing:
            address = ("127.0.0.1", there.port)
            origin = there
            path_of = staticmethod(lambda path: path)

        broken = {name for name, instead in edge_rules.judge(Nothing).items() if instead}
        self.assertLessEqual({"max_age", "s_maxage_longer", "expires", "heuristic", "vary",
                              "collapsed", "freshened", "stale_if_error", "only_if_cached",
                              "part", "validates", "no_cache", "request_max_stale"}, broken)


class Rules(RulesCase):
    """Each that is claimed is followed; and what docs/edge.md says of it is what it does."""

    def judged(self):
        """(name, what came of every rule) of each cache, all at the same time."""
        peers = [peer(self.plain_origin()) for peer in PEERS if PRINTS or HOLDS_PEERS]
        for peer in peers:
            self.addCleanup(peer.close)
        with concurrent.futures.ThreadPoolExecutor() as pool:
            ours = pool.submit(self.judge_ours)
            theirs = [pool.submit(edge_rules.judge, peer) for peer in peers]
            return [("svc-edge", ours.result()),
                    *((f"{peer.name} {peer.version}", found.result())
                      for peer, found in zip(peers, theirs, strict=True))]

    @staticmethod
    def table(columns):
        """Lines of Markdown: the rules, and who follows them."""
        lines = ["| RFC 9111 | rule | " + " | ".join(name for name, _ in columns) + " |",
                 "| --- | --- |" + " --- |" * len(columns)]
        for each in edge_rules.RULES:
            marks = " | ".join("no" if found[each.name] else "yes" for _, found in columns)
            lines.append(f"| {each.section} | {each.text} | {marks} |")
        return lines

    @staticmethod
    def without_peers(line):
        """A row of the table as far as it is about svc-edge."""
        return line.split(" | ")[:3]

    def test_ours_and_beside_them_those_of_others(self):
        columns = self.judged()
        lines = self.table(columns)
        for each in edge_rules.RULES:
            instead = columns[0][1][each.name]
            with self.subTest(each.name):
                self.assertEqual(instead is None, each.claimed, instead)
        if PRINTS:
            print("\n".join(lines))
            return
        page = pathlib.Path(__file__).resolve().parents[2] / "docs/edge.md"
        said = page.read_text(encoding="utf-8").splitlines()
        if not HOLDS_PEERS:
            lines = [self.without_peers(line.removesuffix(" |")) for line in lines[2:]]
            said = [self.without_peers(line) for line in said]
        self.assertEqual([line for line in lines if line not in said], [])


PRINTS, HOLDS_PEERS = "--table" in sys.argv, "--peers" in sys.argv

if __name__ == "__main__":
    if PRINTS or HOLDS_PEERS:
        sys.argv[1:] = ["Rules"]
    unittest.main()
