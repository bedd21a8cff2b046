"""`GET /registry/stream`: what was committed as server-sent events, to readers who come back, who
do not read, and who are too many."""

import pathlib
import select
import statistics
import subprocess
import sys
import tempfile
import time
import unittest

import registry
import ron
from registry import Case, region

READERS = 256
HEARTBEAT_S = 15
UNREAD = 640  # versions: more than a Unix socket holds of events; TCP's grow on loopback


class Stream(Case):
    def test_what_an_event_is(self):
        server = self.start()
        with server.stream() as stream:
            head = stream.head.decode()
            self.assertEqual(stream.status, 200)
            self.assertIn("Content-Type: text/event-stream\r\n", head)
            self.assertIn("Cache-Control: no-store\r\n", head)
            for _ in range(3):
                committed = server.agree(region("x"))
                data = '{"version":%d,"b3":"%s"}' % (committed["version"], committed["hash"])
                self.assertEqual(stream.block().splitlines(), [
                    f"id: {committed['version']}", "event: RegistryUpdated", "data: " + data])
            server.wait_metric("registry_streams", 1)
        server.wait_metric("registry_streams", 0)

    def test_curl_follows(self):
        server = self.start()
        curl = subprocess.Popen(
            ["curl", "-sN", "--max-time", str(int(ron.REPLY_S)),
             "http://%s:%d/registry/stream" % server.address], stdout=subprocess.PIPE,
            preexec_fn=ron.die_with_parent)
        self.addCleanup(curl.stdout.close)
        server.wait_metric("registry_streams", 1)
        server.agree(region("x"))
        self.assertEqual(curl.stdout.readline(), b"id: 1\n")
        self.assertEqual(curl.stdout.readline(), b"event: RegistryUpdated\n")
        self.assertEqual(server.stop(), 0)
        self.assertEqual(curl.wait(ron.REPLY_S), 0)

    def test_resume(self):
        server = self.start()
        heads = {0: server.head()["hash"]}
        for number in range(1, 8):
            heads[number] = server.agree(region(f"r{number}"))["hash"]
        for after in range(8):
            with self.subTest(after), server.stream(after) as stream:
                missed = [(version, "RegistryUpdated", {"version": version, "b3": heads[version]})
                          for version in range(after + 1, 8)]
                self.assertEqual([stream.event() for _ in missed], missed)
        server = self.restart(server)
        with server.stream(5) as stream:
            self.assertEqual([stream.event()[0] for _ in range(2)], [6, 7])
            # What comes from the log and what comes live meet without a gap.
            server.fill(3)
            self.assertEqual([stream.event()[:2] for _ in range(3)],
                             [(version, "RegistryUpdated") for version in (8, 9, 10)])

    def test_resume_while_others_commit(self):
        server = self.start()
        server.fill(20)
        load = ron.Load(2, lambda _: server.fill(1) and None)
        try:
            for after in (0, 5, 10, 15, 19) * 3:
                with server.stream(after) as stream:
                    events = [stream.event() for _ in range(25)]
                self.assertEqual([each[:2] for each in events],
                                 [(version, "RegistryUpdated")
                                  for version in range(after + 1, after + 26)])
        finally:
            self.assertEqual(load.finish(), [])

    def test_where_nobody_can_resume(self):
        server = self.start()
        for after in ("x", "-1", "1.5", ""):
            with self.subTest(after), server.stream(after) as stream:
                self.assertEqual((stream.status, stream.body()["error"]["code"]),
                                 (400, "Malformed"))
        with server.stream(7) as stream:
            self.assertEqual((stream.status, stream.body()["error"]["code"]),
                             (409, "ChainMismatch"))

    def test_resume_at_what_was_pruned(self):
        sets = {"storage.segment_bytes": "64KiB", "storage.checkpoint_versions": 10,
                "retention.keep_versions": 10}
        server = self.start(sets)
        for number in range(40):
            server.agree({"kind": "update", "set": [
                {"type": "region", "id": f"p{number}-{each}", "title": "x" * 120}
                for each in range(40)]})
        server.checkpoint()
        ron.wait_until("something is pruned",
                       lambda: server.metrics().value("registry_first_version") > 1)
        head = server.head()
        with server.stream(0) as stream:
            self.assertEqual(stream.event(), (40, "gap", {"from": 1, "to": 40, "head": head}))
            server.agree(region("next"))
            self.assertEqual(stream.event()[:2], (41, "RegistryUpdated"))
        with server.stream(39) as stream:
            self.assertEqual(stream.event()[:2], (40, "RegistryUpdated"))

    def test_heartbeat(self):
        server = self.start()
        with server.stream(timeout=2 * HEARTBEAT_S * ron.SLOW) as stream:
            began = time.monotonic()
            self.assertEqual(stream.block(), ":")
            self.assertAlmostEqual(time.monotonic() - began, HEARTBEAT_S, delta=3 * ron.SLOW)

    def test_too_many(self):
        server = self.start({"sse.max_streams": 3})
        streams = [server.stream() for _ in range(3)]
        for stream in streams:
            self.addCleanup(stream.close)
        refused = self.moves(server, "busy_rejections_total", 1, server.stream,
                             endpoint="GET /registry/stream")
        self.assertEqual((refused.status, refused.body()["error"]["code"]), (429, "Busy"))
        self.assertIn(b"Retry-After: ", refused.head)
        refused.close()
        streams[0].close()
        server.wait_metric("registry_streams", 2)
        with server.stream() as stream:
            self.assertEqual(stream.status, 200)

    def test_one_client_leaves_places_for_others(self):
        """An address has its share; a Unix socket and other addresses are not told of it."""
        server = self.start({"sse.max_streams": 8, "sse.max_streams_per_tenant": 2})
        mine = [server.stream(source="127.0.0.1") for _ in range(2)]
        for stream in mine:
            self.addCleanup(stream.close)
        refused = self.moves(server, "http_event_streams_refused_total", 1,
                             lambda: server.stream(source="127.0.0.1"), full="share")
        self.addCleanup(refused.close)
        self.assertEqual(refused.status, 429)
        self.assertIn(b"Retry-After: ", refused.head)
        error = refused.body()["error"]
        self.assertEqual(error["code"], "Busy")
        self.assertEqual(error["details"]["share_of"], "address 127.0.0.1")
        self.assertEqual(error["details"]["max_streams_per_tenant"], "2")
        with server.stream(source="127.0.0.2") as stream:
            self.assertEqual(stream.status, 200)
        mine[0].close()
        server.wait_metric("registry_streams", 1)
        with server.stream(source="127.0.0.1") as stream:
            self.assertEqual(stream.status, 200)

    def test_a_tenant_has_its_share_from_every_address(self):
        server = registry.Server(self.data, sets={"registry.sse.max_streams_per_tenant": 1,
                                                  "auth.public_reads": "false"})
        self.addCleanup(server.close)

        def follow(tenant, source):
            token = "Bearer " + ron.attenuate(server.token, f"tenant = {tenant}")
            stream = server.stream(source=source, headers=[("Authorization", token)])
            self.addCleanup(stream.close)
            return stream

        self.assertEqual(follow("a", "127.0.0.1").status, 200)
        refused = follow("a", "127.0.0.2")
        self.assertEqual(refused.status, 429)
        self.assertEqual(refused.body()["error"]["details"]["share_of"], "tenant a")
        self.assertEqual(follow("b", "127.0.0.1").status, 200)

    def test_the_default_share_leaves_most_places(self):
        server = self.start({"max_conns_per_ip": 1024})
        streams = [server.stream(source="127.0.0.1") for _ in range(64)]
        for stream in streams:
            self.addCleanup(stream.close)
        self.assertEqual({stream.status for stream in streams}, {200, 429})
        self.assertLessEqual(sum(stream.status == 200 for stream in streams), 256 // 8)
        with server.stream(source="127.0.0.2") as stream:
            self.assertEqual(stream.status, 200)

    def test_a_drain_ends_streams(self):
        server = self.start()
        streams = [server.stream() for _ in range(5)]
        for stream in streams:
            self.addCleanup(stream.close)
        began = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - began, 2.5 * ron.SLOW)
        for stream in streams:
            self.assertIsNone(stream.event())
            self.assertEqual(stream._raw, b"0\r\n\r\n")  # the end as it should be, not a cut


def stalled(server, count):
    """Readers that do not read."""
    return [server.stream(timeout=3 * ron.REPLY_S) for _ in range(count)]


def read_to(streams, version):
    """What each of them gets to hear up to that version, all at once."""
    heard = {stream: [] for stream in streams}
    left = set(streams)
    for stream in streams:
        stream.socket.setblocking(True)
    while left:
        ready, _, _ = select.select(list(stream.socket for stream in left), [], [], 3 * ron.REPLY_S)
        assert ready, f"{len(left)} streams say nothing more"
        for stream in [each for each in left if each.socket in ready]:
            stream._more()
            while b"\n\n" in stream._text:
                heard[stream].append(stream.event())
            if stream.ended or heard[stream] and heard[stream][-1][0] >= version:
                left.discard(stream)
    return heard


def missed_by(events):
    return sum(data["to"] - data["from"] + 1 for _, name, data in events if name == "gap")


class Lag(Case):
    def patient(self, **sets):
        """A reader that stops is cut off after write_timeout; here it may take its time."""
        home = tempfile.TemporaryDirectory(prefix="ron-e2e-")
        self.addCleanup(home.cleanup)
        return self.start({"write_timeout": "10m", "channels.committed": 16, **sets},
                          uds=pathlib.Path(home.name) / "private" / "socket")

    def lagged(self, server):
        return server.metrics().value("bus_lagged_total", topic="committed", consumer="stream")

    def check(self, heard, first, last):
        """Each version is told or within a gap, in order."""
        for events in heard.values():
            expected = first
            for version, name, data in events:
                if name == "gap":
                    self.assertEqual(data["from"], expected)
                    self.assertEqual((data["to"], data["head"]["version"]), (version, version))
                else:
                    self.assertEqual((name, version), ("RegistryUpdated", expected))
                expected = version + 1
            self.assertEqual(expected, last + 1)

    def test_a_reader_that_stops_skips_to_the_latest(self):
        server = self.patient()
        stream, = stalled(server, 1)
        self.addCleanup(stream.close)
        server.fill_at_once(UNREAD)
        head = server.head()
        events = read_to([stream], head["version"])[stream]
        self.check({stream: events}, 1, head["version"])
        gap, = [data for _, name, data in events if name == "gap"]
        self.assertEqual(gap["head"], head)
        self.assertEqual(self.lagged(server), missed_by(events))
        server.agree(region("live"))
        self.assertEqual(stream.event()[:2], (head["version"] + 1, "RegistryUpdated"))

    def latencies(self, server, count=100, windows=5):
        """p99 of commits of ready proposals, in ms, of the best of some windows."""
        found = []
        with server.connect() as connection:
            for _ in range(windows):
                ready = [server.ready(region(f"l{number % 50}"), connection=connection)
                         for number in range(count)]
                window = []
                for proposal in ready:
                    began = time.monotonic()
                    response = server.commit(proposal, connection)
                    window.append(1000 * (time.monotonic() - began))
                    self.assertEqual(response.status, 201)
                found.append((ron.percentile(window, 0.99), statistics.median(window)))
        return min(found)

    def test_many_readers_that_stop(self):
        """Commits do not wait for them, memory is bounded, and what was missed is counted."""
        server = self.patient(max_conns=1024)
        alone = self.latencies(server)
        first = server.head()["version"] + 1
        streams = stalled(server, READERS)
        for stream in streams:
            self.addCleanup(stream.close)
        server.wait_metric("registry_streams", READERS)
        before = server.rss_kib()
        beside = self.latencies(server, windows=1)
        server.fill_at_once(UNREAD)
        after = server.rss_kib()
        blocked = self.latencies(server)
        last = server.head()["version"]
        heard = read_to(streams, last)
        self.check(heard, first, last)
        missed = sum(map(missed_by, heard.values()))
        self.assertEqual(self.lagged(server), missed)
        report = (f"\n{READERS} stalled readers: commits p99 {alone[0]:.2f} ms without, "
                  f"{beside[0]:.2f} ms beside them ({beside[0] / alone[0]:.2f} x), "
                  f"{blocked[0]:.2f} ms with them blocked ({blocked[0] / alone[0]:.2f} x; medians "
                  f"{alone[1]:.2f}, {beside[1]:.2f}, {blocked[1]:.2f} ms); RSS "
                  f"{before} -> {after} KiB; {missed} versions missed and counted")
        print(report, file=sys.stderr)
        self.assertGreater(missed, 0, report)
        if not ron.SANITIZED:
            self.assertLess(after - before, 64 << 10, report)
            self.assertLess(blocked[0], 3 * alone[0] + 10, report)


if __name__ == "__main__":
    unittest.main()
