"""tools/bundle-web: what it takes from npm is what package.json says or the build fails with a reason,
and once packages are there nothing is downloaded. No network: the only package is made here.

Run by ctest; by hand: bundle_test.py
"""
import base64
import hashlib
import io
import json
import os
import pathlib
import re
import subprocess
import tarfile
import tempfile
import time
import unittest
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
NOWHERE = {"npm_config_registry": "http://127.0.0.1:9/", "npm_config_offline": "false"}
RUN_S = 60


def archive(files):
    """An npm package with these files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo("package/" + name)
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    return out.getvalue()


class Bundle(unittest.TestCase):
    def setUp(self):
        work = tempfile.TemporaryDirectory(prefix="ron-bundle-")
        self.addCleanup(work.cleanup)
        self.work = pathlib.Path(work.name)
        self.cache = self.work / "cache"
        self.web = self.work / "web"
        self.web.mkdir()
        self.cache.mkdir()
        self.package = archive({
            "package.json": json.dumps({"license": "MIT", "author": {"name": "Someone"}}).encode(),
            "LICENSE": b"Do as you like.", "dist/lib.js": b"lib();\n" * 50 + b"//# sourceMappingURL=lib.js.map\n"})
        digest = base64.b64encode(hashlib.sha512(self.package).digest()).decode()
        self.describe("sha512-" + digest)
        (self.web / "page.html").write_text("<script src={{file:lib.js}}></script><p>{{pack}}")

    def describe(self, integrity):
        (self.web / "package.json").write_text(json.dumps({
            "dependencies": {"some-lib": "1.2.3"}, "integrity": {"some-lib": integrity},
            "bundle": {"some-lib": ["dist/lib.js"]}}))

    def bundle(self):
        return subprocess.run([ROOT / "tools/bundle-web", self.web, self.cache, self.work / "out"],
                              capture_output=True, text=True, timeout=RUN_S, check=False,
                              env={**os.environ, **NOWHERE})

    def keep_package(self, damage=b""):
        (self.cache / "some-lib-1.2.3.tgz").write_bytes(self.package + damage)

    def test_what_is_kept_needs_no_network(self):
        self.keep_package()
        done = self.bundle()
        self.assertEqual(done.returncode, 0, done.stderr)
        head, _, rest = (self.work / "out").read_bytes().partition(b"\n\n")
        first, *listed = head.decode().split("\n")
        self.assertEqual(first, "ron-web 1")
        files = {}
        for line in listed:
            name, kind, tag, *lengths = line.split(" ")
            parts = []
            for length in map(int, lengths):
                parts.append(rest[:length])
                rest = rest[length:]
            files[re.sub(r"\.[0-9a-f]{16}\.", ".", name)] = (name, kind, tag, parts)
        self.assertEqual(rest, b"")
        self.assertEqual(sorted(files), ["lib.js", "licenses.txt", "page.html"])
        name, kind, tag, (plain, gzip, brotli) = files["lib.js"]
        self.assertIn(tag, name)
        self.assertEqual(kind, "text/javascript;charset=utf-8")
        self.assertEqual(plain.strip(), b"lib();\n" * 49 + b"lib();")
        self.assertEqual(zlib.decompress(gzip, 31), plain)
        decoded = subprocess.run(["brotli", "-d"], input=brotli, capture_output=True, check=True)
        self.assertEqual(decoded.stdout, plain)
        self.assertEqual(files["page.html"][3][0].decode(), f"<script src={name}></script><p>{{{{pack}}}}")
        self.assertIn(b"some-lib 1.2.3, MIT, by Someone\n\nDo as you like.", files["licenses.txt"][3][0])

    def test_the_same_files_make_the_same_bundle(self):
        self.keep_package()
        self.assertEqual(self.bundle().returncode, 0)
        first = (self.work / "out").read_bytes()
        self.assertEqual(self.bundle().returncode, 0)
        self.assertEqual((self.work / "out").read_bytes(), first)

    def test_without_a_network_it_fails_with_a_way_out(self):
        began = time.monotonic()
        done = self.bundle()
        self.assertEqual(done.returncode, 1)
        self.assertIn("npm did not deliver some-lib@1.2.3", done.stderr)
        self.assertIn("-DRON_PREVIEW=OFF", done.stderr)
        self.assertFalse((self.work / "out").exists())
        self.assertLess(time.monotonic() - began, RUN_S)

    def test_other_bytes_than_package_json_says_are_not_used(self):
        self.keep_package(damage=b"\0")
        done = self.bundle()
        self.assertEqual(done.returncode, 1, "it is fetched again, which fails here")
        self.assertFalse((self.work / "out").exists())

    def test_a_page_that_wants_what_is_not_there_is_an_error(self):
        self.keep_package()
        (self.web / "page.html").write_text("{{file:other.js}}")
        done = self.bundle()
        self.assertEqual(done.returncode, 1)
        self.assertIn("page.html wants other.js, which is not there", done.stderr)


if __name__ == "__main__":
    unittest.main()
