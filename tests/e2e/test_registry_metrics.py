"""Every error and every metric of the registry's specification, seen happening.

Sections 8 and 9 of svc-registry's concurrency specification, and the keys of section 12: each is
provoked from outside. The disk is slow or fails where strace makes it so; the server has no
io_uring then, since calls through it cannot be held up.
"""

import http.server
import json
import signal
import subprocess
import tempfile
import threading
import time
import unittest

import registry
import ron
from registry import Case, region
from registry_tracer import Tracer, blocking_binary

# Section 9: name, type, label and values that are there from the start.
SPECIFIED = (
    ("queue_depth", "gauge", "queue", {"proposals", "approvals", "cfg_reload", "retention_cmd"}),
    ("queue_dropped_total", "counter", "queue", {"proposals", "approvals", "committed",
                                                 "cfg_reload", "retention_cmd"}),
    ("busy_rejections_total", "counter", "endpoint", {
        "POST /registry/proposals", "POST /registry/approvals/{id}", "POST /registry/commit/{id}",
        "GET /registry/stream"}),
    ("tasks_spawned_total", "counter", "kind", {
        "committer", "publisher", "checkpointor", "retention", "verifier", "config-reloader",
        "otel-exporter", "listener"}),
    ("tasks_aborted_total", "counter", "kind", {"committer"}),
    ("tasks_panicked_total", "counter", "kind", {"committer"}),
    ("tasks_canceled_total", "counter", "kind", {"committer"}),
    ("commit_cas_fail_total", "counter", None, set()),
    ("io_timeouts_total", "counter", "op", {"read", "write", "commit"}),
    ("backoff_retries_total", "counter", "op", set()),
    ("storage_backoff_total", "counter", "op", {"commit"}),
    ("bus_lagged_total", "counter", "consumer", {"publisher", "verifier", "stream"}),
    ("registry_reload_success_total", "counter", None, set()),
)
ADDED = ("registry_commits_total", "registry_syncs_total", "registry_refused_total",
         "registry_head_version", "registry_first_version", "registry_pending_proposals",
         "registry_checkpoint_version", "registry_verified_version",
         "registry_verify_failures_total", "registry_streams", "registry_signer_expiry_seconds",
         "registry_draining", "otel_spans_exported_total", "otel_spans_dropped_total",
         "otel_export_failures_total")
PROPOSE = "POST /registry/proposals"


class Scrape(Case):
    def test_everything_is_there_from_the_start(self):
        server = self.start()
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
        self.assertEqual(services - {None}, {"svc-registry"})

    def test_promtool_is_content_and_gauges_are_true(self):
        server = self.start()
        server.fill(5)
        server.propose(region("pending"))
        server.ask("GET", "/registry/nowhere")
        server.checkpoint()
        metrics = server.metrics()
        for name, value in (("registry_head_version", 5), ("registry_first_version", 0),
                            ("registry_pending_proposals", 1), ("registry_checkpoint_version", 5),
                            ("registry_commits_total", 5), ("registry_verify_failures_total", 0)):
            self.assertEqual(metrics.value(name), value, name)
        ron.wait_until("all is verified",
                       lambda: server.metrics().value("registry_verified_version") == 5)
        done = subprocess.run(["promtool", "check", "metrics"], input=metrics.text.encode(),
                              capture_output=True, check=False, timeout=ron.REPLY_S)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"", b""))


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

    def send(self, server, method, path, body=b""):
        """A request whose answer is read later."""
        connection = server.connect()
        self.addCleanup(connection.close)
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.send(ron.request(method, path, [server.auth], body))
        return connection

    def propose_later(self, server, name):
        return self.send(server, "POST", "/registry/proposals", {"change": region(name)})


class Errors(Blocking):
    def test_busy(self):
        """A full queue refuses at once, by numbers."""
        server = self.begin(channels__proposals=2, channels__approvals=2)
        waiting = server.propose(region("approve"))
        with self.slow(server, 1500):
            first = self.propose_later(server, "first")
            time.sleep(0.3 * ron.SLOW)  # it is being written
            more = [self.propose_later(server, f"more{number}") for number in range(6)]
            signers = [registry.Signer() for _ in range(2)] + server.signers
            approvals = [self.send(server, "POST", "/registry/approvals/" + waiting["proposal"],
                                   signer.approval(waiting["sign"])) for signer in signers[2:]]
            answers = [each.read_response() for each in more]
            approved = [each.read_response() for each in approvals]
            self.assertEqual(first.read_response().status, 202)
        refused = [each for each in answers if each.status == 429]
        self.assertEqual(len(refused), 4)
        self.assertEqual({each.status for each in answers}, {202, 429})
        for each in refused:
            self.refused(each, 429, "Busy")
            self.assertTrue(each.get("Retry-After"))
        server.wait_metric("busy_rejections_total", 4, endpoint=PROPOSE)
        server.wait_metric("queue_dropped_total", 4, queue="proposals")
        self.assertEqual(sorted(each.status for each in approved), [200, 200, 429])
        server.wait_metric("busy_rejections_total", 1, endpoint="POST /registry/approvals/{id}")
        server.wait_metric("queue_dropped_total", 1, queue="approvals")
        pending = server.get("/registry/proposals")["proposals"]
        self.assertEqual(len(pending), 2 + 2)  # those that were acknowledged, and no more

    def test_timeout(self):
        """The caller's deadline counts, also while its turn has not come."""
        server = self.begin(server__request_deadline="1s")
        ready = server.ready(region("x"))
        with self.slow(server, 3000):
            first = self.propose_later(server, "first")
            time.sleep(0.3 * ron.SLOW)
            began = time.monotonic()
            late = [first, self.propose_later(server, "late"),
                    self.send(server, "POST", "/registry/commit/" + ready["proposal"])]
            for each in late:
                self.refused(each.read_response(), 504, "Timeout")
            self.assertLess(time.monotonic() - began, 2.5 * ron.SLOW)
            server.wait_metric("io_timeouts_total", 3, op="commit")
        ron.wait_until("it goes on", lambda: server.commit(ready).status in (200, 201))
        server.check_log()

    def test_slow_disk(self):
        """Writes are unready first; reads go on."""
        server = self.begin(storage__slow_after="200ms")
        self.assertTrue(server.readyz().json()["write_ready"])
        head = server.head()
        with self.slow(server, 2500):
            first = self.propose_later(server, "first")
            state = ron.wait_until("writes are unready", lambda: self.unready(server))
            self.assertEqual(state["missing"], ["the disk is slow"])
            self.assertTrue(state["ready"], state)
            self.assertEqual(server.head(), head)
            self.assertEqual(server.ask("GET", "/registry/log").status, 200)
            self.assertEqual(first.read_response().status, 202)
        ron.wait_until("writes are ready again",
                       lambda: server.readyz().json()["write_ready"])
        server.agree(region("after"))

    def unready(self, server):
        state = server.readyz().json()
        return None if state["write_ready"] else state

    def test_failing_disk(self):
        """StorageBusy, repaired with backoff, writes unready meanwhile, reads go on."""
        server = self.begin()
        ready = server.ready(region("x"))
        with Tracer(server, "-e", "trace=fdatasync,fsync", "-e",
                    "inject=fdatasync,fsync:error=EIO"):
            response = server.commit(ready)
            self.refused(response, 503, "StorageBusy")
            self.assertTrue(response.get("Retry-After"))
            state = ron.wait_until("writes are unready", lambda: self.unready(server))
            self.assertEqual(state["missing"], ["the log is being repaired"])
            self.assertEqual(server.head()["version"], 0)
            self.refused(server.commit(ready), 503, "StorageBusy")
            ron.wait_until("it backs off",
                           lambda: server.metrics().value("storage_backoff_total") >= 2)
        ron.wait_until("writes are ready again",
                       lambda: server.readyz().json()["write_ready"])
        self.assertEqual(server.commit(ready).json()["version"], 1)
        server = self.restart(server)
        self.assertEqual(server.head()["version"], 1)
        server.check_log()

    def test_chain_mismatch(self):
        server = self.start()
        head = server.head()
        rivals = [server.ready(region(name), if_head=head) for name in "ab"]
        self.assertEqual(server.commit(rivals[0]).status, 201)
        self.refused(self.moves(server, "commit_cas_fail_total", 1,
                                lambda: server.commit(rivals[1])), 409, "ChainMismatch")

    def test_canceled(self):
        """What a stop does not wait for any longer is given up and said so."""
        server = self.begin(drain_deadline="500ms")
        with self.slow(server, 4000):
            self.propose_later(server, "stuck")
            time.sleep(0.3 * ron.SLOW)
            began = time.monotonic()
            server.signal(signal.SIGTERM)
            self.assertEqual(server.wait_exit(), 1)  # what the disk did not end is left behind
            self.assertLess(time.monotonic() - began, 6 * ron.SLOW)
        server.wait_log("blocking jobs do not end: the process ends without them")
        stopped, = [line for line in server.logs() if line["msg"] == "stopped"]
        self.assertGreaterEqual(stopped["aborted_tasks"], 1)
        server = self.start()
        server.check_log()
        self.assertIn(len(server.get("/registry/proposals")["proposals"]), (0, 1))


class Keys(Case):
    def test_names_of_the_specification(self):
        """Section 12 and the contract have both: one key, whichever name it is given."""
        for name in ("limits.rps=100", "limits.inflight=10", "limits.max_body_bytes=2KiB",
                     "limits.decompress_ratio_cap=5", "read_timeout=1s", "write_timeout=1s",
                     "idle_timeout=1s", "drain_deadline=1s", "storage.checkpoint_interval=1m",
                     "bus.channel_bound=16", "channels.proposals=4", "channels.approvals=4",
                     "channels.committed=4", "channels.cfg_reload=4", "channels.retention=4",
                     "retention.keep_versions=5", "verify.slice=1ms", "sse.max_streams=3",
                     "storage.segment_bytes=1MiB", "otel.enabled=false"):
            with self.subTest(name):
                code, _, error = ron.run_ron("config", "check", "--set", "registry." + name)
                self.assertEqual(code, 0, error)

    def test_limits_by_the_names_of_the_specification(self):
        server = self.start({"limits.max_body_bytes": "2KiB"})
        body = {"change": region("x"), "reason": "x" * 3000}
        self.refused(server.ask("POST", "/registry/proposals", body), 413, "BodyCap")
        self.assertEqual(server.stop(), 0)
        text = ('[registry]\nbind = "127.0.0.1:0"\nadmin = "127.0.0.1:0"\n'
                "[registry.limits]\nrps = 5\n")
        with registry.Server(self.data, config=text) as server:
            statuses = [server.ask("GET", "/registry/head").status for _ in range(40)]
            self.assertIn(429, statuses)


class Collector:
    """Takes spans as an OTLP collector does, and keeps them."""

    def __init__(self):
        self.spans, self.paths = [], set()
        collector = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                collector.paths.add((self.path, self.headers["Content-Type"]))
                for resource in body["resourceSpans"]:
                    for scope in resource["scopeSpans"]:
                        collector.spans += scope["spans"]
                self.send_response(200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d/v1/traces" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Reload(Case):
    def text(self, **keys):
        base = {"registry.bind": '"127.0.0.1:0"', "registry.admin": '"127.0.0.1:0"',
                "registry.server.max_rps": 1000000,
                **{key.replace("__", "."): value for key, value in keys.items()}}
        return "".join(f"{key} = {value}\n" for key, value in base.items())

    def test_good_and_bad_files(self):
        server = self.start(config=self.text())
        self.moves(server, "registry_reload_success_total", 1, lambda: server.reload(
            self.text(registry__sse__max_streams=1, registry__proposals__ttl='"1m"')))
        with server.stream() as kept:
            ron.wait_until("one stream is the most", lambda: self.is_refused(server))
            for reason, text in (("parse", "registry = ["), ("invalid", self.text(
                    registry__proposals__ttl='"forever"')), ("restart_required", self.text(
                        registry__storage__segment_bytes='"1MiB"'))):
                with self.subTest(reason):
                    self.moves(server, "registry_reload_fail_total", 1,
                               lambda text=text: server.reload(
                                   text, "reload refused, the old configuration stays"),
                               reason=reason)
                    self.assertTrue(self.is_refused(server))
            server.agree(region("x"))
            self.assertEqual(kept.event()[0], 1)
        proposal = server.propose(region("y"))
        left = time.mktime(time.strptime(proposal["expires_at"], "%Y-%m-%dT%H:%M:%SZ"))
        self.assertLessEqual(left - time.mktime(time.gmtime()), 61)

    def is_refused(self, server):
        with server.stream() as stream:
            return stream.status == 429

    def test_spans_are_exported_while_that_is_on(self):
        collector = Collector()
        self.addCleanup(collector.close)
        server = self.start(config=self.text())
        server.fill(2)
        self.assertEqual(collector.spans, [])
        on = {"registry__otel__enabled": "true", "registry__otel__endpoint": f'"{collector.url}"'}
        server.reload(self.text(**on))
        response = server.ask("GET", "/registry/head")
        ron.wait_until("a span", lambda: collector.spans or server.head() and None)
        self.assertEqual(collector.paths, {("/v1/traces", "application/json")})
        span = collector.spans[0]
        self.assertRegex(span["traceId"], "^[0-9a-f]{32}$")
        self.assertRegex(span["spanId"], "^[0-9a-f]{16}$")
        self.assertGreaterEqual(int(span["endTimeUnixNano"]), int(span["startTimeUnixNano"]))
        self.assertTrue(response.get("X-Corr-ID"))
        ron.wait_until("they are counted", lambda: server.metrics().value(
            "otel_spans_exported_total") >= 1)
        server.reload(self.text())
        time.sleep(1.5)  # what was under way
        before = len(collector.spans)
        server.fill(2)
        time.sleep(1.5)
        self.assertEqual(len(collector.spans), before)

    def test_a_collector_that_is_gone_slows_nobody(self):
        collector = Collector()
        collector.close()
        on = {"registry__otel__enabled": "true", "registry__otel__endpoint": f'"{collector.url}"'}
        server = self.start(config=self.text(**on))
        began = time.monotonic()
        server.fill(20)
        self.assertLess(time.monotonic() - began, 10 * ron.SLOW)
        ron.wait_until("failures are counted", lambda: server.metrics().value(
            "otel_export_failures_total") >= 1)


if __name__ == "__main__":
    unittest.main()
