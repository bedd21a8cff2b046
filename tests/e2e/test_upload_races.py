"""Everything that may happen to an upload at once: looked at on pipelined connections, committed
twice, its parts put again, aborted, its object deleted, by two tenants. In memory and on disk; under
ThreadSanitizer, `make tsan-paths` looks for what such clients cannot see."""

import concurrent.futures
import json
import random
import shutil
import tempfile
import threading
import time
import unittest

import ron
import storage

PARTS = 40
LENGTH = (PARTS - 1) * storage.PART + 1000
ROUNDS = 2 if ron.SANITIZED else 4
TENANTS = ("red", "blue")
PIPELINED = 300


class Races(unittest.TestCase):
    """In memory; below, the same on disk."""

    on_disk = False

    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="ron-e2e-data-") if self.on_disk else None
        if self.data:
            self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
        self.server = self.start()

    def start(self):
        server = storage.Server(data=self.data, sets={
            "storage.server.max_rps": 100000, "storage.min_free_bytes": "1MiB",
            "storage.cache_bytes": "512MiB", "storage.read_timeout": "60s",
            "storage.write_timeout": "60s"})
        self.addCleanup(server.close)
        return server

    def auth(self, tenant):
        return ("Authorization", "Bearer " + ron.attenuate(self.server.token, f"tenant = {tenant}"))

    def ask(self, tenant, method, path, body=None):
        with self.server.connect() as connection:
            return connection.ask(method, path, [self.auth(tenant)], body)

    def begin(self, tenant, length):
        begun = self.ask(tenant, "POST", "/uploads", json.dumps({"length": length}).encode())
        self.assertEqual(begun.status, 201, begun.body)
        return begun.get("Location")

    def put_all(self, tenant, path, data):
        with self.server.connect() as connection:
            for number, at in enumerate(range(0, len(data), storage.PART)):
                done = connection.ask("PUT", f"{path}/{number}", [self.auth(tenant)],
                                      data[at:at + storage.PART])
                self.assertEqual(done.status, 200, done.body)

    def pipeline(self, tenant, method, path, count, body=None):
        """The same request many times over one connection, all sent before the first answer."""
        with self.server.connect() as connection:
            connection.send(ron.request(method, path, [self.auth(tenant)], body) * count)
            return [connection.read_response() for _ in range(count)]

    def views(self, tenant, path, parts):
        """Looks until the upload is gone: it is seen with all of its parts, and then never again."""
        end = time.monotonic() + ron.REPLY_S
        gone = False
        while not gone and time.monotonic() < end:
            for response in self.pipeline(tenant, "GET", path, PIPELINED):
                self.assertIn(response.status, (200, 404), response.body)
                self.assertFalse(gone and response.status == 200, "an upload came back")
                gone = response.status == 404
                if not gone:
                    self.assertEqual(response.json()["arrived"], [[0, parts - 1]])
        self.assertTrue(gone, "the upload stays")

    def together(self, *calls):
        """Runs all at once; their results in order."""
        barrier = threading.Barrier(len(calls))

        def run(call, *arguments):
            barrier.wait()
            return call(*arguments)

        with concurrent.futures.ThreadPoolExecutor(len(calls)) as pool:
            running = [pool.submit(run, *call) for call in calls]
            return [each.result() for each in running]

    def reads(self, address, data):
        with self.server.connect() as connection:
            response = connection.ask("GET", "/o/" + address)
            self.assertEqual((response.status, response.body == data), (200, True))

    def other(self, tenant):
        return TENANTS[1 - TENANTS.index(tenant)]

    # Each tenant commits 40 parts twice at once while they are looked at and put again.
    def commit_round(self, tenant, data):
        path = self.begin(tenant, len(data))
        self.put_all(tenant, path, data)
        first = data[:storage.PART]
        commit = (self.ask, tenant, "POST", path + "/commit", b"")
        *_, again, foreign, one, two = self.together(
            (self.views, tenant, path, PARTS), (self.views, tenant, path, PARTS),
            (self.views, tenant, path, PARTS), (self.ask, tenant, "PUT", path + "/0", first),
            (self.ask, self.other(tenant), "POST", path + "/commit", b""), commit, commit)
        self.assertIn(again.status, (200, 404), again.body)
        self.assertEqual(foreign.status, 404, foreign.body)
        answer = {"address": ron.b3(data), "length": len(data)}
        for done in (one, two, self.ask(tenant, "POST", path + "/commit", b"")):
            self.assertEqual((done.status, done.json()), (201, answer), done.body)
        self.reads(answer["address"], data)
        return path, answer["address"]

    def test_commits_while_everyone_looks(self):
        noise = random.Random(1)
        base = noise.randbytes(LENGTH)

        def play(tenant, seed):
            for turn in range(ROUNDS):
                data = base[:-16] + f"{seed:>8}{turn:>8}".encode()
                path, address = self.commit_round(tenant, data)
                statuses = sorted(each.status for each in self.together(
                    (self.ask, tenant, "DELETE", "/o/" + address),
                    (self.ask, tenant, "DELETE", "/o/" + address),
                    (self.ask, tenant, "GET", "/o/" + address)))
                self.assertIn(statuses, ([200, 204, 404], [204, 404, 404]))
                self.assertEqual(self.ask(tenant, "POST", path + "/commit", b"").status, 404)

        self.together(*((play, tenant, seed) for seed, tenant in enumerate(TENANTS)))
        self.ends_well()

    # Many commits, each while answers about its upload are on their way on three connections.
    def test_many_commits_while_everyone_looks(self):
        noise = random.Random(4)

        def play(tenant):
            for _ in range(10 * ROUNDS):
                data = noise.randbytes(storage.PART + 1)
                path = self.begin(tenant, len(data))
                self.put_all(tenant, path, data)
                viewers = [self.server.connect() for _ in range(3)]
                for viewer in viewers:
                    viewer.send(ron.request("GET", path, [self.auth(tenant)]) * PIPELINED)
                    viewer.read_response()
                done = self.ask(tenant, "POST", path + "/commit", b"")
                self.assertEqual(done.status, 201, done.body)
                for viewer in viewers:
                    with viewer:
                        for _ in range(PIPELINED - 1):
                            self.assertIn(viewer.read_response().status, (200, 404))
                address = done.json()["address"]
                self.assertEqual(self.ask(tenant, "DELETE", "/o/" + address).status, 204)

        self.together(*((play, tenant) for tenant in TENANTS))
        self.ends_well()

    # One of commit and abort wins, whoever looks meanwhile.
    def test_commit_or_abort(self):
        noise = random.Random(2)

        def play(tenant):
            for _ in range(3 * ROUNDS):
                data = noise.randbytes(2 * storage.PART + 7)
                path = self.begin(tenant, len(data))
                self.put_all(tenant, path, data)
                _, commit, abort, put = self.together(
                    (self.views, tenant, path, 3), (self.ask, tenant, "POST", path + "/commit", b""),
                    (self.ask, tenant, "DELETE", path),
                    (self.ask, tenant, "PUT", path + "/2", data[-7:]))
                self.assertIn(put.status, (200, 404, 412), put.body)
                self.assertIn((commit.status, abort.status),
                              ((201, 404), (201, 412), (404, 204)), (commit.body, abort.body))
                if commit.status == 201:
                    self.reads(commit.json()["address"], data)
                    gone = self.ask(tenant, "DELETE", "/o/" + commit.json()["address"])
                    self.assertEqual(gone.status, 204, gone.body)

        self.together(*((play, tenant) for tenant in TENANTS))
        self.ends_well()

    # Parts of small and large uploads, put twice at once by several clients.
    def test_parts_put_twice(self):
        noise = random.Random(3)
        for size in (1, storage.PART, 5 * storage.PART + 3):
            for tenant in TENANTS:
                data = noise.randbytes(size)
                path = self.begin(tenant, size)
                self.together((self.put_all, tenant, path, data), (self.put_all, tenant, path, data),
                              (self.pipeline, tenant, "GET", path, PIPELINED))
                done = self.ask(tenant, "POST", path + "/commit", b"")
                self.assertEqual((done.status, done.json()["address"]), (201, ron.b3(data)))
                self.reads(ron.b3(data), data)
                self.assertEqual(self.ask(tenant, "DELETE", "/o/" + ron.b3(data)).status, 204)
        self.ends_well()

    def ends_well(self):
        """Nothing is left, no defect was found, and the server ends when asked."""
        self.server.wait_metric("storage_uploads_open", 0)
        if not self.on_disk:
            self.server.wait_metric("storage_memory_bytes", 0)
        self.assertEqual(self.server.stop(), 0, self.server.log_text())
        self.assertNotIn("Sanitizer", self.server.log_text())


class RacesOnDisk(Races):
    on_disk = True


if __name__ == "__main__":
    unittest.main(verbosity=2)
