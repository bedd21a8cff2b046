"""What `GET /registry/head` costs, beside nginx with a static file of the same size."""

import argparse
import contextlib
import pathlib
import sys

import paths
import rounds
from registry import Registry
from servers import Nginx, raise_descriptor_limit, scratch_directory

WANTED_RATIO = 1.2  # of nginx's CPU time to ours


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
        ron = Registry(directory, data=pathlib.Path(directory) / "data", path=path)
        started.callback(ron.stop)
        nginx = Nginx(directory, path)
        started.callback(nginx.stop)
        head = pathlib.Path(directory) / "head.json"
        head.write_bytes(ron.ask(f"{ron.base}/registry/head", "GET"))
        targets = {"ron": (f"{ron.base}/registry/head", script), "nginx": (nginx.put(head), script)}
        name = f"{head.stat().st_size} bytes"
        row = rounds.compare([ron, nginx], name, targets, options.rounds, options.seconds)
        fine = rounds.report("registry_head", "CPU microseconds per GET of HEAD and of a static file", [row],
                             {name: WANTED_RATIO}, path, options)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
