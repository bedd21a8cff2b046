"""A second opinion on the registry: the verifier of tests/interop/registry, which was written in
JavaScript from docs/registry-format.md alone, judges logs of a real server, damaged copies of them
and logs that no honest server writes. `ron registry verify` has to judge the same."""

import base64
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import unittest

import registry_openssl as registry
import ron

ROOT = pathlib.Path(__file__).resolve().parents[2]
CLIENT = ROOT / "tests/interop/registry"
FLIPS = 150
CUTS = 40
PROOF_FLIPS = 60
SEED = 20261116


def install():
    """A copy of the verifier with its two dependencies, made once: nothing is installed in the
    tree."""
    work = pathlib.Path(os.environ.get("RON_INTEROP_WORK",
                                       pathlib.Path(tempfile.gettempdir()) / "ron-registry-interop"))
    work.mkdir(parents=True, exist_ok=True)
    for path in CLIENT.iterdir():
        if path.suffix in (".mjs", ".json"):
            shutil.copy(path, work)
    if not (work / "node_modules/cborg").is_dir():
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=work,
                       check=True, timeout=120 * ron.SLOW)
    return work


def node(work, *words, timeout=120):
    done = subprocess.run(["node", *map(str, words)], cwd=work, capture_output=True, text=True,
                          timeout=timeout * ron.SLOW, check=False)
    assert done.stderr == "" or done.returncode == 0, done.stderr
    return done


class SecondOpinion(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.work = install()

    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-opinion-"))
        self.addCleanup(shutil.rmtree, self.home)

    def judged(self, requests):
        """What the verifier says of each: [(holds, said)]."""
        batch = self.home / "batch"
        batch.write_text("".join(json.dumps(list(map(str, words))) + "\n" for words in requests))
        done = node(self.work, "verify.mjs", "batch", batch)
        self.assertEqual(done.returncode, 0, done.stderr)
        verdicts = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual(len(verdicts), len(requests))
        return [(verdict["ok"], verdict["said"]) for verdict in verdicts]

    def assert_agreed(self, cases, vkey):
        """Both verifiers say what is expected of each case: (name, holds, the second opinion, flags
        of `ron registry verify`)."""
        def ours(case):
            status, out, err = ron.run_ron("registry", "verify", *map(str, case[3]), "--vkey", vkey)
            return status, out + err

        with concurrent.futures.ThreadPoolExecutor(8) as several:
            verdicts = list(several.map(ours, cases))
        for (name, holds, second, _), (status, said) in zip(cases, verdicts):
            with self.subTest(name):
                self.assertEqual(second[0], holds, f"{name}: {second[1]}")
                self.assertEqual(status, 0 if holds else 1, f"ron registry verify says {said}")

    def assert_held(self, data, vkey, kept):
        """By itself, and against a checkpoint that was kept."""
        alone, against = self.judged([["data", data / "registry", vkey],
                                      ["data", data / "registry", vkey, kept]])
        self.assert_agreed([("alone", True, alone, ["--data", data]),
                            ("kept", True, against, ["--data", data, "--checkpoint", kept])], vkey)

    # The page.

    def test_the_examples_of_the_page_are_what_is_made(self):
        done = node(self.work, "examples.mjs", "check", ROOT / "docs/registry-format.md")
        self.assertEqual(done.returncode, 0, done.stdout)

    def test_a_server_goes_on_from_the_examples(self):
        data = self.home / "data"
        node(self.work, "examples.mjs", "directory", data)
        page = (ROOT / "docs/registry-format.md").read_text()
        blocks = dict(re.findall(r"^```(?:hex|text|json) (\S+)\n(.*?)^```$", page, re.M | re.S))
        head = blocks["hashes"].split("hash(1) ")[1].strip()
        with registry.Server(data) as server:
            self.assertEqual(server.get("/registry/head").json(), {"version": 1, "hash": head})
            self.assertEqual(server.vkey(), blocks["vkey"].strip())
            self.assertEqual(server.get("/registry/tlog/checkpoint").body.decode(),
                             blocks["checkpoint"])
            tile = server.get("/registry/tlog/tile/0/000.p/2").body
            self.assertEqual(tile.hex(), blocks["tile"].replace("\n", ""))
            bundle = server.get("/registry/tlog/tile/entries/000.p/2").body
            self.assertEqual(bundle.hex(), blocks["bundle"].replace("\n", ""))
            self.assertEqual(server.get("/registry/proof/1").json(), json.loads(blocks["proof"]))
            server.wait_metric("registry_verified_version", 1)
            self.assertEqual(server.metrics().value("registry_verify_failures_total"), 0)
        vkey = blocks["vkey"].strip()
        second, = self.judged([["data", data / "registry", vkey]])
        self.assert_agreed([("examples", True, second, ["--data", data])], vkey)

    # Logs of a real server.

    def history(self, server, signers):
        """One of everything: updates, a rotation, a revocation, supersedes."""
        ada, bob, eve = signers
        dan = registry.Signer.make(self.home, "dan")
        names = [one.value(name) for one, name in zip((ada, bob, eve), "abc")]

        def region(name, **more):
            return {"kind": "update", "set": [{"type": "region", "id": name, **more}]}

        server.change(region("eu", title="Europe"), [ada, bob], reason="the first")
        server.change({"kind": "update", "set": [
            {"type": "node", "id": "n1", "url": "http://10.0.0.1:8081", "region": "eu", "weight": 3}
        ]}, [bob, eve])
        server.change({"kind": "signers", "threshold": 2, "signers": [*names, dan.value("dan")]},
                      [ada, eve])
        server.change({"kind": "revoke", "signers": [eve.id], "reason": "lost"}, [ada, dan])
        server.change(region("us"), [bob, dan])
        head = server.get("/registry/head").json()
        server.change({"kind": "supersede", "version": head["version"], "reason": "typo",
                       "change": region("us-1")}, [ada, bob],
                      if_head=head)
        return ada, bob, dan

    def make_log(self, **sets):
        """A directory with a log of several segments; a note kept halfway; the key."""
        data = self.home / "data"
        with registry.Server(data, sets=sets) as server:
            signers = self.history(server, server.signers())
            kept = self.home / "kept.note"
            kept.write_text(server.checkpoint())
            vkey = server.vkey()
            server.stop()
        with registry.Server(data, sets=sets) as server:
            for number in range(4):
                server.change({"kind": "update", "remove": [f"node/n{number}"]}, signers[:2])
            for version in (0, 1, 4, 9):
                (self.home / f"proof-{version}").write_bytes(
                    server.get(f"/registry/proof/{version}").body)
            server.change({"kind": "update", "remove": ["node/n9"]}, signers[:2])
            server.stop()
        return data, kept, vkey

    def test_good_logs_and_proofs_hold(self):
        data, kept, vkey = self.make_log()
        self.assert_held(data, vkey, kept)
        proofs = [self.home / f"proof-{version}" for version in (0, 1, 4, 9)]
        seconds = self.judged([["proof", proof, vkey] for proof in proofs])
        self.assert_agreed([(proof.name, True, second, ["--proof", proof])
                            for proof, second in zip(proofs, seconds)], vkey)

    def test_a_long_pruned_log_holds(self):
        data = self.home / "data"
        sets = {"registry.storage.segment_bytes": "64KiB", "registry.retention.keep_versions": 40,
                "registry.storage.checkpoint_versions": 10,
                "registry.storage.checkpoint_interval": "50ms"}
        kept = self.home / "kept.note"
        with registry.Server(data, sets=sets) as server:
            signers = server.one_is_enough()
            title = "x" * 120
            many = [{"type": "region", "id": f"r{i}", "title": title} for i in range(40)]
            for number in range(280):
                server.change({"kind": "update", "set": many[:number % 40 + 1]}, signers)
                if number == 20:
                    kept.write_text(server.checkpoint())
            first = server.metrics().value("registry_first_version")
            self.assertGreater(first, 0, "nothing was pruned")
            vkey = server.vkey()
            server.stop()
        self.assert_held(data, vkey, kept)

    # Damage.

    def mutated(self, data, number, change):
        """A copy of the directory in which `change(path of a file)` happened to some file."""
        copy = self.home / f"mutated-{number}"
        shutil.copytree(data / "registry", copy / "registry")
        os.symlink(data / "keys", copy / "keys")
        files = [path for folder in ("log", "tree", "checkpoints")
                 for path in sorted((copy / "registry" / folder).rglob("*")) if path.is_file()]
        return copy, change(files)

    def test_a_flipped_bit_or_a_cut_file_is_found(self):
        data, _, vkey = self.make_log()
        dice = random.Random(SEED)

        def flip(files):
            sizes = [path.stat().st_size for path in files]
            path = dice.choices(files, sizes)[0] if dice.random() < 0.5 else dice.choice(files)
            content = bytearray(path.read_bytes())
            place, bit = dice.randrange(len(content)), dice.randrange(8)
            content[place] ^= 1 << bit
            path.write_bytes(content)
            return f"{path.name}: bit {bit} of byte {place}"

        def cut(files):
            path = dice.choice(files)
            left = dice.randrange(path.stat().st_size)
            os.truncate(path, left)
            return f"{path.name}: cut to {left}"

        copies = [self.mutated(data, i, flip if i < FLIPS else cut) for i in range(FLIPS + CUTS)]
        verdicts = self.judged([["data", copy / "registry", vkey] for copy, _ in copies])
        self.assert_agreed([(what, False, verdict, ["--data", copy])
                            for (copy, what), verdict in zip(copies, verdicts)], vkey)

    def test_a_changed_proof_does_not_hold(self):
        _, _, vkey = self.make_log()
        dice = random.Random(SEED)
        requests = []
        for number in range(PROOF_FLIPS):
            proof = json.loads((self.home / f"proof-{dice.choice((1, 4, 9))}").read_text())
            part = dice.choice(("entry", "summary", "checkpoint", "inclusion", "version"))
            if part == "version":
                proof["version"] += dice.choice((-1, 1, 7))
            elif part == "inclusion":
                index = dice.randrange(len(proof["inclusion"]))
                if dice.random() < 0.3:
                    del proof["inclusion"][index]
                else:
                    proof["inclusion"][index] = self.flipped(proof["inclusion"][index], dice)
            elif part == "checkpoint":
                note = proof["checkpoint"]
                place = dice.randrange(len(note))
                other = dice.choice([c for c in "0123456789abcdefXYZ \n" if c != note[place]])
                proof["checkpoint"] = note[:place] + other + note[place + 1:]
            else:
                proof[part] = self.flipped(proof[part], dice)
            path = self.home / f"changed-{number}"
            path.write_text(json.dumps(proof))
            requests.append((part, path))
        verdicts = self.judged([["proof", path, vkey] for _, path in requests])
        self.assert_agreed([(f"{path.name}: {part}", False, verdict, ["--proof", path])
                            for (part, path), verdict in zip(requests, verdicts)], vkey)

    @staticmethod
    def flipped(text, dice):
        content = bytearray(base64.b64decode(text))
        content[dice.randrange(len(content))] ^= 1 << dice.randrange(8)
        return base64.b64encode(content).decode()

    # Logs that no honest server writes.

    def test_forged_logs_and_proofs_are_judged_by_the_rules(self):
        out = self.home / "forged"
        self.assertEqual(node(self.work, "forge.mjs", out).returncode, 0)
        vkey = (out / "vkey").read_text()
        cases = []  # (case, words for the one, flags for the other)
        for case in json.loads((out / "cases.json").read_text()):
            data, kept = out / case["name"], out / case["name"] / "kept.note"
            cases.append((case, ["data", data / "registry", vkey, *([kept] if case["kept"] else [])],
                          ["--data", data, *(["--checkpoint", kept] if case["kept"] else [])]))
        for case in json.loads((out / "proofs.json").read_text()):
            proof = out / (case["name"] + ".proof")
            cases.append((case, ["proof", proof, vkey], ["--proof", proof]))
        verdicts = self.judged([words for _, words, _ in cases])
        for (case, _, flags), verdict in zip(cases, verdicts):
            if case["because"]:
                self.assertRegex(verdict[1], case["because"], flags)
        self.assert_agreed([(str(flags[1].name), case["holds"], verdict, flags)
                            for (case, _, flags), verdict in zip(cases, verdicts)], vkey)


if __name__ == "__main__":
    unittest.main()
