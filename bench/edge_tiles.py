"""What a tile costs, beside tileserver-gl-light with the same pack and nginx with the tile as a file; how soon a large pack is mounted."""

import argparse
import contextlib
import gzip
import json
import pathlib
import subprocess
import sys
import time
import urllib.request

import paths
import rounds
from edge import Edge, TileServer, write_mbtiles
from servers import RON, Nginx, raise_descriptor_limit, scratch_directory

TILE = (4, 7, 5)
TILE_BYTES = 12 << 10  # before gzip; about what a vector tile has
WANTED = {"tileserver": 10, "nginx": 1.2}
MOUNT_S = 2.0  # beyond hashing the file
LARGE_ZOOM = 10  # 1,398,101 tiles


def fetched(url):
    request = urllib.request.Request(url, headers={"Accept-Encoding": "gzip"})
    with urllib.request.urlopen(request) as answer:
        return answer.read()


def compare_tiles(directory, path, started, options):
    script = pathlib.Path(directory) / "report.lua"
    script.write_text(rounds.REPORT + 'wrk.headers["Accept-Encoding"] = "gzip"\n')
    mbtiles = write_mbtiles(pathlib.Path(directory) / "bench.mbtiles", 5, TILE_BYTES)
    pmtiles = mbtiles.with_suffix(".pmtiles")
    subprocess.run([RON, "pack", "convert", mbtiles, pmtiles], check=True, stdout=subprocess.DEVNULL)
    ron = Edge(directory, data=pathlib.Path(directory) / "data", path=path)
    started.callback(ron.stop)
    ron.mount("bench", pmtiles)
    nginx = Nginx(directory, path)
    started.callback(nginx.stop)
    tiles = TileServer(mbtiles, path)
    started.callback(tiles.stop)
    body = fetched(ron.tile("bench", *TILE))
    if gzip.decompress(fetched(tiles.tile(*TILE))) != gzip.decompress(body):  # it compresses anew
        raise SystemExit("tileserver-gl-light and ron do not serve the same tile")
    file = pathlib.Path(directory) / "tile.mvt"
    file.write_bytes(body)
    targets = {"ron": (ron.tile("bench", *TILE), script), "nginx": (nginx.put(file), script),
               "tileserver": (tiles.tile(*TILE), script)}
    fine = True
    for peer, server in (("nginx", nginx), ("tileserver", tiles)):
        size = f"{len(body)} bytes"
        row = rounds.compare([ron, server], size, targets, options.rounds, options.seconds, (peer,))
        fine &= rounds.report(f"edge_tiles_{peer}", f"CPU microseconds per tile, ron and {peer}", [row], {size: WANTED[peer]},
                              path, options)
    return fine


def mount_large(directory, path, started, zoom):
    mbtiles = write_mbtiles(pathlib.Path(directory) / "large.mbtiles", zoom, 700, distinct=1000)
    pmtiles = mbtiles.with_suffix(".pmtiles")
    # Many different contents: a pack whose tiles are all the same has hardly a directory.
    subprocess.run([RON, "pack", "convert", mbtiles, pmtiles], check=True, stdout=subprocess.DEVNULL)
    ron = Edge(directory, data=pathlib.Path(directory) / "data-large", path=path, name="ron-large")
    started.callback(ron.stop)
    figures = {}
    for file in (pmtiles, mbtiles):
        began = time.monotonic()
        subprocess.run(["taskset", "-c", "0", "b3sum", "--num-threads", "1", file], check=True, stdout=subprocess.DEVNULL)
        hashed = time.monotonic() - began
        began = time.monotonic()
        info = ron.mount(f"large-{file.suffix[1:]}", file)
        took = time.monotonic() - began
        figures[file.suffix[1:]] = {"tiles": info["tiles"], "bytes": file.stat().st_size, "mount_s": took, "hash_s": hashed}
        print(f"{file.suffix[1:]}: {info['tiles']} tiles, {file.stat().st_size >> 20} MiB: mounted in {took:.2f} s, "
              f"b3sum takes {hashed:.2f} s")
    rounds.write_result("edge_mount", figures)
    beyond = figures["pmtiles"]["mount_s"] - figures["pmtiles"]["hash_s"]
    return rounds.verdict(f"mounting {figures['pmtiles']['tiles']} tiles beyond hashing them", beyond, MOUNT_S, False, " s")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    rounds.add_options(parser)
    rounds.add_quick(parser)
    options = parser.parse_args()
    rounds.be_quick(options, rounds=2, seconds=1)
    raise_descriptor_limit()
    paths.leave_network()
    with paths.Loopback() as path, scratch_directory() as directory, contextlib.ExitStack() as started:
        fine = compare_tiles(directory, path, started, options)
        fine &= mount_large(directory, path, started, 6 if options.quick else LARGE_ZOOM)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
