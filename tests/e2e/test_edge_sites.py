"""Trees as web sites: from a folder to a URL in one command, what a browser and a cache ask of it,
names that move under load, restarts, and `ron edge` alone in front of another machine."""

import gzip
import hashlib
import json
import os
import pathlib
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import unittest

import ron
import service_case

MIB = 1 << 20
QUIET = {"edge.server.max_rps": 1000000, "edge.max_conns_per_ip": 1024}
QUIET_UP = {"gateway.server.max_rps": 1000000, "gateway.max_conns_per_ip": 1024,
            "gateway.drr.rate_limit_rps": 1000000, "storage.server.max_rps": 1000000,
            "index.server.max_rps": 1000000, **QUIET}
FOREVER = "public, max-age=31536000, immutable"


def noise(size, seed=7):
    return hashlib.shake_128(b"%d" % seed).digest(size)


def etag_of(body):
    return '"%s"' % ron.b3(body)


class Server(service_case.Server):
    def __init__(self, data=None, command="up", sets=None, **more):
        quiet = QUIET_UP if command == "up" else QUIET
        super().__init__("edge", data, command,
                         sets=dict(sets or {}) if more.get("config") else {**quiet, **(sets or {})},
                         **more)
        self.url = "http://%s:%d" % self.address
        self.admin_url = "http://%s:%d" % self.admin

    def fetch(self, path, headers=(), method="GET", connection=None):
        """As anybody may, without a capability."""
        return self.ask(method, path, headers=headers, auth=(), connection=connection)

    def operate(self, method, path, body=None, auth=None):
        with self.connect_admin() as connection:
            return self.ask(method, path, body, auth=auth, connection=connection)

    def add(self, site, target, **more):
        return self.operate("POST", "/admin/sites", {"site": site, "target": target}, **more)

    def remove(self, site, **more):
        return self.operate("DELETE", "/admin/sites/" + site, **more)

    def sites(self):
        return {each["site"]: each for each in self.fetch("/edge/sites").json()["sites"]}

    def ron(self, *words, **more):
        """`ron` as its operator calls it."""
        return ron.run_ron(*map(str, words), **more, env={
            "RON_URL": self.url, "RON_ADMIN_URL": self.admin_url, "RON_TOKEN": self.token})


class Case(service_case.Case):
    service = "edge"
    server_type = Server

    def setUp(self):
        super().setUp()
        self.work = pathlib.Path(tempfile.mkdtemp(prefix="ron-e2e-site-"))
        self.addCleanup(shutil.rmtree, self.work, ignore_errors=True)

    def write(self, path, body):
        file = self.work / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(body if isinstance(body, bytes) else body.encode())
        return file

    def done(self, result):
        code, out, err = result
        self.assertEqual((code, err), (0, ""))
        return out

    def put(self, server, directory, name):
        """The version and the address of the tree."""
        said = self.done(server.ron("put", "--quiet", self.work / directory, "--name", name)).split()
        return int(said[0].rsplit("@", 1)[1]), said[1]

    def shows(self, server, site, body, path="/"):
        ron.wait_until(f"{site} shows {body!r}", lambda: server.fetch(
            f"/edge/sites/{site}{path}").body == body)


class Newcomer(Case):
    def test_a_folder_becomes_a_web_site_in_one_command(self):
        self.write("public/index.html", "<h1>Hello</h1>")
        self.write("public/css/site.css", "h1 { color: teal }")
        server = self.start()
        said = self.done(server.ron("site", "add", "--quiet", "home", self.work / "public"))
        url = said.splitlines()[-1]
        self.assertEqual(url, server.url + "/edge/sites/home/")
        curl = subprocess.run(["curl", "-fsSL", url.rstrip("/")], capture_output=True, timeout=30,
                              check=True)
        self.assertEqual(curl.stdout, b"<h1>Hello</h1>")
        self.assertEqual(self.done(server.ron("site", "ls")),
                         f"home  sites/home@1  ready  2 files  {url}\n")
        listed = json.loads(self.done(server.ron("site", "ls", "--json")))
        self.assertEqual(listed, server.sites()["home"])
        # Again, changed.
        self.write("public/index.html", "<h1>Again</h1>")
        self.done(server.ron("site", "add", "--quiet", "home", self.work / "public"))
        self.assertEqual(server.fetch("/edge/sites/home/").body, b"<h1>Again</h1>")
        self.assertEqual(server.sites()["home"]["version"], 2)
        self.assertEqual(self.done(server.ron("site", "rm", "home")), "home  removed\n")
        self.refused(server.fetch("/edge/sites/home/"), 404, "NotFound")
        self.assertEqual(self.done(server.ron("site", "ls")), "")

    def test_the_keys_of_a_server_are_not_published(self):
        server = self.start()
        self.write("project/index.html", "<h1>Hello</h1>")
        self.write("project/.well-known/security.txt", "dots are published")
        self.write("project/keys/piano.key", "another kind of key")
        own = self.work / "project/ron-data"
        other = Server(str(own), "edge")
        other.close()
        self.assertTrue((own / "keys/admin.token").is_file())
        told = "the data directory of a server, with its keys; move it out of the folder"
        for folder in (self.work / "project", own, str(own) + "/"):
            for words in (("site", "add", "home", folder), ("put", folder),
                          ("put", folder, "--name", "sites/home")):
                with self.subTest(words=words):
                    code, _, err = server.ron(*words)
                    self.assertEqual(code, 1, err)
                    self.assertIn(told, err)
                    self.assertIn("project/ron-data", err)
        token = (own / "keys/admin.token").read_bytes()
        for folder in (own / "keys", self.work / "beside"):
            self.write(folder / "admin.token", token)
            code, _, err = server.ron("put", folder, "--name", "sites/home")
            self.assertEqual(code, 1, err)
            self.assertIn("the admin token of a server is in it", err)
        key = next((own / "keys").glob("*.key")).read_bytes()
        self.write("secrets/of/root.key", key)
        code, _, err = server.ron("put", self.work / "secrets", "--name", "sites/home")
        self.assertEqual(code, 1, err)
        self.assertIn("secrets/of: a root key of a server is in it; move root.key out", err)
        for secret in (token, key):
            self.assertEqual(server.fetch("/o/" + ron.b3(secret)).status, 404)
        self.refused(server.fetch("/names/sites/home"), 404, "NotFound")
        self.assertEqual(server.sites(), {})
        shutil.rmtree(own)
        self.done(server.ron("site", "add", "--quiet", "home", self.work / "project"))
        self.assertEqual(server.fetch("/edge/sites/home/.well-known/security.txt").status, 200)

    def test_a_link_that_leads_outside_is_left_out_or_followed(self):
        server = self.start()
        self.write("public/index.html", "<h1>Hello</h1>")
        self.write("shared/logo.svg", "<svg/>")
        (self.work / "public/logo.svg").symlink_to("../shared/logo.svg")
        code, _, err = server.ron("site", "add", "home", self.work / "public")
        self.assertEqual(code, 1)
        self.assertIn("public/logo.svg: a tree keeps links to places within it only", err)
        self.assertEqual(server.sites(), {})
        self.done(server.ron("site", "add", "--quiet", "--allow-skipped", "home", self.work / "public"))
        self.refused(server.fetch("/edge/sites/home/logo.svg"), 404, "NotFound")
        self.done(server.ron("site", "add", "--quiet", "--follow", "home", self.work / "public"))
        answer = server.fetch("/edge/sites/home/logo.svg")
        self.assertEqual((answer.status, answer.body), (200, b"<svg/>"))

    def test_a_browser_is_told_of_an_error_on_a_page(self):
        server = self.start()
        self.write("public/index.html", "x")
        self.done(server.ron("site", "add", "--quiet", "home", self.work / "public"))
        browser = ("Accept", "text/html,application/xhtml+xml,*/*;q=0.8")
        for path in ("/edge/sites/home/none", "/edge/sites/none/"):
            page = server.fetch(path, [browser])
            self.assertEqual(page.status, 404)
            self.assertEqual(page.get("Content-Type"), "text/html;charset=utf-8")
            self.assertIn("default-src 'none'", page.get("Content-Security-Policy"))
            self.assertIn(b"<h1>404 Not found</h1>", page.body)
            self.refused(server.fetch(path), 404, "NotFound")

    def test_what_ron_site_refuses(self):
        server = self.start()
        self.write("public/index.html", "x")
        self.write("a.page", "x")
        for words, code, says in (
                (("add", "home", "pubilc"), 1,
                 "home: 'pubilc' is no directory here, and the server has no such name (NotFound"),
                (("add", "home", "no/such/name@1"), 1,
                 "'no/such/name@1' is no directory here, and the server has no such name"),
                (("add", "home", ron.b3(b"no object")), 1, "(NotFound"),
                (("add", "home", "a.page"), 1,
                 "home: 'a.page' is a file here, and the server has no such name (NotFound"),
                (("add", "home", self.work / "a.page"), 2, "is a file here, and no name or address"),
                (("add", "home", "Neither Nor"), 2, "is no directory here, and no name"),
                (("add", "home", "docs", "--name", "x"), 2, "--name is for a directory"),
                (("add", "home", self.work / "public", "--name", "X"), 2, "--name: "),
                (("add", "home", self.work / "public", "--name", ""), 2, "--name: it is empty"),
                (("add", "Grüße", "docs"), 2, "a site is called"),
                (("add", "my site", self.work / "public"), 2, "'my site' cannot be in URLs: a site"),
                (("add", "", self.work / "public"), 2, "'' cannot be in URLs: a site"),
                (("add", "a" * 65, self.work / "public"), 2, "with at most 64 characters"),
                (("rm", "home"), 1, "home: there is no such site")):
            with self.subTest(words=words):
                got, out, err = server.ron("site", *words, cwd=self.work)
                self.assertEqual((got, out), (code, ""), err)
                self.assertIn(says, err)
                self.assertEqual(err.count("\n"), 1)
        # Nothing was stored before it was refused.
        self.refused(server.fetch("/names/sites/my%20site"), 404, "NotFound")
        self.assertEqual(server.fetch("/o/" + ron.b3(b"x")).status, 404)
        got, out, err = ron.run_ron("site", "add", "home", "docs", env={
            "RON_URL": server.url, "RON_ADMIN_URL": server.admin_url, "RON_TOKEN": ""})
        self.assertEqual((got, out), (1, ""))
        self.assertIn("Unauthorized", err)


class Pages(Case):
    """What a browser asks of a site: one for all tests, which change nothing."""

    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-e2e-site-"))
        cls.addClassCleanup(shutil.rmtree, cls.home, ignore_errors=True)
        cls.script = b"export const answer = 42;\n" * 400
        cls.large = noise(9 * MIB + 17)
        for path, body in (
                ("index.html", b"<h1>Index</h1>"), ("404.html", b"<h1>Nothing</h1>"),
                ("app.js", cls.script), ("app.js.gz", gzip.compress(cls.script, mtime=0)),
                ("app.js.br", b"pretends to be brotli"),
                ("app.js.zst", b"pretends to be Zstandard, and is longer"),
                ("docs/index.html", b"docs"), ("docs/404.html", b"no docs"),
                ("docs/deep/page.txt", b"deep"), ("docs/deep/other.txt", b"deeper"),
                ("plain", b"who knows"), ("Grüße & more.txt", "grüße".encode()),
                ("empty.bin", b""), ("large.bin", cls.large)):
            file = cls.home / "w" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(body)
        (cls.home / "w/none").mkdir()
        os.symlink("docs", cls.home / "w/manual")
        os.symlink("../app.js", cls.home / "w/docs/app.js")
        cls.server = Server(str(cls.home / "data"), "up")
        cls.addClassCleanup(lambda: cls.server.close())
        code, said, err = cls.server.ron("put", "--quiet", cls.home / "w", "--name", "web/site")
        assert code == 0, err
        for site, target in (("s", "web/site"), ("fixed", said.split()[1])):
            assert cls.server.add(site, target).status == 201

    def get(self, path, headers=(), **more):
        return self.server.fetch("/edge/sites/s" + path, headers, **more)

    def test_files_and_what_they_are(self):
        for path, kind, body in (
                ("/", "text/html; charset=utf-8", b"<h1>Index</h1>"),
                ("/index.html", "text/html; charset=utf-8", b"<h1>Index</h1>"),
                ("/app.js", "text/javascript; charset=utf-8", self.script),
                ("/app.js.gz", "application/gzip", gzip.compress(self.script, mtime=0)),
                ("/docs/", "text/html; charset=utf-8", b"docs"),
                ("/docs/deep/page.txt", "text/plain; charset=utf-8", b"deep"),
                ("/manual/", "text/html; charset=utf-8", b"docs"),
                ("/manual/deep/page.txt", "text/plain; charset=utf-8", b"deep"),
                ("/manual/app.js", "text/javascript; charset=utf-8", self.script),
                ("/plain", "application/octet-stream", b"who knows"),
                ("/Gr%C3%BC%C3%9Fe%20&%20more.txt", "text/plain; charset=utf-8", "grüße".encode()),
                ("/empty.bin", "application/octet-stream", b""),
                ("/large.bin", "application/octet-stream", self.large)):
            for again in (False, True):
                with self.subTest(path=path, again=again):
                    response = self.get(path)
                    self.assertEqual((response.status, response.body), (200, body))
                    self.assertEqual(response.get("Content-Type"), kind)
                    self.assertEqual(response.get("ETag"), etag_of(body))
                    self.assertEqual(response.get("Accept-Ranges"), "bytes")
                    self.assertEqual(response.get("Cache-Control"), "no-cache")
                    self.assertEqual(response.get("X-Content-Type-Options"), "nosniff")
                    self.assertIsNone(response.get("Content-Encoding"))
                    head = self.get(path, method="HEAD")
                    self.assertEqual((head.status, head.body), (200, b""))
                    same = [(key, value) for key, value in response.headers
                            if key not in ("X-Corr-ID", "Date")]
                    self.assertEqual([(key, value) for key, value in head.headers
                                      if key not in ("X-Corr-ID", "Date")], same)

    def test_head_of_what_nobody_has_asked_for_loads_nothing(self):
        before = self.server.metrics().value("edge_loads_total")
        path = "/docs/deep/other.txt"
        self.assertEqual(self.get(path, method="HEAD").get("Content-Length"), "6")
        self.assertEqual(self.get(path, [("If-None-Match", etag_of(b"deeper"))]).status, 304)
        self.assertEqual(self.server.metrics().value("edge_loads_total"), before)

    def test_addresses_never_change(self):
        response = self.server.fetch("/edge/sites/fixed/index.html")
        self.assertEqual(response.get("Cache-Control"), FOREVER)
        self.assertEqual(response.get("ETag"), etag_of(b"<h1>Index</h1>"))
        self.assertEqual(self.server.fetch("/edge/sites/fixed/none/x").get("Cache-Control"),
                         "no-cache")
        self.assertNotIn("version", self.server.sites()["fixed"])

    def test_directories_are_redirected_to_with_their_slash(self):
        for path, location in (("", "s/"), ("/docs", "docs/"), ("/docs/deep", "deep/"),
                               ("/docs?a=1&b=%20", "docs/?a=1&b=%20"), ("/manual", "manual/"),
                               ("/none", "none/"), ("?x", "s/?x")):
            with self.subTest(path=path):
                response = self.get(path)
                self.assertEqual((response.status, response.get("Location")), (308, location))
                self.assertEqual(response.get("Cache-Control"), "no-cache")
                self.assertEqual(self.get(path, method="HEAD").get("Location"), location)

    def test_what_is_missing_has_the_nearest_page(self):
        for path, body in (("/nothing", b"<h1>Nothing</h1>"), ("/none/", b"<h1>Nothing</h1>"),
                           ("/index.html/", b"<h1>Nothing</h1>"), ("/docs/x/y", b"no docs"),
                           ("/manual/x", b"no docs"), ("/app.js/x", b"<h1>Nothing</h1>")):
            for _ in range(2):
                with self.subTest(path=path):
                    response = self.get(path, [("Range", "bytes=0-1"), ("If-None-Match", "*")])
                    self.assertEqual((response.status, response.body), (404, body))
                    self.assertEqual(response.get("Content-Type"), "text/html; charset=utf-8")
                    self.assertEqual(response.get("Cache-Control"), "no-cache")
                    self.assertIsNone(response.get("ETag"))
                    head = self.get(path, method="HEAD")
                    self.assertEqual((head.status, head.body), (404, b""))

    def test_nothing_outside_of_the_tree(self):
        for path in ("/../secret", "/%2e%2e/secret", "/docs/..%2f..%2fx", "/docs//index.html",
                     "/..", "/docs/%5c..%5cx", "/%00"):
            with self.subTest(path=path):
                self.refused(self.get(path), 400, "Malformed")
        self.refused(self.server.fetch("/edge/sites/none/"), 404, "NotFound")
        self.refused(self.server.fetch("/edge/sites/none"), 404, "NotFound")
        self.assertEqual(self.server.ask("DELETE", "/edge/sites/s/index.html").status, 405)

    def test_stored_codings(self):
        packed = {name: (self.home / f"w/app.js.{end}").read_bytes()
                  for name, end in (("gzip", "gz"), ("br", "br"), ("zstd", "zst"))}
        for accepts, coding in (
                (None, None), ("", None), ("identity", None), ("deflate", None), ("gzip", "gzip"),
                ("x-gzip", "gzip"), ("GZIP;q=1.0", "gzip"), ("gzip;q=0", None), ("br", "br"),
                ("zstd", "zstd"), ("gzip, br", "br"), ("gzip, zstd", "zstd"), ("gzip;q=1, br;q=0.5", "gzip"),
                ("gzip;q=0.2, br;q=0, zstd;q=0.3", "zstd"), ("*", "br"), ("*;q=0", None),
                ("*, br;q=0, zstd;q=0", "gzip"), ("identity;q=1, gzip;q=0.5", None),
                ("gzip;q=0.000", None), ("gzip;q=nonsense", None), (", ,gzip ;q=0.5", "gzip")):
            for _ in range(2):
                with self.subTest(accepts=accepts):
                    headers = [] if accepts is None else [("Accept-Encoding", accepts)]
                    response = self.get("/app.js", headers)
                    body = packed[coding] if coding else self.script
                    self.assertEqual((response.status, response.body), (200, body))
                    self.assertEqual(response.get("Content-Encoding"), coding)
                    self.assertEqual(response.get("Vary"), "Accept-Encoding")
                    self.assertEqual(response.get("ETag"), etag_of(body))
                    self.assertEqual(response.get("Content-Type"), "text/javascript; charset=utf-8")
                    tag = [("If-None-Match", etag_of(body))]
                    self.assertEqual(self.get("/app.js", headers + tag).status, 304)
        self.assertIsNone(self.get("/plain", [("Accept-Encoding", "gzip")]).get("Vary"))
        # Its own name, its own type.
        asked = self.get("/app.js.gz", [("Accept-Encoding", "gzip")])
        self.assertIsNone(asked.get("Content-Encoding"))
        self.assertEqual(asked.get("Content-Type"), "application/gzip")
        part = self.get("/app.js", [("Accept-Encoding", "br"), ("Range", "bytes=0-7")])
        self.assertEqual((part.status, part.body, part.get("Content-Encoding")),
                         (206, b"pretends", "br"))
        curl = subprocess.run(["curl", "-fsS", "-H", "Accept-Encoding: gzip", "--compressed",
                               self.server.url + "/edge/sites/s/app.js"],
                              capture_output=True, timeout=30, check=True)
        self.assertEqual(curl.stdout, self.script)

    def test_ranges_and_conditions(self):
        for path, body in (("/app.js", self.script), ("/large.bin", self.large)):
            size = len(body)
            tag = etag_of(body)
            for headers, status, expected in (
                    ([("Range", "bytes=0-0")], 206, body[:1]),
                    ([("Range", "bytes=5-9")], 206, body[5:10]),
                    ([("Range", "bytes=-3")], 206, body[-3:]),
                    ([("Range", f"bytes={size - 2}-")], 206, body[-2:]),
                    ([("Range", f"bytes=1-{size * 2}")], 206, body[1:]),
                    ([("Range", f"bytes={size}-")], 416, None),
                    ([("Range", "bytes=9-5")], 400, None),
                    ([("Range", "bytes=5-9"), ("If-Range", tag)], 206, body[5:10]),
                    ([("Range", "bytes=5-9"), ("If-Range", '"other"')], 200, body),
                    ([("Range", "bytes=5-9"), ("If-Range", "W/" + tag)], 200, body),
                    ([("If-None-Match", tag)], 304, b""),
                    ([("If-None-Match", "W/" + tag)], 304, b""),
                    ([("If-None-Match", f'"a", {tag}')], 304, b""),
                    ([("If-None-Match", "*")], 304, b""),
                    ([("If-None-Match", '"other"')], 200, body),
                    ([("If-Match", tag)], 200, body),
                    ([("If-Match", '"other"')], 412, None)):
                with self.subTest(path=path, headers=headers):
                    response = self.get(path, headers)
                    self.assertEqual(response.status, status)
                    if expected is not None:
                        self.assertEqual(response.body, expected)
                        self.assertEqual(response.get("ETag"), tag)
                    if status == 206:
                        first = body.index(expected) if len(expected) > 4 else None
                        self.assertRegex(response.get("Content-Range"), rf"bytes \d+-\d+/{size}")
                        if first is not None:
                            self.assertEqual(response.get("Content-Range"),
                                             f"bytes {first}-{first + len(expected) - 1}/{size}")
                    if status == 416:
                        self.assertEqual(response.get("Content-Range"), f"bytes */{size}")


class Files(Case):
    """Where the bytes come from."""

    def test_without_memory_files_are_streamed(self):
        bodies = {"small.bin": noise(70_000), "large.bin": noise(9 * MIB)}
        for name, body in bodies.items():
            self.write("w/" + name, body)
        server = self.start({"cache.ram_bytes": "0"})
        self.put(server, "w", "web/site")
        self.assertEqual(server.add("s", "web/site").status, 201)
        for name, body in bodies.items():
            for headers, expected in (((), body), ([("Range", "bytes=100-199")], body[100:200])):
                self.assertEqual(server.fetch("/edge/sites/s/" + name, headers).body, expected)
        self.assertEqual(server.metrics().value("edge_memory_bytes"), 0)

    def test_a_file_that_is_gone_from_storage_is_no_mistake_of_the_client(self):
        self.write("w/plain", "who knows")
        self.write("w/index.html", "one")
        server = self.start()
        self.put(server, "w", "web/site")
        self.assertEqual(server.add("s", "web/site").status, 201)
        address = ron.b3(b"who knows")
        self.assertEqual(server.ask("DELETE", "/o/" + address).status, 204)
        details = self.refused(server.fetch("/edge/sites/s/plain"), 502, "UpstreamFail")
        self.assertEqual(details["address"], address)
        self.assertEqual(server.fetch("/edge/sites/s/plain", method="HEAD").status, 200)
        self.assertEqual(server.fetch("/edge/sites/s/").status, 200)


    def test_files_that_are_not_stored_are_told(self):
        self.write("w/css/a.css", "style")
        self.write("w/index.html", "one")
        server = self.start({"sites_check": "100ms"})
        self.put(server, "w", "web/site")
        self.assertEqual(server.add("s", "web/site").status, 201)
        self.assertNotIn("missing_files", server.sites()["s"])
        self.assertEqual(server.readyz().json()["missing"], [])
        self.assertEqual(server.ask("DELETE", "/o/" + ron.b3(b"style")).status, 204)
        ron.wait_until("the list says what is missing", lambda: server.sites()["s"].get(
            "missing_files") == 1)
        self.assertEqual(server.sites()["s"]["first_missing"], "css/a.css")
        self.assertRegex(self.done(server.ron("site", "ls")),
                         r"  \(1 file is not stored, first css/a\.css\)\n\Z")
        state = server.readyz().json()
        self.assertEqual((state["ready"], state["degraded"]), (True, True))
        self.assertEqual([each for each in state["missing"] if "site" in each],
                         ["svc-edge: sites: s misses 1 file"])
        self.assertEqual(server.metrics().value("edge_site_files_missing", site="s"), 1)
        self.assertEqual(server.fetch("/edge/sites/s/").status, 200)
        server.wait_log("files of a site are not stored", site="s", files=1, first="css/a.css")
        self.put(server, "w", "web/again")  # the same file is stored once more
        ron.wait_until("nothing is missing", lambda: "missing_files" not in server.sites()["s"])
        self.assertEqual(server.readyz().json()["missing"], [])
        self.assertEqual(self.done(server.ron("site", "ls")).count("not stored"), 0)


class Stopping(Case):
    """What keeps a process busy ends with it."""

    DEPTH = 250
    LINKS = 40_000
    HOPS = 8

    def test_a_site_that_is_being_read_does_not_keep_the_process(self):
        deep = "/".join(["d"] * self.DEPTH)
        page = {"address": ron.b3(b"page"), "length": 4, "path": deep + "/page",
                "type": "text/plain"}
        # Each stands before the one it leads to.
        links = [{"link": f"h{i + 1}", "path": f"h{i}"} for i in range(self.HOPS)]
        links += [{"link": deep, "path": f"h{self.HOPS}"}]
        links += [{"link": deep + "/nothing", "path": f"l{i:05}"} for i in range(self.LINKS)]
        manifest = json.dumps({"entries": [page, *links], "ron": "manifest/1"},
                              separators=(",", ":")).encode()
        server = Server(self.data, sets={f"{service}.drain_deadline": "1s" for service in
                                         ("gateway", "storage", "index", "registry", "edge")})
        self.addCleanup(server.close)
        file = self.write("manifest", manifest)
        address = self.done(server.ron("put", "--quiet", file)).split()[0]
        self.assertEqual(address, ron.b3(manifest))
        with server.connect_admin() as waiting:
            waiting.send(ron.request("POST", "/admin/sites", [server.auth],
                                     json.dumps({"site": "s", "target": address}).encode()))
            time.sleep(0.5)  # wherever it is by then: the process ends
            signalled = time.monotonic()
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait_exit(), 0)
        self.assertLess(time.monotonic() - signalled, 1 + 10 * ron.SLOW)


class Operators(Case):
    def test_who_may_and_what_is_refused(self):
        server = self.start()
        self.write("w/index.html", "x")
        self.put(server, "w", "web/site")
        wrong = (server.scoped("index:admin", "storage:admin", "gateway:admin"),)
        right = (server.scoped("edge:admin"),)
        for act in (lambda auth: server.add("s", "web/site", auth=auth),
                    lambda auth: server.remove("s", auth=auth)):
            self.refused(act(()), 401, "Unauthorized")
            self.refused(act(wrong), 403, "Forbidden")
            self.assertIn(act(right).status, (200, 201))
        self.assertEqual(server.ask("POST", "/admin/sites", {"site": "s", "target": "web/site"}).status,
                         404)
        for site, target in (("", "web"), ("a b", "web"), ("a/b", "web"), (".a", "web"),
                             ("x" * 65, "web"), ("s", ""), ("s", "Bad"), ("s", "web//x"),
                             ("s", "x" * 1100)):
            self.refused(server.add(site, target), 400, "Malformed")
        self.refused(server.add("s", "b3:12"), 400, "BadAddress")
        for body in ({}, {"site": "s"}, {"site": "s", "target": 1}, [],
                     {"site": "s", "target": "web/site", "more": 1}):
            self.refused(server.operate("POST", "/admin/sites", body), 400, "Malformed")
        self.refused(server.add("s", "web/none"), 404, "NotFound")
        self.refused(server.add("s", "web/site@7"), 404, "NotFound")
        self.refused(server.add("s", ron.b3(b"nothing")), 404, "NotFound")
        self.refused(server.add("s", ron.b3(b"x")), 400, "Malformed")  # a file, and no manifest
        self.refused(server.remove("s"), 404, "NotFound")
        self.assertEqual(server.sites(), {})

    def test_changes_are_audited(self):
        server = self.start()
        self.write("w/index.html", "one")
        self.put(server, "w", "web/site")
        self.assertEqual(server.add("s", "web/site").status, 201)
        mounted = server.wait_log("site mounted", subject="s")
        self.assertTrue(mounted["token"])
        self.write("w/index.html", "two")
        self.put(server, "w", "web/site")
        server.wait_log("site switched", subject="s")
        server.ask("DELETE", "/names/web/site")
        server.wait_log("site failed", subject="s")
        self.assertEqual(server.remove("s").status, 200)
        self.assertTrue(server.wait_log("site removed", subject="s")["token"])

    def test_what_was_added_survives_a_restart_and_a_kill(self):
        server = self.start()
        self.write("w/index.html", "one")
        _, address = self.put(server, "w", "web/site")
        self.assertEqual(server.add("s", "web/site").status, 201)
        self.assertEqual(server.add("s", "web/site").status, 200)
        self.assertEqual(server.add("fixed", address).status, 201)
        self.assertEqual(server.add("gone", "web/site@1").status, 201)
        self.assertEqual(server.remove("gone").status, 200)
        before = server.sites()
        server = self.restart(server)
        self.assertEqual(server.fetch("/edge/sites/s/").body, b"one")
        self.assertEqual(server.sites(), before)
        server.signal(9)
        server.wait_exit()
        server.close()
        server = self.start()
        self.assertEqual(server.fetch("/edge/sites/fixed/").body, b"one")
        self.assertEqual(server.sites(), before)
        self.assertEqual(server.stop(), 0)
        server.close()
        book = pathlib.Path(self.data) / "edge/sites.json"
        self.assertEqual(book.stat().st_mode & 0o777, 0o600)
        book.write_text(book.read_text()[:-5])
        code, _, err = ron.run_ron("up", "--data", self.data, "--bind", "127.0.0.1:0", "--admin",
                                   "127.0.0.1:0")
        self.assertEqual(code, 1)
        self.assertIn(str(book) + " is damaged", err)

    def test_in_amnesia_nothing_is_kept(self):
        with Server(None, "up") as server:
            self.write("w/index.html", "one")
            self.put(server, "w", "web/site")
            self.assertEqual(server.add("s", "web/site").status, 201)
            self.assertEqual(server.fetch("/edge/sites/s/").body, b"one")

    def test_sites_of_the_configuration(self):
        text = """
[gateway]
bind = "127.0.0.1:0"
admin = "127.0.0.1:0"
server.max_rps = 100000
[edge]
sites_refresh = "50ms"
%s
"""
        site = '[[edge.sites]]\nname = "%s"\ntarget = "%s"\n'
        server = self.start(config=text % (site % ("s", "web/site")))
        self.refused(server.fetch("/edge/sites/s/"), 404, "NotFound")
        self.assertEqual(server.sites()["s"]["state"], "unavailable")
        self.write("w/index.html", "one")
        _, address = self.put(server, "w", "web/site")
        self.shows(server, "s", b"one")
        self.assertEqual(server.sites()["s"]["source"], "ron.toml")
        self.refused(server.add("s", "web/other"), 403, "NotAllowed")
        self.refused(server.remove("s"), 403, "NotAllowed")
        server.reload(text % (site % ("t", address)))
        self.shows(server, "t", b"one")
        ron.wait_until("s is gone", lambda: server.fetch("/edge/sites/s/").status == 404)
        self.assertEqual(server.fetch("/edge/sites/t/").get("Cache-Control"), FOREVER)
        # The same tree under a name, which others must ask for again.
        server.reload(text % (site % ("t", "web/site")))
        ron.wait_until("t follows a name", lambda: server.fetch(
            "/edge/sites/t/").get("Cache-Control") == "no-cache")
        for bad in ('[[edge.sites]]\nname = "a b"\ntarget = "web"\n',
                    '[[edge.sites]]\nname = "a"\ntarget = "Bad"\n',
                    2 * (site % ("twice", "web/site")), 'origin = "ftp://x"\n'):
            server.reload(text % bad, "reload refused, the old configuration stays")
        self.assertEqual(server.fetch("/edge/sites/t/").body, b"one")


class Moving(Case):
    def test_a_name_that_moves_switches_and_can_go_back(self):
        server = self.start({"sites_refresh": "50ms"})
        self.write("w/index.html", "one")
        _, first = self.put(server, "w", "web/site")
        self.assertEqual(server.add("s", "web/site").status, 201)
        self.assertEqual(server.add("pinned", "web/site@1").status, 201)
        self.write("w/index.html", "two")
        self.write("w/new.html", "new")
        _, second = self.put(server, "w", "web/site")
        self.shows(server, "s", b"two")
        self.assertEqual(server.fetch("/edge/sites/s/new.html").body, b"new")
        self.assertEqual((server.sites()["s"]["address"], server.sites()["s"]["version"]),
                         (second, 2))
        self.done(server.ron("name", "set", "web/site", first, "--type",
                             "application/vnd.ron.manifest+json"))
        self.shows(server, "s", b"one")
        self.assertEqual(server.fetch("/edge/sites/s/new.html").status, 404)
        self.assertEqual(server.sites()["s"]["version"], 3)
        pinned = server.fetch("/edge/sites/pinned/")
        self.assertEqual((pinned.body, pinned.get("Cache-Control")), (b"one", FOREVER))

    def test_what_cannot_be_shown_leaves_what_is_shown(self):
        server = self.start({"sites_refresh": "50ms"})
        self.write("w/index.html", "one")
        _, address = self.put(server, "w", "web/site")
        self.assertEqual(server.add("s", "web/site").status, 201)

        def stale(why):
            ron.wait_until(why, lambda: why in server.sites()["s"].get("error", ""))
            site = server.sites()["s"]
            self.assertEqual((site["state"], site["address"]), ("stale", address))
            self.assertEqual(server.fetch("/edge/sites/s/").body, b"one")
            self.assertIn(why, self.done(server.ron("site", "ls")))

        stored = server.ask("POST", "/o", b"no manifest").json()["address"]
        self.done(server.ron("name", "set", "web/site", stored))
        stale("the target is no manifest")
        self.done(server.ron("name", "set", "web/site", ron.b3(b"never stored")))
        stale("is not stored")
        self.done(server.ron("name", "rm", "web/site"))
        stale("there is no such name")
        self.done(server.ron("name", "set", "web/site", address))
        ron.wait_until("it is ready", lambda: server.sites()["s"]["state"] == "ready")

    def test_answers_never_mix_two_trees(self):
        """Each tree's pages say which one they are of, and so do the tags; a page and its range are
        of the same one."""
        server = self.start({"sites_refresh": "10ms"})
        trees = []
        for number in range(2):
            body = b"%d" % number * 50_000
            self.write("w/index.html", body)
            self.write("w/index.html.gz", gzip.compress(body, mtime=0))
            self.write("w/only-%d.txt" % number, body)
            (self.work / ("w/only-%d.txt" % (1 - number))).unlink(missing_ok=True)
            trees.append(self.put(server, "w", "web/site")[1])
        self.assertEqual(server.add("s", "web/site").status, 201)
        bodies = [b"%d" % number * 50_000 for number in range(2)]
        tags = {etag_of(body): body for body in bodies}
        packed = {etag_of(gzip.compress(body, mtime=0)): gzip.compress(body, mtime=0)
                  for body in bodies}
        stop = threading.Event()
        seen = set()
        failures = []

        def ask():
            with server.connect() as connection:
                while not stop.is_set():
                    whole = server.fetch("/edge/sites/s/", connection=connection)
                    part = server.fetch("/edge/sites/s/", [("Range", "bytes=10-19")],
                                        connection=connection)
                    zipped = server.fetch("/edge/sites/s/", [("Accept-Encoding", "gzip")],
                                          connection=connection)
                    seen.add(whole.get("ETag"))
                    if tags.get(whole.get("ETag")) != whole.body:
                        failures.append("whole")
                    if tags.get(part.get("ETag"), b"")[10:20] != part.body:
                        failures.append("part")
                    if packed.get(zipped.get("ETag")) != zipped.body:
                        failures.append("zipped")

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        try:
            for switch in range(30):
                response = server.ask("PUT", "/names/web/site", {"target": trees[switch % 2]})
                self.assertEqual(response.status, 200)
                self.shows(server, "s", bodies[switch % 2])
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(seen, set(tags))


class Alone(Case):
    """`ron edge` with another machine's names and objects."""

    def edge(self, sets=None, data=None):
        server = Server(data, "edge", sets={f"edge.{key}": value
                                            for key, value in dict(sets or {}).items()})
        self.addCleanup(server.close)
        return server

    def test_it_shows_what_its_origin_has(self):
        origin = self.start()
        large = noise(9 * MIB)
        self.write("w/index.html", "one")
        self.write("w/large.bin", large)
        self.write("w/huge.bin", noise(12 * MIB))
        _, address = self.put(origin, "w", "web/site")
        edge = self.edge({"origin": origin.url, "sites_refresh": "50ms",
                          "fill.max_object_bytes": "10MiB"})
        self.assertEqual(edge.add("s", "web/site").status, 201)
        self.assertEqual(edge.add("fixed", address).status, 201)
        self.assertEqual(edge.fetch("/edge/sites/s/").body, b"one")
        self.assertEqual(edge.fetch("/edge/sites/s/large.bin").body, large)
        part = edge.fetch("/edge/sites/s/large.bin", [("Range", "bytes=5000000-5000009")])
        self.assertEqual((part.status, part.body), (206, large[5000000:5000010]))
        self.refused(edge.fetch("/edge/sites/s/huge.bin"), 413, "BodyCap")
        self.write("w/index.html", "two")
        self.put(origin, "w", "web/site")
        self.shows(edge, "s", b"two")
        self.assertEqual(edge.fetch("/edge/sites/fixed/").body, b"one")
        # The origin goes away: what is in memory is shown, the rest is an error, the site stays.
        origin.signal(9)
        origin.wait_exit()
        self.assertEqual(edge.fetch("/edge/sites/s/").body, b"two")
        self.refused(edge.fetch("/edge/sites/s/large.bin"), 502, "UpstreamFail")
        ron.wait_until("it is stale", lambda: edge.sites()["s"]["state"] == "stale")
        self.assertEqual(edge.fetch("/edge/sites/s/", [("If-None-Match", etag_of(b"two"))]).status,
                         304)

    def test_files_that_its_origin_does_not_have_are_told(self):
        origin = self.start()
        self.write("w/index.html", "one")
        self.write("w/large.bin", noise(9 * MIB))
        self.put(origin, "w", "web/site")
        edge = self.edge({"origin": origin.url, "sites_check": "100ms"})
        self.assertEqual(edge.add("s", "web/site").status, 201)
        self.assertEqual(origin.ask("DELETE", "/o/" + ron.b3(noise(9 * MIB))).status, 204)
        ron.wait_until("the list says what is missing",
                       lambda: edge.sites()["s"].get("first_missing") == "large.bin")
        ron.wait_until("readiness says it", lambda: edge.readyz().json()["missing"] == [
            "sites: s misses 1 file"])
        self.assertEqual(edge.readyz().status, 200)
        # What nobody can tell any more is left as it was.
        origin.signal(9)
        origin.wait_exit()
        ron.wait_until("it is stale", lambda: edge.sites()["s"]["state"] == "stale")
        self.assertEqual(edge.sites()["s"]["missing_files"], 1)

    def test_slow_readers_of_large_files_hold_up_nobody(self):
        origin = self.start()
        large = noise(24 * MIB)  # more than the kernel takes for somebody who does not read
        self.write("w/large.bin", large)
        self.put(origin, "w", "web/site")
        edge = self.edge({"origin": origin.url})
        self.assertEqual(edge.add("s", "web/site").status, 201)
        self.assertEqual(edge.fetch("/edge/sites/s/large.bin").body, large)
        for _ in range(12):
            connection = edge.connect()
            self.addCleanup(connection.close)
            connection.send(ron.request("GET", "/edge/sites/s/large.bin"))
            ron.wait_until("it has begun", lambda: select.select([connection.socket], [], [], 0)[0])
        self.assertEqual(edge.fetch("/edge/sites/s/large.bin").body, large)

    def test_an_origin_that_asks_for_a_capability(self):
        origin = self.start()
        self.write("w/index.html", "one")
        self.put(origin, "w", "web/site")
        origin = self.restart(origin, config='[gateway]\nbind = "127.0.0.1:0"\nadmin = '
                              '"127.0.0.1:0"\n[auth]\npublic_reads = false\n')
        edge = self.edge({"origin": origin.url})
        self.assertNotIn(edge.add("s", "web/site").status, (200, 201))
        token = self.write("token", origin.token + "\n")
        edge = self.edge({"origin": origin.url, "origin_token_path": token})
        self.assertEqual(edge.add("s", "web/site").status, 201)
        self.assertEqual(edge.fetch("/edge/sites/s/").body, b"one")

    def test_an_origin_is_not_believed(self):
        """Bytes that do not have their address never leave."""
        files = {}

        class Liar:
            def __init__(self):
                self.listener = socket.create_server(("127.0.0.1", 0))
                self.url = "http://127.0.0.1:%d" % self.listener.getsockname()[1]
                threading.Thread(target=self.serve, daemon=True).start()

            def serve(self):
                while True:
                    try:
                        client, _ = self.listener.accept()
                    except OSError:
                        return
                    with client:
                        head = client.recv(65536).decode()
                        body = files.get(head.split(" ")[1].removeprefix("/o/"), b"")
                        client.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n"
                                       b"Connection: close\r\n\r\n" % len(body) + body)

        liar = Liar()
        self.addCleanup(liar.listener.close)
        entries = [{"address": ron.b3(b"true"), "length": 4, "path": "a.txt", "type": "text/plain"},
                   {"address": ron.b3(b"short"), "length": 9, "path": "b.txt", "type": "text/plain"}]
        manifest = json.dumps({"entries": entries, "ron": "manifest/1"}, sort_keys=True,
                              separators=(",", ":")).encode()
        files[ron.b3(manifest)] = manifest
        files[ron.b3(b"true")] = b"lies"
        files[ron.b3(b"short")] = b"short"
        files[ron.b3(b"other manifest")] = manifest
        edge = self.edge({"origin": liar.url})
        self.refused(edge.add("s", ron.b3(b"other manifest")), 502, "IntegrityFail")
        self.assertEqual(edge.add("s", ron.b3(manifest)).status, 201)
        self.refused(edge.fetch("/edge/sites/s/a.txt"), 502, "IntegrityFail")
        self.refused(edge.fetch("/edge/sites/s/b.txt"), 502, "IntegrityFail")
        files[ron.b3(b"true")] = b"true"
        self.assertEqual(edge.fetch("/edge/sites/s/a.txt").body, b"true")

    def test_a_folder_is_put_at_its_origin(self):
        origin = self.start()
        edge = self.edge({"origin": origin.url})
        for number in range(20):
            self.write(f"public/{number}.html", f"page {number}")
        code, out, err = edge.ron("site", "add", "home", self.work / "public")
        self.assertEqual((code, out), (1, ""))
        self.assertRegex(err, r"\Aron put: sites/home: this server stores nothing under names; put it "
                         r"at one that does \(--url\), for an edge its origin, and then: ron site add "
                         r"SITE sites/home \(NotFound, corr \w+\)\n\Z")
        # As it says.
        self.done(origin.ron("put", "--quiet", self.work / "public", "--name", "sites/home"))
        self.done(edge.ron("site", "add", "home", "sites/home"))
        self.assertEqual(edge.fetch("/edge/sites/home/7.html").body, b"page 7")

    def test_without_an_origin_sites_are_unavailable(self):
        edge = self.edge()
        # Workers may still be starting.
        ron.wait_until("nothing is missed", lambda: edge.readyz().json()["missing"] == [])
        details = edge.add("s", "web/site")
        self.refused(details, 503, "Degraded")
        self.assertIn("edge.origin", details.json()["error"]["message"])
        edge = self.edge({"sites": '[{name = "s", target = "web/site"}]'})
        self.refused(edge.fetch("/edge/sites/s/"), 503, "Degraded")
        ron.wait_until("the origin is missed",
                       lambda: edge.readyz().json()["missing"] == ["edge.origin"])
        self.assertEqual(edge.sites()["s"]["state"], "unavailable")

    def test_an_origin_that_is_away_when_it_starts(self):
        with socket.create_server(("127.0.0.1", 0)) as nobody:
            port = nobody.getsockname()[1]
        began = time.monotonic()
        edge = self.edge({"origin": f"http://127.0.0.1:{port}", "sites_refresh": "50ms",
                          "sites": '[{name = "s", target = "web/site"}]'})
        self.assertLess(time.monotonic() - began, 30 * ron.SLOW)
        self.refused(edge.fetch("/edge/sites/s/"), 503, "Degraded")
        edge.wait_log("site failed", subject="s")

        def misses(*what):
            state = edge.readyz().json()
            return (state["missing"] == list(what) and state["degraded"] == bool(what)
                    and state["ready"] and state["write_ready"])

        silent = "sites: the origin does not answer"
        ron.wait_until("the origin is missed", lambda: misses(silent))
        self.write("w/index.html", "one")
        origin = self.start(bind=f"127.0.0.1:{port}")
        self.put(origin, "w", "web/site")
        ron.wait_until("the site is shown", lambda: edge.fetch("/edge/sites/s/").body == b"one",
                       timeout=60)
        ron.wait_until("nothing is missed", misses)
        origin.stop()
        ron.wait_until("the origin is missed again", lambda: misses(silent), timeout=60)
        self.assertEqual(edge.fetch("/edge/sites/s/").body, b"one")


if __name__ == "__main__":
    unittest.main()
