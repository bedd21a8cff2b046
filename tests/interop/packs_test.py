"""Packs through the real binary, tile by tile beside npm's `pmtiles` (what MapLibre reads PMTiles with)
and `@mapbox/mbtiles`, on real data and on packs made here.

Run by ctest; by hand: packs_test.py --ron build/release/ron --client tests/interop/packs --work /tmp/w
"""
import argparse
import gzip
import hashlib
import json
import os
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

OPTIONS = None
PATIENCE_S = 120
PLAIN_TABLES = """
CREATE TABLE metadata (name text, value text);
CREATE TABLE tiles (zoom_level integer, tile_column integer, tile_row integer, tile_data blob);
CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);
"""
SHARED_TABLES = """
CREATE TABLE metadata (name text, value text);
CREATE TABLE map (zoom_level integer, tile_column integer, tile_row integer, tile_id text);
CREATE TABLE images (tile_id text PRIMARY KEY, tile_data blob);
CREATE UNIQUE INDEX map_index ON map (zoom_level, tile_column, tile_row);
CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data
  FROM map JOIN images ON images.tile_id = map.tile_id;
"""


def install_client():
    """Copies the npm client's folder and installs its dependencies there, once."""
    os.makedirs(OPTIONS.work, exist_ok=True)
    for name in ("package.json", "package-lock.json", "read.mjs"):
        shutil.copy(os.path.join(OPTIONS.client, name), OPTIONS.work)
    # Written when everything is there, with what it is: an installation that was cut off, or is of
    # other versions, is made again.
    stamp = os.path.join(OPTIONS.work, "installed")
    with open(os.path.join(OPTIONS.work, "package-lock.json"), "rb") as file:
        wanted = hashlib.sha256(file.read()).hexdigest()
    if os.path.exists(stamp):
        with open(stamp, encoding="ascii") as file:
            if file.read() == wanted:
                return
    subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--silent"], cwd=OPTIONS.work, check=True)
    with open(stamp, "w", encoding="ascii") as file:
        file.write(wanted)


def node(*arguments):
    done = subprocess.run(["node", os.path.join(OPTIONS.work, "read.mjs"), *arguments],
                          capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def ron(*arguments, given=None, status=0):
    done = subprocess.run([OPTIONS.ron, "pack", *arguments], capture_output=True, timeout=PATIENCE_S,
                          input=given, check=False)
    if done.returncode != status:
        raise AssertionError(f"exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout


def places_around(path, rng):
    """Every tile of the database, and as many places that may have none, from the north."""
    with sqlite3.connect(path) as database:
        rows = database.execute("SELECT zoom_level, tile_column, tile_row FROM tiles").fetchall()
    found = set()
    for zoom, column, row in rows:
        found.add((zoom, column, (1 << zoom) - 1 - row))
        found.add((zoom, rng.randrange(1 << zoom), rng.randrange(1 << zoom)))
    side = lambda zoom: range(1 << zoom)
    return sorted(f"{z}/{x}/{y}" for z, x, y in found if x in side(z) and y in side(z))


class Packs(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ron-packs-")
        self.addCleanup(shutil.rmtree, self.folder)

    def path(self, name):
        return os.path.join(self.folder, name)

    def database(self, name, tables, metadata, fill):
        path = self.path(name)
        database = sqlite3.connect(path)
        database.executescript(tables)
        database.executemany("INSERT INTO metadata VALUES (?, ?)", metadata.items())
        fill(database)
        database.commit()
        database.close()
        return path

    def ours(self, file, places):
        """`Z/X/Y SHA-256 LENGTH` of each, through ron; lengths and absences in one go."""
        lines = ron("tile", file, "--hash", "--decoded", "-", given="\n".join(places).encode())
        seen = dict(line.split(" ", 1) for line in lines.decode().splitlines())
        self.assertEqual(set(seen), set(places))
        return seen

    def compare(self, mbtiles, sample=40):
        """The database, its conversion, and both npm readers say the same of every place."""
        rng = random.Random(1)
        pmtiles = self.path("converted.pmtiles")
        ron("convert", mbtiles, pmtiles, "--force")
        ron("verify", mbtiles, pmtiles)
        places = places_around(mbtiles, rng)
        listed = self.path("places")
        with open(listed, "w", encoding="utf-8") as file:
            file.write("\n".join(places))
        theirs = node("pmtiles", pmtiles, listed).splitlines()
        self.assertEqual(theirs, node("mbtiles", mbtiles, listed).splitlines())
        of_npm = dict(line.split(" ", 1) for line in theirs)
        self.assertGreater(sum(1 for text in of_npm.values() if text != "none"), len(places) // 4)
        ours = self.ours(pmtiles, places)
        self.assertEqual(ours, self.ours(mbtiles, places))
        for place in places:
            # The addresses are BLAKE3, theirs SHA-256: presence and length of all, bytes of some.
            self.assertEqual(of_npm[place].split()[-1], ours[place].split()[-1], place)
        for place in rng.sample(places, min(sample, len(places))):
            if of_npm[place] == "none":
                continue
            for file in (mbtiles, pmtiles):
                bytes_ = ron("tile", file, place, "--decoded", "-o", "-")
                self.assertEqual(hashlib.sha256(bytes_).hexdigest(), of_npm[place].split()[0], place)
        return pmtiles, places

    def test_countries_of_the_world(self):
        geojson, mbtiles = self.path("world.geojson"), self.path("world.mbtiles")
        node("geojson", geojson)
        subprocess.run(["ogr2ogr", "-f", "MBTILES", mbtiles, geojson, "-nln", "countries", "-dsco",
                        "MAXZOOM=4"], check=True, timeout=PATIENCE_S, capture_output=True)
        pmtiles, places = self.compare(mbtiles)
        self.assertGreater(len(places), 200)
        seen = json.loads(node("pmtiles-info", pmtiles))
        said = json.loads(ron("info", pmtiles, "--json"))
        self.assertEqual(seen["header"]["numAddressedTiles"], said["tiles"])
        self.assertEqual(seen["header"]["numTileContents"], said["contents"])
        self.assertEqual(seen["header"]["maxZoom"], said["maxzoom"])
        self.assertEqual(seen["metadata"], said["metadata"])
        self.assertEqual(seen["metadata"]["vector_layers"][0]["id"], "countries")

    def test_a_view_over_few_images(self):
        def fill(database):
            database.executemany("INSERT INTO images VALUES (?, ?)",
                                 ((str(i), gzip.compress(bytes([i]) * 50, mtime=0)) for i in range(9)))
            rng = random.Random(2)
            database.executemany(
                "INSERT INTO map VALUES (?, ?, ?, ?)",
                ((z, x, y, str(0 if rng.random() < 0.7 else rng.randrange(9)))
                 for z in range(6) for x in range(1 << z) for y in range(1 << z) if rng.random() < 0.8))

        pmtiles, _ = self.compare(self.database("view.mbtiles", SHARED_TABLES, {"format": "pbf"}, fill))
        said = json.loads(ron("info", pmtiles, "--json"))
        self.assertEqual(said["contents"], 9)
        self.assertGreater(said["tiles"], 900)

    def test_a_pack_with_leaf_directories(self):
        def fill(database):
            rng = random.Random(3)
            database.executemany(
                "INSERT INTO tiles VALUES (?, ?, ?, ?)",
                ((8, x, y, b"\x89PNG" + rng.randbytes(rng.randrange(1, 60)))
                 for x in range(256) for y in range(256) if rng.random() < 0.4))

        pmtiles, _ = self.compare(self.database("leaves.mbtiles", PLAIN_TABLES, {"format": "png"}, fill))
        header = json.loads(node("pmtiles-info", pmtiles))["header"]
        self.assertGreater(header["leafDirectoryLength"], 0)
        self.assertLessEqual(header["rootDirectoryOffset"] + header["rootDirectoryLength"], 16384)

    def test_output_is_whole_or_not_there(self):
        mbtiles = self.database("a.mbtiles", PLAIN_TABLES, {"format": "png"}, lambda database:
                                database.execute("INSERT INTO tiles VALUES (0, 0, 0, x'89504e47')"))
        out = self.path("a.pmtiles")
        ron("convert", mbtiles, out)
        ron("convert", mbtiles, out, status=1)
        ron("convert", mbtiles, out, "--force")
        broken = self.path("broken.mbtiles")
        with open(mbtiles, "rb") as file, open(broken, "wb") as copy:
            copy.write(file.read()[:5000])
        ron("convert", broken, self.path("b.pmtiles"), status=1)
        self.assertEqual(sorted(os.listdir(self.folder)), ["a.mbtiles", "a.pmtiles", "broken.mbtiles"])

    def test_what_is_wrong_is_said_in_one_line(self):
        path = self.path("bad.pmtiles")
        with open(path, "wb") as file:
            file.write(b"PMTiles\x03" + bytes(119))
        done = subprocess.run([OPTIONS.ron, "pack", "verify", path, self.path("absent")],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        first, second = done.stderr.splitlines()
        self.assertEqual(first, f"ron pack verify: {path}: there is no internal compression 0 (Malformed)")
        self.assertIn("No such file", second)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ron", required=True)
    parser.add_argument("--client", required=True)
    parser.add_argument("--work", required=True)
    OPTIONS, rest = parser.parse_known_args()
    install_client()
    unittest.main(argv=[sys.argv[0], *rest])
