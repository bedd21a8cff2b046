"""Every error kind and every metric of the specification, seen happening.

Sections 8 and 9 of svc-storage's concurrency specification, and the contract's storage codes: each
is provoked from outside, and its metric moves by what was done. Two cannot be:

* Overflow (repair_skipped_total): this node has no replicas and so no repair queue yet; a request
  for repair is answered 503 Degraded. Paced is shown by the scrubber, which waits for the same kind
  of budget.
* Draining as a code: a request that has begun to arrive when the stop signal comes is served, later
  ones find the port closed, so no client gets it; readiness says "draining".
"""

import gzip
import pathlib
import random
import shutil
import signal
import tempfile
import unittest

import ron
import storage

MIB = 1 << 20
ABSENT = "/o/b3:" + "0" * 64
NO_TIER = {"storage.cache_bytes": "0", "storage.min_free_bytes": "1MiB",
           "storage.server.max_rps": 1000000}
DANGER = {"safety.danger_ok": "true"}


class Provoked(unittest.TestCase):
    def start(self, sets=(), on_disk=False):
        data = None
        if on_disk:
            data = pathlib.Path(tempfile.mkdtemp(prefix="ron-e2e-data-"))
            self.addCleanup(shutil.rmtree, data, ignore_errors=True)
        server = storage.Server(sets=dict(sets), data=data)
        self.addCleanup(server.close)
        server.data = data
        return server

    def connect(self, server, **options):
        connection = server.connect(**options)
        self.addCleanup(connection.close)
        return connection

    def send(self, server, method, path, headers=(), body=None):
        """A request whose answer is read later."""
        connection = self.connect(server)
        connection.send(ron.request(method, path, [server.auth, *headers], body))
        return connection

    def refused(self, response, status, code):
        self.assertEqual((response.status, response.code), (status, code), response.body)
        return response.json()["error"]["details"]

    def moves(self, server, name, by, act, **labels):
        """Runs `act` and waits until the metric has moved by exactly that much."""
        before = server.metrics().value(name, **labels)
        result = act()
        server.wait_metric(name, before + by, **labels)
        return result


class Codes(Provoked):
    """The codes a request can earn by itself."""

    def test_what_a_request_earns(self):
        server = self.start({"storage.limits.decode_abs_cap_bytes": "256KiB"})
        stored = "/o/" + server.put(b"stored")
        noise = random.Random(1).randbytes(100_000)
        packed = (("Content-Encoding", "gzip"),)
        narrow = ("Authorization", "Bearer " + ron.attenuate(server.token, "scope = storage:delete"))
        cases = (
            ("GET", "/o/b3:1", (), None, 400, "BadAddress"),
            ("GET", stored, (("Range", "bytes=x"),), None, 400, "BadRange"),
            ("GET", stored, (("Range", "bytes=6-"),), None, 416, "RangeNotSatisfiable"),
            ("GET", stored, (("If-Match", '"x"'),), None, 412, "PreconditionFailed"),
            ("GET", ABSENT, (), None, 404, "NotFound"),
            ("POST", "/o", None, b"x", 401, "Unauthorized"),
            ("POST", "/o", narrow, b"x", 403, "Forbidden"),
            ("PUT", stored, (), b"other", 409, "HashMismatch"),
            ("POST", "/o", (), b"x" * (MIB + 1), 413, "BodyCap"),
            ("POST", "/o", packed, gzip.compress(noise * 3), 413, "DecodedCap"),
            ("POST", "/o", packed, gzip.compress(bytes(100_000)), 413, "DecodedRatio"),
        )
        for method, path, headers, body, status, code in cases:
            with self.subTest(code):
                if headers is None:
                    headers = ()
                elif headers is narrow:
                    headers = (narrow,)
                else:
                    headers = (server.auth, *headers)
                endpoint = method + (" /o" if path == "/o" else " /o/{addr}")

                def ask():
                    return self.connect(server).ask(method, path, headers, body)

                response = self.moves(server, "http_requests_total", 1, ask, endpoint=endpoint,
                                      code=str(status))
                self.refused(response, status, code)

    def test_quota_says_how_much(self):
        server = self.start({"storage.quota.bytes": "1000"})
        server.put(b"x" * 990)
        details = self.refused(self.send(server, "POST", "/o", (), b"y" * 11).read_response(), 429,
                               "Quota")
        self.assertEqual(details, {"what": "bytes", "used": "990", "limit": "1000", "asked": "11"})

    def test_a_full_disk_says_how_full(self):
        server = self.start({"storage.min_free_bytes": "1000TiB"}, on_disk=True)
        details = self.refused(self.send(server, "POST", "/o", (), b"x" * 77).read_response(), 507,
                               "StorageFull")
        self.assertEqual(int(details["min_free_bytes"]), 1000 << 40)
        self.assertLess(int(details["free_bytes"]), 1000 << 40)
        self.assertGreaterEqual(int(details["needed_bytes"]), 77)
        begun = self.send(server, "POST", "/uploads", (), b'{"length":99}').read_response()
        self.assertEqual(self.refused(begun, 507, "StorageFull")["length"], "99")
        ready = self.connect(server).ask("GET", "/readyz")
        self.assertEqual((ready.status, ready.json()["write_ready"]), (200, False))

    def test_full_memory_is_amnesia(self):
        server = self.start({"storage.cache_bytes": "1MiB"})
        details = self.refused(self.send(server, "POST", "/o", (), b"x" * MIB).read_response(), 503,
                               "Amnesia")
        self.assertTrue(all(int(number) >= 0 for number in details.values()), details)

    def test_no_replicas_to_repair_from(self):
        server = self.start()
        with server.connect_admin() as admin:
            self.refused(admin.ask("POST", "/admin/repair", [server.auth], b""), 503, "Degraded")
        self.assertNotIn("repair_skipped_total", server.metrics().text)


class Rot(Provoked):
    def test_a_flipped_bit_is_an_integrity_failure_and_nothing_else(self):
        server = self.start(NO_TIER, on_disk=True)
        noise = random.Random(2)
        bodies = [noise.randbytes(size) for size in (5000, MIB, 5000)]
        paths = ["/o/" + server.put(body) for body in bodies]
        self.flip(server, bodies[1], 700_000)

        def read_it():  # damage in what is sent first can still be an answer
            with server.connect() as connection:
                connection.send(ron.request("GET", paths[1], [("Range", "bytes=700000-700009")]))
                return connection.read_response()

        self.refused(self.moves(server, "integrity_fail_total", 1, read_it), 502, "IntegrityFail")
        server.wait_log("stored bytes do not match their address")
        server.wait_metric("storage_quarantined_objects", 1)
        for path, body in ((paths[0], bodies[0]), (paths[2], bodies[2])):
            self.assertEqual(self.connect(server).ask("GET", path).body, body)

    def test_rot_behind_the_head_cuts_the_answer(self):
        server = self.start(NO_TIER, on_disk=True)
        body = random.Random(3).randbytes(MIB)
        path = "/o/" + server.put(body)
        self.flip(server, body, 700_000)
        with server.connect() as connection:
            connection.send(ron.request("GET", path))
            with self.assertRaises(ron.Truncated) as cut:
                connection.read_response()
            self.assertEqual(cut.exception.status, 200)
        server.wait_metric("integrity_fail_total", 1)

    @staticmethod
    def flip(server, body, offset):
        for path in (server.data / "storage").rglob("*.seg"):
            at = path.read_bytes().find(body)
            if at >= 0:
                with path.open("r+b") as file:
                    file.seek(at + offset)
                    file.write(bytes([body[offset] ^ 1]))
                return
        raise AssertionError("the object is in no segment")


class Waiting(Provoked):
    """Sections 8 and 9: queues, deadlines, tasks."""

    def test_busy(self):
        server = self.start({**DANGER, "storage.put_workers": 1, "storage.channels.work": 1,
                             "storage.debug.work_delay": "3s"})
        first = self.send(server, "POST", "/o", (), b"1")
        server.wait_metric("http_inflight_requests", 1)
        server.wait_metric("queue_depth", 0, queue="work")
        second = self.send(server, "POST", "/o", (), b"2")
        server.wait_metric("queue_depth", 1, queue="work")
        before = server.metrics()
        response = self.send(server, "POST", "/o", (), b"3").read_response()
        self.assertEqual(self.refused(response, 429, "Busy"), {"queue": "work", "capacity": "1"})
        self.assertEqual(response.get("Retry-After"), "1")
        after = server.metrics()
        for name, labels in (("busy_rejections_total", {"endpoint": "POST /o"}),
                             ("queue_dropped_total", {"queue": "work"})):
            self.assertEqual(after.value(name, **labels) - before.value(name, **labels), 1, name)
        self.assertEqual([c.read_response().status for c in (first, second)], [201, 201])

    def test_a_head_or_body_that_does_not_come(self):
        server = self.start({"storage.read_timeout": "200ms"})
        for sent in (b"GET /he", ron.request("POST", "/o", [server.auth], b"abc")[:-1]):
            connection = self.connect(server)

            def dribble():
                connection.send(sent)
                return connection.read_response()

            response = self.moves(server, "io_timeouts_total", 1, dribble, op="read")
            self.refused(response, 408, "ReadTimeout")

    def test_a_reader_that_does_not_read(self):
        server = self.start({"storage.write_timeout": "200ms"})
        path, _ = server.put_large()
        connection = self.connect(server, receive_buffer=4096)
        self.moves(server, "io_timeouts_total", 1,
                   lambda: connection.send(ron.request("GET", path)), op="write")
        with self.assertRaises(ron.Truncated):
            connection.read_response()

    def test_a_client_that_says_nothing_more(self):
        server = self.start({"storage.idle_timeout": "200ms"})
        connection = self.connect(server)
        self.moves(server, "io_timeouts_total", 1, lambda: connection.ask("GET", "/healthz"),
                   op="idle")
        self.assertTrue(connection.ends())

    def test_a_volume_that_does_not_answer(self):
        server = self.start(NO_TIER, on_disk=True)
        path = "/o/" + server.put(b"x" * 1000)
        server.stop()
        server.close()
        again = storage.Server(sets={**NO_TIER, **DANGER, "storage.debug.work_delay": "10s",
                                 "storage.server.request_deadline": "300ms"}, data=server.data)
        self.addCleanup(again.close)
        response = self.moves(again, "io_timeouts_total", 1,
                              lambda: self.connect(again).ask("GET", path), op="volume_read")
        self.refused(response, 504, "Timeout")

    def test_paced(self):
        server = self.start({**NO_TIER, "storage.scrub.rate": "1MiB/s"}, on_disk=True)
        for i in range(3):
            server.put(random.Random(i).randbytes(MIB))

        def scrub(method="GET", path="/admin/stats", body=None):
            with server.connect_admin() as admin:
                return admin.ask(method, path, [server.auth], body)

        began = server.metrics()
        self.assertEqual(scrub("POST", "/admin/scrub", b"").json(), {"volumes": 1})
        ron.wait_until("the scrub to end",
                       lambda: scrub().json()["volumes"][0]["scrub"]["passes"] == 1)
        ended = server.metrics()
        waited = ended.value("repair_wait_seconds_sum") - began.value("repair_wait_seconds_sum")
        self.assertGreater(waited, 0.5, "three seconds' worth came at once")
        self.assertGreater(ended.value("repair_wait_seconds_count"), 1)

    def test_lagging(self):
        server = self.start({"storage.channels.events": 1, "storage.server.max_rps": 1000000,
                             "storage.put_workers": 8})

        def lagged():
            return server.metrics().value("bus_lagged_total", topic="events")

        self.assertIn("bus_lagged_total", server.metrics().types)
        self.assertEqual(lagged(), 0)

        def rush(index):
            with server.connect() as connection:
                for i in range(100):
                    connection.ask("POST", "/o", [server.auth], b"%d of %d" % (i, index))
            return lagged() == 0

        self.assertEqual(ron.Load(8, rush).join(), [])
        self.assertGreater(lagged(), 0)
        self.assertGreater(server.wait_log("events missed")["missed"], 0)

    def test_tasks_are_counted_when_they_begin_and_when_they_are_told_to_end(self):
        server = self.start({**DANGER, "storage.debug.work_delay": "10m",
                             "storage.drain_deadline": "2s", "storage.put_workers": 3,
                             "storage.server.request_deadline": "1h"})
        for kind, count in (("put-worker", 3), ("get-worker", 8), ("listener", 2), ("admin", 1),
                            ("auditor", 1), ("reloader", 1)):
            server.wait_metric("tasks_spawned_total", count, kind=kind)  # one after the other
        metrics = server.metrics()
        for name in ("tasks_aborted_total", "tasks_canceled_total"):
            self.assertEqual(metrics.types[name], "counter")
            self.assertEqual(metrics.value(name), 0)
        stuck = self.send(server, "POST", "/o", (), b"stuck")
        server.wait_metric("http_inflight_requests", 1)
        server.signal(signal.SIGTERM)
        # One core's listener has nothing to wait for and ends; the other is cut at the deadline.
        server.wait_metric("tasks_canceled_total", 1, kind="listener")
        with self.assertRaises(ron.Closed):
            stuck.read_response()
        self.assertEqual(server.wait_exit(), 0)
        # Its worker drops what nobody waits for and ends by itself, or is cut, too.
        self.assertIn(server.logs()[-1]["aborted_tasks"], (1, 2))

    def test_readiness_says_draining(self):
        server = self.start({**DANGER, "storage.debug.work_delay": "2s"})
        begun = self.send(server, "POST", "/o", (), b"begun")
        server.wait_metric("http_inflight_requests", 1)
        half = self.connect(server)
        question = ron.request("POST", "/o", [server.auth], b"arriving")
        half.send(question[:30])
        server.wait_metric("http_connections", 3)
        server.signal(signal.SIGTERM)
        server.wait_log("phase", phase="draining")
        with server.connect_admin() as admin:
            self.assertEqual(admin.ask("GET", "/readyz").json()["missing"], ["draining"])
        half.send(question[30:])
        self.assertEqual([c.read_response().status for c in (begun, half)], [201, 201])
        self.assertEqual(server.wait_exit(), 0)


if __name__ == "__main__":
    unittest.main()
