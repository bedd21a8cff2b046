"""Names on a real disk, hurt: the index is killed at random moments under load. Every acknowledged
version is there afterwards as it was acknowledged, none is there twice, none that was refused is
there at all, and compare-and-set is linearizable: each success is a version of its own, the
versions of a name have no gaps, and one that was acknowledged before another was begun is older.

`--kills N` and `--seed N` make a longer run: `test_index_crash.py --kills 200 Kills`.
"""

import json
import random
import shutil
import sys
import tempfile
import threading
import time
import unittest
from collections import Counter

import index
import ron

KILLS = 30
SEED = 13
WRITERS = 32
# Names that several writers want at once, and names of their own.
SHARED = [f"shared/{number}" for number in range(3)]
GONE = (ron.Closed, ron.Truncated, ConnectionError, TimeoutError)


class Write:
    """One attempt to set or remove a name. Its target is its own: nobody else ever asks for it."""

    def __init__(self, name, target, expected):
        self.name, self.target, self.expected = name, target, expected
        self.begun = time.monotonic()
        self.ended = None    # never heard of: it may have happened
        self.version = None  # that it was told; None: refused, or never heard of
        self.refused = False


class Journal:
    """What clients asked for and what they were told. Any thread."""

    def __init__(self):
        self.lock = threading.Lock()
        self.writes = {}  # by name

    def begin(self, name, target, expected):
        write = Write(name, target, expected)
        with self.lock:
            self.writes.setdefault(name, []).append(write)
        return write

    def told(self):
        return [write for writes in self.writes.values() for write in writes
                if write.version is not None]


class Case(unittest.TestCase):
    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="ron-e2e-data-")
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
        self.journal = Journal()
        self.random = random.Random(SEED)

    def start(self):
        server = index.Server(self.data)
        self.addCleanup(server.close)
        return server

    # A client.

    def write(self, server, connection, name, expected, dice):
        """Sets the name, or now and then removes it. The version it has afterwards, as far as the
        answer says."""
        removes = expected and dice.random() < 0.05
        target = None if removes else f"b3:{dice.getrandbits(256):064x}"
        write = self.journal.begin(name, target, expected)
        path = "/names/" + name
        if removes:
            answer = connection.ask("DELETE", f"{path}?expected_version={expected}",
                                    [server.auth])
        else:
            body = {"target": target}
            if expected is not None:
                body["expected_version"] = expected
            answer = connection.ask("PUT", path, [server.auth], json.dumps(body).encode())
        write.ended = time.monotonic()
        if answer.status in (200, 201):
            write.version = answer.json()["version"]
            assert expected is None or write.version == expected + 1 or expected == 0, answer.body
            return write.version
        assert answer.code in ("VersionSkew", "NotFound", "Busy"), (answer.status, answer.body)
        write.refused = True
        if answer.code == "Busy":
            return expected
        return int(answer.json()["error"].get("details", {}).get("version", 0))

    def client(self, server, number):
        """Compare and set, with what it was last told, until the server is gone."""
        dice = random.Random(f"{SEED}-{server.pid}-{number}")
        known = {}
        try:
            with server.connect(timeout=5) as connection:
                while True:
                    name = dice.choice((*SHARED, f"own/{number}"))
                    blind = dice.random() < 0.1
                    version = self.write(server, connection, name,
                                         None if blind else known.get(name, 0), dice)
                    if version is not None:
                        known[name] = version
        except GONE:
            return False

    # What is there.

    def history(self, server, connection, name):
        """Every version of a name, oldest first."""
        found, path = [], f"/names/{name}?history=1&limit=1000"
        while True:
            answer = connection.ask("GET", path, [server.auth])
            if answer.status == 404:
                return found
            self.assertEqual(answer.status, 200, answer.body)
            page = answer.json()
            found += page["versions"]
            if page["next"] is None:
                return found[::-1]
            path = f"/names/{name}?history=1&limit=1000&before={page['next']}"

    def check(self, server):
        with server.connect() as connection:
            for name, writes in self.journal.writes.items():
                self.check_name(server, connection, name, writes)

    def check_name(self, server, connection, name, writes):
        history = self.history(server, connection, name)
        self.assertEqual([each["version"] for each in history],
                         list(range(1, len(history) + 1)), f"{name}: a gap, or one twice")
        there = {each["version"]: each.get("target") for each in history}
        asked = {write.target: write for write in writes if write.target}
        twice = [target for target, times in Counter(filter(None, there.values())).items()
                 if times > 1]
        self.assertEqual(twice, [], f"{name}: written twice")
        for version, target in there.items():
            if target is not None:
                self.assertIn(target, asked, f"{name}@{version} was never asked for")
                self.assertFalse(asked[target].refused, f"{name}@{version} was refused")
        for write in writes:
            if write.version is not None:
                self.assertEqual(there.get(write.version), write.target,
                                 f"{name}@{write.version} is lost")
        self.check_order(name, [write for write in writes if write.version is not None])
        if history:
            answer = connection.ask("GET", "/names/" + name, [server.auth])
            if there[len(history)] is None:
                self.assertEqual(answer.status, 404, answer.body)
            else:
                self.assertEqual((answer.json()["version"], answer.json()["target"]),
                                 (len(history), there[len(history)]))

    def check_order(self, name, told):
        """In the order in which they ended: none that began later has an older version."""
        versions = [write.version for write in told]
        self.assertEqual(len(versions), len(set(versions)), f"{name}: a version for two")
        by_end = sorted(told, key=lambda write: write.ended)
        newest, behind = 0, iter(by_end)
        upcoming = next(behind, None)
        for write in sorted(told, key=lambda each: each.begun):
            while upcoming and upcoming.ended < write.begun:
                newest = max(newest, upcoming.version)
                upcoming = next(behind, None)
            self.assertGreater(write.version, newest, f"{name}: went back")


class Kills(Case):
    def test_killed_under_load(self):
        for _ in range(KILLS):
            server = self.start()
            self.check(server)
            load = ron.Load(8, lambda number, server=server: self.client(server, number))
            time.sleep(self.random.uniform(0.02, 0.4))
            server.close()  # SIGKILL
            self.assertEqual(load.join(), [])
        server = self.start()
        self.check(server)
        self.assertEqual(server.stop(), 0)
        told = self.journal.told()
        self.assertGreater(len(told), 10 * KILLS)
        doubt = sum(write.ended is None for writes in self.journal.writes.values()
                    for write in writes)
        print(f"\n{KILLS} kills: {len(told)} versions acknowledged, {doubt} writes in doubt",
              file=sys.stderr)


class Linearizable(Case):
    def test_many_writers(self):
        """All of them want the same few names."""
        server = self.start()
        stop = time.monotonic() + 5

        def work(number):
            dice = random.Random(f"{SEED}-{number}")
            known = {}
            with server.connect(timeout=30) as connection:
                while time.monotonic() < stop:
                    name = dice.choice(SHARED)
                    version = self.write(server, connection, name, known.get(name, 0), dice)
                    if version is not None:
                        known[name] = version
            return False

        self.assertEqual(ron.Load(WRITERS, work).join(60), [])
        self.check(server)
        told = self.journal.told()
        refused = sum(write.refused for writes in self.journal.writes.values()
                      for write in writes)
        self.assertGreater(len(told), 100)
        self.assertGreater(refused, 100)
        server.close()  # SIGKILL
        self.check(self.start())
        print(f"\n{WRITERS} writers: {len(told)} succeeded, {refused} were refused",
              file=sys.stderr)


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
