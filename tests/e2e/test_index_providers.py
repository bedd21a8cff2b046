"""Who has an object: records that nodes announce, and those that others are asked for. Forged,
foreign, expired and replayed ones are never returned, whoever hands them over."""

import time
import unittest

import cbor
import index
import ron
from index import ACCEPT_CBOR, HOUR_MS, Case, address_of, now_ms, record


class Fresh(Case):
    """An index in memory that knows one node."""

    def setUp(self):
        super().setUp()
        self.node, self.stranger = index.new_node(), index.new_node()
        self.server = self.memory()

    def memory(self, **sets):
        sets = {"index." + key.replace("__", "."): value for key, value in sets.items()}
        server = index.Server(sets={"index.discovery.nodes": f'["{self.node.text}"]', **sets})
        self.addCleanup(server.close)
        return server

    def urls(self, address, query="", server=None):
        response = (server or self.server).providers(address, query)
        if response.status == 404:
            self.refused(response, 404, "NotFound")
            return []
        self.assertEqual(response.status, 200, response.body)
        return [each["url"] for each in response.json()]

    def local(self, address, server=None):
        """The records that are kept here, as they were signed."""
        response = (server or self.server).providers(address, "?local=1", [ACCEPT_CBOR])
        self.assertEqual((response.status, response.get("Content-Type")), (200, "application/cbor"))
        return cbor.decode(response.body)


class Announce(Fresh):
    def test_a_known_node_needs_no_token(self):
        address = address_of(1)
        body = record(self.node, address, "http://node:1", "eu", seq=3)
        response = self.server.announce(address, body)
        self.assertEqual((response.status, response.json()), (200, {"address": address, "seq": 3}))
        found, = self.server.providers(address).json()
        self.assertEqual({key: found[key] for key in ("url", "node", "region", "source")},
                         {"url": "http://node:1", "node": self.node.text, "region": "eu",
                          "source": "store"})
        self.assertRegex(found["seen_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        left = time.mktime(time.strptime(found["expires_at"], "%Y-%m-%dT%H:%M:%SZ"))
        self.assertAlmostEqual(left - time.mktime(time.gmtime()), 3600, delta=5)
        self.assertIsInstance(found["score"], (int, float))
        self.assertEqual(self.local(address), [body])

    def test_with_a_token_any_node(self):
        address = address_of(1)
        body = record(self.stranger, address)
        self.refused(self.server.announce(address, body), 401, "Unauthorized")
        wrong = (self.server.scoped("storage:write"),)
        self.refused(self.server.announce(address, body, wrong), 403, "Forbidden")
        self.assertEqual(self.urls(address), [])
        right = (self.server.scoped("index:write"),)
        self.assertEqual(self.server.announce(address, body, right).status, 200)
        self.assertEqual(self.urls(address), ["http://127.0.0.1:1"])

    def test_behind_the_gateway(self):
        """The gateway leaves it to the index who may announce."""
        address = address_of(1)
        server = index.Server(command="up", sets={"index.discovery.nodes": f'["{self.node.text}"]'})
        self.addCleanup(server.close)
        self.refused(server.announce(address, record(self.stranger, address)), 401, "Unauthorized")
        self.assertEqual(server.announce(address, record(self.node, address)).status, 200)
        self.assertEqual(len(self.urls(address, "", server)), 1)

    def test_forged(self):
        address = address_of(1)
        bodies = {
            "signed by another": record(self.node, address, sign=self.stranger),
            "no signature": record(self.node, address, sig=bytes(64)),
        }
        for field, value in (("url", "http://evil:1"), ("seq", 99), ("region", "us"),
                             ("expires", now_ms() + 2 * HOUR_MS), ("node", self.stranger.public)):
            bodies[field + " changed"] = self.changed(address, {field: value})
        for name, body in bodies.items():
            with self.subTest(name):
                self.refused(self.server.announce(address, body, (self.server.auth,)), 403,
                             "InvalidSig")
                self.assertIn(self.server.announce(address, body).status, (401, 403))
        self.assertEqual((self.urls(address), self.local(address)), ([], []))

    def changed(self, address, fields):
        """A record whose fields were changed after it was signed."""
        return cbor.encode({**cbor.decode(record(self.node, address)), **fields})

    def test_of_another_address(self):
        one, two = address_of(1), address_of(2)
        self.refused(self.server.announce(two, record(self.node, one)), 400, "Malformed")
        as_two = self.changed(one, {"addr": bytes.fromhex(two[3:])})
        self.refused(self.server.announce(two, as_two), 403, "InvalidSig")
        self.assertEqual((self.urls(one), self.urls(two)), ([], []))

    def test_expired_and_far_ahead(self):
        address = address_of(1)
        for expires in (0, 1, now_ms() - 1000):
            self.refused(self.server.announce(address, record(self.node, address, expires=expires)),
                         400, "Malformed")
        for expires in (now_ms() + 49 * HOUR_MS, 2 ** 63, 2 ** 64 - 1):
            with self.subTest(expires):
                body = record(self.node, address, expires=expires)
                response = self.server.announce(address, body, (self.server.auth,))
                self.assertEqual(response.status, 400, response.body)
        self.assertEqual(self.local(address), [])
        soon = self.memory(discovery__max_ttl="1m")
        self.assertEqual(soon.announce(address, record(self.node, address)).status, 400)

    def test_sequence(self):
        address = address_of(1)
        five = record(self.node, address, "http://five:1", seq=5)
        self.assertEqual(self.server.announce(address, five).status, 200)
        for auth in ((), (self.server.auth,)):
            four = record(self.node, address, seq=4)
            self.refused(self.server.announce(address, four, auth), 409, "VersionSkew")
        self.assertEqual(self.server.announce(address, five).status, 200)  # again
        self.assertEqual(self.local(address), [five])
        six = record(self.node, address, "http://six:1", seq=6)
        self.assertEqual(self.server.announce(address, six).status, 200)
        self.assertEqual((self.urls(address), self.local(address)), (["http://six:1"], [six]))
        self.refused(self.server.announce(address, five), 409, "VersionSkew")
        # Sequences are each node's and each address's own.
        self.assertEqual(self.server.announce(address, record(self.stranger, address, seq=1),
                                              (self.server.auth,)).status, 200)
        other = address_of(2)
        self.assertEqual(self.server.announce(other, record(self.node, other, seq=1)).status, 200)
        self.assertEqual(len(self.urls(address)), 2)

    def test_a_short_record_does_not_make_room_for_an_older_one(self):
        address = address_of(1)
        longer = record(self.node, address, seq=1)
        self.assertEqual(self.server.announce(address, longer).status, 200)
        short = record(self.node, address, "http://short:1", seq=2, expires=now_ms() + 1500)
        self.assertEqual(self.server.announce(address, short).status, 200)
        self.assertEqual(self.urls(address), ["http://short:1"])
        ron.wait_until("it is of no use", lambda: not self.urls(address))
        self.refused(self.server.resolve(address), 404, "NotFound")
        self.refused(self.server.announce(address, longer), 409, "VersionSkew")

    def test_malformed(self):
        address = address_of(1)
        good = cbor.decode(record(self.node, address))
        raw = cbor.encode(good)

        def signed(**fields):
            return record(self.node, address, **fields)

        bodies = {
            "nothing": b"", "no cbor": b"hello", "a list": cbor.encode([]),
            "a text": cbor.encode("x"),
            "more behind it": raw + b"\0", "cut off": raw[:-1],
            "a field too many": cbor.encode({**good, "more": 1}),
            "a field missing": cbor.encode({key: good[key] for key in good if key != "region"}),
            "no sig": cbor.encode({key: good[key] for key in good if key != "sig"}),
            "short sig": cbor.encode({**good, "sig": b"x" * 63}),
            "short node": cbor.encode({**good, "node": b"x" * 31}),
            "short addr": cbor.encode({**good, "addr": b"x" * 31}),
            "text for bytes": cbor.encode({**good, "node": "x" * 32}),
            "negative": cbor.encode({**good, "seq": -1}),
            "other order": bytes([raw[0]]) + raw[6:] + raw[1:6],
            "number in more bytes than it needs": raw.replace(b"cseq\x01", b"cseq\x18\x01"),
            "indefinite length": b"\xbf" + raw[1:] + b"\xff",
            "too large": cbor.encode({**good, "url": "http://" + "x" * 2000}),
            "file url": signed(url="file:///etc/passwd"), "no host": signed(url="http://"),
            "no scheme": signed(url="node:1"), "credentials": signed(url="http://a:b@node:1"),
            "unix": signed(url="unix:/tmp/x"), "space": signed(url="http://no de:1"),
            "control": signed(url="http://node:1/\n"), "unicode": signed(url="http://nöde:1"),
            "long url": signed(url="http://" + "x" * 506), "region": signed(region="EU"),
            "long region": signed(region="x" * 65), "region with a dot": signed(region="a.b"),
        }
        for name, body in bodies.items():
            with self.subTest(name):
                self.refused(self.server.announce(address, body, (self.server.auth,)), 400,
                             "Malformed")
        self.refused(self.server.announce("b3:12", raw), 400, "BadAddress")
        self.refused(self.server.announce(address, b"x" * (1 << 20) + b"y"), 413, "BodyCap")
        self.assertEqual(self.local(address), [])
        for fields in (dict(url="https://node/path?x#y"), dict(url="http://[::1]:80"),
                       dict(url="http://" + "x" * 505), dict(region="x" * 64),
                       dict(seq=2 ** 64 - 1)):
            response = self.server.announce(address, signed(**{"seq": 2, **fields}))
            self.assertEqual(response.status, 200, (fields, response.body))


class Read(Fresh):
    def announce(self, address, count, server=None, **more):
        server = server or self.server
        for number in range(count):
            body = record(index.new_node(), address, f"http://node{number}:1", **more)
            self.assertEqual(server.announce(address, body, (server.auth,)).status, 200)

    def test_unknown(self):
        self.refused(self.server.providers(address_of(1)), 404, "NotFound")
        self.assertEqual(self.local(address_of(1)), [])
        self.assertEqual(self.server.providers(address_of(1), "?local=1").json(), [])
        self.refused(self.server.providers("b3:1"), 400, "BadAddress")

    def test_in_any_case(self):
        address = address_of(1)
        self.announce(address, 1)
        self.assertEqual(self.urls("b3:" + address[3:].upper()), ["http://node0:1"])

    def test_limit(self):
        address = address_of(1)
        self.announce(address, 20)
        self.assertEqual(len(self.urls(address)), 16)
        for limit, count in ((1, 1), (5, 5), (20, 20), (64, 20), (1000, 20)):
            self.assertEqual(len(self.urls(address, f"?limit={limit}")), count)
        for query in ("?limit=x", "?limit=-1", "?limit=1&limit=2", "?min_freshness=x", "?local=y"):
            self.refused(self.server.providers(address, query), 400, "Malformed")

    def test_min_freshness(self):
        """In seconds since the node was last heard."""
        address = address_of(1)
        self.announce(address, 1)
        self.assertEqual(len(self.urls(address, "?min_freshness=60")), 1)
        time.sleep(2.2)
        self.assertEqual(len(self.urls(address, "?min_freshness=60")), 1)
        self.assertEqual(self.urls(address, "?min_freshness=1"), [])
        for large in (2 ** 53, 2 ** 63 - 1, 2 ** 64 - 1):
            with self.subTest(large):
                self.assertEqual(len(self.urls(address, f"?min_freshness={large}")), 1)

    def test_region(self):
        address, server = address_of(1), self.memory(region="eu")
        for number, region in enumerate(("us", "eu", "", "ap", "eu")):
            body = record(index.new_node(), address, f"http://{number}-{region}:1", region)
            server.announce(address, body, (server.auth,))
        providers = server.providers(address).json()
        self.assertEqual([each["region"] for each in providers[:2]], ["eu", "eu"])
        scores = [each["score"] for each in providers]
        self.assertEqual(scores, sorted(scores, reverse=True))
        # Whoever is elsewhere says so: all are named, in another order.
        self.assertEqual(self.urls(address, "?region=us", server)[0], "http://0-us:1")
        self.assertEqual(self.urls(address, "?region=ap", server)[0], "http://3-ap:1")
        self.assertEqual(sorted(self.urls(address, "?region=nowhere", server)),
                         sorted(self.urls(address, "", server)))

    def test_json_and_cbor(self):
        address = address_of(1)
        bodies = [record(index.new_node(), address, f"http://node{number}:1")
                  for number in range(3)]
        for body in bodies:
            self.server.announce(address, body, (self.server.auth,))
        self.assertEqual(sorted(self.local(address)), sorted(bodies))
        for query in ("", "?local=1"):
            answer = self.server.providers(address, query)
            self.assertEqual(answer.get("Content-Type"), "application/json")
            self.assertEqual(len(answer.json()), 3)
            self.assertEqual(answer.get("Vary"), "Accept")

    def test_a_name_leads_to_its_providers(self):
        address = address_of(1)
        self.server.set_name("docs", address)
        self.assertEqual(self.server.resolved("docs")["providers"], [])
        self.announce(address, 2)
        self.assertEqual(len(self.server.resolved("docs")["providers"]), 2)  # at once
        self.assertEqual(self.server.resolved("docs")["providers"],
                         self.server.providers(address).json())


class Discover(Fresh):
    """Others who are asked: servers, proxies of a DHT, peers."""

    def target(self, target):
        self.addCleanup(target.close)
        return target

    def test_static(self):
        address = address_of(1)
        one, two = self.target(index.storage_target()), self.target(index.storage_target(address))
        server = self.memory(discovery__static=index.one_of([one.url, two.url]))
        found = server.resolved(address)
        self.assertEqual((found["source"], found["winner"], found["hedged"]),
                         ("static", two.url, False))
        provider, = found["providers"]
        self.assertEqual((provider["url"], provider["node"], provider["source"]),
                         (two.url, None, "static"))
        self.assertIn("latency_ms", provider)
        self.refused(server.resolve(address_of(2)), 404, "NotFound")
        asked = len(one.seen) + len(two.seen)
        ron.wait_until("it is remembered", lambda: server.resolved(address)["source"] == "cache")
        server.resolve(address_of(2))
        self.assertLessEqual(len(one.seen) + len(two.seen) - asked, 4)

    def test_dht(self):
        address = address_of(1)
        body = record(self.node, address, "http://node:1", "eu")
        proxies = [self.target(index.proxy_target(lane, {address: [body]})) for lane in range(2)]
        server = self.memory(dht__proxies=index.one_of(proxy.url for proxy in proxies))
        found = server.resolved(address)
        self.assertEqual(found["source"], "dht")
        self.assertIn(found["winner"], [proxy.url for proxy in proxies])
        self.assertEqual([(each["url"], each["node"]) for each in found["providers"]],
                         [("http://node:1", self.node.text)])
        self.assertEqual(server.providers(address, "", [ACCEPT_CBOR]).status, 200)
        self.assertEqual(cbor.decode(server.providers(address, "", [ACCEPT_CBOR]).body), [body])

    def test_peer(self):
        address = address_of(1)
        peer = self.memory()
        peer.announce(address, record(self.node, address, "http://node:1"))
        url = "http://%s:%d" % peer.address
        server = self.memory(peers=index.one_of([url]))
        found = server.resolved(address)
        self.assertEqual((found["source"], found["winner"]), ("peer", url))
        self.refused(server.resolve(address_of(2)), 404, "NotFound")

    def test_peers_do_not_ask_in_circles(self):
        """Two that ask each other: what neither knows is not found, and each asks once."""
        one = self.memory()
        self.assertEqual(one.stop(), 0)
        host, port = one.address
        url = f"http://{host}:{port}"
        two = self.memory(peers=index.one_of([url]))
        other = "http://%s:%d" % two.address
        one = index.Server(bind=f"{host}:{port}", sets={
            "index.discovery.nodes": f'["{self.node.text}"]', "index.peers": index.one_of([other])})
        self.addCleanup(one.close)
        self.refused(one.resolve(address_of(1)), 404, "NotFound")
        self.assertEqual(one.metrics().value("index_asks_total", outcome="none"), 1)
        self.assertEqual(two.metrics().value("index_asks_total"), 0)

    def untrusted(self, address):
        """What is wrong with a record, and the record."""
        other, later = address_of("other"), now_ms() + HOUR_MS
        good = cbor.decode(record(self.node, address, "http://evil:1"))
        return {
            "foreign": record(self.stranger, address, "http://evil:1"),
            "forged": cbor.encode({**good, "url": "http://evil:2"}),
            "expired": record(self.node, address, "http://evil:1", expires=now_ms() - 1),
            "too_long": record(self.node, address, "http://evil:1", expires=later + 49 * HOUR_MS),
            "other_address": record(self.node, other, "http://evil:1"),
        }

    def test_what_does_not_count(self):
        """Straight from a proxy or a peer: never returned, counted by reason."""
        for kind in ("dht", "peer"):
            for number, reason in enumerate(self.untrusted(address_of(0))):
                with self.subTest(kind, reason=reason):
                    address = address_of((kind, number))
                    bad = self.untrusted(address)[reason]
                    target = self.target(index.proxy_target(0, {address: [bad]}) if kind == "dht"
                                         else index.peer_target({address: [bad]}))
                    key = "dht__proxies" if kind == "dht" else "peers"
                    server = self.memory(**{key: index.one_of([target.url])})
                    self.refused(server.resolve(address), 404, "NotFound")
                    server.wait_metric("index_records_refused_total", 1, reason=reason)
                    # Beside a good one it is left out.
                    good = record(self.node, address, "http://good:1", seq=2)
                    target.have = {path: cbor.encode([bad, good]) if kind == "peer" else
                                   index.dht_value(bad) + index.dht_value(good)
                                   for path in target.have}
                    found = server.resolved(address, "?fresh=1")
                    self.assertEqual([each["url"] for each in found["providers"]],
                                     ["http://good:1"])
                    server.close()

    def test_replayed(self):
        address = address_of(1)
        old = record(self.node, address, "http://old:1", seq=4)
        new = record(self.node, address, "http://new:1", seq=5)
        proxy = self.target(index.proxy_target(0, {address: [new]}))
        server = self.memory(dht__proxies=index.one_of([proxy.url]))
        self.assertEqual(server.resolved(address)["providers"][0]["url"], "http://new:1")
        path, = proxy.have
        proxy.have[path] = index.dht_value(old)
        response = server.resolve(address, "?fresh=1")
        self.assertNotIn(b"http://old:1", response.body)
        server.wait_metric("index_records_refused_total", 1, reason="replayed")

    def test_replayed_against_what_was_announced_here(self):
        """A DHT that gives back what its node has replaced here long since."""
        address = address_of(1)
        old = record(self.node, address, "http://old:1", seq=4)
        proxy = self.target(index.proxy_target(0, {address: [old]}))
        server = self.memory(dht__proxies=index.one_of([proxy.url]))
        short = record(self.node, address, "http://new:1", seq=5, expires=now_ms() + 1500)
        self.assertEqual(server.announce(address, short).status, 200)
        self.assertEqual(server.resolved(address)["providers"][0]["url"], "http://new:1")
        self.assertNotIn(b"old", server.resolve(address, "?fresh=1").body)
        time.sleep(2)
        self.assertNotIn(b"old", server.resolve(address).body)

    def test_anyone(self):
        address = address_of(1)
        proxy = self.target(index.proxy_target(0, {address: [record(self.stranger, address)]}))
        server = self.memory(dht__proxies=index.one_of([proxy.url]), discovery__trust="any")
        self.assertEqual(len(server.resolved(address)["providers"]), 1)
        # Who may announce here does not follow from it.
        self.refused(server.announce(address, record(self.stranger, address)), 401, "Unauthorized")

    def test_hedge(self):
        """Three are asked; when they say nothing, two more, and the first good answer wins."""
        address = address_of(1)
        body = record(self.node, address, "http://node:1")
        proxies = [self.target(index.proxy_target(lane, {address: [body]})) for lane in range(5)]
        server = self.memory(dht__proxies=index.one_of(proxy.url for proxy in proxies))
        for proxy in proxies:
            proxy.delay = 0.6
        waiting = server.connect()
        self.addCleanup(waiting.close)
        began = time.monotonic()
        waiting.send(ron.request("GET", "/resolve/" + address))
        time.sleep(0.1)
        first = {proxy.url for proxy in proxies if proxy.seen}
        self.assertEqual(len(first), 3)
        for proxy in proxies:
            if not proxy.seen:
                proxy.delay = 0
        found = waiting.read_response().json()
        took = time.monotonic() - began
        self.assertEqual((found["hedged"], found["winner"] in first), (True, False))
        self.assertGreater(took, 0.14)
        self.assertLess(took, 0.4 * ron.SLOW)
        ron.wait_until("the losers see that they were left", lambda: sum(
            proxy.left for proxy in proxies) == 3)
        server.wait_metric("index_hedged_searches_total", 1)
        self.assertIn(server.metrics().value("index_extra_asks_total"), (1, 2))

    def test_deadline(self):
        """An address that nobody says anything about is 504 in time; a name is answered without
        providers."""
        proxy = self.target(index.proxy_target(0, {}))
        proxy.held.clear()
        server = self.memory(dht__proxies=index.one_of([proxy.url]))
        server.set_name("docs", address_of("named"))
        for key, status in ((address_of(1), 504), ("docs", 200)):
            with self.subTest(key):
                began = time.monotonic()
                response = server.resolve(key)
                took = time.monotonic() - began
                self.assertEqual(response.status, status, response.body)
                if status == 504:
                    self.refused(response, 504, "Timeout")
                else:
                    self.assertEqual(response.json()["address"], address_of("named"))
                self.assertGreater(took, 1.15)
                self.assertLess(took, 1.2 + 0.2 * ron.SLOW)


if __name__ == "__main__":
    unittest.main()
