"""Stopping: unready first, no new clients, every answer that began is finished, and in time."""

import collections
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import edge
import ron
import storage

SLOW_WORK = {"safety.danger_ok": "true", "storage.put_workers": 8}


def phases(server):
    return [line["phase"] for line in server.logs() if line["msg"] == "phase"]


class Drain(unittest.TestCase):
    def start(self, sets):
        server = storage.Server(sets=sets)
        self.addCleanup(server.close)
        return server

    def writes_in_flight(self, server, count):
        """Connections that wait for the answer to a write, on every core."""
        waiting = []
        for i in range(count):
            connection = server.connect()
            self.addCleanup(connection.close)
            connection.send(ron.request("POST", "/o", [server.auth], b"in flight %d" % i))
            waiting.append(connection)
        server.wait_metric("http_inflight_requests", count)
        return waiting

    def stopped(self, server, aborted=(0,)):
        """The last word of the log."""
        last = server.logs()[-1]
        self.assertEqual(last["msg"], "stopped")
        self.assertIn(last["aborted_tasks"], aborted)

    def test_unready_first_then_no_intake_then_everything_in_flight(self):
        server = self.start({**SLOW_WORK, "storage.debug.work_delay": "3s",
                             "storage.drain_deadline": "30s"})
        admin, idle, half = server.connect_admin(), server.connect(), server.connect()
        for connection in (admin, idle, half):
            self.addCleanup(connection.close)
            self.assertEqual(connection.ask("GET", "/readyz").status, 200)
        waiting = self.writes_in_flight(server, 8)
        question = ron.request("GET", "/readyz")
        half.send(question[:20])
        server.wait_metric("http_connections", 8 + 3 + 1)

        signalled = time.monotonic()
        server.signal(signal.SIGTERM)
        draining = ron.wait_until("the admin listener says unready",
                                  lambda: (r := admin.ask("GET", "/readyz")).status == 503 and r)
        self.assertEqual(draining.json(), {"ready": False, "write_ready": False, "degraded": True,
                                           "missing": ["draining"], "retry_after": 1})
        self.assertEqual(draining.get("Retry-After"), "1")
        with server.connect_admin() as fresh:
            self.assertEqual(fresh.ask("GET", "/readyz").status, 503)
        half.send(question[20:])
        on_the_client_listener = half.read_response()
        self.assertEqual(on_the_client_listener.status, 503)
        self.assertTrue(on_the_client_listener.closes)
        self.assertTrue(half.ends())
        self.assertTrue(idle.ends(), "an idle connection is kept")
        ron.wait_until("the clients' port closes", lambda: ron.refuses(server.address))
        metrics = server.metrics()
        self.assertEqual(metrics.value("storage_draining"), 1)
        self.assertEqual(metrics.value("http_inflight_requests"), 8, "intake stopped too late")

        for i, connection in enumerate(waiting):
            response = connection.read_response()
            self.assertEqual((response.status, response.json()["address"]),
                             (201, ron.b3(b"in flight %d" % i)))
            self.assertTrue(response.closes)
            self.assertTrue(connection.ends())
        self.assertEqual(server.wait_exit(), 0)
        took = time.monotonic() - signalled
        self.assertLess(took, 3 + 2 * ron.SLOW, "waited although everything was done")
        self.assertEqual(phases(server), ["draining", "stopped"])
        self.stopped(server)

    def test_an_answer_under_way_is_finished(self):
        server = self.start({"storage.drain_deadline": "30s", "storage.write_timeout": "30s"})
        path, data = server.put_large()
        readers = []
        for _ in range(4):
            connection = server.connect(receive_buffer=8192)
            self.addCleanup(connection.close)
            connection.send(ron.request("GET", path))
            self.assertEqual(connection.socket.recv(4, socket.MSG_WAITALL | socket.MSG_PEEK),
                             b"HTTP")
            readers.append(connection)
        server.signal(signal.SIGTERM)
        server.wait_log("phase", phase="draining")
        ron.wait_until("the clients' port closes", lambda: ron.refuses(server.address))
        self.assertEqual(server.metrics().value("http_connections"), len(readers) + 1)
        for connection in readers:
            response = connection.read_response()
            self.assertEqual(response.status, 200)
            self.assertEqual(response.body, data)
            self.assertTrue(connection.ends(2 * ron.SLOW), "kept although the server drains")
        read = time.monotonic()
        self.assertEqual(server.wait_exit(), 0)
        self.assertLess(time.monotonic() - read, 2 * ron.SLOW)
        self.stopped(server)

    def stuck(self, deadline):
        server = self.start({**SLOW_WORK, "storage.debug.work_delay": "10m",
                             "storage.drain_deadline": deadline,
                             "storage.server.request_deadline": "1h"})
        return server, self.writes_in_flight(server, 1)[0]

    def test_a_stuck_handler_is_aborted_at_the_deadline(self):
        server, connection = self.stuck("1s")
        server.signal(signal.SIGTERM)
        signalled = time.monotonic()
        server.wait_log("phase", phase="draining")
        metrics = server.metrics()
        self.assertEqual(metrics.value("storage_draining"), 1)
        self.assertEqual(metrics.value("tasks_aborted_total"), 0)
        with self.assertRaises(ron.Closed):
            connection.read_response()
        self.assertEqual(server.wait_exit(), 0)
        took = time.monotonic() - signalled
        self.assertGreaterEqual(took, 0.95)
        self.assertLess(took, 1 + 2 * ron.SLOW)
        self.assertEqual(phases(server), ["draining", "aborting", "stopped"])
        # The listener with the stuck request. Then nobody waits for its worker, which drops the job
        # and ends by itself, if the abort of the workers does not reach it first.
        self.stopped(server, aborted=(1, 2))

    def test_a_second_signal_aborts_at_once(self):
        for first, second in ((signal.SIGTERM, signal.SIGTERM), (signal.SIGINT, signal.SIGTERM)):
            with self.subTest(first=first, second=second):
                server, connection = self.stuck("5m")
                server.signal(first)
                server.wait_log("phase", phase="draining")
                self.assertIsNone(server.process.poll())
                again = time.monotonic()
                server.signal(second)
                self.assertEqual(server.wait_exit(), 0)
                self.assertLess(time.monotonic() - again, 2 * ron.SLOW)
                self.assertIn("second stop signal: aborting",
                              [line["msg"] for line in server.logs()])
                self.assertEqual(phases(server), ["draining", "aborting", "stopped"])
                with self.assertRaises(ron.Closed):
                    connection.read_response()

    def test_nothing_to_drain_is_quick(self):
        server = self.start({"storage.drain_deadline": "30s"})
        began = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - began, 1 * ron.SLOW)
        self.stopped(server)


class OneSlowDownload(unittest.TestCase):
    """A stop in the middle of an answer that is read piece by piece from disk."""

    SIZE = 24 << 20  # more than sockets hold

    def begin(self, **sets):
        home = tempfile.TemporaryDirectory(prefix="ron-e2e-data-")
        self.addCleanup(home.cleanup)
        self.server = storage.Server(data=home.name + "/data", sets={
            "storage.cache_bytes": "0", "storage.min_free_bytes": "1MiB",
            "storage.server.max_rps": 100000, "storage.write_timeout": "30s",
            **{f"storage.{key}": value for key, value in sets.items()}})
        self.addCleanup(self.server.close)
        self.data = random.Random(4).randbytes(self.SIZE)
        path = "/o/" + self.server.upload(self.data)
        self.reader = self.server.connect(receive_buffer=32768)
        self.addCleanup(self.reader.close)
        self.reader.send(ron.request("GET", path))
        self.assertEqual(self.reader.socket.recv(4, socket.MSG_PEEK), b"HTTP")

    def stop(self):
        """Unready at once, although the answer is still under way."""
        with self.server.connect_admin() as admin:
            self.assertEqual(admin.ask("GET", "/readyz").status, 200)
            self.server.signal(signal.SIGTERM)
            signalled = time.monotonic()
            ron.wait_until("unready", lambda: admin.ask("GET", "/readyz").status == 503,
                           timeout=0.5 * ron.SLOW, pause=0.001)
            self.assertEqual(self.server.metrics().value("http_inflight_requests"), 1)
        return signalled

    def test_it_is_finished_if_there_is_time(self):
        self.begin(drain_deadline="30s")
        self.stop()
        response = self.reader.read_response()
        self.assertEqual(response.status, 200)
        self.assertTrue(response.body == self.data)
        self.assertEqual(self.server.wait_exit(), 0)
        self.assertEqual(self.server.logs()[-1]["aborted_tasks"], 0)

    def test_it_is_cut_visibly_if_there_is_none(self):
        self.begin(drain_deadline="500ms")
        signalled = self.stop()
        self.assertEqual(self.server.wait_exit(), 0)
        self.assertLess(time.monotonic() - signalled, 0.5 + 2 * ron.SLOW)
        with self.assertRaises(ron.Truncated) as cut:
            self.reader.read_response()
        self.assertEqual(cut.exception.status, 200)  # with a length that was not reached
        self.assertGreater(self.server.logs()[-1]["aborted_tasks"], 0)


@unittest.skipIf(ron.SANITIZED, "a sanitizer wants to be loaded first")
class StuckJob(unittest.TestCase):
    """A call in a thread of the blocking pool that never returns: here a name service that does not
    answer, put in front of the system's."""

    NAME_SERVICE = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <netdb.h>
        #include <string.h>
        #include <unistd.h>
        int getaddrinfo(const char* host, const char* service, const struct addrinfo* hints,
                        struct addrinfo** found) {
          while (host != NULL && strcmp(host, "stuck.example") == 0) pause();
          int (*real)(const char*, const char*, const struct addrinfo*, struct addrinfo**) =
              dlsym(RTLD_NEXT, "getaddrinfo");
          return real(host, service, hints, found);
        }
    """

    def test_the_process_ends_without_it_and_says_so(self):
        compiler = shutil.which("cc") or shutil.which("clang-19")
        if compiler is None:
            self.skipTest("there is no C compiler")
        home = tempfile.TemporaryDirectory(prefix="ron-e2e-stuck-")
        self.addCleanup(home.cleanup)
        library = home.name + "/name_service.so"
        subprocess.run([compiler, "-shared", "-fPIC", "-x", "c", "-", "-o", library, "-ldl"],
                       input=self.NAME_SERVICE.encode(), check=True)
        server = edge.Server(env={"LD_PRELOAD": library}, sets={
            "edge.drain_deadline": "1s", "edge.origin": "http://stuck.example:80",
            "edge.sites": edge.rows({"name": "s", "target": "web/site"})})
        self.addCleanup(server.close)
        signalled = time.monotonic()
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait_exit(), 1)
        self.assertLess(time.monotonic() - signalled, 2 + 10 * ron.SLOW)
        waiting, ends = server.logs()[-2:]
        self.assertEqual(waiting["msg"], "waiting for blocking jobs")
        self.assertEqual(ends["msg"], "blocking jobs do not end: the process ends without them")
        self.assertEqual(ends["exit_code"], 1)
        for line in (waiting, ends):
            self.assertRegex(line["jobs"], r"\Aresolve_name \d")


class UnderLoad(unittest.TestCase):
    """A response that began with 200 is complete, and is the object it says it is."""

    REPETITIONS = 50
    CLIENTS = 6

    @classmethod
    def setUpClass(cls):
        noise = random.Random(7)
        bodies = [noise.randbytes(size) for size in (0, 1, 1000, 65536, 300000, 1 << 20)]
        cls.objects = {ron.b3(body): body for body in bodies}
        large, cls.packed = storage.large_object()
        cls.objects[ron.b3(large)] = large

    def test_fifty_times(self):
        total = collections.Counter()
        for repetition in range(self.REPETITIONS):
            with self.subTest(repetition=repetition):
                total += self.once(random.Random(repetition))
        # The load was real, and the stop met answers under way.
        self.assertGreater(total["finished"], 10 * self.REPETITIONS)
        self.assertGreater(total["finished after the signal"], self.REPETITIONS)
        print(dict(total), file=sys.stderr)

    def once(self, chance):
        tally = collections.Counter()
        lock = threading.Lock()
        signalled = threading.Event()

        def count(what):
            with lock:
                tally[what] += 1

        with storage.Server(sets={"storage.server.max_rps": 1000000,
                              "storage.drain_deadline": "20s"}) as server:
            for body in self.objects.values():
                if len(body) <= 1 << 20:
                    server.put(body)
            server.put(self.packed, ("Content-Encoding", "gzip"))
            addresses = sorted(self.objects)
            connections = {}

            def work(index):
                if index not in connections:
                    try:
                        connections[index] = server.connect(receive_buffer=32768)
                    except ConnectionError:  # refused, or reset by a port that closes just then
                        return False
                connection = connections[index]
                address = chance.choice(addresses)
                try:
                    connection.send(ron.request("GET", "/o/" + address))
                    response = connection.read_response()
                except (ron.Closed, ConnectionError):
                    connections.pop(index).close()
                    count("cut before an answer")
                    return True
                assert response.status == 200, response.status
                assert response.body == self.objects[address], f"wrong bytes for {address}"
                count("finished")
                if signalled.is_set():
                    count("finished after the signal")
                if response.closes:
                    assert connection.ends(), "said close and did not"
                    connections.pop(index).close()
                return True

            load = ron.Load(self.CLIENTS, work)
            time.sleep(chance.uniform(0.05, 0.15))
            server.signal(signal.SIGTERM)
            signalled.set()
            code = server.wait_exit()
            errors = load.finish()
            for connection in connections.values():
                connection.close()
            self.assertEqual(errors, [])
            self.assertEqual(code, 0)
            self.assertEqual(server.logs()[-1]["aborted_tasks"], 0)
        return tally


if __name__ == "__main__":
    unittest.main()
