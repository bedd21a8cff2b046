"""Twice as many requests as the upstream can serve, for minutes: the gateway has to go on serving what can be served,
refuse the rest quickly, and not grow.

What can be served is measured first, by as many connections as keep the upstream (slots.py) busy. Then requests of
several tenants arrive at random times at twice that rate, whatever becomes of them."""

import argparse
import contextlib
import sys
import threading

import clients
import paths
import proxies
import rounds
from servers import raise_descriptor_limit, scratch_directory

SLOTS, TARGET = 8, clients.busy(1024, 5000)
TENANTS = 4
CONNECTIONS = 512  # of each tenant: more than can be in the gateway at once
OVER = 2.0
WANTED_GOODPUT, WANTED_REFUSED_P99_MS = 0.90, 10
WANTED_GROWTH = 4 << 20  # bytes, by the slope after the warm-up over the whole run


class Memory(threading.Thread):
    """Samples of a server's memory until `stop`."""

    def __init__(self, server, every):
        super().__init__()
        self.server, self.every = server, every
        self.samples = []
        self.done = threading.Event()

    def run(self):
        while not self.done.wait(self.every):
            self.samples.append((len(self.samples) * self.every, self.server.rss_bytes()))

    def stop(self):
        self.done.set()
        self.join()

    def growth_bytes(self):
        """The slope of the last three quarters, times the whole run."""
        late = self.samples[len(self.samples) // 4:]
        if len(late) < 2:
            return 0.0
        mean_at = sum(at for at, _ in late) / len(late)
        mean = sum(rss for _, rss in late) / len(late)
        slope = (sum((at - mean_at) * (rss - mean) for at, rss in late) / sum((at - mean_at) ** 2 for at, _ in late))
        return slope * (self.samples[-1][0] - self.samples[0][0])


def capacity(server, seconds):
    return clients.run(server, {"all": {"connections": 64, "target": TARGET}}, seconds, warm_up=2)["all"].rps


def overload(server, options):
    """Figures of one server."""
    before = capacity(server, options.seconds)
    load = {f"tenant {number}": {"connections": CONNECTIONS, "target": TARGET, "rate": OVER * before / TENANTS,
                                 "from": f"127.0.1.{number + 1}"} for number in range(TENANTS)}
    memory = Memory(server, 0.5 if options.minutes < 1 else 2)
    memory.start()
    cpu = server.cpu_seconds()
    try:
        results = clients.run(server, load, options.minutes * 60, warm_up=5)
    finally:
        memory.stop()
    done = list(results.values())
    goodput = sum(result.rps for result in done)
    return {"capacity_rps": before, "capacity_after_rps": capacity(server, options.seconds), "offered_rps": OVER * before,
            "goodput_rps": goodput, "goodput": goodput / before, "p99_ms": max(result.p99_us for result in done) / 1000,
            "refused_rps": sum(result.refused for result in done) / done[0].seconds,
            "refused_p99_ms": max(result.refused_p99_us for result in done) / 1000,
            "failed": sum(result.failed for result in done), "waiting": sum(result.document["waiting"] for result in done),
            "rss_first": memory.samples[0][1], "rss_last": memory.samples[-1][1], "growth_bytes": memory.growth_bytes(),
            "cpu": (server.cpu_seconds() - cpu) / (options.minutes * 60), "rss": memory.samples,
            "answers": {name: result.answers for name, result in results.items()}}


def report(figures, options):
    print(f"\n{OVER:g} times over capacity for {options.minutes:g} minutes: {SLOTS} slots of 5 ms, {TENANTS} tenants")
    print(f"{'':>8} {'capacity/s':>11} {'goodput/s':>10} {'of it':>6} {'p99':>9} {'refused/s':>10} {'their p99':>10} "
          f"{'failed':>7} {'not sent':>9} {'MiB':>6} {'growth':>8}")
    for name, row in figures.items():
        print(f"{name:>8} {row['capacity_rps']:>11.0f} {row['goodput_rps']:>10.0f} {row['goodput']:>6.3f} "
              f"{row['p99_ms']:>6.0f} ms {row['refused_rps']:>10.0f} {row['refused_p99_ms']:>7.2f} ms {row['failed']:>7} "
              f"{row['waiting']:>9} {row['rss_last'] / 2**20:>6.1f} {row['growth_bytes'] / 2**20:>+8.2f}")
    if "ron" not in figures:
        return True
    ron = figures["ron"]
    aims = [rounds.verdict("goodput, of capacity", ron["goodput"], WANTED_GOODPUT, True),
            rounds.verdict("p99 of refusals", ron["refused_p99_ms"], WANTED_REFUSED_P99_MS, False, " ms"),
            rounds.verdict("growth of memory", ron["growth_bytes"] / 2**20, WANTED_GROWTH / 2**20, False, " MiB"),
            rounds.verdict("requests neither served nor refused", ron["failed"], 0, False)]
    return all(aims)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seconds", type=int, default=10, help="of the measurement of capacity")
    proxies.add_option(parser, default=("ron",))
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, minutes=0.2, seconds=2)
    raise_descriptor_limit()
    paths.leave_network()
    figures = {}
    with paths.Loopback() as path, scratch_directory() as directory, contextlib.ExitStack() as started:
        upstream = clients.Slots(SLOTS, path)
        started.callback(upstream.stop)
        for name in options.proxies:
            # Here the bound on what is in flight is what refuses: it stays as it comes.
            server = proxies.start(name, directory, upstream.address, path, at_once=SLOTS, limits={"server.max_inflight": 512})
            started.callback(server.stop)
            figures[name] = overload(server, options)
    fine = report(figures, options)
    rounds.write_result("gateway_overload", {"minutes": options.minutes, "over": OVER, "slots": SLOTS, "tenants": TENANTS,
                                             "figures": figures})
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
