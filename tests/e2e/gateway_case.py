"""What the suites about the gateway do again and again: start it, ask it, and look what moved."""

import pathlib
import subprocess
import tempfile
import unittest

import gateway
import ron

DANGER = {"safety.danger_ok": "true"}
# Nothing of the gateway's own gets in the way: no limit of rates, no breaker, no second try, and
# probes only at the start. A suite that is about one of them sets it.
QUIET = {
    "server.max_rps": 1000000,
    "drr.rate_limit_rps": 1000000,
    "breaker.min_volume": 100000,
    "retry.max_tries": 1,
    "upstream.probe_interval": "10m",
    "upstream.eject_after": 1000,
}
CUT = (18, 56)  # curl: a part of the body is missing, or the connection was reset


def tenant(server, name):
    """The field of a client that is this tenant."""
    return "Authorization", "Bearer " + ron.attenuate(server.token, f"tenant = {name}")


def curl(server, path, *flags):
    """(exit code, status, body) of what curl makes of it."""
    with tempfile.TemporaryDirectory(prefix="ron-e2e-curl-") as home:
        body = pathlib.Path(home) / "body"
        body.touch()
        done = subprocess.run(
            ["curl", "-sS", "-o", str(body), "-w", "%{http_code}", "--max-time",
             str(int(ron.REPLY_S)), *flags, "http://%s:%d%s" % (*server.address, path)],
            capture_output=True, check=False, timeout=2 * ron.REPLY_S)
        return done.returncode, int(done.stdout), body.read_bytes()


class Case(unittest.TestCase):
    def start(self, routes, keys=(), **more):
        server = gateway.Server(routes, {**QUIET, **dict(keys)}, sets=DANGER, **more)
        self.addCleanup(server.close)
        return server

    def connect(self, server, **options):
        connection = server.connect(**options)
        self.addCleanup(connection.close)
        return connection

    def send(self, server, method, path, headers=(), body=None):
        """A request whose answer is read later."""
        connection = self.connect(server)
        connection.send(ron.request(method, path, headers, body))
        return connection

    def ask(self, server, method, path, headers=(), body=None):
        with server.connect() as connection:
            return connection.ask(method, path, headers, body)

    def admin(self, server, method, path, headers=None):
        with server.connect_admin() as connection:
            headers = [server.auth] if headers is None else headers
            return connection.ask(method, path, headers, b"" if method == "POST" else None)

    def refused(self, response, status, code):
        self.assertEqual((response.status, response.code), (status, code), response.body)
        error = response.json()["error"]
        self.assertRegex(error["corr_id"], ron.ULID)
        return error["details"]

    def moves(self, server, name, by, act, **labels):
        """Runs `act` and waits until the metric has moved by exactly that much."""
        before = server.metrics().value(name, **labels)
        result = act()
        server.wait_metric(name, before + by, **labels)
        return result

    def member(self, server, name):
        """What operators are told about a member of a group."""
        for group in self.admin(server, "GET", "/admin/upstreams").json()["upstreams"]:
            for member in group["members"]:
                if member["name"] == name:
                    return member
        raise AssertionError(f"there is no {name}")
