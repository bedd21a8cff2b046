"""The map preview in a real browser: headless Chromium against `ron up`, at the size of a desk and of
a phone, in light and in dark. Tiles must be on the screen, the console silent, the policy unbroken,
and no request may leave the machine.

With RON_SCREENSHOTS=1 the pictures of docs/images are made anew. Needs chromium, ogr2ogr and npm.
"""

import json
import os
import pathlib
import sqlite3
import struct
import subprocess
import tempfile
import unittest
import zlib

import chromium
import ron
import service_case

ROOT = pathlib.Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs/images"
NPM_CACHE = os.environ.get("RON_NPM_CACHE", str(ROOT / "build/release/npm"))
WRITE_IMAGES = os.environ.get("RON_SCREENSHOTS") == "1"
IMAGE_BYTES = 200 << 10
MAKE_S = 120 * ron.SLOW
DESK, PHONE = (1024, 640), (390, 720)
TOUCH_PX = 44
RASTER_COLOR = (200, 60, 120)

STATE = "document.documentElement.dataset.state"
NAMES = """[...new Set(ron.map.queryRenderedFeatures({layers: ron.map.getStyle().layers
    .filter((each) => each.source === 'tiles').map((each) => each.id)})
    .map((each) => each.sourceLayer + '/' + each.properties.name))].sort()"""


def feature(name, kind, coordinates):
    return {"type": "Feature", "properties": {"name": name},
            "geometry": {"type": kind, "coordinates": coordinates}}


def make_shapes(directory):
    """An MBTiles with one area, one line and one point around 8° east, 47° north."""
    layers = {
        "lakes": feature("Blue", "Polygon", [[[7.9, 46.9], [8.1, 46.9], [8.1, 47.1], [7.9, 47.1],
                                              [7.9, 46.9]]]),
        "roads": feature("Long", "LineString", [[7.5, 46.8], [8.5, 46.8]]),
        "towns": feature("Small", "Point", [8.3, 47.05]),
    }
    for name, one in layers.items():
        file = directory / f"{name}.geojson"
        file.write_text(json.dumps({"type": "FeatureCollection", "features": [one]}))
        subprocess.run(["ogr2ogr", "-f", "GPKG", "-update", "-append", "-nln", name,
                        directory / "shapes.gpkg", file], check=True, timeout=MAKE_S)
    subprocess.run(["ogr2ogr", "-f", "MBTILES", "-dsco", "NAME=Shapes", "-dsco", "MINZOOM=4", "-dsco",
                    "MAXZOOM=9", directory / "shapes.mbtiles", directory / "shapes.gpkg"],
                   check=True, timeout=MAKE_S)
    return directory / "shapes.mbtiles"


def png(color, side=256):
    """A square of one colour."""
    def chunk(kind, data):
        return struct.pack("!I", len(data)) + kind + data + struct.pack("!I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes(color) * side) * side
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack("!2I5B", side, side, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


def make_raster(path):
    database = sqlite3.connect(path)
    database.executescript("CREATE TABLE metadata (name text, value text);"
                           "CREATE TABLE tiles (zoom_level integer, tile_column integer,"
                           " tile_row integer, tile_data blob);"
                           "CREATE UNIQUE INDEX place ON tiles (zoom_level, tile_column, tile_row);")
    database.executemany("INSERT INTO metadata VALUES (?, ?)", [
        ("name", "Plain"), ("format", "png"), ("minzoom", "0"), ("maxzoom", "1"),
        ("bounds", "-180,-85,180,85")])
    tile = png(RASTER_COLOR)
    for zoom in (0, 1):
        for at in range(4 ** zoom):
            database.execute("INSERT INTO tiles VALUES (?, ?, ?, ?)",
                             (zoom, at % 2 ** zoom, at // 2 ** zoom, tile))
    database.commit()
    database.close()


class EdgePreview(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        work = tempfile.TemporaryDirectory(prefix="ron-preview-")
        cls.addClassCleanup(work.cleanup)
        directory, maps = pathlib.Path(work.name), pathlib.Path(work.name) / "maps"
        maps.mkdir()
        shapes = make_shapes(directory)
        subprocess.run([ROOT / "tools/demo-map", "110m", NPM_CACHE, directory / "world.mbtiles"],
                       check=True, timeout=MAKE_S)
        subprocess.run([ron.BINARY, "pack", "convert", directory / "world.mbtiles",
                        maps / "world.pmtiles"], check=True, timeout=MAKE_S, capture_output=True)
        make_raster(directory / "plain.mbtiles")
        for made in (shapes, directory / "plain.mbtiles"):
            made.rename(maps / made.name)
        cls.server = service_case.Server("edge", command="up", sets={"edge.packs_dir": maps})
        cls.addClassCleanup(cls.server.close)
        ron.wait_until("all packs are mounted", lambda: [
            each["state"] for each in cls.server.get("/edge/packs")["packs"]] == ["mounted"] * 3)
        cls.origin = "http://{}:{}".format(*cls.server.address)
        cls.browser = chromium.Chromium()
        cls.addClassCleanup(cls.browser.close)
        cls.page = cls.browser.page()

    def show(self, pack, size=DESK, dark=False, at=""):
        """Opens a pack's map and waits until nothing is left to draw."""
        self.page.look_like(*size, phone=size == PHONE, dark=dark)
        self.page.open("about:blank")
        self.page.open(f"{self.origin}/edge/preview/{pack}{at}")
        self.page.wait_for(f"['ready', 'failed'].includes({STATE})")
        self.assertEqual(self.page.evaluate(STATE), "ready", self.problem())

    def problem(self):
        return self.page.evaluate("document.getElementById('problem').innerText")

    def assert_well_behaved(self):
        self.assertEqual(self.page.complaints, [])
        self.assertEqual(self.page.failures, [])
        strangers = [url for url in self.page.requests
                     if not url.startswith((self.origin + "/", "data:", f"blob:{self.origin}/"))]
        self.assertEqual(strangers, [])
        self.assertEqual(self.page.evaluate("document.getElementById('toast').innerText.trim()"), "")
        workers = [url for url in self.page.workers if not url.startswith(self.origin + "/edge/preview/-/")]
        self.assertEqual(workers, [])

    def assert_fits(self):
        """Nothing to scroll to the side, and nothing too small for a finger."""
        self.assertEqual(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)
        small = self.page.evaluate(
            "[...document.querySelectorAll('button, #layers label, summary')]"
            ".map((each) => [each.id || each.className || each.innerText, each.getBoundingClientRect()])"
            f".filter(([, box]) => box.width > 0 && Math.min(box.width, box.height) < {TOUCH_PX})"
            ".map(([name, box]) => [name, box.width, box.height])")
        self.assertEqual(small, [])

    def picture(self, name, size):
        if not WRITE_IMAGES:
            return
        IMAGES.mkdir(exist_ok=True)
        scale = 0.5 if size == PHONE else 1  # a phone's pixels are half as large
        taken = self.page.screenshot(scale, x=0, y=0, width=size[0], height=size[1])
        self.assertLess(len(taken), IMAGE_BYTES)
        (IMAGES / name).write_bytes(taken)

    def urls(self, part):
        return [url for url in self.page.requests if part in url]

    def test_pmtiles_are_drawn_from_ranges_of_the_file(self):
        colors = set()
        for size, dark, image in ((DESK, False, "edge-map.png"), (PHONE, True, "edge-map-phone.png")):
            with self.subTest(image=image):
                self.show("world", size, dark)
                names = self.page.evaluate(NAMES)
                self.assertLessEqual({"countries/Brazil", "countries/Egypt", "labels/Brazil"}, set(names))
                self.assertTrue(self.urls("/edge/packs/world.pmtiles"))
                self.assertEqual(self.urls("/edge/tiles/world/"), [])
                self.assert_well_behaved()
                self.assert_fits()
                # In the middle of Algeria, and in the Atlantic.
                land, sea = (self.color_at(*place) for place in ((2.5, 28.5), (-30, 10)))
                self.assertNotEqual(land, sea)
                colors |= {land, sea}
                self.picture(image, size)
        self.assertEqual(len(colors), 4, "light and dark differ")

    def color_at(self, longitude, latitude):
        x, y = self.page.evaluate(
            f"(() => {{ const p = ron.map.project([{longitude}, {latitude}]); return [p.x, p.y]; }})()")
        return self.page.color(x, y)

    def test_mbtiles_are_drawn_tile_by_tile(self):
        for size, dark in ((DESK, True), (PHONE, False)):
            with self.subTest(size=size):
                self.show("shapes", size, dark)
                self.assertEqual(self.page.evaluate(NAMES), ["lakes/Blue", "roads/Long", "towns/Small"])
                self.assertTrue(self.urls("/edge/tiles/shapes/"))
                self.assertEqual(self.urls("/edge/packs/"), [])
                self.assertNotEqual(self.color_at(8, 47), self.color_at(8.3, 47.15))
                self.assert_well_behaved()
                self.assert_fits()

    def test_images_are_drawn_as_they_are(self):
        self.show("plain")
        self.assertEqual(self.color_at(20, 20), RASTER_COLOR)
        self.assert_well_behaved()

    def test_a_click_or_a_tap_shows_what_is_there(self):
        for size in (DESK, PHONE):
            with self.subTest(size=size):
                self.show("shapes", size)
                x, y = self.page.evaluate("(() => { const p = ron.map.project([8.02, 47.02]);"
                                          " return [p.x, p.y]; })()")
                (self.page.tap if size == PHONE else self.page.click)(x, y)
                said = self.page.wait_for("document.getElementById('feature-body').innerText")
                self.assertIn("Blue", said)
                self.assertIn("lakes", said)
                self.assert_fits()
                self.page.evaluate("document.getElementById('feature-close').click()")
                self.assertTrue(self.page.evaluate("document.getElementById('feature').hidden"))
                self.assert_well_behaved()

    def test_layers_can_be_hidden_and_stay_so_in_the_dark(self):
        self.show("shapes")
        lake = self.color_at(8, 47)
        self.page.evaluate("document.querySelector('input[data-layer=lakes]').click()")
        self.page.wait_for(f"!{NAMES}.includes('lakes/Blue')")
        ground = ron.wait_until("the lake is gone", lambda: [
            color for color in [self.color_at(8, 47)] if color != lake])[0]
        self.page.look_like(*DESK, dark=True)
        night = ron.wait_until("the ground is dark", lambda: [
            color for color in [self.color_at(8, 47)] if color != ground])[0]
        self.assertLess(sum(night), sum(ground))
        self.page.wait_for(f"{STATE} === 'ready'")
        self.assertEqual(self.page.evaluate(NAMES), ["roads/Long", "towns/Small"])
        self.page.evaluate("document.querySelector('input[data-layer=lakes]').click()")
        self.page.wait_for(f"{NAMES}.includes('lakes/Blue')")
        self.assert_well_behaved()

    def test_the_address_keeps_the_place(self):
        self.show("world", at="#4/47/8")
        self.assertEqual(self.page.evaluate("Math.round(ron.map.getZoom())"), 4)
        self.assertIn("countries/Switzerland", self.page.evaluate(NAMES))
        self.assert_well_behaved()

    def test_a_missing_pack_is_said_with_what_there_is(self):
        self.page.look_like(*PHONE, phone=True)
        self.page.open(f"{self.origin}/edge/preview/mars")
        self.page.wait_for(f"{STATE} === 'failed'")
        self.assertIn("There is no pack “mars” here", self.problem())
        links = self.page.evaluate("[...document.querySelectorAll('#problem a')].map((each) => each.href)")
        self.assertEqual(links, [f"{self.origin}/edge/preview/{each}" for each in ("plain", "shapes", "world")])
        self.assert_fits()

    def test_a_name_does_not_become_markup(self):
        self.page.look_like(*DESK)
        self.page.open(f"{self.origin}/edge/preview/%22%3E%3Cimg%20src=x%20onerror=alert(1)%3E")
        self.page.wait_for(f"{STATE} === 'failed'")
        self.assertIn("<img src=x onerror=alert(1)>", self.problem())
        self.assertEqual(self.page.evaluate("document.images.length"), 0)

    def test_the_policy_lets_nothing_else_in_or_out(self):
        """What the other tests look for is found when it happens."""
        self.show("shapes")
        self.page.evaluate("fetch('http://192.0.2.1/').catch(() => 0)")
        ron.wait_until("the request is noticed", lambda: (
            self.page.evaluate("0") == 0 and any("192.0.2.1" in each for each in self.page.complaints)))
        for script in ("new Worker(URL.createObjectURL(new Blob(['']))) && 0",
                       "document.head.append(Object.assign(document.createElement('script'),"
                       " {textContent: 'window.ran = 1'}))"):
            self.page.complaints.clear()
            self.page.evaluate(script)
            ron.wait_until(script, lambda: self.page.evaluate("0") == 0 and self.page.complaints)
        self.assertIsNone(self.page.evaluate("window.ran"))

    def test_a_browser_without_graphics_is_told(self):
        browser = chromium.Chromium(webgl=False)
        self.addCleanup(browser.close)
        page = browser.page()
        page.open(f"{self.origin}/edge/preview/world")
        page.wait_for(f"{STATE} === 'failed'")
        self.assertIn("WebGL", page.evaluate("document.getElementById('problem').innerText"))


if __name__ == "__main__":
    unittest.main()
