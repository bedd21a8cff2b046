"""What end-to-end tests of svc-storage have besides the harness (`ron.py`)."""

import gzip
import random
import shutil
import tempfile

import ron

PART = 1 << 20  # of an upload


def large_object(seed=1, size=6 << 20, repeats=8):
    """Bytes larger than any socket buffer, and their gzip form, which fits a body and the decode
    guard: blocks of noise, each several times, are packed a little less than that many times."""
    noise = random.Random(seed)
    blocks = [noise.randbytes(1000) * repeats for _ in range(size // (1000 * repeats) + 1)]
    data = b"".join(blocks)[:size]
    return data, gzip.compress(data, mtime=0)


class Server(ron.Process):
    """One `ron storage` process, or `ron up`: in memory, or on disk in the directory `data`, which
    outlives it."""

    def __init__(self, data=None, command="storage", **more):
        where = ["--data", data] if data else ["--amnesia"]
        front = "svc-gateway" if command == "up" else "svc-storage"
        super().__init__([command, *where], [front], **more)

    def put(self, data, *headers):
        """Stores bytes and returns their address."""
        with self.connect() as connection:
            response = connection.ask("POST", "/o", [self.auth, *headers], data)
            assert response.status in (200, 201), (response.status, response.body)
            return response.json()["address"]

    def upload(self, data):
        """Stores bytes part by part, which may be more than a body, and returns their address."""
        with self.connect() as connection:
            def ask(method, path, body):
                response = connection.ask(method, path, [self.auth], body)
                assert response.status in (200, 201), (response.status, response.body)
                return response

            path = ask("POST", "/uploads", b'{"length":%d}' % len(data)).get("Location")
            for number, at in enumerate(range(0, len(data), PART)):
                ask("PUT", f"{path}/{number}", data[at:at + PART])
            return ask("POST", path + "/commit", b"").json()["address"]

    def put_large(self):
        """Stores large_object() and returns its path and bytes."""
        data, packed = large_object()
        return "/o/" + self.put(packed, ("Content-Encoding", "gzip")), data


class OnDisk:
    """Goes before a test class whose start() makes `server` with `data`: the same on disk, where a
    server can be ended and started again."""

    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="ron-e2e-data-")
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
        super().setUp()

    def restart(self):
        self.assertEqual(self.server.stop(), 0)
        self.start()

    def kill(self):
        self.server.close()
        self.start()
