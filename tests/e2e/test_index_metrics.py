"""Every error and every metric of the index's specification, seen happening.

Sections 8 and 9 of svc-index's concurrency specification, and the keys of section 12: each is
provoked from outside. The disk is slow or fails where strace makes it so; the server has no
io_uring then, since calls through it cannot be held up. tasks_aborted_total is counted when the
admin listener has gone: its number is in the log's last line.
"""

import gzip
import signal
import socket
import tempfile
import time
import unittest

import index
import ron
from index import Case, address_of, record
from registry_tracer import Tracer, blocking_binary

# Section 9 and the metrics of sections 3 and 8: name, type, label and values that are there from
# the start.
SPECIFIED = (
    ("queue_depth", "gauge", "queue", {"work", "writes", "cache_updates"}),
    ("queue_dropped_total", "counter", "queue", {"work", "writes", "cache_updates", "events"}),
    ("tasks_spawned_total", "counter", "kind", {
        "resolver", "writer", "cache-janitor", "breaker-janitor", "warmup", "listener",
        "reloader"}),
    ("tasks_aborted_total", "counter", "kind", {"resolver"}),
    ("tasks_canceled_total", "counter", "kind", {"resolver"}),
    ("resolve_latency_seconds", "histogram", None, set()),
    ("index_dht_lookup_ms", "histogram", None, set()),
    ("backoff_retries_total", "counter", "op", {"write", "find_providers"}),
    ("breaker_state", "gauge", "target", set()),
    ("breaker_open_total", "counter", "target", set()),
    ("busy_rejections_total", "counter", "route", {
        "GET /resolve/{key...}", "GET /providers/{addr}", "PUT /providers/{addr}",
        "PUT /names/{name...}"}),
    ("io_timeouts_total", "counter", "op", {"read", "write", "resolve"}),
    ("resolve_deadline_hit_total", "counter", None, set()),
    ("bus_lagged_total", "counter", "topic", {"events"}),
)
ADDED = ("index_cache_hits_total", "index_cache_misses_total", "index_resolves_joined_total",
         "index_cache_entries", "index_cache_expired_total", "index_name_versions_total",
         "index_syncs_total", "index_cas_fail_total", "index_amnesia_purges_total",
         "index_map_memory_bytes", "index_searches_total", "index_hedged_searches_total",
         "index_asks_total", "index_extra_asks_total", "index_records_refused_total",
         "index_values_skipped_total", "index_published_total", "index_publish_failures_total",
         "index_republish_lag_seconds", "index_reload_success_total", "index_draining")
SET = "PUT /names/{name...}"


def free_port():
    """One where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]


class Targets(Case):
    def target(self, target):
        self.addCleanup(target.close)
        return target

    def begin(self, *targets, kind="discovery.static", **sets):
        sets = {key.replace("__", "."): value for key, value in sets.items()}
        return self.start({kind: index.one_of(each if isinstance(each, str) else each.url
                                              for each in targets), **sets})


class Scrape(Targets):
    def test_everything_is_there_from_the_start(self):
        server = self.begin(self.target(index.storage_target()), dht__proxies=index.one_of(
            [self.target(index.proxy_target(0, {})).url]))
        fresh = server.metrics()
        for name, kind, label, values in SPECIFIED:
            with self.subTest(name):
                self.assertEqual(fresh.types.get(name), kind)
                have = {labels.get(label) for each, labels, _ in fresh.samples if each == name}
                self.assertLessEqual(values, have)
        for name in ADDED:
            with self.subTest(name):
                self.assertIn(name, fresh.types)
        services = {labels.get("service") for _, labels, _ in fresh.samples}
        self.assertEqual(services - {None}, {"svc-index"})

    def test_promtool_is_content_and_labels_are_bounded(self):
        target = self.target(index.storage_target(address_of(1)))
        server = self.begin(target)
        for number in range(5):
            server.set_name(f"docs/{number}", address_of(number))
            server.resolve(f"docs/{number}")
            server.resolve(address_of(number))
        metrics = server.metrics()
        self.assertEqual(ron.complaints_of_promtool(metrics), [])
        values = {value for _, labels, _ in metrics.samples for value in labels.values()}
        self.assertFalse([value for value in values if "docs" in value or "b3:" in value])
        self.assertLessEqual({labels["target"] for _, labels, _ in metrics.samples
                              if "target" in labels}, {target.url})

    def test_tasks_spawned(self):
        server = self.start({"workers": 7})
        for kind, count in (("resolver", 7), ("writer", 1), ("cache-janitor", 1),
                            ("breaker-janitor", 1), ("listener", 2)):
            server.wait_metric("tasks_spawned_total", count, kind=kind)

    def test_names(self):
        server = self.start()
        self.assertGreater(server.metrics().value("index_map_memory_bytes"), 0)
        self.moves(server, "index_name_versions_total", 3, lambda: [
            server.set_name("docs", address_of(1)), server.set_name("docs", address_of(2)),
            server.remove("docs")])
        self.moves(server, "index_syncs_total", 1, lambda: server.set_name("docs", address_of(1)))
        self.moves(server, "index_syncs_total", 0, lambda: server.set_name("docs", address_of(1)))
        self.moves(server, "index_cas_fail_total", 1,
                   lambda: server.put_name("docs", address_of(2), expected_version=1))

    def test_resolves(self):
        server = self.start()
        server.set_name("docs", address_of(1))
        self.moves(server, "index_cache_misses_total", 1, lambda: server.resolve("docs"))
        server.wait_metric("index_cache_entries", 1)
        self.moves(server, "index_cache_hits_total", 5,
                   lambda: [server.resolve("docs") for _ in range(5)])
        self.assertEqual(server.metrics().value("resolve_latency_seconds_count"), 1)
        self.assertLess(server.metrics().value("resolve_latency_seconds_sum"), 1)


class Blocking(Case):
    """With file calls that strace can hold up."""

    def setUp(self):
        super().setUp()
        self.home = tempfile.TemporaryDirectory(prefix="ron-e2e-")
        self.addCleanup(self.home.cleanup)

    def begin(self, **sets):
        sets = {key.replace("__", "."): value for key, value in sets.items()}
        return self.start(sets, binary=blocking_binary(self.home.name), cores=1)

    def slow(self, server, milliseconds):
        """From now on every sync of a file takes so long, until it is closed."""
        tracer = Tracer(server, "-e", "trace=fdatasync", "-e",
                        f"inject=fdatasync:delay_enter={int(milliseconds * 1000 * ron.SLOW)}")
        self.addCleanup(tracer.close)
        return tracer

    def set_later(self, server, name):
        connection = server.connect()
        self.addCleanup(connection.close)
        connection.send(ron.request("PUT", index.path_of(name), [server.auth],
                                    b'{"target":"%s"}' % address_of(1).encode()))
        return connection


class Busy(Blocking):
    def test_full_queue_of_writes(self):
        """Refused at once, by numbers. (Of resolves: test_index_overload.py.)"""
        server = self.begin(channels__writes=2)
        with self.slow(server, 1500):
            first = self.set_later(server, "docs/first")
            time.sleep(0.3 * ron.SLOW)  # it is being written
            more = [self.set_later(server, f"docs/{number}") for number in range(6)]
            answers = [each.read_response() for each in more]
            self.assertEqual(first.read_response().status, 201)
        refused = [each for each in answers if each.status == 429]
        self.assertEqual((len(refused), {each.status for each in answers}), (4, {201, 429}))
        for each in refused:
            self.refused(each, 429, "Busy")
            self.assertTrue(each.get("Retry-After"))
        server.wait_metric("busy_rejections_total", 4, route=SET)
        server.wait_metric("queue_dropped_total", 4, queue="writes")
        self.assertEqual(len(server.listed()[0]), 3)  # those that were acknowledged, and no more

    def test_queue_depth(self):
        server = self.begin()
        with self.slow(server, 1500):
            waiting = [self.set_later(server, "docs/first")]
            time.sleep(0.3 * ron.SLOW)
            waiting += [self.set_later(server, f"docs/{number}") for number in range(5)]
            server.wait_metric("queue_depth", 5, queue="writes")
            self.assertEqual({each.read_response().status for each in waiting}, {201})
        server.wait_metric("queue_depth", 0, queue="writes")


class Timeout(Targets):
    def test_resolve_in_time_or_not_at_all(self):
        """The budget counts from the request on, whatever there is to wait for."""
        slow = self.target(index.storage_target())
        slow.held.clear()
        server = self.begin(slow, dht__deadline_ms=400)
        took = []
        for number in range(3):
            began = time.monotonic()
            self.refused(server.resolve(address_of(number)), 504, "Timeout")
            took.append(time.monotonic() - began)
        self.assertGreaterEqual(min(took), 0.35)
        self.assertLess(min(took), 0.45 * ron.SLOW, took)  # noise of the machine only ever adds
        server.wait_metric("resolve_deadline_hit_total", 3)
        server.wait_metric("io_timeouts_total", 3, op="resolve")
        server.wait_metric("index_searches_total", 3, result="timeout")
        server.wait_metric("index_asks_total", 3, target=slow.url, outcome="late")
        self.assertEqual(server.metrics().value("index_dht_lookup_ms_count"), 3)
        self.assertGreater(server.metrics().value("index_dht_lookup_ms_sum"), 3 * 350)
        ron.wait_until("who was asked sees that it is over", lambda: slow.left == 3)


class SlowWrites(Blocking):
    def test_the_callers_deadline_counts(self):
        server = self.begin(server__request_deadline="1s")
        with self.slow(server, 3000):
            began = time.monotonic()
            late = [self.set_later(server, f"docs/{number}") for number in range(3)]
            for each in late:
                self.refused(each.read_response(), 504, "Timeout")
            self.assertLess(time.monotonic() - began, 2.5 * ron.SLOW)
            self.assertEqual(server.ask("GET", "/names", auth=()).status, 200)  # reads go on
        ron.wait_until("it goes on", lambda: server.put_name("docs/x", address_of(1)).status == 201)

    def test_failing_disk(self):
        """StorageBusy, repaired with backoff, writes unready meanwhile, reads go on."""
        server = self.begin()
        server.set_name("docs", address_of(1))
        with Tracer(server, "-e", "trace=fdatasync,fsync", "-e",
                    "inject=fdatasync,fsync:error=EIO"):
            response = server.put_name("docs", address_of(2))
            self.refused(response, 503, "StorageBusy")
            self.assertTrue(response.get("Retry-After"))
            state = ron.wait_until("writes are unready", lambda: self.unready(server))
            self.assertEqual(state["missing"], ["the disk takes no writes"])
            self.assertTrue(state["ready"], state)
            self.assertEqual(server.resolve("docs").status, 200)
            self.assertEqual(server.name("docs@1").json()["target"], address_of(1))
            self.refused(server.put_name("docs", address_of(2)), 503, "StorageBusy")
            ron.wait_until("it backs off", lambda: server.metrics().value(
                "backoff_retries_total", op="write") >= 2)
        ron.wait_until("writes are ready again", lambda: server.readyz().json()["write_ready"])
        version = server.set_name("docs", address_of(3))
        self.assertIn(version, (2, 3))  # what was in doubt may count
        history = server.name("docs", "?history=1").json()["versions"]
        self.assertEqual([each["version"] for each in history], list(range(version, 0, -1)))
        server = self.restart(server)
        self.assertEqual(server.name("docs", "?history=1").json()["versions"], history)

    def unready(self, server):
        state = server.readyz().json()
        return None if state["write_ready"] else state


class BreakerOpen(Targets):
    BREAKER = {"breaker__cooldown_s": 1, "breaker__half_open_probes": 2,
               "breaker__error_window_s": 60}

    def state(self, server, target):
        states = {labels["state"] for name, labels, value in server.metrics().samples
                  if name == "breaker_state" and labels["target"] == target and value == 1}
        self.assertEqual(len(states), 1)
        return states.pop()

    def test_opens_rests_and_closes_again(self):
        target = self.target(index.storage_target(address_of("there")))
        server = self.begin(target, **self.BREAKER)
        self.assertEqual(self.state(server, target.url), "closed")
        target.cut = True
        statuses = []
        for number in range(40):
            statuses.append(server.resolve(address_of(number)).status)
            if self.state(server, target.url) == "open":
                break
        self.assertEqual(self.state(server, target.url), "open")
        self.assertTrue(set(statuses) <= {502, 503, 504}, statuses)
        asked = len(target.seen)
        response = server.resolve(address_of("resting"))
        self.refused(response, 503, "BreakerOpen")
        self.assertTrue(response.get("Retry-After"))
        self.assertGreaterEqual(server.metrics().value("breaker_open_total", target=target.url), 1)
        server.set_name("docs", address_of("named"))
        self.assertEqual(server.resolved("docs")["providers"], [])  # a name needs nobody
        self.assertLessEqual(len(target.seen) - asked, 2)  # probes at most
        target.cut = False
        ron.wait_until("it is let in again", lambda: self.state(server, target.url) == "closed")
        self.assertEqual(server.resolved(address_of("there"))["winner"], target.url)

    def test_while_it_is_away_it_is_open_or_probed(self):
        target = self.target(index.storage_target())
        server = self.begin(target, **self.BREAKER)
        target.cut = True
        ron.wait_until("it opens", lambda: server.resolve(address_of(time.monotonic())) and
                       self.state(server, target.url) == "open")
        end = time.monotonic() + 3
        seen = set()
        while time.monotonic() < end:
            seen.add(self.state(server, target.url))
            time.sleep(0.02)
        self.assertNotIn("closed", seen)

    def test_others_are_asked_meanwhile(self):
        bad, good = (self.target(index.storage_target()), self.target(index.storage_target(
            *(address_of(number) for number in range(60)))))
        # One at a time: of two that are asked at once the slower one's failure may not be waited for.
        server = self.begin(bad, good, dht__alpha=1, **self.BREAKER)
        bad.cut = True
        for number in range(60):
            self.assertEqual(server.resolved(address_of(number))["winner"], good.url)
        self.assertIn(self.state(server, bad.url), ("open", "half_open", "half-open"))


class Retries(Targets):
    def test_nobody_listens(self):
        """Refused connections are tried again, a little later, and then given up."""
        url = f"http://127.0.0.1:{free_port()}"
        server = self.begin(url)
        self.refused(server.resolve(address_of(1)), 502, "UpstreamFail")
        retries = server.metrics().value("backoff_retries_total", op="find_providers")
        self.assertIn(retries, (1, 2, 3))
        server.wait_metric("index_searches_total", 1, result="failed")
        server.wait_metric("index_asks_total", 1, target=url, outcome="failed")


class Canceled(Targets):
    def test_canceled_and_aborted(self):
        slow = self.target(index.storage_target())
        slow.held.clear()
        server = self.begin(slow, dht__deadline_ms=60000, drain_deadline="2s",
                            server__request_deadline="1h")
        metrics = server.metrics()
        for name in ("tasks_aborted_total", "tasks_canceled_total"):
            self.assertEqual((metrics.types[name], metrics.value(name)), ("counter", 0))
        stuck = server.connect()
        self.addCleanup(stuck.close)
        stuck.send(ron.request("GET", "/resolve/" + address_of(1)))
        ron.wait_until("it is at work", lambda: slow.seen)
        server.signal(signal.SIGTERM)
        # One core's listener has nothing to wait for and ends; the other is cut at the deadline.
        server.wait_metric("tasks_canceled_total", 1, kind="listener")
        self.assertEqual(server.metrics().value("index_draining"), 1)
        try:
            self.refused(stuck.read_response(), 503, "Draining")
        except ron.Closed:
            pass
        self.assertEqual(server.wait_exit(), 0)
        self.assertGreaterEqual(server.logs()[-1]["aborted_tasks"], 1)
        ron.wait_until("its work ended with it", lambda: slow.left == 1)


class Lagging(Case):
    def test_events_that_nobody_took_in_time(self):
        server = self.start({"channels.events": 1})
        self.assertEqual(server.metrics().value("bus_lagged_total", topic="events"), 0)

        def rush(worker):
            with server.connect() as connection:
                for number in range(50):
                    server.set_name(f"docs/{worker}/{number}", address_of(time.monotonic()),
                                    connection=connection)
            return server.metrics().value("bus_lagged_total", topic="events") == 0

        self.assertEqual(ron.Load(16, rush).join(), [])
        self.assertGreater(server.metrics().value("bus_lagged_total", topic="events"), 0)
        self.assertGreater(server.wait_log("events missed")["missed"], 0)


class Discovered(Targets):
    def test_outcomes(self):
        node, address = index.new_node(), address_of(1)
        body = record(node, address)
        proxy = self.target(index.proxy_target(0, {address: [b"no record", body]}))
        server = self.begin(proxy, kind="dht.proxies", discovery__nodes=f'["{node.text}"]')
        server.resolved(address)
        server.resolve(address_of(2))
        for outcome in ("found", "none"):
            server.wait_metric("index_asks_total", 1, target=proxy.url, outcome=outcome)
            server.wait_metric("index_searches_total", 1, result=outcome)
        server.wait_metric("index_values_skipped_total", 1)
        self.assertEqual(server.metrics().value("index_dht_lookup_ms_count"), 2)

    def test_too_many_records_cost_only_their_lane(self):
        address = address_of(1)
        flood = [record(index.new_node(), address, seq=number) for number in range(60)]
        proxy = self.target(index.proxy_target(0, {address: flood}))
        server = self.begin(proxy, kind="dht.proxies", discovery__trust="any")
        self.assertLessEqual(len(server.resolved(address)["providers"]), 32)
        server.wait_metric("index_records_refused_total", 60 - 32, reason="too_many")

    def test_published_and_published_again(self):
        node, address = index.new_node(), address_of(1)
        good, bad = self.target(index.proxy_target(0, {})), f"http://127.0.0.1:{free_port()}"
        server = self.begin(good, bad, kind="dht.proxies", dht__republish="1s",
                            discovery__nodes=f'["{node.text}"]')
        body = record(node, address)
        self.assertEqual(server.announce(address, body).status, 200)
        key = "/" + index.lane_key(0, address)
        ron.wait_until("it is published twice",
                       lambda: [path for path, _ in good.put].count(key) >= 2)
        ron.wait_until("both are counted", lambda: server.metrics().value(
            "index_published_total", target=good.url) >= 2 and server.metrics().value(
                "index_publish_failures_total", target=bad) >= 1)
        self.assertIn("index_republish_lag_seconds", server.metrics().types)


class Keys(Case):
    def test_names_of_the_specification(self):
        """Section 12 and the contract: each is a key of [index]."""
        for name in ("max_conns=100", "server.connection_limit_per_ip=10", "channels.work=4",
                     "channels.events=4", "dht.alpha=2", "dht.beta=1", "dht.hedge_ms=100",
                     "dht.deadline_ms=900", "breaker.error_window_s=5",
                     "breaker.trip_threshold=0.4", "breaker.cooldown_s=3",
                     "breaker.half_open_probes=1", "ratelimit.per_ip_rps=9",
                     "quotas.names_per_tenant=5", "amnesia.purge_interval_ms=1000",
                     "drain_deadline=1s", "dht.republish=1m", "cache.positive_ttl=1s",
                     "cache.negative_ttl=1s", "cache.entries=100", 'cache.warmup_keys=["docs"]',
                     "workers=5", 'peers=["http://127.0.0.1:1"]',
                     'dht.proxies=["http://127.0.0.1:1"]', "read_timeout=1s", "write_timeout=1s",
                     "idle_timeout=1s", "limits.max_body_bytes=2KiB", "limits.decode_ratio_max=5"):
            with self.subTest(name):
                code, _, error = ron.run_ron("config", "check", "--set", "index." + name)
                self.assertEqual(code, 0, error)

    def test_what_is_wrong_is_said(self):
        for name, words in (("dht.hedge_ms=1200", "hedge_ms"), ('peers=["ftp://x"]', "peers"),
                            ('dht.proxies=["x"]', "proxies"), ("dht.alfa=1", "dht.alpha"),
                            ('discovery.nodes=["x"]', "nodes"),
                            ('cache.warmup_keys=["X"]', "warmup"),
                            ("breaker.trip_threshold=2", "trip_threshold"),
                            ("workers=0", "workers")):
            with self.subTest(name):
                code, _, error = ron.run_ron("config", "check", "--set", "index." + name)
                self.assertEqual(code, 1)
                self.assertIn(words, error)

    def test_decompression_is_bounded(self):
        """Bodies of 1 MiB, ten times that decoded at most."""
        server = self.start()
        bomb = gzip.compress(b" " * (1 << 20) + b"{}")
        response = server.ask("PUT", "/names/docs", bomb, headers=[("Content-Encoding", "gzip")])
        self.refused(response, 413, "DecodedRatio")
        body = gzip.compress(b'{"target":"%s"}' % address_of(1).encode())
        response = server.ask("PUT", "/names/docs", body, headers=[("Content-Encoding", "gzip")])
        self.assertEqual(response.status, 201)


if __name__ == "__main__":
    unittest.main()
