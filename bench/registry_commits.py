"""Commits of proposals that are ready, beside etcd's puts on the same disk, with 64 clients and with one; and the whole way
from the proposal over two approvals to the commit, beside what `openssl speed` says of two verifications on that CPU.

Both make every answer durable first. A version takes about as many bytes of the log as the value that is put."""

import argparse
import contextlib
import pathlib
import random
import re
import statistics
import subprocess
import sys

import paths
import rounds
from registry import Etcd, Registry, load, versions
from servers import SERVER_CPU, raise_descriptor_limit, scratch_directory

CLIENTS = {"64 clients": 64, "1 client": 1}
WANTED_RATIO = {"64 clients": 3.0, "1 client": 1.0}  # of commits to puts per second
WANTED_SHARE = 0.80  # of the versions per second that two verifications each would allow
BUSY = 0.90  # a client that is busier than this is what is measured


def verifications_per_second():
    out = subprocess.run(["taskset", "-c", SERVER_CPU, "openssl", "speed", "-seconds", "1", "ed25519"], check=True,
                         capture_output=True, text=True).stdout
    return float(re.search(r"Ed25519\).*\s([\d.]+)$", out, re.MULTILINE)[1])


def one_round(ron, etcd, signers, ready, options, samples):
    many, few = options.commits, options.commits // 10
    load(ron, "ready", signers=signers, count=many + few, out=ready)
    for name, clients in CLIENTS.items():
        count, skip = (many, 0) if clients > 1 else (few, many)
        for server in random.sample([ron, etcd], 2):
            what = {"in": ready, "skip": skip} if server is ron else {}
            run = load(server, "commit" if server is ron else "put", connections=clients, count=count, **what)
            samples[name][server.name].append(run)
    samples["way"]["ron"].append(load(ron, "way", signers=signers, seconds=options.seconds))
    samples["way"]["openssl"].append(verifications_per_second() / 2)


def median(runs, key):
    return statistics.median(run[key] for run in runs)


def spread(values):
    return f"{min(values):.2f} to {max(values):.2f}"


def report_row(name, who, runs):
    print(f"{name:>11} {who:>8} {median(runs, 'per_s'):>9.0f} {median(runs, 'cpu_us'):>9.1f} {median(runs, 'p50_us'):>8.0f} "
          f"{median(runs, 'p99_us'):>8.0f} {max(run['client_busy'] for run in runs):>12.2f}")


def report(samples, options):
    print(f"\ncommits of ready proposals and puts: one CPU each, median of {options.rounds} interleaved rounds of "
          f"{options.commits} commits")
    print(f"{'':>11} {'server':>8} {'per s':>9} {'CPU us':>9} {'p50 us':>8} {'p99 us':>8} {'client busy':>12}")
    fine = True
    for name in CLIENTS:
        for who, runs in samples[name].items():
            report_row(name, who, runs)
    report_row("whole way", "ron", samples["way"]["ron"])
    figures = {}
    for name in CLIENTS:
        ratios = [a["per_s"] / b["per_s"] for a, b in zip(samples[name]["ron"], samples[name]["etcd"])]
        costs = [b["cpu_us"] / a["cpu_us"] for a, b in zip(samples[name]["ron"], samples[name]["etcd"])]
        figures[name] = {"ratio": statistics.median(ratios), "ratios": ratios, "cpu_ratio": statistics.median(costs)}
        fine &= rounds.verdict(f"commits / puts, {name} ({spread(ratios)}; CPU time {figures[name]['cpu_ratio']:.2f})",
                               figures[name]["ratio"], WANTED_RATIO[name], at_least=True)
    shares = [run["per_s"] / allowed for run, allowed in zip(samples["way"]["ron"], samples["way"]["openssl"])]
    # openssl counts CPU time: on a busy machine it is not kept waiting, and ron is.
    costs = [1e6 / allowed / run["cpu_us"] for run, allowed in zip(samples["way"]["ron"], samples["way"]["openssl"])]
    figures["way"] = {"share": statistics.median(shares), "shares": shares, "cpu_share": statistics.median(costs)}
    fine &= rounds.verdict(f"the whole way, of {statistics.median(samples['way']['openssl']):.0f} versions per second that "
                           f"two verifications allow ({spread(shares)}; of the CPU time {figures['way']['cpu_share']:.2f})",
                           figures["way"]["share"], WANTED_SHARE, at_least=True)
    busiest = max(run["client_busy"] for name in samples for run in samples[name]["ron"])
    fine &= rounds.verdict("share of its CPU that the client took beside ron", busiest, BUSY, at_least=False)
    rounds.write_result("registry_commits", {"peers": versions(), "commits": options.commits, "rounds": options.rounds,
                                             "seconds": options.seconds, "figures": figures, "samples": samples})
    rounds.write_chart("registry_commits", "Versions and puts per second (higher is better)",
                       [(name, [(who, median(runs, "per_s")) for who, runs in samples[name].items()]) for name in CLIENTS] +
                       [("whole way", [("ron", median(samples["way"]["ron"], "per_s")),
                                       ("openssl", statistics.median(samples["way"]["openssl"]))])])
    return fine


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    rounds.add_options(parser, rounds=5, seconds=4)
    parser.add_argument("--commits", type=int, default=20_000, help="of each round, with 64 clients; a tenth with one")
    parser.add_argument("--dir", default=None, help="where both keep their files")
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", help="a key of the registry")
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, rounds=1, seconds=1, commits=5000)
    raise_descriptor_limit()
    paths.leave_network()
    samples = {name: {"ron": [], "etcd": []} for name in CLIENTS} | {"way": {"ron": [], "openssl": []}}
    with paths.Loopback() as path, scratch_directory(options.dir) as directory, contextlib.ExitStack() as started:
        limits = dict(pair.split("=", 1) for pair in options.set)
        ron = Registry(directory, data=pathlib.Path(directory) / "data", path=path, limits=limits)
        started.callback(ron.stop)
        etcd = Etcd(directory, path)
        started.callback(etcd.stop)
        signers = ron.signers()
        load(etcd, "put", count=options.commits // 10)
        for _ in range(options.rounds):
            one_round(ron, etcd, signers, pathlib.Path(directory) / "ready", options, samples)
    return 0 if report(samples, options) else 1


if __name__ == "__main__":
    sys.exit(main())
