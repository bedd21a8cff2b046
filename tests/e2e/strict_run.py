"""Plays the cases of a strict table against a server; for a unittest.TestCase with `server`."""

import time

import ron
import strict_table as table

CONTINUE_LINE = b"HTTP/1.1 100 Continue\r\n\r\n"


class RunsCases:
    def run_table(self, cases):
        for case in cases:
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
            self.assertTrue(response.body == answer.body,
                            f"{response.body[:80]!r}, not {answer.body[:80]!r}")
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

    def check_head_equals_get(self, path, fields):
        """HEAD has GET's status and fields, in order; only the dates may differ."""
        with self.server.connect() as connection:
            fixed = (("X-Corr-ID", table.CORR_ID), *fields)
            head = connection.ask("HEAD", path, fixed)
            if head.closes:
                connection = self.server.connect()
                self.addCleanup(connection.close)
            full = connection.ask("GET", path, fixed)
            undated = [[h for h in r.headers if h[0] != "Date"] for r in (head, full)]
            self.assertEqual(head.status, full.status)
            self.assertEqual(*undated)
