"""`ron up`: every service in one process, on one data directory, with one admin listener."""

import pathlib
import shutil
import signal
import tempfile
import time
import unittest

import registry
import ron
import storage

PORTS = {"gateway.bind": '"127.0.0.1:0"', "gateway.admin": '"127.0.0.1:0"'}


def toml(**changes):
    keys = {**PORTS, "storage.min_free_bytes": '"1MiB"', **changes}
    return "".join(f"{key} = {value}\n" for key, value in keys.items())


class Up(unittest.TestCase):
    def setUp(self):
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="ron-e2e-up-"))
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)

    def start(self, command="up", **options):
        """On self.data unless it is told otherwise."""
        options = {"data": self.data, "sets": {"storage.min_free_bytes": "1MiB"}, **options}
        server = storage.Server(command=command, **options)
        self.addCleanup(server.close)
        return server

    def admin_json(self, server, path):
        with server.connect_admin() as connection:
            response = connection.ask("GET", path)
            self.assertEqual(response.status, 200)
            return response.json()


class Bodies(Up):
    """What a capability's max_bytes is for: a body of more bytes goes nowhere."""

    PUBLIC = (("POST", "/o"), ("PUT", "/o/" + ron.b3(b"12345")), ("POST", "/uploads"),
              ("PUT", "/names/docs"), ("POST", "/registry/proposals"),
              ("POST", "/registry/supersede"), ("POST", "/registry/approvals/x"))
    ADMIN = (("POST", "/admin/snapshot"), ("POST", "/admin/pin"), ("POST", "/admin/reindex"),
             ("POST", "/admin/packs"), ("POST", "/admin/sites"), ("POST", "/admin/purge"))

    def test_every_service_holds_them_to_the_capability(self):
        server = self.start()
        token = "Bearer " + ron.attenuate(server.token, "max_bytes = 4")
        for framing, body in (("chunks", b"2\r\n12\r\n3\r\n345\r\n0\r\n\r\n"),
                              ("a chunk", b"5\r\n12345\r\n0\r\n\r\n")):
            for connect, routes in ((server.connect, self.PUBLIC),
                                    (server.connect_admin, self.ADMIN)):
                for method, path in routes:
                    with self.subTest(framing, path=path), connect() as connection:
                        connection.send(ron.request(method, path, [
                            ("Authorization", token), ("Transfer-Encoding", "chunked")]) + body)
                        response = connection.read_response()
                        self.assertEqual((response.status, response.code), (403, "Forbidden"),
                                         response.body)
                        self.assertEqual(response.json()["error"]["details"], {"max_bytes": "4"})


class Streams(Up):
    def test_a_client_has_its_share_of_the_registrys_stream(self):
        """The registry is told by the gateway whom a stream counts for."""
        server = self.start(sets={"storage.min_free_bytes": "1MiB",
                                  "registry.sse.max_streams_per_tenant": 2})

        def follow(source="127.0.0.1", **more):
            stream = registry.Stream(server.address, source=source, **more)
            self.addCleanup(stream.close)
            return stream

        self.assertEqual([follow().status for _ in range(2)], [200, 200])
        refused = follow()
        self.assertEqual(refused.status, 429)
        self.assertIn(b"Retry-After: ", refused.head)
        self.assertEqual(refused.body()["error"]["details"]["share_of"], "address 127.0.0.1")
        self.assertEqual(follow("127.0.0.2").status, 200)
        token = "Bearer " + ron.attenuate(server.token, "tenant = a")
        for source in ("127.0.0.1", "127.0.0.2"):
            self.assertEqual(follow(source, headers=[("Authorization", token)]).status, 200)
        refused = follow(headers=[("Authorization", token)])
        self.assertEqual(refused.status, 429)
        self.assertEqual(refused.body()["error"]["details"]["share_of"], "tenant a")


class Start(Up):
    def test_one_line_says_where_it_listens(self):
        server = self.start()
        self.assertEqual(server.stop(), 0)
        rest = server.process.stdout.read()
        host, port = server.address
        self.assertEqual((server.out, rest), ([f"svc-gateway listening on {host}:{port}\n"], b""))

    def test_the_directory_has_keys_and_a_part_for_each_service(self):
        self.start()
        self.assertEqual({path.name for path in self.data.iterdir()},
                         {"edge", "index", "keys", "registry", "storage"})
        token = self.data / "keys/admin.token"
        self.assertEqual(token.stat().st_mode & 0o777, 0o600)

    def test_it_listens_where_the_contract_says_unless_the_file_says_otherwise(self):
        _, findings, _ = ron.run_ron("doctor", "--amnesia")
        self.assertRegex(findings, r"(?m)port +gateway\.bind: .*127\.0\.0\.1:8080")
        self.assertRegex(findings, r"(?m)port +gateway\.admin: .*127\.0\.0\.1:9090")
        alone = ron.run_ron("doctor", "storage", "--amnesia")[1]
        self.assertRegex(alone, r"(?m)port +storage\.bind: .*127\.0\.0\.1:8081")
        server = self.start(config=toml(), sets={})
        self.assertNotIn(server.address[1], (8080, 8081))
        shown = self.admin_json(server, "/debug/config")["gateway.bind"]
        self.assertEqual((shown["value"], shown["source"]),
                         ("127.0.0.1:0", f"{server.config_path}:1"))

    def test_in_memory_nothing_is_written(self):
        server = self.start(data=None)
        address = server.put(b"forgotten")
        with server.connect() as connection:
            self.assertEqual(connection.ask("GET", "/o/" + address).body, b"forgotten")
        self.assertEqual(list(server.cwd.iterdir()), [])


class Admin(Up):
    def test_one_listener_shows_all_services(self):
        server = self.start()
        server.put(b"counted")
        server.wait_metric("http_requests_total", 1, service="svc-storage", endpoint="POST /o",
                           code="201")
        metrics = server.metrics()
        self.assertEqual({labels["service"] for _, labels, _ in metrics.samples},
                         {"svc-storage", "svc-registry", "svc-index", "svc-edge", "svc-gateway"})
        self.assertEqual(ron.complaints_of_promtool(metrics), [])
        topologies = self.admin_json(server, "/debug/topology")
        self.assertEqual([each["service"] for each in topologies],
                         ["svc-gateway", "svc-storage", "svc-registry", "svc-index",
                          "svc-edge"])
        self.assertIn("storage.cache_bytes", self.admin_json(server, "/debug/config"))
        self.assertTrue(self.admin_json(server, "/readyz")["ready"])
        with server.connect_admin() as connection:
            self.assertEqual(connection.ask("GET", "/admin/stats", [server.auth]).status, 200)


class Only(Up):
    def refused(self, *arguments):
        code, out, error = ron.run_ron(*arguments)
        self.assertEqual((code, out), (2, ""), error)
        return error

    def test_those_named_run_behind_the_gateway(self):
        server = self.start(flags=["--only", "storage"])
        self.assertEqual([each["service"] for each in self.admin_json(server, "/debug/topology")],
                         ["svc-gateway", "svc-storage"])
        server.put(b"stored")

    def test_the_path_of_a_service_that_is_out_names_it(self):
        server = self.start(flags=["--only", "gateway"])
        with server.connect() as connection:
            answer = connection.ask("GET", "/o/b3:" + "0" * 64)
        self.assertEqual(answer.status, 404)
        error = answer.json()["error"]
        self.assertEqual((error["code"], error["details"]), ("NotFound", {"service": "svc-storage"}))

    def test_an_unknown_one_is_bad_usage_that_names_the_known(self):
        error = self.refused("up", "--amnesia", "--only", "storage,stroage")
        self.assertEqual(error, "ron: --only: no service 'stroage' in this build "
                                "(did you mean storage?); there are storage, registry, index, edge, "
                                "gateway\n")
        for bad in ("", "up", "edges"):
            self.assertIn("there are storage", self.refused("up", "--amnesia", "--only", bad), bad)

    def test_it_is_for_up_alone(self):
        self.assertIn("no option --only", self.refused("storage", "--only", "storage"))
        self.assertIn("--only: is for ron up",
                      self.refused("doctor", "storage", "--only", "storage"))


class Life(Up):
    def verdicts(self, server):
        said = ("configuration reloaded", "reload refused, the old configuration stays")
        return [line["msg"] for line in server.logs() if line["msg"] in said]

    def reload(self, server, text):
        before = len(self.verdicts(server))
        server.config_path.write_text(text)
        server.signal(signal.SIGHUP)
        return ron.wait_until("a verdict", lambda: self.verdicts(server)[before:])[0]

    def test_a_reload_is_taken_over_or_refused_as_a_whole(self):
        server = self.start(config=toml(), sets={})

        def status():
            with server.connect() as connection:
                return connection.ask("POST", "/o", [server.auth], b"x" * 70000).status

        self.assertEqual(status(), 201)
        small = {"storage.limits.max_body_bytes": '"64KiB"'}
        self.assertEqual(self.reload(server, toml(**small)), "configuration reloaded")
        ron.wait_until("the new limit", lambda: status() == 413)
        refused = self.reload(server, toml(**{"storage.get_workers": "3"}))
        self.assertEqual(refused, "reload refused, the old configuration stays")
        self.assertEqual(status(), 413)
        metrics = server.metrics()
        self.assertEqual((metrics.value("storage_reload_success_total"),
                          metrics.value("storage_reload_fail_total", reason="restart_required")),
                         (1, 1))

    def begun(self, server):
        """A write whose last byte has not been sent."""
        connection = server.connect()
        self.addCleanup(connection.close)
        whole = ron.request("POST", "/o", [server.auth], b"in flight")
        connection.send(whole[:-1])
        server.wait_metric("http_inflight_requests", 1, service="svc-gateway")
        return connection

    def test_a_drain_lets_requests_in_flight_finish(self):
        server = self.start(sets={"gateway.drain_deadline": "30s", "storage.min_free_bytes": "1MiB"})
        connection = self.begun(server)
        with server.connect_admin() as admin:
            self.assertEqual(admin.ask("GET", "/readyz").status, 200)
            server.signal(signal.SIGTERM)
            unready = ron.wait_until(
                "unready", lambda: (r := admin.ask("GET", "/readyz")).status == 503 and r)
        self.assertEqual(unready.json()["missing"], ["draining"])
        connection.send(b"t")
        self.assertEqual(connection.read_response().status, 201)
        self.assertEqual(server.wait_exit(), 0)
        self.assertEqual(server.logs()[-1]["aborted_tasks"], 0)

    def test_a_second_signal_aborts(self):
        server = self.start(sets={"gateway.drain_deadline": "60s", "gateway.read_timeout": "60s",
                                  "storage.min_free_bytes": "1MiB"})
        self.begun(server)
        server.signal(signal.SIGTERM)
        server.wait_log("phase", phase="draining")
        began = time.monotonic()
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait_exit(), 0)
        self.assertLess(time.monotonic() - began, 10 * ron.SLOW)
        self.assertIn("second stop signal: aborting", [line["msg"] for line in server.logs()])
        self.assertGreater(server.logs()[-1]["aborted_tasks"], 0)


class Objects(Up):
    def client(self, server, *arguments):
        """A client command beside the data directory, whose token it finds."""
        url = f"http://{server.address[0]}:{server.address[1]}"
        code, out, error = ron.run_ron(*arguments, "--url", url, "--data", str(self.data))
        self.assertEqual(code, 0, error)
        return out

    def test_nobody_waits_for_an_upload_that_drips(self):
        server = self.start(sets={"storage.min_free_bytes": "1MiB", "safety.danger_ok": "true",
                                  "gateway.upstream.concurrency": "1",
                                  "gateway.upstream.deadline": "20s", "gateway.read_timeout": "5m",
                                  "gateway.server.request_deadline": "5m"})

        def tenant(name):
            return "Authorization", "Bearer " + ron.attenuate(server.token, f"tenant = {name}")

        def put(body):
            return ron.request("PUT", "/o/" + ron.b3(body), [tenant("dripping")], body)

        server.put(b"polite")
        drips = []
        for number in range(4):
            body = bytes([number]) * 200_000
            connection = server.connect()
            self.addCleanup(connection.close)
            connection.send(put(body)[:-1])
            drips.append((connection, body))
        time.sleep(0.3)  # what was sent has arrived, and its requests have asked for their turns
        for _ in range(10):
            with server.connect() as connection:
                response = connection.ask("GET", "/o/" + ron.b3(b"polite"), [tenant("polite")])
                self.assertEqual((response.status, response.body), (200, b"polite"))
        for connection, body in drips:
            connection.send(body[-1:])
            self.assertIn(connection.read_response().status, (200, 201))

    def test_put_and_get_through_it(self):
        server = self.start()
        film = server.home / "film"
        film.write_bytes(bytes(range(256)) * 20000)
        address = self.client(server, "put", str(film)).split()[0]
        self.assertEqual(address, ron.b3(film.read_bytes()))
        copy = server.home / "copy"
        self.client(server, "get", address, "-o", str(copy))
        self.assertEqual(copy.read_bytes(), film.read_bytes())

    def test_one_directory_serves_both_commands(self):
        stored = {}
        keys = None
        for service in ("storage", "up", "storage"):
            server = self.start(service)
            for address, body in stored.items():
                with server.connect() as connection:
                    self.assertEqual(connection.ask("GET", "/o/" + address).body, body, service)
            body = b"%d, by ron %s" % (len(stored), service.encode())
            stored[server.put(body)] = body
            found = {path.name: path.read_bytes() for path in (self.data / "keys").iterdir()
                     if path.is_file() and path.suffix != ".pem"}
            self.assertEqual(found, keys or found, "keys and token stay")
            keys = found
            self.assertEqual(server.stop(), 0)


if __name__ == "__main__":
    unittest.main()
