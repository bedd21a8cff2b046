"""Memory over time under mixed load: puts, gets of all sizes, ranges, misses, deletes, refused writes, connections
that come and go. Memory must level off: the second half may not grow."""

import argparse
import hashlib
import http.client
import json
import random
import subprocess
import sys
import threading
import time

from servers import ROOT, Ron, machine, raise_descriptor_limit, scratch_directory

SIZES = (16, 100, 1024, 20_000, 65_536, 200_000, 1 << 20)
KEPT = 40


def b3(data):
    return subprocess.run(["b3sum", "--no-names"], input=data, check=True, capture_output=True).stdout.decode().strip()


class Client(threading.Thread):
    """Mixed requests until told to stop; what it stores it reads back and mostly deletes again."""

    def __init__(self, port, token, seed, stop):
        super().__init__()
        self.port, self.token, self.stop_event = port, token, stop
        self.random = random.Random(seed)
        self.requests = self.failures = 0
        self.stored = []

    def call(self, connection, method, path, body=None, authorised=True):
        headers = {"Authorization": f"Bearer {self.token}"} if authorised else {}
        connection.request(method, path, body, headers)
        response = connection.getresponse()
        self.requests += 1
        return response.status, response.read()

    def step(self, connection):
        pick = self.random.random()
        if pick < 0.2 or not self.stored:
            body = self.random.randbytes(self.random.choice(SIZES))
            status, answer = self.call(connection, "POST", "/o", body)
            self.failures += status not in (200, 201)
            self.stored.append((json.loads(answer)["address"], hashlib.sha256(body).digest()))
        elif pick < 0.9:
            address, digest = self.random.choice(self.stored)
            status, answer = self.call(connection, "GET", f"/o/{address}")
            self.failures += status != 200 or hashlib.sha256(answer).digest() != digest
        elif pick < 0.94:
            self.call(connection, "GET", "/o/b3:" + "0" * 64)
        elif pick < 0.97:
            self.call(connection, "PUT", "/o/b3:" + "0" * 64, b"wrong")
        else:
            status, _ = self.call(connection, "POST", "/o", b"x", authorised=False)
            self.failures += status != 401
            connection.close()
        while len(self.stored) > KEPT:
            self.call(connection, "DELETE", f"/o/{self.stored.pop(0)[0]}")

    def run(self):
        while not self.stop_event.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            for _ in range(self.random.randrange(1, 300)):
                if self.stop_event.is_set():
                    break
                self.step(connection)
            connection.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--clients", type=int, default=8)
    options = parser.parse_args()
    raise_descriptor_limit()
    samples = []
    with scratch_directory() as directory:
        server = Ron(directory, limits={"cache_bytes": "512MiB"})
        stop = threading.Event()
        clients = [Client(server.port, server.token, seed, stop) for seed in range(options.clients)]
        try:
            for client in clients:
                client.start()
            start = time.monotonic()
            while time.monotonic() - start < options.minutes * 60:
                time.sleep(min(10, options.minutes * 6))
                samples.append((round(time.monotonic() - start), server.rss_bytes()))
                print(f"{samples[-1][0]:>5} s  {samples[-1][1] / 2**20:8.1f} MiB  {sum(c.requests for c in clients)} requests", flush=True)
        finally:
            stop.set()
            for client in clients:
                client.join()
            server.stop()
    half = samples[len(samples) // 2:]
    growth = half[-1][1] - half[0][1]
    failures = sum(client.failures for client in clients)
    print(f"{sum(c.requests for c in clients)} requests, {failures} failures; second half {growth / 2**20:+.1f} MiB")
    document = {"benchmark": "soak", "machine": machine(), "minutes": options.minutes, "rss": samples,
                "requests": sum(c.requests for c in clients), "failures": failures, "second_half_growth_bytes": growth}
    (ROOT / "bench" / "results" / "soak.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0 if failures == 0 and growth < 16 * 2**20 else 1


if __name__ == "__main__":
    sys.exit(main())
