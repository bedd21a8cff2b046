"""Objects that several tenants hold: nobody removes what another holds, in memory and on disk, over
restarts, kills and a lost index; and what a capability with a limit may not do part by part."""

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


if __name__ == "__main__":
    unittest.main()
