"""Verified objects from the memory tier of a store on disk against nginx's static files: the same bytes, interleaved, one CPU each."""

import argparse
import os
import pathlib
import sys

import paths
import rounds
from servers import Nginx, Ron, raise_descriptor_limit, scratch_directory

SIZES = {"1 KiB": 1 << 10, "64 KiB": 1 << 16, "1 MiB": 1 << 20}
# Over the cable the packets are most of what both pay for, and that is only reported.
WANTED = {"loopback": {"1 KiB": 1.30, "64 KiB": 1.00, "1 MiB": 1.05}, "cable": {}}


def measure(path, options):
    with path, scratch_directory() as directory:
        script = pathlib.Path(directory) / "report.lua"
        script.write_text(rounds.REPORT)
        servers = [Ron(directory, data=pathlib.Path(directory) / "data", path=path), Nginx(directory, path)]
        rows = []
        try:
            for name, size in SIZES.items():
                body = pathlib.Path(directory) / f"object-{size}"
                body.write_bytes(os.urandom(size))
                targets = {server.name: (server.put(body), script) for server in servers}
                rows.append(rounds.compare(servers, name, targets, options.rounds, options.seconds))
        finally:
            for server in servers:
                server.stop()
    return rounds.report("http_get", "CPU microseconds per verified GET", rows, WANTED[path.name], path, options,
                         judge_p99=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    rounds.add_options(parser)
    paths.add_option(parser)
    options = parser.parse_args()
    raise_descriptor_limit()
    return 0 if all([measure(path, options) for path in paths.chosen(options)]) else 1


if __name__ == "__main__":
    sys.exit(main())
