"""Whether tenants that share a saturated upstream get their shares: through the gateway, HAProxy and nginx.

The upstream (slots.py) does a fixed amount of work at once. Three questions:
- What a tenant with 4 connections notices of one with 256, which never pauses.
- How evenly 8 tenants are served whose requests cost between 1 and 256 times as much: Jain's index of work done.
- Whether a tenant with three times the quantum gets three times the work done.
HAProxy holds back what exceeds the upstream's slots (maxconn) and serves it in order of arrival; nginx passes everything
on, and the upstream does the same."""

import argparse
import contextlib
import statistics
import sys

import clients
import paths
import proxies
import rounds
from servers import raise_descriptor_limit, scratch_directory

GREEDY, POLITE = 256, 4  # connections
SMALL = clients.busy(1024, 5000)
KIB = (1, 2, 4, 16, 32, 64, 128, 256)  # of answers; each costs a millisecond per KiB
CONNECTIONS = 12  # of each of the eight: always some waiting, and none longer than the gateway's deadline of 5 s
EACH = 64  # connections of the two whose quanta differ
QUANTA = {"gold": 3, "iron": 1}
WANTED_P99, WANTED_JAIN, WANTED_SHARE, SHARE_WITHIN = 2.0, 0.95, 3.0, 0.10

NAMES = ["polite", "greedy", *QUANTA, *(f"t{kib}" for kib in KIB)]


class Tenants:
    """Each has an address of its own or, with `tokens`, a capability with its name."""

    def __init__(self, tokens):
        self.tokens = tokens
        self.addresses = {name: f"127.0.1.{number}" for number, name in enumerate(NAMES, 1)}
        self.files = {}

    def quanta(self):
        return {name if self.tokens else self.addresses[name]: quantum for name, quantum in QUANTA.items()}

    def mint(self, gateway):
        if self.tokens:
            self.files = {name: gateway.mint(name) for name in NAMES}

    def load(self, server, name, connections, target):
        who = {"from": self.addresses[name]}
        if self.tokens:  # the peers get the same bytes; they have no use for them
            who = {"token": self.files[name]} if self.files else {}
        return {"connections": connections, "target": target, **who}


def jain(shares):
    return sum(shares) ** 2 / (len(shares) * sum(share * share for share in shares) or 1)


def polite(server, tenants, options):
    one = {"polite": tenants.load(server, "polite", POLITE, SMALL)}
    both = {**one, "greedy": tenants.load(server, "greedy", GREEDY, SMALL)}
    alone = clients.run(server, one, options.seconds)["polite"]
    beside = clients.run(server, both, options.seconds, warm_up=2)
    return {"alone_p99_ms": alone.p99_us / 1000, "p99_ms": beside["polite"].p99_us / 1000,
            "times": beside["polite"].p99_us / max(1, alone.p99_us), "alone_rps": alone.rps,
            "polite_rps": beside["polite"].rps, "greedy_rps": beside["greedy"].rps,
            "polite_refused": beside["polite"].refused, "failed": beside["polite"].failed + alone.failed}


def sizes(server, tenants, options):
    load = {f"t{kib}": tenants.load(server, f"t{kib}", CONNECTIONS, clients.busy(kib * 1024, kib * 1000)) for kib in KIB}
    done = clients.run(server, load, options.long_seconds, warm_up=4)
    work = {name: result.bytes for name, result in done.items()}
    total = sum(work.values()) or 1
    return {"jain": jain(list(work.values())), "shares": {name: amount / total for name, amount in work.items()},
            "failed": sum(result.failed for result in done.values()),
            "used": total / 1024 / 1000 / options.slots / options.long_seconds}


def quanta(server, tenants, options):
    load = {name: tenants.load(server, name, EACH, SMALL) for name in QUANTA}
    done = clients.run(server, load, options.seconds, warm_up=2)
    return {"times": done["gold"].bytes / max(1, done["iron"].bytes),
            "failed": sum(result.failed for result in done.values())}


def measure(server, tenants, options):
    return {"polite": polite(server, tenants, options), "sizes": sizes(server, tenants, options),
            "quanta": quanta(server, tenants, options)}


def middle(runs):
    """The median over the rounds of every figure."""
    if isinstance(runs[0], dict):
        return {key: middle([run[key] for run in runs]) for key in runs[0]}
    return statistics.median(runs)


def report(figures, options):
    print(f"\n{options.slots} slots; median of {options.rounds} interleaved rounds. Polite: {POLITE} connections beside {GREEDY}; "
          f"5 ms of work per request")
    print(f"{'':>8} {'p99 alone':>10} {'beside':>9} {'times':>6} {'polite/s':>9} {'greedy/s':>9} {'Jain':>6} "
          f"{'used':>5} {'gold:iron':>10} {'failed':>7}")
    for name, row in figures.items():
        p, s, q = row["polite"], row["sizes"], row["quanta"]
        print(f"{name:>8} {p['alone_p99_ms']:>7.1f} ms {p['p99_ms']:>6.1f} ms {p['times']:>6.2f} {p['polite_rps']:>9.0f} "
              f"{p['greedy_rps']:>9.0f} {s['jain']:>6.3f} {s['used']:>5.2f} {q['times']:>10.2f} "
              f"{p['failed'] + s['failed'] + q['failed']:>7.0f}")
    print(f"\nwork done for tenants by the size of their answers, % (even would be {100 / len(KIB):.1f})")
    print(f"{'':>8} " + " ".join(f"{kib:>4} KiB" for kib in KIB))
    for name, row in figures.items():
        print(f"{name:>8} " + " ".join(f"{100 * share:>8.1f}" for share in row["sizes"]["shares"].values()))
    if "ron" not in figures:
        return True
    ron = figures["ron"]
    share = ron["quanta"]["times"] / WANTED_SHARE
    aims = [rounds.verdict("polite p99 beside the greedy one, times its p99 alone", ron["polite"]["times"], WANTED_P99, False),
            rounds.verdict("Jain's index of eight sizes", ron["sizes"]["jain"], WANTED_JAIN, True),
            rounds.verdict("quanta 3:1, distance from it", abs(share - 1), SHARE_WITHIN, False),
            rounds.verdict("failed requests", sum(part["failed"] for part in ron.values()), 0, False)]
    return all(aims)


def draw(figures):
    def of(*keys):
        groups = []
        for name, row in figures.items():
            for key in keys:
                row = row[key]
            groups.append((name, row))
        return groups
    rounds.write_chart(
        "gateway_fairness", "p99 of a polite tenant, ms; Jain's index over eight tenants, %",
        [("alone", of("polite", "alone_p99_ms")), ("beside 256", of("polite", "p99_ms")),
         ("Jain", [(name, 100 * value) for name, value in of("sizes", "jain")])])
    rounds.write_chart(
        "gateway_shares", "Work done for eight tenants, % (even is 12.5), by the size of their answers",
        [(name, [(f"{kib} KiB", 100 * row["sizes"]["shares"][f"t{kib}"]) for kib in KIB]) for name, row in figures.items()])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    rounds.add_options(parser, rounds=3, seconds=5)
    parser.add_argument("--long-seconds", type=int, default=10, help="of the runs with eight tenants")
    proxies.add_option(parser)
    parser.add_argument("--slots", type=int, default=8, help="how many requests the upstream works on at once; default 8")
    parser.add_argument("--at-once", type=int, metavar="N",
                        help="how many it may get at once, as the proxies are told; 0: as they come; default what it has slots")
    parser.add_argument("--tokens", action="store_true", help="tenants are capabilities; otherwise addresses")
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, rounds=1, seconds=2, long_seconds=4)
    if options.at_once is None:
        options.at_once = options.slots
    raise_descriptor_limit()
    paths.leave_network()
    tenants = Tenants(options.tokens)
    with paths.Loopback() as path, scratch_directory() as directory, contextlib.ExitStack() as started:
        upstream = clients.Slots(options.slots, path)
        started.callback(upstream.stop)
        servers = []
        for name in options.proxies:
            servers.append(proxies.start(name, directory, upstream.address, path, options.at_once, quanta=tenants.quanta()))
            started.callback(servers[-1].stop)
            if name == "ron":
                tenants.mint(servers[-1])
        runs = {server.name: [] for server in servers}
        for _ in range(options.rounds):
            for server in servers:
                runs[server.name].append(measure(server, tenants, options))
    figures = {name: middle(of) for name, of in runs.items()}
    fine = report(figures, options)
    draw(figures)
    rounds.write_result("gateway_fairness", {
        "slots": options.slots, "at_once": options.at_once, "greedy": GREEDY, "polite": POLITE, "rounds": options.rounds, "seconds": options.seconds,
        "tenants_by": "token" if options.tokens else "address", "figures": figures, "runs": runs})
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
