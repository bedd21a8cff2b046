"""An index of 1,000,000 names: how soon they are put, what a resolve takes that only the map on disk can answer, lists, how
soon a start answers, and what all of it keeps in memory."""

import argparse
import contextlib
import hashlib
import pathlib
import os
import random
import statistics
import sys
import time

import clients
import paths
import rounds
from index import NAMESPACE, Index, Node, Requests
from registry_start import forget_pages
from servers import raise_descriptor_limit, scratch_directory

WANTED_P99_MS = 2
WANTED_START_S = 1.0
WANTED_GROWTH_MIB = 16  # while the second half of a million different names is resolved
PER_DIRECTORY = 1000
CHUNK = 50_000  # requests that a client is given at a time
PUT_CONNECTIONS = 256
RATE, RATE_CONNECTIONS = 1000, 32
COLD_CACHE = {"cache.entries": 16}  # the least there is: what is resolved at random is not in it
BEHIND = 115_000  # names that are put before the kill: almost as many as make the writer flush the map


def name_of(i):
    return f"{NAMESPACE}/{i // PER_DIRECTORY:04}/{i:07}"


def address_of(i):
    return f"b3:{hashlib.sha256(str(i).encode()).hexdigest()}"


def some_names(below, count):
    return [name_of(i) for i in random.choices(range(below), k=count)]


class Work(Requests):
    """Names and who has them, put by many connections."""

    def __init__(self, directory, options):
        super().__init__(directory)
        self.options = options

    def put_names(self, server, numbers):
        return self._in_chunks(server, numbers, lambda i: clients.request(
            "PUT", f"/names/{name_of(i)}", f'{{"target":"{address_of(i)}"}}'.encode(), server.token))

    def announce(self, server, node, numbers):
        return self._in_chunks(server, numbers, lambda i: clients.request(
            "PUT", f"/providers/{address_of(i)}", node.record(address_of(i)), server.token))

    def _in_chunks(self, server, numbers, request_of):
        chunks = []
        cpu, syncs = server.cpu_seconds(), server.metric("index_syncs_total")
        for at in range(0, len(numbers), CHUNK):
            chunk = numbers[at:at + CHUNK]
            result = self.send(server, map(request_of, chunk), connections=PUT_CONNECTIONS)
            chunks.append({"count": len(chunk), "seconds": result.seconds, "rss_bytes": server.rss_bytes()})
        seconds = sum(chunk["seconds"] for chunk in chunks)
        return {"count": len(numbers), "seconds": seconds, "per_s": len(numbers) / seconds,
                "cpu_us": (server.cpu_seconds() - cpu) * 1e6 / len(numbers),
                "per_sync": len(numbers) / (server.metric("index_syncs_total") - syncs), "chunks": chunks}


def start(directory, data, path, limits):
    """A running index and the seconds until it had resolved a name."""
    began = time.monotonic()
    server = Index(directory, data=data, path=path, limits=limits)
    server.resolve(name_of(0))
    return server, time.monotonic() - began


def measure_starts(options, directory, data, path, is_killed, is_cold):
    taken = []
    for _ in range(options.rounds):
        if is_cold:
            forget_pages(data)
        server, seconds = start(directory, data, path, {})
        taken.append(seconds)
        rss = server.rss_bytes()
        if is_killed:
            server.process.kill()
            server.process.wait()
        else:
            server.stop()
    return {"median_ms": statistics.median(taken) * 1000, "worst_ms": max(taken) * 1000, "rss_bytes": rss,
            "samples_ms": [seconds * 1000 for seconds in taken]}


def fill(work, directory, data, path):
    options = work.options
    server = Index(directory, data=data, path=path)
    try:
        empty = server.rss_bytes()
        order = random.Random(1).sample(range(options.names), options.names)
        names = work.put_names(server, order)
        announced = work.announce(server, Node(), range(options.providers))
        full = server.rss_bytes()
    finally:
        server.stop()
    for what, row in (("names", names), ("providers", announced)):
        print(f"{row['count']} {what} put: {row['per_s']:.0f}/s, {row['cpu_us']:.0f} CPU us and 1/{row['per_sync']:.0f} sync "
              f"each, {PUT_CONNECTIONS} connections", flush=True)
    on_disk = bytes_in(data / "index" / "map")
    print(f"resident {empty / 2**20:.0f} MiB empty, {full / 2**20:.0f} after that; {on_disk / 2**20:.0f} on disk", flush=True)
    return {"names": names, "providers": announced, "rss_empty_bytes": empty, "rss_bytes": full, "map_bytes": on_disk}


def measure_resolves(work, directory, data, path):
    options = work.options
    rows = {}
    loads = {"one after the other": {"connections": 1},
             f"{RATE}/s": {"connections": RATE_CONNECTIONS, "rate": RATE},
             f"{RATE_CONNECTIONS} at once": {"connections": RATE_CONNECTIONS}}
    server, _ = start(directory, data, path, COLD_CACHE)
    try:
        for what, below in (("any name", options.names), ("with a provider", options.providers)):
            work.resolve(server, some_names(below, options.resolves), connections=RATE_CONNECTIONS)
            for how, client in loads.items():
                rows[f"{what}, {how}"] = work.resolve(server, some_names(below, options.resolves), **client)
        rss = server.rss_bytes()
        rows |= lists(work, server)
    finally:
        server.stop()
    forget_pages(data)
    server, _ = start(directory, data, path, COLD_CACHE)
    try:
        few = some_names(options.names, options.resolves // 4)
        rows["any name, pages not in memory"] = work.resolve(server, few, connections=1)
    finally:
        server.stop()
    for what, row in rows.items():
        print(f"{what}: p50 {row['p50_us'] / 1000:.2f} ms, p99 {row['p99_us'] / 1000:.2f} ms, {row['per_s']:.0f}/s", flush=True)
    return {"rows": rows, "rss_bytes": rss}


def lists(work, server):
    """Pages of a list, one after the other: of a directory with all of its names, and of directories."""
    directories = [f"/names?prefix={NAMESPACE}/{i:04}/&limit={PER_DIRECTORY}" for i in
                   random.choices(range(max(1, work.options.names // PER_DIRECTORY)), k=work.options.lists)]
    targets = {f"list of {PER_DIRECTORY} names": directories,
               "list of directories": [f"/names?prefix={NAMESPACE}/&delimiter=/&limit=50"] * work.options.lists}
    rows = {}
    for what, paths_of in targets.items():
        result = work.send(server, (clients.request("GET", target) for target in paths_of), connections=1)
        answers = result.answers["200"]
        rows[what] = {"count": answers["count"], "p50_us": answers["p50_us"], "p99_us": answers["p99_us"],
                      "per_s": answers["count"] / result.seconds}
    return rows


def measure_memory(work, directory, data, path):
    """What a full cache and all that was read keep, as more and more different names are resolved."""
    options = work.options
    server, _ = start(directory, data, path, {"cache.negative_ttl": "1h", "cache.positive_ttl": "1h"})
    samples = []
    try:
        order = random.Random(2).sample(range(options.names), options.names)
        for at in range(0, options.names, CHUNK):
            work.resolve(server, map(name_of, order[at:at + CHUNK]), connections=RATE_CONNECTIONS)
            samples.append({"resolved": at + CHUNK, "rss_bytes": server.rss_bytes(),
                            "cached": server.metric("index_cache_entries")})
    finally:
        server.stop()
    half = samples[len(samples) // 2 - 1 if len(samples) > 1 else 0]
    growth = (samples[-1]["rss_bytes"] - half["rss_bytes"]) / 2**20
    print(f"resident with {samples[-1]['cached']:.0f} answers in the cache {samples[-1]['rss_bytes'] / 2**20:.0f} MiB, "
          f"{growth:+.1f} since half of the names were resolved", flush=True)
    return {"growth_mib": growth, "samples": samples}


def leave_behind(work, directory, data, path):
    """A directory as it is when the process is killed before the map is flushed; the bytes of its log."""
    server, _ = start(directory, data, path, {})
    count = min(BEHIND, work.options.names // 2)
    work.put_names(server, range(work.options.names, work.options.names + count))
    server.process.kill()
    server.process.wait()
    return bytes_in(data / "index" / "log")


def bytes_in(directory):
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


@contextlib.contextmanager
def before_others(is_wanted):
    """What is started in here does not wait for its CPU while other programs of the machine have it."""
    if is_wanted:
        os.sched_setscheduler(0, os.SCHED_RR, os.sched_param(1))
    try:
        yield
    finally:
        if is_wanted:
            os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--providers", type=int, default=100_000, help="of the objects that are named")
    parser.add_argument("--resolves", type=int, default=20_000, help="in each row")
    parser.add_argument("--lists", type=int, default=500)
    parser.add_argument("--rounds", type=int, default=7, help="starts in each row")
    parser.add_argument("--dir", default=None)
    parser.add_argument("--realtime", action="store_true", help="latencies under SCHED_RR, for a machine that is busy")
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, names=20_000, providers=2_000, resolves=2_000, lists=20, rounds=2)
    raise_descriptor_limit()
    paths.leave_network()
    starts = {}
    with paths.Loopback() as path, scratch_directory(options.dir) as directory:
        data = pathlib.Path(directory) / "data"
        work = Work(directory, options)
        filled = fill(work, directory, data, path)
        with before_others(options.realtime):
            resolves = measure_resolves(work, directory, data, path)
        memory = measure_memory(work, directory, data, path)
        for how, is_killed in (("after a stop", False), ("after a crash", True)):
            if is_killed:
                log_bytes = leave_behind(work, directory, data, path)
            for cache, is_cold in (("cached", False), ("cold", True)):
                row = starts[f"{how}, {cache}"] = measure_starts(options, directory, data, path, is_killed, is_cold)
                print(f"start {how}, {cache}: answered after {row['median_ms']:.0f} ms, at worst {row['worst_ms']:.0f}; "
                      f"resident {row['rss_bytes'] / 2**20:.0f} MiB", flush=True)
    rounds.write_result("index_names", {
        "names": options.names, "providers": options.providers, "cold_cache": COLD_CACHE, "filled": filled,
        "resolves": resolves, "memory": memory, "starts": starts, "log_bytes": log_bytes, "realtime": options.realtime})
    fine = [rounds.verdict(f"p99 of a resolve from disk, {what}", row["p99_us"] / 1000, WANTED_P99_MS, False, " ms")
            for what, row in resolves["rows"].items() if what.endswith(("other", "/s"))]
    fine += [rounds.verdict(f"start {what}", row["median_ms"] / 1000, WANTED_START_S, False, " s")
             for what, row in starts.items()]
    fine.append(rounds.verdict("memory", memory["growth_mib"], WANTED_GROWTH_MIB, False, " MiB more"))
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
