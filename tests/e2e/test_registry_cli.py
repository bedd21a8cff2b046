"""The commands of the registry against a real server: from the first start's keys to a version, its
log and its proofs, with the commands and with curl and openssl alone; and what goes wrong."""

import base64
import http.server
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import threading
import unittest

import ron

EU = {"change": {"kind": "update", "set": [{"type": "region", "id": "eu"}]}, "reason": "a first region"}
US = {"change": {"kind": "update", "set": [{"type": "region", "id": "us"}]}}
HASH = r"b3:[0-9a-f]{64}"
# A checkpoint covers what was committed a moment later.
SETS = {"registry.storage.checkpoint_interval": "50ms"}


class Server(ron.Process):
    """`ron registry` on a data directory, which outlives it."""

    def __init__(self, data, **more):
        super().__init__(["registry", "--data", data], ["svc-registry"], **more)


class Liar:
    """A server that answers every GET with one document, and counts what is posted."""

    def __init__(self, document):
        body = json.dumps(document).encode()
        liar = self
        self.posted = 0

        class Handler(http.server.BaseHTTPRequestHandler):
            def answer(self, status, text):
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                self.wfile.write(text)

            def do_GET(self):  # noqa: N802: the library's name
                self.answer(200, body)

            def do_POST(self):  # noqa: N802
                liar.posted += 1
                self.rfile.read(int(self.headers["Content-Length"]))
                self.answer(409, b"{}")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class Case(unittest.TestCase):
    """A data directory, a server on it, and commands beside it."""

    sets = SETS

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-registry-cli-"))
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)
        self.data = self.home / "ron-data"
        self.server = None

    def start(self):
        self.server = Server(self.data, sets=self.sets)
        self.addCleanup(self.server.close)

    def stop(self):
        self.assertEqual(self.server.stop(), 0, self.server.log_text())

    @property
    def url(self):
        return "http://%s:%d" % self.server.address

    def key(self, letter):
        return self.data / f"keys/signers/signer-{letter}.pem"

    def run_ron(self, *arguments, given=""):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("RON_")}
        if self.server:
            kept["RON_URL"] = self.url
        return subprocess.run([ron.BINARY, "registry", *map(str, arguments)], cwd=self.home,
                              input=given, capture_output=True, text=True, check=False, env=kept,
                              timeout=60 * ron.SLOW, preexec_fn=ron.die_with_parent)

    def good(self, *arguments, **more):
        done = self.run_ron(*arguments, **more)
        self.assertEqual(done.returncode, 0, done)
        return done.stdout

    def refused(self, *arguments, status=1, **more):
        """What a command complains of."""
        done = self.run_ron(*arguments, **more)
        self.assertEqual(done.returncode, status, done)
        return done.stderr

    def propose(self, body):
        """The proposal's id."""
        said = self.good("propose", "-", given=json.dumps(body))
        return re.search(r"(?m)^proposal ([0-9A-Z]{26})  ", said)[1]

    def commit(self, body, *letters):
        """Proposes, approves and commits: the version."""
        identity = self.propose(body)
        for letter in letters or "ab":
            self.good("approve", identity, "--key", self.key(letter), "--yes")
        return int(re.fullmatch(rf"version (\d+)  {HASH}\n", self.good("commit", identity))[1])

    def files(self, pattern):
        return sorted((self.data / "registry").glob(pattern))


class TheWayOfAChange(Case):
    def setUp(self):
        super().setUp()
        self.start()

    def test_from_a_proposal_to_a_verified_version(self):
        said = self.good("propose", "-", given=json.dumps(EU))
        identity = re.search(r"ron registry approve ([0-9A-Z]{26}) --key FILE", said)[1]
        self.assertIn('  + region/eu  {"id":"eu","type":"region"}\n', said)
        self.assertIn("0 of 2 approvals, waits for approvals", said)
        self.assertIn(f"{identity}  update  0 of 2 approvals", self.good("proposals"))

        # It shows what is signed, and asks.
        asked = self.good("approve", identity, "--key", self.key("a"), given="y\n")
        self.assertIn("set region/eu", asked)
        self.assertIn(f"\nproposal {identity}\n", asked)
        self.assertRegex(asked, r"approved by [0-9a-f]{16}: 1 of 2\nnext: another signer")
        self.assertIn("QuorumFailed", self.refused("commit", identity))
        self.assertIn(f"next: ron registry commit {identity}",
                      self.good("approve", identity, "--key", self.key("c"), "--yes"))
        first = self.good("commit", identity)
        self.assertRegex(first, rf"\Aversion 1  {HASH}\n\Z")
        self.assertEqual(self.good("commit", identity), first)
        self.assertEqual(self.good("head"), first)

        log = self.good("log")
        self.assertRegex(log, rf"version 0  {HASH}\ncommitted .*\ngenesis\n  threshold 2\n")
        self.assertRegex(log, rf"version 1  {HASH}\ncommitted \S+Z  proposal {identity}\n"
                              r"approved by [0-9a-f]{16}  signer-[ac]\n"
                              r"approved by [0-9a-f]{16}  signer-[ac]\nupdate\n  set region/eu")
        self.assertIn("reason: a first region", self.good("show", "1"))
        self.assertIn("id  eu", self.good("show", "region/eu"))
        self.assertIn("region/eu", self.good("state"))
        self.assertNotIn("region/eu", self.good("state", "--version", "0"))
        lines = [json.loads(line) for line in self.good("log", "--json").splitlines()]
        self.assertEqual([line["version"] for line in lines], [0, 1])
        self.assertEqual(sorted(lines[1]["approvers"].values()), ["signer-a", "signer-c"])

        self.good("proof", "1", "-o", "1.proof")
        vkey = json.loads((self.home / "1.proof").read_text())["vkey"]
        verified = self.good("verify", "--vkey", vkey)
        self.assertIn("2 with their quorum and signatures, 2 replayed", verified)
        self.assertIn("all of it agrees", verified)
        self.assertIn("stop it first", self.refused("verify", "--data", self.data))
        (self.home / "kept.note").write_text(self.curl("/registry/tlog/checkpoint"))
        self.stop()

        # Without a server: the directory, and the proof anywhere.
        offline = self.good("verify", "--data", self.data, "--vkey", vkey, "--checkpoint", "kept.note")
        self.assertIn("versions 0 to 1", offline)
        self.assertIn("all of it agrees", offline)
        told = json.loads(self.good("verify", "--data", self.data, "--json"))
        self.assertTrue(told["ok"])
        proven = self.good("verify", "--proof", "1.proof", "--vkey", vkey)
        self.assertIn("set region/eu", proven)
        self.assertIn("signer-a", proven)
        self.assertIn("which proves nothing about whose log it is",
                      self.good("verify", "--proof", "1.proof"))

    def test_a_proposal_is_shown_withdrawn_and_rejected(self):
        identity = self.propose(EU)
        shown = self.good("show", identity)
        self.assertIn(f"proposal {identity}  update\n", shown)
        self.assertIn('  + region/eu  {"id":"eu","type":"region"}\n', shown)
        self.assertIn("0 of 2 approvals, waits for approvals", shown)
        self.good("approve", identity, "--key", self.key("a"), "--yes")
        self.assertRegex(self.good("show", identity), r"(?m)^approved by [0-9a-f]{16}  signer-a$")
        self.assertEqual(json.loads(self.good("show", identity, "--json"))["proposal"], identity)
        for _ in range(2):
            self.assertEqual(self.good("withdraw", identity), f"proposal {identity} withdrawn\n")
        self.assertIn("NotFound", self.refused("show", identity))
        self.assertIn("was withdrawn", self.refused("commit", identity))
        other = self.propose(US)
        self.assertEqual(self.good("reject", other), f"proposal {other} rejected\n")
        self.assertIn("nothing is proposed", self.good("proposals"))
        for command in ("withdraw", "reject"):
            self.refused(command, "nonsense", status=2)
            self.assertIn("NotFound", self.refused(command, "01JD0W5QJ8S3Q2M0V6X9Y4Z7AB"))

    def test_all_pages_of_proposals_are_listed(self):
        identity = self.propose(EU)
        one = json.loads(self.curl("/registry/proposals"))["proposals"][0]
        # Whatever is asked for, this server says that there is more behind the same proposal.
        with Liar({"proposals": [one], "next": identity}) as liar:
            listed = self.good("proposals", "--url", liar.url)
            self.assertEqual(listed.splitlines(), 2 * self.good("proposals").splitlines())
            listed = json.loads(self.good("proposals", "--json", "--url", liar.url))
            self.assertEqual(listed, {"proposals": [one, one]})

    def curl(self, path, *flags, status=(200, 201, 202)):
        done = subprocess.run(["curl", "-sS", "-w", "\n%{http_code}", "--max-time", "30", *flags,
                               self.url + path], capture_output=True, text=True, check=True,
                              timeout=60 * ron.SLOW)
        body, code = done.stdout.rsplit("\n", 1)
        self.assertIn(int(code), status, body)
        return body

    def test_a_hint_for_somebody_else_names_no_file_of_mine(self):
        (self.home / "mine.token").write_text(self.server.token)
        said = self.good("propose", "-", "--token", str(self.home / "mine.token"), given=json.dumps(EU))
        self.assertIn(" --token FILE", said)
        self.assertNotIn("mine.token", said)

    def test_the_same_with_curl_and_openssl_alone(self):
        bearer = ("-H", f"Authorization: Bearer {self.server.token}")
        made = json.loads(self.curl("/registry/proposals", *bearer, "-d", json.dumps(EU)))
        text = self.home / "text"
        text.write_text(made["sign"])
        for letter in "ab":
            key = self.key(letter)
            public = subprocess.run(["openssl", "pkey", "-in", key, "-pubout", "-outform", "DER"],
                                    capture_output=True, check=True).stdout[-32:]
            signer = ron.b3(public)[3:19]
            raw = subprocess.run(["openssl", "pkeyutl", "-sign", "-rawin", "-inkey", key, "-in", text],
                                 capture_output=True, check=True).stdout
            signature = subprocess.run(["base64", "-w0"], input=raw, capture_output=True,
                                       check=True).stdout.decode()
            answer = json.loads(self.curl(
                f"/registry/approvals/{made['proposal']}", *bearer, "-d",
                json.dumps({"signer": signer, "signature": signature})))
        self.assertTrue(answer["ready"])
        committed = json.loads(self.curl(f"/registry/commit/{made['proposal']}", *bearer, "-X", "POST"))
        self.assertEqual(committed["version"], 1)
        self.assertEqual(json.loads(self.curl("/registry/head"))["hash"], committed["hash"])
        self.assertIn("all of it agrees", self.good("verify"))

    def test_a_server_that_shows_another_change_than_it_wants_signed_gets_no_signature(self):
        identity = self.propose(EU)
        shown = json.loads(self.curl(f"/registry/proposals/{identity}"))
        lies = {
            "another payload": {"payload": US},
            "another expiry": {"expires_at": "2031-01-01T00:00:00Z"},
            "another text": {"sign": shown["sign"].replace("approval/v1", "approval/v2")},
        }
        for name, lie in lies.items():
            with self.subTest(name), Liar({**shown, **lie}) as liar:
                said = self.refused("approve", identity, "--key", self.key("a"), "--yes",
                                    "--url", liar.url)
                self.assertIn("nothing was signed", said)
                self.assertEqual(liar.posted, 0)
        with Liar(shown) as honest:
            self.run_ron("approve", identity, "--key", self.key("a"), "--yes", "--url", honest.url)
            self.assertEqual(honest.posted, 1)

    def test_a_rotation_counts_the_old_and_the_new_signers(self):
        dan = self.home / "dan.pem"
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", dan], check=True)
        public = subprocess.run(["openssl", "pkey", "-in", dan, "-pubout", "-outform", "DER"],
                                capture_output=True, check=True).stdout[-32:]
        signers = [{"name": each["name"], "public_key": each["public_key"]}
                   for each in json.loads(self.curl("/registry/state"))["signers"]]
        signers.append({"name": "dan", "public_key": base64.b64encode(public).decode()})
        said = self.good("propose", "-", given=json.dumps(
            {"change": {"kind": "signers", "threshold": 3, "signers": signers}}))
        self.assertIn("\n0 of 2 from the old signers, 0 of 3 from the new ones, waits for", said)
        self.assertIn("next, 2 of the old signers and 3 of the new ones, each with their own", said)
        identity = re.search(r"(?m)^proposal ([0-9A-Z]{26})  ", said)[1]
        for key, counted in ((dan, "0 of 2 from the old signers, 1 of 3 from the new ones"),
                             (self.key("a"), "1 of 2 from the old signers, 2 of 3 from the new ones"),
                             (self.key("b"), "2 of 2 from the old signers, 3 of 3 from the new ones")):
            self.assertRegex(self.good("approve", identity, "--key", key, "--yes"),
                             rf"(?m)^approved by [0-9a-f]{{16}}: {counted}$")
            self.assertIn(f"{identity}  signers  {counted}  ", self.good("proposals"))
        approvals = json.loads(self.curl(f"/registry/proposals/{identity}"))["approvals"]
        self.assertEqual({each["name"] for each in approvals}, {"signer-a", "signer-b", "dan"})
        self.assertRegex(self.good("commit", identity), rf"\Aversion 1  {HASH}\n\Z")

    def test_what_head_changed_can_be_undone(self):
        self.commit(EU)
        (self.home / "instead.json").write_text(json.dumps(US["change"]))
        said = self.good("supersede", "instead.json", "--reason", "wrong continent")
        self.assertIn("  - region/eu", said)
        self.assertIn("  + region/us", said)
        identity = re.search(r"(?m)^proposal ([0-9A-Z]{26})", said)[1]
        for letter in "bc":
            self.good("approve", identity, "--key", self.key(letter), "--yes")
        self.good("commit", identity)
        state = self.good("state")
        self.assertIn("region/us", state)
        self.assertNotIn("region/eu", state)
        self.assertIn("undoes version 1, because: wrong continent", self.good("show", "2"))
        self.assertIn("all of it agrees", self.good("verify"))

    def test_wrong_turns_say_what_to_do(self):
        identity = self.propose(EU)
        unknown = "01JD0W5QJ8S3Q2M0V6X9Y4Z7AB"
        self.assertIn("(NotFound", self.refused("approve", unknown, "--key", self.key("a"), "--yes"))
        self.assertIn("(NotFound", self.refused("commit", unknown))
        self.assertIn("a proposal's id has 26 characters", self.refused("commit", "1", status=2))
        # Nobody says yes.
        self.assertIn("say --yes", self.refused("approve", identity, "--key", self.key("a")))
        self.assertIn("not approved", self.refused("approve", identity, "--key", self.key("a"), given="n\n"))
        # Somebody else's key, no key, and a key that others may read.
        subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", self.home / "eve.pem"],
                       check=True, capture_output=True)
        os.chmod(self.home / "eve.pem", 0o600)
        self.assertIn("(NotAllowed", self.refused("approve", identity, "--key", "eve.pem", "--yes"))
        self.assertIn("nowhere.pem", self.refused("approve", identity, "--key", "nowhere.pem", "--yes"))
        os.chmod(self.home / "eve.pem", 0o644)
        self.assertIn("chmod 600", self.refused("approve", identity, "--key", "eve.pem", "--yes"))
        # Twice the same.
        self.good("approve", identity, "--key", self.key("a"), "--yes")
        self.assertIn("(DuplicateApproval",
                      self.refused("approve", identity, "--key", self.key("a"), "--yes"))
        self.assertIn("(Malformed", self.refused("propose", "-", given='{"change":{"kind":"updat"}}'))
        self.assertIn("(NotFound", self.refused("show", "7"))
        self.assertIn("(NotFound", self.refused("show", "node/none"))
        self.assertIn("(NotFound", self.refused("proof", "7", "-o", "7.proof"))
        self.assertFalse((self.home / "7.proof").exists())


class Verification(Case):
    """Logs that are not what they were."""

    def setUp(self):
        super().setUp()
        self.start()
        for body in (EU, US):
            self.commit(body)
        self.good("proof", "2", "-o", "2.proof")  # makes a checkpoint that covers it
        proof = json.loads((self.home / "2.proof").read_text())
        self.vkey = proof["vkey"]
        (self.home / "kept.note").write_text(proof["checkpoint"])
        self.stop()

    def verify(self, *flags):
        return self.run_ron("verify", "--data", self.data, "--vkey", self.vkey, *flags)

    def flip(self, path, at):
        data = bytearray(path.read_bytes())
        data[at] ^= 1
        path.write_bytes(data)

    def test_a_flipped_byte_is_named_by_its_version(self):
        segment = self.files("log/segments/*.seg")[0]
        at = segment.read_bytes().index(b"bidbus") + 4  # "id": "us", which no random key contains
        self.flip(segment, at)
        done = self.verify()
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr, r"(?m)^ron registry verify: version 2: ")
        self.assertIn("problem", done.stdout)
        self.flip(segment, at)
        self.assertEqual(self.verify().returncode, 0)

    def test_bytes_all_over_the_files_are_noticed(self):
        for path in self.files("**/*"):
            if not path.is_file():
                continue
            size = path.stat().st_size
            for at in sorted({0, size // 3, size // 2, size - 1}):
                self.flip(path, at)
                done = self.verify()
                self.assertEqual(done.returncode, 1, (path, at, done))
                self.flip(path, at)
        self.assertEqual(self.verify().returncode, 0)

    def test_a_log_that_was_rolled_back_is_noticed_with_a_kept_checkpoint(self):
        older = self.home / "older"
        # A copy from before: another log with the same genesis would look the same.
        shutil.copytree(self.data, older)
        self.data, newer = older, self.data
        self.start()
        self.commit(EU)
        self.good("proof", "3", "-o", "3.proof")
        self.stop()
        (self.home / "kept.note").write_text(json.loads((self.home / "3.proof").read_text())["checkpoint"])
        self.data = newer
        self.assertEqual(self.verify().returncode, 0)
        done = self.verify("--checkpoint", "kept.note")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"kept\.note: it signs version 3, and the log ends with version 2: "
                                      r"versions were lost, or the log was rolled back")

    def test_a_changed_proof_is_refused(self):
        proof = json.loads((self.home / "2.proof").read_text())
        for key in ("entry", "summary"):
            changed = dict(proof)
            changed[key] = proof[key][:40] + ("A" if proof[key][40] != "A" else "B") + proof[key][41:]
            (self.home / "bad.proof").write_text(json.dumps(changed))
            self.assertIn("does not hold", self.refused("verify", "--proof", "bad.proof"))
        other = proof["vkey"][:-4] + ("AAA=" if not proof["vkey"].endswith("AAA=") else "BBA=")
        self.refused("verify", "--proof", "2.proof", "--vkey", other, status=2)

    def test_a_servers_log_is_held_against_a_kept_checkpoint(self):
        self.start()
        self.assertEqual(self.run_ron("verify", "--vkey", self.vkey, "--checkpoint", "kept.note").returncode, 0)


class Pruned(Case):
    """A log whose first versions are gone."""

    sets = {**SETS, "registry.retention.keep_versions": 3, "registry.storage.segment_bytes": "64KiB"}

    def test_it_still_verifies_and_says_what_is_gone(self):
        self.start()
        # Few versions, but large ones: whole segments go.
        for number in range(16):
            regions = [{"type": "region", "id": f"r{number}-{index}"} for index in range(300)]
            version = self.commit({"change": {"kind": "update", "set": regions}})
            self.good("proof", version)  # makes a checkpoint that covers it
        ron.wait_until("a prune", lambda: self.server.metrics().value("registry_first_version") > 1)
        self.assertIn("(Pruned", self.refused("show", "1"))
        listed = self.good("log", "--limit", "100", "--json").splitlines()
        first = json.loads(listed[0])["version"]
        self.assertGreater(first, 1)
        self.assertEqual(json.loads(listed[-1])["version"], version)
        self.assertEqual(sorted(json.loads(listed[-1])["approvers"].values()), ["signer-a", "signer-b"])
        done = self.run_ron("verify")
        self.assertEqual(done.returncode, 0, done)
        self.assertIn("were pruned: the state is not replayed from here", done.stderr)
        count = version + 1 - first
        self.assertIn(f"checked {count} entries, {count} with their quorum", done.stdout)
        self.stop()
        offline = self.good("verify", "--data", self.data)
        self.assertIn("the tree and the checkpoints cover them", offline)
        self.assertIn(f"{count} with their quorum", offline)
        # The hash of a version that is gone: only the tree has it.
        leaves = self.data / "registry/tree/0"
        data = bytearray(leaves.read_bytes())
        data[32] ^= 1
        leaves.write_bytes(data)
        self.assertIn(".note: its root is not", self.refused("verify", "--data", self.data))


class Init(Case):
    def test_signers_of_ones_choice_decide_from_the_first_start_on(self):
        for name in ("alice", "bob", "carol"):
            subprocess.run([ron.BINARY, "key", "gen", "--signer", name, "--out", name + ".pem"],
                           cwd=self.home, check=True, capture_output=True)
        self.good("init", "--signer", "alice.pub", "--signer", "bob.pub", "--signer", "carol.pub",
                  "--threshold", "2", "--data", self.data)
        before = self.good("verify", "--data", self.data)
        self.start()
        self.assertFalse((self.data / "keys/signers").exists())
        identity = self.propose(EU)
        for name in ("alice", "carol"):
            self.good("approve", identity, "--key", name + ".pem", "--yes")
        self.good("commit", identity)
        self.assertIn("  alice", self.good("log"))
        log = re.search(rf"log ({HASH})", before)[1]
        self.assertIn(log, self.good("state"))
        self.assertIn("uses the log", self.refused(
            "init", "--signer", "alice.pub", "--signer", "bob.pub", "--threshold", "1", "--data", self.data))
        self.stop()
        self.assertIn("there is a log already", self.refused(
            "init", "--signer", "alice.pub", "--signer", "bob.pub", "--threshold", "1", "--data", self.data))


if __name__ == "__main__":
    unittest.main()
