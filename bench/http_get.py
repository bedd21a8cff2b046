"""Verified objects from memory against nginx's static files: the same bytes, interleaved, one CPU each.

Reports CPU microseconds per request of the server process (user + system), which a noisy machine disturbs
less than throughput. One round runs every server once; the figure is the median over the rounds."""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys

import chart
from servers import CLIENT_CPU, ROOT, Nginx, Ron, machine, raise_descriptor_limit, scratch_directory

SIZES = {"1 KiB": 1 << 10, "64 KiB": 1 << 16, "1 MiB": 1 << 20}
WANTED = {"1 KiB": 1.30, "64 KiB": 1.10, "1 MiB": 1.20}
CONNECTIONS = 64
REPORT = """
done = function(summary, latency)
  io.write(string.format("RESULT %d %d %d %f %f\\n", summary.requests, summary.duration,
    summary.errors.connect + summary.errors.read + summary.errors.write + summary.errors.status + summary.errors.timeout,
    latency:percentile(50), latency:percentile(99)))
end
"""


def load(url, seconds, script):
    command = ["taskset", "-c", CLIENT_CPU, "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "-s", script, url]
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


def compare(servers, name, size, rounds, seconds, directory):
    body = pathlib.Path(directory) / f"object-{size}"
    body.write_bytes(os.urandom(size))
    script = pathlib.Path(directory) / "report.lua"
    script.write_text(REPORT)
    urls = {server.name: server.put(body) for server in servers}
    samples = {server.name: [] for server in servers}
    for server in servers:
        load(urls[server.name], 1, script)
    for _ in range(rounds):
        for server in random.sample(servers, len(servers)):
            samples[server.name].append(measure(server, urls[server.name], seconds, script))
    summary = {}
    for who, runs in samples.items():
        summary[who] = {key: statistics.median(run[key] for run in runs) for key in ("cpu_us", "rps", "p50_us", "p99_us")}
        summary[who]["errors"] = sum(run["errors"] for run in runs)
    # Interleaved pairs see the same disturbance: the ratio is taken per round.
    ratio = statistics.median(n["cpu_us"] / r["cpu_us"] for n, r in zip(samples["nginx"], samples["ron"]))
    return {"size": name, "bytes": size, "servers": summary, "ratio": ratio, "wanted": WANTED[name], "samples": samples}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=int, default=3)
    options = parser.parse_args()
    raise_descriptor_limit()
    with scratch_directory() as directory:
        servers = [Ron(directory), Nginx(directory)]
        try:
            rows = [compare(servers, name, size, options.rounds, options.seconds, directory) for name, size in SIZES.items()]
        finally:
            for server in servers:
                server.stop()
    print(f"\n{CONNECTIONS} connections, median of {options.rounds} interleaved rounds of {options.seconds} s, one CPU each")
    print(f"{'size':>7} {'server':>6} {'CPU us/req':>11} {'req/s':>10} {'p50 us':>9} {'p99 us':>9} {'errors':>6}  nginx/ron")
    fine = True
    for row in rows:
        for who in ("ron", "nginx"):
            s = row["servers"][who]
            tail = f"  {row['ratio']:.2f} (wanted {row['wanted']:.2f})" if who == "ron" else ""
            print(f"{row['size']:>7} {who:>6} {s['cpu_us']:>11.2f} {s['rps']:>10.0f} {s['p50_us']:>9.0f} {s['p99_us']:>9.0f} {s['errors']:>6}{tail}")
        fine &= row["ratio"] >= row["wanted"]
    results = ROOT / "bench" / "results"
    results.mkdir(exist_ok=True)
    document = {"benchmark": "http_get", "machine": machine(), "connections": CONNECTIONS, "rounds": options.rounds,
                "seconds": options.seconds, "rows": rows}
    (results / "http_get.json").write_text(json.dumps(document, indent=1) + "\n")
    (results / "http_get.svg").write_text(chart.bars(
        "CPU microseconds per verified GET (lower is better)",
        [(row["size"], [(who, row["servers"][who]["cpu_us"]) for who in ("ron", "nginx")]) for row in rows]))
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
