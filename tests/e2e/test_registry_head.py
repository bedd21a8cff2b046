"""HEAD is linearizable: 64 writers who all want to be next, writers who do not care, and readers.
Each operation is recorded with when it was asked and when it was answered, and a checker looks for
an order that cannot be."""

import random
import threading
import time
import unittest

import ron
from registry import Case, region

WRITERS = 64
READERS = 16
ROUNDS = 12


class History:
    """What happened, as those who asked saw it."""

    def __init__(self):
        self.lock = threading.Lock()
        self.operations = []  # (asked, answered, is_commit, version, hash)

    def note(self, asked, is_commit, head):
        answered = time.monotonic()
        with self.lock:
            self.operations.append((asked, answered, is_commit, head["version"], head["hash"]))


def problem_of(operations):
    """What no order of atomic reads and commits explains, in words; None if there is one.

    Commits are totally ordered by the version they got, so it is enough that reads fit between them
    in real time.
    """
    hashes, committed = {}, {}
    for operation in operations:
        asked, answered, is_commit, version, digest = operation
        if hashes.setdefault(version, digest) != digest:
            return f"version {version} has two hashes"
        if is_commit:
            if version in committed:
                return f"version {version} was committed twice"
            committed[version] = operation
    for asked, answered, _, version, _ in operations:
        made = committed.get(version)
        if made and answered < made[0]:
            return f"version {version} was seen before anybody asked for it"
    # By when they were asked; those that were answered before are done.
    done = sorted(operations, key=lambda each: each[1])
    at, latest = 0, -1
    for asked, _, is_commit, version, _ in sorted(operations):
        while at < len(done) and done[at][1] < asked:
            latest = max(latest, done[at][3])
            at += 1
        if version < latest or is_commit and version == latest:
            done_late = "made" if is_commit else "read"
            return f"version {latest} was known, and then {version} was {done_late}"
    return None


class Checker(unittest.TestCase):
    """It must find what it is for."""

    GOOD = [(0, 1, True, 1, "a"), (0.5, 2, False, 1, "a"), (1.5, 3, True, 2, "b"),
            (2, 4, False, 1, "a"), (2, 4, False, 2, "b"), (5, 6, False, 2, "b")]

    def test_a_good_history(self):
        self.assertIsNone(problem_of(self.GOOD))

    def test_bad_ones(self):
        for bad in ((7, 8, False, 1, "a"), (7, 8, True, 2, "b"), (7, 8, False, 2, "c"),
                    (7, 8, True, 1, "a"), (0.1, 0.2, False, 2, "b")):
            with self.subTest(bad):
                self.assertIsNotNone(problem_of([*self.GOOD, bad]))

    def test_shuffled(self):
        operations = list(self.GOOD)
        random.Random(1).shuffle(operations)
        self.assertIsNone(problem_of(operations))


class Linearizable(Case):
    def setUp(self):
        super().setUp()
        self.history = History()
        self.server = self.start({"proposals.max_pending": 65536})
        self.readers = ron.Load(READERS, self.read)
        self.addCleanup(self.readers.finish)

    def read(self, index):
        """Some by HEAD, some by the state, which are not the same object."""
        with self.server.connect() as connection:
            for _ in range(100):
                asked = time.monotonic()
                if index % 4:
                    found = self.server.ask("GET", "/registry/head", connection=connection).json()
                else:
                    found = self.server.ask("GET", "/registry/state",
                                            connection=connection).json()["head"]
                self.history.note(asked, False, found)

    def finish(self, versions):
        self.assertEqual(self.readers.finish(), [])
        self.assertIsNone(problem_of(self.history.operations))
        commits = sorted(each[3] for each in self.history.operations if each[2])
        self.assertEqual(commits, list(range(1, versions + 1)))
        self.assertEqual(len(self.server.check_log()), versions + 1)

    def commit(self, proposal, connection):
        asked = time.monotonic()
        response = self.server.commit(proposal, connection)
        if response.status == 201:
            self.history.note(asked, True, response.json())
        return response

    def test_of_many_who_want_to_be_next_one_is(self):
        barrier = threading.Barrier(WRITERS)
        heads, answers = [self.server.head()], [[] for _ in range(ROUNDS)]
        before = self.server.metrics().value("commit_cas_fail_total")

        def write(index):
            with self.server.connect() as connection:
                for number in range(ROUNDS):
                    proposal = self.server.ready(region(f"w{index}"), if_head=heads[-1],
                                                 connection=connection)
                    barrier.wait(ron.REPLY_S)
                    answers[number].append(self.commit(proposal, connection))
                    barrier.wait(ron.REPLY_S)
                    if index == 0:
                        heads.append(self.server.head())
                    barrier.wait(ron.REPLY_S)
            return False

        self.assertEqual(ron.Load(WRITERS, write).join(10 * ron.REPLY_S), [])
        for number, round_of in enumerate(answers):
            won = [each for each in round_of if each.status == 201]
            self.assertEqual(len(won), 1)
            self.assertEqual(won[0].json(), heads[number + 1])
            lost = [each for each in round_of if each.status != 201]
            self.assertEqual({(each.status, each.code) for each in lost}, {(409, "ChainMismatch")})
        self.server.wait_metric("commit_cas_fail_total", before + ROUNDS * (WRITERS - 1))
        self.finish(ROUNDS)

    def test_many_writers_who_do_not_care(self):
        each_makes = 5

        def write(index):
            with self.server.connect() as connection:
                for number in range(each_makes):
                    proposal = self.server.ready(region(f"w{index}"), connection=connection)
                    response = self.commit(proposal, connection)
                    self.assertEqual(response.status, 201, response.body)
                    if number % 2:  # and again: the same version, not another
                        again = self.server.commit(proposal, connection)
                        self.assertEqual((again.status, again.body), (200, response.body))
            return False

        self.assertEqual(ron.Load(WRITERS, write).join(10 * ron.REPLY_S), [])
        self.finish(WRITERS * each_makes)
        syncs = self.server.metrics().value("registry_syncs_total")
        self.assertLess(syncs, 4 * WRITERS * each_makes)  # several share one


if __name__ == "__main__":
    unittest.main()
