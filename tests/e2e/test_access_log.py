"""A correlation id leads somewhere: the access log, refusals at debug, and the audit's lines."""

import signal
import unittest

import ron
import storage

CORR = "01JXT21Q0BMT05349PHC7XQWJR"
FIELDS = {"time", "level", "service", "msg", "corr_id", "method", "route", "status", "code", "bytes",
          "end", "duration_us", "tenant", "token"}


class AccessLog(unittest.TestCase):
    def start(self, **sets):
        # One core: a line is written just after the answer left, so those of two have no order.
        self.server = storage.Server(cores=1, sets={key.replace("__", "."): value
                                                    for key, value in sets.items()})
        self.addCleanup(self.server.close)
        self.alice = self.bearer("tenant = alice")

    def bearer(self, *caveats):
        return ("Authorization", "Bearer " + ron.attenuate(self.server.token, *caveats))

    def ask(self, method, path, *headers, body=None):
        with self.server.connect() as connection:
            return connection.ask(method, path, [("X-Corr-ID", CORR), *headers], body)

    def lines(self, *messages):
        return [line for line in self.server.logs() if line["msg"] in messages]

    def test_it_is_off_by_default(self):
        self.start()
        self.assertEqual(self.ask("GET", "/o/nonsense").status, 400)
        self.assertEqual(self.ask("GET", "/healthz").status, 200)
        self.server.stop()
        self.assertEqual(self.lines("request", "request refused"), [])

    def test_each_request_has_one_line(self):
        self.start(log__access="json")
        stored = self.ask("POST", "/o", self.alice, body=b"hello")
        path = stored.get("Location")
        self.assertEqual(self.ask("GET", path).body, b"hello")
        self.assertEqual(self.ask("PUT", "/o/b3:" + "0" * 64, body=b"x").status, 401)
        self.assertEqual(self.ask("GET", "/nowhere").status, 404)
        self.server.stop()
        lines = self.lines("request", "request refused")
        lines = [line for line in lines if line["route"] not in ("/healthz", "/readyz", "/metrics")]
        self.assertEqual([(line["method"], line["route"], line["status"], line["code"])
                          for line in lines],
                         [("POST", "/o", 201, ""), ("GET", "/o/{addr}", 200, ""),
                          ("PUT", "/o/{addr}", 401, "Unauthorized"),
                          ("GET", "unmatched", 404, "NotFound")])
        for line in lines:
            self.assertEqual(set(line), FIELDS)
            self.assertEqual((line["corr_id"], line["end"]), (CORR, "sent"))
        self.assertEqual(lines[0]["tenant"], "alice")
        self.assertRegex(lines[0]["token"], "^redacted:[0-9a-f]{8}$")
        self.assertEqual((lines[1]["bytes"], lines[1]["tenant"], lines[1]["token"]), (5, "", ""))

    def test_refusals_and_changes_are_lines_at_debug(self):
        self.start(log__level="debug")
        stored = self.ask("POST", "/o", self.alice, body=b"hello")
        self.assertEqual(stored.status, 201)
        self.assertEqual(self.ask("POST", "/o", body=b"x" * (2 << 20)).status, 413)
        self.assertEqual(self.ask("POST", "/o", self.alice, ("Content-Encoding", "rot13"),
                                  body=b"x").status, 415)
        narrow = self.bearer("tenant = alice", "method = GET")
        self.assertEqual(self.ask("POST", "/o", narrow, body=b"x").status, 403)
        self.assertEqual(self.ask("DELETE", stored.get("Location"), self.alice).status, 204)
        change = self.server.wait_log("object stored", corr_id=CORR)
        self.assertEqual(change["tenant"], "alice")
        self.assertRegex(change["token"], "^redacted:[0-9a-f]{8}$")
        removed = self.server.wait_log("object removed", corr_id=CORR)
        self.assertEqual((removed["tenant"], removed["token"]), ("alice", change["token"]))
        self.server.stop()
        self.assertEqual(self.lines("request"), [])
        refused = self.lines("request refused")
        self.assertEqual([(line["status"], line["code"]) for line in refused],
                         [(413, "BodyCap"), (415, "UnsupportedMedia"), (403, "Forbidden")])
        for line in refused:
            self.assertEqual(set(line), FIELDS)
            self.assertEqual((line["corr_id"], line["level"]), (CORR, "debug"))
        self.assertEqual(refused[2]["tenant"], "alice")
        self.assertRegex(refused[2]["token"], "^redacted:[0-9a-f]{8}$")

    def test_the_text_form_and_a_reload(self):
        config = '[storage]\nbind = "127.0.0.1:0"\nadmin = "127.0.0.1:0"\n[log]\naccess = "%s"\n'
        self.server = storage.Server(config=config % "off")
        self.addCleanup(self.server.close)
        self.assertEqual(self.ask("GET", "/nowhere").status, 404)
        self.server.config_path.write_text(config % "text")
        self.server.signal(signal.SIGHUP)
        self.server.wait_log("configuration reloaded")
        self.assertEqual(self.ask("GET", "/nowhere").status, 404)
        self.server.stop()
        told = [line for line in self.server.log_text().splitlines() if "request refused" in line]
        self.assertEqual(len(told), 1)
        self.assertRegex(told[0], r"^\S+Z INFO  svc-storage request refused method=GET "
                                  r"route=unmatched status=404 code=NotFound bytes=\d+ end=sent "
                                  rf"duration_us=\d+ tenant=\S* token=\S* corr_id={CORR}$")


if __name__ == "__main__":
    unittest.main()
