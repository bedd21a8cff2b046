"""From a proposal to a version, in JSON and CBOR and with openssl alone, and what is wrong with
those that are refused."""

import base64
import gzip
import json
import os
import pathlib
import subprocess
import tempfile
import unittest
import urllib.request

import cbor
import registry
import ron
from registry import Case, region

CBOR = ("Content-Type", "application/cbor")
ACCEPT_CBOR = ("Accept", "application/cbor")
HASH = r"^b3:[0-9a-f]{64}$"
NO_ULID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"  # well formed, and nobody's


class Writes(Case):
    """What a proposal goes through, and what is wrong with those that are refused."""

    @classmethod
    def setUpClass(cls):
        cls.home = tempfile.TemporaryDirectory(prefix="ron-e2e-data-")
        cls.server = registry.Server(cls.home.name, sets={
            "registry.proposals.max_pending": 4096})

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        cls.home.cleanup()

    def post(self, path, body, *headers, auth=None):
        return self.server.ask("POST", path, body, headers, auth)

    def test_the_whole_way(self):
        before = self.server.head()
        change = region("way", title="the way")
        response = self.post("/registry/proposals", {"change": change, "reason": "because"})
        self.assertEqual(response.status, 202)
        proposal = response.json()
        self.assertEqual(set(proposal), {"proposal", "payload_b3", "sign", "expires_at",
                                         "threshold"})
        self.assertEqual(response.get("Location"), "/registry/proposals/" + proposal["proposal"])
        self.assertRegex(proposal["proposal"], ron.ULID)
        self.assertRegex(proposal["sign"], registry.TEXT)
        payload = cbor.encode({"change": change, "reason": "because"})
        self.assertEqual(proposal["payload_b3"], ron.b3(payload))
        self.assertEqual(proposal["sign"].split("\n"), [
            "ron-registry/approval/v1", "log " + self.server.get("/registry/state")["log"],
            "proposal " + proposal["proposal"], "payload " + proposal["payload_b3"],
            "expires " + proposal["expires_at"], ""])
        path = "/registry/proposals/" + proposal["proposal"]
        pending = self.server.get(path)
        self.assertEqual(pending["approvals"], [])
        self.assertEqual(pending["difference"], [
            {"what": "region/way", "before": None, "after": change["set"][0]}])
        listed = {each["proposal"]: each
                  for each in self.server.get("/registry/proposals?limit=500")["proposals"]}
        self.assertEqual(listed[proposal["proposal"]], {
            key: value for key, value in pending.items()
            if key not in ("payload", "payload_cbor", "difference")})
        early = self.server.commit(proposal)
        self.assertEqual(self.refused(early, 409, "QuorumFailed"), {"have": "0", "need": "2"})
        first, second, third = self.server.signers
        answer = self.server.approve(proposal, first)
        self.assertEqual((answer.status, answer.json()),
                         (200, {"approvals": 1, "threshold": 2, "ready": False}))
        early = self.server.commit(proposal)
        self.assertEqual(self.refused(early, 409, "QuorumFailed"), {"have": "1", "need": "2"})
        answer = self.server.approve(proposal, second)
        self.assertEqual(answer.json(), {"approvals": 2, "threshold": 2, "ready": True})
        self.assertTrue(self.server.get(path)["ready"])
        answer = self.server.approve(proposal, third)
        self.assertEqual(answer.json(), {"approvals": 3, "threshold": 2, "ready": True})
        done = self.server.commit(proposal)
        self.assertEqual(done.status, 201)
        head = done.json()
        self.assertEqual(head["version"], before["version"] + 1)
        self.assertRegex(head["hash"], HASH)
        self.assertEqual(self.server.head(), head)
        again = self.server.commit(proposal)
        self.assertEqual((again.status, again.json()), (200, head))
        self.refused(self.server.ask("GET", path), 404, "NotFound")
        entry = self.server.get(f"/registry/{head['version']}")["decoded"]
        self.assertEqual([each["signer"] for each in entry["approvals"]],
                         sorted(signer.id for signer in self.server.signers))
        self.assertEqual(self.server.get("/registry/descriptors/region/way"), change["set"][0])

    def test_the_same_in_cbor(self):
        change = region("cbor")
        response = self.post("/registry/proposals", cbor.encode({"change": change}), CBOR,
                             ACCEPT_CBOR)
        self.assertEqual((response.status, response.get("Content-Type")),
                         (202, "application/cbor"))
        proposal = cbor.decode(response.body)
        for signer in self.server.signers[:2]:
            approval = {"signer": signer.id, "signature": signer.sign(proposal["sign"].encode())}
            response = self.post("/registry/approvals/" + proposal["proposal"],
                                 cbor.encode(approval), CBOR, ACCEPT_CBOR)
            self.assertEqual(response.status, 200)
        self.assertEqual(cbor.decode(response.body), {"approvals": 2, "threshold": 2,
                                                      "ready": True})
        response = self.post("/registry/commit/" + proposal["proposal"], b"", ACCEPT_CBOR)
        self.assertEqual(response.status, 201)
        head = cbor.decode(response.body)
        self.assertEqual(self.server.head(), head)
        # The same payload in JSON has the same bytes.
        self.assertEqual(self.server.propose(change)["payload_b3"], proposal["payload_b3"])

    def test_openssl_alone_can_approve(self):
        proposal = self.server.propose(region("openssl"))
        keys = pathlib.Path(self.home.name) / "keys" / "signers"
        with tempfile.TemporaryDirectory(prefix="ron-e2e-") as home:
            text = pathlib.Path(home) / "text"
            text.write_text(proposal["sign"])
            for signer in self.server.signers[:2]:
                made = subprocess.run(
                    ["openssl", "pkeyutl", "-sign", "-rawin", "-inkey",
                     str(keys / (signer.name + ".pem")), "-in", str(text)],
                    capture_output=True, check=True, timeout=ron.REPLY_S)
                body = {"signer": signer.id,
                        "signature": base64.b64encode(made.stdout).decode()}
                response = self.post("/registry/approvals/" + proposal["proposal"], body)
                self.assertEqual(response.status, 200)
        self.assertEqual(self.server.commit(proposal).status, 201)

    def test_malformed_proposals(self):
        good = region("x")
        key = self.server.signers[0].described()["public_key"]
        fresh = [registry.Signer(name=f"n{number}").described() for number in range(3)]
        for body in (
                b"", b"{", b"null", b"[]", b"1", b'{"change":}', b'{"change":{}}', b"{}",
                b'{"change":{"kind":"update"},"change":{"kind":"update"}}', b"\xff\xfe", b"{} {}",
                b'{"change":' + b"[" * 5000 + b"]" * 5000 + b"}",
                {"change": good, "surprise": 1}, {"change": good, "reason": 7},
                {"change": good, "reason": "x" * 100000}, {"change": good, "if_head": 3},
                {"change": good, "if_head": {"version": 0}},
                {"change": good, "if_head": {"version": 0, "hash": "b3:00"}},
                {"change": good, "if_head": {"version": -1, "hash": "b3:" + "0" * 64}},
                {"change": good, "if_head": {"version": 1.5, "hash": "b3:" + "0" * 64}},
                {"change": {"kind": "upgrade"}}, {"change": {"kind": "update"}},
                {"change": {"kind": "update", "set": [], "remove": []}},
                {"change": {"kind": "update", "set": {}}},
                {"change": {"kind": "update", "set": [{"type": "region"}]}},
                {"change": {"kind": "update", "set": [{"id": "x"}]}},
                {"change": {"kind": "update", "set": [{"type": "planet", "id": "x"}]}},
                {"change": {"kind": "update", "set": [{"type": "region", "id": "X"}]}},
                {"change": {"kind": "update", "set": [{"type": "region", "id": "../x"}]}},
                {"change": region("x", colour="blue")}, {"change": region("x", title=7)},
                {"change": {"kind": "update", "set": good["set"] * 2}},
                {"change": {"kind": "update", "set": good["set"], "remove": ["region/x"]}},
                {"change": {"kind": "update", "remove": ["x"]}},
                {"change": {"kind": "update", "remove": [7]}},
                {"change": {"kind": "signers", "threshold": 3, "signers": fresh}},
                {"change": {"kind": "signers", "threshold": 0, "signers": fresh}},
                {"change": {"kind": "signers", "threshold": 1, "signers": fresh[:1]}},
                {"change": {"kind": "signers", "threshold": 1, "signers": [fresh[0], fresh[0]]}},
                {"change": {"kind": "signers", "threshold": 1, "signers": [
                    {"name": "a", "public_key": key[:-8]}, fresh[0]]}},
                {"change": {"kind": "signers", "threshold": 1, "signers": [
                    {"name": "a", "public_key": key, "extra": 1}, fresh[0]]}},
                {"change": {"kind": "revoke", "signers": [], "reason": "x"}},
                {"change": {"kind": "revoke", "signers": ["x"], "reason": "x"}},
                {"change": {"kind": "revoke", "signers": [self.server.signers[0].id]}},
                {"change": {"kind": "supersede", "version": 1, "reason": "x"}},
                {"change": {"kind": "supersede", "version": 1, "reason": "x", "change": {
                    "kind": "supersede", "version": 1, "reason": "x", "change": good}}},
        ):
            with self.subTest(str(body)[:100]):
                before = self.server.get("/registry/proposals")
                self.refused(self.post("/registry/proposals", body), 400, "Malformed")
                self.assertEqual(self.server.get("/registry/proposals"), before)

    def test_malformed_cbor(self):
        good = {"change": region("x")}
        whole = cbor.encode(good)
        twice = b"\xa2" + 2 * whole[1:]
        unsorted = b"\xa2" + cbor.encode("reason") + cbor.encode("x") + whole[1:]
        cases = {
            "empty": b"", "a byte more": whole + b"\0", "a key twice": twice,
            "keys not in order": unsorted,
            "a number not in its shortest form": cbor.encode({"change": good["change"]}).replace(
                b"\xa1", b"\xb8\x01", 1),
            "indefinite": b"\xbf" + whole[1:] + b"\xff", "a tag": b"\xc1" + whole,
            "a float": cbor.encode({"change": 1}).replace(b"\x01", b"\xf9\x3c\x00"),
            "a text that is no UTF-8": cbor.encode({"change": good["change"], "reason": "xy"})
            .replace(b"bxy", b"b\xff\xfe"),
            "a length beyond the body": b"\xa1\x66change\x5b" + b"\x7f" + b"\xff" * 7,
            "a list beyond the body": b"\xa1\x66change\x9b" + b"\x7f" + b"\xff" * 7,
            "too deep": b"\xa1\x66change" + b"\x81" * 5000 + b"\x01",
        }
        cases.update({f"cut at {at}": whole[:at] for at in range(1, len(whole))})
        for name, body in cases.items():
            with self.subTest(name):
                self.refused(self.post("/registry/proposals", body, CBOR), 400, "Malformed")

    def test_other_media_are_refused(self):
        body = json.dumps({"change": region("x")}).encode()
        for kind in ("text/plain", "application/xml", "application/jsonx"):
            response = self.post("/registry/proposals", body, ("Content-Type", kind))
            self.refused(response, 415, "UnsupportedMedia")
        response = self.post("/registry/proposals", body,
                             ("Content-Type", "application/json; charset=utf-8"))
        self.assertEqual(response.status, 202)

    def test_bodies_are_capped_and_decoded_with_care(self):
        large = json.dumps({"change": region("x"), "reason": "x" * (1 << 20)}).encode()
        self.refused(self.post("/registry/proposals", large), 413, "BodyCap")
        bomb = gzip.compress(b" " * (1 << 20) + b"{}")
        self.refused(self.post("/registry/proposals", bomb, ("Content-Encoding", "gzip")), 413,
                     "DecodedRatio")
        packed = gzip.compress(json.dumps({"change": region("packed")}).encode())
        response = self.post("/registry/proposals", packed, ("Content-Encoding", "gzip"))
        self.assertEqual(response.status, 202)
        noise = os.urandom(300000).hex()  # packed to a half
        bomb = gzip.compress(json.dumps({"change": region("x"), "reason": noise * 16}).encode(), 9)
        self.refused(self.post("/registry/proposals", bomb, ("Content-Encoding", "gzip")), 413,
                     "DecodedCap" if len(bomb) < 1 << 20 else "BodyCap")

    def test_malformed_approvals(self):
        proposal = self.server.propose(region("malformed"))
        signer = self.server.signers[0]
        good = signer.approval(proposal["sign"])
        path = "/registry/approvals/" + proposal["proposal"]
        for body in (b"", b"{", [], {}, {"signer": signer.id}, {"signature": good["signature"]},
                     {**good, "more": 1}, {**good, "signer": signer.name},
                     {**good, "signer": signer.id.upper() + "X"}, {**good, "signer": 7},
                     {**good, "signature": good["signature"][:-4]}, {**good, "signature": "!"},
                     {**good, "signature": base64.b64encode(bytes(65)).decode()},
                     {**good, "signature": list(range(64))}):
            with self.subTest(str(body)[:60]):
                self.refused(self.post(path, body), 400, "Malformed")
        for name in (NO_ULID, "x", NO_ULID.lower()):
            self.refused(self.post("/registry/approvals/" + name, good), 404, "NotFound")
            self.refused(self.post("/registry/commit/" + name, b""), 404, "NotFound")
            self.refused(self.server.ask("GET", "/registry/proposals/" + name), 404, "NotFound")
        self.assertEqual(self.server.approve(proposal, signer).status, 200)

    def test_if_head(self):
        head = self.server.head()
        proposal = self.server.ready(region("if-head"), if_head=head)
        rival = self.server.ready(region("rival"), if_head=head)
        self.assertEqual(self.server.commit(proposal).status, 201)
        now = self.server.head()
        late = self.moves(self.server, "commit_cas_fail_total", 1,
                          lambda: self.server.commit(rival))
        self.assertEqual(self.refused(late, 409, "ChainMismatch"),
                         {"version": str(now["version"]), "hash": now["hash"]})
        for wrong in (head, {**now, "hash": head["hash"]}, {**now, "version": 10 ** 6}):
            response = self.post("/registry/proposals", {"change": region("x"), "if_head": wrong})
            self.refused(response, 409, "ChainMismatch")
        self.assertFalse(self.server.get("/registry/proposals/" + rival["proposal"])["fits_head"])
        self.assertEqual(self.server.head(), now)

    def test_genesis_is_there_already(self):
        signers = [registry.Signer(name=f"n{number}").described() for number in range(3)]
        change = {"kind": "genesis", "threshold": 2, "signers": signers}
        self.refused(self.post("/registry/proposals", {"change": change}), 403, "NotAllowed")


def large(name):
    """A change of about 200 KB."""
    return {"kind": "update", "set": [
        {"type": "region", "id": f"{name}-{number}", "title": "t" * 128} for number in range(1000)]}


class Pages(Case):
    """The list of what is pending comes in pages, without what is as large as a payload."""

    def pages(self, server, limit):
        pages, after = [], ""
        while after is not None:
            page = server.get(f"/registry/proposals?limit={limit}" +
                              (f"&after={after}" if after else ""))
            pages.append(page["proposals"])
            after = page["next"]
        return pages

    def test_every_proposal_is_on_one_page(self):
        server = self.start()
        made = [server.propose(region(f"r{number}"))["proposal"] for number in range(7)]
        for limit, sizes in ((3, [3, 3, 1]), (7, [7]), (1, [1] * 7), (100000, [7])):
            with self.subTest(limit):
                pages = self.pages(server, limit)
                self.assertEqual([len(page) for page in pages], sizes)
                self.assertEqual([each["proposal"] for page in pages for each in page], sorted(made))
        self.assertEqual(len(server.get("/registry/proposals?after=")["proposals"]), 7)
        self.assertEqual(server.get("/registry/proposals?after=" + max(made)),
                         {"proposals": [], "next": None})
        for wrong in ("limit=x", "limit=-1", "after=x", "after=" + made[0] + "0"):
            self.refused(server.ask("GET", "/registry/proposals?" + wrong), 400, "Malformed")
        # In CBOR, too.
        response = server.ask("GET", "/registry/proposals?limit=2", headers=[ACCEPT_CBOR])
        page = cbor.decode(response.body)
        self.assertEqual((len(page["proposals"]), page["next"]), (2, sorted(made)[1]))

    def test_a_page_is_small_however_large_the_payloads_are(self):
        server = self.start()
        made = [server.propose(large(f"r{number}")) for number in range(8)]
        response = server.ask("GET", "/registry/proposals")
        self.assertLess(len(response.body), 1 << 15)
        for each in response.json()["proposals"]:
            self.assertEqual(set(each) & {"payload", "payload_cbor", "difference"}, set())
            self.assertGreater(each["payload_bytes"], 100000)
        one = server.get("/registry/proposals/" + made[0]["proposal"])
        self.assertEqual(len(one["difference"]), 1000)
        self.assertEqual(one["payload"]["change"], large("r0"))

    def read(self, server, path, *headers):
        """Tag and body of an answer whose length nobody knows before its end."""
        host, port = server.address
        request = urllib.request.Request(f"http://{host}:{port}{path}", headers=dict(headers))
        with urllib.request.urlopen(request, timeout=ron.REPLY_S) as response:
            self.assertEqual(response.headers["Transfer-Encoding"], "chunked")
            return response.headers["ETag"], response.read()

    def test_a_large_state_is_the_same_in_pieces(self):
        server = self.start()
        for number in range(8):
            server.agree(large(f"r{number}"))
        ids = sorted(f"r{group}-{number}" for group in range(8) for number in range(1000))
        _, body = self.read(server, "/registry/state")
        state = json.loads(body)
        self.assertEqual([each["id"] for each in state["descriptors"]], ids)
        self.assertEqual(set(state), {"head", "log", "threshold", "signers", "revoked",
                                      "descriptors"})
        self.assertEqual(body.decode(), json.dumps(state, separators=(",", ":"),
                                                   sort_keys=True) + "\n")
        tag, body = self.read(server, "/registry/state", ACCEPT_CBOR)
        self.assertEqual(cbor.decode(body), state)
        self.assertEqual(cbor.encode(state), body)
        self.assertEqual(len(server.get("/registry/state?version=2")["descriptors"]), 2000)
        known = server.ask("GET", "/registry/state", headers=[ACCEPT_CBOR, ("If-None-Match", tag)])
        self.assertEqual((known.status, known.body), (304, b""))
        # What a change would remove is as much as it is.
        gone = server.propose({"kind": "update", "remove": ["region/" + one for one in ids[:1000]]})
        one = server.get("/registry/proposals/" + gone["proposal"])
        self.assertEqual(len(one["difference"]), 1000)


if __name__ == "__main__":
    unittest.main()
