"""Amnesia, watched from outside: every file the process touches is in a trace of its system calls.

test_contract.py looks at directories and descriptors; this sees also what is gone by then.
"""

import random
import tempfile
import unittest

import storage
import traced

MIB = 1 << 20


class Amnesia(traced.Case):
    def work(self, server):
        noise = random.Random(6)
        address = server.put(noise.randbytes(MIB))
        large = server.upload(noise.randbytes(3 * MIB + 5))
        server.put(b"small")
        with server.connect() as connection:
            for each in (address, large):
                self.assertEqual(connection.ask("GET", "/o/" + each).status, 200)
            self.assertEqual(connection.ask("POST", "/uploads", [server.auth],
                                            b'{"length":9}').status, 201)
            for each in (address, large):
                gone = connection.ask("DELETE", "/o/" + each, [server.auth])
                self.assertEqual(gone.status, 204)

    def test_only_the_token_is_written(self):
        with storage.Server(binary=str(self.binary), env={"TMPDIR": str(self.trace.parent)}) as server:
            self.work(server)
            self.only_the_token(server)

    def test_the_trace_would_show_it(self):
        with tempfile.TemporaryDirectory(prefix="ron-e2e-data-") as home:
            data = home + "/data"
            with storage.Server(binary=str(self.binary), data=data,
                            sets={"storage.min_free_bytes": "1MiB"}) as server:
                self.work(server)
                self.assertEqual(server.stop(), 0)
            calls = self.calls()
            self.assertTrue(any(path.startswith(data) or ".seg" in path
                                for path in self.written(calls)))
            self.assertIn("io_uring_enter", {name for name, _ in calls})


if __name__ == "__main__":
    unittest.main()
