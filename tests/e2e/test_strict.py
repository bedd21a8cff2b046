"""HTTP strictness: every case of the strict_* tables against the real binary."""

import unittest

import ron
import storage
import strict_messages
import strict_objects
import strict_run
import strict_table as table


class Strict(strict_run.RunsCases, unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = storage.Server(sets={"storage.server.max_rps": 1000000})
        cls.addClassCleanup(cls.server.close)
        digits, empty = cls.server.put(table.DIGITS), cls.server.put(b"")
        assert digits == ron.b3(table.DIGITS)
        cls.world = {
            "digits": digits, "DIGITS": "b3:" + digits[3:].upper(), "empty": empty,
            "escaped": digits.replace(":", "%3A"),
            "token": cls.server.token,
            "narrow": ron.attenuate(cls.server.token, "scope = storage:delete"),
            "plain": ron.b3(b"compress me, compress me, compress me"),
            "condition": ron.b3(b"condition"), "never": ron.b3(b"never stored"),
        }
        cls.cases = table.build(cls.world, *strict_messages.GROUPS, *strict_objects.GROUPS)

    def test_the_table_is_large_and_its_names_are_unique(self):
        self.assertGreaterEqual(len(self.cases), 150)
        names = [case.name for case in self.cases]
        self.assertEqual(sorted(set(names)), sorted(names))

    def test_every_case(self):
        self.run_table(self.cases)

    def test_head_equals_the_head_of_get(self):
        paths = ["/healthz", "/readyz", "/version", "/nowhere", "/o", "/o/b3:1", "/o/b3:"
                 + "0" * 64,
                 "/o/" + self.world["digits"], "/o/" + self.world["empty"], "/o/"
                 + self.world["DIGITS"]]
        conditions = [(), (("If-None-Match", "*"),), (("If-Match", '"x"'),),
                      (("Connection", "close"),)]
        for path in paths:
            for fields in conditions:
                with self.subTest(path=path, fields=fields):
                    self.check_head_equals_get(path, fields)

    def test_pipelined_answers_keep_their_order(self):
        ids = [f"01ARZ3NDEKTSV4RRFFQ69G{i:04d}" for i in range(200)]
        with self.server.connect() as connection:
            connection.send(b"".join(ron.request("GET", "/healthz", [("X-Corr-ID", i)])
                                     for i in ids))
            self.assertEqual([connection.read_response().get("X-Corr-ID") for _ in ids], ids)


if __name__ == "__main__":
    unittest.main()
