"""From the start of `ron registry` to the first GET /registry/head that is answered, on a log of 1,000,000 versions: after a
stop, which leaves a checkpoint of HEAD, and after a crash just before the next checkpoint was due; with what it reads in the
page cache and on disk only."""

import argparse
import http.client
import json
import os
import pathlib
import signal
import statistics
import subprocess
import sys
import time

import rounds
from servers import RON, SERVER_CPU, raise_descriptor_limit, scratch_directory

FILL = pathlib.Path(os.environ.get("BENCH_REGISTRY_FILL", RON.with_name("bench_registry_fill")))
READS_S = 1.0
BEHIND = 9_999  # versions that the last checkpoint does not have; storage.checkpoint_versions is 10,000


def ask(address, path):
    """What is there, or nothing."""
    connection = http.client.HTTPConnection(address, timeout=60)
    connection.request("GET", path)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return json.loads(body) if answer.status == 200 else None


def start(data, *options):
    """A running registry, the seconds until it answered, HEAD's version and the address."""
    began = time.monotonic()
    process = subprocess.Popen(["taskset", "-c", SERVER_CPU, RON, "registry", "--data", data, "--cores", "1", "--bind",
                                "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log-level", "warn", *options],
                               stdout=subprocess.PIPE, text=True)
    address = process.stdout.readline().split()[-1]
    while not (head := ask(address, "/registry/head")):
        time.sleep(0.001)
    return process, time.monotonic() - began, head["version"], address


def end(process, how):
    process.send_signal(how)
    process.wait(timeout=120)
    process.stdout.close()


def forget_pages(data):
    """Nothing of the directory is in the page cache any more; nobody else's pages are touched."""
    os.sync()
    for file in pathlib.Path(data).rglob("*"):
        if file.is_file():
            descriptor = os.open(file, os.O_RDONLY)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(descriptor)


def measure(data, times, how, is_cold, versions):
    taken = []
    for _ in range(times):
        if is_cold:
            forget_pages(data)
        process, seconds, head, _ = start(data)
        rss = rss_bytes(process.pid)
        end(process, how)
        if head != versions:
            raise SystemExit(f"HEAD is {head} and not {versions}")
        taken.append(seconds)
    return {"median_ms": statistics.median(taken) * 1000, "worst_ms": max(taken) * 1000, "rss_bytes": rss,
            "samples_ms": [seconds * 1000 for seconds in taken]}


def rss_bytes(pid):
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) * 1024


def fill(data, count):
    signers = sorted((data / "keys" / "signers").glob("*.pem"))[:2]
    subprocess.run([FILL, data / "registry" / "log", str(count), *signers], check=True)


def prepare(data, versions):
    """A log of so many versions that was verified and stopped; the seconds of the start that had to read all of it."""
    if not (data / "registry").exists():
        process, _, _, _ = start(data)
        end(process, signal.SIGTERM)
        fill(data, versions)
    # A checkpoint vouches only for what was verified: a log that grew here would have had its checkpoints all along.
    process, seconds, head, address = start(data, "--set", "registry.verify.slice=10s", "--set", "registry.verify.pause=0s")
    if head != versions:
        raise SystemExit(f"the directory has {head} versions and not {versions}")
    while ask(address, "/registry/checkpoints?limit=1")["checkpoints"][-1]["version"] < versions:
        time.sleep(1)
    end(process, signal.SIGTERM)
    return seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--versions", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--dir", default=None)
    parser.add_argument("--data", type=pathlib.Path, help="a directory with a log of so many versions, which is made longer")
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, rounds=2, versions=20_000)
    raise_descriptor_limit()
    rows = {}
    with scratch_directory(options.dir) as directory:
        data = options.data or pathlib.Path(directory) / "data"
        first = prepare(data, options.versions)
        print(f"{options.versions} versions without tree and checkpoint: answered after {first:.2f} s", flush=True)
        for name, how in (("after a stop", signal.SIGTERM), ("after a crash", signal.SIGKILL)):
            versions = options.versions
            if how == signal.SIGKILL:
                fill(data, BEHIND)
                versions += BEHIND
            for cache, is_cold in (("cached", False), ("cold", True)):
                row = rows[f"{name}, {cache}"] = measure(data, options.rounds, how, is_cold, versions)
                print(f"{versions} versions, {name}, {cache}: answered after {row['median_ms']:.0f} ms, at worst "
                      f"{row['worst_ms']:.0f}; resident {row['rss_bytes'] / 2**20:.0f} MiB", flush=True)
    rounds.write_result("registry_start", {"versions": options.versions, "behind": BEHIND, "rows": rows, "first_s": first})
    return 0 if all([rounds.verdict(name, row["median_ms"] / 1000, READS_S, at_least=False, unit=" s")
                     for name, row in rows.items()]) else 1


if __name__ == "__main__":
    sys.exit(main())
