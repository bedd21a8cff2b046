"""What operators ask of svc-index: pins, reindexing and whom it asks; each is done once however
often it is sent, and audited. And who has changed which name, in the log."""

import json
import time
import unittest

import index
import ron
from index import Case, address_of, record


class Operators(Case):
    def act(self, server, what, key, once=None, **more):
        headers = [("Idempotency-Key", once)] if once else []
        return server.ask_admin("POST", "/admin/" + what, {"key": key}, headers, **more)

    def lines(self, server, message, key):
        return [line for line in server.logs() if line["msg"] == message and line.get("key") == key]

    def test_who_may(self):
        server = self.start()
        server.set_name("docs", address_of(1))
        wrong = (server.scoped("index:write", "storage:admin", "gateway:admin"),)
        for what in ("pin", "unpin", "reindex"):
            self.refused(self.act(server, what, "docs", auth=()), 401, "Unauthorized")
            self.refused(self.act(server, what, "docs", auth=wrong), 403, "Forbidden")
            right = (server.scoped("index:admin"),)
            self.assertEqual(self.act(server, what, "docs", auth=right).status, 200, what)
            # Not where clients are.
            self.assertEqual(server.ask("POST", "/admin/" + what, {"key": "docs"}).status, 404)
        self.refused(server.ask_admin("GET", "/admin/targets", auth=()), 401, "Unauthorized")
        self.refused(server.ask_admin("GET", "/admin/targets", auth=wrong), 403, "Forbidden")

    def test_malformed(self):
        server = self.start()
        for what in ("pin", "unpin", "reindex"):
            for key in ("", "Docs", "b3:12", "docs//x", "x" * 1100):
                self.assertEqual(self.act(server, what, key).status, 400, (what, key[:20]))
            for body in ({}, {"key": 1}, {"key": "docs", "more": 1}, []):
                response = server.ask_admin("POST", "/admin/" + what, body)
                self.refused(response, 400, "Malformed")
            self.refused(self.act(server, what, "docs", once="x" * 129), 400, "Malformed")

    def test_pins(self):
        """A pinned key is in the cache before anyone asks, also after a restart."""
        server = self.start({"cache.positive_ttl": "2s", "cache.negative_ttl": "2s"})
        server.set_name("docs", address_of(1))
        for changed in (True, False):
            answer = self.act(server, "pin", "docs")
            self.assertEqual((answer.status, answer.json()),
                             (200, {"key": "docs", "pinned": True, "changed": changed}))
        self.assertEqual(len(ron.wait_until("it is audited",
                                            lambda: self.lines(server, "pinned", "docs"))), 1)
        server = self.restart(server)
        server.wait_metric("index_cache_entries", 1)
        self.assertEqual(server.resolved("docs")["source"], "cache")
        for changed in (True, False):
            answer = self.act(server, "unpin", "docs")
            self.assertEqual(answer.json(), {"key": "docs", "pinned": False, "changed": changed})
        ron.wait_until("it is audited", lambda: self.lines(server, "unpinned", "docs"))
        server = self.restart(server)
        self.assertEqual(server.resolved("docs")["source"], "store")

    def test_idempotency_keys(self):
        server = self.start()
        first = self.act(server, "pin", "docs", once="one")
        self.assertEqual((first.json()["changed"], first.get("Idempotency-Replayed")), (True, None))
        again = self.act(server, "pin", "docs", once="one")
        self.assertEqual((again.status, again.json(), again.get("Idempotency-Replayed")),
                         (200, first.json(), "true"))
        # Whatever happened since: what was sent again is not done again.
        self.act(server, "unpin", "docs")
        self.assertEqual(self.act(server, "pin", "docs", once="one").json(), first.json())
        self.assertTrue(self.act(server, "pin", "docs").json()["changed"])
        for what, key in (("unpin", "docs"), ("pin", "docs/other")):
            self.refused(self.act(server, what, key, once="one"), 400, "Malformed")
        # A refusal is not remembered.
        self.assertEqual(self.act(server, "reindex", "none", once="two").status, 404)
        server.set_name("none", address_of(1))
        self.assertEqual(self.act(server, "reindex", "none", once="two").status, 200)

    def test_reindex(self):
        """Reads a tree anew that was not there when it was named."""
        server = self.start(command="up")
        manifest = json.dumps({"entries": [{"dir": True, "path": "a"}], "ron": "manifest/1"},
                              separators=(",", ":")).encode()
        tree = ron.b3(manifest)
        self.assertEqual(server.put_name("docs", tree, type=index.MANIFEST).status, 201)
        self.assertIsNone(server.resolved("docs")["manifest"])
        self.assertEqual(server.ask("POST", "/o", manifest).status, 201)
        for changed in (True, False):
            answer = self.act(server, "reindex", "docs")
            self.assertEqual((answer.status, answer.json()), (200, {
                "key": "docs", "address": tree, "manifest": {"entries": 1, "length": 0},
                "changed": changed}))
        self.assertEqual(server.resolved("docs")["manifest"], {"entries": 1, "length": 0})
        self.assertEqual(self.act(server, "reindex", tree).json()["key"], tree)
        ron.wait_until("it is audited", lambda: self.lines(server, "reindexed", "docs"))
        self.refused(self.act(server, "reindex", "none"), 404, "NotFound")

    def test_targets(self):
        static, proxy = index.storage_target(), index.proxy_target(0, {})
        self.addCleanup(static.close)
        self.addCleanup(proxy.close)
        server = self.start({"discovery.static": index.one_of([static.url]),
                             "dht.proxies": index.one_of([proxy.url]),
                             "peers": '["http://127.0.0.1:1"]'})
        answer = server.ask_admin("GET", "/admin/targets")
        self.assertEqual(answer.json(), {"targets": [
            {"url": proxy.url, "kind": "dht", "breaker": "closed"},
            {"url": "http://127.0.0.1:1", "kind": "peer", "breaker": "closed"},
            {"url": static.url, "kind": "static", "breaker": "closed"}]})
        alone = self.start_other()
        self.assertEqual(alone.ask_admin("GET", "/admin/targets").json(), {"targets": []})

    def start_other(self):
        server = index.Server()
        self.addCleanup(server.close)
        return server

    def test_changes_of_names_are_audited(self):
        server = self.start()
        corr_id = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
        headers = [("X-Corr-ID", corr_id)]
        server.ask("PUT", "/names/docs", {"target": address_of(1)}, headers)
        line, = ron.wait_until("it is audited", lambda: self.lines(server, "name set", "docs"))
        self.assertEqual((line["version"], line["corr_id"]), (1, corr_id))
        self.assertRegex(line["token"], r"^[0-9a-f]{8}$")
        self.assertNotIn(server.token, server.log_text())
        server.remove("docs")
        ron.wait_until("it is audited", lambda: self.lines(server, "name removed", "docs"))
        blue = (server.may("scope = index:write", "tenant = blue"),)
        server.put_name("docs", address_of(1), auth=blue)
        server.put_name("docs", address_of(1), expected_version=9)
        ron.wait_until("refusals are, too", lambda: {line["code"] for line in self.lines(
            server, "index refused", "docs")} == {"Forbidden", "VersionSkew"})
        address = address_of(2)
        server.announce(address, record(index.new_node(), address), (server.auth,))
        ron.wait_until("announcements are, too",
                       lambda: self.lines(server, "provider announced", address))


class Announced(Case):
    """`ron up`: what is stored is announced to the index of the same process."""

    def test_stored_and_removed(self):
        server = self.start(command="up")
        address = server.ask("POST", "/o", b"announced").json()["address"]
        ron.wait_until("it is announced", lambda: server.providers(address).status == 200)
        provider, = server.providers(address).json()
        host, port = server.address
        self.assertEqual((provider["url"], provider["source"]), (f"http://{host}:{port}", "store"))
        self.assertEqual(server.resolved(address)["providers"][0]["node"], provider["node"])
        server.set_name("docs", address)
        self.assertEqual(len(server.resolved("docs")["providers"]), 1)
        self.assertEqual(server.ask("DELETE", "/o/" + address).status, 204)
        ron.wait_until("it is withdrawn", lambda: server.providers(address).status == 404)

    def test_not_with_amnesia(self):
        server = index.Server(command="up")
        self.addCleanup(server.close)
        address = server.ask("POST", "/o", b"forgotten").json()["address"]
        time.sleep(2)
        self.refused(server.providers(address), 404, "NotFound")


if __name__ == "__main__":
    unittest.main()
