"""Objects from disk with the RAM tier off, every byte checked on its way out, against nginx's static files: the page
cache is warm for all. Whole objects, and 64 KiB ranges at random offsets of a large one. What ron has hashed once it
compares with a fingerprint when it is read again; `hashing` is ron without that, as if every read were the first."""

import argparse
import os
import pathlib
import subprocess
import sys

import paths
import rounds
from servers import Nginx, Ron, raise_descriptor_limit, scratch_directory

SIZES = {"64 KiB": 1 << 16, "1 MiB": 1 << 20}
OBJECTS = 32  # of each size, asked for in turn
# nginx sends the page cache over loopback without touching it. The bytes that were checked are the bytes that leave: ron
# copies them, and 1 MiB is held to a number only where both pay for packets.
WANTED = {"loopback": {"64 KiB": 0.60, "range": 0.60, "aligned range": 0.60},
          "cable": {"64 KiB": 0.60, "1 MiB": 0.60, "range": 0.60, "aligned range": 0.60}}
PATHS = """
local paths = {%s}
local at = 0
request = function()
  at = at %% #paths + 1
  return wrk.format("GET", paths[at])
end
"""
RANGES = """
math.randomseed(7)
local last = %d - 65536
request = function()
  local at = math.random(0, last)
  at = at - at %% %d
  wrk.headers["Range"] = "bytes=" .. at .. "-" .. (at + 65535)
  return wrk.format("GET")
end
"""


def script(directory, name, text):
    path = pathlib.Path(directory) / f"{name}.lua"
    path.write_text(text + rounds.REPORT)
    return path


def read_once(urls):
    """From here on they are in the page cache, where writing does not leave them."""
    for url in urls:
        subprocess.run(["curl", "-sf", "-o", "/dev/null", url], check=True)


def whole(servers, directory, name, size, options):
    files = []
    for i in range(OBJECTS):
        path = pathlib.Path(directory) / f"object-{size}-{i}"
        path.write_bytes(os.urandom(size))
        files.append(path)
    targets = {}
    for server in servers:
        urls = [server.put(path) for path in files]
        paths = ",".join('"/' + url.split("/", 3)[3] + '"' for url in urls)
        targets[server.name] = (urls[0], script(directory, f"{server.name}-{size}", PATHS % paths))
        read_once(urls)
    return rounds.compare(servers, name, targets, options.rounds, options.seconds)


def make_large(directory, size):
    """Bytes that are quick to make and nowhere the same."""
    path = pathlib.Path(directory) / "large"
    subprocess.run(f"openssl enc -aes-128-ctr -nosalt -K 00 -iv 00 -in /dev/zero 2>/dev/null | head -c {size} > {path}",
                   shell=True, check=True)
    return path


def measure(path, options):
    size = options.large_mib << 20
    with path, scratch_directory() as directory:
        servers = [Ron(directory, data=pathlib.Path(directory) / name, limits={"cache_bytes": 0, **keys}, path=path, name=name)
                   for name, keys in (("ron", {}), ("hashing", {"fingerprint_bytes": 0}))]
        servers.append(Nginx(directory, path))
        try:
            rows = [whole(servers, directory, name, each, options) for name, each in SIZES.items()]
            large = make_large(directory, size)
            urls = {server.name: server.put_large(large) for server in servers}
            read_once(urls.values())
            for name, step in (("range", 1), ("aligned range", 65536)):
                text = script(directory, name.replace(" ", "-"), RANGES % (size, step))
                rows.append(rounds.compare(servers, name, {who: (url, text) for who, url in urls.items()},
                                           options.rounds, options.seconds))
        finally:
            for server in servers:
                server.stop()
    return rounds.report("disk_get", "CPU microseconds per GET from disk, every byte checked", rows, WANTED[path.name], path,
                         options)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    rounds.add_options(parser, rounds=5)
    paths.add_option(parser)
    parser.add_argument("--large-mib", type=int, default=4096)
    options = parser.parse_args()
    raise_descriptor_limit()
    return 0 if all([measure(path, options) for path in paths.chosen(options)]) else 1


if __name__ == "__main__":
    sys.exit(main())
