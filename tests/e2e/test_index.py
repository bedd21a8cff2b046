"""Resolving: names and addresses, from the cache and from what is kept; what was acknowledged is
seen by everyone at once. Then the process: alone and behind the gateway, over restarts, with
amnesia, reloaded and drained."""

import json
import pathlib
import signal
import threading
import time
import unittest

import index
import ron
import traced
from index import Case, address_of, record


class Fresh(Case):
    """An index in memory for each test."""

    sets = {}

    def setUp(self):
        super().setUp()
        self.server = index.Server(sets=self.sets)
        self.addCleanup(self.server.close)

    def wait_cached(self, key, server=None):
        """The janitor takes answers in a moment after they were given."""
        def cached():
            found = (server or self.server).resolved(key)
            return found if found["source"] == "cache" else None

        return ron.wait_until("it is in the cache", cached)


class Resolve(Fresh):
    def test_name(self):
        self.server.set_name("docs/v1", address_of(1))
        first = self.server.resolved("docs/v1")
        self.assertEqual(first, {"key": "docs/v1", "address": address_of(1), "version": 1,
                                 "manifest": None, "providers": [], "source": "store",
                                 "hedged": False})
        self.assertEqual(self.wait_cached("docs/v1"), {**first, "source": "cache"})

    def test_address(self):
        address, node = address_of(1), index.new_node()
        self.refused(self.server.resolve(address), 404, "NotFound")
        self.server.announce(address, record(node, address, "http://node:1"), (self.server.auth,))
        first = self.server.resolved(address)
        self.assertEqual((first["key"], first["address"], first["source"]),
                         (address, address, "store"))
        self.assertNotIn("version", first)
        self.assertEqual([each["url"] for each in first["providers"]], ["http://node:1"])
        self.wait_cached(address)

    def test_address_in_any_case_is_one(self):
        address, node = address_of(1), index.new_node()
        self.server.announce(address, record(node, address), (self.server.auth,))
        self.wait_cached(address)
        for other in ("b3:" + address[3:].upper(), "b3:" + address[3:40].upper() + address[40:]):
            found = self.server.resolved(other)
            self.assertEqual((found["key"], found["source"]), (address, "cache"), other)

    def test_malformed(self):
        for key, code in (("b3:12", "BadAddress"), ("b3:" + "g" * 64, "BadAddress"),
                          (address_of(1) + "0", "BadAddress"), ("Docs", "Malformed"),
                          ("docs//x", "Malformed"), ("docs/@0", "Malformed"), ("", None)):
            with self.subTest(key):
                response = self.server.resolve(key)
                if code is None:
                    self.assertIn(response.status, (400, 404))
                else:
                    self.refused(response, 400, code)
        self.server.set_name("docs", address_of(1))
        for query in ("?fresh=x", "?fresh=1&fresh=1", "?fresh="):
            self.refused(self.server.resolve("docs", query), 400, "Malformed")
        for query in ("?fresh=0", "?other=1"):
            self.assertEqual(self.server.resolve("docs", query).status, 200, query)

    def test_tags(self):
        self.server.set_name("docs", address_of(1))
        first = self.server.resolve("docs")
        tag = first.get("ETag")
        self.assertRegex(tag, r'^W/"[^"]+"$')  # where it comes from differs, what it says does not
        self.wait_cached("docs")
        cached = self.server.resolve("docs")
        self.assertEqual((cached.get("ETag"), cached.get("Cache-Control")), (tag, "no-cache"))
        for condition in (tag, tag.removeprefix("W/"), "*", f'"x", {tag}'):
            for query in ("", "?fresh=1"):
                again = self.server.resolve("docs", query, headers=[("If-None-Match", condition)])
                self.assertEqual((again.status, again.body, again.get("ETag")), (304, b"", tag))
        self.server.set_name("docs", address_of(2))
        after = self.server.resolve("docs", headers=[("If-None-Match", tag)])
        self.assertEqual((after.status, after.json()["address"]), (200, address_of(2)))
        self.assertNotEqual(after.get("ETag"), tag)
        tag = after.get("ETag")
        self.server.announce(address_of(2), record(index.new_node(), address_of(2)),
                             (self.server.auth,))
        self.assertEqual(self.server.resolve("docs", headers=[("If-None-Match", tag)]).status, 200)

    def test_head(self):
        self.server.set_name("docs", address_of(1))
        whole, head = self.server.resolve("docs"), self.server.ask("HEAD", "/resolve/docs", auth=())
        self.assertEqual((head.status, head.get("ETag")), (200, whole.get("ETag")))

    def test_fresh(self):
        self.server.set_name("docs", address_of(1))
        self.wait_cached("docs")
        hits = self.server.metrics().value("index_cache_hits_total")
        for _ in range(3):
            self.assertEqual(self.server.resolved("docs", "?fresh=1")["source"], "store")
        self.assertEqual(self.server.metrics().value("index_cache_hits_total"), hits)
        self.assertEqual(self.server.resolved("docs")["source"], "cache")

    def test_absent_is_remembered_until_it_is_not(self):
        """A negative answer costs no resolver again, and yields to a set at once."""
        for name in ("docs", "docs/ü@3"):
            self.refused(self.server.resolve(name), 404, "NotFound")
            ron.wait_until("the cache has it", lambda name=name: self.is_hit(name, 404))
        self.server.set_name("docs", address_of(1))
        self.assertEqual(self.server.resolved("docs")["address"], address_of(1))
        self.server.remove("docs")
        self.refused(self.server.resolve("docs"), 404, "NotFound")
        for number in range(1, 4):
            self.server.set_name("docs/ü", address_of(number))
            status = self.server.resolve("docs/ü@3").status
            self.assertEqual(status, 200 if number == 3 else 404)
        unknown = address_of("unknown")
        self.refused(self.server.resolve(unknown), 404, "NotFound")
        ron.wait_until("the cache has it", lambda: self.is_hit(unknown, 404))
        self.server.announce(unknown, record(index.new_node(), unknown), (self.server.auth,))
        self.assertEqual(len(self.server.resolved(unknown)["providers"]), 1)

    def is_hit(self, key, status):
        before = self.server.metrics().value("index_cache_hits_total")
        self.assertEqual(self.server.resolve(key).status, status)
        return self.server.metrics().value("index_cache_hits_total") == before + 1

    def test_versions_stay(self):
        for number in range(1, 4):
            self.server.set_name("docs", address_of(number))
            self.assertEqual(self.server.resolved("docs@1")["address"], address_of(1))
            self.assertEqual(self.server.resolved("docs")["version"], number)


class CacheLimits(Case):
    def test_entries_are_bounded(self):
        server = self.start({"cache.entries": 16})
        for number in range(200):
            server.set_name(f"docs/{number}", address_of(number))
            server.resolved(f"docs/{number}")
        time.sleep(0.3)
        self.assertLessEqual(server.metrics().value("index_cache_entries"), 16)
        for number in range(0, 200, 17):
            self.assertEqual(server.resolved(f"docs/{number}")["address"], address_of(number))

    def test_answers_grow_old(self):
        server = self.start({"cache.positive_ttl": "1s", "cache.negative_ttl": "1s"})
        server.set_name("docs", address_of(1))
        server.resolved("docs")
        server.resolve("none")
        ron.wait_until("both are in the cache",
                       lambda: server.metrics().value("index_cache_entries") == 2)
        ron.wait_until("both are let go",
                       lambda: server.metrics().value("index_cache_entries") == 0)
        self.assertEqual(server.metrics().value("index_cache_expired_total"), 2)
        self.assertEqual(server.resolved("docs")["source"], "store")

    def test_nothing_is_remembered_without_time(self):
        server = self.start({"cache.positive_ttl": "0s", "cache.negative_ttl": "0s"})
        server.set_name("docs", address_of(1))
        for _ in range(20):
            self.assertEqual(server.resolved("docs")["source"], "store")
            self.assertEqual(server.resolve("none").status, 404)
        self.assertEqual(server.metrics().value("index_cache_hits_total"), 0)

    def test_warmup(self):
        server = self.start()
        server.set_name("docs", address_of(1))
        server = self.restart(server, sets={"cache.warmup_keys": '["docs", "none/x"]'})
        server.wait_metric("index_cache_entries", 2)
        self.assertEqual(server.resolved("docs")["source"], "cache")


class ReadYourWrites(Case):
    def hammer(self, server, seconds):
        """Two writers and six readers over few names: whoever asks after an acknowledged change
        sees it or a later one, whatever the connection."""
        names = [f"docs/{number}" for number in range(4)]
        acked = {name: server.set_name(name, address_of((name, 1))) for name in names}
        # No two writers of one name, so that the highest version is the last acknowledged.
        counts = {"reads": 0, "writes": 0}

        def write(worker, connection):
            for name in names[worker::2]:
                version = acked[name] + 1
                if version % 7 == 0:
                    response = server.remove(name, connection=connection)
                else:
                    response = server.put_name(name, address_of((name, version)),
                                               connection=connection)
                self.assertIn(response.status, (200, 201), response.body)
                self.assertEqual(response.json()["version"], version)
                acked[name] = version
                counts["writes"] += 1

        def read(worker, connection):
            for name in names:
                before = acked[name]
                response = server.resolve(name, "?fresh=1" if worker == 7 else "",
                                          connection=connection)
                after = acked[name] + 1  # one may be on its way
                if response.status == 404:
                    gone = [version for version in range(before, after + 1) if version % 7 == 0]
                    self.assertTrue(gone, f"{name} is not found at {before}..{after}")
                else:
                    found = response.json()
                    self.assertTrue(before <= found["version"] <= after,
                                    f"{name}: {found['version']} is not in {before}..{after}")
                    self.assertEqual(found["address"], address_of((name, found["version"])))
                counts["reads"] += 1

        local = threading.local()

        def work(worker):
            if not hasattr(local, "connection"):
                local.connection = server.connect()
            (write if worker < 2 else read)(worker, local.connection)

        self.assertEqual(ron.Load(8, work).finish_after(seconds), [])
        self.assertGreater(counts["writes"], 50)
        self.assertGreater(counts["reads"], 500)

    def test_alone(self):
        self.hammer(self.start(), 6)

    def test_in_memory(self):
        server = index.Server()
        self.addCleanup(server.close)
        self.hammer(server, 4)

    def test_behind_the_gateway(self):
        self.hammer(self.start(command="up"), 6)

    def test_a_resolve_under_way_is_not_joined_by_those_who_know_better(self):
        """The first resolve has read the name and asks others; what is set meanwhile is seen by
        whoever asks then."""
        slow = index.storage_target()
        self.addCleanup(slow.close)
        slow.held.clear()
        server = self.start({"discovery.static": index.one_of([slow.url]), "dht.deadline_ms": 2000})
        server.set_name("docs", address_of(1))
        early = server.connect()
        self.addCleanup(early.close)
        early.send(ron.request("GET", "/resolve/docs"))
        ron.wait_until("the server is asked", lambda: slow.seen)
        server.set_name("docs", address_of(2))
        late = server.connect()
        self.addCleanup(late.close)
        late.send(ron.request("GET", "/resolve/docs"))
        time.sleep(0.2)
        slow.held.set()
        self.assertIn(early.read_response().json()["version"], (1, 2))
        self.assertEqual(late.read_response().json()["version"], 2)


class Process(Case):
    def fill(self, server):
        """Some of everything, and what the answers to it are."""
        node = index.new_node()
        for number in range(30):
            server.set_name(f"docs/{number % 10}", address_of(number), meta={"n": str(number)})
        server.remove("docs/3")
        address = address_of("kept")
        body = record(node, address, "http://kept:1", "eu", seq=7)
        self.assertEqual(server.announce(address, body, (server.auth,)).status, 200)
        return node, address, body

    def look(self, server):
        return (server.listed("limit=1000"), [server.name(f"docs/{number}", "?history=1").json()
                                              for number in range(10)],
                server.providers(address_of("kept"), "?local=1", [index.ACCEPT_CBOR]).body)

    def test_restart_keeps_everything(self):
        server = self.start()
        node, address, body = self.fill(server)
        before = self.look(server)
        server = self.restart(server)
        self.assertEqual(self.look(server), before)
        # Also whose record was the newest.
        self.refused(server.announce(address, record(node, address, seq=6), (server.auth,)), 409,
                     "VersionSkew")
        server.signal(signal.SIGKILL)
        server.wait_exit()
        server = self.start()
        self.assertEqual(self.look(server), before)
        self.assertEqual(server.set_name("docs/3", address_of("again")), 5)

    def test_the_same_directory_alone_and_under_up(self):
        server = self.start(command="up")
        self.fill(server)
        before = self.look(server)
        self.assertEqual({path.name for path in pathlib.Path(self.data).iterdir()},
                         {"edge", "index", "keys", "registry", "storage"})
        server = self.restart(server)
        self.assertEqual(self.look(server), before)
        server.set_name("docs/alone", address_of(1))
        server = self.restart(server, command="up")
        self.assertEqual(server.name("docs/alone").json()["target"], address_of(1))

    def test_a_second_process_is_refused(self):
        self.start()
        code, _, error = ron.run_ron("index", "--data", self.data, "--bind", "127.0.0.1:0",
                                     "--admin", "127.0.0.1:0")
        self.assertEqual(code, 1)
        self.assertEqual(len(error.strip().splitlines()), 1, error)

    def test_without_index_its_routes_are_not_there(self):
        server = self.start(command="up", flags=["--only", "storage"])
        for path in ("/names", "/names/docs", "/resolve/docs", "/providers/" + address_of(1)):
            response = server.ask("GET", path)
            self.refused(response, 404, "NotFound")
            self.assertIn("index", response.json()["error"]["message"])

    def test_what_is_stored_here_is_found_here(self):
        """A tree stored through the same process: its manifest is counted, and its name leads to
        it."""
        server = self.start(command="up")
        stored = server.ask("POST", "/o", b"hello")
        self.assertEqual(stored.status, 201)
        entry = {"address": stored.json()["address"], "length": 5, "path": "a.txt",
                 "type": "text/plain"}
        manifest = json.dumps({"entries": [entry], "ron": "manifest/1"}, sort_keys=True,
                              separators=(",", ":")).encode()
        tree = server.ask("POST", "/o", manifest).json()["address"]
        self.assertEqual(server.put_name("docs", tree, type=index.MANIFEST).status, 201)
        found = server.resolved("docs")
        self.assertEqual((found["address"], found["manifest"]), (tree, {"entries": 1, "length": 5}))
        # What says that it is a tree and is none is refused.
        self.refused(server.put_name("bad", stored.json()["address"], type=index.MANIFEST), 400,
                     "Malformed")
        self.refused(server.name("bad"), 404, "NotFound")

    def test_over_a_unix_socket_and_tls(self):
        home = pathlib.Path(self.data) / "private"
        home.mkdir(mode=0o700)
        server = index.Server(uds=home / "index.sock", tls=ron.Certificate(home))
        self.addCleanup(server.close)
        self.assertEqual(server.set_name("docs", address_of(1)), 1)
        with server.connect_unix() as connection:
            found = connection.ask("GET", "/resolve/docs").json()
            self.assertEqual(found["address"], address_of(1))

    def test_private_reads(self):
        server = index.Server(sets={"auth.public_reads": "false"})
        self.addCleanup(server.close)
        server.set_name("docs", address_of(1))
        for path in ("/names", "/names/docs", "/resolve/docs", "/providers/" + address_of(1)):
            self.refused(server.ask("GET", path, auth=()), 401, "Unauthorized")
        self.assertEqual(server.ask("GET", "/resolve/docs").status, 200)
        self.assertEqual(server.ask("GET", "/version", auth=()).status, 200)


class Amnesia(traced.Case):
    def test_only_the_token_is_written(self):
        with index.Server(binary=str(self.binary),
                          env={"TMPDIR": str(self.trace.parent)}) as server:
            for number in range(50):
                server.set_name(f"docs/{number}", address_of(number))
                server.resolved(f"docs/{number}")
            address = address_of(0)
            server.announce(address, record(index.new_node(), address), (server.auth,))
            server.remove("docs/3")
            self.only_the_token(server)


class Purge(Case):
    def test_what_others_said_is_forgotten_and_names_are_kept(self):
        server = index.Server(sets={"index.amnesia.purge_interval_ms": 1000})
        self.addCleanup(server.close)
        address = address_of(1)
        server.set_name("docs", address)
        server.announce(address, record(index.new_node(), address), (server.auth,))
        self.assertEqual(len(server.resolved("docs")["providers"]), 1)
        ron.wait_until("it is forgotten", lambda: not server.resolved("docs")["providers"])
        self.assertGreaterEqual(server.metrics().value("index_amnesia_purges_total"), 1)
        self.assertEqual(server.name("docs").json()["target"], address)

    def test_not_on_disk(self):
        server = self.start({"amnesia.purge_interval_ms": 100})
        address = address_of(1)
        server.announce(address, record(index.new_node(), address), (server.auth,))
        time.sleep(2.5)
        self.assertEqual(server.providers(address).status, 200)
        self.assertEqual(server.metrics().value("index_amnesia_purges_total"), 0)


class Reload(Case):
    def text(self, **keys):
        base = {"index.bind": '"127.0.0.1:0"', "index.admin": '"127.0.0.1:0"',
                "index.server.max_rps": 1000000,
                **{key.replace("__", "."): value for key, value in keys.items()}}
        return "".join(f"{key} = {value}\n" for key, value in base.items())

    def test_good_and_bad_files(self):
        node = index.new_node()
        server = self.start(config=self.text())
        address = address_of(1)
        self.refused(server.announce(address, record(node, address)), 401, "Unauthorized")
        limited = dict(index__quotas__names_per_tenant=2, index__cache__negative_ttl='"0s"',
                       index__discovery__nodes=f'["{node.text}"]')
        self.moves(server, "index_reload_success_total", 1,
                   lambda: server.reload(self.text(**limited)))
        self.assertEqual(server.announce(address, record(node, address)).status, 200)
        server.set_name("docs/1", address)
        server.set_name("docs/2", address)
        self.refused(server.put_name("docs/3", address), 429, "Quota")
        for reason, text in (
                ("parse", "index = ["), ("invalid", self.text(index__cache__entries=1)),
                ("invalid", self.text(index__dht__hedge_ms=2000)),
                ("invalid", self.text(index__discovery__nodes='["nonsense"]')),
                ("invalid", self.text(index__quota__names=3)),
                ("restart_required", self.text(index__workers=3)),
                ("restart_required", self.text(index__peers='["http://127.0.0.1:1"]'))):
            with self.subTest(text):
                self.moves(server, "index_reload_fail_total", 1,
                           lambda text=text: server.reload(
                               text, "reload refused, the old configuration stays"), reason=reason)
                self.refused(server.put_name("docs/3", address), 429, "Quota")
        self.moves(server, "index_reload_success_total", 1, lambda: server.reload(self.text()))
        self.assertEqual(server.put_name("docs/3", address).status, 201)

    def test_under_load_nothing_is_torn(self):
        """Ten reloads while clients resolve and set names: no answer but the right one."""
        server = self.start(config=self.text())
        server.set_name("docs", address_of(1))
        local = threading.local()

        def work(worker):
            if not hasattr(local, "connection"):
                local.connection = server.connect()
            if worker == 0:
                server.set_name("docs/w", address_of(time.time()), connection=local.connection)
            response = server.resolve("docs", connection=local.connection)
            self.assertEqual(response.json()["address"], address_of(1))

        load = ron.Load(4, work)
        for number in range(10):
            server.reload(self.text(index__cache__entries=16 << number % 3,
                                    index__dht__alpha=number + 1))
        self.assertEqual(load.finish(), [])
        self.assertEqual(server.metrics().value("index_reload_success_total"), 10)


class Drain(Case):
    def test_it_is_unready_first_and_finishes_what_it_began(self):
        slow = index.storage_target(address_of(1))
        self.addCleanup(slow.close)
        slow.held.clear()
        server = self.start({"discovery.static": index.one_of([slow.url]), "dht.deadline_ms": 5000,
                             "drain_deadline": "10s"})
        waiting = server.connect()
        self.addCleanup(waiting.close)
        waiting.send(ron.request("GET", "/resolve/" + address_of(1)))
        ron.wait_until("it asks", lambda: slow.seen)
        server.signal(signal.SIGTERM)
        with server.connect_admin() as admin:
            state = ron.wait_until("it is unready", lambda: self.unready(admin))
            self.assertEqual(state.json()["missing"], ["draining"])
            self.assertEqual(admin.ask("GET", "/healthz").status, 200)
        ron.wait_until("nobody listens", lambda: ron.refuses(server.address))
        slow.held.set()
        answer = waiting.read_response()
        self.assertEqual((answer.status, answer.json()["source"]), (200, "static"))
        self.assertEqual(server.wait_exit(), 0)

    @staticmethod
    def unready(admin):
        answer = admin.ask("GET", "/readyz")
        return answer if answer.status == 503 else None

    def test_what_takes_too_long_is_given_up(self):
        slow = index.storage_target(address_of(1))
        self.addCleanup(slow.close)
        slow.held.clear()
        server = self.start({"discovery.static": index.one_of([slow.url]), "dht.deadline_ms": 20000,
                             "drain_deadline": "500ms"})
        waiting = server.connect()
        self.addCleanup(waiting.close)
        waiting.send(ron.request("GET", "/resolve/" + address_of(1)))
        ron.wait_until("it asks", lambda: slow.seen)
        began = time.monotonic()
        self.assertEqual(server.stop(), 0)
        self.assertLess(time.monotonic() - began, 3 * ron.SLOW)
        try:
            self.refused(waiting.read_response(), 503, "Draining")
        except ron.Closed:
            pass  # or it was cut off
        ron.wait_until("whoever was asked sees it", lambda: slow.left == 1)


if __name__ == "__main__":
    unittest.main()
