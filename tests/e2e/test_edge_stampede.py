"""Many who want the same thing at once: the origin is asked once, all get the same bytes; beyond a
bound they are turned away at once; when the origin dies half way, half is never the whole."""

import collections
import pathlib
import random
import shutil
import subprocess
import tempfile
import threading
import time
import unittest

import edge
import origin
import packs
import ron
from edge import ROOM, Crowd
from origin import Answer, Resource

CLIENTS = 1000
DAY = "Cache-Control: max-age=86400"
BODY = random.Random(3).randbytes(200_000)


class Stampede(Crowd):
    def test_a_thousand_misses_are_one_request(self):
        server = self.live({**ROOM, "fill.timeout": "60s"})
        way = self.held("/one", Resource(BODY, DAY))
        waiting = self.many(server, "/one", CLIENTS)
        server.wait_metric("edge_loads_joined_total", CLIENTS - 1)
        way.opened.set()
        tags = set()
        for connection in waiting:
            response = connection.read_response()
            self.assertEqual(response.status, 200, response.body[:300])
            self.assertTrue(response.body == BODY)
            tags.add(response.get("ETag"))
        self.assertEqual((len(tags), self.origin.count("/one")), (1, 1))
        self.filled(server, "/one", cache="hit")
        self.assertEqual(self.origin.count("/one"), 1)

    def test_a_thousand_at_every_moment_of_a_fill(self):
        """They come while it is asked for, while it arrives and just after."""
        server = self.live({**ROOM, "fill.timeout": "60s"})

        def slowly(peer, _request):
            answer = Answer(BODY, DAY, 'ETag: "1"')
            peer.socket.sendall(answer.head())
            for at in range(0, len(BODY), 20_000):
                time.sleep(0.05)
                peer.socket.sendall(BODY[at:at + 20_000])

        self.origin.say("/one", slowly)
        statuses = collections.Counter()

        def work(_index):
            for _ in range(CLIENTS // 8):
                response = server.asset(self.origin, "/one")
                statuses[response.status] += 1
                assert response.body == BODY, "other bytes"
            return False

        load = ron.Load(8, work)
        self.assertEqual(load.join(60), [])
        self.assertEqual((dict(statuses), self.origin.count("/one")), ({200: CLIENTS}, 1))

    def test_a_thousand_who_find_an_old_copy(self):
        """Validation is done once, too."""
        server = self.live({**ROOM, "fill.timeout": "60s"})
        resource = Resource(BODY, "Cache-Control: max-age=0")
        self.origin.say("/one", resource)
        self.filled(server, "/one", cache="miss")
        resource.fields = (DAY,)
        way = self.held("/one", resource)
        waiting = self.many(server, "/one", CLIENTS // 2)
        server.wait_metric("edge_loads_joined_total", CLIENTS // 2 - 1)
        way.opened.set()
        for connection in waiting:
            response = connection.read_response()
            self.assertEqual((response.status, response.body == BODY), (200, True))
        self.assertEqual(self.origin.count("/one"), 2)

    def test_beyond_the_bound_they_are_turned_away_at_once(self):
        server = self.live({**ROOM, "fill.timeout": "60s", "fill.max_waiting": 100})
        way = self.held("/one", Resource(BODY, DAY))
        waiting = self.many(server, "/one", 100)
        server.wait_metric("edge_loads_joined_total", 99)
        began = time.monotonic()
        for connection in self.many(server, "/one", 50):
            response = connection.read_response()
            self.refused(response, 429, "Busy")
            self.assertTrue(response.get("Retry-After"))
        self.assertLess(time.monotonic() - began, 5 * ron.SLOW)
        server.wait_metric("busy_rejections_total", 50)
        way.opened.set()
        for connection in waiting:
            self.assertTrue(connection.read_response().body == BODY)
        self.assertEqual(self.origin.count("/one"), 1)

    def test_who_leaves_makes_room(self):
        server = self.live({**ROOM, "fill.timeout": "60s", "fill.max_waiting": 10})
        way = self.held("/one", Resource(BODY, DAY))
        waiting = self.many(server, "/one", 10)
        server.wait_metric("edge_loads_joined_total", 9)
        for connection in waiting[5:]:
            connection.close()
        server.wait_metric("http_inflight_requests", 5)
        more = self.many(server, "/one", 5)
        server.wait_metric("edge_loads_joined_total", 14)
        way.opened.set()
        for connection in waiting[:5] + more:
            self.assertTrue(connection.read_response().body == BODY)

    def test_different_urls_fill_the_queue_and_no_more(self):
        server = self.live({**ROOM, "fill.timeout": "60s", "workers": 2, "channels.work": 4})
        ways = [self.held(f"/{number}", Resource(b"%d" % number, DAY)) for number in range(30)]
        waiting = [self.many(server, f"/{number}", 1)[0] for number in range(2)]
        ron.wait_until("both workers are busy", lambda: self.origin.count() == 2)
        waiting += [self.many(server, f"/{number}", 1)[0] for number in range(2, 30)]
        # Fills have three quarters of the queue.
        server.wait_metric("busy_rejections_total", 25)
        server.wait_metric("queue_dropped_total", 25, queue="work")
        server.wait_metric("queue_depth", 3, queue="work")
        for way in ways:
            way.opened.set()
        answers = [connection.read_response() for connection in waiting]
        good = [number for number, each in enumerate(answers) if each.status == 200]
        self.assertEqual(len(good), 5)
        for number, each in enumerate(answers):
            if number in good:
                self.assertEqual(each.body, b"%d" % number)
            else:
                self.refused(each, 429, "Busy")
        # Hits are answered beside a full queue: they need no worker.
        self.assertEqual(self.filled(server, f"/{good[0]}", cache="hit").body, b"%d" % good[0])

    def test_hits_do_not_wait_for_fills(self):
        server = self.live({**ROOM, "fill.timeout": "60s", "workers": 2, "channels.work": 4})
        self.origin.say("/hit", Resource(BODY, DAY))
        self.filled(server, "/hit")
        self.filled(server, "/hit", cache="hit")
        ways = [self.held(f"/{number}", Resource(b"x", DAY)) for number in range(5)]
        waiting = [self.many(server, f"/{number}", 1)[0] for number in range(2)]
        ron.wait_until("both workers are busy", lambda: self.origin.count() == 3)
        waiting += [self.many(server, f"/{number}", 1)[0] for number in range(2, 5)]
        server.wait_metric("queue_depth", 3, queue="work")
        for _ in range(20):
            self.assertTrue(self.filled(server, "/hit", cache="hit").body == BODY)
        for way in ways:
            way.opened.set()
        for connection in waiting:
            self.assertEqual(connection.read_response().status, 200)


class Hanging(Crowd):
    """An origin that takes requests and says nothing, and somebody who asks for ever more of it."""

    TILES, FILES, HANGING = 64, 40, 60
    # A miss that waits for no fill; far below fill.timeout, which those have who do.
    QUICK_S = 1.5

    def setUp(self):
        super().setUp()
        home = tempfile.mkdtemp(prefix="ron-e2e-hanging-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        self.home = pathlib.Path(home)

    def started(self):
        """`ron up` with a map and a site, of which nothing was asked for yet."""
        noise = random.Random(11)
        self.tiles = {(3, number % 8, number // 8): noise.randbytes(3000)
                      for number in range(self.TILES)}
        pack = packs.pmtiles(self.tiles, compression=packs.NONE, type=packs.PNG)
        packs.write(self.home / "p.pmtiles", pack)
        self.files = {f"{number}.bin": noise.randbytes(5000) for number in range(self.FILES)}
        (self.home / "site").mkdir()
        for name, body in self.files.items():
            (self.home / "site" / name).write_bytes(body)
        sets = {**self.live_sets(), "fill.timeout": "60s", "server.request_deadline": "60s",
                "sites": edge.rows({"name": "s", "target": "docs"}),
                "packs": edge.rows({"name": "p", "path": self.home / "p.pmtiles"})}
        server = edge.Server(self.data, command="up",
                             sets={"gateway.upstream.deadline": "60s",
                                   "gateway.server.request_deadline": "60s",
                                   **{f"edge.{key}": value for key, value in sets.items()}})
        self.addCleanup(server.close)
        url = "http://%s:%d" % server.address
        subprocess.run([ron.BINARY, "put", str(self.home / "site"), "--name", "docs", "--url", url,
                        "--token", str(server.token_path)], check=True, capture_output=True,
                       timeout=ron.START_S)
        ron.wait_until("the site is mounted",
                       lambda: server.fetch("/edge/sites/s/0.bin").status == 200)
        return server

    def test_tiles_and_files_that_are_not_in_memory_come_all_the_same(self):
        server = self.started()
        self.origin.say("/kept", Resource(BODY, DAY))
        self.filled(server, "/kept")
        for number in range(self.HANGING):
            self.many(server, self.origin.say(f"/hangs/{number}", origin.hung), 1)
        ron.wait_until("every worker waits for the origin", lambda: self.origin.count() >= 16 + 1)
        paths = {f"/edge/tiles/p/{z}/{x}/{y}.png": body for (z, x, y), body in self.tiles.items()}
        paths |= {f"/edge/sites/s/{name}": body for name, body in self.files.items()}
        before = server.metrics().value("edge_loads_total")
        slowest = 0
        with server.connect() as connection:
            for path, body in paths.items():
                began = time.monotonic()
                response = server.fetch(path, connection=connection)
                slowest = max(slowest, time.monotonic() - began)
                self.assertEqual((response.status, response.body == body), (200, True), path)
        self.assertLess(slowest, self.QUICK_S * ron.SLOW)
        # They were misses, except for the one that told that the site is there.
        loaded = server.metrics().value("edge_loads_total") - before
        self.assertGreaterEqual(loaded, len(paths) - 1)
        self.assertEqual(self.filled(server, "/kept", cache="hit").body, BODY)
        # And the fills still hang.
        waiting = server.metrics().value("queue_depth", service="svc-edge", queue="work")
        self.assertEqual(waiting, self.HANGING - 16)


class Killed(Crowd):
    """The origin dies while it sends."""

    WAITING = 200

    def die_half_way(self, server, path):
        half = threading.Event()
        gone = threading.Event()
        self.addCleanup(gone.set)

        def way(peer, _request):
            answer = Answer(BODY, DAY, 'ETag: "2"')
            peer.socket.sendall(answer.head() + BODY[:100_000])
            half.set()
            gone.wait(ron.REPLY_S)
            return False

        self.origin.say(path, way)
        before = server.metrics().value("edge_loads_joined_total")
        waiting = self.many(server, path, self.WAITING)
        server.wait_metric("edge_loads_joined_total", before + self.WAITING - 1)
        self.assertTrue(half.wait(ron.REPLY_S))
        self.origin.kill()
        gone.set()
        return [connection.read_response() for connection in waiting]

    def test_without_a_copy_all_get_a_typed_error(self):
        server = self.live({**ROOM, "fill.timeout": "60s"})
        for response in self.die_half_way(server, "/one"):
            self.refused(response, 502, "UpstreamFail")
        self.origin.revive()
        self.origin.say("/one", Resource(BODY, DAY))
        self.assertTrue(self.filled(server, "/one", cache="miss").body == BODY)

    def test_with_a_copy_all_get_that(self):
        server = self.live({**ROOM, "fill.timeout": "60s"})
        old = BODY[::-1]
        self.origin.say("/one", Resource(old, "Cache-Control: max-age=0"))
        self.filled(server, "/one", cache="miss")
        for response in self.die_half_way(server, "/one"):
            self.assertEqual((response.status, response.get("X-Cache")), (200, "stale"))
            self.assertTrue(response.body == old)
        self.origin.revive()
        self.origin.say("/one", Resource(BODY, DAY, etag='"3"'))
        self.assertTrue(self.filled(server, "/one", cache="miss").body == BODY)


if __name__ == "__main__":
    unittest.main()
