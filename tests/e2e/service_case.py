"""What tests of the services with documents (svc-registry, svc-index) share: a process that is
asked with JSON and capabilities, and a test case with a data directory that outlives its
servers."""

import json
import shutil
import signal
import tempfile
import unittest

import ron


class Server(ron.Process):
    """One `ron` process with one service in front, or `ron up`: in memory, or on disk in the
    directory `data`, which outlives it."""

    def __init__(self, service, data=None, command=None, **more):
        where = ["--data", data] if data else ["--amnesia"]
        front = "svc-gateway" if command == "up" else "svc-" + service
        super().__init__([command or service, *where], [front], **more)

    def ask(self, method, path, body=None, headers=(), auth=None, connection=None):
        """`body` is bytes, or becomes JSON. With the operator's token unless `auth` says other
        fields, or () for none."""
        auth = (self.auth,) if auth is None else auth
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if method == "POST" and body is None:
            body = b""
        if connection is not None:
            return connection.ask(method, path, [*auth, *headers], body)
        with self.connect() as own:
            return own.ask(method, path, [*auth, *headers], body)

    def ask_admin(self, method, path, body=None, headers=(), auth=None):
        with self.connect_admin() as connection:
            return self.ask(method, path, body, headers, auth, connection)

    def may(self, *caveats):
        """The field of a caller whose token has these caveats besides."""
        return "Authorization", "Bearer " + ron.attenuate(self.token, *caveats)

    def scoped(self, *scopes):
        """The field of a caller who may do only this."""
        return self.may("scope = " + ",".join(scopes))

    def get(self, path):
        response = self.ask("GET", path)
        assert response.status == 200, (path, response.status, response.body)
        return response.json()

    def readyz(self):
        with self.connect() as connection:
            return connection.ask("GET", "/readyz")

    def reload(self, text, verdict="configuration reloaded"):
        """Puts another file in place and waits for what the server says about it."""
        before = len([line for line in self.logs() if line["msg"] == verdict])
        self.config_path.write_text(text)
        self.signal(signal.SIGHUP)
        ron.wait_until(verdict, lambda: len(
            [line for line in self.logs() if line["msg"] == verdict]) > before)


class Case(unittest.TestCase):
    """A directory of its own for each test, and servers on it, one after the other."""

    service = ""  # as `ron` calls it
    server_type = Server

    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="ron-e2e-data-")
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)

    def start(self, sets=None, **more):
        sets = {f"{self.service}.{key}": value for key, value in dict(sets or {}).items()}
        server = self.server_type(self.data, sets=sets, **more)
        self.addCleanup(server.close)
        return server

    def restart(self, server, **more):
        self.assertEqual(server.stop(), 0)
        server.close()
        return self.start(**more)

    def refused(self, response, status, code):
        """Checks the envelope and returns its details."""
        self.assertEqual((response.status, response.code), (status, code), response.body)
        error = response.json()["error"]
        self.assertEqual(set(error) - {"retry_after"}, {"code", "message", "corr_id", "details"})
        self.assertRegex(error["corr_id"], ron.ULID)
        return error["details"]

    def moves(self, server, name, by, act, **labels):
        """Runs `act` and waits until the metric has moved by exactly that much."""
        before = server.metrics().value(name, **labels)
        result = act()
        server.wait_metric(name, before + by, **labels)
        return result
