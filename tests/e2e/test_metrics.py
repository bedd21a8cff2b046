"""A live scrape: well-formed, complete, and labelled within bounds."""

import re
import subprocess
import unittest

import ron
import storage

# Section 9 of the concurrency specification of svc-storage: name, type, label.
SPECIFIED = (
    ("queue_depth", "gauge", "queue"),
    ("queue_dropped_total", "counter", "queue"),
    ("busy_rejections_total", "counter", "endpoint"),
    ("tasks_spawned_total", "counter", "kind"),
    ("tasks_aborted_total", "counter", "kind"),
    ("io_timeouts_total", "counter", "op"),
    ("repair_wait_seconds", "histogram", None),
    ("bus_lagged_total", "counter", "topic"),
)


class Scrape(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = storage.Server()
        cls.addClassCleanup(cls.server.close)
        cls.fresh = cls.server.metrics()
        path = "/o/" + cls.server.put(b"x" * 1000)
        with cls.server.connect() as connection:
            for each in (path, path, "/o/b3:0", "/o/b3:" + "0" * 64, "/nowhere", "/healthz"):
                connection.ask("GET", each)
            connection.ask("DELETE", path)
            connection.ask("POST", "/o", [], b"")
        with cls.server.connect() as connection:
            connection.send(b"nonsense\r\n\r\n")
            connection.read_response()
        # An answer is counted when it was sent, which its reader may know first.
        ron.wait_until("the last answer to be counted", cls.all_counted)

    @classmethod
    def all_counted(cls):
        cls.used = cls.server.metrics()
        last = (("unmatched", "400"), ("POST /o", "201"), ("POST /o", "401"))  # of each connection
        return all(cls.used.value("http_requests_total", endpoint=endpoint, code=code) > 0
                   for endpoint, code in last)

    def test_promtool_is_content(self):
        for scrape in (self.fresh, self.used):
            done = subprocess.run(["promtool", "check", "metrics"], input=scrape.text.encode(),
                                  capture_output=True, check=False, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_everything_specified_is_there_from_the_start(self):
        for name, kind, label in SPECIFIED:
            with self.subTest(name):
                self.assertEqual(self.fresh.types.get(name), kind)
                series = [labels for each, labels, _ in self.fresh.samples if each.startswith(name)]
                self.assertTrue(series)
                if label:
                    self.assertTrue(all(label in labels for labels in series))
        depths = {labels["queue"] for name, labels, _ in self.fresh.samples
                  if name == "queue_depth"}
        self.assertIn("work", depths)
        dropped = {labels["queue"] for name, labels, _ in self.fresh.samples
                   if name == "queue_dropped_total"}
        self.assertLessEqual({"work"}, dropped)
        timeouts = {labels["op"] for name, labels, _ in self.fresh.samples
                    if name == "io_timeouts_total"}
        self.assertLessEqual({"read", "write", "idle"}, timeouts)

    def test_every_series_names_its_service_and_nothing_unbounded(self):
        for name, labels, _ in self.used.samples:
            self.assertEqual(labels.get("service"), "svc-storage", name)
            for value in labels.values():
                self.assertNotRegex(value, r"b3:[0-9a-f]|\d+\.\d+\.\d+\.\d+|/nowhere", name)

    def test_counts_are_what_was_asked(self):
        self.assertEqual(self.used.value("http_requests_total", endpoint="GET /o/{addr}",
                                         code="200"), 2)
        self.assertEqual(self.used.value("http_requests_total", endpoint="GET /o/{addr}",
                                         code="404"), 1)
        self.assertEqual(self.used.value("http_requests_total", endpoint="GET /o/{addr}",
                                         code="400"), 1)
        self.assertEqual(self.used.value("http_requests_total", endpoint="DELETE /o/{addr}",
                                         code="401"), 1)
        self.assertEqual(self.used.value("http_requests_total", endpoint="POST /o", code="201"), 1)
        self.assertEqual(self.used.value("http_requests_total", endpoint="unmatched", code="404"),
                         1)
        self.assertEqual(self.used.value("http_requests_total", endpoint="unmatched", code="400"),
                         1)
        self.assertEqual(self.used.value("rejected_total", reason="head"), 1)
        self.assertEqual(self.used.value("rejected_total", reason="capability"), 2)
        self.assertEqual(self.used.value("storage_objects"), 1)
        self.assertEqual(
            self.used.value("http_request_duration_seconds_count", endpoint="GET /o/{addr}"), 4)

    def test_operators_routes_are_not_for_clients(self):
        with self.server.connect() as connection:
            for path in ("/metrics", "/debug/topology", "/debug/config"):
                self.assertEqual(connection.ask("GET", path).code, "NotFound")
        with self.server.connect_admin() as connection:
            for path in ("/metrics", "/debug/topology", "/debug/topology?format=mermaid",
                         "/debug/config",
                         "/healthz", "/readyz", "/version"):
                self.assertEqual(connection.ask("GET", path).status, 200)

    def test_topology_shows_the_live_queue(self):
        with self.server.connect_admin() as connection:
            (service,) = connection.ask("GET", "/debug/topology").json()
            self.assertEqual(service["service"], "svc-storage")
            work = next(each for each in service["channels"] if each["name"] == "work")
            self.assertEqual(work["live"], [{"capacity": 512, "depth": 0}])
            mermaid = connection.ask("GET", "/debug/topology?format=mermaid").body.decode()
            self.assertTrue(re.match(r"flowchart LR\n", mermaid))

    def test_no_secret_is_shown_or_logged(self):
        with self.server.connect_admin() as connection:
            shown = connection.ask("GET", "/debug/config").body.decode() + self.used.text
        self.assertNotIn(self.server.token, shown + self.server.log_text())


if __name__ == "__main__":
    unittest.main()
