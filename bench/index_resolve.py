"""What a resolve that the cache answers costs, beside nginx with a static file of the same bytes."""

import argparse
import contextlib
import json
import os
import pathlib
import sys
import time

import paths
import rounds
from index import NAMESPACE, Index, Node
from servers import Nginx, raise_descriptor_limit, scratch_directory

WANTED_RATIO = 1.2  # of nginx's CPU time to ours
CACHED_S = 10  # within which the janitor has put an answer into the cache


def cached_answer(server, key):
    """The body, once it comes from the cache."""
    until = time.monotonic() + CACHED_S
    while time.monotonic() < until:
        body = server.resolve(key)
        if json.loads(body)["source"] == "cache":
            return body
        time.sleep(0.01)
    raise SystemExit(f"after {CACHED_S} s {key} is not in the cache")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    rounds.add_options(parser)
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, rounds=2, seconds=1)
    raise_descriptor_limit()
    paths.leave_network()
    with paths.Loopback() as path, scratch_directory() as directory, contextlib.ExitStack() as started:
        script = pathlib.Path(directory) / "report.lua"
        script.write_text(rounds.REPORT)
        # An answer has to stay in the cache for as long as it is measured.
        ron = Index(directory, data=pathlib.Path(directory) / "data", path=path, limits={"cache.positive_ttl": "24h"})
        started.callback(ron.stop)
        nginx = Nginx(directory, path)
        started.callback(nginx.stop)
        name, address = f"{NAMESPACE}/v2", f"b3:{os.urandom(32).hex()}"
        ron.set_name(name, address)
        ron.announce(Node(), address)
        file = pathlib.Path(directory) / "resolve.json"
        file.write_bytes(cached_answer(ron, name))
        targets = {"ron": (f"{ron.base}/resolve/{name}", script), "nginx": (nginx.put(file), script)}
        size = f"{file.stat().st_size} bytes"
        row = rounds.compare([ron, nginx], size, targets, options.rounds, options.seconds)
        cached_answer(ron, name)
        fine = rounds.report("index_resolve", "CPU microseconds per cached resolve and of a static file", [row],
                             {size: WANTED_RATIO}, path, options)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
