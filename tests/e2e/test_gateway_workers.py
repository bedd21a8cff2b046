"""Workers that fail under load, and stops under load: the gateway says so, recovers by itself, and
no answer that looks whole is not."""

import collections
import random
import signal
import threading
import time
import unittest

import gateway
import ron
from gateway_case import QUIET, Case, tenant
from gateway_nginx import Nginx
from gateway_origin import Origin

NOISE = random.Random(11)
FILES = {f"x/{size}": NOISE.randbytes(size) for size in (0, 1, 1000, 65536, 300_000)}
TENANTS = ("ann", "bob", "cy", "di")


class Asking:
    """Clients of several tenants that read files and look at every byte; `seen` counts answers, by
    method and status."""

    def __init__(self, server, write=False):
        self.server = server
        self.write = write
        self.seen = collections.Counter()
        self.after = collections.Counter()  # those that ended behind the mark
        self.marked = threading.Event()
        self._lock = threading.Lock()
        self._auth = [tenant(server, name) for name in TENANTS]
        self._connections = {}
        self.load = ron.Load(2 * len(TENANTS), self._work)

    def count(self, what):
        with self._lock:
            self.seen[what] += 1
            if self.marked.is_set():
                self.after[what] += 1

    def _work(self, index):
        connection = self._connections.get(index)
        if connection is None:
            try:
                connection = self._connections[index] = self.server.connect()
            except ConnectionError:
                return False  # it has stopped listening
        path = NOISE.choice(sorted(FILES))
        writes = self.write and index % 4 == 3
        method, body = ("POST", b"a write") if writes else ("GET", None)
        try:
            response = connection.ask(method, f"/{path}", [self._auth[index % len(TENANTS)]], body)
        except ron.Truncated as cut:
            self._connections.pop(index).close()
            self.count((method, "cut", cut.status))
            return None
        except (ron.Closed, ConnectionError):
            self._connections.pop(index).close()
            self.count((method, "closed"))
            return None
        if method == "GET" and response.status == 200:
            assert response.body == FILES[path], f"wrong bytes of {path}"
        self.count((method, response.status, response.code if response.status != 405 else None))
        if response.closes:
            self._connections.pop(index).close()
        return None

    def finish(self):
        errors = self.load.finish()
        for connection in self._connections.values():
            connection.close()
        return errors


class Front(Case):
    def serve(self, keys=()):
        self.nginx = Nginx(FILES)
        self.addCleanup(self.nginx.close)
        self.keys = {**QUIET, "upstream.concurrency": 2, **dict(keys)}
        self.routes = [{"prefix": "/x", "upstream": self.nginx.url, "open": True}]
        return self.start(self.routes, self.keys)

    def is_loaded(self, asking, answers=200):
        """Several tenants are served, one after the other."""
        ron.wait_until("load", lambda: asking.seen[("GET", 200, None)] > answers)


class Failing(Front):
    FAILURES = 6  # of two workers: each waits longer every time, none is given up

    def fail(self, server, total):
        server.config_path.write_text(
            gateway.toml(self.routes, {**self.keys, "debug.fail_workers": total}))
        server.signal(signal.SIGHUP)

    def test_degraded_and_recovered_by_itself(self):
        server = self.serve()
        asking = Asking(server, write=True)
        self.is_loaded(asking)
        self.assertEqual(server.metrics().value("gateway_workers"), 2)
        self.assertGreater(server.metrics().value("gateway_turns_total", way="queued"), 0)
        readiness = []
        with server.connect_admin() as admin:
            self.fail(server, self.FAILURES)

            def recovered():
                ready = admin.ask("GET", "/readyz").json()
                readiness.append(ready)
                return len(readiness) > 1 and ready["write_ready"] and any(
                    not each["write_ready"] for each in readiness)

            ron.wait_until("degraded and recovered", recovered)
        unwell = [each for each in readiness if not each["write_ready"]]
        self.assertTrue(all(each["degraded"] for each in unwell))
        self.assertTrue(all(any("worker: " in missing for missing in each["missing"])
                            for each in unwell), unwell[0])
        server.wait_metric("tasks_panicked_total", self.FAILURES, kind="worker")
        server.wait_metric("tasks_restarted_total", self.FAILURES, kind="worker")
        server.wait_metric("gateway_workers", 2)
        server.wait_metric("gateway_degraded", 0)
        ron.wait_until("ready", lambda: self.ask(server, "GET", "/readyz").json()["write_ready"])
        served = asking.seen[("GET", 200, None)]
        self.is_loaded(asking, served + 200)
        self.assertEqual(asking.finish(), [])
        server.wait_log("degraded")
        server.wait_log("recovered")
        # Reads went on, whoever had to wait; writes were shed or reached nginx, which wants none.
        self.assertLessEqual(set(asking.seen), {("GET", 200, None), ("POST", 405, None),
                                                ("POST", 503, "Degraded")}, asking.seen)
        self.assertGreater(asking.seen[("POST", 503, "Degraded")], 0)
        self.assertEqual(server.metrics().value("gateway_refused_total", reason="degraded"),
                         asking.seen[("POST", 503, "Degraded")])

    def test_again_and_again(self):
        server = self.serve()
        asking = Asking(server)
        self.is_loaded(asking)
        for total in (1, 2, 3, 4):
            self.fail(server, total)
            server.wait_metric("tasks_restarted_total", total, kind="worker")
            server.wait_metric("gateway_workers", 2)
            self.is_loaded(asking, asking.seen[("GET", 200, None)] + 50)
        self.assertEqual(asking.finish(), [])
        self.assertEqual(set(asking.seen), {("GET", 200, None)}, asking.seen)
        self.assertEqual(server.stop(), 0)
        self.assertEqual(server.logs()[-1]["aborted_tasks"], 0)


class Stopping(Front):
    REPETITIONS = 8

    def test_a_stop_under_load_truncates_nothing(self):
        total = collections.Counter()
        for repetition in range(self.REPETITIONS):
            server = self.serve({"drain_deadline": "20s"})
            asking = Asking(server)
            self.is_loaded(asking, 20 + 10 * repetition)
            asking.marked.set()
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait_exit(), 0)
            self.assertEqual(asking.finish(), [])
            self.assertEqual(server.logs()[-1]["aborted_tasks"], 0)
            total += asking.after
            self.assertFalse([what for what in asking.seen if "cut" in what], asking.seen)
            self.assertLessEqual(set(asking.seen), {("GET", 200, None), ("GET", "closed"),
                                                    ("GET", 503, "Draining")}, asking.seen)
            server.close()
            self.nginx.close()
        self.assertGreater(total[("GET", 200, None)], self.REPETITIONS, "nothing was under way")

    def front_of(self, way, keys):
        self.origin = Origin(x=way)
        self.addCleanup(self.origin.close)
        return self.start([{"prefix": "/x", "upstream": self.origin.url, "open": True}], {
            "upstream.deadline": "1h", "server.request_deadline": "1h", "write_timeout": "30s",
            **keys})

    def under_way(self, server, count):
        waiting = [self.send(server, "GET", "/x", [tenant(server, TENANTS[i % 2])])
                   for i in range(count)]
        server.wait_metric("http_inflight_requests", count)
        return waiting

    def test_what_is_under_way_and_in_line_is_finished_in_time(self):
        opened = threading.Event()
        self.addCleanup(opened.set)

        def way(peer, _request):
            opened.wait(ron.REPLY_S)
            peer.answer(FILES["x/300000"])

        server = self.front_of(way, {"drain_deadline": "15s", "upstream.concurrency": 2})
        waiting = self.under_way(server, 8)  # of which some wait for their turn
        server.signal(signal.SIGTERM)
        with server.connect_admin() as admin:
            ron.wait_until("unready", lambda: admin.ask("GET", "/readyz").status == 503)
        # Then every core knows that it drains.
        ron.wait_until("the clients' port closes", lambda: ron.refuses(server.address))
        opened.set()
        for connection in waiting:
            response = connection.read_response()
            self.assertEqual((response.status, response.body == FILES["x/300000"]), (200, True))
            self.assertTrue(response.closes)
        self.assertEqual(server.wait_exit(), 0)
        self.assertEqual(server.logs()[-1]["aborted_tasks"], 0)

    def test_what_is_stuck_is_cut_at_the_deadline(self):
        server = self.front_of(lambda peer, _: peer.ended(ron.REPLY_S) and False,
                               {"drain_deadline": "1s", "upstream.concurrency": 2})
        waiting = self.under_way(server, 6)
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        for connection in waiting:
            try:
                response = connection.read_response()
            except ron.Closed:
                continue
            self.assertEqual((response.status, response.code), (503, "Draining"))
        self.assertEqual(server.wait_exit(), 0)
        took = time.monotonic() - began
        self.assertGreater(took, 0.9)
        self.assertLess(took, 1 + 2 * ron.SLOW)
        self.assertGreater(server.logs()[-1]["aborted_tasks"], 0)

    def test_an_answer_that_takes_longer_is_cut_visibly(self):
        half = threading.Event()

        def way(peer, _request):
            body = FILES["x/300000"]
            peer.socket.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body))
            peer.socket.sendall(body[:100_000])
            half.set()
            peer.ended(ron.REPLY_S)
            return False

        server = self.front_of(way, {"drain_deadline": "500ms"})
        connection = self.send(server, "GET", "/x")
        self.assertTrue(half.wait(ron.REPLY_S))
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        with self.assertRaises(ron.Truncated) as cut:
            connection.read_response()
        self.assertEqual(cut.exception.status, 200)
        self.assertEqual(server.wait_exit(), 0)
        self.assertLess(time.monotonic() - began, 0.5 + 2 * ron.SLOW)


if __name__ == "__main__":
    unittest.main()
