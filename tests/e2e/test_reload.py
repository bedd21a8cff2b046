"""SIGHUP: what may change changes under load, what is wrong changes nothing."""

import collections
import os
import signal
import socket
import threading
import time
import unittest

import ron
import storage

BASE = {
    "log.level": '"info"',
    "safety.danger_ok": "true",
    "storage.bind": '"127.0.0.1:0"',
    "storage.admin": '"127.0.0.1:0"',
    "storage.read_timeout": '"5s"',
    "storage.limits.max_body_bytes": '"1MiB"',
    "storage.server.max_rps": "1000000",
    "storage.debug.work_delay": '"0s"',
}


def toml(**changes):
    """The base configuration with changes; dots of a key are double underscores."""
    keys = {**BASE, **{key.replace("__", "."): value for key, value in changes.items()}}
    return "".join(f"{key} = {value}\n" for key, value in keys.items())


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Reload(unittest.TestCase):
    def setUp(self):
        self.server = storage.Server(config=toml())
        self.addCleanup(self.server.close)

    def outcomes(self, metrics=None):
        metrics = metrics or self.server.metrics()
        return (metrics.value("storage_reload_success_total"),
                metrics.value("storage_reload_fail_total"))

    def reload(self, text):
        """Replaces the file, sends SIGHUP and waits for the verdict: the log line."""
        before = len(self.verdicts())
        self.server.config_path.write_text(text)
        self.server.signal(signal.SIGHUP)
        return ron.wait_until("a verdict on the reload", lambda: self.verdicts()[before:])[0]

    def verdicts(self):
        said = ("configuration reloaded", "reload refused, the old configuration stays")
        return [line for line in self.server.logs() if line["msg"] in said]

    def accepted(self, text):
        verdict = self.reload(text)
        self.assertEqual(verdict["msg"], "configuration reloaded", verdict)

    def shown(self):
        with self.server.connect_admin() as connection:
            return connection.ask("GET", "/debug/config").body

    def serves(self, address):
        with ron.Connection(address) as connection:
            return connection.ask("GET", "/healthz").status == 200


class Hot(Reload):
    def half_a_head(self):
        """How long the server waits for the other half."""
        with self.server.connect() as connection:
            connection.send(b"GET /healthz HT")
            began = time.monotonic()
            response = connection.read_response()
            self.assertEqual((response.status, response.code), (408, "ReadTimeout"))
            return time.monotonic() - began

    def status_of(self, size):
        with self.server.connect() as connection:
            return connection.ask("POST", "/o", [self.server.auth], os.urandom(size)).status

    def debug_lines(self):
        return sum(line["level"] == "debug" for line in self.server.logs())

    def test_a_timeout_a_limit_and_the_log_level_under_load(self):
        body = os.urandom(20000)
        path = "/o/" + self.server.put(body)
        served = collections.Counter()
        connections = [self.server.connect() for _ in range(4)]
        for connection in connections:
            self.addCleanup(connection.close)

        def work(index):
            connection = connections[index]
            response = connection.ask("GET", path)
            assert response.status == 200 and response.body == body and not response.closes
            response = connection.ask("POST", "/o", [self.server.auth],
                                      b"%d %d" % (index, served[index]))
            assert response.status == 201 and not response.closes, response.status
            served[index] += 1

        self.assertEqual(self.status_of(70000), 201)
        self.assertEqual(self.debug_lines(), 0)
        load = ron.Load(len(connections), work)
        strict = toml(storage__read_timeout='"400ms"', storage__limits__max_body_bytes='"64KiB"',
                      log__level='"debug"')
        for _ in range(10):
            self.accepted(strict)
            self.accepted(toml())
        self.accepted(strict)
        during = dict(served)
        took = self.half_a_head()
        self.assertGreaterEqual(took, 0.35)
        self.assertLess(took, 0.4 + 2 * ron.SLOW)
        self.assertEqual(self.status_of(70000), 413)
        self.assertEqual(self.status_of(60000), 201)
        ron.wait_until("debug lines in the log", self.debug_lines)
        ron.wait_until("the load goes on",
                       lambda: all(served[i] > during.get(i, 0) for i in range(4)))
        self.assertEqual(load.finish(), [])
        self.assertEqual(self.outcomes(), (21, 0))
        self.assertIn(b"400ms", self.shown())

        self.accepted(toml())
        self.assertEqual(self.status_of(70000), 201)
        quiet = self.debug_lines()
        self.server.put(b"not worth a line")
        self.assertEqual(self.debug_lines(), quiet)

    def test_the_same_file_again_is_fine(self):
        self.accepted(toml())
        self.assertEqual(self.outcomes(), (1, 0))

    def test_a_flag_still_wins(self):
        with storage.Server(config=toml(),
                        flags=("--set", "storage.limits.max_body_bytes=32KiB")) as server:
            self.server = server
            self.accepted(toml(storage__limits__max_body_bytes='"64KiB"'))
            self.assertEqual(self.status_of(40000), 413)


class Refused(Reload):
    def refused(self, text, reason, *words):
        config = self.shown()
        success, fail = self.outcomes()
        before = self.server.metrics().value("storage_reload_fail_total", reason=reason)
        with self.server.connect() as connection:
            self.assertTrue(connection.is_open())
            verdict = self.reload(text)
            self.assertEqual((verdict["level"], verdict["msg"]),
                             ("error", "reload refused, the old configuration stays"))
            self.assertEqual(verdict["reason"], reason)
            for word in words:
                self.assertIn(word, verdict["what"])
            self.assertTrue(connection.is_open(), "a connection was lost")
        metrics = self.server.metrics()
        self.assertEqual(metrics.value("storage_reload_fail_total", reason=reason), before + 1)
        self.assertEqual(self.outcomes(metrics), (success, fail + 1))
        self.assertEqual(self.shown(), config)

    def test_what_is_wrong_with_the_file(self):
        self.refused("this is not TOML [", "parse")
        self.refused(toml() + "storage.read_timeout = '1s'\n", "parse", "read_timeout")
        self.refused(toml(storage__raed_timeout='"1s"'), "invalid", "storage.raed_timeout",
                     "storage.read_timeout")
        self.refused(toml(storage__read_timeout='"yes"'), "invalid", "storage.read_timeout")
        self.refused(toml(storage__read_timeout='"1ms"'), "invalid", "storage.read_timeout", "10ms")
        self.refused(toml(safety__danger_ok="false", storage__debug__work_delay='"1s"'),
                     "invalid", "storage.debug.work_delay", "safety.danger_ok")
        self.refused(toml(auth__deny='["nonsense"]'), "invalid", "auth.deny")
        self.refused(toml(storage__put_workers="9"), "restart_required", "storage.put_workers")
        self.refused(toml(runtime__cores="1", storage__channels__work="7"), "restart_required",
                     "storage.channels.work")
        # One key that needs a restart refuses the others with it.
        self.refused(toml(storage__put_workers="9", storage__limits__max_body_bytes='"64KiB"'),
                     "restart_required")
        self.assertEqual(self.server.put(b"x" * 70000), ron.b3(b"x" * 70000))
        self.accepted(toml(storage__limits__max_body_bytes='"64KiB"'))

    def test_a_file_that_is_gone(self):
        self.server.config_path.unlink()
        before = len(self.verdicts())
        self.server.signal(signal.SIGHUP)
        verdict = ron.wait_until("a verdict", lambda: self.verdicts()[before:])[0]
        self.assertEqual(verdict["reason"], "io")
        self.assertIn("ron.toml", verdict["what"])
        self.assertEqual(self.server.metrics().value("storage_reload_fail_total", reason="io"), 1)
        self.assertTrue(self.serves(self.server.address))

    def test_a_busy_port_changes_nothing(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            holder.listen()
            busy = holder.getsockname()[1]
            self.refused(toml(storage__bind=f'"127.0.0.1:{busy}"',
                              storage__limits__max_body_bytes='"64KiB"'),
                         "rebind", "storage.bind", str(busy))
            self.refused(toml(storage__admin=f'"127.0.0.1:{busy}"'), "rebind", "storage.admin",
                         str(busy))
            # Both move, and only the second cannot: neither does.
            self.refused(toml(storage__bind='"127.0.0.2:0"', storage__admin=f'"127.0.0.1:{busy}"'),
                         "rebind", "storage.admin", str(busy))
            self.refused(toml(storage__bind=f'"127.0.0.1:{busy}"', storage__admin='"127.0.0.2:0"'),
                         "rebind", "storage.bind", str(busy))
        self.assertTrue(self.serves(self.server.address))
        self.assertTrue(self.serves(self.server.admin))
        self.assertEqual(len(self.server.out), 1)
        self.assertEqual(self.server.put(b"x" * 70000), ron.b3(b"x" * 70000))
        # Nothing is left over from the tries: the same port works once it is free.
        self.accepted(toml(storage__bind=f'"127.0.0.1:{busy}"'))
        self.assertEqual(self.server.moved(), ("127.0.0.1", busy))
        self.assertTrue(self.serves(self.server.address))


class Rebind(Reload):
    def test_the_clients_port(self):
        self.accepted(toml(storage__debug__work_delay='"1500ms"'))
        old = self.server.address
        idle, busy = self.server.connect(), self.server.connect()
        for connection in (idle, busy):
            self.addCleanup(connection.close)
            self.assertTrue(connection.is_open())
        busy.send(ron.request("POST", "/o", [self.server.auth], b"in flight"))
        self.server.wait_metric("http_inflight_requests", 1)

        self.accepted(toml(storage__bind='"127.0.0.2:0"', storage__debug__work_delay='"0s"'))
        new = self.server.moved()
        self.assertNotEqual(old, new)
        self.assertTrue(self.serves(new))
        ron.wait_until("the old port stops", lambda: ron.refuses(old))
        self.assertTrue(idle.ends(), "an idle connection of the old port is kept")
        self.assertEqual(self.server.metrics().value("http_inflight_requests"), 1)
        response = busy.read_response()
        self.assertEqual((response.status, response.json()["address"]), (201, ron.b3(b"in flight")))
        self.assertTrue(response.closes)
        self.assertTrue(busy.ends())
        with self.server.connect_admin() as admin:
            self.assertEqual(admin.ask("GET", "/readyz").status, 200)
        self.assertEqual(self.server.stop(), 0)

    def test_the_admin_port(self):
        old = self.server.admin
        self.accepted(toml(storage__admin='"127.0.0.2:0"'))
        line = ron.wait_until("the new admin address in the log", lambda: [
            each for each in self.server.logs() if each["msg"] == "admin listening"][1:])[0]
        host, port = line["addr"].rsplit(":", 1)
        self.server.admin = (host, int(port))
        self.assertEqual(self.outcomes(), (1, 0))
        ron.wait_until("the old port stops", lambda: ron.refuses(old))
        self.assertTrue(self.serves(self.server.address))

    def test_there_and_back_under_load(self):
        first, second = free_port(), free_port()
        self.accepted(toml(storage__bind=f'"127.0.0.1:{first}"'))
        self.server.moved()
        body = os.urandom(100000)
        path = "/o/" + self.server.put(body)
        answered = collections.Counter()
        lock = threading.Lock()

        def work(index):
            # Whoever meets the old port in its last moment is refused or closed, never half served.
            try:
                with self.server.connect() as connection:
                    for _ in range(20):
                        response = connection.ask("GET", path)
                        assert response.status == 200 and response.body == body
                        with lock:
                            answered[connection.socket.getpeername()[1]] += 1
                        if response.closes:
                            return
            except (ron.Closed, ConnectionError):
                pass

        load = ron.Load(4, work)
        for port in (second, first, second, first):
            before = answered[port]
            self.accepted(toml(storage__bind=f'"127.0.0.1:{port}"'))
            self.assertEqual(self.server.moved(), ("127.0.0.1", port))
            ron.wait_until(f"answers from port {port}", lambda p=port, b=before: answered[p] > b
                           + 10)
        self.assertEqual(load.finish(), [])
        ron.wait_until("the other port is closed", lambda: ron.refuses(("127.0.0.1", second)))
        self.assertEqual(self.server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
