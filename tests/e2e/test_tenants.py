"""Objects that several tenants hold: nobody removes what another holds, in memory and on disk, over
restarts, kills and a lost index; what a capability with a limit may not do part by part; and that
the tenant of a capability is fixed when it is minted."""

import pathlib
import shutil
import threading
import unittest

import ron
import storage

LIMITED = "the body is larger than the capability allows"


def chunked(body):
    return b"%x\r\n" % len(body) + body + b"\r\n0\r\n\r\n"


class Tenants(unittest.TestCase):
    """In memory; below, the same on disk."""

    data = None

    def setUp(self):
        self.start()

    def start(self):
        self.server = storage.Server(data=self.data, sets={"storage.min_free_bytes": "1MiB"})
        self.addCleanup(self.server.close)

    def ask(self, tenant, method, path, body=None, *caveats):
        """As a tenant that may store and delete; None is the operator."""
        token = self.server.token
        if tenant is not None:
            token = ron.attenuate(token, "scope = storage:write,storage:delete",
                                  f"tenant = {tenant}", *caveats)
        with self.server.connect() as connection:
            return connection.ask(method, path, [("Authorization", "Bearer " + token)], body)

    def ask_admin(self, path):
        with self.server.connect_admin() as connection:
            response = connection.ask("GET", path, [self.server.auth])
            self.assertEqual(response.status, 200, response.body)
            return response.json()

    def stores(self, tenant, body, status=201):
        response = self.ask(tenant, "PUT", "/o/" + ron.b3(body), body)
        self.assertEqual(response.status, status, response.body)
        return "/o/" + ron.b3(body)

    def removes(self, tenant, path, status=204):
        response = self.ask(tenant, "DELETE", path)
        self.assertEqual(response.status, status, response.body)

    def reads(self, path, status=200):
        with self.server.connect() as connection:
            self.assertEqual(connection.ask("GET", path).status, status)

    def holders(self, path):
        return self.ask_admin("/admin/objects/" + path.removeprefix("/o/"))["holders"]

    def upload(self, tenant, body):
        path = self.ask(tenant, "POST", "/uploads", b'{"length":%d}' % len(body)).get("Location")
        for number, at in enumerate(range(0, len(body), storage.PART)):
            part = self.ask(tenant, "PUT", f"{path}/{number}", body[at:at + storage.PART])
            self.assertEqual(part.status, 200, part.body)
        stored = self.ask(tenant, "POST", path + "/commit", b"")
        self.assertEqual(stored.status, 201, stored.body)
        return stored.get("Location")

    def test_the_bytes_go_with_the_last_hold(self):
        path = self.stores("a", b"shared")
        self.reads(path)  # into memory
        self.removes("b", path, 404)
        self.reads(path)
        self.stores("b", b"shared", 200)
        self.stores("b", b"shared", 200)
        self.assertEqual(self.holders(path), ["a", "b"])
        self.removes("a", path)
        self.reads(path)
        self.removes("a", path, 404)
        self.removes("b", path)
        self.reads(path, 404)
        self.removes("b", path, 404)
        self.stores("b", b"shared", 201)

    def test_uploads_hold_too(self):
        body = b"u" * (storage.PART + 1)
        path = self.upload("a", body)
        self.assertEqual(self.upload("b", body), path)
        self.removes("c", path, 404)
        self.removes("a", path)
        self.reads(path)
        self.removes("b", path)
        self.reads(path, 404)

    def test_an_operator_removes_outright(self):
        path = self.stores("a", b"doomed")
        self.stores("b", b"doomed", 200)
        self.removes(None, path)
        self.reads(path, 404)
        self.removes("a", path, 404)
        self.stores("c", b"doomed", 201)
        self.removes("b", path, 404)
        self.assertEqual(self.holders(path), ["c"])

    def test_the_operators_scope_is_enough(self):
        path = self.stores("a", b"doomed as well")
        token = ron.attenuate(self.server.token, "scope = storage:admin")
        with self.server.connect() as connection:
            response = connection.ask("DELETE", path, [("Authorization", "Bearer " + token)])
        self.assertEqual(response.status, 204, response.body)
        writer = ron.attenuate(self.server.token, "scope = storage:write")
        with self.server.connect() as connection:
            response = connection.ask("DELETE", path, [("Authorization", "Bearer " + writer)])
        self.assertEqual((response.status, response.code), (403, "Forbidden"))

    def test_holders_are_shown_to_operators(self):
        path = self.stores("a", b"seen")
        for i in range(6):
            self.stores(f"t{i}", b"seen", 200)
        self.server.put(b"seen")
        listed = self.ask_admin("/admin/objects")["objects"]
        self.assertEqual(listed, [{"address": path[3:], "length": 4, "more_holders": True,
                                   "holders": ["(none)", "a", "t0", "t1"]}])
        shown = self.ask_admin("/admin/objects" + path[2:])
        self.assertEqual(shown["holders"], ["(none)", "a"] + [f"t{i}" for i in range(6)])
        env = {"RON_URL": "http://%s:%d" % self.server.address, "RON_TOKEN": self.server.token}
        admin = "http://%s:%d" % self.server.admin
        code, out, err = ron.run_ron("stat", path[3:], "--details", "--admin-url", admin, env=env)
        self.assertEqual((code, err), (0, ""))
        self.assertTrue(out.endswith("held by (none), a, t0, t1, t2, t3, t4, t5\n"), out)
        env["RON_TOKEN"] = ron.attenuate(self.server.token, "scope = storage:write")
        code, out, err = ron.run_ron("stat", path[3:], "--details", "--admin-url", admin, env=env)
        self.assertEqual((code, out), (1, ""))
        self.assertIn("Forbidden", err)
        self.assertEqual(ron.run_ron("stat", path[3:], env=env)[0], 0)

    def test_tenants_at_once(self):
        """Each of them finds what it holds, whatever the others do meanwhile."""
        bodies = [b"at once %d" % i for i in range(4)] + [b"u" * (storage.PART + 1)]
        failures = []

        def live(tenant):
            try:
                for round_number in range(12):
                    body = bodies[(round_number + len(tenant)) % len(bodies)]
                    path = "/o/" + ron.b3(body)
                    if len(body) > storage.PART:
                        self.upload(tenant, body)
                    else:
                        self.assertIn(self.ask(tenant, "PUT", path, body).status, (200, 201))
                    self.reads(path)
                    self.removes(tenant, path)
                    self.removes(tenant, path, 404)
            except Exception as error:  # noqa: BLE001: every failure is evidence
                failures.append(error)

        threads = [threading.Thread(target=live, args=("t" * i,)) for i in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertEqual(self.ask_admin("/admin/objects")["objects"], [])
        self.assertEqual(self.ask_admin("/admin/stats")["tenants"], [])

    def test_a_limit_holds_for_every_part_and_for_the_whole(self):
        limit = f"max_bytes = {storage.PART}"
        body = b"l" * (storage.PART + 1)
        begun = self.ask("a", "POST", "/uploads", b'{"length":%d}' % len(body))
        path = begun.get("Location")
        self.assertEqual(self.ask("a", "PUT", path + "/0", body[:storage.PART], limit).status, 200)
        small = ron.attenuate(self.server.token, "scope = storage:write", "tenant = a",
                              "max_bytes = 1000")
        with self.server.connect() as connection:
            connection.send(ron.request("PUT", path + "/0", [
                ("Authorization", "Bearer " + small), ("Transfer-Encoding", "chunked")]))
            connection.send(chunked(body[:storage.PART]))
            refused = connection.read_response()
        self.assertEqual((refused.status, refused.code), (403, "Forbidden"), refused.body)
        self.assertIn(LIMITED, refused.body.decode())
        self.assertEqual(self.ask("a", "PUT", path + "/1", body[storage.PART:], limit).status, 200)
        refused = self.ask("a", "POST", path + "/commit", b"", limit)
        self.assertEqual((refused.status, refused.code), (403, "Forbidden"), refused.body)
        self.reads("/o/" + ron.b3(body), 404)
        self.assertEqual(self.ask("a", "POST", path + "/commit", b"").status, 201)


class TenantsOnDisk(storage.OnDisk, Tenants):
    def lose_index(self):
        self.assertEqual(self.server.stop(), 0)
        for index in pathlib.Path(self.data).rglob("index.*"):
            shutil.rmtree(index)
        self.start()
        ron.wait_until("ready", self.is_ready)

    def compact(self):
        with self.server.connect_admin() as connection:
            self.assertEqual(connection.ask("POST", "/admin/compact", [self.server.auth]).status,
                             202)
        ron.wait_until("compacted", lambda: self.ask_admin("/admin/stats")["volumes"][0][
            "dead_bytes"] < storage.PART)

    def is_ready(self):
        with self.server.connect() as connection:
            return connection.ask("GET", "/readyz").status == 200

    def test_holds_are_kept(self):
        shared = self.stores("a", b"kept")
        large = self.upload("a", b"k" * (storage.PART + 1))
        for tenant in ("b", "c"):
            self.stores(tenant, b"kept", 200)
            self.assertEqual(self.upload(tenant, b"k" * (storage.PART + 1)), large)
        for path in (shared, large):
            self.removes("a", path)
            self.removes("c", path)
        for again in (self.restart, self.kill, self.lose_index, self.compact, self.lose_index):
            again()
            for path in (shared, large):
                self.assertEqual(self.holders(path), ["b"], again.__name__)
                self.removes("a", path, 404)
                self.reads(path)
        tenants = self.ask_admin("/admin/stats")["tenants"]
        self.assertEqual([(one["name"], one["bytes"], one["objects"]) for one in tenants],
                         [("b", storage.PART + 5, 2)])
        for path in (shared, large):
            self.removes("b", path)
            self.reads(path, 404)
        self.lose_index()
        for path in (shared, large):
            self.reads(path, 404)


DELETES = "storage:write,storage:delete"
REPLACED = ("the admin token was replaced: the one before was not for any tenant, or not of these "
            "keys")


class Minted(storage.OnDisk, unittest.TestCase):
    """Tokens with a tenant, without one and for any; what their holders can make of them."""

    def setUp(self):
        super().setUp()
        self.start()
        self.keys = pathlib.Path(self.data) / "keys"

    def start(self):
        self.server = storage.Server(data=self.data, sets={
            "storage.min_free_bytes": "1MiB", "storage.server.max_rps": 1000000})
        self.addCleanup(self.server.close)

    def mint(self, *flags, scope=DELETES):
        code, out, err = ron.run_ron("token", "mint", "--keys", str(self.keys), "--scope", scope,
                                     *flags)
        self.assertEqual((code, err), (0, ""))
        return out.strip()

    def ask(self, token, method, path, body=None):
        with self.server.connect() as connection:
            return connection.ask(method, path, [("Authorization", "Bearer " + token)], body)

    def stores(self, token, body):
        path = "/o/" + ron.b3(body)
        self.assertIn(self.ask(token, "PUT", path, body).status, (200, 201))
        return path

    def holders(self, path):
        with self.server.connect_admin() as connection:
            response = connection.ask("GET", "/admin/objects/" + path.removeprefix("/o/"),
                                      [self.server.auth])
        self.assertEqual(response.status, 200, response.body)
        return response.json()["holders"]

    def refuses(self, token, method, path, message, body=None):
        response = self.ask(token, method, path, body)
        self.assertEqual((response.status, response.code), (403, "Forbidden"), response.body)
        self.assertIn(message, response.body.decode())

    def test_a_tenant_added_later_opens_nothing(self):
        acme = self.mint("--tenant", "acme")
        path = self.stores(acme, b"acme's")
        upload = self.ask(acme, "POST", "/uploads", b'{"length":3}').get("Location")
        nobodys = self.mint()
        self.assertEqual(self.ask(nobodys, "DELETE", path).status, 404)
        self.assertEqual(self.ask(nobodys, "GET", upload).status, 404)
        for token, why in ((nobodys, "minted without a tenant"),
                           (self.mint("--tenant", "other"), "two different tenants"),
                           (ron.mint_old(self.keys), "mint it again")):
            forged = ron.attenuate(token, "tenant = acme")
            for method, target in (("DELETE", path), ("GET", upload), ("DELETE", upload),
                                   ("PUT", "/o/" + ron.b3(b"x"))):
                self.refuses(forged, method, target, why, b"x" if method == "PUT" else None)
            self.refuses(ron.attenuate(forged, "tenant = other"), "DELETE", path, why)
        self.assertEqual(self.holders(path), ["acme"])
        self.assertEqual(self.ask(acme, "GET", upload).status, 200)
        again = ron.attenuate(acme, "tenant = acme")
        self.assertEqual(self.ask(again, "DELETE", path).status, 204)

    def test_a_token_for_any_tenant_takes_one_and_keeps_it(self):
        path = self.stores(self.mint("--tenant", "acme"), b"acme's")
        for operators in (self.mint("--any-tenant"),
                          ron.attenuate(self.server.token, "scope = " + DELETES)):
            self.assertEqual(self.ask(operators, "DELETE", path).status, 404, "for nobody yet")
            other = ron.attenuate(operators, "tenant = other")
            self.assertEqual(self.ask(other, "DELETE", path).status, 404)
            self.refuses(ron.attenuate(other, "tenant = acme"), "DELETE", path, "two different")
            acme = ron.attenuate(operators, "tenant = acme")
            self.assertEqual(self.ask(acme, "DELETE", path).status, 204)
            self.stores(acme, b"acme's")

    def test_the_command_says_for_whom_a_token_is(self):
        def tenant_of(token):
            code, out, _ = ron.run_ron("token", "inspect", env={"RON_TOKEN": token})
            self.assertEqual(code, 0)
            return next(line[8:] for line in out.splitlines() if line.startswith("tenant: "))

        def attenuate(token, *flags):
            return ron.run_ron("token", "attenuate", *flags, env={"RON_TOKEN": token})

        self.assertEqual(tenant_of(self.mint()), "none")
        self.assertEqual(tenant_of(self.mint("--tenant", "acme")), "acme")
        self.assertEqual(tenant_of(self.mint("--any-tenant")), "any (its holder may name one)")
        self.assertEqual(tenant_of(self.server.token), "any (its holder may name one)")
        self.assertEqual(tenant_of(ron.mint_old(self.keys)), "none")
        code, out, _ = attenuate(self.server.token, "--tenant", "acme")
        self.assertEqual((code, tenant_of(out.strip())), (0, "acme"))
        for token in (self.mint(), self.mint("--tenant", "other"), out.strip(),
                      ron.mint_old(self.keys)):
            code, out, err = attenuate(token, "--tenant", "third")
            self.assertEqual((code, out), (1, ""))
            self.assertIn("tenant", err)
        code, _, err = ron.run_ron("token", "mint", "--keys", str(self.keys), "--scope", DELETES,
                                   "--any-tenant", "--tenant", "acme")
        self.assertEqual(code, 2)
        self.assertIn("--tenant", err)

    def test_a_caveat_more_never_turns_a_refusal_into_a_success(self):
        caveats = ("scope = storage:write", "scope = storage:delete", "scope = storage:admin",
                   "tenant = acme", "tenant = other", "path_prefix = /o", "method = DELETE,PUT",
                   "max_bytes = 2", "max_bytes = 100", "expires = 2999-01-01T00:00:00Z",
                   "colour = blue")
        scopes = "storage:write,storage:delete,storage:admin"
        keeper = self.mint("--tenant", "acme", scope=scopes)
        anyones = "/o/" + ron.b3(b"anyone's")
        path = self.stores(keeper, b"kept for acme")
        upload = self.ask(keeper, "POST", "/uploads", b'{"length":3}').get("Location")

        def delete(token):
            status = self.ask(token, "DELETE", path).status
            if status == 204:
                self.stores(keeper, b"kept for acme")
            return status

        def outcomes(token):
            return (delete(token), self.ask(token, "GET", upload).status,
                    self.ask(token, "PUT", anyones, b"anyone's").status)

        for token, is_any in ((self.mint(scope=scopes), False), (keeper, False),
                              (self.mint("--tenant", "other", scope=scopes), False),
                              (self.mint("--any-tenant", scope=scopes), True),
                              (ron.mint_old(self.keys), False)):
            for first in (None, *caveats[:6]):
                wide = ron.attenuate(token, first) if first else token
                before = outcomes(wide)
                may_name_one = is_any and not (first or "").startswith("tenant")
                for more in caveats:
                    if may_name_one and more.startswith("tenant"):
                        continue
                    after = outcomes(ron.attenuate(wide, more))
                    for was, became in zip(before, after):
                        if was >= 400:
                            self.assertGreaterEqual(became, 400, (first, more, before, after))

    def test_an_admin_token_of_an_older_version_is_replaced(self):
        path = self.keys / "admin.token"
        new = path.read_text()
        self.assertEqual(len([line for line in self.server.logs() if line["msg"] == REPLACED]), 0)
        old = ron.mint_old(self.keys)
        self.assertEqual(self.server.stop(), 0)
        for before in (old, ron.attenuate(new.strip(), "tenant = acme")):
            path.write_text(before + "\n")
            self.start()
            self.server.wait_log(REPLACED, path=str(path))
            after = path.read_text().strip()
            self.assertNotEqual(after, before)
            self.assertEqual(path.stat().st_mode & 0o777, 0o600)
            acme = ron.attenuate(after, "scope = " + DELETES, "tenant = acme")
            self.assertEqual(self.ask(acme, "DELETE", self.stores(acme, b"upgraded")).status, 204)
            self.assertEqual(self.server.stop(), 0)
        self.start()
        self.assertEqual(path.read_text().strip(), after, "that one stays")
        # Copies of the old one go on as far as no tenant is named.
        self.stores(old, b"by a copy of the old one")


if __name__ == "__main__":
    unittest.main()
