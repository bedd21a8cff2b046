"""What is stored is announced: by `ron storage` to an index of its own process's machine or another,
over HTTP. New objects within a second, removed ones withdrawn, nothing lost while the index is
away, nothing at all in amnesia mode."""

import pathlib
import shutil
import tempfile
import time
import unittest

import ron

QUIET = {"server.max_rps": 1000000, "max_conns_per_ip": 1024}


def quiet(section, **more):
    return {f"{section}.{key}": value for key, value in {**QUIET, **more}.items()}


class Announce(unittest.TestCase):
    def setUp(self):
        self.data = pathlib.Path(tempfile.mkdtemp(prefix="ron-e2e-data-"))
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)

    def index(self, bind="127.0.0.1:0", **sets):
        server = ron.Process(["index", "--data", self.data / "index"], ["svc-index"],
                             sets=quiet("index", **sets), bind=bind)
        self.addCleanup(server.close)
        return server

    def storage(self, index, where=None, **sets):
        where = where or ["--data", self.data / "storage"]
        address = "http://%s:%d" % index.address
        server = ron.Process(["storage", *where], ["svc-storage"],
                             sets=quiet("storage", **{"announce.index": address, **sets}))
        self.addCleanup(server.close)
        return server

    def keep_token(self, index):
        """In a file that outlives the index."""
        path = self.data / "index.token"
        path.write_text(index.token + "\n")
        path.chmod(0o600)
        return path

    def put(self, server, text):
        address = ron.b3(text)
        with server.connect() as connection:
            answer = connection.ask("PUT", "/o/" + address, [server.auth], text)
            self.assertEqual(answer.status, 201, answer.body)
        return address

    def providers(self, index, address):
        """URLs of those who have it."""
        with index.connect() as connection:
            answer = connection.ask("GET", "/providers/" + address)
        if answer.status == 404:
            return []
        self.assertEqual(answer.status, 200, answer.body)
        return [each["url"] for each in answer.json()]

    def wait_for(self, index, address, urls, timeout=ron.REPLY_S):
        ron.wait_until(f"{address} is at {urls}",
                       lambda: self.providers(index, address) == urls, timeout)

    def url(self, server):
        return "http://%s:%d" % server.address

    def test_new_and_removed(self):
        index = self.index()
        storage = self.storage(index, **{"announce.token_path": self.keep_token(index)})
        address = self.put(storage, b"hello")
        begun = time.monotonic()
        self.wait_for(index, address, [self.url(storage)])
        self.assertLess(time.monotonic() - begun, 3)  # a second, on a machine that others use
        with storage.connect() as connection:
            answer = connection.ask("DELETE", "/o/" + address, [storage.auth])
            self.assertEqual(answer.status, 204, answer.body)
        self.wait_for(index, address, [])
        self.assertGreaterEqual(storage.metrics().value("storage_announced_total"), 1)
        storage.wait_metric("storage_withdrawn_total", 1)

    def test_a_known_node_needs_no_token(self):
        index = self.index()
        self.storage(index).stop()
        code, said, error = ron.run_ron("key", "show", str(self.data / "storage" / "keys"))
        self.assertEqual(code, 0, error)
        node = said.splitlines()[-1].removeprefix("node  public key ")
        index.close()
        index = self.index(**{"discovery.nodes": f'["{node}"]'})
        storage = self.storage(index)
        self.wait_for(index, self.put(storage, b"known"), [self.url(storage)])
        self.assertEqual((self.data / "storage" / "keys" / "node.pem").stat().st_mode & 0o777,
                         0o600)

    def test_a_stranger_is_refused_and_goes_on_storing(self):
        index = self.index()
        storage = self.storage(index)
        address = self.put(storage, b"stranger")
        ron.wait_until("it was refused", lambda: storage.metrics().value(
            "storage_announce_failures_total") > 0)
        self.assertEqual(self.providers(index, address), [])
        self.put(storage, b"another")

    def test_an_index_that_was_away_hears_everything(self):
        index = self.index()
        token = self.keep_token(index)
        storage = self.storage(index, **{"announce.token_path": token})
        before = self.put(storage, b"before")
        self.wait_for(index, before, [self.url(storage)])
        bind = "%s:%d" % index.address
        index.close()  # SIGKILL
        meanwhile = [self.put(storage, b"meanwhile %d" % number) for number in range(300)]
        index = self.index(bind=bind)
        for address in (before, meanwhile[0], meanwhile[-1]):
            self.wait_for(index, address, [self.url(storage)], timeout=60)
        storage.wait_metric("storage_announce_backlog", 0)

    def test_amnesia_announces_nothing(self):
        index = self.index()
        storage = self.storage(index, where=["--amnesia"],
                               **{"announce.token_path": self.keep_token(index)})
        address = self.put(storage, b"forgotten")
        time.sleep(1.5)
        self.assertEqual(self.providers(index, address), [])
        self.assertNotIn("announcer", [line.get("kind") for line in storage.logs()])

    def test_all_addresses_is_no_address(self):
        index = self.index()
        token = self.keep_token(index)
        server = ron.Process(["storage", "--data", self.data / "storage"], ["svc-storage"],
                             sets=quiet("storage", **{"announce.index": self.url(index),
                                                      "announce.token_path": token}),
                             bind="0.0.0.0:0")
        self.addCleanup(server.close)
        server.wait_log("nothing is announced: the process listens on every address; "
                        "storage.announce.public_url says under which one others find it")


if __name__ == "__main__":
    unittest.main()
