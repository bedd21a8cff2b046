"""From the start of `ron up` to the first /readyz that says ready, on a directory of 100,000 objects: after a drain, and
after a kill, when what the index has not flushed is replayed."""

import argparse
import http.client
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import rounds
from scale import fill
from servers import RON, Ron, raise_descriptor_limit, scratch_directory

READY_S = 0.300


def start(data):
    """A running `ron up` on the directory, and the seconds until it was ready."""
    began = time.monotonic()
    process = subprocess.Popen([RON, "up", "--data", data, "--bind", "127.0.0.1:0", "--admin", "127.0.0.1:0",
                                "--log-level", "warn"], stdout=subprocess.PIPE, text=True)
    host, port = process.stdout.readline().split()[-1].rsplit(":", 1)
    while True:
        connection = http.client.HTTPConnection(host, int(port), timeout=10)
        connection.request("GET", "/readyz")
        status = connection.getresponse().status
        connection.close()
        if status == 200:
            return process, time.monotonic() - began
        time.sleep(0.001)


def measure(data, times, end):
    """Seconds of each start; every one is ended by the signal before the next."""
    taken = []
    for _ in range(times):
        process, seconds = start(data)
        taken.append(seconds)
        process.send_signal(end)
        process.wait(timeout=30)
        process.stdout.close()
    return taken


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objects", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--dir", default=None)
    options = parser.parse_args()
    raise_descriptor_limit()
    rows = {}
    with scratch_directory(options.dir) as directory:
        data = pathlib.Path(directory) / "data"
        server = Ron(directory, data=data)
        try:
            objects = fill(server, directory, options.objects)
        finally:
            server.process.kill()  # so that the first start has a log to replay
            server.process.wait()
        process, replayed = start(data)
        process.terminate()
        process.wait(timeout=30)
        process.stdout.close()
        for name, end in (("after a drain", signal.SIGTERM), ("after a kill", signal.SIGKILL)):
            taken = measure(data, options.rounds, end)
            rows[name] = {"median_ms": statistics.median(taken) * 1000, "worst_ms": max(taken) * 1000}
            print(f"{objects} objects, {name}: ready in {rows[name]['median_ms']:.0f} ms, at worst {rows[name]['worst_ms']:.0f} "
                  f"(wanted below {READY_S * 1000:.0f})", flush=True)
    print(f"the first start after filling, with a log to replay: {replayed * 1000:.0f} ms")
    rounds.write_result("start_up", {"objects": objects, "rows": rows, "replay_ms": replayed * 1000})
    return 0 if all(row["median_ms"] < READY_S * 1000 for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
