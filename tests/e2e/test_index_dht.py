"""svc-index over a real DHT: 5 `dhtnode`s and 3 indexes. What is announced to one is found by the
others; hedging with a node stopped, the deadline, whose work is cancelled; records that must never
be returned; proxies that are hostile. `--long` for more resolves."""

import base64
import json
import shutil
import sys
import tempfile
import threading
import time
import unittest

import dht
import registry
import ron

LONG = "--long" in sys.argv
RESOLVES = 1000 if LONG else 300
DEADLINE_S = 1.2
TOLERANCE_S = 0.05 * ron.SLOW


class Canary:
    """How late the machine itself is: a thread that sleeps 5 ms at a time and notes by how much it
    overslept. Bounds do not give way to it; it only says, beside a failure, who may be to blame."""

    def __init__(self):
        self.late = []
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            began = time.monotonic()
            time.sleep(0.005)
            self.late.append(time.monotonic() - began - 0.005)

    def __str__(self):
        late = list(self.late) or [0.0]
        return (f"a sleep of 5 ms ended late by p99 {ron.percentile(late, 0.99) * 1000:.1f} ms, "
                f"max {max(late) * 1000:.1f} ms meanwhile")


class Index(ron.Process):
    """One `ron index` process that believes the nodes given."""

    def __init__(self, proxies, nodes, sets=None, **more):
        self.data = tempfile.mkdtemp(prefix="ron-e2e-index-")
        keys = [base64.b64encode(node.public).decode() for node in nodes]
        sets = {"index.dht.proxies": json.dumps(proxies),
                "index.discovery.nodes": json.dumps(keys),
                "index.server.max_rps": 1000000, **(sets or {})}
        super().__init__(["index", "--data", self.data], ["svc-index"], sets=sets, **more)

    def close(self):
        super().close()
        shutil.rmtree(self.data, ignore_errors=True)

    def resolve(self, address, fresh=False):
        """(status, document, seconds)"""
        with self.connect() as connection:
            began = time.monotonic()
            response = connection.ask(
                "GET", f"/resolve/{dht.text(address)}" + ("?fresh=1" if fresh else ""), [self.auth])
            return response.status, json.loads(response.body), time.monotonic() - began

    def announce(self, address, record):
        with self.connect() as connection:
            return connection.ask("PUT", f"/providers/{dht.text(address)}",
                                  [self.auth, ("Content-Type", "application/cbor")], record)

    def asks(self):
        metrics = self.metrics()
        return metrics.value("index_asks_total"), metrics.value("index_extra_asks_total")


class DhtCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.nodes = dht.Nodes()
        cls.signer = registry.Signer()
        cls.stranger = registry.Signer()
        cls.proxies = [dht.proxy_url(lane) for lane in range(dht.LANES)]

    @classmethod
    def tearDownClass(cls):
        cls.nodes.close()

    def setUp(self):
        self.canary = Canary()

    def index(self, proxies=None, sets=None, nodes=None):
        index = Index(proxies or self.proxies, nodes or [self.signer], sets)
        self.addCleanup(index.close)
        return index

    def published(self, count):
        """So many addresses that the DHT knows a provider of."""
        addresses = [dht.some_address() for _ in range(count)]
        dht.publish({address: [dht.record(self.signer, address)] for address in addresses})
        return addresses

    def timed(self, index, addresses):
        """How long each resolve took; all of them must find the provider."""
        times = []
        for address in addresses:
            status, answer, seconds = index.resolve(address)
            self.assertEqual(status, 200, answer)
            self.assertEqual(answer["source"], "dht")
            times.append(seconds)
        return times


class Announced(DhtCase):
    def test_what_is_announced_to_one_is_found_by_the_others(self):
        first, second, third = self.index(), self.index(), self.index()
        address = dht.some_address()
        self.assertEqual(second.resolve(address)[0], 404)
        record = dht.record(self.signer, address, url="http://10.1.2.3:8080")
        self.assertEqual(first.announce(address, record).status, 200)
        for other in (second, third):
            def found(other=other):
                status, answer, _ = other.resolve(address, fresh=True)
                return answer if status == 200 else None
            answer = ron.wait_until("the others find it", found, 10 * ron.SLOW, 0.1)
            self.assertEqual(answer["source"], "dht")
            self.assertIn(answer["winner"], self.proxies)
            self.assertEqual([one["url"] for one in answer["providers"]], ["http://10.1.2.3:8080"])


class Hedging(DhtCase):
    def test_one_stopped_target_costs_nobody_a_second(self):
        addresses = self.published(3 * RESOLVES + 10)
        # Never given a rest, so that every search has to do with the one that is stopped.
        stubborn = {"index.breaker.trip_threshold": 1}
        three_at_once = self.index(sets=stubborn)
        one_at_once = self.index(sets={**stubborn, "index.dht.alpha": 1})
        unhedged = self.index(sets={**stubborn, "index.dht.alpha": 1, "index.dht.beta": 0},
                              proxies=self.proxies[:1])

        healthy = self.timed(three_at_once, addresses[:RESOLVES])
        asked, extra = three_at_once.asks()
        report("healthy", healthy)
        print(f"healthy: {asked:.0f} asks, {extra:.0f} of them only because of hedging")
        self.assertLessEqual(extra, 0.05 * (asked - extra))

        self.nodes.pause(0)
        self.addCleanup(self.nodes.go_on, 0)
        stopped = self.timed(three_at_once, addresses[RESOLVES:2 * RESOLVES])
        report("one stopped, 3 at once", stopped)
        hedged = self.timed(one_at_once, addresses[2 * RESOLVES:3 * RESOLVES])
        report("one stopped, 1 at once and 2 more after 150 ms", hedged)
        late = []
        for address in addresses[3 * RESOLVES:]:
            status, answer, seconds = unhedged.resolve(address)
            self.assertEqual(status, 504, answer)
            late.append(seconds)
        report("unhedged", late)
        print(self.canary, flush=True)
        if not ron.SANITIZED:
            self.assertLessEqual(ron.percentile(stopped, 0.99), 0.25, self.canary)
            self.assertLessEqual(ron.percentile(hedged, 0.99), 0.25, self.canary)
        self.assertGreaterEqual(min(late), 1.0)
        for seconds in late:
            self.assertAlmostEqual(seconds, DEADLINE_S, delta=TOLERANCE_S, msg=self.canary)
        self.assertGreater(one_at_once.metrics().value("index_hedged_searches_total"),
                           0.05 * RESOLVES)


class Cancelled(DhtCase):
    def test_the_deadline_is_kept_and_losers_see_their_connection_closed(self):
        tarpits = [dht.Proxy(dht.silent) for _ in range(5)]
        for one in tarpits:
            self.addCleanup(one.close)
        stuck = self.index([one.url for one in tarpits], {"index.breaker.trip_threshold": 1})
        for deadline_ms in (1200, 400):
            if deadline_ms != 1200:
                stuck = self.index([one.url for one in tarpits],
                                   {"index.dht.deadline_ms": deadline_ms})
            for _ in range(5):
                status, _, seconds = stuck.resolve(dht.some_address())
                self.assertEqual(status, 504)
                self.assertAlmostEqual(seconds, deadline_ms / 1000, delta=TOLERANCE_S,
                                       msg=self.canary)
        ron.wait_until("every tarpit is left", lambda: all(
            len(one.left_after) == one.asked == 10 for one in tarpits))

        tarpit = dht.Proxy(dht.silent)
        self.addCleanup(tarpit.close)
        addresses = self.published(30)
        index = self.index([tarpit.url, *self.proxies[1:]])
        times = self.timed(index, addresses)
        ron.wait_until("the loser is left", lambda: len(tarpit.left_after) == tarpit.asked)
        self.assertGreater(tarpit.asked, 5)
        # As soon as somebody else has answered, and not at the deadline.
        self.assertLessEqual(max(tarpit.left_after), max(times) + TOLERANCE_S,
                             self.canary)
        metrics = index.metrics()
        self.assertEqual(metrics.value("index_asks_total", target=tarpit.url, outcome="aborted") +
                         metrics.value("index_asks_total", target=tarpit.url, outcome="late"),
                         tarpit.asked)


class Trust(DhtCase):
    def test_records_that_do_not_count_are_never_returned(self):
        index = self.index()
        bad = {}
        good = dht.some_address()
        for kind in ("forged", "borrowed", "expired", "too long", "foreign", "of another", "noise"):
            address = dht.some_address()
            bad[kind] = address
        forged = bytearray(dht.record(self.signer, bad["forged"]))
        forged[forged.index(b"http://127.0.0.1:9") + 7] ^= 1
        borrowed = dht.record(self.stranger, bad["borrowed"]).replace(
            self.stranger.public, self.signer.public)
        values = {
            bad["forged"]: [bytes(forged)],
            bad["borrowed"]: [borrowed],
            bad["expired"]: [dht.record(self.signer, bad["expired"], ttl_s=-1)],
            bad["too long"]: [dht.record(self.signer, bad["too long"], ttl_s=49 * 3600)],
            bad["foreign"]: [dht.record(self.stranger, bad["foreign"])],
            bad["of another"]: [dht.record(self.signer, good)],
            bad["noise"]: [b"hello", b"", b"\xff" * 400],
        }
        values[good] = [dht.record(self.signer, good, seq=7), dht.record(self.signer, good, seq=6),
                        dht.record(self.stranger, good, seq=9), b"noise"]
        dht.publish(values)
        for kind, address in bad.items():
            status, answer, _ = index.resolve(address)
            self.assertEqual(status, 404, (kind, answer))
        status, answer, _ = index.resolve(good)
        self.assertEqual(status, 200)
        nodes = [one["node"] for one in answer["providers"]]
        self.assertEqual(nodes, [base64.b64encode(self.signer.public).decode()])
        metrics = index.metrics()
        for reason in ("forged", "expired", "too_long", "foreign", "other_address"):
            refused = metrics.value("index_records_refused_total", reason=reason)
            self.assertGreater(refused, 0, reason)
        self.assertGreater(metrics.value("index_values_skipped_total"), 0)

    def test_an_older_record_does_not_come_back(self):
        address = dht.some_address()
        proxy = dht.Proxy(dht.says(dht.record(self.signer, address, seq=5)))
        self.addCleanup(proxy.close)
        index = self.index([proxy.url])
        self.assertEqual(index.resolve(address)[0], 200)
        proxy.act = dht.says(dht.record(self.signer, address, seq=4, url="http://127.0.0.1:8"))
        _, answer, _ = index.resolve(address, fresh=True)
        self.assertNotIn("http://127.0.0.1:8", json.dumps(answer))
        ron.wait_until("it was refused", lambda: index.metrics().value(
            "index_records_refused_total", reason="replayed") > 0)


class Hostile(DhtCase):
    def test_a_hostile_proxy_costs_only_its_lane(self):
        per_kind = 60 if LONG else 20
        addresses = self.published(per_kind)
        alone = self.index([self.proxies[0], *self.proxies[1:]])
        report("all good", self.timed(alone, addresses))
        for kind, act in dht.HOSTILE.items():
            with self.subTest(kind):
                proxy = dht.Proxy(act)
                index = self.index([proxy.url, *self.proxies[1:]])
                before_kib = index.rss_kib()
                times = self.timed(index, addresses)
                report(kind, times)
                self.assertGreater(proxy.asked, 0)
                if not ron.SANITIZED:
                    self.assertLessEqual(ron.percentile(times, 0.99), 0.25, self.canary)
                    self.assertLessEqual(index.rss_kib() - before_kib, 64 * 1024)
                proxy.close()
                index.close()

    def test_and_alone_it_is_an_error_within_the_deadline(self):
        for kind, act in dht.HOSTILE.items():
            with self.subTest(kind):
                proxy = dht.Proxy(act)
                index = self.index([proxy.url])
                status, _, seconds = index.resolve(dht.some_address())
                self.assertIn(status, (502, 504))
                self.assertLessEqual(seconds, DEADLINE_S + TOLERANCE_S, self.canary)
                proxy.close()
                index.close()


def report(what, times):
    print(f"{what}: {len(times)} resolves, p50 {ron.percentile(times, 0.5) * 1000:.1f} ms, "
          f"p99 {ron.percentile(times, 0.99) * 1000:.1f} ms, max {max(times) * 1000:.1f} ms",
          flush=True)


if __name__ == "__main__":
    dht.in_own_network()
    ron.more_descriptors()
    unittest.main(argv=[one for one in sys.argv if one != "--long"])
