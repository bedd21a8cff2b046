"""Workers that fail under load, and stops under load: the edge says so, recovers by itself, ends in
time, and no answer that looks whole is not."""

import collections
import json
import random
import signal
import threading
import time
import unittest

import origin
import ron
from edge import GONE, LiveCase, asset_path
from origin import Answer, Resource

WORKERS = 8
DAY = "Cache-Control: max-age=86400"
BODY = random.Random(5).randbytes(30_000)


def toml(keys):
    """The section [edge], as a file has it; what is a number or a list there is no text."""
    def value(setting):
        text = str(setting)
        is_bare = text in ("true", "false") or text.startswith("[") or text.isdigit()
        return text if is_bare else json.dumps(text)

    keys = {"bind": "127.0.0.1:0", "admin": "127.0.0.1:0", "server.max_rps": 1000000,
            "max_conns_per_ip": 1024, **keys}
    return "".join(f"edge.{key} = {value(setting)}\n" for key, setting in keys.items())


class Asking:
    """Clients that want what nobody has asked for before, and what everybody has; `seen` counts
    answers."""

    def __init__(self, case, server):
        self.origin, self.server = case.origin, server
        self.seen = collections.Counter()
        self._lock = threading.Lock()
        self._number = 0
        self.load = ron.Load(6, self._work)

    def next(self):
        with self._lock:
            self._number += 1
            return self._number

    def _work(self, index):
        path = "/hit"
        if index % 2:
            path = self.origin.say(f"/miss/{self.next()}", Resource(BODY, DAY))
        try:
            response = self.server.asset(self.origin, path)
        except GONE as gone:
            with self._lock:
                self.seen[type(gone).__name__] += 1
            return False
        if response.status == 200:
            assert response.body == BODY, "wrong bytes"
        with self._lock:
            self.seen[path[:4], response.status, response.code] += 1


class Failing(LiveCase):
    def test_half_of_them(self):
        keys = {**self.live_sets(), "workers": WORKERS, "loaders": WORKERS}
        self.origin.say("/hit", Resource(BODY, DAY))
        danger = {"safety.danger_ok": "true"}
        server = self.server_type(self.data, config=toml(keys), sets=danger)
        self.addCleanup(server.close)
        self.filled(server, "/hit")
        asking = Asking(self, server)
        ron.wait_until("load", lambda: asking.seen["/mis", 200, None] > 50)
        readiness = []
        for total in (WORKERS // 2, WORKERS):
            readiness.append(self.fail(server, keys, total))
        served = asking.seen["/mis", 200, None]
        ron.wait_until("it goes on", lambda: asking.seen["/mis", 200, None] > served + 50)
        self.assertEqual(asking.load.finish(), [])
        self.assertEqual({each for each in asking.seen if each[0] == "/hit"},
                         {("/hit", 200, None)}, asking.seen)
        # A fill that was under way when its worker failed may be refused; none is lost.
        self.assertLessEqual({each[1:] for each in asking.seen if each[0] == "/mis"},
                             {(200, None), (429, "Busy"), (503, "Degraded"), (503, "Canceled"),
                              (500, "Internal"), (502, "UpstreamFail")}, asking.seen)
        for kind in ("worker", "loader"):
            server.wait_metric("tasks_panicked_total", WORKERS, kind=kind)
            server.wait_metric("tasks_restarted_total", WORKERS, kind=kind)
        self.assertEqual(server.stop(), 0)

    def fail(self, server, keys, total):
        """So many have failed in all, those of before included; how long until it was ready."""
        degraded_at = recovered_at = None
        down = set()
        with server.connect_admin() as admin:
            server.config_path.write_text(toml({**keys, "debug.fail_workers": total}))
            server.signal(signal.SIGHUP)
            end = time.monotonic() + ron.REPLY_S
            while recovered_at is None and time.monotonic() < end:
                ready = admin.ask("GET", "/readyz")
                document = ready.json()
                if document.get("degraded"):
                    degraded_at = degraded_at or time.monotonic()
                    kinds = {each.split(":")[0] for each in document["missing"]}
                    self.assertTrue(kinds & {"worker", "loader"}, document)
                    down |= kinds
                elif degraded_at:
                    recovered_at = time.monotonic()
        self.assertIsNotNone(degraded_at, "it was never degraded")
        self.assertIn("worker", down)
        self.assertIsNotNone(recovered_at, "it did not recover")
        self.assertLess(recovered_at - degraded_at, 1.0 * ron.SLOW)
        return recovered_at - degraded_at


class Stopping(LiveCase):
    REPETITIONS = 3

    def under_way(self, server, way, count):
        waiting = []
        for number in range(count):
            path = self.origin.say(f"/way/{number}", way)
            waiting.append(server.ask_for(asset_path(self.origin, path)))
            self.addCleanup(waiting[-1].close)
        ron.wait_until("the origin is asked", lambda: self.origin.count() >= count)
        return waiting

    def test_a_stop_under_load_truncates_nothing(self):
        self.origin.say("/hit", Resource(BODY, DAY))
        for _ in range(self.REPETITIONS):
            server = self.live({"drain_deadline": "20s"})
            asking = Asking(self, server)
            ron.wait_until("load", lambda asking=asking: asking.seen["/mis", 200, None] > 30)
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait_exit(), 0)
            self.assertEqual(asking.load.finish(), [])
            self.assertNotIn("Truncated", asking.seen)
            self.assertEqual(server.logs()[-1]["aborted_tasks"], 0)
            server.close()

    def test_fills_under_way_are_finished(self):
        opened = threading.Event()
        self.addCleanup(opened.set)

        def way(peer, request):
            opened.wait(ron.REPLY_S)
            return Answer(BODY, DAY, 'ETag: "1"')(peer, request)

        server = self.live({"drain_deadline": "15s", "fill.timeout": "20s"})
        waiting = self.under_way(server, way, 5)
        server.signal(signal.SIGTERM)
        with server.connect_admin() as admin:
            ron.wait_until("unready", lambda: admin.ask("GET", "/readyz").status == 503)
        ron.wait_until("the clients' port closes", lambda: ron.refuses(server.address))
        opened.set()
        for connection in waiting:
            response = connection.read_response()
            self.assertEqual((response.status, response.body == BODY), (200, True))
        self.assertEqual(server.wait_exit(), 0)
        self.assertEqual(server.logs()[-1]["aborted_tasks"], 0)

    def test_what_is_stuck_is_aborted_after_three_seconds(self):
        server = self.live({"fill.timeout": "1m", "server.request_deadline": "1m"})
        waiting = self.under_way(server, origin.hung, 4)
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        for connection in waiting:
            try:
                response = connection.read_response()
            except ron.Closed:
                continue
            self.assertIn((response.status, response.code),
                          ((503, "Draining"), (503, "Canceled"), (503, "Degraded")))
        self.assertEqual(server.wait_exit(), 0)
        took = time.monotonic() - began
        self.assertGreater(took, 2.9)
        self.assertLess(took, 3 + 2 * ron.SLOW)
        # Counted in tasks_aborted_total when the admin listener has gone: the log's last line.
        self.assertGreater(server.logs()[-1]["aborted_tasks"], 0)


if __name__ == "__main__":
    unittest.main()
