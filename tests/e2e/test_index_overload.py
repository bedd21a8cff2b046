"""More than svc-index can take: one address with 10,000 connections, full queues, too many requests
of one address or one kind. Whoever is too much is refused at once and counted to the unit; the
others hardly notice, and health and version are never behind work."""

import json
import os
import pathlib
import subprocess
import sys
import threading
import time
import unittest

import index
import ron
from index import Case, address_of

HERE = pathlib.Path(__file__).resolve().parent
RESOLVE = "GET /resolve/{key...}"


HOLDS_FIGURES = os.environ.get("RON_E2E_FIGURES") == "1"


class Flood(Case):
    """127.0.0.x are all this machine: each is an address of its own to the server."""

    CONNECTIONS, PER_IP, ROUNDS = 10000, 256, 5

    def setUp(self):
        super().setUp()
        ron.more_descriptors()

    def begin_flood(self, server, source):
        flood = subprocess.Popen(
            [sys.executable, str(HERE / "flood.py"), *map(str, server.address),
             str(self.CONNECTIONS), source], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            preexec_fn=ron.die_with_parent)
        self.addCleanup(self.end, flood)
        return flood

    @staticmethod
    def end(flood):
        flood.stdin.close()
        flood.wait(ron.REPLY_S)
        flood.stdout.close()

    def probe(self, clients, until):
        """(when, seconds) of a request by each of the others in turn, until that says so."""
        text, found = ron.request("GET", "/resolve/docs"), []
        while not until():
            for client in clients:
                began = time.monotonic()
                client.socket.sendall(text)
                response = client.read_response()
                found.append((began, time.monotonic() - began))
                self.assertEqual(response.status, 200)
        return found

    def test_ten_thousand_connections_of_one_address(self):
        server = index.Server(sets={"index.max_conns_per_ip": self.PER_IP})
        self.addCleanup(server.close)
        server.set_name("docs", address_of(1))
        ron.wait_until("it is in the cache", lambda: server.resolved("docs")["source"] == "cache")
        others = [server.connect(source=f"127.0.0.{number}") for number in range(3, 7)]
        for each in others:
            self.addCleanup(each.close)
        is_quiet = os.getloadavg()[0] <= os.cpu_count()
        ratios, beside = [], []
        for number in range(self.ROUNDS):
            stop = time.monotonic() + 2
            calm = self.probe(others, lambda stop=stop: time.monotonic() > stop)
            before_it = [took for _, took in calm]
            before = server.metrics().value("rejected_total", reason="connections-per-ip")
            flood = self.begin_flood(server, f"127.0.0.{20 + number}")
            said = []
            reader = threading.Thread(target=lambda flood=flood, said=said: said.append(
                flood.stdout.readline()))
            reader.start()
            probes = self.probe(others, lambda reader=reader: not reader.is_alive())
            reader.join()
            report = json.loads(said[0])
            # To the unit: what the clients saw is what the server counted.
            refused = sum(report["refused"].values())
            self.assertEqual((report["kept"], refused),
                             (self.PER_IP, self.CONNECTIONS - self.PER_IP), report)
            server.wait_metric("rejected_total", before + refused, reason="connections-per-ip")
            self.assertEqual(set(report["refused"]) - {"no answer"}, {"429 Busy"}, report)
            during = [took for when, took in probes if report["began"] <= when <= report["ended"]]
            self.assertTrue(during)
            self.end(flood)
            ratios.append(ron.percentile(during, 0.99) / ron.percentile(before_it, 0.99))
            beside += during
            print(f"{self.CONNECTIONS} connections in {report['ended'] - report['began']:.2f} s, "
                  f"{report['refused']}: {self.described(before_it, during)}")
            ron.wait_until("the flood is gone", lambda: server.metrics().value(
                "http_connections", service="svc-index") <= len(others) + 2)
        self.assertEqual(server.metrics().value("rejected_total", reason="connections"), 0)
        middle = sorted(ratios)[len(ratios) // 2]
        print(f"p99 beside / alone: {middle:.2f} in the middle of {len(ratios)} rounds"
              f"{'' if is_quiet else '; the machine is too busy for a verdict'}")
        if ron.SANITIZED:
            return
        self.assertLess(ron.percentile(beside, 0.99), 0.1 * ron.SLOW)  # nobody is locked out
        # The aim is 2, and RON_E2E_FIGURES=1 holds it. The flood runs on the same cores, so that
        # otherwise the others must only not be an order of magnitude slower; on a busy machine
        # nothing can be told.
        if is_quiet:
            self.assertLessEqual(middle, 2 if HOLDS_FIGURES else 8, ratios)

    @staticmethod
    def described(alone, beside):
        def figures(times):
            p50, p99 = (ron.percentile(times, share) * 1e3 for share in (0.5, 0.99))
            return f"p50 {p50:.3f} ms, p99 {p99:.3f} ms ({len(times)} requests)"

        return f"others alone {figures(alone)}, beside {figures(beside)}"

    def test_the_address_itself_goes_on_with_what_it_has(self):
        server = index.Server(sets={"index.max_conns_per_ip": 4})
        self.addCleanup(server.close)
        server.set_name("docs", address_of(1))
        mine = [server.connect(source="127.0.0.9") for _ in range(4)]
        for each in mine:
            self.addCleanup(each.close)
            self.assertEqual(each.ask("GET", "/resolve/docs").status, 200)
        with server.connect(source="127.0.0.9") as fifth:
            details = self.refused(fifth.read_response(), 429, "Busy")
            self.assertEqual(details, {"max_conns_per_ip": "4", "address": "127.0.0.9"})
            self.assertTrue(fifth.ends())
        self.assertEqual(mine[0].ask("GET", "/resolve/docs").status, 200)
        mine[3].close()
        ron.wait_until("its place is free", lambda: self.is_let_in(server, "127.0.0.9"))

    @staticmethod
    def is_let_in(server, source):
        with server.connect(source=source) as connection:
            try:
                return connection.ask("GET", "/healthz").status == 200
            except (ron.Closed, ConnectionError):
                return False


class Slow(Case):
    """An index whose resolvers wait for a server that says nothing."""

    def setUp(self):
        super().setUp()
        self.slow = index.storage_target()
        self.addCleanup(self.slow.close)
        self.slow.held.clear()

    def begin(self, **sets):
        sets = {"discovery.static": index.one_of([self.slow.url]), "dht.deadline_ms": 20000,
                **{key.replace("__", "."): value for key, value in sets.items()}}
        return self.start(sets)

    def send(self, server, key, source=None):
        connection = server.connect(source=source)
        self.addCleanup(connection.close)
        connection.send(ron.request("GET", f"/resolve/{key}"))
        return connection

    def busy(self, server, resolvers, waiting):
        """All resolvers at work, and so many more in the queue."""
        first = [self.send(server, address_of(number)) for number in range(resolvers)]
        ron.wait_until("they are at work", lambda: len(self.slow.seen) == resolvers)
        rest = [self.send(server, address_of(("more", number))) for number in range(waiting)]
        ron.wait_until("the queue is full", lambda: server.metrics().value(
            "queue_depth", queue="work") == waiting)
        return first + rest

    def finish(self, waiting):
        self.slow.held.set()
        for each in waiting:
            self.refused(each.read_response(), 404, "NotFound")


class Queue(Slow):
    def test_full(self):
        """429 at once, by numbers; those who were let in are answered."""
        server = self.begin(workers=2, channels__work=3)
        server.set_name("docs", address_of("docs"))
        waiting = self.busy(server, 2, 3)
        took = []
        for number in range(20):
            began = time.monotonic()
            response = server.resolve(address_of(("late", number)))
            took.append(time.monotonic() - began)
            self.refused(response, 429, "Busy")
            self.assertTrue(response.get("Retry-After"))
        self.assertLess(ron.percentile(took, 0.5), 0.05 * ron.SLOW)
        server.wait_metric("busy_rejections_total", 20, route=RESOLVE)
        server.wait_metric("queue_dropped_total", 20, queue="work")
        # Who asks for what is asked for already waits with the others.
        twin = self.send(server, address_of(0))
        server.wait_metric("index_resolves_joined_total", 1)
        self.refused(server.ask("GET", "/providers/" + address_of("late"), auth=()), 429, "Busy")
        server.wait_metric("busy_rejections_total", 1, route="GET /providers/{addr}")
        # What needs no resolver goes on.
        self.assertEqual(server.name("docs").status, 200)
        self.assertEqual(server.put_name("docs/new", address_of(1)).status, 201)
        self.assertEqual(server.providers(address_of(0), "?local=1").json(), [])
        self.finish([*waiting, twin])
        self.assertEqual(server.metrics().value("queue_dropped_total", queue="work"), 21)
        self.assertEqual(server.metrics().value("queue_depth", queue="work"), 0)

    def test_health_and_version_are_never_behind_work(self):
        """With every resolver busy, the queue full, and as many in flight as may be."""
        server = self.begin(workers=2, channels__work=2, server__max_inflight=4)
        waiting = self.busy(server, 2, 2)
        self.refused(server.name("docs"), 429, "Busy")  # in flight
        took = []
        for path in ("/healthz", "/readyz", "/version") * 20:
            began = time.monotonic()
            with server.connect() as connection:
                self.assertEqual(connection.ask("GET", path).status, 200, path)
            took.append(time.monotonic() - began)
        with server.connect() as connection:
            self.assertEqual(connection.ask("HEAD", "/version").status, 200)
        with server.connect_admin() as admin:
            self.assertEqual(admin.ask("GET", "/metrics").status, 200)
        self.assertLess(ron.percentile(took, 0.5), 0.05 * ron.SLOW)
        self.finish(waiting)

    def test_nobody_waits_beyond_the_deadline_in_the_queue(self):
        server = self.begin(workers=1, channels__work=8, dht__deadline_ms=500)
        began = time.monotonic()
        waiting = [self.send(server, address_of(number)) for number in range(6)]
        for each in waiting:
            self.refused(each.read_response(), 504, "Timeout")
            self.assertAlmostEqual(time.monotonic() - began, 0.5, delta=0.1 * ron.SLOW)


class Rates(Slow):
    def test_of_one_address(self):
        server = index.Server(sets={"index.ratelimit.per_ip_rps": 20})
        self.addCleanup(server.close)
        server.set_name("docs", address_of(1))
        with (server.connect(source="127.0.0.7") as greedy,
              server.connect(source="127.0.0.8") as other):
            answers = [greedy.ask("GET", "/resolve/docs") for _ in range(100)]
            refused = [each for each in answers if each.status == 429]
            self.assertGreaterEqual(len(refused), 50)
            self.assertGreaterEqual(len(answers) - len(refused), 20)
            details = self.refused(refused[0], 429, "RateLimited")
            self.assertEqual(details, {"per_ip_rps": "20"})
            self.assertTrue(refused[0].get("Retry-After"))
            server.wait_metric("http_requests_total", len(refused), endpoint=RESOLVE, code="429")
            self.assertEqual({other.ask("GET", "/resolve/docs").status for _ in range(15)}, {200})
            self.assertEqual(greedy.ask("GET", "/healthz").status, 200)
            self.assertEqual(greedy.ask("GET", "/version").status, 200)
            ron.wait_until("its bucket fills", lambda: greedy.ask("GET", "/names").status == 200)

    def test_of_all(self):
        server = index.Server(sets={"index.server.max_rps": 20})
        self.addCleanup(server.close)
        with server.connect() as connection:
            statuses = [connection.ask("GET", "/names").status for _ in range(60)]
            self.assertIn(429, statuses)
            for path in ("/healthz", "/readyz", "/version"):
                self.assertEqual(connection.ask("GET", path).status, 200)

    def test_of_one_route(self):
        server = self.begin(server__route_concurrency=3)
        waiting = [self.send(server, address_of(number)) for number in range(3)]
        ron.wait_until("three are at work", lambda: len(self.slow.seen) == 3)
        for number in range(5):
            details = self.refused(server.resolve(address_of(("more", number))), 429, "Busy")
            self.assertEqual(details, {"route_concurrency": "3"})
        server.wait_metric("busy_rejections_total", 5, route=RESOLVE)
        self.assertEqual(server.listed(), ([], [], None))  # another route
        self.assertEqual(server.providers(address_of(1), "?local=1").status, 200)
        self.finish(waiting)
        self.refused(server.resolve(address_of("after")), 404, "NotFound")


class Writes(Case):
    def test_many_writers_share_syncs(self):
        """Changes that wait together become durable together."""
        server = self.start()

        def work(worker):
            with server.connect() as connection:
                for number in range(25):
                    response = server.put_name(f"docs/{worker}/{number}", address_of(number),
                                               connection=connection)
                    self.assertEqual(response.status, 201, response.body)
            return False

        self.assertEqual(ron.Load(32, work).join(), [])
        metrics = server.metrics()
        self.assertEqual(metrics.value("index_name_versions_total"), 800)
        self.assertLess(metrics.value("index_syncs_total"), 800)
        names, _, following = server.listed("limit=1000")
        self.assertEqual((len(names), following), (800, None))


if __name__ == "__main__":
    unittest.main()
