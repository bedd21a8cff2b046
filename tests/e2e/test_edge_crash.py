"""The cache on a real disk, hurt: the edge is killed at random moments while it fills. Whatever it
serves afterwards is a whole representation that its origin once had, with the tag and type that
belong to it; and it goes on filling.

`--kills N` and `--seed N` make a longer run: `test_edge_crash.py --kills 200`.
"""

import collections
import random
import sys
import threading
import time
import unittest

import ron
from edge import GONE, LiveCase
from origin import Answer

KILLS = 8
SEED = 14
CLIENTS = 6
PATHS = 60
SIZES = (0, 1, 700, 20_000, 65_536, 300_000, 1_200_000)
KEYS = {"cache.bytes": "64MiB", "cache.ram_bytes": "4MiB"}


def body_of(path, version):
    """What the origin has there at a version; its first bytes say which."""
    dice = random.Random(f"{path}-{version}")
    size = SIZES[int(path.rpartition("/")[2]) % len(SIZES)]
    return (b"%s@%d;" % (path.encode(), version) + dice.randbytes(size))[:max(size, 40)]


class World:
    """What the origin has: every path at a version that only grows. Any thread."""

    def __init__(self, origin):
        self.lock = threading.Lock()
        self.versions = collections.Counter()
        self.bodies = {}
        for number in range(PATHS):
            origin.say(f"/{number}", self.serve)

    def body(self, path, version):
        with self.lock:
            known = self.bodies.get((path, version))
        if known is None:
            known = body_of(path, version)
            with self.lock:
                self.bodies[path, version] = known
        return known

    def serve(self, peer, request):
        path = request.target
        version = self.versions[path]
        tag = f'"{version}"'
        lasting = 86400 if int(path[1:]) % 2 else 0
        fields = (f"Cache-Control: max-age={lasting}", "ETag: " + tag,
                  f"Content-Type: text/x-{path[1:]}", f"Content-Language: v{version}")
        if request.get("if-none-match") == tag:
            return Answer(b"", *fields, status="304 Not Modified", length=None)(peer, request)
        return Answer(self.body(path, version), *fields)(peer, request)

    def change(self, dice):
        path = f"/{dice.randrange(PATHS)}"
        with self.lock:
            self.versions[path] += 1

    def check(self, path, response):
        """It is exactly what some version was, all of it."""
        language = response.get("Content-Language", "")
        assert language.startswith("v"), response.raw_head
        version = int(language[1:])
        assert version <= self.versions[path], "from the future"
        assert response.body == self.body(path, version), f"{path}: not version {version}"
        assert response.get("Content-Type") == f"text/x-{path[1:]}", response.raw_head
        return version


class Kills(LiveCase):
    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.world = World(self.origin)

    def client(self, server, index):
        """Asks and checks until the server is gone."""
        dice = random.Random(f"{SEED}-{server.pid}-{index}")
        try:
            with server.connect(timeout=5) as connection:
                while True:
                    path = f"/{dice.randrange(PATHS)}"
                    if dice.random() < 0.02:
                        self.world.change(dice)
                    if dice.random() < 0.01:
                        server.ask_admin("POST", "/admin/purge", {"url": self.origin.url(path)})
                    response = server.asset(self.origin, path, connection=connection)
                    assert response.status == 200, (response.status, response.body[:200])
                    self.world.check(path, response)
        except GONE:
            return False

    def check_what_is_left(self, server):
        """Without the origin: right, or not there. How many were."""
        self.origin.kill()
        try:
            found = 0
            with server.connect() as connection:
                for number in range(PATHS):
                    path = f"/{number}"
                    response = server.asset(self.origin, path, connection=connection)
                    if response.status == 200:
                        self.world.check(path, response)
                        found += 1
                    else:
                        self.refused(response, 502, "UpstreamFail")
            return found
        finally:
            self.origin.revive()

    def test_killed_while_it_fills(self):
        kept = []
        keys = {**self.live_sets(), **KEYS, "fill.max_tries": 1}
        for _ in range(KILLS):
            server = self.start(keys)
            kept.append(self.check_what_is_left(server))
            load = ron.Load(CLIENTS, lambda index, server=server: self.client(server, index))
            time.sleep(self.random.uniform(0.02, 0.5))
            server.close()  # SIGKILL
            self.assertEqual(load.join(), [])
        server = self.start(keys)
        kept.append(self.check_what_is_left(server))
        with server.connect() as connection:
            for number in range(PATHS):
                path = f"/{number}"
                response = server.asset(self.origin, path, connection=connection)
                self.assertEqual(response.status, 200, response.body[:200])
                version = self.world.check(path, response)
                if number % 2 == 0:  # validated, so it is the newest
                    self.assertEqual(version, self.world.versions[path])
        self.assertEqual(server.readyz().status, 200)
        self.assertGreater(max(kept), PATHS // 4, "nothing outlives a kill")
        self.assertEqual(server.stop(), 0)
        print(f"\n{KILLS} kills: {self.origin.count()} requests of the origin, "
              f"{sum(self.world.versions.values())} changes; of {PATHS} paths were there after "
              f"starts {kept}", file=sys.stderr)


def arguments():
    """Takes what is ours from the command line and leaves the rest to unittest."""
    given = sys.argv
    for name in ("kills", "seed"):
        if f"--{name}" in given:
            at = given.index(f"--{name}")
            globals()[name.upper()] = int(given[at + 1])
            del given[at:at + 2]


if __name__ == "__main__":
    arguments()
    unittest.main()
