"""Warm hits by 50 clients while fills run beside them: how long they take."""

import argparse
import contextlib
import os
import pathlib
import subprocess
import sys
import threading
import urllib.request

import paths
import rounds
from edge import Edge, Origin
from servers import CLIENT_CPU, raise_descriptor_limit, scratch_directory

CLIENTS = 50
P95_MS = 40
ASSET_BYTES = 64 << 10
FILLS = 4000  # different ones, so that each is a miss
REPORT = """
done = function(summary, latency)
  io.write(string.format("RESULT %d %f %f %d\\n", summary.requests, latency:percentile(50), latency:percentile(95),
    summary.errors.status + summary.errors.read + summary.errors.timeout))
end
"""


def fill(server, names, stop, done):
    for name in names:
        if stop.is_set():
            return
        with urllib.request.urlopen(f"{server.base}/edge/assets/localhost:{server.origin.tls_port}/{name}") as answer:
            answer.read()
            done.append(answer.headers["X-Cache"])


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=10)
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, seconds=2)
    raise_descriptor_limit()
    paths.leave_network()
    with paths.Loopback() as path, scratch_directory() as directory, contextlib.ExitStack() as started:
        script = pathlib.Path(directory) / "report.lua"
        script.write_text(REPORT)
        origin = Origin(directory, path, CLIENT_CPU)
        started.callback(origin.stop)
        ron = Edge(directory, origin, data=pathlib.Path(directory) / "data", path=path)
        started.callback(ron.stop)
        files = []
        for number in range(FILLS):
            body = pathlib.Path(directory) / "body"
            body.write_bytes(os.urandom(ASSET_BYTES))
            os.replace(body, origin.directory / "www" / f"cold-{number}")
            files.append(f"cold-{number}")
        warm = pathlib.Path(directory) / "warm"
        warm.write_bytes(os.urandom(ASSET_BYTES))
        origin.put(warm)
        url = ron.asset(warm)
        stop, done = threading.Event(), []
        fillers = [threading.Thread(target=fill, args=(ron, files[number::8], stop, done)) for number in range(8)]
        for filler in fillers:
            filler.start()
        out = subprocess.run(["taskset", "-c", CLIENT_CPU, "wrk", "-t1", f"-c{CLIENTS}", f"-d{options.seconds}s", "-s", script,
                              url], check=True, capture_output=True, text=True).stdout
        stop.set()
        for filler in fillers:
            filler.join()
        fields = next(line for line in out.splitlines() if line.startswith("RESULT")).split()[1:]
    requests, p50, p95, errors = int(fields[0]), float(fields[1]) / 1e3, float(fields[2]) / 1e3, int(fields[3])
    print(f"{requests} hits by {CLIENTS} clients beside {len(done)} fills of {ASSET_BYTES >> 10} KiB: p50 {p50:.2f} ms, "
          f"p95 {p95:.2f} ms, {errors} errors")
    rounds.write_result("edge_mixed", {"clients": CLIENTS, "hits": requests, "fills": len(done), "p50_ms": p50, "p95_ms": p95,
                                       "errors": errors})
    fine = rounds.verdict("p95 of warm hits while fills run", p95, P95_MS, False, " ms")
    return 0 if fine and errors == 0 and len(done) > 0 else 1


if __name__ == "__main__":
    sys.exit(main())
