"""Ranges and conditions of RFC 9110 on objects of every kind, from memory and from disk.

The cases of strict_objects.py on a small object are played again wherever objects come from; the
tables here add positions around every boundary of larger ones, and every combination of conditions.
What to expect comes from matrix_model.py.
"""

import random
import shutil
import tempfile
import unittest

import ron
import storage
import strict_objects
import strict_run
import strict_table as table
from matrix_model import GROUP, OTHER, SEVERAL, answer, conditions, range_answer, ranges
from strict_table import MIB

SIZES = (0, 1, GROUP - 1, GROUP, GROUP + 1, MIB - 1, MIB, MIB + 1, 3 * MIB + 777)
HUGE = 8 * MIB + GROUP + 1  # larger than what the memory tier takes in whole
EDGES = (0, 1, GROUP - 1, GROUP, GROUP + 1, MIB - 1, MIB, MIB + 1)
CACHING = {"Accept-Ranges": "bytes", "Vary": "Accept-Encoding",
           "Cache-Control": "public, max-age=31536000, immutable"}


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
            for value in ranges(size, EDGES):
                with self.subTest(size=size, range=value):
                    self.expect("GET", "/o/" + address, {"Range": value},
                                range_answer(value, data, CACHING))
                count += 1
        self.assertGreater(count, 600)

    def test_ranges_of_what_no_memory_tier_takes_in(self):
        address, data = self.objects[HUGE]
        for value in ranges(HUGE, EDGES):
            wanted = range_answer(value, data, CACHING)
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
                wanted = answer(method, fields, f'"{address}"', data, CACHING)
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
