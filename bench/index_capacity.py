"""How many resolvers svc-index needs: the estimate M >= ceil(rate * E / 0.7), with E = S + (1 - p_hit) * D, beside what a load
with few popular and many rare names does to it. S is what a resolver takes when the store has the providers, D what the DHT
adds to that; five real nodes of OpenDHT are asked through their REST proxies, which are made as far away as is said."""

import argparse
import asyncio
import base64
import concurrent.futures
import contextlib
import hashlib
import itertools
import json
import math
import pathlib
import random
import subprocess
import sys
import threading
import time
import urllib.request

import paths
import rounds
from index import NAMESPACE, Index, Node, Requests
from servers import CLIENT_CPU, Server, free_port, raise_descriptor_limit, scratch_directory

NODES = 5
UTILISATION = 0.7  # that the estimate leaves room for
CONNECTIONS = 256
POSTS_AT_ONCE = 8
JOIN_S = 30  # within which the nodes of the DHT know each other
WANTED_SHARE = (0.7, 1.3)  # of the resolvers' measured work in the estimated one


class DhtNode(Server):
    """A node of OpenDHT with its REST proxy; listens on every address, so it belongs into a namespace."""

    def __init__(self, path, first=None):
        self.port = free_port()
        self.dht_port = free_port()
        command = ["dhtnode", "-s", "-p", self.dht_port, "--proxyserver", self.port]
        command += ["-b", f"{path.address}:{first.dht_port}"] if first else []
        super().__init__("dhtnode", command, path, CLIENT_CPU, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.await_port()

    @property
    def url(self):
        return f"http://{self.path.address}:{self.port}"

    def knows_others(self):
        known = json.loads(urllib.request.urlopen(f"{self.url}/", timeout=5).read())["ipv4"]
        return known["good"] + known["dubious"] > 0

    def post(self, key, record):
        number = int.from_bytes(hashlib.sha256(record).digest()[:8], "big")
        body = {"data": base64.b64encode(record).decode(), "id": str(number), "type": 0}
        request = urllib.request.Request(f"{self.url}/{key}", json.dumps(body).encode(), {"Content-Type": "application/json"})
        urllib.request.urlopen(request, timeout=30).read()


class Far:
    """Relays of connections that hold back every byte for a while, as a long way would."""

    def __init__(self, delay_s):
        self.delay_s = delay_s / 2  # in each direction
        self.loop = asyncio.new_event_loop()
        self.relays = set()  # those at work: the loop alone would not keep them
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def url_of(self, server):
        """Where the relay to that server listens."""
        async def listen():
            return await asyncio.start_server(lambda r, w: self._relay(server, r, w), server.path.address, 0)
        listener = asyncio.run_coroutine_threadsafe(listen(), self.loop).result()
        return "http://{}:{}".format(*listener.sockets[0].getsockname())

    async def _relay(self, server, reader, writer):
        self.relays.add(task := asyncio.current_task())
        task.add_done_callback(self.relays.discard)
        try:
            far_reader, far_writer = await asyncio.open_connection(server.path.address, server.port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._copy(reader, far_writer), self._copy(far_reader, writer))

    async def _copy(self, reader, writer):
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                self.loop.call_later(self.delay_s, writer.write, data)
        self.loop.call_later(self.delay_s, writer.close)


def address_of(name):
    return f"b3:{hashlib.sha256(name.encode()).hexdigest()}"


def lane_keys(directory, addresses):
    """For each address and each lane the key of the DHT under which it is asked for."""
    place = pathlib.Path(directory) / "keys"
    place.mkdir()
    files = []
    for address, lane in itertools.product(addresses, range(NODES)):
        files.append(place / str(len(files)))
        files[-1].write_bytes(b"ron-lane/v1" + bytes([lane]) + bytes.fromhex(address.removeprefix("b3:")))
    out = subprocess.run(["b3sum", "--no-names", *files], check=True, capture_output=True, text=True).stdout.split()
    return [[digest[:40] for digest in out[at:at + NODES]] for at in range(0, len(out), NODES)]


def publish(directory, nodes, provider, names):
    """Every lane has a record of every name's object."""
    addresses = [address_of(name) for name in names]
    posts = []
    for address, keys in zip(addresses, lane_keys(directory, addresses)):
        record = provider.record(address)
        posts += [(node, key, record) for node, key in zip(nodes, keys)]
    with concurrent.futures.ThreadPoolExecutor(POSTS_AT_ONCE) as pool:
        list(pool.map(lambda post: post[0].post(*post[1:]), posts))


def await_dht(nodes):
    until = time.monotonic() + JOIN_S
    while not all(node.knows_others() for node in nodes):
        if time.monotonic() > until:
            raise SystemExit(f"after {JOIN_S} s a node of the DHT knows nobody")
        time.sleep(0.2)


class Popularity:
    """How often each of `count` names is asked for: the n-th as often as 1/n (Zipf)."""

    def __init__(self, count):
        weights = [1 / n for n in range(1, count + 1)]
        self.shares = [weight / sum(weights) for weight in weights]

    def sample(self, names, count):
        return random.choices(names, self.shares, k=count)

    def hit_rate(self, rate, ttl_s):
        """Of a cache that forgets an answer `ttl_s` after it was made, when requests arrive at random."""
        return sum(share * (own := rate * share * ttl_s) / (1 + own) for share in self.shares)


class Bench:
    """One index over the DHT, with so many resolvers at a time."""

    SERIES = {"hedged": ("index_hedged_searches_total",), "searches": ("index_searches_total",),
              "late": ("index_searches_total", 'result="timeout"'), "joined": ("index_resolves_joined_total",)}

    def __init__(self, directory, path, proxies, options):
        self.directory, self.path, self.proxies, self.options = pathlib.Path(directory), path, proxies, options
        self.requests = Requests(directory)
        self.starts = 0

    @contextlib.contextmanager
    def index(self, workers, ttl_s, names, kept=()):
        """The names are set; of those that are kept the store has the providers."""
        self.starts += 1
        limits = {"workers": workers, "cache.positive_ttl": f"{ttl_s}s", "dht.proxies": json.dumps(self.proxies),
                  "discovery.trust": "any"}
        server = Index(self.directory, data=self.directory / f"data{self.starts}", path=self.path, limits=limits)
        try:
            node = Node()
            for name in (*names, *kept):
                server.set_name(name, address_of(name))
            for name in kept:
                server.announce(node, address_of(name))
            yield server
        finally:
            server.stop()

    def service_times(self, names, kept):
        """S and D in seconds: each name once, one after the other."""
        with self.index(64, 3600, names, kept) as server:
            taken = []
            for some in (kept, names):
                row = self.requests.resolve(server, some, connections=1)
                if row["resolvers"] != len(some):
                    raise SystemExit(f"{row['resolvers']} resolves of {len(some)} names reached a resolver")
                taken.append(row["resolver_s"] / row["resolvers"])
            found = server.metric("index_searches_total", 'result="found"')
            if found != len(names):
                raise SystemExit(f"the DHT knew {found:.0f} of {len(names)} objects")
        return taken[0], taken[1] - taken[0]

    def under_load(self, names, popularity, workers, ttl_s):
        """What so many resolvers make of the load."""
        options = self.options
        with self.index(workers, ttl_s, names) as server:
            how = {"connections": CONNECTIONS, "rate": options.rate, "accept": ("200", "429", "503", "504")}
            self.requests.resolve(server, popularity.sample(names, options.rate * options.warm_up), **how)
            before = {name: server.metric(*series) for name, series in self.SERIES.items()}
            row = self.requests.resolve(server, popularity.sample(names, options.rate * options.seconds), **how)
            row |= {name: server.metric(*series) - before[name] for name, series in self.SERIES.items()}
        refused = sum(row["refused"].values())
        row["hit_rate"] *= row["count"] / (row["count"] + refused)
        return {"workers": workers, "busy": row["resolver_s"] / row["seconds"],
                "utilisation": row["resolver_s"] / row["seconds"] / workers, "refusals": refused, **row}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=500)
    parser.add_argument("--rate", type=int, default=400, help="resolves per second")
    parser.add_argument("--ttl", type=int, default=5, help="seconds an answer is in the cache")
    parser.add_argument("--delay-ms", type=float, default=40, help="that the proxies are away, there and back")
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--warm-up", type=int, default=10)
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, names=50, rate=100, seconds=5, warm_up=3, ttl=2)
    raise_descriptor_limit()
    paths.leave_network()
    names = [f"{NAMESPACE}/{i}" for i in range(options.names)]
    kept = [f"{NAMESPACE}/kept/{i}" for i in range(options.names)]
    with paths.Loopback() as path, scratch_directory() as directory, contextlib.ExitStack() as started:
        nodes = []
        for _ in range(NODES):
            nodes.append(DhtNode(path, nodes[0] if nodes else None))
            started.callback(nodes[-1].stop)
        await_dht(nodes)
        publish(directory, nodes, Node(), names)
        far = Far(options.delay_ms / 1000)
        bench = Bench(directory, path, [far.url_of(node) for node in nodes], options)
        service_s, dht_s = bench.service_times(names, kept)
        popularity = Popularity(options.names)
        hit_rate = popularity.hit_rate(options.rate, options.ttl)
        busy = options.rate * (service_s + (1 - hit_rate) * dht_s)
        wanted = math.ceil(busy / UTILISATION)
        print(f"S {service_s * 1e3:.3f} ms, D {dht_s * 1e3:.1f} ms, p_hit {hit_rate:.3f} of a cache of {options.ttl} s: "
              f"{options.rate}/s keep {busy:.2f} resolvers busy, so {wanted} are wanted", flush=True)
        rows = []
        for workers in sorted({max(1, math.floor(busy / 2)), max(1, math.floor(busy)), wanted, 2 * wanted, 64}):
            row = bench.under_load(names, popularity, workers, options.ttl)
            rows.append(row)
            print(f"{workers:>3} resolvers: {row['busy']:.2f} busy ({row['utilisation']:.2f}), p_hit {row['hit_rate']:.3f}, "
                  f"p50 {row['p50_us'] / 1e3:.2f} ms, p99 {row['p99_us'] / 1e3:.1f} ms, {row['refusals']} refused, "
                  f"{row['joined']:.0f} joined, {row['searches']:.0f} searches, of which {row['late']:.0f} late and "
                  f"{row['hedged']:.0f} hedged", flush=True)
    rounds.write_result("index_capacity", {
        "names": options.names, "rate": options.rate, "ttl_s": options.ttl, "delay_ms": options.delay_ms, "dht_nodes": NODES,
        "service_s": service_s, "dht_s": dht_s, "hit_rate": hit_rate, "busy": busy, "wanted": wanted, "rows": rows})
    by_workers = {row["workers"]: row for row in rows}
    share = by_workers[64]["busy"] / busy
    fine = [rounds.verdict("measured work of the resolvers / estimated", share, WANTED_SHARE[0], True),
            rounds.verdict("measured work of the resolvers / estimated", share, WANTED_SHARE[1], False),
            rounds.verdict(f"refused with {2 * wanted} resolvers", by_workers[2 * wanted]["refusals"], 0, False)]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
