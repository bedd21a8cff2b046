"""Ranges and conditions of RFC 9110 on objects of every kind, from memory and from disk.

The cases of strict_objects.py on a small object are played again wherever objects come from; the
tables here add positions around every boundary of larger ones, and every combination of conditions.
What to expect comes from a model of the RFC's rules that knows nothing of the server.
"""

import itertools
import random
import shutil
import tempfile
import unittest

import ron
import storage
import strict_objects
import strict_run
import strict_table as table
from strict_table import Answer, KIB, MIB

GROUP = 64 * KIB
SIZES = (0, 1, GROUP - 1, GROUP, GROUP + 1, MIB - 1, MIB, MIB + 1, 3 * MIB + 777)
HUGE = 8 * MIB + GROUP + 1  # larger than what the memory tier takes in whole
EDGES = (0, 1, GROUP - 1, GROUP, GROUP + 1, MIB - 1, MIB, MIB + 1)
CACHING = {"Accept-Ranges": "bytes", "Vary": "Accept-Encoding",
           "Cache-Control": "public, max-age=31536000, immutable"}
MALFORMED = ("bytes=9-8", "bytes=abc", "bytes=", "bytes=-", "bytes=1-2-3", "bytes=--5",
             "bytes=0x1-2", "bytes=0-1,x")
SEVERAL = ("bytes=0-1,3-4", "bytes=0-0, -1", "bytes=0-,0-,0-", "lines=0-5")
OTHER = '"b3:' + "0" * 64 + '"'


def parse(value, size):
    """(status, first, last) of a single well-formed bytes range."""
    first, last = value.removeprefix("bytes=").split("-")
    if not first:
        length = int(last)
        if length == 0:
            return 416, 0, 0
        return (206, max(0, size - length), size - 1) if size else (200, 0, -1)
    if int(first) >= size:
        return 416, 0, 0
    return 206, int(first), min(int(last or size), size - 1)


def range_answer(value, data):
    """What a GET with this Range alone gets."""
    if value in MALFORMED:
        return Answer(400, "BadRange")
    size = len(data)
    status, first, last = (200, 0, size - 1) if value in SEVERAL else parse(value, size)
    if status == 416:
        return Answer(416, "RangeNotSatisfiable", headers={"Content-Range": f"bytes */{size}"})
    part = f"bytes {first}-{last}/{size}" if status == 206 else None
    return Answer(status, body=data[first:last + 1], headers={**CACHING, "Content-Range": part})


def ranges(size):
    """Every form at every boundary."""
    edges = sorted({*EDGES, size // 2, *(at for at in range(size - 2, size + 2) if at >= 0)})
    for at in edges:
        yield f"bytes={at}-{at}"
        yield f"bytes={at}-"
        yield f"bytes=0-{at}"
        yield f"bytes=-{at}"
        yield f"bytes={at}-{at + 1}"
        yield f"bytes={at}-{at + GROUP}"
    yield "bytes=-" + "9" * 30
    yield "bytes=0-" + "9" * 30
    yield "bytes=" + "9" * 30 + "-"
    yield from MALFORMED
    yield from SEVERAL


def matches(field, tag, weak_too):
    """Whether a list of entity-tags names the object's, as If-Match or If-None-Match compare."""
    if field == "*":
        return True
    each = [one.strip() for one in field.split(",")]
    return tag in each or (weak_too and "W/" + tag in each)


def answer(method, fields, tag, data):
    """Section 13.2.2: If-Match, If-None-Match, If-Range, Range, in this order."""
    if "If-Match" in fields and not matches(fields["If-Match"], tag, weak_too=False):
        return Answer(412, "PreconditionFailed")
    if "If-None-Match" in fields and matches(fields["If-None-Match"], tag, weak_too=True):
        return Answer(304, headers={"ETag": tag, "Vary": "Accept-Encoding",
                                    "Cache-Control": CACHING["Cache-Control"]})
    ranged = "Range" in fields and fields.get("If-Range", tag) == tag
    if method == "GET" and ranged:
        return range_answer(fields["Range"], data)
    length = str(len(data))
    return Answer(200, body=None if method == "HEAD" else data,
                  headers={**CACHING, "ETag": tag, "Content-Range": None, "Content-Length": length})


def conditions(tag, size):
    """Every combination of what the four fields may say; None leaves one out."""
    names = ("If-Match", "If-None-Match", "If-Range", "Range")
    values = (
        (None, tag, "*", OTHER, "W/" + tag, f"{OTHER}, {tag}"),
        (None, tag, "*", OTHER, "W/" + tag, f"{OTHER},W/{tag}"),
        (None, tag, OTHER, "W/" + tag),
        (None, "bytes=1-1", f"bytes={size}-", MALFORMED[0]),
    )
    for chosen in itertools.product(*values):
        yield {name: value for name, value in zip(names, chosen, strict=True) if value is not None}


class Matrix(strict_run.RunsCases, unittest.TestCase):
    """In memory; below, the same on disk with and without the memory tier."""

    on_disk = False
    sets = {}

    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.mkdtemp(prefix="ron-e2e-data-") if cls.on_disk else None
        if cls.data:
            cls.addClassCleanup(shutil.rmtree, cls.data, ignore_errors=True)
        sets = {"storage.server.max_rps": 10000000, "storage.min_free_bytes": "1MiB", **cls.sets}
        cls.server = storage.Server(sets=sets, data=cls.data)
        cls.addClassCleanup(cls.server.close)
        noise = random.Random(5)
        cls.objects = {}
        for size in (*SIZES, HUGE):
            data = noise.randbytes(size)
            address = cls.store(data)
            assert address == ron.b3(data), size
            cls.objects[size] = (address, data)

    @classmethod
    def store(cls, data):
        return cls.server.put(data) if len(data) <= MIB else cls.server.upload(data)

    def setUp(self):
        self.connection = self.server.connect()
        self.addCleanup(self.connection.close)

    def expect(self, method, path, fields, wanted):
        """On one connection for the whole table, which every answer must leave usable."""
        response = self.connection.ask(method, path, fields.items())
        wanted.head_only = method == "HEAD"
        self.check(response, wanted)
        self.assertFalse(response.closes)

    def test_the_strict_cases(self):
        world = {"digits": self.server.put(table.DIGITS), "empty": self.server.put(b""),
                 "token": self.server.token, "condition": ron.b3(b"condition"),
                 "never": ron.b3(b"never stored")}
        self.run_table(table.build(world, strict_objects.range_cases,
                                   strict_objects.condition_cases))

    def test_ranges_at_every_boundary(self):
        count = 0
        for size in SIZES:
            address, data = self.objects[size]
            for value in ranges(size):
                with self.subTest(size=size, range=value):
                    self.expect("GET", "/o/" + address, {"Range": value},
                                range_answer(value, data))
                count += 1
        self.assertGreater(count, 600)

    def test_ranges_of_what_no_memory_tier_takes_in(self):
        address, data = self.objects[HUGE]
        for value in ranges(HUGE):
            wanted = range_answer(value, data)
            if len(wanted.body or b"") > MIB and value not in ("bytes=1-", SEVERAL[0]):
                continue
            with self.subTest(range=value):
                self.expect("GET", "/o/" + address, {"Range": value}, wanted)

    def test_every_combination_of_conditions(self):
        for size in (1000, GROUP + 1):
            data = random.Random(size).randbytes(size)
            address = self.store(data)
            self.check_conditions(("GET", "HEAD"), address, data)

    def test_every_combination_of_conditions_on_a_large_object(self):
        address, data = self.objects[MIB + 1]
        self.check_conditions(("HEAD",), address, data)
        self.check_conditions(("GET",), address, data, if_short=True)

    def check_conditions(self, methods, address, data, if_short=False):
        for fields in conditions(f'"{address}"', len(data)):
            for method in methods:
                wanted = answer(method, fields, f'"{address}"', data)
                if if_short and wanted.status == 200 and len(fields) > 2:
                    continue
                with self.subTest(method=method, fields=fields):
                    self.expect(method, "/o/" + address, fields, wanted)

    def test_head_equals_the_head_of_get(self):
        for address, _ in self.objects.values():
            tag = f'"{address}"'
            for fields in ((), (("If-None-Match", tag),), (("If-None-Match", OTHER),),
                           (("If-Match", "W/" + tag),), (("If-Match", tag),),
                           (("If-Range", tag),)):
                with self.subTest(address=address, fields=fields):
                    self.check_head_equals_get("/o/" + address, fields)


class MatrixOnDisk(Matrix):
    on_disk = True

    def test_the_memory_tier_took_part(self):
        for _ in range(2):
            self.connection.ask("GET", "/o/" + self.objects[MIB][0])
        metrics = self.server.metrics()
        self.assertGreater(metrics.value("storage_cache_hits_total"), 0)
        self.assertGreater(metrics.value("storage_memory_bytes"), 0)


class MatrixOnDiskWithoutMemoryTier(Matrix):
    on_disk = True
    sets = {"storage.cache_bytes": "0"}

    def test_the_memory_tier_took_no_part(self):
        self.connection.ask("GET", "/o/" + self.objects[MIB][0])
        metrics = self.server.metrics()
        self.assertEqual(metrics.value("storage_cache_hits_total"), 0)
        self.assertGreater(metrics.value("storage_read_bytes_total"), 0)


class MatrixOnDiskInLargePieces(Matrix):
    on_disk = True
    sets = {"storage.cache_bytes": "0", "storage.chunk_size": "1MiB"}


if __name__ == "__main__":
    unittest.main()
