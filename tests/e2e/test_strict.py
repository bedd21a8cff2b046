"""HTTP strictness: every case of the strict_* tables against the real binary."""

import time
import unittest

import ron
import strict_messages
import strict_objects
import strict_table as table

CONTINUE_LINE = b"HTTP/1.1 100 Continue\r\n\r\n"


class Strict(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = ron.Server(sets={"storage.server.max_rps": 1000000})
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
        for case in self.cases:
            with self.subTest(case.name):
                self.run_case(case)
        self.assertIsNone(self.server.process.poll(), "the server died")

    def run_case(self, case):
        with self.server.connect() as connection:
            self.play(connection, case.steps)
            for answer in case.answers:
                response = connection.read_response(head_only=answer.head_only)
                self.check(response, answer)
            if case.after == table.OPEN:
                self.assertFalse(response.closes)
                self.assertTrue(connection.is_open(), "the connection was closed")
            else:
                if case.after == table.CLOSED:
                    self.assertTrue(response.closes, "closed without saying so")
                self.assertTrue(connection.ends(), "the connection stays open")

    def play(self, connection, steps):
        each_byte = False
        for i, step in enumerate(steps):
            if step is table.EACH_BYTE:
                each_byte = True
            elif step is table.HALF_CLOSE:
                connection.half_close()
            elif step is table.CONTINUE:
                interim = connection.read_response()
                self.assertEqual(interim.raw_head, CONTINUE_LINE)
            elif each_byte:
                for byte in step:
                    connection.send(bytes([byte]))
            else:
                if i > 0 and isinstance(steps[i - 1], bytes):
                    time.sleep(0.02)  # let the first part arrive alone
                connection.send(step)

    def check(self, response, answer):
        self.assertEqual(response.status, answer.status, response.body[:300])
        for name, value in answer.headers.items():
            self.assertEqual(response.get(name), value, name)
        if answer.body is not None:
            self.assertEqual(response.body, answer.body)
        self.check_common(response, answer.head_only)
        if answer.status >= 400 and not answer.head_only:
            self.assertEqual(response.code, answer.code)
        else:
            self.assertTrue(answer.code is None or answer.head_only)

    def check_common(self, response, head_only):
        """What holds for every answer."""
        corr_id = response.get("X-Corr-ID", "")
        self.assertRegex(corr_id, ron.ULID)
        self.assertRegex(response.get("Date", ""),
                         r"^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$")
        if response.status < 400 or head_only:
            return
        self.assertEqual(response.get("Content-Type"), "application/json")
        error = response.json()["error"]
        self.assertLessEqual(set(error), {"code", "message", "corr_id", "retry_after", "details"})
        self.assertEqual(error["corr_id"], corr_id)
        self.assertTrue(error["message"])
        self.assertIsInstance(error["details"], dict)
        retry = error.get("retry_after")
        self.assertEqual(response.get("Retry-After"), None if retry is None else str(retry))

    def test_head_equals_the_head_of_get(self):
        paths = ["/healthz", "/readyz", "/version", "/nowhere", "/o", "/o/b3:1", "/o/b3:"
                 + "0" * 64,
                 "/o/" + self.world["digits"], "/o/" + self.world["empty"], "/o/"
                 + self.world["DIGITS"]]
        conditions = [(), (("If-None-Match", "*"),), (("If-Match", '"x"'),),
                      (("Connection", "close"),)]
        for path in paths:
            for fields in conditions:
                with self.subTest(path=path, fields=fields), self.server.connect() as connection:
                    fixed = (("X-Corr-ID", table.CORR_ID), *fields)
                    head = connection.ask("HEAD", path, fixed)
                    if head.closes:
                        connection = self.server.connect()
                        self.addCleanup(connection.close)
                    full = connection.ask("GET", path, fixed)
                    undated = [[h for h in r.headers if h[0] != "Date"] for r in (head, full)]
                    self.assertEqual(head.status, full.status)
                    self.assertEqual(*undated)

    def test_pipelined_answers_keep_their_order(self):
        ids = [f"01ARZ3NDEKTSV4RRFFQ69G{i:04d}" for i in range(200)]
        with self.server.connect() as connection:
            connection.send(b"".join(ron.request("GET", "/healthz", [("X-Corr-ID", i)])
                                     for i in ids))
            self.assertEqual([connection.read_response().get("X-Corr-ID") for _ in ids], ids)


if __name__ == "__main__":
    unittest.main()
