"""The registry on a real disk, hurt: killed at random moments under load, and with each single
system call of a commit, an approval, a checkpoint and a prune failing. What was acknowledged is
there afterwards, no version and no proposal twice, and the log verifies.

`--kills N` and `--seed N` make a longer run: `test_registry_crash.py --kills 300 Kills`.
"""

import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import registry
import ron
from registry import Case, region
from registry_tracer import CALLS, Tracer, blocking_binary

KILLS = 30
SEED = 12
CLIENTS = 8
GONE = (ron.Closed, ron.Truncated, ConnectionError, TimeoutError)


class Acknowledged:
    """What clients were told."""

    def __init__(self):
        self.lock = threading.Lock()
        self.proposals, self.approvals, self.commits = {}, {}, {}

    def proposed(self, proposal):
        with self.lock:
            self.proposals[proposal["proposal"]] = proposal

    def approved(self, proposal, signer):
        with self.lock:
            self.approvals.setdefault(proposal["proposal"], set()).add(signer.id)

    def committed(self, proposal, head):
        with self.lock:
            self.commits[proposal["proposal"]] = (head["version"], head["hash"])


class Kills(Case):
    SETS = {"storage.segment_bytes": "64KiB", "storage.checkpoint_versions": 40,
            "retention.keep_versions": 400, "verify.pause": "0s",
            "proposals.max_pending_per_tenant": 512}

    def setUp(self):
        super().setUp()
        self.random = random.Random(SEED)
        self.told = Acknowledged()
        self.known = {}  # version: (hash, proposal), of all that was ever seen

    def client(self, server, index):
        """One after the other, sometimes left unfinished, until the server is gone."""
        dice = random.Random(f"{SEED}-{server.pid}-{index}")
        try:
            with server.connect(timeout=5) as connection:
                while True:
                    change = region(f"c{index}-{dice.randrange(50)}",
                                    title="x" * dice.randrange(120))
                    self.one(server, connection, dice, change)
        except GONE:
            return False

    def one(self, server, connection, dice, change):
        proposal = server.propose(change, connection=connection)
        self.told.proposed(proposal)
        for signer in dice.sample(server.signers, dice.choice((0, 1, 2, 2, 2, 2, 3))):
            response = server.approve(proposal, signer, connection)
            assert response.status == 200, response.body
            self.told.approved(proposal, signer)
        response = server.commit(proposal, connection)
        if response.status == 201:
            self.told.committed(proposal, response.json())
        else:
            assert response.code == "QuorumFailed", response.body

    def check(self, server):
        """All that was acknowledged, and nothing twice."""
        first = int(server.metrics().value("registry_first_version"))
        last = max(self.known, default=first)
        by_proposal = {proposal: version for version, (_, proposal) in self.known.items()}
        for entry in server.entries(max(first, last)):
            decoded = entry["decoded"]
            version = entry["version"]
            before = self.known.get(version - 1)
            if version in self.known:
                self.assertEqual(entry["hash"], self.known[version][0], "another version")
                continue
            if before:
                self.assertEqual(decoded["prev"], before[0])
            self.assertNotIn(decoded["proposal"], by_proposal, "committed twice")
            by_proposal[decoded["proposal"]] = version
            self.known[version] = (entry["hash"], decoded["proposal"])
        for proposal, (version, digest) in self.told.commits.items():
            self.assertEqual(self.known.get(version), (digest, proposal), "a commit is lost")
        pending = {each["proposal"]: each for each in server.pending()}
        for proposal in self.told.proposals:
            if proposal in by_proposal:
                self.assertNotIn(proposal, pending)
                continue
            self.assertIn(proposal, pending, "a proposal is lost")
            have = {each["signer"] for each in pending[proposal]["approvals"]}
            self.assertLessEqual(self.told.approvals.get(proposal, set()), have,
                                 "an approval is lost")
        return pending

    def finish(self, server, pending):
        """What is left over is still good, and makes room."""
        with server.connect() as connection:
            for proposal in pending.values():
                have = {each["signer"] for each in proposal["approvals"]}
                for signer in server.signers:
                    if len(have) < 2 and signer.id not in have:
                        self.assertEqual(server.approve(proposal, signer, connection).status, 200)
                        have.add(signer.id)
                response = server.commit(proposal, connection)
                self.assertEqual(response.status, 201, response.body)
                self.told.proposed(proposal)
                self.told.committed(proposal, response.json())

    def verify(self):
        code, said, error = ron.run_ron("registry", "verify", "--data", self.data)
        self.assertEqual(code, 0, said + error)

    def test_killed_under_load(self):
        unfinished = 0
        for number in range(KILLS):
            if number % 10 == 0 and number:
                self.verify()
            server = self.start(self.SETS)
            pending = self.check(server)
            unfinished += len(pending)
            self.finish(server, pending)
            load = ron.Load(CLIENTS, lambda index, server=server: self.client(server, index))
            time.sleep(self.random.uniform(0.02, 0.4))
            server.close()  # SIGKILL
            self.assertEqual(load.join(), [])
        self.verify()
        server = self.start(self.SETS)
        self.check(server)
        server.check_log()
        again = list(self.told.commits.items())[-50:]
        for proposal, (version, digest) in again:
            response = server.commit({"proposal": proposal})
            self.assertEqual((response.status, response.json()),
                             (200, {"version": version, "hash": digest}))
        self.assertEqual(server.readyz().status, 200)
        self.assertEqual(server.metrics().value("registry_verify_failures_total"), 0)
        first = server.metrics().value("registry_first_version")
        print(f"\n{KILLS} kills: {len(self.told.commits)} commits acknowledged, HEAD "
              f"{server.head()['version']}, first version {first:.0f}, {unfinished} proposals were "
              "pending after starts", file=sys.stderr)


    def test_killed_while_a_log_begins(self):
        """Keys, genesis and the first checkpoint: a start that was cut off is followed by one that
        is not, with one log and three keys that fit it."""
        for _ in range(10):
            self.data = tempfile.mkdtemp(prefix="ron-e2e-data-")
            self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)
            for _ in range(2):
                process = subprocess.Popen(
                    [ron.BINARY, "registry", "--data", self.data, "--bind", "127.0.0.1:0",
                     "--admin", "127.0.0.1:0"], stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL, preexec_fn=ron.die_with_parent)
                time.sleep(self.random.uniform(0, 0.12))
                process.kill()
                process.wait()
            server = self.start()
            self.assertEqual({each["id"] for each in server.get("/registry/state")["signers"]},
                             {signer.id for signer in server.signers})
            self.assertEqual(server.agree(region("x"))["version"], 1)
            server.close()
            self.verify()


class Faults(Case):
    """Each system call that changes a file fails once. The template is copied, so that the same
    files have the same names every time."""

    # With so many kept there are snapshots in between, and nothing to prune yet.
    PRUNING = {"storage.segment_bytes": "64KiB", "retention.keep_versions": 29}

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory(prefix="ron-e2e-faults-")
        cls.binary = blocking_binary(cls.home.name)
        cls.template = cls.home.name + "/template"
        padding = "x" * 120
        with registry.Server(cls.template, sets={f"registry.{key}": value
                                                 for key, value in cls.PRUNING.items()}) as server:
            for number in range(30):
                if number % 6 == 0:
                    server.checkpoint()
                server.agree({"kind": "update", "set": [
                    {"type": "region", "id": f"r{number}-{each}", "title": padding}
                    for each in range(40)]})
            cls.left = server.ready(region("left-over"))
            cls.large = server.ready({"kind": "update", "set": [
                {"type": "region", "id": f"large-{each}", "title": padding}
                for each in range(500)]})
            assert server.stop() == 0

    @classmethod
    def tearDownClass(cls):
        cls.home.cleanup()

    def fresh(self, **sets):
        """A server on a copy of the template, its version one ahead of the last checkpoint."""
        shutil.rmtree(self.data)
        shutil.copytree(self.template, self.data)
        server = self.start({**self.PRUNING, **sets}, binary=self.binary, cores=1)
        server.agree(region("ahead"))
        return server

    def faults(self, operation, is_part=lambda call: True, **sets):
        """Runs it once to see its calls, then once for each of them: hands over servers with that
        call failing, and checks that it did."""
        server = self.fresh(**sets)
        with Tracer(server, "-e", "trace=" + ",".join(CALLS)) as tracer:
            operation(server)
        calls = [call for call in tracer.calls(self.data) if is_part(call)]
        self.assertTrue(calls)
        # The counters of strace are those of a thread: of several such calls the first of each
        # thread fails, that of a repair included, and in another run only that of the thread which
        # made the last.
        runs = [(call, None) for call in dict.fromkeys(calls)]
        runs += [(call, tracer.last_thread(*call)) for call in dict.fromkeys(calls)
                 if calls.count(call) > 1]
        server.close()
        failed = 0
        for (name, path), thread in runs:
            with self.subTest(f"{name} {path.removeprefix(self.data)}", thread=thread):
                server = self.fresh(**sets)
                with Tracer(server, "-P", path, "-e", "trace=" + name, "-e",
                            f"inject={name}:error=EIO:when=1", thread=thread) as tracer:
                    yield server
                    # Which thread makes a call is chance.
                    self.assertGreaterEqual(tracer.injected(), 0 if thread else 1, name + path)
                    failed += tracer.injected()
                server.close()
        print(f"\n{self.id()}: {len(runs)} runs for {len(calls)} calls, {failed} failed",
              file=sys.stderr)

    def verify(self, **sets):
        """What is there verifies without a server, and with one, which goes on from it."""
        code, said, error = ron.run_ron("registry", "verify", "--data", self.data)
        self.assertEqual(code, 0, said + error)
        server = self.start({**self.PRUNING, **sets})
        seen = server.check_log()
        self.assertEqual(len(seen), len(set(seen.values())))
        return server, seen

    def commits(self, proposal, lasting):
        """Commits it while a call fails. `lasting`: without a restart it repairs itself and takes
        it; else it is killed after its answer."""
        for server in self.faults(lambda server: server.commit(proposal)):
            answer = server.commit(proposal)
            self.assertIn(answer.status, (201, 503), answer.body)
            if answer.status == 503:
                self.assertEqual(answer.code, "StorageBusy")
            self.assertEqual(server.head()["version"], 32 if answer.status == 201 else 31)
            if lasting:
                answer = self.taken(server, proposal)
            server.close()  # SIGKILL
            server, seen = self.verify()
            if answer.status in (200, 201):
                self.assertEqual(seen.get(proposal["proposal"]), answer.json()["version"])
            again = server.commit(proposal)
            self.assertIn(again.status, (200, 201), again.body)
            self.assertEqual(again.json()["version"], 32)
            server.check_log()

    def taken(self, server, proposal):
        """The answer to a commit that is repeated until it is taken."""
        def try_it():
            response = server.commit(proposal)
            return response if response.status in (200, 201) else None

        return ron.wait_until("it is taken", try_it)

    def test_each_call_of_a_commit_and_a_kill(self):
        self.commits(self.left, lasting=False)

    def test_each_call_of_a_commit(self):
        self.commits(self.left, lasting=True)

    def test_each_call_of_a_commit_that_begins_a_segment_and_a_kill(self):
        self.commits(self.large, lasting=False)

    def test_each_call_of_a_commit_that_begins_a_segment(self):
        self.commits(self.large, lasting=True)

    def test_each_call_of_an_approval(self):
        def approve(server):
            return server.approve(self.left, server.signers[2])

        for server in self.faults(approve):
            answer = approve(server)
            self.assertIn(answer.status, (200, 503), answer.body)
            server.close()
            server, _ = self.verify()
            found = server.get("/registry/proposals/" + self.left["proposal"])["approvals"]
            self.assertIn(len(found), (3,) if answer.status == 200 else (2, 3))
            again = approve(server)
            self.assertIn(again.code, (None, "DuplicateApproval"))

    def listed(self, server):
        return [each["version"] for each in server.get("/registry/checkpoints")["checkpoints"]]

    def checkpoint(self, server):
        with server.connect_admin() as connection:
            return connection.ask("POST", "/admin/registry/checkpoint", [server.auth], b"")

    def test_each_call_of_a_checkpoint(self):
        short = {"server.request_deadline": "3s"}
        for server in self.faults(self.checkpoint, **short):
            answer = self.checkpoint(server)
            self.assertIn(answer.status, (200, 503, 504), answer.body)
            self.assertEqual(31 in self.listed(server), answer.status == 200)
            # Writes and reads go on meanwhile.
            self.taken(server, self.left)
            server.close()  # SIGKILL
            server, seen = self.verify()
            self.assertEqual(server.head()["version"], 32)
            if answer.status == 200:
                self.assertIn(31, self.listed(server))
            self.assertEqual(server.checkpoint()["version"], 32)
            self.assertEqual(server.get("/registry/proof/31")["version"], 31)

    def prune(self, server):
        server.checkpoint()
        ron.wait_until("a prune ended", lambda: any(
            line["msg"] in ("pruned", "a prune failed and is tried again at the next checkpoint")
            for line in server.logs()))

    def test_each_call_of_a_prune(self):
        keep = {"retention.keep_versions": 8, "server.request_deadline": "3s"}

        def is_prune(call):
            return call[0].startswith("unlink") or "/log/segments" in call[1]

        for server in self.faults(self.prune, is_prune, **keep):
            self.prune(server)
            state = server.get("/registry/state")
            server.close()
            server, _ = self.verify(**keep)
            self.assertEqual(server.get("/registry/state"), state)
            server.agree(region("more"))
            server.checkpoint()
            ron.wait_until("it is pruned", lambda server=server:
                           server.metrics().value("registry_first_version") > 0)
            server.check_log()

    def test_io_uring_that_stumbles(self):
        """Calls through io_uring cannot fail one by one here, but handing them over can."""
        for error in ("EINTR", "EAGAIN", "EBUSY"):
            with self.subTest(error):
                shutil.rmtree(self.data)
                shutil.copytree(self.template, self.data)
                server = self.start(self.PRUNING, cores=1)
                with Tracer(server, "-e", "trace=io_uring_enter", "-e",
                            f"inject=io_uring_enter:error={error}:when=1..3") as tracer:
                    answer = server.commit(self.left)
                    if not tracer.text():
                        self.skipTest("the kernel refuses an io_uring")
                    self.assertEqual(answer.status, 201, answer.body)
                server.close()
                server, seen = self.verify()
                self.assertEqual(seen[self.left["proposal"]], 31)


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
