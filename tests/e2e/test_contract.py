"""The contract as scripts use it: curl, b3sum, compressors, exit codes, amnesia that forgets."""

import base64
import gzip
import os
import pathlib
import random
import re
import signal
import socket
import stat
import subprocess
import tempfile
import time
import unittest
import zlib

import ron
import storage

SIZES = (0, 1, 1023, 1024, 1025, 65535, 65536, 65537, 1048576)


class Curl:
    """curl with a body and headers in files."""

    def __init__(self, server, home):
        self.base = "http://%s:%d" % server.address
        self.body = pathlib.Path(home) / "body"
        self.head = pathlib.Path(home) / "head"

    def __call__(self, path, *arguments):
        """The status; body and head are in their files."""
        self.body.write_bytes(b"")
        done = subprocess.run(
            ["curl", "-sS", "-o", self.body, "-D", self.head, "-w", "%{http_code}", "--max-time",
             "30",
             *arguments, self.base + path], capture_output=True, check=True, timeout=60)
        return int(done.stdout)

    def header(self, name):
        found = re.findall(rf"^{name}: (.*)\r$", self.head.read_bytes().decode(), re.I | re.M)
        return found[-1] if found else None


def b3sum(path):
    out = subprocess.run(["b3sum", "--no-names", path], capture_output=True, check=True)
    return "b3:" + out.stdout.decode().strip()


class Objects(unittest.TestCase):
    def setUp(self):
        self.server = storage.Server()
        self.addCleanup(self.server.close)
        home = tempfile.TemporaryDirectory(prefix="ron-e2e-")
        self.addCleanup(home.cleanup)
        self.home = pathlib.Path(home.name)
        self.curl = Curl(self.server, home.name)
        self.auth = ("-H", "Authorization: Bearer " + self.server.token)

    def file(self, size, seed):
        path = self.home / f"{size}-{seed}"
        path.write_bytes(random.Random(f"{size} {seed}").randbytes(size))
        return path, b3sum(path)

    def test_put_get_head_delete(self):
        for size in SIZES:
            with self.subTest(size):
                path, address = self.file(size, "put")
                target, upload = "/o/" + address, (*self.auth, "-T", path)
                self.assertEqual(self.curl(target), 404)
                self.assertEqual(self.curl(target, *upload), 201)
                self.assertEqual(self.curl.header("ETag"), f'"{address}"')
                self.assertEqual(self.curl(target, *upload), 200)
                self.assertEqual(self.curl(target), 200)
                self.assertEqual(b3sum(self.curl.body), address)
                self.assertEqual(self.curl.header("Content-Length"), str(size))
                self.assertEqual(self.curl.header("ETag"), f'"{address}"')
                self.assertEqual(self.curl.header("Cache-Control"),
                                 "public, max-age=31536000, immutable")
                self.assertEqual(self.curl.header("Vary"), "Accept-Encoding")
                self.assertEqual(self.curl(target, "-I"), 200)
                self.assertEqual(self.curl.header("Content-Length"), str(size))
                self.assertEqual(self.curl(target, *self.auth, "-X", "DELETE"), 204)
                self.assertEqual(self.curl(target), 404)
                self.assertEqual(self.curl(target, *self.auth, "-X", "DELETE"), 404)

    def test_post(self):
        for size in SIZES:
            with self.subTest(size):
                path, address = self.file(size, "post")
                upload = (*self.auth, "--data-binary", f"@{path}")
                for status in (201, 200):
                    self.assertEqual(self.curl("/o", *upload), status)
                    self.assertEqual(self.curl.body.read_text(),
                                     f'{{"address":"{address}","length":{size}}}')
                    self.assertEqual(self.curl.header("Location"), "/o/" + address)
                self.assertEqual(self.curl(self.curl.header("Location")), 200)
                self.assertEqual(b3sum(self.curl.body), address)

    def test_chunked_upload(self):
        path, address = self.file(300000, "chunked")
        with path.open("rb") as source:
            done = subprocess.run(
                ["curl", "-sS", "-w", "%{http_code}", "-o", self.curl.body, *self.auth, "-T", "-",
                 "-H",
                 "Expect:", self.curl.base + "/o/" + address], stdin=source, capture_output=True,
                 check=True)
        self.assertEqual(done.stdout, b"201")

    def test_resumed_download(self):
        path, address = self.file(200000, "resume")
        self.assertEqual(self.curl("/o/" + address, *self.auth, "-T", path), 201)
        part = self.home / "part"
        part.write_bytes(path.read_bytes()[:70001])
        subprocess.run(["curl", "-sS", "-C", "-", "-o", part, self.curl.base + "/o/" + address],
                       check=True)
        self.assertEqual(b3sum(part), address)

    def test_the_wrong_address(self):
        path, _ = self.file(1000, "wrong")
        other = "b3:" + "1" * 64
        self.assertEqual(self.curl("/o/" + other, *self.auth, "-T", path), 409)
        self.assertIn('"code":"HashMismatch"', self.curl.body.read_text())
        self.assertEqual(self.curl("/o/" + other), 404)

    def test_encoded_uploads_are_addressed_by_their_content(self):
        plain = self.home / "plain"
        plain.write_bytes(base64.encodebytes(random.Random(1).randbytes(200000)))
        address = b3sum(plain)
        zlib_stream = zlib.compress(plain.read_bytes())
        packed = {
            "gzip": gzip.compress(plain.read_bytes()), "deflate": zlib_stream,
            "br": subprocess.run(["brotli", "-c", plain], capture_output=True, check=True).stdout,
            "zstd": subprocess.run(["zstd", "-q", "-c", plain], capture_output=True,
                                   check=True).stdout,
        }
        for coding, data in packed.items():
            with self.subTest(coding):
                file = self.home / coding
                file.write_bytes(data)
                self.assertLess(len(data), plain.stat().st_size)
                self.assertEqual(
                    self.curl("/o/" + address, *self.auth, "-H", f"Content-Encoding: {coding}",
                              "-T", file), 201)
                self.assertEqual(self.curl("/o/" + address), 200)
                self.assertEqual(b3sum(self.curl.body), address)
                self.assertIsNone(self.curl.header("Content-Encoding"))
                self.assertEqual(self.curl("/o/" + address, *self.auth, "-X", "DELETE"), 204)
                # The packed bytes themselves have another address.
                self.assertEqual(self.curl("/o/" + address, *self.auth, "-T", file), 409)

    def test_an_object_deleted_under_a_reader(self):
        path, data = self.server.put_large()
        with self.server.connect(receive_buffer=8192) as reader, self.server.connect() as other:
            reader.send(ron.request("GET", path))
            self.assertEqual(reader.socket.recv(4, socket.MSG_WAITALL | socket.MSG_PEEK), b"HTTP")
            self.assertEqual(other.ask("DELETE", path, [self.server.auth]).status, 204)
            self.assertEqual(other.ask("GET", path).status, 404)
            for seed in range(8):  # whatever room it left is used again
                noise = random.Random(seed).randbytes(1 << 20)
                self.assertEqual(other.ask("POST", "/o", [self.server.auth], noise).status, 201)
            response = reader.read_response()
            self.assertEqual(response.status, 200)
            self.assertEqual(response.body, data)

    def test_keep_alive_of_a_real_client(self):
        path, address = self.file(5000, "keep")
        self.assertEqual(self.curl("/o/" + address, *self.auth, "-T", path), 201)
        url = self.curl.base + "/o/" + address
        done = subprocess.run(["curl", "-sS", "-w", "%{num_connects} ",
                               *["-o", "/dev/null", url] * 5],
                              capture_output=True, check=True)
        self.assertEqual(done.stdout.split(), [b"1", b"0", b"0", b"0", b"0"])


class Capabilities(unittest.TestCase):
    def post(self, server, token, body=b"", method="POST", path="/o"):
        with server.connect() as connection:
            response = connection.ask(method, path, [("Authorization", "Bearer " + token)], body)
            return response.status, response.code

    def test_what_a_narrowed_token_may_do(self):
        with storage.Server() as server:
            address = server.put(b"x")
            allowed, forbidden = (200, None), (403, "Forbidden")
            cases = (
                ("scope = storage:write", allowed), ("scope = storage:delete", forbidden),
                ("scope = index:write,storage:write", allowed), ("method = POST", allowed),
                ("method = PUT", forbidden), ("path_prefix = /o", allowed),
                ("path_prefix = /x", forbidden),
                ("max_bytes = 1", allowed), ("max_bytes = 0", forbidden),
                ("tenant = acme", allowed),
                ("expires = 2999-01-01T00:00:00Z", allowed),
                ("expires = 2001-01-01T00:00:00Z", (401, "Unauthorized")),
                ("colour = blue", forbidden),
            )
            for caveat, expected in cases:
                with self.subTest(caveat):
                    self.assertEqual(self.post(server, ron.attenuate(server.token, caveat), b"x"),
                                     expected)
            both = ron.attenuate(server.token, "scope = storage:write", "scope = storage:delete")
            self.assertEqual(self.post(server, both, b"x"), forbidden)
            forged = server.token[:-4] + ("AAAA" if server.token[-4:] != "AAAA" else "BBBB")
            self.assertEqual(self.post(server, forged, b"x"), (401, "Unauthorized"))
            with server.connect() as connection:
                self.assertEqual(connection.ask("DELETE", "/o/" + address).code, "Unauthorized")
                writer = ron.attenuate(server.token, "scope = storage:write")
                response = connection.ask("DELETE", "/o/" + address,
                                          [("Authorization", "Bearer " + writer)])
                self.assertEqual((response.status, response.code), forbidden)
                self.assertEqual(connection.ask("GET", "/o/" + address).status, 200)

    def test_a_chunked_body_is_held_to_the_grant(self):
        with storage.Server() as server, server.connect() as connection:
            token = ron.attenuate(server.token, "max_bytes = 4")
            head = [("Authorization", "Bearer " + token), ("Transfer-Encoding", "chunked")]
            connection.send(ron.request("POST", "/o", head) + b"5\r\nabcde\r\n0\r\n\r\n")
            self.assertEqual(connection.read_response().code, "Forbidden")

    def test_revocation(self):
        config = '[storage]\nbind = "127.0.0.1:0"\nadmin = "127.0.0.1:0"\n[auth]\ndeny = [{deny}]\n'
        with storage.Server(config=config.format(deny="")) as server:
            raw = base64.urlsafe_b64decode(server.token + "==")
            key, token_id = re.search(rb"v2:([a-z0-9_-]+):([0-9a-f]{32})", raw).groups()
            narrowed = ron.attenuate(server.token, "scope = storage:write")
            for entry in (b"token:" + token_id, b"key:" + key):
                self.assertEqual(self.post(server, server.token), (201, None))
                self.reload(server, config.format(deny=f'"{entry.decode()}"'))
                self.assertEqual(self.post(server, server.token), (403, "RevokedKey"))
                self.assertEqual(self.post(server, narrowed), (403, "RevokedKey"))
                self.reload(server, config.format(deny=""))
                with server.connect() as connection:
                    connection.ask("DELETE", "/o/" + ron.b3(b""), [server.auth])

    def reload(self, server, text):
        done = server.metrics().value("storage_reload_success_total")
        server.config_path.write_text(text)
        server.signal(signal.SIGHUP)
        server.wait_metric("storage_reload_success_total", done + 1)

    def test_private_reads(self):
        with storage.Server(sets={"auth.public_reads": "false"}) as server:
            address = server.put(b"private")
            with server.connect() as connection:
                self.assertEqual(connection.ask("GET", "/o/" + address).code, "Unauthorized")
                self.assertEqual(connection.ask("HEAD", "/o/" + address).status, 401)
                self.assertEqual(connection.ask("GET", "/o/" + address, [server.auth]).body,
                                 b"private")
                self.assertEqual(connection.ask("GET", "/healthz").status, 200)

    def test_the_token_file_is_private(self):
        with storage.Server() as server:
            self.assertEqual(stat.S_IMODE(server.token_path.stat().st_mode), 0o600)


class Amnesia(unittest.TestCase):
    MIB = 1 << 20

    def readiness(self, server):
        with server.connect() as connection:
            response = connection.ask("GET", "/readyz")
            return response.status, response.json()

    def test_full_memory_stops_writes_only(self):
        sets = {"storage.cache_bytes": "8MiB"}
        with storage.Server(sets=sets) as server, server.connect() as connection:
            ready = {"ready": True, "write_ready": True, "degraded": False, "missing": []}
            self.assertEqual(self.readiness(server), (200, ready))
            stored = {}
            for i in range(20):
                body = random.Random(i).randbytes(self.MIB)
                response = connection.ask("POST", "/o", [server.auth], body)
                if response.status != 201:
                    break
                stored[response.json()["address"]] = body
            self.assertEqual((response.status, response.code), (503, "Amnesia"))
            self.assertIn(len(stored), (6, 7, 8))
            degraded = {"ready": True, "write_ready": False, "degraded": True,
                        "missing": ["memory"]}
            self.assertEqual(self.readiness(server), (200, degraded))
            for address, kept in stored.items():
                self.assertEqual(connection.ask("GET", "/o/" + address).body, kept)
            first = next(iter(stored))
            again = connection.ask("PUT", "/o/" + first, [server.auth], stored[first])
            self.assertEqual(again.status, 200, "what is there already needs no room")
            metrics = server.metrics()
            self.assertEqual(metrics.value("storage_objects"), len(stored))
            self.assertLessEqual(metrics.value("storage_memory_bytes"), 8 * self.MIB)
            self.assertEqual(connection.ask("DELETE", "/o/" + first, [server.auth]).status, 204)
            self.assertEqual(self.readiness(server), (200, ready))
            self.assertEqual(connection.ask("POST", "/o", [server.auth], body).status, 201)

    def tree(self, *roots):
        return sorted((str(path), path.lstat().st_size, path.lstat().st_mtime_ns)
                      for root in roots
                      for path in [pathlib.Path(root), *pathlib.Path(root).rglob("*")])

    def written_files(self, pid):
        """Regular files on a file system that the process holds open for writing."""
        held = []
        for entry in pathlib.Path(f"/proc/{pid}/fd").iterdir():
            try:
                target, mode = os.readlink(entry), entry.stat().st_mode
                flags = int(re.search(r"flags:\s+(\d+)", pathlib.Path(
                    f"/proc/{pid}/fdinfo/{entry.name}").read_text())[1], 8)
            except FileNotFoundError:
                continue
            in_memory = target.startswith("/memfd:")
            if stat.S_ISREG(mode) and not in_memory and flags & os.O_ACCMODE != os.O_RDONLY:
                held.append((entry.name, target))
        return held

    def mapped_files(self, pid):
        """Files that are mapped shared and writable: stores to memory would reach them."""
        maps = pathlib.Path(f"/proc/{pid}/maps").read_text().splitlines()
        return [line for line in maps if re.match(r"\S+ .w.s ", line) and "/memfd:" not in line
                and re.search(r" /", line) and "[" not in line]

    def test_not_a_byte_is_written(self):
        with tempfile.TemporaryDirectory(prefix="ron-e2e-") as root:
            places = {name: os.path.join(root, name)
                      for name in ("HOME", "TMPDIR", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
            for place in places.values():
                os.mkdir(place)
            with storage.Server(env=places, sets={"storage.cache_bytes": "32MiB"}) as server:
                server.token_path.unlink()
                before = self.tree(server.cwd, root)
                for i in range(20):
                    server.put(random.Random(i).randbytes(self.MIB))
                address = server.put(b"gone tomorrow")
                with server.connect() as connection:
                    self.assertEqual(connection.ask("GET", "/o/" + address).body, b"gone tomorrow")
                self.assertEqual(self.tree(server.cwd, root), before)
                self.assertEqual([fd for fd in self.written_files(server.pid) if fd[0] != "2"], [])
                self.assertEqual(self.mapped_files(server.pid), [])
                self.assertEqual(server.stop(), 0)
                self.assertEqual(self.tree(server.cwd, root), before)


class StartUp(unittest.TestCase):
    ANYWHERE = ("--bind", "127.0.0.1:0", "--admin", "127.0.0.1:0")

    def fails(self, code, *arguments, env=None):
        status, out, err = ron.run_ron(*arguments, env=env)
        self.assertEqual((status, out), (code, ""), err)
        return err

    def one_line(self, *arguments, words, env=None):
        err = self.fails(1, *arguments, env=env)
        self.assertEqual(err.count("\n"), 1, err)
        for word in words:
            self.assertIn(word, err)

    def test_ports_in_use(self):
        with socket.socket() as holder:
            holder.bind(("127.0.0.1", 0))
            holder.listen()
            busy = "127.0.0.1:%d" % holder.getsockname()[1]
            self.one_line("storage", "--amnesia", "--bind", busy, "--admin", "127.0.0.1:0",
                          words=("storage.bind", busy, "in use"))
            self.one_line("storage", "--amnesia", "--bind", "127.0.0.1:0", "--admin", busy,
                          words=("storage.admin", busy, "in use"))

    def test_another_ron_holds_the_port(self):
        with storage.Server() as server:
            busy = "%s:%d" % server.address
            self.one_line("storage", "--amnesia", "--bind", busy, "--admin", "127.0.0.1:0",
                          words=("storage.bind", busy, "in use"))
            with server.connect() as connection:
                self.assertTrue(connection.is_open())

    def test_bad_usage(self):
        for arguments in ((), ("storage", "--no-such-flag"), ("no-such-command",),
                          ("storage", "--bind")):
            with self.subTest(arguments):
                self.assertTrue(self.fails(2, *arguments))

    def test_unknown_keys_name_the_nearest(self):
        self.one_line("storage", "--amnesia", *self.ANYWHERE, "--set", "storage.server.max_rp=1",
                      words=("storage.server.max_rp", "storage.server.max_rps"))
        self.one_line("storage", "--amnesia", *self.ANYWHERE,
                      words=("RON_STORAGE__READ_TIMEOT", "RON_STORAGE__READ_TIMEOUT"),
                      env={"RON_STORAGE__READ_TIMEOT": "1s"})
        with tempfile.TemporaryDirectory(prefix="ron-e2e-") as home:
            path = os.path.join(home, "ron.toml")
            pathlib.Path(path).write_text("[storage]\n\nmax_conn = 5\n")
            self.one_line("storage", "--amnesia", *self.ANYWHERE, "--config", path,
                          words=(path + ":3", "storage.max_conn", "storage.max_conns"))

    def test_values_out_of_bounds_and_unsafe(self):
        self.one_line("storage", "--amnesia", *self.ANYWHERE, "--set", "storage.max_conns=0",
                      words=("storage.max_conns", "1"))
        self.one_line("storage", "--amnesia", *self.ANYWHERE, "--set",
                      "storage.limits.max_body_bytes=2MiB",
                      words=("storage.limits.max_body_bytes", "safety.danger_ok"))
        self.one_line("storage", "--amnesia", "--bind", "nowhere",
                      words=("storage.bind", "nowhere"))
        self.one_line("storage", "--amnesia", *self.ANYWHERE, "--config", "no-such.toml",
                      words=("no-such.toml",))

    def test_layers(self):
        env = {"RON_STORAGE__LIMITS__MAX_BODY_BYTES": "32KiB", "RON_STORAGE__READ_TIMEOUT": "2s"}
        config = ('[storage]\nbind = "127.0.0.1:0"\nadmin = "127.0.0.1:0"\n'
                  'read_timeout = "3s"\nidle_timeout = "30s"\n'
                  '[storage.limits]\nmax_body_bytes = "16KiB"\n')
        flags = ("--set", "storage.limits.max_body_bytes=64KiB")
        with storage.Server(config=config, env=env,
                        flags=flags) as server, server.connect_admin() as admin:
            shown = admin.ask("GET", "/debug/config").body.decode()
            for key, value in (("max_body_bytes", "64KiB"), ("read_timeout", "2s"),
                               ("idle_timeout", "30s"),
                               ("write_timeout", "5s")):
                self.assertRegex(shown, rf'{key}"[^}}]*"{value}"')

    def test_standard_output_is_one_line(self):
        with storage.Server(flags=("--log-level", "trace")) as server:
            server.put(b"noise")
            self.assertEqual(server.stop(), 0)
            self.assertEqual(server.process.stdout.read(), b"")
            self.assertEqual(len(server.out), 1)

    def test_version_agrees(self):
        code, out, _ = ron.run_ron("version")
        self.assertEqual(code, 0)
        with storage.Server() as server, server.connect() as connection:
            shown = connection.ask("GET", "/version").json()
            self.assertEqual(out.split(), ["ron", shown["version"]])

    def test_a_start_is_quick(self):
        began = time.monotonic()
        with storage.Server() as server, server.connect() as connection:
            self.assertTrue(connection.is_open())
        self.assertLess(time.monotonic() - began, 2 * ron.SLOW)


if __name__ == "__main__":
    unittest.main()
