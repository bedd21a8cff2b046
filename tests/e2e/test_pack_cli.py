"""`ron pack`: files that are being written, places that are none, disks that are full, and servers
on other machines."""

import os
import pty
import resource
import signal
import socket
import sqlite3
import subprocess
import unittest

import edge
import packs
import ron

PLACE = (0, 0, 0)


def little_room(bytes_left):
    """No file of the command gets longer than this."""
    def prepare():
        ron.die_with_parent()
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_left, bytes_left))

    return prepare


class PackFiles(edge.PackCase):
    """Without a server."""

    def pack(self, *arguments, prepare=ron.die_with_parent):
        done = subprocess.run([ron.BINARY, "pack", *map(str, arguments)], cwd=self.home,
                              capture_output=True, text=True, timeout=60 * ron.SLOW, check=False,
                              preexec_fn=prepare)
        return done.returncode, done.stdout, done.stderr

    def there(self):
        return sorted(os.listdir(self.home))

    def test_a_database_that_is_being_written(self):
        """In SQLite's two ways to write, by SQLite itself."""
        for mode, beside in (("wal", "-wal"), ("delete", "-journal")):
            path = self.home / f"{mode}.mbtiles"
            packs.mbtiles(path, packs.gzipped(packs.noise("old", zooms=3)))
            writer = sqlite3.connect(path, isolation_level=None)
            writer.execute(f"pragma journal_mode={mode}")
            writer.execute("pragma cache_size=1")
            writer.execute("begin")
            writer.execute("insert into tiles values (5, 0, 0, zeroblob(100000))")
            if mode == "wal":
                writer.execute("commit")
            for arguments in (("verify", path), ("info", path),
                              ("convert", path, self.home / "out.pmtiles")):
                code, _, error = self.pack(*arguments)
                self.assertEqual(code, 1, arguments)
                self.assertIn(f"changes that are not in the file yet but in its {beside}", error)
            if mode != "wal":
                writer.execute("rollback")
            writer.close()
            self.assertEqual(self.pack("verify", path)[0], 0, mode)

    def test_a_place_that_is_none(self):
        path = self.file("a", packs.gzipped({PLACE: b"x"}))
        for place in ("0/0", "0/0/0/0", "a/b/c", "32/0/0", "0/-1/0", ""):
            code, out, error = self.pack("tile", path, place, "-o", "out")
            self.assertEqual((code, out), (2, ""), place)
            self.assertIn(f"'{place}' is not Z/X/Y", error)
        for place, last in (("0/0/1", 0), ("0/1/0", 0), ("3/8/0", 7), ("31/0/2147483648", 2**31 - 1)):
            for more in (("-o", "out"), ("--hash",)):
                code, out, error = self.pack("tile", path, place, *more)
                self.assertEqual((code, out), (2, ""), place)
                self.assertEqual(error, f"ron: pack tile: '{place}' is no place: at zoom "
                                 f"{place.split('/')[0]} columns and rows go from 0 to {last}\n")
        self.assertEqual(self.pack("tile", path, "3/7/7", "--hash")[:2], (0, "3/7/7 none\n"))
        self.assertEqual(self.there(), ["a.pmtiles"])

    def test_a_binary_tile_is_not_printed_to_a_terminal(self):
        path = self.file("a", {PLACE: b"\x1b[31m\x00"}, compression=packs.NONE)
        for more, expected in (((), (1, b"")), (("-o", "-"), (0, b"\x1b[31m\x00"))):
            ours, theirs = pty.openpty()
            done = subprocess.run([ron.BINARY, "pack", "tile", str(path), "0/0/0", *more],
                                  stdout=theirs, stderr=subprocess.PIPE, timeout=60 * ron.SLOW,
                                  check=False, preexec_fn=ron.die_with_parent)
            os.close(theirs)
            os.set_blocking(ours, False)
            try:
                shown = os.read(ours, 4096)
            except OSError:
                shown = b""
            os.close(ours)
            self.assertEqual((done.returncode, shown), expected, done.stderr)
            self.assertEqual(b"-o -" in done.stderr, not more)

    def test_a_directory_is_no_pack(self):
        (self.home / "maps").mkdir()
        for arguments in (("info", "maps"), ("verify", "maps"), ("tile", "maps", "0/0/0"),
                          ("convert", "maps", "out.pmtiles")):
            code, out, error = self.pack(*arguments)
            self.assertEqual((code, out), (1, ""), arguments)
            self.assertIn("maps: it is a directory, not a pack (Malformed)", error)
        self.assertEqual(self.there(), ["maps"])

    def test_a_conversion_never_replaces_its_source(self):
        path = self.home / "a.mbtiles"
        packs.mbtiles(path, packs.gzipped({PLACE: b"x"}))
        whole = path.read_bytes()
        os.link(path, self.home / "hard.mbtiles")
        os.symlink("a.mbtiles", self.home / "soft.mbtiles")
        os.symlink(".", self.home / "here")
        before = self.there()
        for force in ((), ("--force",)):
            for source, to in (("a", "a"), ("a", "hard"), ("a", "soft"), ("soft", "a"),
                               ("hard", "soft"), ("a", "here/a")):
                code, out, error = self.pack("convert", source + ".mbtiles", to + ".mbtiles", *force)
                self.assertEqual((code, out), (1, ""), (source, to))
                self.assertIn(f"{to}.mbtiles: it is the file that is to be converted", error)
        self.assertEqual(self.there(), before)
        self.assertEqual(path.read_bytes(), whole)
        # A copy of it is another file.
        (self.home / "copy.mbtiles").write_bytes(whole)
        self.assertEqual(self.pack("convert", "a.mbtiles", "copy.mbtiles")[0], 1)
        self.assertEqual(self.pack("convert", "a.mbtiles", "copy.mbtiles", "--force")[0], 0)
        self.assertEqual((self.home / "copy.mbtiles").read_bytes()[:7], b"PMTiles")

    def test_nothing_is_left_of_a_file_that_has_no_room(self):
        tile = os.urandom(100_000)
        path = self.file("a", {PLACE: tile}, compression=packs.NONE)
        database = self.home / "a.mbtiles"
        packs.mbtiles(database, {PLACE: tile})
        before = self.there()
        for arguments in (("tile", path, "0/0/0", "-o", "out"),
                          ("convert", database, "out.pmtiles")):
            code, _, error = self.pack(*arguments, prepare=little_room(50_000))
            self.assertEqual(code, 1, error)
            self.assertNotEqual(error, "")
            self.assertEqual(self.there(), before, arguments)
        self.assertEqual(self.pack("tile", path, "0/0/0", "-o", "out")[0], 0)
        self.assertEqual((self.home / "out").read_bytes(), tile)

    def test_metadata_cannot_write_to_the_terminal(self):
        path = self.home / "a.mbtiles"
        packs.mbtiles(path, packs.gzipped({PLACE: b"x"}),
                      metadata={"name": "\x1b[31mred\x1b[0m\u009b", "description": "d" * 100_000})
        code, out, error = self.pack("info", path)
        self.assertEqual(code, 0, error)
        self.assertLess(len(out), 2_000)
        self.assertTrue(all(line.isprintable() for line in out.splitlines()))
        code, out, error = self.pack("info", path, "--json")
        self.assertEqual(code, 0, error)
        self.assertGreater(len(out), 100_000)

    def test_metadata_is_readable(self):
        path = self.home / "a.mbtiles"
        packs.mbtiles(path, packs.gzipped({PLACE: b"x"}), metadata={"name": "Côte d'Ivoire 東京"})
        code, out, error = self.pack("info", path)
        self.assertEqual(code, 0, error)
        self.assertIn("Côte d'Ivoire 東京", out)


class PackServers(edge.PackCase):
    """`ron pack add`."""

    def add(self, server, file, *more):
        admin = "http://%s:%d" % server.admin
        url = "http://%s:%d" % server.address
        return ron.run_ron("pack", "add", str(file), *more, "--url", url, "--admin-url", admin,
                           env={"RON_TOKEN": server.token}, cwd=self.home)

    def test_paths(self):
        server = self.start()
        path = self.file("a", packs.gzipped({PLACE: b"x"}))
        code, out, error = self.add(server, "a.pmtiles")
        self.assertEqual(code, 0, error)
        self.assertIn("/edge/preview/a", out)
        code, _, error = self.add(server, path, "--name", "b")
        self.assertEqual(code, 0, error)
        self.assertEqual(server.tile("b", *PLACE, headers=edge.ACCEPTS_GZIP).status, 200)
        # It is not here, and that is for the server to say.
        code, _, error = self.add(server, "/nowhere/c.pmtiles")
        self.assertEqual(code, 1)
        self.assertRegex(error, r"\Aron pack add: /nowhere/c\.pmtiles: .*\(NotFound, corr \w+\)\n\Z")
        code, _, error = self.add(server, "nowhere/c.pmtiles")
        self.assertEqual(code, 1)
        self.assertIn("cannot read 'nowhere/c.pmtiles'", error)

    def test_an_empty_name_is_none(self):
        server = self.start()
        self.file("a", packs.gzipped({PLACE: b"x"}))
        code, out, error = self.add(server, "a.pmtiles", "--name", "")
        self.assertEqual((code, out), (2, ""))
        self.assertIn("--name: it is empty", error)
        code, out, error = ron.run_ron("pack", "rm", "", cwd=self.home)
        self.assertEqual((code, out), (2, ""))
        self.assertIn("name: it is empty", error)

    def test_what_is_wrong_is_said_and_the_admin_listener_only_where_it_is(self):
        server = self.start()
        url = "http://%s:%d" % server.address
        admin = "http://%s:%d" % server.admin
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            away = "http://127.0.0.1:%d" % nobody.getsockname()[1]
        where = "; the admin listener was expected at %s, --admin-url or RON_ADMIN_URL says where"
        for at, says, hint in (
                (admin, "there is no pack world (NotFound, corr", ""),
                (url, "there is no such route (NotFound, corr", where % url),
                (away, "(UpstreamFail", where % away)):
            with self.subTest(at=at):
                code, out, error = ron.run_ron(
                    "pack", "rm", "world", "--url", url, "--admin-url", at,
                    env={"RON_TOKEN": server.token}, cwd=self.home)
                self.assertEqual((code, out), (1, ""), error)
                self.assertTrue(error.startswith("ron pack rm: world: "), error)
                self.assertIn(says, error)
                self.assertIn(hint, error)
                self.assertEqual("admin" in error, hint != "", error)
                self.assertNotIn("--url or RON_URL", error)

    def test_the_public_port_of_the_gateway_is_not_the_admin_listener(self):
        server = self.start(command="up")
        url = "http://%s:%d" % server.address
        code, _, error = ron.run_ron("pack", "rm", "world", "--url", url, "--admin-url", url,
                                     env={"RON_TOKEN": server.token}, cwd=self.home)
        self.assertEqual(code, 1)
        self.assertIn(f"the admin listener was expected at {url}, --admin-url", error)


if __name__ == "__main__":
    unittest.main()
