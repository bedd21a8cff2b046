"""Objects larger than one body: parts in any order and at once, resumed, committed, read back."""

import concurrent.futures
import json
import random
import shutil
import signal
import tempfile
import unittest

import ron
import storage

PART = 1 << 20
SIZES = (0, 1, PART - 1, PART, PART + 1, 11 * PART // 2)


class Uploads(unittest.TestCase):
    """In memory; below, the same on disk with and without the memory tier."""

    on_disk = False
    sets = {}

    @classmethod
    def setUpClass(cls):
        cls.data = tempfile.mkdtemp(prefix="ron-e2e-data-") if cls.on_disk else None
        sets = {"storage.server.max_rps": 100000, "storage.min_free_bytes": "1MiB", **cls.sets}
        cls.server = storage.Server(sets=sets, data=cls.data)

    @classmethod
    def tearDownClass(cls):
        cls.server.close()
        if cls.data:
            shutil.rmtree(cls.data, ignore_errors=True)

    def setUp(self):
        self.connection = self.server.connect()
        self.addCleanup(self.connection.close)

    def ask(self, method, path, body=None, headers=(), connection=None):
        return (connection or self.connection).ask(method, path, [self.server.auth, *headers], body)

    def begin(self, length, address=None, **more):
        wish = {"length": length, **({"address": address} if address else {}), **more}
        response = self.ask("POST", "/uploads", json.dumps(wish).encode())
        self.assertEqual(response.status, 201, response.body)
        answer = response.json()
        self.assertEqual(set(answer), {"upload_id", "part_size", "expires_at"})
        self.assertEqual(answer["part_size"], PART)
        self.assertRegex(answer["expires_at"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$")
        self.assertEqual(response.get("Location"), "/uploads/" + answer["upload_id"])
        return answer["upload_id"]

    @staticmethod
    def parts(data):
        return {n: data[at:at + PART] for n, at in enumerate(range(0, len(data), PART))}

    def put_part(self, upload, number, data, connection=None):
        response = self.ask("PUT", f"/uploads/{upload}/{number}", data, connection=connection)
        self.assertEqual(response.status, 200, response.body)
        self.assertEqual(response.json()["part"], number)
        self.assertRegex(response.json()["b3_subtree"], "^[0-9a-f]{64}$")
        return response.json()["b3_subtree"]

    def commit(self, upload):
        return self.ask("POST", f"/uploads/{upload}/commit", b"")

    def refused(self, response, status, code):
        self.assertEqual((response.status, response.code), (status, code), response.body)
        return response.json()["error"]["details"]

    def upload(self, data, address=None):
        upload = self.begin(len(data), address)
        for number, part in self.parts(data).items():
            self.put_part(upload, number, part)
        response = self.commit(upload)
        self.assertEqual(response.status, 201, response.body)
        return response.json()["address"]

    def test_every_size_has_the_address_of_b3sum_and_reads_back(self):
        noise = random.Random(7)
        for size in SIZES:
            data = noise.randbytes(size)
            address = ron.b3(data)
            upload = self.begin(size, address if size % 2 else None)
            numbers = list(self.parts(data).items())
            noise.shuffle(numbers)
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                for done in [pool.submit(self.part_alone, upload, *each) for each in numbers]:
                    done.result()
            response = self.commit(upload)
            self.assertEqual(response.status, 201, (size, response.body))
            self.assertEqual(response.json(), {"address": address, "length": size})
            self.assertEqual(response.get("Location"), "/o/" + address)
            self.check_reads(address, data)
            self.refused(self.ask("GET", f"/uploads/{upload}"), 404, "NotFound")

    def part_alone(self, upload, number, data):
        with self.server.connect() as connection:
            first = self.put_part(upload, number, data, connection)
            self.assertEqual(first, self.put_part(upload, number, data, connection))

    def check_reads(self, address, data):
        path = "/o/" + address
        whole = self.connection.ask("GET", path)
        self.assertEqual((whole.status, whole.body == data), (200, True))
        self.assertEqual(whole.get("ETag"), f'"{address}"')
        head = self.connection.ask("HEAD", path)
        self.assertEqual((head.status, head.get("Content-Length")), (200, str(len(data))))
        unchanged = self.connection.ask("GET", path, [("If-None-Match", f'"{address}"')])
        self.assertEqual(unchanged.status, 304)
        for first, last in ((0, 0), (PART - 3, PART + 5), (65530, 65545), (PART, 3 * PART),
                            (len(data) - 1, len(data) + 9), (12345, 5 * PART + 12345)):
            if first < 0 or first >= len(data):
                continue
            part = self.connection.ask("GET", path, [("Range", f"bytes={first}-{last}")])
            end = min(last, len(data) - 1)
            self.assertEqual(part.status, 206)
            self.assertEqual(part.get("Content-Range"), f"bytes {first}-{end}/{len(data)}")
            self.assertTrue(part.body == data[first:end + 1], (first, last))
        outside = self.connection.ask("GET", path, [("Range", f"bytes={len(data)}-")])
        self.refused(outside, 416, "RangeNotSatisfiable")

    def test_an_upload_goes_on_where_it_stopped(self):
        data = random.Random(8).randbytes(5 * PART + 17)
        upload = self.begin(len(data))
        parts = self.parts(data)
        for number in (5, 0, 2, 1):
            self.put_part(upload, number, parts[number])
        state = self.ask("GET", f"/uploads/{upload}").json()
        self.assertEqual(state["arrived"], [[0, 2], [5, 5]])
        self.assertEqual((state["upload_id"], state["length"], state["part_size"]),
                         (upload, len(data), PART))
        self.assertNotIn("address", state)
        details = self.refused(self.commit(upload), 412, "PreconditionFailed")
        self.assertEqual(details, {"missing": "3-4", "missing_parts": "2"})
        for number in (3, 4):
            self.put_part(upload, number, parts[number])
        self.assertEqual(self.ask("GET", f"/uploads/{upload}").json()["arrived"], [[0, 5]])
        self.assertEqual(self.commit(upload).json()["address"], ron.b3(data))

    def test_what_has_arrived_is_told_in_pages(self):
        data = random.Random(8).randbytes(9 * PART)
        upload = self.begin(len(data))
        parts = self.parts(data)
        for number in (0, 2, 3, 5, 7):
            self.put_part(upload, number, parts[number])
        ranges = [[0, 0], [2, 3], [5, 5], [7, 7]]
        whole = self.ask("GET", f"/uploads/{upload}").json()
        self.assertEqual(whole["arrived"], ranges)
        self.assertNotIn("next", whole)
        found, after = [], ""
        for _ in range(2):
            page = self.ask("GET", f"/uploads/{upload}?limit=2{after}").json()
            self.assertEqual(len(page["arrived"]), 2)
            found += page["arrived"]
            after = f"&after={page.get('next')}"
        self.assertEqual(found, ranges)
        self.assertNotIn("next", page)
        self.refused(self.ask("GET", f"/uploads/{upload}?limit=x"), 400, "Malformed")

    def test_another_address_is_refused_and_nothing_is_published(self):
        data = random.Random(9).randbytes(PART + 9)
        wrong = "b3:" + "0" * 64
        upload = self.begin(len(data), wrong)
        self.assertEqual(self.ask("GET", f"/uploads/{upload}").json()["address"], wrong)
        for number, part in self.parts(data).items():
            self.put_part(upload, number, part)
        details = self.refused(self.commit(upload), 409, "HashMismatch")
        self.assertEqual(details, {"expected": wrong, "actual": ron.b3(data)})
        for address in (wrong, ron.b3(data)):
            self.refused(self.connection.ask("GET", "/o/" + address), 404, "NotFound")
        self.assertEqual(self.ask("GET", f"/uploads/{upload}").json()["arrived"], [[0, 1]])
        self.assertEqual(self.ask("DELETE", f"/uploads/{upload}").status, 204)
        self.refused(self.ask("DELETE", f"/uploads/{upload}"), 404, "NotFound")

    def test_a_commit_can_be_repeated(self):
        for size in (0, 5, 2 * PART + 3):
            data = random.Random(20 + size).randbytes(size)
            for _ in range(2):  # the second time the object is there already
                upload = self.begin(size)
                for number, part in self.parts(data).items():
                    self.put_part(upload, number, part)
                first = self.commit(upload)
                again = self.commit(upload)
                self.assertEqual((first.status, again.status), (201, 201), again.body)
                self.assertEqual(again.json(), {"address": ron.b3(data), "length": size})
                self.assertEqual(again.get("Location"), first.get("Location"))
                self.refused(self.ask("GET", f"/uploads/{upload}"), 404, "NotFound")
                self.refused(self.ask("DELETE", f"/uploads/{upload}"), 404, "NotFound")
            self.assertEqual(self.ask("DELETE", "/o/" + ron.b3(data)).status, 204)
            self.refused(self.commit(upload), 404, "NotFound")

    def test_parts_have_exactly_their_length(self):
        upload = self.begin(PART + 10)
        for number, data, status, code in (
                (0, b"x" * (PART - 1), 400, "Malformed"), (1, b"x" * 11, 413, "BodyCap"),
                (1, b"", 400, "Malformed"), (2, b"x", 400, "Malformed"),
                ("01", b"x", 400, "Malformed"), ("x", b"x", 400, "Malformed"),
                ("-1", b"x", 400, "Malformed"), (2 ** 70, b"x", 400, "Malformed")):
            with self.server.connect() as connection:
                answer = self.ask("PUT", f"/uploads/{upload}/{number}", data, connection=connection)
                self.refused(answer, status, code)
        details = self.refused(self.ask("PUT", f"/uploads/{upload}/1", b"x" * 9), 400, "Malformed")
        self.assertEqual(details, {"length": "9", "expected": "10"})
        for path in ("/uploads/nonsense/0", "/uploads/01ARZ3NDEKTSV4RRFFQ69G5FAV/0"):
            with self.server.connect() as connection:
                self.refused(self.ask("PUT", path, b"x", connection=connection), 404, "NotFound")

    def test_what_begins_an_upload_is_strict(self):
        for body in (b"", b"{}", b"[]", b'{"length":-1}', b'{"length":1.5}', b'{"length":"1"}',
                     b'{"length":1,"length":2}', b'{"length":1,"x":1}', b'{"length":1} x'):
            self.refused(self.ask("POST", "/uploads", body), 400, "Malformed")
        self.refused(self.ask("POST", "/uploads", b'{"length":1,"address":"b3:0"}'), 400,
                     "BadAddress")
        details = self.refused(self.ask("POST", "/uploads", b'{"length":9000000000000000000}'), 507,
                               "StorageFull")
        self.assertEqual(details["length"], "9000000000000000000")
        self.assertEqual(self.connection.ask("POST", "/uploads", (), b"{}").status, 401)

    def test_what_is_uploaded_can_be_listed_and_removed(self):
        data = random.Random(10).randbytes(2 * PART + 1)
        address = self.upload(data)
        self.assertEqual(self.upload(data), address)  # it is there already
        with self.server.connect_admin() as admin:
            listed = admin.ask("GET", "/admin/objects?limit=1000", [self.server.auth])
            self.assertEqual(listed.status, 200, listed.body)
            self.assertIn({"address": address, "length": len(data), "holders": ["(none)"]},
                      listed.json()["objects"])
        self.assertEqual(self.ask("DELETE", "/o/" + address).status, 204)
        self.refused(self.connection.ask("GET", "/o/" + address), 404, "NotFound")


class UploadsOnDisk(Uploads):
    on_disk = True

    def test_an_upload_survives_the_death_of_the_server(self):
        data = random.Random(11).randbytes(3 * PART + 5)
        parts = self.parts(data)
        with tempfile.TemporaryDirectory(prefix="ron-e2e-data-") as home:
            folder = home + "/data"
            with storage.Server(data=folder) as first:
                with first.connect() as connection:
                    begun = connection.ask("POST", "/uploads", [first.auth],
                                           json.dumps({"length": len(data)}).encode())
                    upload = begun.json()["upload_id"]
                    for number in (3, 1):
                        done = connection.ask("PUT", f"/uploads/{upload}/{number}", [first.auth],
                                              parts[number])
                        self.assertEqual(done.status, 200, done.body)
                first.signal(signal.SIGKILL)
                first.wait_exit()
            with storage.Server(data=folder) as second, second.connect() as connection:
                state = connection.ask("GET", f"/uploads/{upload}", [second.auth]).json()
                self.assertEqual(state["arrived"], [[1, 1], [3, 3]])
                for number in (0, 2):
                    done = connection.ask("PUT", f"/uploads/{upload}/{number}", [second.auth],
                                          parts[number])
                    self.assertEqual(done.status, 200, done.body)
                done = connection.ask("POST", f"/uploads/{upload}/commit", [second.auth], b"")
                self.assertEqual((done.status, done.json()["address"]), (201, ron.b3(data)))
                self.assertTrue(connection.ask("GET", "/o/" + ron.b3(data)).body == data)
                self.assertEqual(second.stop(), 0)
            with storage.Server(data=folder) as third, third.connect() as connection:
                again = connection.ask("POST", f"/uploads/{upload}/commit", [third.auth], b"")
                self.assertEqual((again.status, again.json()), (done.status, done.json()))


class UploadsOnDiskWithoutMemoryTier(Uploads):
    on_disk = True
    sets = {"storage.cache_bytes": "0"}


class UploadsOnDiskInLargePieces(Uploads):
    on_disk = True
    sets = {"storage.cache_bytes": "0", "storage.chunk_size": "1MiB"}


class Limits(unittest.TestCase):
    def ask(self, server, method, path, body=None, auth=None):
        with server.connect() as connection:
            return connection.ask(method, path, [auth or server.auth], body)

    def token(self, server, keys, tenant):
        code, out, err = ron.run_ron("token", "mint", "--keys", str(keys), "--tenant", tenant,
                                     "--scope", "storage:write,storage:delete")
        self.assertEqual(code, 0, err)
        return ("Authorization", "Bearer " + out.strip())

    def test_an_upload_expires(self):
        with storage.Server(sets={"storage.uploads.expire_after": "1s"}) as server:
            upload = self.ask(server, "POST", "/uploads", b'{"length":3}').json()["upload_id"]
            self.assertEqual(self.ask(server, "PUT", f"/uploads/{upload}/0", b"abc").status, 200)
            used = server.metrics().value("storage_memory_bytes")
            self.assertGreater(used, 0)
            ron.wait_until("the upload to expire", lambda: self.ask(
                server, "GET", f"/uploads/{upload}").status == 404)
            for method, path in (("PUT", f"/uploads/{upload}/0"), ("POST", f"/uploads/{upload}/commit"),
                                 ("DELETE", f"/uploads/{upload}")):
                self.assertEqual(self.ask(server, method, path, b"abc").status, 404)
            server.wait_metric("storage_memory_bytes", 0)
            server.wait_metric("storage_uploads_open", 0)

    def test_only_so_many_are_open(self):
        with storage.Server(sets={"storage.uploads.max_open": 2}) as server:
            for _ in range(2):
                self.assertEqual(self.ask(server, "POST", "/uploads", b'{"length":3}').status, 201)
            refused = self.ask(server, "POST", "/uploads", b'{"length":3}')
            self.assertEqual((refused.status, refused.code), (429, "Quota"))
            self.assertEqual(refused.json()["error"]["details"],
                             {"what": "uploads", "used": "2", "limit": "2", "asked": "1"})

    def test_tenants_have_uploads_and_quotas_of_their_own(self):
        with storage.Server() as probe:
            keys = probe.home / "keys"
            self.assertEqual(ron.run_ron("key", "gen", "--keys", str(keys))[0], 0)
            config = (f'[auth]\nkeys_dir = "{keys}"\n[storage]\nbind = "127.0.0.1:0"\n'
                      'admin = "127.0.0.1:0"\nquota.bytes = "1KiB"\n'
                      '[[storage.quota.tenants]]\nname = "large"\nbytes = "4MiB"\nobjects = 2\n')
            with storage.Server(config=config) as server:
                self.check_tenants(server, keys)

    def check_tenants(self, server, keys):
        small, large = self.token(server, keys, "small"), self.token(server, keys, "large")
        upload = self.ask(server, "POST", "/uploads", b'{"length":3}', large).json()["upload_id"]
        for auth in (small, server.auth):
            self.assertEqual(self.ask(server, "GET", f"/uploads/{upload}", None, auth).status, 404)
            self.assertEqual(self.ask(server, "PUT", f"/uploads/{upload}/0", b"abc", auth).status, 404)
        self.assertEqual(self.ask(server, "GET", f"/uploads/{upload}", None, large).status, 200)
        self.assertEqual(self.ask(server, "DELETE", f"/uploads/{upload}", None, large).status, 204)

        self.assertEqual(self.ask(server, "POST", "/o", b"x" * 1000, small).status, 201)
        self.assertEqual(self.ask(server, "POST", "/o", b"x" * 1000, small).status, 200)
        refused = self.ask(server, "POST", "/o", b"y" * 25, small)
        self.assertEqual((refused.status, refused.code), (429, "Quota"))
        self.assertEqual(refused.json()["error"]["details"],
                         {"what": "bytes", "used": "1000", "limit": "1024", "asked": "25"})
        refused = self.ask(server, "POST", "/uploads", b'{"length":25}', small)
        self.assertEqual(refused.code, "Quota")
        self.assertEqual(self.ask(server, "POST", "/o", b"y" * 24, small).status, 201)
        for byte in (b"1", b"2"):
            self.assertEqual(self.ask(server, "POST", "/o", byte * 2000, large).status, 201)
        refused = self.ask(server, "POST", "/o", b"3", large)
        self.assertEqual(refused.json()["error"]["details"]["what"], "objects")


class Operators(unittest.TestCase):
    def test_operators_see_and_ask(self):
        with storage.Server(sets={"storage.server.max_rps": 100000}) as server:
            addresses = sorted(server.put(f"object {i}".encode()) for i in range(25))
            with server.connect_admin() as admin:
                seen, path = [], "/admin/objects?limit=10"
                while path:
                    page = admin.ask("GET", path, [server.auth]).json()
                    seen += [each["address"] for each in page["objects"]]
                    self.assertLessEqual(len(page["objects"]), 10)
                    path = "next" in page and f"/admin/objects?limit=10&after={page['next']}"
                self.assertEqual(seen, addresses)
                for query in ("limit=0", "limit=1001", "limit=x", "after=b3:0"):
                    self.assertEqual(admin.ask("GET", "/admin/objects?" + query,
                                               [server.auth]).status, 400)
                stats = admin.ask("GET", "/admin/stats", [server.auth]).json()
                self.assertEqual(stats["volumes"][0]["objects"], 25)
                memory = stats["memory"]
                self.assertEqual(memory["most_bytes"], sum(a["bytes"] for a in memory["addends"]))
                self.assertEqual(stats["queues"][0]["capacity"], 512)
                for what in ("scrub", "compact"):
                    answer = admin.ask("POST", "/admin/" + what, [server.auth], b"")
                    self.assertEqual((answer.status, answer.json()), (202, {"volumes": 0}))
                answer = admin.ask("POST", "/admin/repair", [server.auth], b"")
                self.assertEqual((answer.status, answer.code), (503, "Degraded"))
                self.assertEqual(admin.ask("GET", "/admin/stats").status, 401)
            with server.connect() as client:
                self.assertEqual(client.ask("GET", "/admin/stats", [server.auth]).status, 404)


if __name__ == "__main__":
    unittest.main(verbosity=2)
