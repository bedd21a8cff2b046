"""svc-index as a server of benchmarks, and a node whose signed records say who has an object."""

import json
import pathlib
import re
import sys
import time
import urllib.request

import clients
from servers import ROOT, Ron

sys.path.append(str(ROOT / "tests" / "e2e"))
# Of the end-to-end tests: they share no code with the product.
import provider_record  # noqa: E402
import signing  # noqa: E402

HOLDS_S = 24 * 3600  # how long a record counts
NAMESPACE = "bench"


class Node:
    """Somebody who provides objects at `url`, with an Ed25519 key of its own."""

    def __init__(self, url="http://198.51.100.7:8080", region="eu-central"):
        self.url = url
        self.region = region
        self._key = signing.Key()
        self.public = self._key.public

    def record(self, address, seq=1):
        """The signed record that it has `address`, a `b3:…`, as it goes over the wire."""
        return provider_record.record(self._key, address, self.url, self.region, seq,
                                      int((time.time() + HOLDS_S) * 1000))


class Index(Ron):
    """svc-index with limits out of the way."""

    command = "index"
    sections = ("index",)
    LIMITS = {**Ron.LIMITS, "server.route_concurrency": 100_000}

    def set_name(self, name, target):
        self.ask(f"{self.base}/names/{name}", "PUT", json.dumps({"target": target}).encode())

    def announce(self, node, address):
        self.ask(f"{self.base}/providers/{address}", "PUT", node.record(address))

    def resolve(self, key):
        """The body of the answer."""
        return self.ask(f"{self.base}/resolve/{key}", "GET")

    def metric(self, name, label=""):
        """The sum over all series of that name that have the label."""
        text = urllib.request.urlopen(f"http://{self.path.address}:{self.admin_port}/metrics").read().decode()
        series = re.findall(rf"^{name}({{[^}}]*}})? (\S+)$", text, re.MULTILINE)
        return sum(float(value) for labels, value in series if label in labels)


class Requests:
    """Sends requests that are different each, with the client of `load.cc`."""

    FOREVER_S = 3600  # it ends when all are answered

    def __init__(self, directory):
        self.file = pathlib.Path(directory) / "requests"

    def send(self, server, requests, accept=("200", "201"), **how):
        """What was answered; `how` are options of the client."""
        clients.write_requests(self.file, requests)
        result = clients.run(server, {"all": {"requests": self.file, **how}}, self.FOREVER_S, warm_up=0)["all"]
        wrong = {status: each["count"] for status, each in result.answers.items() if status not in accept}
        if wrong:
            raise SystemExit(f"not answered as they should be: {wrong}")
        return result

    def resolve(self, server, names, **how):
        """What it took to resolve those names, in this order."""
        names_of = ("index_cache_hits_total", "resolve_latency_seconds_sum", "resolve_latency_seconds_count")
        before, cpu = [server.metric(name) for name in names_of], server.cpu_seconds()
        result = self.send(server, (clients.request("GET", f"/resolve/{name}") for name in names), **how)
        cpu = server.cpu_seconds() - cpu
        hits, worked_s, worked = (server.metric(name) - was for name, was in zip(names_of, before))
        answers = result.answers["200"]
        count = answers["count"]
        return {"count": count, "p50_us": answers["p50_us"], "p99_us": answers["p99_us"], "p999_us": answers["p999_us"],
                "max_us": answers["max_us"], "per_s": count / result.seconds, "seconds": result.seconds,
                "cpu_us": cpu * 1e6 / count, "hit_rate": hits / count, "resolvers": worked,
                "resolver_s": worked_s, "refused": {status: each["count"] for status, each in result.answers.items()
                                                    if status != "200"}}
