"""Who may decide, and what counts as having decided: every approval that must not count is refused
with its own code, signers come and go by commits, and what was acknowledged outlives a crash."""

import base64
import calendar
import time
import unittest

import ron
from registry import Case, Signer, region


def rfc3339(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


class Approvals(Case):
    def send(self, server, proposal, approval):
        return server.ask("POST", "/registry/approvals/" + proposal["proposal"], approval)

    def still_open(self, server, proposal, approvals):
        """Whatever was refused has left nothing behind."""
        found = server.get("/registry/proposals/" + proposal["proposal"])
        self.assertEqual([each["signer"] for each in found["approvals"]], sorted(approvals))

    def test_duplicates(self):
        server = self.start()
        first, second, third = server.signers
        proposal = server.propose(region("x"))
        self.assertEqual(server.approve(proposal, first).status, 200)
        for _ in range(2):
            self.refused(server.approve(proposal, first), 409, "DuplicateApproval")
        details = self.refused(server.commit(proposal), 409, "QuorumFailed")
        self.assertEqual(details, {"have": "1", "need": "2"})
        self.still_open(server, proposal, [first.id])
        self.assertEqual(server.approve(proposal, second).status, 200)
        self.assertEqual(server.commit(proposal).status, 201)
        # It is history: neither the same nor another approval is taken any more.
        for signer in (first, third):
            self.refused(server.approve(proposal, signer), 409, "VersionSkew")

    def test_every_flipped_bit_of_a_signature(self):
        server = self.start()
        signer = server.signers[0]
        proposal = server.propose(region("x"))
        good = signer.sign(proposal["sign"].encode())
        with server.connect() as connection:
            for bit in range(0, 512, 3):
                bad = bytearray(good)
                bad[bit // 8] ^= 1 << bit % 8
                body = {"signer": signer.id, "signature": base64.b64encode(bad).decode()}
                response = server.ask("POST", "/registry/approvals/" + proposal["proposal"], body,
                                      connection=connection)
                self.refused(response, 403, "InvalidSig")
        self.still_open(server, proposal, [])

    def test_other_texts(self):
        server = self.start()
        signer = server.signers[0]
        proposal, other = (server.propose(region(name)) for name in "ab")
        lines = proposal["sign"].split("\n")
        foreign = "log b3:" + "5" * 64
        changed = {
            "another proposal's": other["sign"],
            "another log's": "\n".join([lines[0], foreign, *lines[2:]]),
            "another payload's": "\n".join([*lines[:3], other["sign"].split("\n")[3], *lines[4:]]),
            "another expiry's": "\n".join([*lines[:4], "expires 2099-01-01T00:00:00Z", ""]),
            "another version of the text's": proposal["sign"].replace("/v1", "/v2"),
            "the text's without its end": proposal["sign"][:-1],
            "the text's with other line ends": proposal["sign"].replace("\n", "\r\n"),
            "nothing's": "",
        }
        for name, text in changed.items():
            with self.subTest(name):
                self.refused(self.send(server, proposal, signer.approval(text)), 403, "InvalidSig")
        # Replayed on another proposal, and one signer's in the name of another.
        self.refused(self.send(server, other, signer.approval(proposal["sign"])), 403, "InvalidSig")
        stolen = {**server.signers[1].approval(proposal["sign"]), "signer": signer.id}
        self.refused(self.send(server, proposal, stolen), 403, "InvalidSig")
        self.refused(server.approve(proposal, Signer()), 403, "NotAllowed")
        self.still_open(server, proposal, [])
        self.assertEqual(server.approve(proposal, signer).status, 200)

    def test_replay_into_another_log(self):
        server = self.start()
        proposal = server.propose(region("x"))
        self.assertEqual(server.stop(), 0)
        theirs = self.data
        Case.setUp(self)
        other = self.start()
        self.assertNotEqual(self.data, theirs)
        same = other.propose(region("x"))
        self.assertEqual(same["payload_b3"], proposal["payload_b3"])
        # A signer of that log, with what it signed there.
        self.refused(self.send(other, same, server.signers[0].approval(proposal["sign"])), 403,
                     "NotAllowed")
        self.refused(self.send(other, same, other.signers[0].approval(proposal["sign"])), 403,
                     "InvalidSig")
        self.refused(self.send(other, proposal, server.signers[0].approval(proposal["sign"])), 404,
                     "NotFound")

    def test_expiry(self):
        server = self.start({"proposals.ttl": "2s"})
        proposal = server.ready(region("x"))
        third = server.signers[2]
        end = calendar.timegm(time.strptime(proposal["expires_at"], "%Y-%m-%dT%H:%M:%SZ"))
        self.assertLessEqual(end, time.time() + 2)
        time.sleep(max(0, end - time.time()) + 0.05)
        self.refused(server.approve(proposal, third), 409, "VersionSkew")
        self.refused(server.commit(proposal), 409, "VersionSkew")
        path = "/registry/proposals/" + proposal["proposal"]
        self.refused(server.ask("GET", path), 404, "NotFound")
        ron.wait_until("it is swept away",
                       lambda: server.metrics().value("registry_pending_proposals") == 0)
        server.wait_log("expired", proposal=proposal["proposal"])
        self.assertEqual(server.head()["version"], 0)
        server = self.restart(server)
        self.assertIn(server.commit(proposal).status, (404, 409))
        self.assertEqual(server.get("/registry/proposals"), {"proposals": [], "next": None})

    def test_many_may_wait_but_not_too_many(self):
        server = self.start({"proposals.max_pending": 5, "proposals.max_pending_per_tenant": 5})
        kept = [server.propose(region(f"r{number}")) for number in range(5)]
        busy = self.moves(server, "busy_rejections_total", 1,
                          lambda: server.ask("POST", "/registry/proposals",
                                             {"change": region("x")}))
        self.refused(busy, 429, "Busy")
        self.assertTrue(busy.get("Retry-After"))
        for signer in server.signers[:2]:
            server.approve(kept[0], signer)
        self.assertEqual(server.commit(kept[0]).status, 201)
        server.propose(region("x"))


class Shares(Case):
    """One tenant cannot keep the others from proposing, and nobody can keep a signer from being
    revoked."""

    def try_propose(self, server, change, *caveats):
        return server.ask("POST", "/registry/proposals", {"change": change},
                          auth=[server.may("scope = registry:propose", *caveats)])

    def fill(self, server, *caveats, code="Quota"):
        """How many are taken until the answer is that code."""
        for taken in range(1000):
            response = self.try_propose(server, region(f"r{taken}"), *caveats)
            if response.status != 202:
                self.refused(response, 429, code)
                return taken
        return self.fail("everything is taken")

    def revocation(self, server):
        return {"kind": "signers", "threshold": 2, "signers": [
            *(signer.described() for signer in server.signers),
            Signer(name="fourth").described()]}

    def test_a_tenant_has_a_quarter(self):
        server = self.start({"proposals.max_pending": 32})
        self.assertEqual(self.fill(server, "tenant = mallory"), 8)
        self.assertEqual(self.try_propose(server, region("x"), "tenant = acme").status, 202)
        # A share is a tenant's, not a token's, and what is pending counts after a restart as well.
        server = self.restart(server, sets={"proposals.max_pending": 32})
        self.assertEqual(self.fill(server, "tenant = mallory", "method = POST"), 0)
        self.assertEqual(self.try_propose(server, region("y"), "tenant = acme").status, 202)

    def test_the_share_can_be_set(self):
        server = self.start({"proposals.max_pending_per_tenant": 3})
        self.assertEqual(self.fill(server, "tenant = mallory"), 3)
        details = self.refused(self.try_propose(server, region("x"), "tenant = mallory"), 429,
                               "Quota")
        self.assertEqual((details["pending"], details["share"]), ("3", "3"))
        self.assertEqual(self.fill(server), 3)

    def test_signers_can_be_changed_when_all_else_is_full(self):
        server = self.start({"proposals.max_pending": 8, "proposals.max_pending_per_tenant": 4})
        for tenant in "ab":
            self.assertEqual(self.fill(server, f"tenant = {tenant}",
                                       code="Quota" if tenant == "a" else "Busy"), 4)
        self.refused(self.try_propose(server, region("x"), "tenant = c"), 429, "Busy")
        proposal = self.try_propose(server, self.revocation(server), "tenant = c")
        self.assertEqual(proposal.status, 202, proposal.body)
        for signer in server.signers:
            answer = server.approve(proposal.json(), signer)
            self.assertEqual(answer.status, 200)
        self.assertEqual(server.commit(proposal.json()).status, 201)


class Withdrawal(Case):
    def withdraw(self, server, proposal, *caveats):
        return server.ask("DELETE", "/registry/proposals/" + proposal["proposal"],
                          auth=[server.may(*caveats)] if caveats else None)

    def propose(self, server, tenant):
        response = server.ask("POST", "/registry/proposals", {"change": region("x")},
                              auth=[server.may("scope = registry:propose", f"tenant = {tenant}")])
        self.assertEqual(response.status, 202)
        return response.json()

    def test_by_the_proposer(self):
        server = self.start()
        proposal, other = self.propose(server, "acme"), self.propose(server, "acme")
        propose = "scope = registry:propose"
        self.refused(self.withdraw(server, proposal, propose, "tenant = umbrella"), 403,
                     "Forbidden")
        self.refused(self.withdraw(server, proposal, propose), 403, "Forbidden")
        for scope in ("registry:commit", "registry:approve"):
            self.refused(self.withdraw(server, proposal, f"scope = {scope}", "tenant = acme"), 403,
                         "Forbidden")
        server.approve(proposal, server.signers[0])
        for _ in range(2):
            done = self.withdraw(server, proposal, propose, "tenant = acme")
            self.assertEqual((done.status, done.body), (204, b""))
        line = server.wait_log("withdrawn", proposal=proposal["proposal"])
        self.assertEqual((line["by"], line["tenant"]), ("proposer", "acme"))
        self.assertTrue(line["token"])
        self.refused(server.approve(proposal, server.signers[1]), 409, "VersionSkew")
        self.refused(server.commit(proposal), 409, "VersionSkew")
        self.refused(server.ask("GET", "/registry/proposals/" + proposal["proposal"]), 404,
                     "NotFound")
        self.assertEqual([each["proposal"] for each in
                          server.get("/registry/proposals")["proposals"]], [other["proposal"]])

    def test_by_whoever_governs(self):
        server = self.start()
        proposal = self.propose(server, "acme")
        self.assertEqual(self.withdraw(server, proposal, "scope = registry:govern").status, 204)
        line = server.wait_log("withdrawn", proposal=proposal["proposal"])
        self.assertEqual(line["by"], "govern")

    def test_it_outlives_a_crash_and_is_answered_the_same(self):
        server = self.start()
        kept, gone = self.propose(server, "acme"), self.propose(server, "acme")
        rights = ("scope = registry:propose", "tenant = acme")
        self.assertEqual(self.withdraw(server, gone, *rights).status, 204)
        server.close()  # SIGKILL
        server = self.start()
        self.assertEqual([each["proposal"] for each in
                          server.get("/registry/proposals")["proposals"]], [kept["proposal"]])
        self.assertEqual(self.withdraw(server, gone, *rights).status, 204)
        self.refused(self.withdraw(server, gone, "scope = registry:propose",
                                   "tenant = umbrella"), 403, "Forbidden")
        self.refused(server.commit(gone), 409, "VersionSkew")
        # The proposer of what was kept is known, too.
        self.assertEqual(self.withdraw(server, kept, *rights).status, 204)

    def test_what_cannot_be_withdrawn(self):
        server = self.start()
        head = server.agree(region("x"))
        done = server.get(f"/registry/{head['version']}")["decoded"]["proposal"]
        self.assertEqual(self.refused(self.withdraw(server, {"proposal": done}), 409,
                                      "VersionSkew"), {"version": str(head["version"])})
        for name in ("01ARZ3NDEKTSV4RRFFQ69G5FAV", "x"):
            self.refused(self.withdraw(server, {"proposal": name}), 404, "NotFound")
        self.refused(server.ask("DELETE", "/registry/proposals/" + done, auth=()), 401,
                     "Unauthorized")


class Signers(Case):
    def rotation(self, signers, threshold=2, **more):
        return {"kind": "signers", "threshold": threshold,
                "signers": [signer.described(**more) for signer in signers]}

    def test_rotation_needs_the_old_and_the_new(self):
        server = self.start()
        old = server.signers
        new = [Signer(name=f"new-{letter}") for letter in "abcd"]
        pending = server.propose(region("before"))
        server.approve(pending, old[0])
        proposal = server.propose(self.rotation(new, 3))
        for signer in old[:2]:
            self.assertFalse(server.approve(proposal, signer).json()["ready"])
        details = self.refused(server.commit(proposal), 409, "QuorumFailed")
        self.assertEqual(details, {"have": "2", "need": "2", "have_new": "0", "need_new": "3"})
        for signer in new[:2]:
            self.assertFalse(server.approve(proposal, signer).json()["ready"])
        self.refused(server.approve(proposal, Signer()), 403, "NotAllowed")
        self.assertTrue(server.approve(proposal, new[2]).json()["ready"])
        self.assertEqual(server.commit(proposal).status, 201)
        # Whoever left does not count any more, not even where it had approved before.
        self.refused(server.approve(pending, old[1]), 403, "NotAllowed")
        details = self.refused(server.commit(pending), 409, "QuorumFailed")
        self.assertEqual(details, {"have": "0", "need": "3"})
        for signer in new[:3]:
            server.approve(pending, signer)
        self.assertEqual(server.commit(pending).status, 201)
        self.assertEqual(server.get("/registry/state")["threshold"], 3)
        server = self.restart(server)
        self.assertEqual(server.agree(region("after"), new[1:])["version"], 3)
        server.check_log()

    def test_the_new_alone_do_not_decide(self):
        server = self.start()
        new = [Signer(name=f"new-{letter}") for letter in "abc"]
        proposal = server.propose(self.rotation(new))
        for signer in new:
            self.assertEqual(server.approve(proposal, signer).status, 200)
        details = self.refused(server.commit(proposal), 409, "QuorumFailed")
        self.assertEqual((details["have"], details["need"]), ("0", "2"))
        self.refused(server.approve(server.propose(region("x")), new[0]), 403, "NotAllowed")

    def test_revoked(self):
        server = self.start()
        first, second, third = server.signers
        fourth = Signer(name="fourth")
        server.agree(self.rotation([*server.signers, fourth]), [first, second])
        pending = server.ready(region("x"), [first, third])
        server.agree({"kind": "revoke", "signers": [third.id], "reason": "stolen"},
                     [first, second])
        self.refused(server.approve(server.propose(region("y")), third), 403, "RevokedKey")
        details = self.refused(server.commit(pending), 409, "QuorumFailed")
        self.assertEqual(details, {"have": "1", "need": "2"})
        self.assertIn(third.id, server.get("/registry/state")["revoked"])
        # Nobody comes back with that key, and nobody revokes until no quorum is left.
        back = server.ask("POST", "/registry/proposals",
                          {"change": self.rotation([first, second, third])})
        self.refused(back, 403, "RevokedKey")
        more = {"kind": "revoke", "signers": [second.id], "reason": "x"}
        self.refused(server.ask("POST", "/registry/proposals", {"change": more}), 403,
                     "NotAllowed")
        unknown = {"kind": "revoke", "signers": ["0" * 16], "reason": "x"}
        self.refused(server.ask("POST", "/registry/proposals", {"change": unknown}), 409,
                     "VersionSkew")
        server.approve(pending, fourth)
        done = server.commit(pending)
        self.assertEqual(done.status, 201)
        version = done.json()["version"]
        signers = server.get(f"/registry/{version}")["decoded"]["approvals"]
        self.assertEqual([each["signer"] for each in signers], sorted([first.id, fourth.id]))
        server = self.restart(server)
        self.refused(server.approve(server.propose(region("z")), third), 403, "RevokedKey")
        server.check_log()

    def test_keys_that_end(self):
        server = self.start()
        first, second, third = server.signers
        end = int(time.time()) + 2
        signers = [first.described(), second.described(not_after=rfc3339(end)), third.described()]
        server.agree({"kind": "signers", "threshold": 2, "signers": signers})
        before = server.ready(region("x"), [first, second])
        early = server.ready(region("y"), [first, second])
        self.assertEqual(server.commit(early).status, 201)
        self.assertGreater(server.metrics().value("registry_signer_expiry_seconds"), 10 ** 9)
        time.sleep(max(0, end + 1 - time.time()))
        self.refused(server.approve(server.propose(region("z")), second), 403, "RevokedKey")
        self.assertEqual(self.refused(server.commit(before), 409, "QuorumFailed"),
                         {"have": "1", "need": "2"})
        self.assertEqual(server.approve(before, third).status, 200)
        self.assertEqual(server.commit(before).status, 201)
        server = self.restart(server)
        self.assertEqual(server.head()["version"], 3)


class Supersede(Case):
    def supersede(self, server, version, change, **more):
        return server.ask("POST", "/registry/supersede",
                          {"version": version, "reason": "wrong", "change": change, **more})

    def finish(self, server, response, signers=None):
        self.assertEqual(response.status, 202, response.body)
        for signer in signers or server.signers[:2]:
            self.assertEqual(server.approve(response.json(), signer).status, 200)
        return server.commit(response.json())

    def test_only_head_and_what_it_changed(self):
        server = self.start()
        self.refused(self.supersede(server, 0, region("x")), 403, "NotAllowed")
        server.agree(region("kept", title="first"))
        server.agree({"kind": "update", "set": [
            {"type": "region", "id": "kept", "title": "second"}, {"type": "region", "id": "new"}]})
        for wrong in (0, 1, 3):
            self.refused(self.supersede(server, wrong, region("x")), 409, "ChainMismatch")
        response = self.supersede(server, 2, region("other"))
        self.assertEqual(self.finish(server, response).status, 201)
        self.assertEqual([(each["id"], each.get("title"))
                          for each in server.get("/registry/state")["descriptors"]],
                         [("kept", "first"), ("other", None)])
        # Once more: what superseded is superseded, by nothing.
        server = self.restart(server)
        empty = {"kind": "update", "set": [], "remove": []}
        response = self.supersede(server, 3, empty)
        self.assertEqual(self.finish(server, response).status, 201)
        descriptors = server.get("/registry/state")["descriptors"]
        self.assertIn("kept", [each["id"] for each in descriptors])
        self.assertNotIn("other", [each["id"] for each in descriptors])
        self.assertEqual(server.get("/registry/4")["decoded"]["payload"]["change"]["kind"],
                         "supersede")
        server.check_log()

    def test_a_commit_in_between_wins(self):
        server = self.start()
        server.agree(region("a"))
        late = self.supersede(server, 1, region("b"))
        for signer in server.signers[:2]:
            server.approve(late.json(), signer)
        server.agree(region("c"))
        self.refused(self.moves(server, "commit_cas_fail_total", 1,
                                lambda: server.commit(late.json())), 409, "ChainMismatch")
        response = self.supersede(server, 2, region("d"), if_head=server.head())
        self.assertEqual(self.finish(server, response).status, 201)

    def test_a_rotation_is_undone(self):
        server = self.start()
        old = server.signers
        new = [Signer(name=f"new-{letter}") for letter in "abc"]
        change = {"kind": "signers", "threshold": 2,
                  "signers": [signer.described() for signer in new]}
        server.agree(change, [*old[:2], *new[:2]])
        response = self.supersede(server, 1, region("x"))
        # Those who decide now, and those who will again.
        self.assertEqual(self.finish(server, response, [*new[:2], *old[:2]]).status, 201)
        server = self.restart(server)
        self.assertEqual({each["id"] for each in server.get("/registry/state")["signers"]},
                         {signer.id for signer in old})
        self.assertEqual(server.agree(region("y"))["version"], 3)


class Lasting(Case):
    def test_what_was_acknowledged_outlives_a_kill(self):
        server = self.start()
        done = server.ready(region("done"))
        head = server.commit(done).json()
        open_ones = [server.propose(region(f"r{number}")) for number in range(4)]
        for signer in server.signers[:2]:
            server.approve(open_ones[0], signer)
        server.approve(open_ones[1], server.signers[0])
        listed = server.get("/registry/proposals")
        server.close()  # SIGKILL
        server = self.start()
        self.assertEqual(server.get("/registry/proposals"), listed)
        self.assertEqual(server.head(), head)
        again = server.commit(done)
        self.assertEqual((again.status, again.json()), (200, head))
        self.refused(server.approve(open_ones[1], server.signers[0]), 409, "DuplicateApproval")
        self.refused(server.commit(open_ones[1]), 409, "QuorumFailed")
        self.assertEqual(server.commit(open_ones[0]).status, 201)
        server = self.restart(server)
        again = server.commit(open_ones[0])
        self.assertEqual((again.status, again.json()["version"]), (200, 2))
        again = server.commit(done)
        self.assertEqual((again.status, again.json()), (200, head))

    def test_the_same_commit_by_many_at_once(self):
        server = self.start()
        for _ in range(5):
            proposal = server.ready(region("x"))
            answers = []
            load = ron.Load(16, lambda _, proposal=proposal:
                            answers.append(server.commit(proposal)) or False)
            self.assertEqual(load.join(), [])
            self.assertEqual(sorted(each.status for each in answers), [200] * 15 + [201])
            self.assertEqual(len({each.body for each in answers}), 1)
        self.assertEqual(server.head()["version"], 5)
        server.check_log()

    def test_the_same_approval_by_many_at_once(self):
        server = self.start()
        proposal = server.propose(region("x"))
        answers = []
        load = ron.Load(16, lambda index: answers.append(
            server.approve(proposal, server.signers[index % 2])) or False)
        self.assertEqual(load.join(), [])
        self.assertEqual(sorted(each.status for each in answers), [200] * 2 + [409] * 14)
        self.assertEqual({each.code for each in answers if each.status == 409},
                         {"DuplicateApproval"})
        self.assertEqual(server.commit(proposal).status, 201)

    def test_a_second_process_is_kept_out(self):
        self.start()
        code, _, error = ron.run_ron("registry", "--data", self.data, "--bind", "127.0.0.1:0",
                                     "--admin", "127.0.0.1:0")
        self.assertEqual(code, 1)
        self.assertIn("use", error)


if __name__ == "__main__":
    unittest.main()
