"""Every reason to refuse, every metric and every error of svc-edge's specification, provoked and
counted."""

import random
import unittest

import edge
import origin
import ron
import strict_run
from edge import LiveCase
from origin import Answer, Resource

MIB = 1 << 20
DAY = "Cache-Control: max-age=86400"


def noise(size, seed=1):
    return random.Random(seed).randbytes(size)


class Reasons(LiveCase):
    """Every reason of edge_rejects_total, each counted once for one refusal and no other moved."""

    def only(self, server, reason, act):
        before = {each: server.rejects(each) for each in edge.REASONS}
        result = act()
        server.wait_metric("edge_rejects_total", before[reason] + 1, reason=reason)
        after = {each: server.rejects(each) for each in edge.REASONS}
        self.assertEqual({each for each in edge.REASONS if after[each] != before[each]}, {reason})
        return result

    def test_not_allowed(self):
        server = self.live()
        self.only(server, "not_allowed", lambda: self.refused(
            server.fetch("/edge/assets/other.example/"), 403, "NotAllowed"))

    def test_decompress_cap_by_ratio(self):
        server = self.live()
        self.origin.say("/bomb", Resource(origin.gzipped(bytes(5 * MIB)), DAY,
                                          "Content-Encoding: gzip"))
        details = self.only(server, "decompress_cap", lambda: self.refused(
            server.asset(self.origin, "/bomb"), 413, "DecodedRatio"))
        ratio = [value for key, value in details.items() if "ratio" in key]
        self.assertTrue(ratio and float(ratio[0]) > 10, details)

    def test_decompress_cap_by_size(self):
        server = self.live()
        self.origin.say("/large", Resource(origin.gzipped(noise(11 * MIB)), DAY,
                                           "Content-Encoding: gzip"))
        self.only(server, "decompress_cap", lambda: self.refused(
            server.asset(self.origin, "/large"), 413, "DecodedCap"))

    def test_body_cap(self):
        server = self.live({"fill.max_object_bytes": "1MiB"})
        self.origin.say("/said", Answer(noise(MIB + 1), DAY, 'ETag: "1"'))
        self.origin.say("/unsaid", origin.endless(DAY, 'ETag: "1"'))
        self.origin.say("/most", Resource(noise(MIB), DAY))
        self.assertEqual(len(self.filled(server, "/most").body), MIB)
        for path in ("/said", "/unsaid"):
            self.only(server, "body_cap", lambda path=path: self.refused(
                server.asset(self.origin, path), 413, "BodyCap"))

    def test_timeout(self):
        server = self.live({"fill.timeout": "100ms", "fill.max_tries": 1})
        self.origin.say("/hung", origin.hung)
        self.only(server, "timeout", lambda: self.refused(
            server.asset(self.origin, "/hung"), 504, "Timeout"))
        server.wait_metric("io_timeouts_total", 1, op="fill")

    def test_rate_limit(self):
        server = self.live({"server.max_rps": 1})
        self.origin.say("/a", Resource(b"x", DAY))
        before = server.rejects("rate_limit")
        with server.connect() as connection:
            answers = [server.asset(self.origin, "/a", connection=connection) for _ in range(20)]
        limited = [each for each in answers if each.status == 429]
        self.assertGreater(len(limited), 0)
        for each in limited:
            self.refused(each, 429, "RateLimited")
        server.wait_metric("edge_rejects_total", before + len(limited), reason="rate_limit")

    def test_invalid_range(self):
        server = self.live()
        self.origin.say("/a", Resource(b"0123456789", DAY))
        self.filled(server, "/a")
        for value, status, code in (("bytes=10-", 416, "RangeNotSatisfiable"),
                                    ("bytes=5-2", 400, "BadRange")):
            self.only(server, "invalid_range", lambda value=value, status=status, code=code:
                      self.refused(server.asset(self.origin, "/a", [("Range", value)]), status,
                                   code))

    def test_etag_invalid(self):
        server = self.live()
        for number, tag in enumerate((None, 'W/"1"', "unquoted", '"half')):
            path = self.origin.say(f"/{number}", Resource(b"x", DAY, etag=tag))
            self.only(server, "etag_invalid", lambda path=path: self.refused(
                server.asset(self.origin, path), 502, "UpstreamFail"))
        relaxed = self.restart(server, sets={**self.live_sets(),
                                             "fill.require_strong_etag": "false"})
        for number in (0, 1):
            self.assertEqual(relaxed.asset(self.origin, f"/{number}").status, 200)


class Errors(strict_run.RunsCases, LiveCase):
    def test_every_refusal_has_the_envelope(self):
        server = self.live({"fill.max_tries": 1, "fill.timeout": "200ms"})
        self.origin.say("/500", Answer(b"", status="500 Internal Server Error"))
        self.origin.say("/hung", origin.hung)
        here = f"/edge/assets/{self.origin.authority}"
        for path, status in ((here + "/500", 502), (here + "/404", 404), (here + "/hung", 504),
                             ("/edge/assets/other.example/", 403), ("/edge/nothing", 404),
                             ("/edge/tiles/none/0/0/0", 404), ("/edge/tiles/none.json", 404),
                             ("/edge/packs/none.pmtiles", 404), ("/edge/sites/none/", 404)):
            with self.subTest(path):
                response = server.fetch(path)
                self.assertEqual(response.status, status, response.body)
                self.check_common(response, head_only=False)


class Scrape(LiveCase):
    # Section 9 and the metrics of sections 3 and 8: name, type, label, values from the start.
    SPECIFIED = (
        ("queue_depth", "gauge", "queue", {"work"}),
        ("queue_dropped_total", "counter", "queue", {"work", "events"}),
        ("busy_rejections_total", "counter", "route", {
            "GET /edge/assets/{host}/{path...}"}),
        ("tasks_spawned_total", "counter", "kind", {"worker", "listener", "dialer"}),
        ("tasks_aborted_total", "counter", "kind", {"worker"}),
        ("tasks_canceled_total", "counter", "kind", {"worker"}),
        ("io_timeouts_total", "counter", "op", {"read", "write", "connect", "fill"}),
        ("backoff_retries_total", "counter", "op", {"live_fill"}),
        ("edge_rejects_total", "counter", "reason", set(edge.REASONS)),
        ("bus_lagged_total", "counter", "topic", {"events"}),
    )

    def test_everything_is_there_from_the_start(self):
        fresh = self.live().metrics()
        for name, kind, label, values in self.SPECIFIED:
            with self.subTest(name):
                self.assertEqual(fresh.types.get(name), kind)
                have = {labels.get(label) for each, labels, _ in fresh.samples if each == name}
                self.assertLessEqual(values, have)
        services = {labels.get("service") for _, labels, _ in fresh.samples}
        self.assertEqual(services - {None}, {"svc-edge"})

    def test_promtool_is_content_and_labels_are_bounded(self):
        server = self.live()
        for number in range(5):
            path = self.origin.say(f"/secret-{number}", Resource(b"x", DAY))
            self.filled(server, path)
            server.fetch(f"/edge/assets/secret-{number}.example/")
        metrics = server.metrics()
        self.assertEqual(ron.complaints_of_promtool(metrics), [])
        values = {value for _, labels, _ in metrics.samples for value in labels.values()}
        self.assertFalse([value for value in values if "secret" in value or "localhost" in value])

    def test_hits_and_loads(self):
        server = self.live()
        self.origin.say("/a", Resource(b"x" * 1000, DAY))
        self.filled(server, "/a", cache="miss")
        self.filled(server, "/a", cache="hit")
        self.moves(server, "edge_memory_hits_total", 5, lambda: [
            self.filled(server, "/a", cache="hit") for _ in range(5)])
        self.assertGreater(server.metrics().value("edge_memory_bytes"), 1000)

    def test_topology_and_readiness(self):
        server = self.live()
        with server.connect_admin() as admin:
            text = admin.ask("GET", "/debug/topology").body.decode()
            for each in ("work", "worker", "pack-keeper", "site-keeper", "cache-janitor"):
                self.assertIn(each, text)
            config = admin.ask("GET", "/debug/config").json()
        self.assertIn("edge.allow", config)
        self.assertEqual(server.readyz().status, 200)


if __name__ == "__main__":
    unittest.main()
