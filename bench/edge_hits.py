"""What an asset that is in the cache costs, beside Varnish with the same bytes of the same origin and nginx with them as a file."""

import argparse
import contextlib
import os
import pathlib
import sys

import paths
import rounds
from edge import Edge, Origin, Varnish
from servers import CLIENT_CPU, Nginx, raise_descriptor_limit, scratch_directory

SIZES = {"1 KiB": 1 << 10, "64 KiB": 1 << 16}
# CPU time of the peer over ours.
WANTED = {"varnish": {"1 KiB": 1.3, "64 KiB": 1.3}, "nginx": {"1 KiB": 1.2, "64 KiB": 1.0}}


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
        origin = Origin(directory, path, CLIENT_CPU)
        started.callback(origin.stop)
        ron = Edge(directory, origin, data=pathlib.Path(directory) / "data", path=path)
        started.callback(ron.stop)
        varnish, nginx = Varnish(directory, origin, path), Nginx(directory, path)
        started.callback(varnish.stop)
        started.callback(nginx.stop)
        fine, rows = True, {peer: [] for peer in WANTED}
        for name, size in SIZES.items():
            body = pathlib.Path(directory) / f"asset-{size}"
            body.write_bytes(os.urandom(size))
            origin.put(body)
            targets = {"ron": (ron.asset(body), script), "varnish": (varnish.url(body), script),
                       "nginx": (nginx.put(body), script)}
            for peer, server in (("varnish", varnish), ("nginx", nginx)):
                rows[peer].append(rounds.compare([ron, server], name, targets, options.rounds, options.seconds, (peer,)))
            ron.asset(body)
        for peer, wanted in WANTED.items():
            fine &= rounds.report(f"edge_hits_{peer}", f"CPU microseconds per hit, ron and {peer}", rows[peer], wanted, path,
                                  options)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
