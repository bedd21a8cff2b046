"""Durable writes against the disk itself: puts through HTTP, 64 connections, acknowledged only when synced, beside
plain write + fdatasync on the same file system in the same run. The disk's own speed drifts, so each round measures
both, and the ratio is taken per round."""

import argparse
import os
import pathlib
import statistics
import sys
import time

import rounds
from servers import Ron, raise_descriptor_limit, scratch_directory

# name: (bytes, what the disk is asked to do meanwhile, wanted ratio)
CASES = {"1 KiB put": (1 << 10, "one", 4.0), "64 KiB put": (1 << 16, "batch", 0.70), "1 MiB part": (1 << 20, "batch", 0.70)}
BATCH = 4 << 20
# Bodies differ in their first bytes, which is enough to make every address new.
PUTS = """
local filler = string.rep("x", %d)
local count = 0
request = function()
  count = count + 1
  return wrk.format("POST", "/o", {["Authorization"] = "Bearer %s"}, string.format("%%s-%%011d", "%s", count) .. filler)
end
"""
PARTS = """
local filler = string.rep("x", 1048576 - 12)
local count = 0
request = function()
  count = count + 1
  return wrk.format("PUT", "/uploads/%s/" .. (count %% %d), {["Authorization"] = "Bearer %s"}, string.format("%%012d", count) .. filler)
end
"""


def disk_alone(directory, kind, seconds):
    """Bytes (batch) or operations (one) per second of append + fdatasync."""
    path = pathlib.Path(directory) / "disk-alone"
    piece = os.urandom(1 << 10 if kind == "one" else BATCH)
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, 0o600)
    done, began = 0, time.monotonic()
    while time.monotonic() - began < seconds:
        os.write(descriptor, piece)
        os.fdatasync(descriptor)
        done += 1
    took = time.monotonic() - began
    os.close(descriptor)
    path.unlink()
    return done / took if kind == "one" else done * BATCH / took


def run(server, directory, name, options):
    size, kind, wanted = CASES[name]
    pairs = []
    for number in range(options.rounds):
        script = pathlib.Path(directory) / "put.lua"
        if name == "1 MiB part":
            parts = 4096
            upload = server.begin_upload(parts << 20)
            text = PARTS % (upload, parts, server.token)
        else:
            tag = f"{size:09d}{number:03d}"
            text = PUTS % (size - 24, server.token, tag)
        script.write_text(text + rounds.REPORT)
        disk = disk_alone(directory, kind, options.seconds)
        ours = rounds.measure(server, server.base, options.seconds, script)
        if ours["errors"]:
            raise SystemExit(f"{name}: {ours['errors']} errors")
        ours["disk"] = disk
        ours["value"] = ours["rps"] if kind == "one" else ours["rps"] * size
        pairs.append(ours)
    ratio = statistics.median(pair["value"] / pair["disk"] for pair in pairs)
    unit = (lambda v: f"{v:10.0f}/s") if kind == "one" else (lambda v: f"{v / 1e6:7.0f} MB/s")
    middle = {key: statistics.median(pair[key] for pair in pairs) for key in ("value", "disk", "cpu_us", "p50_us", "p99_us")}
    print(f"{name:>11} {unit(middle['value'])}  disk alone {unit(middle['disk'])}  {middle['cpu_us']:7.1f} CPU us  "
          f"p99 {middle['p99_us'] / 1000:6.1f} ms  {ratio:.2f} (wanted {wanted:.2f})", flush=True)
    return {"case": name, "ratio": ratio, "wanted": wanted, "pairs": pairs}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    rounds.add_options(parser, rounds=5)
    parser.add_argument("--dir", default=None, help="on the disk to measure; default beside the build")
    options = parser.parse_args()
    raise_descriptor_limit()
    with scratch_directory(options.dir) as directory:
        server = Ron(directory, data=pathlib.Path(directory) / "data", limits={"min_free_bytes": "1GiB"})
        try:
            rows = [run(server, directory, name, options) for name in CASES]
        finally:
            server.stop()
    rounds.write_result("disk_put", {"rounds": options.rounds, "seconds": options.seconds, "rows": rows})
    return 0 if all(row["ratio"] >= row["wanted"] for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
