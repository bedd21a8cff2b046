"""Every route that reads svc-registry: answers, tags, JSON and CBOR; who may do what, what was
pruned; alone, behind the gateway, over TLS and a Unix socket, and with amnesia."""

import base64
import hashlib
import os
import pathlib
import tempfile
import time
import unittest

import cbor
import registry
import ron
import signing
from registry import Case, region

ACCEPT_CBOR = ("Accept", "application/cbor")
NO_ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"  # well formed, and nobody's


def leaf_hash(entry):
    return hashlib.sha256(b"\0" + entry).digest()


def root_of(leaves):
    """RFC 9162, section 2.1.1."""
    if len(leaves) == 1:
        return leaves[0]
    split = 1 << (len(leaves) - 1).bit_length() - 1
    return hashlib.sha256(b"\1" + root_of(leaves[:split]) + root_of(leaves[split:])).digest()


class Reads(Case):
    """One log that nobody changes while it is asked."""

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory(prefix="ron-e2e-data-")
        cls.server = registry.Server(cls.home.name)
        cls.heads = [cls.server.head()]
        cls.heads += [cls.server.agree(region(f"r{number}", title=f"number {number}"))
                      for number in range(3)]

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.home.cleanup()

    def get(self, path, *headers):
        return self.server.ask("GET", path, headers=headers, auth=())

    def test_head(self):
        response = self.get("/registry/head")
        self.assertEqual(response.status, 200)
        self.assertEqual(response.json(), self.heads[-1])
        self.assertEqual(response.get("ETag"), f'"{self.heads[-1]["hash"]}"')
        self.assertEqual(response.get("Content-Type"), "application/json")

    def test_tags_are_honoured_everywhere(self):
        for path in ("/registry/head", "/registry/2", "/registry/log?from=1&limit=2",
                     "/registry/log", "/registry/state", "/registry/state?version=1",
                     "/registry/descriptors/region/r0"):
            for accept in ((), (ACCEPT_CBOR,)):
                with self.subTest(path, accept=accept):
                    first = self.get(path, *accept)
                    self.assertEqual(first.status, 200)
                    tag = first.get("ETag")
                    self.assertRegex(tag or "", r'^"[^"]+"$')
                    for condition in (tag, f'"x", {tag}', "*", "W/" + tag):
                        again = self.get(path, ("If-None-Match", condition), *accept)
                        self.assertEqual((again.status, again.body), (304, b""), condition)
                        self.assertEqual(again.get("ETag"), tag)
                    other = self.get(path, ("If-None-Match", '"other"'), *accept)
                    self.assertEqual((other.status, other.body), (200, first.body))

    def test_each_representation_has_its_tag(self):
        for path in ("/registry/head", "/registry/2", "/registry/log", "/registry/state",
                     "/registry/descriptors/region/r0", "/registry/proposals",
                     "/registry/checkpoints"):
            with self.subTest(path):
                as_json, as_cbor = self.get(path), self.get(path, ACCEPT_CBOR)
                self.assertEqual(as_cbor.get("Content-Type"), "application/cbor")
                self.assertEqual(cbor.encode(cbor.decode(as_cbor.body)), as_cbor.body)
                tag = as_json.get("ETag")
                if tag:
                    self.assertNotEqual(tag, as_cbor.get("ETag"))
                    crossed = self.get(path, ("If-None-Match", tag), ACCEPT_CBOR)
                    self.assertEqual(crossed.status, 200)

    def test_accept_is_a_list_with_preferences(self):
        for accept, kind in (("application/cbor, application/json;q=0.5", "application/cbor"),
                             ("application/json, application/cbor;q=0.5", "application/json"),
                             ("application/cbor;q=0.2, */*", "application/json"),
                             ("text/html, application/cbor", "application/cbor"),
                             ("application/CBOR", "application/cbor"), ("*/*", "application/json")):
            with self.subTest(accept):
                response = self.get("/registry/state", ("Accept", accept))
                self.assertEqual((response.status, response.get("Content-Type")), (200, kind))

    def test_version(self):
        for head in self.heads:
            found = self.get(f"/registry/{head['version']}")
            self.assertEqual(found.status, 200)
            self.assertIn("immutable", found.get("Cache-Control"))
            body = found.json()
            self.assertEqual(set(body), {"version", "hash", "entry", "decoded"})
            self.assertEqual((body["version"], body["hash"]), (head["version"], head["hash"]))
            raw = base64.b64decode(body["entry"])
            self.assertEqual(ron.b3(raw), head["hash"])
            as_cbor = cbor.decode(self.get(f"/registry/{head['version']}", ACCEPT_CBOR).body)
            self.assertEqual(as_cbor["entry"], raw)
            entry = cbor.decode(raw)
            self.assertEqual(set(entry), {"version", "prev", "proposal", "payload", "approvals",
                                          "at", "expires"})
            self.assertEqual(body["decoded"]["proposal"], entry["proposal"])
            self.assertEqual(body["decoded"]["payload"], cbor.decode(entry["payload"]))
        for path in ("/registry/4", "/registry/18446744073709551615", "/registry/x", "/registry/-1",
                     "/registry/01", "/registry/18446744073709551616"):
            with self.subTest(path):
                self.refused(self.get(path), 404, "NotFound")

    def test_log(self):
        whole = self.get("/registry/log").json()
        self.assertEqual([entry["version"] for entry in whole["entries"]], [0, 1, 2, 3])
        self.assertEqual((whole["head"], whole["next"]), (self.heads[-1], None))
        page = self.get("/registry/log?from=1&limit=2").json()
        self.assertEqual([entry["version"] for entry in page["entries"]], [1, 2])
        self.assertEqual(page["next"], 3)
        self.assertEqual(page["entries"][0], self.get("/registry/1").json())
        beyond = self.get("/registry/log?from=4").json()
        self.assertEqual((beyond["entries"], beyond["next"]), ([], None))
        for query in ("from=x", "from=-1", "limit=", "from=1&from=2", "limit=1x", "from=01"):
            with self.subTest(query):
                self.refused(self.get("/registry/log?" + query), 400, "Malformed")
        self.server.check_log()

    def test_state(self):
        state = self.get("/registry/state").json()
        self.assertEqual(state["head"], self.heads[-1])
        self.assertEqual(state["log"], self.heads[0]["hash"])
        self.assertEqual(state["threshold"], 2)
        self.assertEqual({signer["id"] for signer in state["signers"]},
                         {signer.id for signer in self.server.signers})
        self.assertEqual([each["id"] for each in state["descriptors"]], ["r0", "r1", "r2"])
        before = self.get("/registry/state?version=1").json()
        self.assertEqual([each["id"] for each in before["descriptors"]], ["r0"])
        self.assertEqual(before["head"], self.heads[1])
        self.refused(self.get("/registry/state?version=4"), 404, "NotFound")
        self.refused(self.get("/registry/state?version=x"), 400, "Malformed")

    def test_descriptors(self):
        found = self.get("/registry/descriptors/region/r1")
        self.assertEqual(found.json(), {"type": "region", "id": "r1", "title": "number 1"})
        for path in ("region/nowhere", "planet/r1", "node/r1"):
            self.refused(self.get("/registry/descriptors/" + path), 404, "NotFound")

    def test_checkpoints_and_tiles_are_the_log(self):
        self.server.checkpoint()
        listed = self.get("/registry/checkpoints").json()
        note = self.get("/registry/tlog/checkpoint")
        self.assertTrue(note.get("Content-Type").startswith("text/plain"))
        self.assertEqual(listed["checkpoints"][-1]["note"], note.body.decode())
        text, signatures = note.body.decode().split("\n\n")
        origin, size, root, chain, pruned, _ = text.split("\n")
        self.assertEqual((size, pruned), ("4", "pruned-below 0"))
        self.assertEqual(chain, f"chain 3 {self.heads[-1]['hash']}")
        # The signature is that of the key in `vkey`: name+hash+base64(1, key).
        name, _, packed = listed["vkey"].split("+", 2)
        self.assertEqual(name, origin)
        key = base64.b64decode(packed)[1:]
        signature = base64.b64decode(signatures.split(" ")[2])[4:]
        self.assertTrue(signing.verifies(key, (text + "\n").encode(), signature))
        # Tiles: hashes of leaves, and the entries themselves.
        leaves = self.get("/registry/tlog/tile/0/000.p/4")
        self.assertEqual(leaves.status, 200)
        raws = [base64.b64decode(entry["entry"]) for entry in self.server.entries()]
        self.assertEqual(leaves.body, b"".join(map(leaf_hash, raws)))
        self.assertEqual(base64.b64decode(root), root_of([leaf_hash(raw) for raw in raws]))
        bundle = self.get("/registry/tlog/tile/entries/000.p/4").body
        self.assertEqual(bundle, b"".join(len(raw).to_bytes(2, "big") + raw for raw in raws))
        for path in ("0/000.p/5", "0/001", "1/000.p/1", "entries/000.p/5"):
            with self.subTest(path):
                self.refused(self.get("/registry/tlog/tile/" + path), 404, "NotFound")
        for path in ("0/000.p/0", "0/000.p/256", "x/000", "0/0000", "0/000.p/04", "64/000"):
            with self.subTest(path):
                response = self.get("/registry/tlog/tile/" + path)
                self.assertIn(response.status, (400, 404), path)

    def test_proof_files_stand_alone(self):
        for version in range(4):
            proof = self.get(f"/registry/proof/{version}")
            self.assertEqual(proof.status, 200)
            body = proof.json()
            self.assertEqual((body["version"], body["format"]), (version, "ron-registry-proof/v1"))
            raw = base64.b64decode(body["entry"])
            self.assertEqual(ron.b3(raw), self.heads[version]["hash"])
            _, size, root = body["checkpoint"].split("\n")[:3]
            self.assertEqual(self._root(version, int(size), leaf_hash(raw),
                                        [base64.b64decode(each) for each in body["inclusion"]]),
                             base64.b64decode(root))
        self.refused(self.get("/registry/proof/4"), 404, "NotFound")
        self.refused(self.get("/registry/proof/x"), 400, "Malformed")

    @staticmethod
    def _root(index, size, node, path):
        """RFC 9162, section 2.1.3.2."""
        last = size - 1
        for sibling in path:
            if index & 1 or index == last:
                node = hashlib.sha256(b"\1" + sibling + node).digest()
                while not index & 1 and index:
                    index, last = index >> 1, last >> 1
            else:
                node = hashlib.sha256(b"\1" + node + sibling).digest()
            index, last = index >> 1, last >> 1
        return node

    def test_other_methods_and_ways_are_refused(self):
        for method, path in (("DELETE", "/registry/head"), ("POST", "/registry/log"),
                             ("PUT", "/registry/2"), ("GET", "/registry/commit/" + NO_ULID),
                             ("PUT", "/registry/proposals")):
            with self.subTest(method + path):
                response = self.server.ask(method, path, b"" if method != "GET" else None)
                self.refused(response, 405, "MethodNotAllowed")
        self.refused(self.get("/registry/a/b/c"), 404, "NotFound")
        self.refused(self.get("/registry"), 404, "NotFound")

    def test_head_requests_say_what_get_would(self):
        for path in ("/registry/head", "/registry/2", "/registry/state"):
            with self.subTest(path):
                got, told = self.get(path), self.server.ask("HEAD", path, auth=())
                self.assertEqual((told.status, told.body), (200, b""))
                for name in ("ETag", "Content-Length", "Content-Type"):
                    self.assertEqual(told.get(name), got.get(name), name)


class Access(Case):
    def test_scopes(self):
        server = self.start()
        proposal = server.ready(region("x"))
        supersede = {**server.agree(region("w")), "reason": "x", "change": region("y")}
        del supersede["hash"]
        tries = {
            "registry:propose": [("/registry/proposals", {"change": region("y")}),
                                 ("/registry/supersede", supersede)],
            "registry:approve": [("/registry/approvals/" + proposal["proposal"],
                                  server.signers[2].approval(proposal["sign"]))],
            "registry:commit": [("/registry/commit/" + proposal["proposal"], b"")],
        }
        everything = {*tries, "registry:govern", "storage:write", "gateway:admin"}
        for scope, requests in tries.items():
            others = server.scoped(*(everything - {scope}))
            for path, body in requests:
                with self.subTest(scope, path=path):
                    anonymous = server.ask("POST", path, body, auth=())
                    self.refused(anonymous, 401, "Unauthorized")
                    self.assertTrue(anonymous.get("WWW-Authenticate"))
                    self.refused(server.ask("POST", path, body, auth=(others,)), 403, "Forbidden")
                    response = server.ask("POST", path, body, auth=(server.scoped(scope),))
                    self.assertNotIn(response.status, (401, 403), response.body)
        with server.connect_admin() as connection:
            path = "/admin/registry/checkpoint"
            self.assertEqual(connection.ask("POST", path, [], b"").status, 401)
            narrow = server.scoped("registry:commit")
            self.assertEqual(connection.ask("POST", path, [narrow], b"").status, 403)
            narrow = server.scoped("registry:govern")
            self.assertEqual(connection.ask("POST", path, [narrow], b"").status, 200)
        for narrow in ("expires = 2001-01-01T00:00:00Z", "method = GET", "path_prefix = /o",
                       "max_bytes = 3"):
            token = "Bearer " + ron.attenuate(server.token, narrow)
            response = server.ask("POST", "/registry/proposals", {"change": region("z")},
                                  auth=(("Authorization", token),))
            self.assertIn(response.status, (401, 403, 413), narrow)
        self.refused(server.ask("POST", "/registry/proposals", {"change": region("z")},
                                auth=(("Authorization", "Bearer x" + server.token),)),
                     401, "Unauthorized")

    def test_reads_are_public_unless_told_otherwise(self):
        paths = ("/registry/head", "/registry/0", "/registry/log", "/registry/state",
                 "/registry/proposals", "/registry/checkpoints", "/registry/proof/0",
                 "/registry/tlog/checkpoint", "/registry/tlog/tile/0/000.p/1",
                 "/registry/descriptors/region/a")
        server = self.start()
        server.agree(region("a"))
        server.checkpoint()
        for path in paths:
            self.assertEqual(server.ask("GET", path, auth=()).status, 200, path)
        server.stop()
        server = registry.Server(self.data, sets={"auth.public_reads": "false"})
        self.addCleanup(server.close)
        for path in paths:
            with self.subTest(path):
                self.refused(server.ask("GET", path, auth=()), 401, "Unauthorized")
                self.assertEqual(server.ask("GET", path).status, 200)
        with server.stream() as stream:
            self.assertEqual(stream.status, 401)
        with server.stream(headers=[server.auth]) as stream:
            self.assertEqual(stream.status, 200)

    def test_mutations_are_audited_and_so_are_refusals(self):
        server = self.start()
        first, second = server.signers[:2]
        proposal = server.propose(region("audited"))
        outsider = registry.Signer()
        wrong = {**first.approval("something else"), "signer": first.id}
        path = "/registry/approvals/" + proposal["proposal"]
        refusals = [
            ("propose", "NotAllowed", "/registry/proposals", {"change": {
                "kind": "genesis", "threshold": 1,
                "signers": [registry.Signer(name=str(n)).described() for n in range(2)]}}),
            ("commit", "QuorumFailed", "/registry/commit/" + proposal["proposal"], b""),
            ("approve", "InvalidSig", path, wrong),
            ("approve", "NotAllowed", path, outsider.approval(proposal["sign"])),
        ]
        for action, code, where, body in refusals:
            with self.subTest(code, action=action):
                response = self.moves(
                    server, "registry_refused_total", 1,
                    lambda where=where, body=body: server.ask("POST", where, body), action=action)
                self.assertEqual(response.code, code)
                line = server.wait_log("registry refused", code=code, action=action,
                                       corr_id=response.get("X-Corr-ID"))
                self.assertTrue(line["token"])
        for signer in (first, second):
            server.approve(proposal, signer)
        server.commit(proposal)
        server.wait_log("registry committed", proposal=proposal["proposal"], version=1)
        for message in ("proposed", "approved"):
            server.wait_log(message, proposal=proposal["proposal"])
        secrets = (server.token, first.approval(proposal["sign"])["signature"])
        for secret in secrets:
            self.assertNotIn(secret, server.log_text())


class Pruned(Case):
    SETS = {"storage.segment_bytes": "64KiB", "storage.checkpoint_versions": 20,
            "retention.keep_versions": 20}

    def fill(self, server, count):
        padding = "x" * 100
        with server.connect() as connection:
            for number in range(count):
                change = {"kind": "update", "set": [
                    {"type": "region", "id": f"p{number}-{each}", "title": padding}
                    for each in range(30)], "remove": []}
                server.agree(change, connection=connection)

    def test_what_was_pruned_names_its_checkpoint(self):
        server = self.start(self.SETS)
        self.fill(server, 100)
        server.checkpoint()
        ron.wait_until("something is pruned",
                       lambda: server.metrics().value("registry_first_version") > 0)
        time.sleep(0.1)
        first = int(server.metrics().value("registry_first_version"))
        listed = {each["version"] for each in server.get("/registry/checkpoints")["checkpoints"]}
        for path, version in (("/registry/0", 0), (f"/registry/{first - 1}", first - 1),
                              ("/registry/log?from=0", 0), ("/registry/proof/0", 0),
                              ("/registry/state?version=1", 1)):
            with self.subTest(path):
                details = self.refused(server.ask("GET", path), 410, "Pruned")
                self.assertIn(int(details["checkpoint"]), listed)
                self.assertGreaterEqual(int(details["checkpoint"]), version)
                self.assertEqual(int(details["first_version"]), first)
        self.assertEqual(server.get("/registry/log")["entries"][0]["version"], first)
        state = server.get("/registry/state")
        for _ in range(2):
            self.assertEqual(server.check_log().__len__(), 100 - first + 1)
            self.assertEqual(server.get("/registry/state"), state)
            self.assertEqual(server.get(f"/registry/proof/{first}")["version"], first)
            # The tree is whole, whatever was pruned.
            checkpoint = server.ask("GET", "/registry/tlog/checkpoint").body.decode()
            size = int(checkpoint.split("\n")[1])
            self.assertRegex(checkpoint, r"\npruned-below [1-9]\d*\n")
            tile = server.ask("GET", f"/registry/tlog/tile/0/000.p/{size}").body
            leaves = [tile[at:at + 32] for at in range(0, len(tile), 32)]
            self.assertEqual(root_of(leaves), base64.b64decode(checkpoint.split("\n")[2]))
            server = self.restart(server, sets=self.SETS)
        self.assertEqual(server.agree(region("next"))["version"], 101)


class Ways(Case):
    """Other ways to the same routes."""

    def whole_way(self, server):
        before = server.head()["version"]
        self.assertEqual(server.agree(region("way"))["version"], before + 1)
        self.refused(server.ask("GET", "/registry/99"), 404, "NotFound")
        self.refused(server.ask("POST", "/registry/proposals", b"{"), 400, "Malformed")
        server.check_log()

    def test_behind_the_gateway(self):
        server = registry.Server(self.data, command="up", sets={
            "gateway.server.max_rps": 1000000, "gateway.drr.rate_limit_rps": 1000000})
        self.addCleanup(server.close)
        server.signers = [registry.Signer.load(path) for path in sorted(
            pathlib.Path(self.data, "keys", "signers").glob("*.pem"))]
        self.whole_way(server)
        with server.stream(after=0) as stream:
            self.assertEqual(stream.event()[:2], (1, "RegistryUpdated"))
            server.agree(region("live"))
            self.assertEqual(stream.event()[:2], (2, "RegistryUpdated"))
        self.assertEqual(server.stop(), 0)
        server = self.start()  # the same directory, alone
        self.assertEqual(server.head()["version"], 2)
        self.whole_way(server)

    def test_over_tls(self):
        with tempfile.TemporaryDirectory(prefix="ron-e2e-") as home:
            server = self.start(tls=ron.Certificate(home))
            self.whole_way(server)

    def test_over_a_unix_socket(self):
        with tempfile.TemporaryDirectory(prefix="ron-e2e-") as home:
            server = self.start(uds=pathlib.Path(home) / "private" / "socket")
            server.connect = server.connect_unix
            self.whole_way(server)
            with server.stream(after=0) as stream:
                self.assertEqual(stream.event()[:2], (1, "RegistryUpdated"))

    def test_amnesia_begins_anew_and_leaves_nothing(self):
        logs = set()
        for _ in range(2):
            with registry.Server() as server:
                self.assertEqual(server.head()["version"], 0)
                logs.add(server.head()["hash"])
                proposal = server.propose(region("x"))
                self.refused(server.commit(proposal), 409, "QuorumFailed")
                self.refused(server.approve(proposal, registry.Signer()), 403, "NotAllowed")
                server.checkpoint()
                self.assertEqual(server.get("/registry/proof/0")["version"], 0)
                self.assertEqual(os.listdir(server.cwd), [])
                open_files = [os.readlink(each) for each in
                              pathlib.Path(f"/proc/{server.pid}/fd").iterdir()]
                self.assertFalse([each for each in open_files if "registry" in each])
                self.assertEqual(server.stop(), 0)
        self.assertEqual(len(logs), 2)


if __name__ == "__main__":
    unittest.main()
