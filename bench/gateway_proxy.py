"""What the gateway costs: beside HAProxy and nginx in front of the same upstream, in front of storage in its own process
beside storage alone, and what it adds to the latency at half of the load it can bear.

The proxies share one CPU, one at a time; the upstream, an nginx with static files, shares the other one with the client."""

import argparse
import contextlib
import os
import pathlib
import random
import statistics
import sys

import clients
import paths
import proxies
import rounds
from servers import CLIENT_CPU, Nginx, Ron, raise_descriptor_limit, scratch_directory

SIZES = {"1 KiB": 1 << 10, "64 KiB": 1 << 16}
WANTED_RATIO = 1.0  # of the better peer's CPU time to ours; 1.3 is the aim
WANTED_INPROC_RATIO = 1 / 1.25  # of storage's alone to that of storage behind the gateway
WANTED_ADDED_US = 400


def write_object(directory, size):
    body = pathlib.Path(directory) / f"object-{size}"
    body.write_bytes(os.urandom(size))
    return body


def latency(servers, targets, rate, options):
    """p50 and p99 of each server at that rate, in microseconds, and what each adds to the first one's p99: medians over
    interleaved rounds."""
    samples = {server.name: [] for server in servers}
    for _ in range(options.rounds):
        for server in random.sample(servers, len(servers)):
            load = {"target": targets[server.name], "rate": rate, "connections": rounds.CONNECTIONS}
            samples[server.name].append(clients.run(server, {"load": load}, options.seconds)["load"])
    base = samples[servers[0].name]
    rows = {}
    for name, runs in samples.items():
        rows[name] = {"p50_us": statistics.median(run.p50_us for run in runs),
                      "p99_us": statistics.median(run.p99_us for run in runs),
                      "added_p99_us": statistics.median(run.p99_us - other.p99_us for run, other in zip(runs, base)),
                      "failed": sum(run.failed + run.refused for run in runs)}
    return rows


def report_latency(title, rows, rate):
    print(f"\n{title}: {rate:.0f} requests per second at random times, {rounds.CONNECTIONS} connections")
    print(f"{'':>9} {'p50 us':>8} {'p99 us':>8} {'added p99':>10} {'failed':>7}")
    for name, row in rows.items():
        print(f"{name:>9} {row['p50_us']:>8.0f} {row['p99_us']:>8.0f} {row['added_p99_us']:>10.0f} {row['failed']:>7}")
    if "ron" not in rows:
        return True
    fine = rounds.verdict("added p99", rows["ron"]["added_p99_us"], WANTED_ADDED_US, at_least=False, unit=" us")
    return fine and rows["ron"]["failed"] == 0


def half_of(row):
    servers = row["servers"]
    return (servers["ron"] if "ron" in servers else next(iter(servers.values())))["rps"] / 2


def cost_of_proxying(servers, path, script, options):
    """True when as wanted; and half of what ron can do at 1 KiB."""
    peers = tuple(name for name in options.proxies if name in proxies.PEERS)
    rows = []
    for name, size in SIZES.items():
        targets = {server.name: (f"http://{path.address}:{server.port}/object-{size}", script) for server in servers}
        rows.append(rounds.compare(servers, name, targets, options.rounds, options.seconds, peers))
    wanted = dict.fromkeys(SIZES, WANTED_RATIO) if "ron" in options.proxies else {}
    fine = rounds.report("gateway_proxy", "CPU microseconds per proxied GET", rows, wanted, path, options)
    return fine, half_of(rows[0])


def proxying(directory, script, path, options, results):
    with contextlib.ExitStack() as started:
        upstream = Nginx(directory, path, "upstream", cpu=CLIENT_CPU)
        started.callback(upstream.stop)
        for size in SIZES.values():
            upstream.put(write_object(directory, size))
        servers = []
        for name in options.proxies:
            servers.append(proxies.start(name, directory, f"{path.address}:{upstream.port}", path))
            started.callback(servers[-1].stop)
        fine, rate = True, options.latency_at
        if not rate:
            fine, rate = cost_of_proxying(servers, path, script, options)
        everyone = [upstream, *servers]
        target = f"/object-{SIZES['1 KiB']}"
        results["proxied"] = latency(everyone, {server.name: target for server in everyone}, rate, options)
        results["proxied_rate"] = rate
        return report_latency("proxied 1 KiB", results["proxied"], rate) and fine


def in_process(directory, script, path, options, results):
    with contextlib.ExitStack() as started:
        servers = [Ron(directory, path=path, name="alone"), proxies.Up(directory, path=path)]
        for server in servers:
            started.callback(server.stop)
        body = write_object(directory, SIZES["1 KiB"])
        urls = {server.name: server.put(body) for server in servers}
        fine, rate = True, options.latency_at
        if not rate:
            targets = {name: (url, script) for name, url in urls.items()}
            row = rounds.compare(servers, "1 KiB", targets, options.rounds, options.seconds, peers=("alone",))
            fine = rounds.report("gateway_inproc", "CPU microseconds per GET of storage alone and behind the gateway",
                                 [row], {"1 KiB": WANTED_INPROC_RATIO}, path, options)
            rate = half_of(row)
        targets = {name: "/" + url.split("/", 3)[3] for name, url in urls.items()}
        results["in_process"] = latency(servers, targets, rate, options)
        results["in_process_rate"] = rate
        return report_latency("storage, 1 KiB", results["in_process"], rate) and fine


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    rounds.add_options(parser)
    proxies.add_option(parser)
    parser.add_argument("--latency-at", type=float, metavar="RATE",
                        help="only latency, at so many requests per second; otherwise at half of what ron can do")
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, rounds=2, seconds=1)
    raise_descriptor_limit()
    paths.leave_network()
    results = {}
    with paths.Loopback() as path, scratch_directory() as directory:
        script = pathlib.Path(directory) / "report.lua"
        script.write_text(rounds.REPORT)
        fine = proxying(directory, script, path, options, results)
        if "ron" in options.proxies:
            fine &= in_process(directory, script, path, options, results)
    rounds.write_result("gateway_latency", {"rounds": options.rounds, "seconds": options.seconds, **results})
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
