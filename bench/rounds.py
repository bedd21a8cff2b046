"""Interleaved rounds of wrk against several servers, and the table that comes out of them.

The figure is CPU microseconds per request of the server process (user + system), which a noisy machine disturbs
less than throughput. One round runs every server once; a figure is the median over the rounds."""

import json
import random
import statistics
import subprocess

import chart
from servers import CLIENT_CPU, ROOT, machine

CONNECTIONS = 64
results = ROOT / "bench" / "results"  # where figures and charts go
REPORT = """
done = function(summary, latency)
  io.write(string.format("RESULT %d %d %d %f %f\\n", summary.requests, summary.duration,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
"""


def load(url, seconds, script, connections=CONNECTIONS):
    command = ["taskset", "-c", CLIENT_CPU, "wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "-s", script, url]
    out = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    fields = next(line for line in out.splitlines() if line.startswith("RESULT")).split()[1:]
    requests, micros, errors = (int(x) for x in fields[:3])
    return {"requests": requests, "rps": requests / (micros / 1e6), "errors": errors,
            "p50_us": float(fields[3]), "p99_us": float(fields[4])}


def measure(server, url, seconds, script):
    before = server.cpu_seconds()
    result = load(url, seconds, script)
    result["cpu_us"] = (server.cpu_seconds() - before) * 1e6 / result["requests"]
    return result


def compare(servers, name, targets, rounds, seconds, peers=("nginx",)):
    """`targets` has (url, wrk script) for each server's name. A ratio is the cost of the best of the peers over that
    server's."""
    controls = {server.name: server.congestion_control() for server in servers}
    if len(set(controls.values())) != 1:
        raise SystemExit(f"{name}: the connections differ in their congestion control, {controls}: nothing to compare")
    samples = {server.name: [] for server in servers}
    for server in servers:
        load(targets[server.name][0], 1, targets[server.name][1])
    for _ in range(rounds):
        for server in random.sample(servers, len(servers)):
            samples[server.name].append(measure(server, targets[server.name][0], seconds, targets[server.name][1]))
    summary = {}
    for who, runs in samples.items():
        summary[who] = {key: statistics.median(run[key] for run in runs) for key in ("cpu_us", "rps", "p50_us", "p99_us")}
        summary[who]["errors"] = sum(run["errors"] for run in runs)
    # Interleaved pairs see the same disturbance: the ratio is taken per round.
    best = [min(costs) for costs in zip(*([run["cpu_us"] for run in samples[peer]] for peer in peers))]
    ratios = {who: statistics.median(peer / run["cpu_us"] for peer, run in zip(best, runs))
              for who, runs in samples.items() if who not in peers}
    return {"size": name, "congestion_control": controls[peers[0]], "peers": peers, "servers": summary, "ratios": ratios,
            "samples": samples}


def report(benchmark, title, rows, wanted, path, options, judge_p99=False):
    """Prints the table, writes results and chart; true when every ratio of ron's is as wanted and, with `judge_p99`, no
    p99 is worse than the first peer's. What `wanted` does not name is only reported."""
    print(f"\n{title} ({path.name}): {CONNECTIONS} connections, one CPU each, median of {options.rounds} interleaved "
          f"rounds of {options.seconds} s, {rows[0]['congestion_control']} on every connection")
    width = max(len(row["size"]) for row in rows)
    print(f"{'':>{width}} {'server':>7} {'CPU us/req':>11} {'req/s':>10} {'p50 us':>9} {'p99 us':>9} {'errors':>6}  "
          f"{'|'.join(rows[0]['peers'])}/this")
    fine = True
    for row in rows:
        row["wanted"] = wanted.get(row["size"])
        held = row["wanted"] is not None
        for who, s in row["servers"].items():
            tail = f"  {row['ratios'][who]:.2f}" if who in row["ratios"] else ""
            tail += f" (wanted {row['wanted']:.2f})" if who == "ron" and held else ""
            print(f"{row['size']:>{width}} {who:>7} {s['cpu_us']:>11.2f} {s['rps']:>10.0f} {s['p50_us']:>9.0f} {s['p99_us']:>9.0f} {s['errors']:>6}{tail}")
            fine &= s["errors"] == 0
        fine &= not held or row["ratios"]["ron"] >= row["wanted"]
        if judge_p99 and held and row["servers"]["ron"]["p99_us"] > row["servers"][row["peers"][0]]["p99_us"]:
            print(f"{row['size']:>{width}}: p99 is worse")
            fine = False
    benchmark += "" if path.name == "loopback" else f"_{path.name}"
    write_result(benchmark, {"path": path.name, "connections": CONNECTIONS, "rounds": options.rounds, "seconds": options.seconds, "rows": rows})
    write_chart(benchmark, f"{title}, {path.name} (lower is better)",
                [(row["size"], [(who, s["cpu_us"]) for who, s in row["servers"].items()]) for row in rows])
    return fine


def write_result(benchmark, figures):
    results.mkdir(parents=True, exist_ok=True)
    document = {"benchmark": benchmark, "machine": machine(), **figures}
    (results / f"{benchmark}.json").write_text(json.dumps(document, indent=1) + "\n")


def write_chart(name, title, groups):
    results.mkdir(parents=True, exist_ok=True)
    (results / f"{name}.svg").write_text(chart.bars(title, groups))


def add_quick(parser):
    parser.add_argument("--quick", action="store_true", help="short, to see that it works; the figures go to build/bench")


def be_quick(options, **values):
    """Puts these values in place of the options' if a quick run is wanted."""
    global results
    if options.quick:
        vars(options).update(values)
        results = ROOT / "build" / "bench"


def add_options(parser, rounds=7, seconds=3):
    parser.add_argument("--rounds", type=int, default=rounds)
    parser.add_argument("--seconds", type=int, default=seconds)


def verdict(what, value, wanted, at_least, unit=""):
    """Prints whether an aim is held, and returns it."""
    held = value >= wanted if at_least else value <= wanted
    print(f"{'held  ' if held else 'MISSED'} {what}: {value:.3g}{unit} (wanted at {'least' if at_least else 'most'} "
          f"{wanted:g}{unit})", flush=True)
    return held
