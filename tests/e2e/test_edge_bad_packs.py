"""Packs that are changed or cut under a running server, and packs that never were sound: right
bytes or a refusal with a reason, never a wrong byte, and the others go on."""

import gzip
import os
import random
import sqlite3
import struct
import time
import unittest

import edge
import packs
import ron
from edge import ACCEPTS_GZIP as ACCEPTS
from edge import PackCase


class Damaged(PackCase):
    """Files that are changed in place, which nobody should do: right bytes or an error."""

    def stored(self):
        """More than a reader would keep in memory by chance."""
        return packs.gzipped(packs.noise("damage", zooms=5, size=40_000))

    def generation(self, server):
        return server.fetch("/edge/packs").json()["packs"][0]["generation"]

    def check(self, server, stored, data=None, written=None):
        """How many answers were right, and how many refusals there were; nothing else is.
        `written` is a file that is being written all the while: it is never taken as a pack."""
        right = wrong = 0
        with server.connect() as connection:
            for place, content in stored.items():
                if written is not None:
                    os.utime(written)
                response = server.tile("a", *place, headers=ACCEPTS, connection=connection)
                if response.status == 200:
                    self.assertEqual(response.body, content, place)
                    right += 1
                else:
                    self.refused(response, 502, "IntegrityFail")
                    wrong += 1
        if data is not None:
            try:
                response = server.fetch("/edge/packs/a.pmtiles")
                self.assertTrue(response.body == data if response.status == 200
                                else response.code == "IntegrityFail", response.status)
            except (ron.Truncated, ron.Closed):
                pass  # it is cut where it is no longer what it was
        return right, wrong

    def damages(self):
        def overwrite(file, size):
            file.seek(size // 2)
            file.write(random.Random(1).randbytes(size // 4))

        def one_bit(file, size):
            file.seek(size - 1000)
            byte = file.read(1)[0]
            file.seek(size - 1000)
            file.write(bytes([byte ^ 1]))

        def truncate(file, size):
            file.truncate(size // 2)

        def empty(file, _size):
            file.truncate(0)

        def replace(file, size):
            file.seek(0)
            file.write(random.Random(2).randbytes(size))

        return overwrite, one_bit, truncate, empty, replace

    def run_damages(self, make, is_file):
        for damage in self.damages():
            with self.subTest(damage.__name__):
                stored = self.stored()
                path = make(damage.__name__, stored)
                data = path.read_bytes()
                server = self.start({"cache.ram_bytes": "0"})
                self.mounted(server, "a", path, status=None)  # the last server's is kept
                some = dict(random.Random(3).sample(sorted(stored.items()), 50))
                self.assertEqual(self.check(server, some, data if is_file else None), (50, 0))
                with open(path, "r+b") as file:
                    damage(file, len(data))
                mounted = self.generation(server)
                _, wrong = self.check(server, stored, data if is_file else None, written=path)
                self.assertEqual(self.generation(server), mounted)
                if damage.__name__ != "one_bit":
                    self.assertGreater(wrong, 0)
                self.assertIsNone(server.process.poll())
                # A sound file in its place makes it good again.
                packs.write(path, data)
                self.assertEqual(server.add_pack("a", path).status, 200)
                self.assertEqual(self.check(server, some)[1], 0)
                server.close()

    def test_what_is_written_in_place_is_taken_when_it_is_still(self):
        first, second = (packs.gzipped(packs.noise(seed, missing=0)) for seed in (1, 2))
        path = self.file("a", first)
        server = self.start({"cache.ram_bytes": "0", "packs": edge.rows(
            {"name": "a", "path": path})})
        ron.wait_until("it is mounted", lambda: server.tile("a", 0, 0, 0).status == 200)
        mounted = self.generation(server)
        path.write_bytes(packs.pmtiles(second))
        end = time.monotonic() + 2.5 * ron.SLOW
        while time.monotonic() < end:  # longer than from one look to the next
            self.check(server, first, written=path)
            self.assertEqual(self.generation(server), mounted)
        ron.wait_until("it is replaced", lambda: self.generation(server) != mounted)
        self.assertEqual(self.check(server, second), (len(second), 0))

    def test_pmtiles(self):
        self.run_damages(lambda name, stored: self.file(name, stored, leaf=50), True)

    def test_mbtiles(self):
        self.run_damages(lambda name, stored: packs.mbtiles(
            self.home / f"{name}.mbtiles", stored), False)


class Malformed(PackCase):
    """Refused at the mount with a reason; whatever was mounted stays."""

    def bad_pmtiles(self):
        good = packs.pmtiles(packs.gzipped(packs.noise("bad", zooms=4)), leaf=20)

        def changed(at, form, value):
            return good[:at] + struct.pack(form, value) + good[at + struct.calcsize(form):]

        huge = (1 << 64) - 1
        yield "empty", b""
        yield "short", good[:126]
        yield "no magic", b"XX" + good[2:]
        yield "version 2", changed(7, "<B", 2)
        yield "root outside", changed(8, "<Q", len(good))
        yield "root wraps", changed(8, "<Q", huge)
        yield "root too long", changed(16, "<Q", huge)
        yield "root of nothing", changed(16, "<Q", 0)
        yield "metadata outside", changed(24, "<Q", 1 << 40)
        yield "metadata too long", changed(32, "<Q", 1 << 40)
        yield "leaves outside", changed(40, "<Q", huge - 5)
        yield "leaves too long", changed(48, "<Q", 1 << 50)
        yield "data outside", changed(56, "<Q", len(good) + 1)
        yield "data too long", changed(64, "<Q", len(good))
        yield "too many tiles", changed(72, "<Q", huge)
        yield "internal coding", changed(97, "<B", 99)
        yield "tile coding", changed(98, "<B", 77)
        yield "zooms in the wrong order", changed(100, "<B", 9)
        yield "zoom of 255", changed(101, "<B", 255)
        yield "longitude of 400", changed(102, "<i", 2_000_000_000 - 1)
        yield "cut in the data", good[:-1]
        yield "cut in the leaves", good[:len(good) // 3]
        yield from self.bad_directories()

    def bad_directories(self):
        def with_root(entries, leaves=b"", data=b"0123456789", raw=None, **fields):
            root = raw if raw is not None else gzip.compress(packs.directory(entries), mtime=0)
            about = gzip.compress(b"{}", mtime=0)
            at = packs.HEADER_BYTES
            places = {}
            for name, part in (("root", root), ("metadata", about), ("leaves", leaves),
                               ("data", data)):
                places[name] = (at, len(part))
                at += len(part)
            return packs.header(**{**places, "addressed": 1, "entries": 1, "contents": 1,
                                   **fields}) + root + about + leaves + data

        yield "entry outside of the data", with_root([(0, 0, 11, 1)])
        yield "entry of no bytes", with_root([(0, 0, 0, 1)])
        yield "run past the end of the zoom", with_root([(0, 0, 1, 1 << 40)])
        yield "no gzip", with_root([], raw=b"nonsense")
        yield "gzip breaks off", with_root([], raw=gzip.compress(packs.directory(
            [(0, 0, 1, 1)]))[:-9])
        yield "directory of garbage", with_root([], raw=gzip.compress(b"\xff" * 400))
        yield "directory of too many", with_root([], raw=gzip.compress(packs.varint(1 << 60)))
        yield "directory is a bomb", with_root([], raw=gzip.compress(bytes(200 << 20)))
        yield "order is not ascending", with_root([], raw=gzip.compress(
            b"\x02" + b"\x05\x00" + b"\x01\x01" + b"\x01\x01" + b"\x01\x01"))
        yield "leaf outside", with_root([(0, 500, 10, 0)])
        itself = gzip.compress(packs.directory([(0, 0, 40, 0)]), mtime=0)
        loop = gzip.compress(packs.directory([(0, 0, len(itself), 0)]), mtime=0)
        yield "leaf leads to itself", with_root([(0, 0, len(loop), 0)], leaves=loop)
        yield "metadata is no JSON", self.with_metadata(b"not json")
        yield "metadata is a list", self.with_metadata(b"[1]")
        yield "metadata is a bomb", self.with_metadata(b'{"a":"' + b" " * (200 << 20) + b'"}')

    def with_metadata(self, text):
        good = packs.pmtiles({(0, 0, 0): b"x"})
        about = gzip.compress(text, mtime=0)
        # Behind everything else.
        return good[:24] + struct.pack("<2Q", len(good), len(about)) + good[40:] + about

    def bad_mbtiles(self):
        def base(name, *statements):
            path = self.home / f"{name}.mbtiles"
            packs.mbtiles(path, packs.gzipped({(0, 0, 0): b"x"}))
            made = sqlite3.connect(path)
            for each in statements:
                made.execute(each)
            made.commit()
            made.close()
            return path

        yield "no tiles", base("no-tiles", "drop table tiles")
        yield "no metadata", base("no-metadata", "drop table metadata")
        yield "a view of everything", base(
            "view", "drop table tiles", "create view tiles as with recursive n(i) as (select 0 "
            "union all select i + 1 from n) select i as zoom_level, 0 as tile_column, 0 as "
            "tile_row, 'x' as tile_data from n")
        yield "a zoom of 99", base("zoom", "update tiles set zoom_level = 99")
        yield "a column outside", base("column", "update tiles set tile_column = 5")
        yield "a text for a tile", base("text", "update tiles set tile_column = 'x'")
        cut = base("cut")
        cut.write_bytes(cut.read_bytes()[:5000])
        yield "cut", cut
        yield "no database", packs.write(self.home / "none.mbtiles",
                                         b"SQLite format 3\x00" + bytes(5000))

    def test_each_is_refused_with_a_reason(self):
        server = self.start()
        stored = packs.gzipped(packs.noise("good", missing=0))
        self.mounted(server, "good", self.file("good", stored))
        self.mounted(server, "a", self.file("a-good", stored))
        before = server.rss_kib()
        cases = [(name, packs.write(self.home / "bad.pmtiles", data), data)
                 for name, data in self.bad_pmtiles()]
        self.assertGreater(len(cases), 30)
        for name, path, data in cases:
            with self.subTest(name):
                packs.write(path, data)
                self.check_refused(server, path)
        for name, path in self.bad_mbtiles():
            with self.subTest(name):
                self.check_refused(server, path)
        self.assertEqual(server.tile("good", 0, 0, 0, headers=ACCEPTS).body, stored[0, 0, 0])
        # The bombs are 200 MiB each.
        if not ron.SANITIZED:
            self.assertLess(server.rss_kib() - before, 160 << 10)

    def check_refused(self, server, path):
        """As something new, and in place of what is there, which stays."""
        response = server.add_pack("a", path)
        self.refused(response, 400, "Malformed")
        self.assertGreater(len(response.json()["error"]["message"]), 10)
        self.assertEqual(server.tile("a", 0, 0, 0).status, 200)
        self.assertEqual(server.add_pack("new", path).status, 400)
        self.assertEqual(server.tile("new", 0, 0, 0).status, 404)

    def test_what_is_no_file(self):
        server = self.start()
        (self.home / "directory").mkdir()
        for path in (self.home / "none.pmtiles", self.home / "directory", "/dev/zero",
                     "relative.pmtiles", ""):
            response = server.add_pack("a", path)
            self.assertIn(response.status, (400, 404), (path, response.body))
        for body in ({}, {"name": "a"}, {"path": "/x"}, [], {"name": 1, "path": "/x"}):
            self.refused(server.ask_admin("POST", "/admin/packs", body), 400, "Malformed")
        good = self.file("good", packs.gzipped({(0, 0, 0): b"x"}))
        for name in ("", "A", "a/b", "..", ".a", "x" * 65, "a b", "ä"):
            self.refused(server.add_pack(name, good), 400, "Malformed")

    def test_a_start_with_a_bad_pack(self):
        """The others are served; it says which is not, and why."""
        bad = packs.write(self.home / "bad.pmtiles", b"nonsense")
        good = self.file("good", packs.gzipped({(0, 0, 0): b"x"}))
        server = self.start({"packs": edge.rows(
            {"name": "bad", "path": bad}, {"name": "good", "path": good})})
        ron.wait_until("the good one", lambda: server.tile("good", 0, 0, 0).status == 200)
        server.wait_log("pack refused", subject="bad")
        self.assertIn(server.tile("bad", 0, 0, 0).status, (404, 503))


if __name__ == "__main__":
    unittest.main()
