"""What browsers are told with every answer of ours, whatever service it is of and however it comes:
bytes that strangers gave us are what their Content-Type says, and no script for looking like one.
"""

import pathlib
import random
import subprocess
import tempfile
import unittest

import edge
import gateway
import gateway_origin
import index
import origin
import packs
import registry
import ron
import storage

MIB = 1 << 20
PAGE = b"<script>alert(1)</script>"


class Told(edge.LiveCase):
    def told(self, response, statuses=(200,)):
        self.assertIn(response.status, statuses, response.body[:300])
        values = [value for name, value in response.headers
                  if name.lower() == "x-content-type-options"]
        self.assertEqual(values, ["nosniff"], response.headers)

    def ask(self, server, method, path, *headers, body=None, statuses=(200,)):
        with server.connect() as connection:
            response = connection.ask(method, path, [server.auth, *headers], body)
        self.told(response, statuses)
        return response

    def objects(self, server):
        address = self.ask(server, "POST", "/o", body=PAGE,
                           statuses=(200, 201)).json()["address"]
        path = "/o/" + address
        self.ask(server, "PUT", path, body=PAGE)
        for method in ("GET", "HEAD"):
            self.ask(server, method, path)
        self.ask(server, "GET", path, ("Range", "bytes=0-5"), statuses=(206,))
        self.ask(server, "GET", path, ("If-None-Match", f'"{address}"'), statuses=(304,))
        self.ask(server, "GET", path, ("Range", "bytes=99-"), statuses=(416,))
        self.ask(server, "GET", "/o/b3:" + 64 * "0", statuses=(404,))
        self.ask(server, "GET", "/o/x", statuses=(400,))
        # In pieces, from the disk.
        large, data = server.put_large() if hasattr(server, "put_large") else (None, None)
        if large:
            self.assertTrue(self.ask(server, "GET", large).body == data)
            self.ask(server, "GET", large, ("Range", "bytes=5-99999"), statuses=(206,))
        upload = self.ask(server, "POST", "/uploads", body=b'{"length":5}', statuses=(201,))
        self.ask(server, "GET", upload.get("Location"))
        self.ask(server, "DELETE", path, statuses=(204,))

    def names(self, server):
        target = index.address_of("x")
        self.ask(server, "PUT", "/names/n", body=b'{"target":"%s","type":"text/html",'
                 b'"meta":{"a":"<script>"}}' % target.encode(), statuses=(201,))
        tag = self.ask(server, "GET", "/names/n").get("ETag")
        self.ask(server, "GET", "/names/n", ("If-None-Match", tag), statuses=(304,))
        for path in ("/names", "/names/n?history=1", "/resolve/n", "/providers/" + target):
            self.ask(server, "GET", path, statuses=(200, 404))

    def test_each_service_alone(self):
        with storage.Server() as server:
            self.objects(server)
        with index.Server() as server:
            self.names(server)
        with registry.Server(self.data) as server:
            self.ask(server, "GET", "/registry/head")
            self.ask(server, "GET", "/registry/state")
        server = self.live()
        self.assets(server)
        for path in ("/healthz", "/readyz", "/version", "/nothing"):
            self.ask(server, "GET", path, statuses=(200, 404))
        for path in ("/metrics", "/debug/topology", "/admin/cache"):
            self.told(server.ask_admin("GET", path))

    def assets(self, server):
        self.origin.say("/page", origin.Resource(PAGE, "Cache-Control: max-age=60",
                                                 "Content-Type: text/plain"))
        self.origin.say("/own", origin.Resource(PAGE, "X-Content-Type-Options: sniff-away"))
        self.origin.say("/large", origin.Resource(random.Random(1).randbytes(9 * MIB),
                                                  "Cache-Control: max-age=60"))
        for path in ("/page", "/own", "/large"):
            path = edge.asset_path(self.origin, path)
            for _ in range(2):
                tag = self.ask(server, "GET", path).get("ETag")
            self.ask(server, "GET", path, ("If-None-Match", tag), statuses=(304,))
            self.ask(server, "GET", path, ("Range", "bytes=0-1"), statuses=(206,))
        self.ask(server, "GET", edge.asset_path(self.origin, "/none"), statuses=(404,))

    def test_all_of_them_behind_the_gateway(self):
        home = tempfile.TemporaryDirectory(prefix="ron-e2e-browsers-")
        self.addCleanup(home.cleanup)
        home = pathlib.Path(home.name)
        (home / "site").mkdir()
        (home / "site" / "a.txt").write_bytes(PAGE + b" of a site")
        (home / "site" / "large.txt").write_bytes(random.Random(2).randbytes(9 * MIB))
        packs.write(home / "p.pmtiles", packs.pmtiles(
            {(0, 0, 0): PAGE}, compression=packs.NONE, type=packs.PNG))
        sets = {**self.live_sets(), "sites": edge.rows({"name": "s", "target": "docs"}),
                "packs": edge.rows({"name": "p", "path": home / "p.pmtiles"})}
        server = edge.Server(self.data, command="up",
                             sets={f"edge.{key}": value for key, value in sets.items()})
        self.addCleanup(server.close)
        url = "http://%s:%d" % server.address
        subprocess.run([ron.BINARY, "put", str(home / "site"), "--name", "docs", "--url", url,
                        "--token", str(server.token_path)], check=True, capture_output=True,
                       timeout=ron.START_S)
        self.objects(server)
        self.names(server)
        self.assets(server)
        self.ask(server, "GET", "/registry/head")
        ron.wait_until("the site is mounted",
                       lambda: server.fetch("/edge/sites/s/a.txt").status == 200)
        ron.wait_until("the pack is mounted",
                       lambda: server.fetch("/edge/tiles/p.json").status == 200)
        for path in ("/edge/sites/s/a.txt", "/edge/sites/s/large.txt", "/edge/packs/p.pmtiles",
                     "/edge/tiles/p/0/0/0.png"):
            for _ in range(2):
                self.ask(server, "GET", path)
            self.ask(server, "GET", path, ("Range", "bytes=0-1"), statuses=(206,))
        for path in ("/edge/tiles/p.json", "/edge/packs", "/edge/sites/s/none", "/edge/preview/p"):
            self.ask(server, "GET", path, statuses=(200, 404, 501))

    def test_answers_of_other_servers_stay_as_they_are(self):
        upstream = gateway_origin.Origin(
            says=lambda peer, request: peer.answer(b"x", "X-Content-Type-Options: nosniff"),
            silent=lambda peer, request: peer.answer(b"x"))
        self.addCleanup(upstream.close)
        server = gateway.Server([{"prefix": path, "upstream": upstream.url}
                                 for path in ("/says", "/silent")])
        self.addCleanup(server.close)
        for path, values in (("/says", ["nosniff"]), ("/silent", [])):
            with server.connect() as connection:
                response = connection.ask("GET", path)
            self.assertEqual((response.status, [
                value for name, value in response.headers
                if name.lower() == "x-content-type-options"]), (200, values))


if __name__ == "__main__":
    unittest.main()
