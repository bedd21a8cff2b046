"""SIGKILL at random moments under puts, uploads, deletes and compaction.

After every restart: what was acknowledged is as acknowledged, what was under way is there whole or
not at all, and the server listens within a second. Each address belongs to one client thread, so
its operations have an order; only the last one can be uncertain.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import signal
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import payloads  # noqa: E402
import ron  # noqa: E402
import storage  # noqa: E402

# None so small that two clients could make the same bytes.
SIZES = (16, 100, 700, 1024, 5000, 40_000, 65_536, 65_537, 200_000, 1 << 20)
LARGE = (payloads.PART + 1, 2 * payloads.PART, 3 * payloads.PART + 12_345)
SETS = {"storage.segment_bytes": "16MiB", "storage.cache_bytes": "4MiB", "storage.min_free_bytes": "64MiB",
        "storage.server.max_rps": 1_000_000}
LISTEN_S = 1.0
PRESENT, ABSENT, UNCERTAIN = "present", "absent", "uncertain"


class Wrong(AssertionError):
    """The store broke a promise."""


class Ask:
    """One kept connection to a server that may die at any moment."""

    def __init__(self, address, token):
        self.connection = http.client.HTTPConnection(*address, timeout=30)
        self.headers = {"Authorization": f"Bearer {token}"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def __call__(self, method, path, body=None):
        self.connection.request(method, path, body, self.headers)
        response = self.connection.getresponse()
        return response.status, response.read()


class Client(threading.Thread):
    """Does random things to its own addresses until the server dies under it."""

    gives_up = 0.03  # on an upload, after each part

    def __init__(self, server, seed, fresh, known):
        super().__init__()
        self.ask = Ask(server.address, server.token)
        self.random = random.Random(seed)
        self.fresh = fresh    # payloads nobody has stored yet
        self.known = known    # address -> [payload, state], this client's own
        self.operations = 0
        self.failure = None

    def run(self):
        try:
            while True:
                self.step()
                self.operations += 1
        except (OSError, http.client.HTTPException):
            pass  # the server is gone: what was under way stays uncertain
        except Exception as error:  # noqa: BLE001: evidence for the main thread
            self.failure = error
        finally:
            self.ask.connection.close()

    def step(self):
        present = [a for a, (_, state) in self.known.items() if state == PRESENT]
        pick = self.random.random()
        if pick < 0.45 and self.fresh:
            self.store(self.fresh.pop())
        elif pick < 0.60 and present:
            self.remove(self.random.choice(present))
        elif pick < 0.65 and self.known:
            again = self.random.choice(list(self.known.values()))[0]
            self.store(again)
        elif present:
            self.read(self.random.choice(present))

    def expect(self, answer, statuses, what):
        status, body = answer
        if status in (429, 503):
            return False
        if status not in statuses:
            raise Wrong(f"{what}: {status} {body[:300]!r}")
        return True

    def store(self, payload):
        before = self.known.get(payload.address, (payload, ABSENT))[1]
        entry = self.known[payload.address] = [payload, UNCERTAIN]
        if payload.size > payloads.PART:
            stored = self.upload(payload)
        else:
            stored = self.expect(self.ask("PUT", f"/o/{payload.address}", payload.bytes()),
                                 (200, 201), "put")
        entry[1] = PRESENT if stored else before

    def upload(self, payload):
        data = payload.bytes()
        begun = self.ask("POST", "/uploads", json.dumps({"length": payload.size, "address": payload.address}))
        if not self.expect(begun, (201,), "begin"):
            return False
        upload = json.loads(begun[1])["upload_id"]
        parts = list(range((payload.size - 1) // payloads.PART + 1))
        self.random.shuffle(parts)
        for n in parts:
            piece = data[n * payloads.PART:(n + 1) * payloads.PART]
            if not self.expect(self.ask("PUT", f"/uploads/{upload}/{n}", piece), (200,), f"part {n}"):
                return False
            if self.random.random() < self.gives_up:
                self.expect(self.ask("DELETE", f"/uploads/{upload}"), (204,), "abort")
                return False
        return self.expect(self.ask("POST", f"/uploads/{upload}/commit"), (200, 201), "commit")

    def remove(self, address):
        entry = self.known[address]
        entry[1] = UNCERTAIN
        removed = self.expect(self.ask("DELETE", f"/o/{address}"), (204,), "delete")
        entry[1] = ABSENT if removed else PRESENT

    def read(self, address):
        check(self.ask, self.known[address])


def check(ask, entry):
    payload, state = entry
    for _ in range(50):
        status, body = ask("GET", f"/o/{payload.address}")
        if status not in (429, 503):
            break
        time.sleep(0.1)
    if status == 200:
        if body != payload.bytes():
            raise Wrong(f"{payload.address}: {len(body)} wrong bytes, wanted {payload.size}")
        if state == ABSENT:
            raise Wrong(f"{payload.address}: an acknowledged delete came back")
        entry[1] = PRESENT
    elif status == 404:
        if state == PRESENT:
            raise Wrong(f"{payload.address} ({payload.size} bytes): acknowledged, and gone")
        entry[1] = ABSENT
    else:
        raise Wrong(f"{payload.address}: {status} {body[:300]!r}")


class Compactor(threading.Thread):
    def __init__(self, server):
        super().__init__()
        self.ask = Ask(server.admin, server.token)
        self.failure = None

    def run(self):
        try:
            while True:
                status, body = self.ask("POST", "/admin/compact")
                if status not in (200, 202, 429):
                    raise Wrong(f"compact: {status} {body[:300]!r}")
                time.sleep(0.05)
        except (OSError, http.client.HTTPException):
            pass
        except Exception as error:  # noqa: BLE001
            self.failure = error
        finally:
            self.ask.connection.close()


def start(data, sets):
    began = time.monotonic()
    server = storage.Server(sets={**SETS, **sets}, data=data)
    took = time.monotonic() - began
    if took > LISTEN_S * ron.SLOW:
        raise Wrong(f"listening took {took:.2f} s")
    return server, took


def fresh_payloads(seed, clients, per_client):
    dice = random.Random(seed)
    sizes = [dice.choice(LARGE) if dice.random() < 0.08 else dice.choice(SIZES)
             for _ in range(clients * per_client)]
    made = payloads.make((f"{seed}/{i}", size) for i, size in enumerate(sizes))
    return [made[i::clients] for i in range(clients)]


def run(rounds, clients, seed, directory, sets=None, report=print):
    """Raises Wrong at the first broken promise; else the totals."""
    sets = sets or {}
    data = pathlib.Path(directory) / "data"
    known = [{} for _ in range(clients)]
    dice = random.Random(seed)
    totals = {"rounds": 0, "operations": 0, "checked": 0, "uncertain": 0, "slowest_start_s": 0.0}
    for number in range(rounds):
        server, took = start(data, sets)
        totals["slowest_start_s"] = max(totals["slowest_start_s"], took)
        try:
            everything = number % 25 == 24 or number == rounds - 1
            verify(server, known, dice, everything, totals)
            fresh = fresh_payloads(f"{seed}/{number}", clients, 60)
            threads = [Client(server, f"{seed}/{number}/{i}", fresh[i], known[i]) for i in range(clients)]
            compactor = Compactor(server)
            for thread in (*threads, compactor):
                thread.start()
            time.sleep(dice.uniform(0.02, 0.9))
            os.kill(server.pid, signal.SIGKILL)
            for thread in (*threads, compactor):
                thread.join(60)
                if thread.failure:
                    raise thread.failure
            totals["operations"] += sum(thread.operations for thread in threads)
        finally:
            server.close()
        totals["rounds"] += 1
        if number % 10 == 9:
            report(f"{number + 1:>4} rounds  {totals['operations']} operations  {totals['checked']} checks")
    server, _ = start(data, sets)
    try:
        verify(server, known, dice, True, totals)
    finally:
        server.close()
    return totals


def verify(server, known, dice, everything, totals):
    with Ask(server.address, server.token) as ask:
        verify_with(ask, known, dice, everything, totals)


def verify_with(ask, known, dice, everything, totals):
    for own in known:
        uncertain = [entry for entry in own.values() if entry[1] == UNCERTAIN]
        certain = [entry for entry in own.values() if entry[1] != UNCERTAIN]
        if not everything:
            certain = dice.sample(certain[:-40], min(20, len(certain[:-40]))) + certain[-40:]
        for entry in uncertain + certain:
            check(ask, entry)
        totals["uncertain"] += len(uncertain)
        totals["checked"] += len(uncertain) + len(certain)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=300)
    parser.add_argument("--clients", type=int, default=6)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--dir", default=None, help="where the data directory goes; default a temporary one")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    sets = dict(pair.split("=", 1) for pair in options.set)
    with tempfile.TemporaryDirectory(prefix="ron-crash-", dir=options.dir) as directory:
        try:
            totals = run(options.rounds, options.clients, options.seed, directory, sets)
        except Wrong as error:
            print(f"BROKEN: {error}")
            return 1
    print(json.dumps(totals))
    return 0


if __name__ == "__main__":
    sys.exit(main())
