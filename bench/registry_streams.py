"""What readers of the event stream that have stopped reading cost those who commit: two registries on one CPU, in turn, one of
them with 256 such readers. In the end the readers go on, and every version must have been an event or in a gap."""

import argparse
import contextlib
import json
import pathlib
import random
import re
import socket
import statistics
import subprocess
import sys
import urllib.request

import paths
import rounds
from registry import Registry, load
from servers import raise_descriptor_limit, scratch_directory

CLIENTS = {"64 clients": 64, "1 client": 1}
WANTED_RATIO = 1.2  # of p99 with the readers to p99 without
WANTED_GROWTH = 256 << 10  # bytes of memory for a reader, at most
SMALL_BUFFER = 4096
PATIENCE_S = 60
PORTION = 1000
MOST_TO_STALL = 50_000


class Reader:
    """One that asked for the stream, and reads when it is told to."""

    def __init__(self, server):
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SMALL_BUFFER)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect((server.path.address, server.port))
        self.socket.sendall(b"GET /registry/stream HTTP/1.1\r\nHost: ron\r\n\r\n")
        self.received = b""
        while b"\r\n\r\n" not in self.received:
            self.received += self.socket.recv(SMALL_BUFFER)
        head, self.received = self.received.split(b"\r\n\r\n", 1)
        if b" 200 " not in head:
            raise SystemExit(f"no stream: {head.decode()}")
        self.is_chunked = b"chunked" in head.lower()
        self.text = b""

    def events(self, until):
        """All events up to the one of version `until`: (name, data)."""
        events = []
        while not events or (events[-1][1].get("to") or events[-1][1]["version"]) < until:
            self.take()
            while b"\n\n" in self.text:
                event, self.text = self.text.split(b"\n\n", 1)
                fields = dict(line.split(": ", 1) for line in event.decode().splitlines() if not line.startswith(":"))
                if fields:
                    events.append((fields["event"], json.loads(fields["data"])))
        return events

    def take(self):
        received = self.socket.recv(1 << 16)
        if not received:
            raise SystemExit("a stream was closed")
        self.received += received
        if not self.is_chunked:
            self.text, self.received = self.text + self.received, b""
            return
        while b"\r\n" in self.received:
            size, rest = self.received.split(b"\r\n", 1)
            length = int(size, 16)
            if len(rest) < length + 2:
                return
            self.text += rest[:length]
            self.received = rest[length + 2:]


def lagged(server):
    text = urllib.request.urlopen(f"http://{server.path.address}:{server.admin_port}/metrics").read().decode()
    return sum(float(value) for value in re.findall(r'^bus_lagged_total\{[^}]*stream[^}]*\} ([\d.e+]+)$', text, re.MULTILINE))


def head(server):
    return json.loads(server.ask(f"{server.base}/registry/head", "GET"))["version"]


def check_events(readers, first, last):
    """Versions that were in a gap, all readers together. Fails when one was neither in a gap nor an event, or was twice."""
    missed = 0
    for reader in readers:
        next_version = first
        for name, data in reader.events(last):
            begins, ends = (data["from"], data["to"]) if name == "gap" else (data["version"], data["version"])
            if begins != next_version:
                raise SystemExit(f"after version {next_version - 1} a reader was told of {begins}")
            missed += ends + 1 - begins if name == "gap" else 0
            next_version = ends + 1
    return missed


def unread(server):
    """Bytes that the kernel keeps for the server's clients."""
    shown = subprocess.run(["ss", "-Htn", "state", "established", f"sport = :{server.port}"], check=True, capture_output=True,
                           text=True).stdout
    return sum(int(line.split()[1]) for line in shown.splitlines())


def stall(server, signers, directory):
    """Commits until the readers' buffers are full. How many versions that took, what one cost, and the bytes kept."""
    versions, before, costs = 0, -1, []
    while unread(server) != before:
        before = unread(server)
        ready = pathlib.Path(directory) / "ready"
        load(server, "ready", signers=signers, count=PORTION, out=ready)
        costs.append(load(server, "commit", **{"in": ready}, count=PORTION)["cpu_us"])
        versions += PORTION
        if versions > MOST_TO_STALL:
            raise SystemExit(f"the readers take everything: {before} bytes are on their way")
    return {"versions": versions, "cpu_us": costs[0], "bytes": before}


def measure(servers, signers, directory, options):
    samples = {name: {who: [] for who in servers} for name in CLIENTS}
    few = options.commits // 10
    for _ in range(options.rounds):
        for who in random.sample(list(servers), len(servers)):
            ready = pathlib.Path(directory) / "ready"
            load(servers[who], "ready", signers=signers[who], count=options.commits + few, out=ready)
            for name, clients in CLIENTS.items():
                count, skip = (options.commits, 0) if clients > 1 else (few, options.commits)
                samples[name][who].append(load(servers[who], "commit", **{"in": ready}, count=count, skip=skip,
                                               connections=clients))
    return samples


def report(samples, options):
    print(f"\ncommits beside {options.readers} readers that do not read: one CPU, median of {options.rounds} interleaved rounds")
    print(f"{'':>11} {'readers':>8} {'per s':>9} {'CPU us':>9} {'p50 us':>8} {'p99 us':>8}")
    fine, ratios = True, {}
    for name, of in samples.items():
        medians = {who: {key: statistics.median(run[key] for run in runs) for key in ("per_s", "cpu_us", "p50_us", "p99_us")}
                   for who, runs in of.items()}
        for who, row in medians.items():
            print(f"{name:>11} {who:>8} {row['per_s']:>9.0f} {row['cpu_us']:>9.1f} {row['p50_us']:>8.0f} {row['p99_us']:>8.0f}")
        ratios[name] = medians["stalled"]["p99_us"] / medians["none"]["p99_us"]
    for name, ratio in ratios.items():
        fine &= rounds.verdict(f"p99 with / without, {name}", ratio, WANTED_RATIO, at_least=False)
    return fine, ratios


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commits", type=int, default=10_000, help="of each round, with 64 clients; a tenth with one")
    parser.add_argument("--readers", type=int, default=256)
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, rounds=1, commits=3000)
    raise_descriptor_limit()
    paths.leave_network()
    with paths.Loopback() as path, scratch_directory() as directory, contextlib.ExitStack() as started:
        servers, signers = {}, {}
        for who in ("none", "stalled"):
            # Otherwise whoever takes nothing for five seconds is cut off.
            limits = {"write_timeout": "10m", "sse.max_streams": options.readers,
                      "sse.max_streams_per_tenant": options.readers}
            servers[who] = Registry(directory, data=pathlib.Path(directory) / who, path=path, name=who, limits=limits)
            started.callback(servers[who].stop)
            signers[who] = servers[who].signers()
        stalled = servers["stalled"]
        resident = {"at the start": stalled.rss_bytes()}
        first = head(stalled) + 1
        readers = [Reader(stalled) for _ in range(options.readers)]
        resident["readers open"] = stalled.rss_bytes()
        stalling = stall(stalled, signers["stalled"], directory)
        print(f"the readers were stalled after {stalling['versions']} versions, the first of which took {stalling['cpu_us']:.0f} "
              f"us of CPU each; the kernel keeps {stalling['bytes'] / 2**20:.1f} MiB for them")
        samples = measure(servers, signers, directory, options)
        resident["after all commits"] = stalled.rss_bytes()
        resident["the other, after all commits"] = servers["none"].rss_bytes()
        fine, ratios = report(samples, options)
        growth = (resident["after all commits"] - resident["the other, after all commits"]) / options.readers
        fine &= rounds.verdict("memory for each reader", growth / 1024, WANTED_GROWTH / 1024, at_least=False, unit=" KiB")
        last = head(stalled)
        missed = check_events(readers, first, last)
        counted = lagged(stalled)
        print(f"versions {first} to {last}: each was an event or in a gap for each of {len(readers)} readers; {missed} in gaps, "
              f"bus_lagged_total {counted:.0f}; resident " +
              ", ".join(f"{name} {bytes_ / 2**20:.0f} MiB" for name, bytes_ in resident.items()))
        fine &= rounds.verdict("versions in gaps, if the readers were to lag", missed, 1, at_least=True)
    rounds.write_result("registry_streams", {"commits": options.commits, "rounds": options.rounds, "readers": options.readers,
                                             "ratios": ratios, "stalling": stalling, "resident": resident, "missed": missed, "lagged": counted,
                                             "samples": samples})
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
