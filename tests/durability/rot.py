"""One flipped bit at a time, anywhere in segments and index.

After each flip every object is read: it comes back right, or not at all (an error, a cut
connection), never wrong, and the objects the bit does not belong to come back right. A flip in the
bytes of a live object must be found by a scrub. Then the bit is flipped back, and objects that were
quarantined are stored again, which must heal them. At the end of the log, and with the index left out
of the copy, a flip costs one object at most.
"""

import argparse
import http.client
import json
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import crash  # noqa: E402
import payloads  # noqa: E402
import ron  # noqa: E402
import storage  # noqa: E402

SIZES = [0, 1, 300, 1024, 9000, 65_536, 65_537, 150_000, 400_000, 1 << 20]
LARGE = [2 * payloads.PART + 777]
LAST = 1 << 20  # of the log, where a flip counts as one at its end
FINDABLE = 64  # fewer bytes may stand in a segment by chance
SETS = {"storage.segment_bytes": "16MiB", "storage.cache_bytes": "0", "storage.min_free_bytes": "64MiB",
        "storage.scrub.rate": "4GiB/s", "storage.server.max_rps": 1_000_000}


class Store:
    """A server on disk, its objects, and where their bytes lie in its segments."""

    def __init__(self, directory, objects, seed):
        self.data = pathlib.Path(directory) / "data"
        sizes = [SIZES[i % len(SIZES)] for i in range(objects)] + LARGE
        self.objects = payloads.make((f"{seed}/{i}", size) for i, size in enumerate(sizes))
        self.bytes = {payload.address: payload.bytes() for payload in self.objects}
        self.places = {}
        self.start()
        for payload in self.objects:
            self.store(payload)
        for payload in self.objects:
            self.find(payload)

    def start(self):
        self.server = storage.Server(sets=SETS, data=self.data)
        self.ask = crash.Ask(self.server.address, self.server.token)
        self.admin = crash.Ask(self.server.admin, self.server.token)

    def close(self):
        self.ask.connection.close()
        self.admin.connection.close()
        self.server.close()

    def restart(self):
        self.stop()
        self.start()

    def stop(self):
        assert self.server.stop() == 0, self.server.log_text()
        self.close()

    def store(self, payload):
        client = crash.Client(self.server, payload.seed, [], {})
        client.gives_up = 0
        with client.ask:
            client.store(payload)
        if client.known[payload.address][1] != crash.PRESENT:
            raise crash.Wrong(f"{payload.address} was not stored")

    def segments(self):
        return sorted(self.data.rglob("*.seg"))

    def find(self, payload):
        """Remembers where the object's bytes are: the newest copy counts."""
        places = []
        data = self.bytes[payload.address]
        for start in range(0, len(data), payloads.PART):
            piece = data[start:start + payloads.PART]
            if len(piece) >= FINDABLE:
                places.append(self.newest(piece))
        self.places[payload.address] = places

    def newest(self, piece):
        for path in reversed(self.segments()):
            try:
                data = path.read_bytes()
            except FileNotFoundError:
                continue  # compacted this moment; what was live in it is in a newer one
            at = data.rfind(piece)
            if at >= 0:
                return path, at, len(piece)
        raise crash.Wrong("an object's bytes are in no segment")

    def owner(self, path, offset):
        """Whose bytes these are now: compaction may have moved them and left a dead copy behind."""
        for payload in self.objects:
            if self.holds(payload, path, offset):
                self.find(payload)
                return payload.address if self.holds(payload, path, offset) else None
        return None

    def moved_on(self, address, path, offset):
        """Compaction had copied the object behind this place before the flip, and left it dead."""
        (payload,) = [one for one in self.objects if one.address == address]
        (before,) = [place for place in self.places[address] if place[0] == path and 0 <= offset - place[1] < place[2]]
        number = self.places[address].index(before)
        self.find(payload)
        return self.places[address][number][:2] > before[:2]

    def holds(self, payload, path, offset):
        return any(where == path and at <= offset < at + size
                   for where, at, size in self.places[payload.address])

    def read_all(self):
        """Addresses that could not be read; wrong bytes end the test."""
        failed = {}
        for payload in self.objects:
            try:
                status, body = self.ask("GET", f"/o/{payload.address}")
            except (OSError, http.client.HTTPException) as error:
                failed[payload.address] = type(error).__name__
                self.ask = crash.Ask(self.server.address, self.server.token)
                continue
            if status == 200:
                if body != self.bytes[payload.address]:
                    raise crash.Wrong(f"{payload.address}: wrong bytes were served")
            else:
                failed[payload.address] = status
        return failed

    def scrub(self):
        """One whole scrub; how many objects are quarantined after it."""
        before = self.passes()
        status, body = self.admin("POST", "/admin/scrub")
        assert status in (200, 202), (status, body)
        ron.wait_until("the scrub to end", lambda: self.passes() > before, 60 * ron.SLOW)
        return self.stats()["volumes"][0]["quarantined"]

    def passes(self):
        return self.stats()["volumes"][0]["scrub"]["passes"]

    def stats(self):
        status, body = self.admin("GET", "/admin/stats")
        assert status == 200, (status, body)
        return json.loads(body)

    def heal(self, addresses):
        for payload in self.objects:
            if payload.address in addresses:
                self.store(payload)
                self.find(payload)


def flip(path, offset, bit):
    """False when compaction has removed the file, or the padding at its end was cut off."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return False
    try:
        byte = os.pread(descriptor, 1, offset)
        if not byte:
            return False
        os.pwrite(descriptor, bytes([byte[0] ^ (1 << bit)]), offset)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
    return True


def flip_segment(store, dice, totals):
    sizes = {path: path.stat().st_size for path in store.segments() if path.exists()}
    path = dice.choices(list(sizes), list(sizes.values()))[0]
    offset, bit = dice.randrange(sizes[path]), dice.randrange(8)
    victim = store.owner(path, offset)
    if not flip(path, offset, bit):
        return
    failed = store.read_all()
    quarantined = store.scrub()
    if victim and victim not in failed and store.moved_on(victim, path, offset):
        victim = None
    if victim and (victim not in failed or quarantined == 0):
        raise crash.Wrong(f"{path.name}+{offset}: a flip in {victim} was not noticed: {failed}, {quarantined}")
    if len(failed) > 1 or (failed and victim and victim not in failed):
        raise crash.Wrong(f"{path.name}+{offset}: one flip, and {failed} cannot be read")
    flip(path, offset, bit)
    store.heal(set(failed) | ({victim} if victim else set()))
    totals["in_objects"] += victim is not None
    left = store.read_all()
    if left:  # read by somebody before the bit was flipped back, and reported after the object was stored
        store.heal(left)
        left = store.read_all()
    if left:
        raise crash.Wrong(f"{path.name}+{offset}: not healed: {left}")


def flip_index(store, dice, totals):
    """In the files of the index while the server is down; it must come up and find everything."""
    store.stop()
    paths = [p for p in store.data.rglob("index.*/*") if p.is_file() and p.stat().st_size > 0]
    path = dice.choices(paths, [p.stat().st_size for p in paths])[0]
    offset, bit = dice.randrange(path.stat().st_size), dice.randrange(8)
    flip(path, offset, bit)
    store.start()
    failed = store.read_all()
    if failed:  # being made again from the segments: for a while 503 is right, 404 never
        if any(status not in (502, 503) for status in failed.values()):
            raise crash.Wrong(f"{path.name}+{offset}: {failed}")
        ron.wait_until("the index to be made again", lambda: not store.read_all(), 30 * ron.SLOW)
        totals["rebuilt"] += 1
    store.restart()
    left = store.read_all()
    if left:
        raise crash.Wrong(f"{path.name}+{offset}: after a restart {left}")


def withheld(status):
    """Known and not served: refused, or cut off where the damage begins."""
    return status == 502 or isinstance(status, str)


def flip_tail(store, dice, totals):
    """At the end of the log, of which nothing but its records says what was acknowledged."""
    store.stop()
    for index in store.data.rglob("index.*"):
        if index.is_dir():
            shutil.rmtree(index)
    path = store.segments()[-1]
    size = path.stat().st_size
    offset, bit = size - 1 - dice.randrange(min(size, LAST)), dice.randrange(8)
    victim = store.owner(path, offset)
    flip(path, offset, bit)
    store.start()
    ron.wait_until("the index to be made again", lambda: 503 not in store.read_all().values(), 30 * ron.SLOW)
    failed = store.read_all()
    if len(failed) > 1 or any(status != 404 and not withheld(status) for status in failed.values()):
        raise crash.Wrong(f"{path.name}+{offset}: one flip at the end of the log, and {failed} cannot be read")
    if victim and not withheld(failed.get(victim)):
        raise crash.Wrong(f"{path.name}+{offset}: a flip in {victim}, and {failed}")
    store.heal(failed)
    left = store.read_all()
    if left:
        raise crash.Wrong(f"{path.name}+{offset}: not healed: {left}")


def run(flips, objects, seed, directory, report=print):
    dice = random.Random(seed)
    store = Store(directory, objects, seed)
    totals = {"flips": 0, "in_segments": 0, "in_objects": 0, "in_index": 0, "in_tail": 0, "rebuilt": 0}
    places = {"in_segments": flip_segment, "in_index": flip_index, "in_tail": flip_tail}
    try:
        for number in range(flips):
            (place,) = dice.choices(list(places), [0.5, 0.25, 0.25])
            places[place](store, dice, totals)
            totals["flips"] += 1
            totals[place] += 1
            if number % 50 == 49:
                report(json.dumps(totals))
    finally:
        store.close()
    return totals


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument("--objects", type=int, default=60)
    parser.add_argument("--seed", default=str(time.time_ns()))
    parser.add_argument("--dir", default=None)
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory(prefix="ron-rot-", dir=options.dir) as directory:
        try:
            totals = run(options.flips, options.objects, options.seed, directory)
        except crash.Wrong as error:
            print(f"BROKEN: {error}")
            return 1
    print(json.dumps(totals))
    return 0


if __name__ == "__main__":
    sys.exit(main())
