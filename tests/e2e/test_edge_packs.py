"""Packs of tiles: mounted, replaced and removed while they are asked for; every tile as it was
stored, or decoded; TileJSON with the right URLs, also behind a proxy."""

import gzip
import json
import random
import subprocess
import threading
import time
import unittest

import edge
import gateway_case
import packs
import ron
from edge import ACCEPTS_GZIP as ACCEPTS
from edge import PackCase
from packs import NONE, PNG, PNG_MAGIC

MVT = "application/vnd.mapbox-vector-tile"


class Tiles(PackCase):
    """The same tiles, whatever they are packed in."""

    def check_tiles(self, server, pack, tiles, zooms):
        """Every place of the zooms, those without a tile, too, in both forms."""
        with server.connect() as connection:
            for z in range(zooms + 1):
                for x in range(1 << z):
                    for y in range(1 << z):
                        self.check_tile(server, connection, pack, (z, x, y), tiles)

    def check_tile(self, server, connection, pack, place, tiles):
        encoded = server.tile(pack, *place, headers=ACCEPTS, connection=connection)
        plain = server.tile(pack, *place, connection=connection)
        content = tiles.get(place)
        if content is None:
            self.assertEqual((encoded.status, plain.status), (204, 204), place)
            return
        self.assertEqual((encoded.status, plain.status), (200, 200), (place, encoded.body[:200]))
        self.assertEqual(encoded.get("Content-Encoding"), "gzip")
        self.assertIsNone(plain.get("Content-Encoding"))
        self.assertEqual(gzip.decompress(encoded.body), content, place)
        self.assertEqual(plain.body, content, place)
        self.assertNotEqual(encoded.get("ETag"), plain.get("ETag"))
        for each in (encoded, plain):
            self.assertEqual(each.get("Content-Type"), MVT)
            self.assertIn("Accept-Encoding", each.get("Vary", ""))

    def test_every_form_of_pack(self):
        server = self.start()
        plain = packs.noise("all", zooms=5)
        stored = packs.gzipped(plain)
        forms = {
            "root": self.file("root", stored),
            "leaves": self.file("leaves", stored, leaf=13),
            "bare": self.file("bare", stored, leaf=50, internal=NONE),
            "mb": packs.mbtiles(self.home / "mb.mbtiles", stored),
            "view": packs.mbtiles(self.home / "view.mbtiles", stored, deduplicated=True),
        }
        for name, path in forms.items():
            with self.subTest(name):
                self.mounted(server, name, path)
                self.check_tiles(server, name, plain, 5)

    def test_stored_bytes_are_sent_as_they_are(self):
        server = self.start()
        stored = packs.gzipped(packs.noise("as is"))
        self.mounted(server, "a", self.file("a", stored))
        for place, content in stored.items():
            self.assertEqual(server.tile("a", *place, headers=ACCEPTS).body, content)

    def test_pictures(self):
        server = self.start()
        tiles = {place: PNG_MAGIC + content for place, content in packs.noise("png").items()}
        self.mounted(server, "p", self.file("p", tiles, type=PNG, compression=NONE))
        packs.mbtiles(self.home / "m.mbtiles", tiles, form="png")
        self.mounted(server, "m", self.home / "m.mbtiles")
        for pack in ("p", "m"):
            for place, content in tiles.items():
                response = server.tile(pack, *place, ".png", headers=ACCEPTS)
                self.assertEqual((response.status, response.body), (200, content))
                self.assertEqual(response.get("Content-Type"), "image/png")
                self.assertIsNone(response.get("Content-Encoding"))

    def test_urls(self):
        server = self.start()
        self.mounted(server, "a", self.file("a", packs.gzipped(packs.noise("urls", missing=0))))
        for target, status in (("0/0/0", 200), ("0/0/0.mvt", 200), ("0/0/0.pbf", 200),
                               ("0/0/0.png", 404), ("1/0/0.json", 404), ("3/7/7", 200),
                               ("3/8/0", 400), ("3/0/8", 400), ("31/0/0", 400), ("00/0/0", 400),
                               ("-1/0/0", 400), ("1/0/0x", 400), ("a/0/0", 400), ("1/0", 404),
                               ("1/0/0/0", 404), ("9/0/0", 204), ("0/0/%30", 200),
                               ("1/4294967296/0", 400), ("30/1073741823/1073741823", 204)):
            with self.subTest(target):
                self.assertEqual(server.fetch(edge.TILES + "a/" + target).status, status)

    def test_accept_encoding(self):
        server = self.start()
        self.mounted(server, "a", self.file("a", packs.gzipped(packs.noise("ae"))))
        for accept, coding in (("gzip", "gzip"), ("gzip, br", "gzip"), ("br", None),
                               ("*", "gzip"), ("gzip;q=0", None), ("identity", None), ("", None),
                               ("gzip;q=0.001", "gzip"), ("deflate, GZIP", "gzip")):
            with self.subTest(accept):
                response = server.tile("a", 0, 0, 0, headers=[("Accept-Encoding", accept)])
                self.assertEqual((response.status, response.get("Content-Encoding")),
                                 (200, coding))
        self.refused(server.tile("a", 0, 0, 0, headers=[
            ("Accept-Encoding", "identity;q=0, gzip;q=0")]), 406, "NotAcceptable")

    def test_a_tile_that_is_a_bomb(self):
        """Whoever takes it as it is stored may have it; nobody is given what it decodes to."""
        server = self.start()
        bomb = gzip.compress(bytes(30 << 20), mtime=0)
        self.mounted(server, "a", self.file("a", {(0, 0, 0): bomb}))
        self.assertEqual(server.tile("a", 0, 0, 0, headers=ACCEPTS).body, bomb)
        self.moves(server, "edge_rejects_total", 1, lambda: self.refused(
            server.tile("a", 0, 0, 0), 413, "DecodedRatio"), reason="decompress_cap")

    def test_missing_tiles_by_policy(self):
        stored = packs.gzipped({(0, 0, 0): b"only"})
        path = self.file("a", stored)
        for policy, status in (("204", 204), ("404", 404)):
            server = self.start({"tiles.missing": policy})
            server.add_pack("a", path)
            self.assertEqual(server.tile("a", 1, 0, 0).status, status)
            # The pack's own goes before.
            for own, own_status in (("404", 404), ("204", 204)):
                answer = server.ask_admin("POST", "/admin/packs", {
                    "name": "own", "path": str(path), "missing": own})
                self.assertIn(answer.status, (200, 201), answer.body)
                response = server.tile("own", 1, 0, 0)
                self.assertEqual(response.status, own_status)
                self.assertEqual(response.body if own_status == 204 else response.code,
                                 b"" if own_status == 204 else "NotFound")
            server.close()

    def test_the_file_itself(self):
        server = self.start()
        path = self.file("a", packs.gzipped(packs.noise("file", zooms=6)), leaf=100)
        data = path.read_bytes()
        self.mounted(server, "a", path)
        target = "/edge/packs/a.pmtiles"
        whole = server.fetch(target)
        self.assertTrue(whole.body == data)
        self.assertEqual(whole.get("ETag"), f'"{ron.b3(data)}"')
        for first, last in ((0, 126), (0, 16383), (127, 500), (len(data) - 10, len(data) - 1)):
            part = server.fetch(target, [("Range", f"bytes={first}-{last}")])
            self.assertEqual((part.status, part.body), (206, data[first:last + 1]))
        packs.mbtiles(self.home / "m.mbtiles", packs.gzipped({(0, 0, 0): b"x"}))
        self.mounted(server, "m", self.home / "m.mbtiles")
        self.refused(server.fetch("/edge/packs/m.pmtiles"), 404, "NotFound")


class TileJson(PackCase):
    METADATA = {"name": "A map", "attribution": "us & them", "description": "d",
                "vector_layers": [{"id": "land", "fields": {"name": "String"}}]}

    def served(self, keys=None, **more):
        server = self.start(keys, **more)
        self.mounted(server, "a", self.file("a", packs.gzipped(packs.noise("tj")),
                                            metadata=self.METADATA, bounds=(5.5, -10, 15.25, 20),
                                            center=(9, 5, 2)))
        return server

    def urls(self, server, *fields, host="test"):
        with server.connect() as connection:
            lines = ["GET /edge/tiles/a.json HTTP/1.1", f"Host: {host}", *fields, "", ""]
            connection.send("\r\n".join(lines).encode("latin-1"))
            response = connection.read_response()
            return response.json()["tiles"] if response.status == 200 else response.status

    def test_the_document(self):
        document = self.served().get("/edge/tiles/a.json")
        self.assertEqual(document["tilejson"], "3.0.0")
        self.assertEqual(document["tiles"], ["http://test/edge/tiles/a/{z}/{x}/{y}.mvt"])
        self.assertEqual((document["minzoom"], document["maxzoom"]), (0, 3))
        self.assertEqual(document["bounds"], [5.5, -10, 15.25, 20])
        self.assertEqual(document["center"], [9, 5, 2])
        for key in ("name", "attribution", "vector_layers"):
            self.assertEqual(document[key], self.METADATA[key])
        self.assertNotIn("scheme", {key for key in document if document[key] == "tms"})

    def test_the_urls_it_names_are_there(self):
        server = self.served()
        host = "%s:%d" % server.address
        url = self.urls(server, host=host)[0]
        self.assertTrue(url.startswith(f"http://{host}/edge/tiles/a/"))
        done = subprocess.run(["curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}",
                               url.replace("{z}", "0").replace("{x}", "0").replace("{y}", "0")],
                              capture_output=True, check=True, timeout=ron.REPLY_S)
        self.assertEqual(done.stdout, b"200")

    def test_what_a_proxy_says(self):
        server = self.served()
        self.assertEqual(
            self.urls(server, "X-Forwarded-Proto: https", "X-Forwarded-Host: maps.example.org"),
            ["https://maps.example.org/edge/tiles/a/{z}/{x}/{y}.mvt"])
        self.assertEqual(self.urls(server, "X-Forwarded-Proto: https", host="maps.example.org"),
                         ["https://maps.example.org/edge/tiles/a/{z}/{x}/{y}.mvt"])

    def test_poison(self):
        """Nothing gets into the document that is no host and no scheme."""
        server = self.served()
        for name in ("X-Forwarded-Host", "X-Forwarded-Proto"):
            for value in ('evil"><script>', "evil/path", "javascript:alert(1)", "a b", "evil\\",
                          "e@vil", "x" * 3000, "evil.example, other.example"):
                with self.subTest(name, value=value[:30]):
                    urls = self.urls(server, f"{name}: {value}")
                    if isinstance(urls, list):
                        self.assertRegex(urls[0], r"^https?://[a-z0-9.:-]+/edge/tiles/a/\{z\}/")
                        self.assertNotIn("script", urls[0])
        for host in ('evil"x', "evil/x", "e vil", "a@b"):
            with self.subTest(host):
                urls = self.urls(server, host=host)
                if isinstance(urls, list):
                    self.assertNotIn("evil", urls[0])

    def test_caches_keep_the_hosts_apart(self):
        """A shared cache must not give one host's document to another."""
        server = self.served()
        response = server.fetch("/edge/tiles/a.json")
        caching = response.get("Cache-Control", "")
        self.assertTrue("no-cache" in caching or "no-store" in caching or "private" in caching)
        self.assertIn("X-Forwarded-Host", response.get("Vary", ""))

    def test_the_public_url_goes_before_all(self):
        server = self.served({"tiles.public_url": "https://tiles.example.net"})
        for fields in ((), ("X-Forwarded-Host: evil.example",)):
            self.assertEqual(self.urls(server, *fields),
                             ["https://tiles.example.net/edge/tiles/a/{z}/{x}/{y}.mvt"])

    def test_behind_the_gateway(self):
        server = self.served(command="up")
        host = "%s:%d" % server.address
        self.assertEqual(self.urls(server, host=host),
                         [f"http://{host}/edge/tiles/a/{{z}}/{{x}}/{{y}}.mvt"])
        self.assertEqual(server.tile("a", 0, 0, 0).status, 200)

    def test_behind_a_gateway_of_another_process(self):
        server = self.served()
        with gateway_case.gateway.Server([{
                "prefix": "/edge", "upstream": "http://%s:%d" % server.address}]) as front:
            host = "%s:%d" % front.address
            self.assertEqual(self.urls(front, host=host),
                             [f"http://{host}/edge/tiles/a/{{z}}/{{x}}/{{y}}.mvt"])

    def test_the_list(self):
        server = self.served()
        listed = server.get("/edge/packs")
        text = json.dumps(listed)
        self.assertIn('"a"', text)
        self.assertNotIn(str(self.home), text)

    def test_cors(self):
        server = self.served({"cors.allow_origins": '["https://maps.example.org"]'})
        asking = [("Origin", "https://maps.example.org")]
        for path in ("/edge/tiles/a.json", "/edge/tiles/a/0/0/0", "/edge/packs/a.pmtiles"):
            response = server.fetch(path, asking)
            self.assertEqual(response.get("Access-Control-Allow-Origin"),
                             "https://maps.example.org", path)
            other = server.fetch(path, [("Origin", "https://evil.example")])
            self.assertIsNone(other.get("Access-Control-Allow-Origin"))


class Changing(PackCase):
    """Packs that come and go."""

    def test_who_may(self):
        server = self.start()
        path = self.file("a", packs.gzipped(packs.noise(1)))
        wrong = (server.scoped("storage:admin", "index:admin"),)
        self.refused(server.add_pack("a", path, auth=()), 401, "Unauthorized")
        self.refused(server.add_pack("a", path, auth=wrong), 403, "Forbidden")
        self.assertEqual(server.add_pack("a", path, auth=(server.scoped("edge:admin"),)).status,
                         201)
        self.refused(server.remove_pack("a", auth=()), 401, "Unauthorized")
        self.refused(server.remove_pack("a", auth=wrong), 403, "Forbidden")
        self.assertEqual(server.remove_pack("a").status, 204)
        self.refused(server.remove_pack("a"), 404, "NotFound")
        self.assertEqual(server.ask("POST", "/admin/packs", {}).status, 404)

    def test_added_replaced_and_removed(self):
        server = self.start()
        first, second = (packs.gzipped(packs.noise(seed, missing=0)) for seed in (1, 2))
        self.refused(server.tile("a", 0, 0, 0), 404, "NotFound")
        self.mounted(server, "a", self.file("one", first))
        old = server.tile("a", 0, 0, 0, headers=ACCEPTS)
        self.assertEqual(old.body, first[0, 0, 0])
        self.mounted(server, "a", self.file("two", second), status=200)
        new = server.tile("a", 0, 0, 0, headers=ACCEPTS)
        self.assertEqual(new.body, second[0, 0, 0])
        self.assertNotEqual(old.get("ETag"), new.get("ETag"))
        self.assertEqual(server.remove_pack("a").status, 204)
        self.refused(server.tile("a", 0, 0, 0), 404, "NotFound")
        for message in ("pack mounted", "pack removed"):
            server.wait_log(message, subject="a")

    def test_a_restart_keeps_what_was_added(self):
        server = self.start()
        stored = packs.gzipped(packs.noise(1))
        self.mounted(server, "a", self.file("a", stored))
        server = self.restart(server)
        ron.wait_until("it is mounted", lambda: server.tile("a", 0, 0, 0).status == 200)
        self.assertEqual(server.remove_pack("a").status, 204)
        server = self.restart(server)
        self.refused(server.tile("a", 0, 0, 0), 404, "NotFound")

    def test_a_directory_that_is_followed(self):
        inside = self.home / "packs"
        inside.mkdir()
        first, second = (packs.gzipped(packs.noise(seed, missing=0)) for seed in (1, 2))
        packs.write(inside / "a.pmtiles", packs.pmtiles(first))
        server = self.start({"packs_dir": inside})

        def is_now(content):
            response = server.tile("a", 0, 0, 0, headers=ACCEPTS)
            return response.status == 200 and response.body == content

        ron.wait_until("it is mounted", lambda: is_now(first[0, 0, 0]))
        packs.write(inside / "a.pmtiles", packs.pmtiles(second))
        ron.wait_until("it is replaced", lambda: is_now(second[0, 0, 0]))
        packs.mbtiles(inside / "m.mbtiles", first)
        (inside / "notes.txt").write_text("no pack")
        ron.wait_until("another is mounted", lambda: server.tile("m", 0, 0, 0).status == 200)
        packs.write(inside / "a.pmtiles", b"nonsense")
        server.wait_log("pack refused", subject="a")
        self.assertTrue(is_now(second[0, 0, 0]), "what is no pack took the place of one")
        (inside / "a.pmtiles").unlink()
        ron.wait_until("it is gone", lambda: server.tile("a", 0, 0, 0).status == 404)

    def test_replaced_a_hundred_times_under_load(self):
        """Every answer is of one pack from its first byte to its last, and its tag says which."""
        versions = [packs.gzipped({(z, x, 0): b"%d:" % number + random.Random(number).randbytes(
            150_000) for z, x in ((0, 0), (1, 0), (1, 1))}) for number in range(8)]
        files = [self.file(f"v{number}", tiles) for number, tiles in enumerate(versions)]
        contents = [path.read_bytes() for path in files]
        by_tag = {f'"{ron.b3(data)}"': number for number, data in enumerate(contents)}
        server = self.start()
        self.mounted(server, "a", files[0])
        tags, lock, counts = {}, threading.Lock(), {"tile": 0, "file": 0, "parts": 0, "changed": 0}

        def count(what):
            with lock:
                counts[what] += 1

        def tile(connection, dice):
            place = dice.choice(((0, 0, 0), (1, 0, 0), (1, 1, 0)))
            response = server.tile("a", *place, headers=ACCEPTS, connection=connection)
            assert response.status == 200, response.status
            which = [tiles[place] for tiles in versions].index(response.body)
            with lock:
                key = (place, response.get("ETag"))
                assert tags.setdefault(key, which) == which, "one tag for two"
            count("tile")

        def whole(connection, _dice):
            response = server.fetch("/edge/packs/a.pmtiles", connection=connection)
            assert response.status == 200, response.status
            assert response.body == contents[by_tag[response.get("ETag")]], "mixed"
            count("file")

        def parts(connection, _dice):
            """As pmtiles.js does it: ranges that must be of the same file."""
            head = server.fetch("/edge/packs/a.pmtiles", [("Range", "bytes=0-16383")],
                                connection=connection)
            tag = head.get("ETag")
            data, at = [head.body], len(head.body)
            size = int(head.get("Content-Range").rpartition("/")[2])
            while at < size:
                part = server.fetch("/edge/packs/a.pmtiles", [
                    ("Range", f"bytes={at}-{at + 99_999}"), ("If-Match", tag)],
                    connection=connection)
                if part.status == 412:
                    count("changed")
                    return
                assert (part.status, part.get("ETag")) == (206, tag), part.status
                data.append(part.body)
                at += len(part.body)
            assert b"".join(data) == contents[by_tag[tag]], "mixed parts"
            count("parts")

        def work(index):
            dice = random.Random(f"{index}-{time.monotonic()}")
            act = (tile, tile, whole, parts)[index % 4]
            with server.connect() as connection:
                for _ in range(10):
                    act(connection, dice)

        load = ron.Load(8, work)
        for number in range(1, 101):
            self.mounted(server, "a", files[number % len(files)], status=200)
        self.assertEqual(load.finish(), [])
        self.assertGreater(min(counts[each] for each in ("tile", "file", "parts")), 0, counts)

    def test_an_answer_ends_with_the_pack_it_began_with(self):
        """A reader that dawdles while the pack is replaced and removed."""
        large = {(1, x, y): random.Random(x + 2 * y).randbytes(6 << 20)
                 for x in (0, 1) for y in (0, 1)}
        path = self.file("large", large, compression=NONE)
        data = path.read_bytes()
        server = self.start({"write_timeout": "60s"})
        self.mounted(server, "a", path)
        with server.connect(receive_buffer=4096) as slow:
            slow.send(ron.request("GET", "/edge/packs/a.pmtiles"))
            head = slow.read_head()
            self.mounted(server, "a", self.file("other", packs.gzipped(packs.noise(2))),
                         status=200)
            path.unlink()
            self.assertEqual(server.remove_pack("a").status, 204)
            received = bytearray(slow.pending)
            while len(received) < len(data):
                received += slow.socket.recv(1 << 20)
            self.assertEqual(int(head.get("Content-Length")), len(data))
            self.assertTrue(bytes(received) == data)


if __name__ == "__main__":
    unittest.main()
