"""Packs of tiles, made from the descriptions of their formats and sharing no code with the product:
PMTiles version 3 and MBTiles, sound ones and, for tests of refusals, ones that are not."""

import gzip
import json
import pathlib
import random
import sqlite3
import struct

MAGIC = b"PMTiles\x03"
HEADER_BYTES = 127
# The numbers of PMTiles.
NONE, GZIP, BROTLI, ZSTD = 1, 2, 3, 4
MVT, PNG, JPEG, WEBP, AVIF = 1, 2, 3, 4, 5
PNG_MAGIC = b"\x89PNG\r\n\x1a\n"


def tile_id(z, x, y):
    """All tiles of lower zooms, then the place on the Hilbert curve of this one."""
    found, side = ((1 << 2 * z) - 1) // 3, 1 << z
    step = side >> 1
    while step:
        right, below = int(bool(x & step)), int(bool(y & step))
        found += step * step * ((3 * right) ^ below)
        if not below:
            if right:
                x, y = side - 1 - x, side - 1 - y
            x, y = y, x
        step >>= 1
    return found


def varint(number):
    out = bytearray()
    while number >= 0x80:
        out.append(number & 0x7f | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def directory(entries):
    """`entries` are (tile id, offset, length, run), in order; a run of 0 points to a leaf."""
    out, last = [varint(len(entries))], 0
    for number, *_ in entries:
        out.append(varint(number - last))
        last = number
    out += [varint(run) for _, _, _, run in entries]
    out += [varint(length) for _, _, length, _ in entries]
    for at, (_, offset, _, _) in enumerate(entries):
        follows = at > 0 and offset == entries[at - 1][1] + entries[at - 1][2]
        out.append(varint(0 if follows else offset + 1))
    return b"".join(out)


def packed(data, compression):
    return gzip.compress(data, mtime=0) if compression == GZIP else data


def header(**fields):
    """The 127 bytes; whatever is not said is what an empty pack would have."""
    have = {"root": (0, 0), "metadata": (0, 0), "leaves": (0, 0), "data": (0, 0),
            "addressed": 0, "entries": 0, "contents": 0, "clustered": 1, "internal": GZIP,
            "compression": GZIP, "type": MVT, "min_zoom": 0, "max_zoom": 0,
            "bounds": (-180, -85, 180, 85), "center": (0, 0, 0), **fields}
    numbers = [int(degrees * 10_000_000) for degrees in (*have["bounds"], *have["center"][:2])]
    return b"".join((
        MAGIC, struct.pack("<8Q", *have["root"], *have["metadata"], *have["leaves"], *have["data"]),
        struct.pack("<3Q", have["addressed"], have["entries"], have["contents"]),
        struct.pack("<6B", have["clustered"], have["internal"], have["compression"], have["type"],
                    have["min_zoom"], have["max_zoom"]),
        struct.pack("<4i", *numbers[:4]), struct.pack("<B2i", have["center"][2], *numbers[4:])))


def entries_of(tiles):
    """(entries, data) of tiles by place: equal ones are stored once, neighbours share an entry."""
    entries, data, where = [], bytearray(), {}
    for number, content in sorted((tile_id(*place), content) for place, content in tiles.items()):
        if content not in where:
            where[content] = (len(data), len(content))
            data += content
        offset, length = where[content]
        if entries and entries[-1][1:3] == (offset, length) and (
                entries[-1][0] + entries[-1][3] == number):
            entries[-1] = (*entries[-1][:3], entries[-1][3] + 1)
        else:
            entries.append((number, offset, length, 1))
    return entries, bytes(data), len(where)


def pmtiles(tiles, metadata=None, leaf=None, internal=GZIP, **fields):
    """The bytes of a pack. `tiles` are contents as stored, by (z, x, y); with `leaf` so many
    entries are in each leaf directory and the root has only pointers."""
    entries, data, contents = entries_of(tiles)
    leaves, root = b"", entries
    if leaf:
        root = []
        for at in range(0, len(entries), leaf):
            part = packed(directory(entries[at:at + leaf]), internal)
            root.append((entries[at][0], len(leaves), len(part), 0))
            leaves += part
    root = packed(directory(root), internal)
    about = packed(json.dumps(metadata or {}).encode(), internal)
    zooms = [z for z, _, _ in tiles] or [0]
    at = HEADER_BYTES
    places = {}
    for name, part in (("root", root), ("metadata", about), ("leaves", leaves), ("data", data)):
        places[name] = (at, len(part))
        at += len(part)
    have = {**places, "addressed": len(tiles), "entries": len(entries), "contents": contents,
            "internal": internal, "min_zoom": min(zooms), "max_zoom": max(zooms),
            "center": (0, 0, min(zooms)), **fields}
    return header(**have) + root + about + leaves + data


def mbtiles(path, tiles, metadata=None, deduplicated=False, form="pbf"):
    """A file of MBTiles; rows are counted from the south. `deduplicated`: `tiles` is a view."""
    path = pathlib.Path(path)
    path.unlink(missing_ok=True)
    zooms = [z for z, _, _ in tiles] or [0]
    about = {"name": path.stem, "format": form, "minzoom": min(zooms), "maxzoom": max(zooms),
             "bounds": "-180,-85,180,85", "center": "0,0,0",
             **({"json": '{"vector_layers":[]}'} if form == "pbf" else {}), **(metadata or {})}
    base = sqlite3.connect(path)
    base.execute("create table metadata (name text, value text)")
    base.executemany("insert into metadata values (?, ?)",
                     [(key, str(value)) for key, value in about.items()])
    rows = [(z, x, (1 << z) - 1 - y, content) for (z, x, y), content in tiles.items()]
    if deduplicated:
        numbers = {}
        for *_, content in rows:
            numbers.setdefault(content, str(len(numbers)))
        base.execute("create table images (tile_id text primary key, tile_data blob)")
        base.execute("create table map "
                     "(zoom_level int, tile_column int, tile_row int, tile_id text)")
        base.execute("create unique index map_index on map (zoom_level, tile_column, tile_row)")
        base.execute("create view tiles as select map.zoom_level as zoom_level, map.tile_column as "
                     "tile_column, map.tile_row as tile_row, images.tile_data as tile_data "
                     "from map join images on images.tile_id = map.tile_id")
        base.executemany("insert into images values (?, ?)",
                         [(number, content) for content, number in numbers.items()])
        base.executemany("insert into map values (?, ?, ?, ?)",
                         [(z, x, y, numbers[content]) for z, x, y, content in rows])
    else:
        base.execute("create table tiles (zoom_level int, tile_column int, tile_row int, "
                     "tile_data blob)")
        base.execute("create unique index tile_index on tiles "
                     "(zoom_level, tile_column, tile_row)")
        base.executemany("insert into tiles values (?, ?, ?, ?)", rows)
    base.commit()
    base.close()
    return path


def noise(seed, zooms=4, size=400, missing=0.2):
    """Uncompressed contents by place, some places without one, some contents several times."""
    dice = random.Random(seed)
    found = {}
    for z in range(zooms):
        for x in range(1 << z):
            for y in range(1 << z):
                if z and dice.random() < missing:
                    continue
                if found and dice.random() < 0.1:
                    found[z, x, y] = dice.choice(list(found.values()))
                else:
                    text = b"%d/%d/%d of %s " % (z, x, y, str(seed).encode())
                    found[z, x, y] = text + dice.randbytes(size // 2).hex().encode()
    return found


def gzipped(tiles):
    """The same as vector tiles are stored; equal contents stay equal."""
    return {place: gzip.compress(content, mtime=0) for place, content in tiles.items()}


def write(path, data):
    """In place of what is there, as a careful tool replaces a file."""
    path = pathlib.Path(path)
    fresh = path.with_name("." + path.name + ".new")
    fresh.write_bytes(data)
    fresh.rename(path)
    return path


def small_world():
    """A sound map to be shown, for tests in which its tiles do not matter."""
    return pmtiles(gzipped(noise(7, zooms=5, size=1000)), {"name": "world"},
                   center=(0, -0.677435, 0))
