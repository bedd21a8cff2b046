"""Many small objects: start-up time, latency, memory and overhead with two million, beside the same with a hundredth."""

import argparse
import pathlib
import random
import statistics
import subprocess
import sys
import time

import rounds
from disk_put import PUTS
from servers import Ron, raise_descriptor_limit, scratch_directory

OBJECT = 1 << 10
CACHE = 0  # the memory tier is off: every GET goes through the index to the disk
SAMPLE = 200_000  # addresses asked for, from all over the store
GETS = """
local paths = {}
for line in io.lines("%s") do paths[#paths + 1] = "/o/" .. line end
local at = 0
request = function()
  at = at %% #paths + 1
  return wrk.format("GET", paths[at])
end
"""


def fill(server, directory, count):
    """Stores `count` new objects; wrk only knows how to run for a time, so in slices."""
    script = pathlib.Path(directory) / "fill.lua"
    stored, number = server.objects(), 0
    while stored < count:
        script.write_text(PUTS % (OBJECT - 24, server.token, f"{count:08d}{number:04d}") + rounds.REPORT)
        result = rounds.load(server.base, 5, script)
        if result["errors"]:
            raise SystemExit(f"{result['errors']} errors while filling")
        stored, number = server.objects(), number + 1
        print(f"  {stored} objects, {result['rps']:.0f} puts/s", flush=True)
    return stored


def some_addresses(server, count):
    """Addresses from all over the store, in random order."""
    found = []
    while len(found) < count:
        after = "b3:" + random.randbytes(32).hex()
        page = server.admin_json(f"/admin/objects?after={after}&limit=1000")["objects"]
        found += [entry["address"] for entry in page]
    random.shuffle(found)
    return found[:count]


def start(directory, data):
    """A server on the store, and the addresses to ask it for."""
    began = time.monotonic()
    server = Ron(directory, data=data, limits={"cache_bytes": CACHE})
    listening = time.monotonic() - began
    names = pathlib.Path(directory) / f"addresses-{data.name}"
    names.write_text("\n".join(some_addresses(server, min(SAMPLE, server.objects()))) + "\n")
    script = pathlib.Path(directory) / f"gets-{data.name}.lua"
    script.write_text(GETS % names + rounds.REPORT)
    rounds.load(server.base, 2, script)
    return server, script, listening


def summary(server, data, listening, runs):
    if any(run["errors"] for run in runs):
        raise SystemExit("errors while reading")
    taken = int(subprocess.run(["du", "-sb", data], check=True, capture_output=True, text=True).stdout.split()[0])
    objects = server.objects()
    row = {"objects": objects, "listening_s": listening, "rss_bytes": server.rss_bytes(),
           "overhead_bytes": (taken - objects * OBJECT) / objects,
           **{key: statistics.median(run[key] for run in runs) for key in ("cpu_us", "rps", "p50_us", "p99_us")}}
    print(f"{row['objects']:>8} objects: listening {row['listening_s']:.2f} s, p50 {row['p50_us']:.0f} us, p99 {row['p99_us']:.0f} us, "
          f"{row['cpu_us']:.1f} CPU us, RSS {row['rss_bytes'] / 2**20:.0f} MiB, {row['overhead_bytes']:.0f} bytes of overhead each", flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    rounds.add_options(parser, rounds=7)
    parser.add_argument("--objects", type=int, default=2_000_000)
    parser.add_argument("--dir", default=None)
    options = parser.parse_args()
    raise_descriptor_limit()
    with scratch_directory(options.dir) as directory:
        stores = []
        for count in (options.objects // 100, options.objects):
            data = pathlib.Path(directory) / f"data-{count}"
            stores.append(data)
            server = Ron(directory, data=data, limits={"cache_bytes": CACHE})
            try:
                fill(server, directory, count)
            finally:
                server.stop()
        started = []
        try:
            for data in stores:
                started.append(start(directory, data))
            # In turn, so that what else the machine does meets both.
            runs = [[rounds.measure(server, server.base, options.seconds, script) for server, script, _ in started]
                    for _ in range(options.rounds)]
            rows = [summary(server, data, listening, [pair[i] for pair in runs])
                    for i, ((server, _, listening), data) in enumerate(zip(started, stores, strict=True))]
        finally:
            for server, _, _ in started:
                server.stop()
    ratio = statistics.median(many["p99_us"] / few["p99_us"] for few, many in runs)
    few, many = rows
    limit = CACHE + (512 << 20)
    print(f"p99 ratio {ratio:.2f} (wanted at most 1.30), listening {many['listening_s']:.2f} s (wanted below 1), "
          f"RSS {many['rss_bytes'] / 2**20:.0f} MiB (wanted at most {limit / 2**20:.0f})")
    rounds.write_result("scale", {"rows": rows, "p99_ratio": ratio})
    return 0 if ratio <= 1.3 and many["listening_s"] < 1 and many["rss_bytes"] <= limit else 1


if __name__ == "__main__":
    sys.exit(main())
