"""Copies of the data directories as of one moment, taken while objects are stored, removed and
compacted: a server started on one has everything that was acknowledged before it was asked for."""

import json
import os
import random
import shutil
import tempfile
import threading
import unittest

import ron
import storage

SETS = {"storage.server.max_rps": 100000, "storage.min_free_bytes": "1MiB",
        "storage.segment_bytes": "16MiB"}


class Snapshots(unittest.TestCase):
    def setUp(self):
        self.home = tempfile.mkdtemp(prefix="ron-e2e-data-")
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)

    def start(self, data=None, sets=None):
        server = storage.Server(sets={**SETS, **(sets or {})}, data=data)
        self.addCleanup(server.close)
        ron.wait_until("it is ready", lambda: self.ask(server, "GET", "/readyz").status == 200)
        return server

    @staticmethod
    def ask(server, method, path, body=None, admin=False, auth=True):
        with server.connect_admin() if admin else server.connect() as connection:
            return connection.ask(method, path, [server.auth] if auth else [], body)

    def snapshot(self, server, name):
        return self.ask(server, "POST", "/admin/snapshot", json.dumps({"name": name}).encode(), True)

    def listed(self, server):
        return self.ask(server, "GET", "/admin/snapshot", admin=True).json()["snapshots"]

    def refused(self, response, status, code):
        self.assertEqual((response.status, response.code), (status, code), response.body)

    def check(self, path, in_place, kept, gone):
        """A server on the snapshot or on a copy of it has the objects; `ron verify` agrees."""
        code, out, err = ron.run_ron("verify", "--data", path)
        self.assertEqual(code, 0, out + err)
        other = tempfile.mkdtemp(dir=self.home)
        sets = {"storage.data_dirs": json.dumps([path])} if in_place else {}
        if not in_place:
            shutil.copytree(path, other + "/storage")
        with self.start(other, sets) as second, second.connect() as connection:
            for address, data in kept.items():
                response = connection.ask("GET", "/o/" + address)
                self.assertEqual((response.status, response.body == data), (200, True), address)
            for address in gone:
                self.assertEqual(connection.ask("GET", "/o/" + address).status, 404, address)
            self.assertEqual(connection.ask("POST", "/o", [second.auth], b"more").status, 201)

    def test_everything_acknowledged_before_is_there(self):
        server = self.start(self.home + "/data")
        lock = threading.Lock()
        kept, gone = {}, set()
        large = random.Random(5).randbytes(3 * storage.PART + 9)
        kept[server.upload(large)] = large

        def work(worker):
            noise = random.Random(os.urandom(8))
            with server.connect() as connection:
                for turn in range(40):
                    data = noise.randbytes(noise.choice((100, 20000, 300000)))
                    stored = connection.ask("POST", "/o", [server.auth], data)
                    assert stored.status == 201, stored.body
                    address = stored.json()["address"]
                    if turn % 2:
                        removed = connection.ask("DELETE", "/o/" + address, [server.auth])
                        assert removed.status == 204, removed.body
                    with lock:
                        if turn % 2:
                            gone.add(address)
                        else:
                            kept[address] = data
            if worker == 0:
                self.ask(server, "POST", "/admin/compact", b"", True)

        load = ron.Load(3, work)
        snapshots = []
        for number in range(4):
            ron.wait_until("there is more", lambda n=number: len(kept) > 25 * (n + 1))
            with lock:
                before = dict(kept), set(gone)
            made = self.snapshot(server, f"s{number}")
            self.assertEqual(made.status, 201, made.body)
            snapshots.append((made.json(), *before))
        self.assertEqual(load.finish(), [])
        self.ask(server, "POST", "/admin/compact", b"", True)
        self.assertEqual(self.listed(server), [made for made, _, _ in snapshots])
        for number, (made, then_kept, then_gone) in enumerate(snapshots):
            self.assertEqual((made["name"], len(made["paths"])), (f"s{number}", 1))
            self.assertGreater(made["bytes"], sum(map(len, then_kept.values())))
            path = made["paths"][0]
            self.assertEqual(len(os.listdir(path + "/segments")), made["segments"])
            self.check(path, number % 2 == 0, then_kept, then_gone)
        with server.connect() as connection:
            for address, data in kept.items():
                self.assertTrue(connection.ask("GET", "/o/" + address).body == data, address)
        self.assertEqual(server.stop(), 0, server.log_text())

    def test_names_are_strict_and_used_once(self):
        server = self.start(self.home + "/data")
        server.put(b"something")
        made = self.snapshot(server, "a-1.x_y")
        self.assertEqual((made.status, made.get("Location")), (201, "/admin/snapshot/a-1.x_y"))
        self.refused(self.snapshot(server, "a-1.x_y"), 412, "PreconditionFailed")
        for name in ("", ".", "..", "../x", "A", "a/b", "-a", "a" * 64, "\u00e4", 7, None):
            self.refused(self.snapshot(server, name), 400, "Malformed")
        for body in (b"", b"{}", b"[]", b'{"name":"x","more":1}', b'{"name":"x","name":"x"}'):
            self.refused(self.ask(server, "POST", "/admin/snapshot", body, True), 400, "Malformed")
        self.assertEqual([each["name"] for each in self.listed(server)], ["a-1.x_y"])
        path = "/admin/snapshot/a-1.x_y"
        self.assertEqual(self.ask(server, "DELETE", path, admin=True, auth=False).status, 401)
        self.assertEqual(self.ask(server, "DELETE", path).status, 404)  # on the admin listener only
        self.assertEqual(self.ask(server, "DELETE", path, admin=True).status, 204)
        self.refused(self.ask(server, "DELETE", path, admin=True), 404, "NotFound")
        self.assertEqual(self.listed(server), [])
        self.assertEqual(os.listdir(os.path.dirname(made.json()["paths"][0])), [])

    def test_every_data_directory_has_one_or_none_has(self):
        config = ('[storage]\nbind = "127.0.0.1:0"\nadmin = "127.0.0.1:0"\nmin_free_bytes = "1MiB"\n'
                  f'data_dirs = ["{self.home}/one", "{self.home}/two"]\n')
        with storage.Server(config=config, data=self.home + "/data") as server:
            address = server.put(b"something")
            made = self.snapshot(server, "both").json()
            self.assertEqual(made["paths"], [f"{self.home}/{each}/snapshots/both"
                                             for each in ("one", "two")])
            os.mkdir(f"{self.home}/two/snapshots/half")
            self.refused(self.snapshot(server, "half"), 412, "PreconditionFailed")
            self.assertEqual(os.listdir(f"{self.home}/one/snapshots"), ["both"])
            self.assertEqual(self.ask(server, "GET", "/o/" + address).body, b"something")

    def test_in_memory_there_is_nothing_to_copy(self):
        server = self.start()
        for response in (self.snapshot(server, "a"),
                         self.ask(server, "GET", "/admin/snapshot", admin=True),
                         self.ask(server, "DELETE", "/admin/snapshot/a", admin=True)):
            self.refused(response, 404, "NotFound")
            self.assertIn("amnesia", response.json()["error"]["message"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
