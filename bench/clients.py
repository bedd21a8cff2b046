"""Clients of a server at the same time, each a process of its own (`load.cc`): how many connections, at what rate, from
which address or with which token."""

import json
import os
import pathlib
import subprocess
import sys
import time

from servers import CLIENT_CPU, ROOT, RON, Server, free_port

PROGRAM = pathlib.Path(os.environ.get("BENCH_LOAD", RON.with_name("bench_load")))
START_S = 0.5  # from when the clients are started to when they begin together


def run(server, clients, seconds, warm_up=1):
    """`clients` has the options of load.cc for each name. What each was answered, by its name."""
    start = time.monotonic_ns() + int(START_S * 1e9)
    common = {"to": f"{server.path.address}:{server.port}", "seconds": seconds, "warm_up": warm_up, "start_ns": start}
    processes = {name: subprocess.Popen(["taskset", "-c", CLIENT_CPU, PROGRAM,
                                         *(f"{key}={value}" for key, value in {**common, **options}.items())],
                                        stdout=subprocess.PIPE, text=True) for name, options in clients.items()}
    results = {}
    for name, process in processes.items():
        out, _ = process.communicate()
        if process.returncode != 0:
            raise SystemExit(f"{server.name}: the client {name} failed")
        results[name] = Result(json.loads(out))
    return results


def request(method, target, body=b"", token=None):
    """The bytes of one request, for `write_requests`."""
    lines = [f"{method} {target} HTTP/1.1", "Host: bench"]
    lines += [f"Authorization: Bearer {token}"] if token else []
    lines += [f"Content-Length: {len(body)}"] if body else []
    return "\r\n".join([*lines, "", ""]).encode() + body


def write_requests(file, requests):
    """As the client takes them with `requests=`."""
    with open(file, "wb") as out:
        for one in requests:
            out.write(len(one).to_bytes(4, "little") + one)


class Result:
    """What one client was answered."""

    def __init__(self, document):
        self.document = document
        self.answers = document["answers"]
        self.seconds = document["seconds"]
        good = self.answers.get("200", {"count": 0, "bytes": 0, "p50_us": 0, "p99_us": 0})
        self.count, self.bytes, self.p50_us, self.p99_us = (good[key] for key in ("count", "bytes", "p50_us", "p99_us"))
        self.rps = self.count / self.seconds
        refused = [answers for status, answers in self.answers.items() if status in ("429", "503")]
        self.refused = sum(answers["count"] for answers in refused)
        self.refused_p99_us = max((answers["p99_us"] for answers in refused), default=0)
        # Neither served nor refused: an error, or no answer at all.
        self.failed = sum(answers["count"] for answers in self.answers.values()) - self.count - self.refused


class Slots(Server):
    """The upstream of slots.py, on the clients' CPU."""

    def __init__(self, slots, path):
        self.port = free_port()
        self.slots = slots
        super().__init__("slots", [sys.executable, ROOT / "bench" / "slots.py", path.address, self.port, slots], path,
                         CLIENT_CPU)
        self.await_port()

    @property
    def address(self):
        return f"{self.path.address}:{self.port}"


def busy(size, micros):
    """The target that costs that much at `Slots`."""
    return f"/busy/{size}/{micros}"
