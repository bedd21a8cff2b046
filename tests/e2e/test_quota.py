"""What tenants may store: bytes and objects, refused with numbers, given back by removal, kept
across a restart."""

import unittest

import ron
import storage

CONFIG = """
[storage]
bind = "127.0.0.1:0"
admin = "127.0.0.1:0"
min_free_bytes = "1MiB"
quota.bytes = "10KiB"
quota.objects = 5
[[storage.quota.tenants]]
name = "free"
[[storage.quota.tenants]]
name = "large"
bytes = "3MiB"
objects = 2
"""


class Quota(unittest.TestCase):
    """In memory; below, the same on disk."""

    data = None

    def setUp(self):
        self.start()

    def start(self):
        self.server = storage.Server(config=CONFIG, data=self.data)
        self.addCleanup(self.server.close)

    def ask(self, tenant, method, path, body=None):
        token = ron.attenuate(self.server.token, f"tenant = {tenant}")
        with self.server.connect() as connection:
            return connection.ask(method, path, [("Authorization", "Bearer " + token)], body)

    def stores(self, tenant, body, status=201):
        response = self.ask(tenant, "POST", "/o", body)
        self.assertEqual(response.status, status, response.body)
        return response.get("Location")

    def refused(self, response, what, used, limit, asked):
        self.assertEqual((response.status, response.code), (429, "Quota"), response.body)
        numbers = {"used": str(used), "limit": str(limit), "asked": str(asked)}
        self.assertEqual(response.json()["error"]["details"], {"what": what, **numbers})
        self.assertIsNone(response.get("Retry-After"))  # waiting does not help

    def removes(self, tenant, path):
        self.assertEqual(self.ask(tenant, "DELETE", path).status, 204)

    def test_bytes(self):
        path = self.stores("a", b"a" * 10000)
        self.refused(self.ask("a", "POST", "/o", b"b" * 241), "bytes", 10000, 10240, 241)
        self.refused(self.ask("a", "PUT", "/o/" + ron.b3(b"b" * 241), b"b" * 241), "bytes", 10000,
                     10240, 241)
        self.stores("a", b"b" * 240)  # to the last byte
        self.stores("a", b"a" * 10000, status=200)  # what is there already costs nothing
        self.refused(self.ask("a", "POST", "/o", b"c"), "bytes", 10240, 10240, 1)
        self.removes("a", path)
        self.stores("a", b"d" * 10000)
        self.refused(self.ask("a", "POST", "/o", b"c"), "bytes", 10240, 10240, 1)

    def test_objects(self):
        paths = [self.stores("b", b"object %d" % i) for i in range(5)]
        self.refused(self.ask("b", "POST", "/o", b"one more"), "objects", 5, 5, 1)
        self.removes("b", paths[0])
        self.stores("b", b"one more")
        self.refused(self.ask("b", "POST", "/o", b"two more"), "objects", 5, 5, 1)

    def test_tenants_do_not_pay_for_each_other(self):
        self.stores("a", b"a" * 10240)
        self.refused(self.ask("a", "POST", "/o", b"x"), "bytes", 10240, 10240, 1)
        self.stores("b", b"b" * 10240)
        self.refused(self.ask("b", "POST", "/o", b"a" * 10240), "bytes", 10240, 10240, 10240)
        self.stores("free", b"a" * 10240, status=200)
        for i in range(20):
            self.stores("free", b"%d" % i * 10000)

    def test_an_upload_counts_from_its_beginning_to_its_end(self):
        begun = self.ask("large", "POST", "/uploads", b'{"length":3145729}')
        self.refused(begun, "bytes", 0, 3 << 20, (3 << 20) + 1)
        begun = self.ask("large", "POST", "/uploads", b'{"length":3145720}')
        self.assertEqual(begun.status, 201)
        self.refused(self.ask("large", "POST", "/o", b"x" * 9), "bytes", 3145720, 3 << 20, 9)
        self.stores("large", b"x" * 8)
        self.assertEqual(self.ask("large", "DELETE", begun.get("Location")).status, 204)
        path = self.stores("large", b"y" * 100000)
        self.refused(self.ask("large", "POST", "/uploads", b'{"length":1}'), "objects", 2, 2, 1)
        self.removes("large", path)
        self.assertEqual(self.ask("large", "POST", "/uploads", b'{"length":1}').status, 201)

    def test_a_committed_upload_counts_as_what_it_is(self):
        data = b"z" * ((2 << 20) + 1)
        path = self.ask("large", "POST", "/uploads", b'{"length":%d}' % len(data)).get("Location")
        for number in range(3):
            part = data[number << 20:(number + 1) << 20]
            self.assertEqual(self.ask("large", "PUT", f"{path}/{number}", part).status, 200)
        stored = self.ask("large", "POST", path + "/commit", b"")
        self.assertEqual(stored.status, 201)
        self.refused(self.ask("large", "POST", "/o", b"y" * (1 << 20)), "bytes", len(data), 3 << 20,
                     1 << 20)
        self.removes("large", stored.get("Location"))
        self.stores("large", b"y" * (1 << 20))


    def test_an_upload_that_expired_gives_its_room_back(self):
        self.server.close()
        self.server = storage.Server(config=CONFIG + '\n[storage.uploads]\nexpire_after = "1s"\n',
                                 data=self.data)
        self.addCleanup(self.server.close)
        begun = self.ask("large", "POST", "/uploads", b'{"length":3145720}')
        self.assertEqual(begun.status, 201)
        self.refused(self.ask("large", "POST", "/o", b"x" * 9), "bytes", 3145720, 3 << 20, 9)
        ron.wait_until("room", lambda: self.ask("large", "POST", "/o", b"x" * 9).status == 201)

    def test_the_client_does_not_wait_for_room(self):
        large = self.server.home / "large"
        large.write_bytes(b"x" * 10241)
        env = {"RON_URL": "http://%s:%d" % self.server.address,
               "RON_TOKEN": ron.attenuate(self.server.token, "tenant = a")}
        code, _, err = ron.run_ron("put", str(large), env=env)
        self.assertEqual(code, 1)
        self.assertIn("0 of 10240 are used, 10241 more were asked for (Quota", err)
        puts = {"endpoint": "PUT /o/{addr}", "code": "429"}
        self.server.wait_metric("http_requests_total", 1, **puts)

    def test_what_tenants_use_is_shown(self):
        self.stores("a", b"a" * 1000)
        self.stores("large", b"a" * 1000, status=200)
        self.stores("large", b"b" * 2000)
        with self.server.connect_admin() as connection:
            stats = connection.ask("GET", "/admin/stats", [self.server.auth]).json()
        self.assertEqual(stats["tenants"], [
            {"name": "large", "bytes": 3000, "objects": 2, "reserved_bytes": 0,
             "limit_bytes": 3 << 20, "limit_objects": 2},
            {"name": "a", "bytes": 1000, "objects": 1, "reserved_bytes": 0,
             "limit_bytes": 10240, "limit_objects": 5}])
        self.assertEqual(stats["volumes"][0]["objects"], 2)
        metrics = self.server.metrics()
        self.assertEqual(metrics.value("storage_tenant_bytes", tenant="large"), 3000)
        self.assertEqual(metrics.value("storage_tenant_objects", tenant="a"), 1)
        self.assertEqual(metrics.value("storage_objects"), 2)


class QuotaOnDisk(storage.OnDisk, Quota):
    def test_a_restart_forgets_nothing(self):
        for again in (self.restart, self.kill):
            tenant = again.__name__
            path = self.stores(tenant, tenant.encode() * 1000)
            used = len(tenant) * 1000
            self.stores(tenant, b"removed by " + tenant.encode())
            self.removes(tenant, "/o/" + ron.b3(b"removed by " + tenant.encode()))
            again()
            self.refused(self.ask(tenant, "POST", "/o", b"x" * 10240), "bytes", used, 10240, 10240)
            for i in range(4):
                self.stores(tenant, b"%s %d" % (tenant.encode(), i))
            refused = self.ask(tenant, "POST", "/o", b"one more")
            self.assertEqual(refused.json()["error"]["details"]["what"], "objects")
            self.removes(tenant, path)
            self.stores(tenant, b"one more for " + tenant.encode())

    def test_an_upload_that_goes_on_after_a_restart_counts_again(self):
        data = b"u" * 3145720
        path = self.ask("large", "POST", "/uploads", b'{"length":%d}' % len(data)).get("Location")
        self.restart()
        self.assertEqual(self.ask("large", "PUT", path + "/0", data[:1 << 20]).status, 200)
        self.refused(self.ask("large", "POST", "/o", b"x" * 9), "bytes", len(data), 3 << 20, 9)
        self.assertEqual(self.ask("large", "DELETE", path).status, 204)
        self.stores("large", b"x" * 9)


if __name__ == "__main__":
    unittest.main()
