"""Every error and every metric of the gateway's specification, seen happening.

Sections 8 and 9 of svc-gateway's concurrency specification: each is provoked from outside, and its
metric moves by what was done. tasks_aborted_total is counted when the admin listener has gone: its
last word is in the log.
"""

import collections
import gzip
import random
import select
import signal
import subprocess
import threading
import time
import unittest

import ron
from gateway_case import Case, tenant
from gateway_origin import Origin

MIB = 1 << 20
CATCH_ALL = "GET /{path...}"
# Section 9: name, type, label.
SPECIFIED = (
    ("queue_depth", "gauge", "queue"),
    ("queue_dropped_total", "counter", "queue"),
    ("tasks_spawned_total", "counter", "kind"),
    ("tasks_aborted_total", "counter", "kind"),
    ("tasks_canceled_total", "counter", "kind"),
    ("io_timeouts_total", "counter", "op"),
    ("backoff_retries_total", "counter", "op"),
    ("busy_rejections_total", "counter", "endpoint"),
    ("gateway_degraded", "gauge", None),
    ("bus_lagged_total", "counter", "topic"),
    ("rejected_total", "counter", "reason"),
)
# What the contract adds, and what the gateway says about fairness.
ADDED = (
    ("gateway_jain_index_permille", "gauge"),
    ("gateway_active_tenants", "gauge"),
    ("gateway_workers", "gauge"),
    ("gateway_refused_total", "counter"),
    ("gateway_turns_total", "counter"),
    ("gateway_draining", "gauge"),
    ("gateway_reload_success_total", "counter"),
    ("upstream_requests_total", "counter"),
    ("upstream_ejections_total", "counter"),
    ("upstream_returns_total", "counter"),
    ("upstream_healthy", "gauge"),
    ("upstream_probe_failures_total", "counter"),
    ("upstream_retries_denied_total", "counter"),
    ("upstream_errors_total", "counter"),
    ("upstream_stale_retries_total", "counter"),
    ("http_client_connections", "gauge"),
    ("breaker_state", "gauge"),
    ("breaker_open_total", "counter"),
)
# Of one upstream with one place, and queues that are full soon.
NARROW = {"upstream.concurrency": 1, "upstream.deadline": "30s", "channels.work": 4}


class Gate:
    """A way whose answers wait until it opens, or until one is let through."""

    def __init__(self):
        self.opened = threading.Event()
        self._waiting = collections.deque()

    def __call__(self, peer, request):
        body, _ = peer.read_body(request)
        turn = threading.Event()
        self._waiting.append(turn)
        end = time.monotonic() + ron.REPLY_S
        while not (self.opened.is_set() or turn.is_set()) and time.monotonic() < end:
            turn.wait(0.01)
        peer.answer(body or b"answer")

    def one(self):
        if self._waiting:
            self._waiting.popleft().set()


class Provoked(Case):
    def front(self, keys=(), **more):
        self.gate = Gate()
        self.addCleanup(self.gate.opened.set)
        self.origin = Origin(x=self.gate)
        self.addCleanup(self.origin.close)
        return self.start([{"prefix": "/x", "upstream": self.origin.url, "open": True,
                            **more.pop("route", {})}], keys, **more)

    def crowd(self, server, name, count):
        """Requests of a tenant whose answers wait; together with the one under way they fill what
        there is."""
        return [self.send(server, "GET", f"/x/{name}", [tenant(server, name)])
                for _ in range(count)]

    def two_tenants(self, server):
        """From now on turns are given one after the other: the first is under way."""
        self.gate.opened.set()
        for name in ("ann", "bob"):
            response = self.ask(server, "GET", "/x", [tenant(server, name)])
            self.assertEqual(response.status, 200)
        self.gate.opened.clear()
        server.wait_metric("gateway_active_tenants", 2)
        under_way = self.crowd(server, "ann", 1)
        ron.wait_until("it is under way", lambda: len(self.origin.requests) == 3)
        return under_way

    def receipt(self, response, code, name):
        details = self.refused(response, 429, code)
        self.assertEqual(set(details), {"tenant", "share", "quantum", "queue_depth", "retry_after"})
        self.assertEqual(details["tenant"], name)
        self.assertTrue(0 <= float(details["share"]) <= 1, details)
        self.assertEqual(int(details["retry_after"]), int(response.get("Retry-After")))
        self.assertGreaterEqual(int(details["retry_after"]), 1)
        return details


class Scrape(Provoked):
    def test_everything_is_there_from_the_start_and_promtool_is_content(self):
        server = self.front()
        fresh = server.metrics()
        for name, kind, label in SPECIFIED:
            with self.subTest(name):
                self.assertEqual(fresh.types.get(name), kind)
                series = [labels for each, labels, _ in fresh.samples if each == name]
                self.assertTrue(series)
                if label:
                    self.assertTrue(all(label in labels for labels in series))
        for name, kind in ADDED:
            with self.subTest(name):
                self.assertEqual(fresh.types.get(name), kind)

        def labels_of(name, label):
            return {labels[label] for each, labels, _ in fresh.samples if each == name}

        self.assertLessEqual({"work", "sched", "metrics_tick"}, labels_of("queue_depth", "queue"))
        self.assertLessEqual({"work", "sched"}, labels_of("queue_dropped_total", "queue"))
        self.assertLessEqual({"read", "write", "connect", "idle"},
                             labels_of("io_timeouts_total", "op"))
        self.assertIn("upstream", labels_of("backoff_retries_total", "op"))
        self.gate.opened.set()
        for name in ("ann", "bob"):
            for path in ("/x", "/nowhere"):
                self.ask(server, "GET", path, [tenant(server, name)])
        ron.wait_until("tenants in the metrics",
                       lambda: "gateway_drr_deficit" in server.metrics().types)
        for scrape in (fresh, server.metrics()):
            done = subprocess.run(["promtool", "check", "metrics"], input=scrape.text.encode(),
                                  capture_output=True, check=False, timeout=60)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))

    def test_tasks_are_counted_when_they_begin(self):
        server = self.front()
        for kind, count in (("scheduler", 1), ("worker", 2), ("accountant", 1), ("ticker", 1),
                            ("prober", 1), ("monitor", 1), ("dialer", 2), ("listener", 2)):
            server.wait_metric("tasks_spawned_total", count, kind=kind)
        self.assertEqual(server.metrics().value("gateway_workers"), 2)

    def test_reloads_are_counted_and_a_bad_one_changes_nothing(self):
        server = self.front()
        self.gate.opened.set()
        good = server.config_path.read_text()

        def reload(text):
            server.config_path.write_text(text)
            server.signal(signal.SIGHUP)

        self.moves(server, "gateway_reload_success_total", 1, lambda: reload(good))
        self.moves(server, "gateway_reload_fail_total", 1,
                   lambda: reload(good.replace('"/x"', '"x/"')), reason="invalid")
        self.moves(server, "gateway_reload_fail_total", 1, lambda: reload(good + "[["),
                   reason="parse")
        self.assertEqual(self.ask(server, "GET", "/x").status, 200)

    def test_tenants_are_labels_only_as_far_as_they_are_the_largest(self):
        server = self.front()
        self.gate.opened.set()
        for number in range(40):
            self.ask(server, "GET", "/x", [tenant(server, f"t{number}")])

        def tenants():
            return {labels["tenant"] for name, labels, _ in server.metrics().samples
                    if name == "gateway_drr_queue_depth"}

        ron.wait_until("all of them are known", lambda: "other" in tenants())
        self.assertLess(len(tenants()), 40)
        listed = self.admin(server, "GET", "/admin/tenants").json()["tenants"]
        self.assertGreaterEqual(len(listed), 40)
        few = self.admin(server, "GET", "/admin/tenants?limit=3").json()["tenants"]
        self.assertEqual(len(few), 3)


class Waiting(Provoked):
    ROUNDS = 30

    def test_busy(self):
        server = self.front(NARROW)
        waiting = self.two_tenants(server)
        before = server.metrics()
        response = self.fill(server, waiting)
        details = self.receipt(response, "Busy", "ann")
        self.assertEqual(details["quantum"], "1")
        self.assertGreater(int(details["queue_depth"]), 0)
        after = server.metrics()
        for name, labels in (("busy_rejections_total", {"endpoint": CATCH_ALL}),
                             ("queue_dropped_total", {"queue": "work"})):
            self.assertEqual(after.value(name, **labels) - before.value(name, **labels), 1, name)
        ron.wait_until("the accountant's next second",
                       lambda: self.rejections(server, "ann") == 1)
        self.gate.opened.set()
        self.assertEqual({c.read_response().status for c in waiting}, {200})
        server.wait_metric("queue_depth", 0, queue="work")

    def fill(self, server, waiting):
        """One request after the other waits, until one is refused: that one's answer."""
        for _ in range(20):
            [connection] = self.crowd(server, "ann", 1)

            def is_in_or_out():
                inflight = server.metrics().value("http_inflight_requests")
                answered, _, _ = select.select([connection.socket], [], [], 0)
                return answered or inflight == len(waiting) + 1

            if ron.wait_until("it waits or is refused", is_in_or_out) is not True:
                return connection.read_response()
            waiting.append(connection)
        raise AssertionError("nobody was ever refused")

    def rejections(self, server, name):
        """As the accountant counted them a second ago."""
        rows = self.admin(server, "GET", "/admin/tenants").json()["tenants"]
        return sum(row["rejections"] for row in rows if row["tenant"] == name)

    def test_degraded_sheds_writes_and_serves_reads(self):
        server = self.front({**NARROW, "channels.work": 8})
        waiting = self.two_tenants(server)
        self.assertEqual(server.metrics().value("gateway_degraded"), 0)
        for name in ("ann", "bob"):
            waiting += self.crowd(server, name, 3)  # three quarters of what there is
        server.wait_metric("gateway_degraded", 1)
        ready = self.ask(server, "GET", "/readyz")
        self.assertEqual(ready.status, 200)
        self.assertEqual(ready.json(), {"ready": True, "write_ready": False, "degraded": True,
                                        "missing": ["queue: full"]})
        for method in ("POST", "PUT", "DELETE"):
            response = self.moves(
                server, "gateway_refused_total", 1,
                lambda: self.ask(server, method, "/x", [tenant(server, "bob")], b""),
                reason="degraded")
            self.refused(response, 503, "Degraded")
            self.assertGreaterEqual(int(response.get("Retry-After")), 1)
        reading = self.crowd(server, "bob", 1)
        server.wait_log("degraded", what="queue: full")
        self.gate.opened.set()
        self.assertEqual([c.read_response().status for c in waiting + reading], [200] * 8)
        server.wait_metric("gateway_degraded", 0)
        server.wait_log("recovered")
        self.assertTrue(self.ask(server, "GET", "/readyz").json()["write_ready"])
        self.assertEqual(self.ask(server, "POST", "/x", [tenant(server, "bob")], b"b").body, b"b")

    def test_the_oldest_makes_room_in_sched(self):
        """Several places come free at once, and `sched` holds one of them: whoever was dropped is
        told so, nobody is forgotten. How many come free at once is for the machine to say."""
        server = self.front({**NARROW, "upstream.concurrency": 8, "channels.work": 64,
                             "channels.sched": 1}, cores=1)
        first = self.two_tenants(server)
        dropped = 0
        for _ in range(self.ROUNDS):
            first += self.crowd(server, "ann", 8 - len(first))
            ron.wait_until("eight are under way",
                           lambda: server.metrics().value("http_inflight_requests") == 8)
            behind = self.crowd(server, "bob", 8)
            server.wait_metric("http_inflight_requests", 16)
            self.gate.opened.set()
            self.assertEqual([c.read_response().status for c in first], [200] * 8)
            for answer in [c.read_response() for c in behind]:
                if answer.status != 200:
                    self.assertEqual(self.refused(answer, 503, "Degraded")["tenant"], "bob")
                    dropped += 1
            server.wait_metric("queue_dropped_total", dropped, queue="sched")
            if dropped:
                return
            self.gate.opened.clear()
            first = []
        raise AssertionError("nobody was ever dropped")

    def test_no_turn_before_the_deadline(self):
        server = self.front({**NARROW, "upstream.deadline": "500ms"}, route={"deadline": "500ms"})
        self.two_tenants(server)
        late = self.crowd(server, "bob", 1)
        self.refused(late[0].read_response(), 504, "Timeout")

    def test_rate_limited_is_the_tenants_own_affair(self):
        server = self.front({"drr.rate_limit_rps": 5, "drr.tenant_quanta.ann": 3})
        self.gate.opened.set()

        def flood():
            responses = [self.ask(server, "GET", "/x", [tenant(server, "ann")]) for _ in range(20)]
            return [response for response in responses if response.status != 200]

        before = server.metrics().value("gateway_refused_total", reason="rate")
        refused = flood()
        self.assertGreater(len(refused), 5)
        server.wait_metric("gateway_refused_total", before + len(refused), reason="rate")
        for response in refused:
            self.assertEqual(self.receipt(response, "RateLimited", "ann")["quantum"], "3")
        self.assertEqual(self.ask(server, "GET", "/x", [tenant(server, "bob")]).status, 200)
        ron.wait_until("the accountant's next second",
                       lambda: self.rejections(server, "ann") == len(refused))

    def test_a_name_is_no_address(self):
        """Who names himself like an address uses up a rate of his own, not the neighbour's."""
        server = self.front({"drr.rate_limit_rps": 1})
        self.gate.opened.set()
        host = server.address[0]
        self.assertEqual(self.ask(server, "GET", "/x").status, 200)
        ron.wait_until("the address's rate is used up",
                       lambda: self.ask(server, "GET", "/x").status == 429)
        self.assertEqual(self.ask(server, "GET", "/x", [tenant(server, host)]).status, 200)
        refused = ron.wait_until("so is the name's", lambda: self.limited(server, host))
        self.receipt(refused, "RateLimited", "name:" + host)
        ron.wait_until("both are accounted for", lambda: {host, "name:" + host} <= {
            row["tenant"] for row in self.admin(server, "GET", "/admin/tenants").json()["tenants"]})
        self.assertEqual(ron.complaints_of_promtool(server.metrics()), [])

    def test_a_capabilitys_limit_holds_for_a_body_of_unknown_length(self):
        server = self.front(route={"open": False})
        self.gate.opened.set()
        auth = ("Authorization", "Bearer " + ron.attenuate(server.token, "max_bytes = 5"))
        for body, status in ((b"123456", 403), (b"12345", 200)):
            connection = self.connect(server)
            connection.send(ron.request("POST", "/x", [auth, ("Transfer-Encoding", "chunked")]))
            connection.send(b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
            answer = connection.read_response()
            self.assertEqual(answer.status, status, answer.body)
        self.assertEqual(answer.body, b"12345")

    def limited(self, server, name):
        response = self.ask(server, "GET", "/x", [tenant(server, name)])
        return response if response.status == 429 else None

    def test_a_tenant_added_later_has_no_rate_of_its_own(self):
        server = self.front()
        self.gate.opened.set()
        code, minted, err = ron.run_ron("token", "mint", "--keys",
                                        str(server.cwd / "ron-data/keys"), "--scope", "edge:admin")
        self.assertEqual((code, err), (0, ""))
        for number in range(5):
            token = ron.attenuate(minted.strip(), f"tenant = self-made-{number}")
            self.assertEqual(self.ask(server, "GET", "/x", [
                ("Authorization", "Bearer " + token)]).status, 200)

        def rows():
            shown = self.admin(server, "GET", "/admin/tenants").json()["tenants"]
            return {row["tenant"] for row in shown}

        ron.wait_until("they are accounted for", rows)
        self.assertEqual(rows(), {server.address[0]})

    def test_who_waits_and_who_owes(self):
        server = self.front({**NARROW, "channels.work": 64})
        waiting = self.two_tenants(server) + self.crowd(server, "ann", 5)
        waiting += self.crowd(server, "bob", 2)
        server.wait_metric("gateway_drr_queue_depth", 5, tenant="ann")
        server.wait_metric("gateway_drr_queue_depth", 2, tenant="bob")
        shown = self.admin(server, "GET", "/admin/tenants").json()
        self.assertEqual((shown["window_seconds"], shown["active"]), (60, 2))
        rows = {row["tenant"]: row for row in shown["tenants"]}
        self.assertEqual((rows["ann"]["queue_depth"], rows["bob"]["queue_depth"]), (5, 2))
        self.assertEqual((rows["ann"]["in_flight"], rows["bob"]["in_flight"]), (1, 0))
        self.assertTrue(all(row["quantum"] == 1 for row in rows.values()))
        self.gate.opened.set()
        self.assertEqual([c.read_response().status for c in waiting], [200] * 8)
        server.wait_metric("gateway_drr_queue_depth", 0)
        server.wait_metric("queue_depth", 0, queue="metrics_tick")
        metrics = server.metrics()
        self.assertEqual(metrics.value("gateway_turns_total", way="bypass"), 3)
        self.assertEqual(metrics.value("gateway_turns_total", way="queued"), 7)
        # The first of them took seconds of the upstream's time.
        shares = [metrics.value("gateway_share_served_permille", tenant=name)
                  for name in ("ann", "bob")]
        self.assertGreater(shares[0], shares[1])
        self.assertTrue(990 <= sum(shares) <= 1000, shares)
        jain = metrics.value("gateway_jain_index_permille")
        self.assertTrue(500 <= jain < 1000, jain)

    def test_a_deficit_is_spent_and_given_back(self):
        """What waits costs more than one round gives: a tenant saves, spends and owes."""
        server = self.front({**NARROW, "channels.work": 64}, route={"cost": 50})
        waiting = self.two_tenants(server)
        for name in ("ann", "bob"):
            waiting += self.crowd(server, name, 6)
        server.wait_metric("gateway_drr_queue_depth", 6, tenant="bob")
        seen = set()
        end = time.monotonic() + 3
        while time.monotonic() < end:
            self.gate.one()
            metrics = server.metrics()
            seen |= {metrics.value("gateway_drr_deficit", tenant=name) for name in ("ann", "bob")}
            time.sleep(0.25)
        self.gate.opened.set()
        self.assertEqual({c.read_response().status for c in waiting}, {200})
        self.assertGreater(len(seen), 1, f"it was always {seen}")

    def test_an_event_that_nobody_took_in_time(self):
        members = [Origin(x=Gate()) for _ in range(8)]
        for member in members:
            self.addCleanup(member.close)
        server = self.start([{"prefix": "/x", "upstream": [each.url for each in members],
                              "open": True}], {"channels.events": 1})
        self.assertEqual(server.metrics().value("bus_lagged_total"), 0)
        self.assertEqual(self.admin(server, "POST", "/admin/upstreams/x/drain").status, 200)
        ron.wait_until("events are missed", lambda: server.metrics().value(
            "bus_lagged_total", topic="events") > 0)
        self.assertGreater(server.wait_log("events missed")["missed"], 0)


class Ended(Provoked):
    def test_a_client_that_leaves_takes_its_request_along(self):
        server = self.front()

        def leave():
            connection = self.send(server, "GET", "/x")
            ron.wait_until("the request", lambda: len(self.origin.requests) == 1)
            time.sleep(0.05)  # at once it could mean that it has nothing more to say
            connection.close()

        self.moves(server, "http_canceled_total", 1, leave, reason="client-gone")
        server.wait_metric("upstream_requests_total", 1, upstream="x.0", outcome="abandoned")

    def test_a_client_that_leaves_the_line_frees_its_place(self):
        server = self.front(NARROW)
        self.two_tenants(server)
        waiting = self.crowd(server, "bob", 2)
        server.wait_metric("gateway_drr_queue_depth", 2, tenant="bob")
        waiting[0].close()
        server.wait_metric("gateway_drr_queue_depth", 1, tenant="bob")
        self.gate.opened.set()
        self.assertEqual(waiting[1].read_response().status, 200)
        self.assertEqual(len(self.origin.requests), 4, "asked on behalf of one that had left")

    def test_canceled_and_aborted(self):
        server = self.front({"drain_deadline": "2s", "upstream.deadline": "1h",
                             "server.request_deadline": "1h"})
        stuck = self.send(server, "GET", "/x")
        ron.wait_until("the request", lambda: len(self.origin.requests) == 1)
        metrics = server.metrics()
        for name in ("tasks_aborted_total", "tasks_canceled_total"):
            self.assertEqual((metrics.types[name], metrics.value(name)), ("counter", 0))
        server.signal(signal.SIGTERM)
        # One core's listener has nothing to wait for and ends; the other is cut at the deadline.
        server.wait_metric("tasks_canceled_total", 1, kind="listener")
        self.assertEqual(server.metrics().value("gateway_draining"), 1)
        with self.assertRaises(ron.Closed):
            stuck.read_response()
        self.assertEqual(server.wait_exit(), 0)
        self.assertGreaterEqual(server.logs()[-1]["aborted_tasks"], 1)

    def test_clients_that_do_not_go_on(self):
        server = self.front({"read_timeout": "200ms", "write_timeout": "200ms",
                             "idle_timeout": "200ms", "limits.max_body_bytes": "8MiB"})
        self.gate.opened.set()
        for sent in (b"GET /he", ron.request("POST", "/x", (), b"abc")[:-1]):
            connection = self.connect(server)

            def dribble():
                connection.send(sent)
                return connection.read_response()

            response = self.moves(server, "io_timeouts_total", 1, dribble, op="read")
            self.refused(response, 408, "ReadTimeout")
        idle = self.connect(server)
        self.moves(server, "io_timeouts_total", 1, lambda: idle.ask("GET", "/healthz"), op="idle")
        self.assertTrue(idle.ends())

    def test_a_client_that_does_not_read(self):
        origin = Origin(x=lambda peer, _: peer.answer(bytes(16 * MIB)))
        self.addCleanup(origin.close)
        server = self.start([{"prefix": "/x", "upstream": origin.url, "open": True}],
                            {"write_timeout": "200ms"})
        connection = self.connect(server, receive_buffer=4096)
        self.moves(server, "io_timeouts_total", 1,
                   lambda: connection.send(ron.request("GET", "/x")), op="write")
        with self.assertRaises(ron.Truncated):
            connection.read_response()


class Bombs(Provoked):
    """DecodeBomb: what a body decodes to is judged before anybody behind the gateway has it."""

    NOISE = random.Random(1).randbytes(100_000)
    PACKED = ("Content-Encoding", "gzip")
    CASES = (
        ("decoded-ratio", "DecodedRatio", gzip.compress(bytes(1_000_000))),
        ("decoded-cap", "DecodedCap", gzip.compress(NOISE * 3)),
    )
    LIMIT = "256KiB"

    def bombs(self, server, path):
        for reason, code, body in self.CASES:
            with self.subTest(code):
                response = self.moves(
                    server, "rejected_total", 1,
                    lambda: self.ask(server, "POST", path, [server.auth, self.PACKED], body),
                    reason=reason)
                self.refused(response, 413, code)

    def test_to_an_upstream(self):
        server = self.front({"limits.decode_abs_cap_bytes": self.LIMIT})
        self.gate.opened.set()
        self.bombs(server, "/x")
        self.assertEqual(self.origin.requests, [], "the upstream saw something of it")
        good = gzip.compress(self.NOISE)
        response = self.ask(server, "POST", "/x", [self.PACKED], good)
        self.assertEqual((response.status, response.body == good), (200, True))
        [(head, _)] = self.origin.requests
        self.assertEqual(head.all("content-encoding"), ["gzip"])

    def test_to_storage_of_the_same_process(self):
        server = ron.Process(["up", "--only", "gateway,storage", "--amnesia"], ["svc-gateway"],
                             sets={f"{service}.limits.decode_abs_cap_bytes": self.LIMIT
                                   for service in ("gateway", "storage")})
        self.addCleanup(server.close)
        self.bombs(server, "/o")
        stored = self.ask(server, "POST", "/o", [server.auth, self.PACKED],
                          gzip.compress(self.NOISE))
        self.assertEqual((stored.status, stored.json()["address"]), (201, ron.b3(self.NOISE)))


if __name__ == "__main__":
    unittest.main()
