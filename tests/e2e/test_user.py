"""What a person at a terminal meets: targets that are no plain files, streams, wrong turns, and what
is said about them."""

import json
import os
import pty
import random
import signal
import stat
import subprocess
import threading
import unittest

import client_stand_ins
import ron
import storage
from test_cli import MIB, Case, WithServer, noise


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


class Targets(WithServer):
    """Where `ron get -o` may write, and what it leaves there."""

    def setUp(self):
        super().setUp()
        self.data = b"what is fetched"
        self.address = self.server.put(self.data)

    def get(self, *arguments):
        return self.good("get", self.address, "-o", *arguments)

    def test_a_device_stays_a_device(self):
        device = self.work / "null"
        try:
            os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        except PermissionError:
            self.skipTest("only root makes device nodes")
        self.get("null")
        self.assertTrue(stat.S_ISCHR(device.lstat().st_mode))
        self.write("tree/a", b"a")
        self.good("put", "--list", "null", "tree")
        self.good("token", "attenuate", "--method", "GET", "--out", "null")
        self.assertTrue(stat.S_ISCHR(device.lstat().st_mode))
        self.assertEqual(sorted(path.name for path in self.work.iterdir()), ["null", "tree"])

    def test_a_pipe_is_written_to(self):
        data = noise(9 * MIB)
        address = self.server.upload(data)
        os.mkfifo(self.work / "pipe")
        got = []
        reader = threading.Thread(
            target=lambda: got.append((self.work / "pipe").read_bytes()), daemon=True)
        reader.start()
        self.good("get", address, "-o", "pipe")
        reader.join(ron.REPLY_S)
        self.assertEqual(got, [data])
        self.assertTrue(stat.S_ISFIFO((self.work / "pipe").lstat().st_mode))
        self.assertEqual(self.left_behind(), [])

    def test_a_link_to_standard_output_is_followed(self):
        (self.work / "out").symlink_to("/proc/self/fd/1")  # as /dev/stdout is
        self.assertEqual(self.get("out"), self.data)
        self.assertTrue((self.work / "out").is_symlink())

    def test_links_are_followed(self):
        self.write("elsewhere/real", b"old")
        (self.work / "link").symlink_to("elsewhere/real")
        (self.work / "dangling").symlink_to("elsewhere/new")
        for name, real in (("link", "real"), ("dangling", "new")):
            self.get(name)
            self.assertTrue((self.work / name).is_symlink(), name)
            self.assertEqual((self.work / "elsewhere" / real).read_bytes(), self.data)
        self.assertEqual(self.left_behind(), [])

    def test_the_mode_of_the_file_that_was_there_is_kept(self):
        for mode in (0o755, 0o600, 0o666):
            self.write("file", b"old").chmod(mode)
            self.get("file")
            self.assertEqual(mode_of(self.work / "file"), mode)
            self.assertEqual((self.work / "file").read_bytes(), self.data)

    def test_a_read_only_file_is_replaced_only_by_force(self):
        self.write("file", b"old").chmod(0o400)
        self.assertIn("--force", self.refused("get", self.address, "-o", "file"))
        self.assertEqual((self.work / "file").read_bytes(), b"old")
        self.get("file", "--force")
        self.assertEqual((self.work / "file").read_bytes(), self.data)
        self.assertEqual(mode_of(self.work / "file"), 0o400)
        self.assertEqual(self.left_behind(), [])

    def test_one_of_several_names_is_replaced_only_by_force(self):
        self.write("one", b"old")
        os.link(self.work / "one", self.work / "two")
        self.assertIn("hard links", self.refused("get", self.address, "-o", "one"))
        self.get("one", "--force")
        self.assertEqual((self.work / "one").read_bytes(), self.data)
        self.assertEqual((self.work / "two").read_bytes(), b"old")

    def test_a_list_does_not_write_through_links(self):
        self.write("out/real", b"old")
        (self.work / "out/link").symlink_to("real")
        self.write("list", f"{self.address}  link\n{self.address}  fine\n".encode())
        self.assertIn("is a symbolic link", self.refused("get", "--list", "list", "-o", "out"))
        self.assertEqual((self.work / "out/real").read_bytes(), b"old")
        self.assertEqual((self.work / "out/fine").read_bytes(), self.data)
        self.good("get", "--list", "list", "-o", "out", "--force")
        self.assertFalse((self.work / "out/link").is_symlink())

    def test_the_list_of_a_put_follows_links_and_keeps_modes(self):
        self.write("a", b"a")
        self.write("real", b"old").chmod(0o640)
        (self.work / "list").symlink_to("real")
        self.good("put", "--list", "list", "a")
        self.assertTrue((self.work / "list").is_symlink())
        self.assertEqual((self.work / "real").read_text(), f"{ron.b3(b'a')}  a\n")
        self.assertEqual(mode_of(self.work / "real"), 0o640)


class Streams(WithServer):
    def test_pipes_and_devices_are_read(self):
        for size in (0, 10, MIB, 3 * MIB + 1):
            data = noise(size)
            os.mkfifo(self.work / "pipe")
            writer = threading.Thread(
                target=lambda: (self.work / "pipe").write_bytes(data), daemon=True)
            writer.start()
            self.assertEqual(self.good("put", "pipe").decode(), f"{ron.b3(data)}  pipe\n")
            writer.join(ron.REPLY_S)
            (self.work / "pipe").unlink()
        self.assertEqual(self.good("put", "/dev/null").decode(), f"{ron.b3(b'')}  /dev/null\n")

    def test_the_pipes_of_a_shell_are_read_in_turn(self):
        done = subprocess.run(
            ["bash", "-c", f"'{ron.BINARY}' put <(echo 1) <(echo 2) <(echo 3) <(echo 4) <(echo 5) "
             "<(echo 6)"], cwd=self.work, env=self.environment(), capture_output=True, check=True,
            timeout=ron.REPLY_S)
        self.assertEqual([line.split()[0] for line in done.stdout.decode().splitlines()],
                         [ron.b3(b"%d\n" % number) for number in range(1, 7)])

    def test_a_list_may_be_a_stream(self):
        address = self.server.put(b"listed")
        self.good("get", "--list", "-", "-o", "out", given=f"{address}  one\n".encode())
        subprocess.run(["bash", "-c", f"'{ron.BINARY}' get --list <(echo '{address}  two') -o out"],
                       cwd=self.work, env=self.environment(), check=True, timeout=ron.REPLY_S)
        for name in ("one", "two"):
            self.assertEqual((self.work / "out" / name).read_bytes(), b"listed")

    def piped_to_nobody(self, *arguments):
        """Exit code and complaints of a command whose reader leaves after the first byte."""
        process = subprocess.Popen([ron.BINARY, *arguments], cwd=self.work, env=self.environment(),
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   preexec_fn=ron.die_with_parent)
        os.read(process.stdout.fileno(), 1)
        process.stdout.close()
        complaint = process.stderr.read()
        process.stderr.close()
        return process.wait(ron.REPLY_S), complaint

    def test_a_reader_that_leaves_is_no_reason_to_complain(self):
        address = self.server.upload(noise(20 * MIB))
        self.assertEqual(self.piped_to_nobody("get", address), (141, b""))
        for i in range(2000):
            self.write(f"tree/{'long' * 50}{i:04}", b"%d" % i)
        self.assertEqual(self.piped_to_nobody("put", "tree"), (141, b""))

    def on_terminal(self, *arguments):
        """Exit code, what a terminal shows, and complaints."""
        ours, theirs = pty.openpty()
        process = subprocess.Popen([ron.BINARY, *arguments], cwd=self.work, env=self.environment(),
                                   stdout=theirs, stderr=subprocess.PIPE,
                                   preexec_fn=ron.die_with_parent)
        os.close(theirs)
        complaint = process.stderr.read().decode()
        process.stderr.close()
        code = process.wait(ron.REPLY_S)
        os.set_blocking(ours, False)
        try:
            shown = os.read(ours, 1 << 16)
        except OSError:
            shown = b""
        os.close(ours)
        return code, shown, complaint

    def test_a_binary_is_not_printed_to_a_terminal(self):
        binary = self.server.put(b"\x1b[31m\x00\x07")
        code, shown, complaint = self.on_terminal("get", binary)
        self.assertEqual((code, shown), (1, b""))
        self.assertIn("-o -", complaint)
        code, shown, _ = self.on_terminal("get", binary, "-o", "-")
        self.assertEqual((code, shown), (0, b"\x1b[31m\x00\x07"))
        text = self.server.put("Größe\t1\n".encode())
        code, shown, _ = self.on_terminal("get", text)
        self.assertEqual((code, shown.replace(b"\r", b"")), (0, "Größe\t1\n".encode()))


class Words(WithServer):
    """Errors say what to do in terms of what was typed."""

    def test_a_missing_token_says_how_to_give_one(self):
        self.write("a", b"a")
        complaint = self.refused("put", "a", token=False)
        self.assertIn("--token FILE or set RON_TOKEN", complaint)
        self.assertIn("ron-data/keys/admin.token", complaint)

    def test_an_interrupted_upload_says_that_the_same_command_continues(self):
        self.write("file", noise(20 * MIB))
        with client_stand_ins.Proxy(self.server.address, hold_after=4) as proxy:
            process = subprocess.Popen([ron.BINARY, "put", "file"], cwd=self.work,
                                       env=self.environment(proxy.url), stderr=subprocess.PIPE,
                                       preexec_fn=ron.die_with_parent)
            self.assertTrue(proxy.held.wait(ron.REPLY_S))
            process.send_signal(signal.SIGINT)
            _, complaint = process.communicate(timeout=ron.REPLY_S)
        self.assertEqual(process.returncode, 130)
        self.assertIn(b"the same command continues", complaint)

    def test_stat_is_a_screen(self):
        admin = ("--admin-url", "http://%s:%d" % self.server.admin)
        screen = self.good("stat", *admin).decode()
        self.assertLessEqual(len(screen.splitlines()), 24)
        self.assertRegex(screen, r"(?m)^objects +\d+, ")
        everything = self.good("stat", "--all", *admin).decode()
        self.assertGreater(len(everything.splitlines()), len(screen.splitlines()))
        self.assertIn("addends", json.loads(self.good("stat", "--json", *admin))["memory"])

    def test_a_form_is_refused_with_the_right_command(self):
        path = self.write("file", b"bytes")
        for method, path_of_request, right in (("POST", "/o", "--data-binary @FILE"),
                                               ("PUT", "/o/" + ron.b3(b"bytes"), "-T FILE")):
            done = subprocess.run(
                ["curl", "-s", "-X", method, "-F", f"file=@{path}", "-H",
                 "Authorization: Bearer " + self.server.token,
                 "http://%s:%d%s" % (*self.server.address, path_of_request)],
                capture_output=True, check=True, timeout=ron.REPLY_S)
            error = json.loads(done.stdout)["error"]
            self.assertEqual(error["code"], "UnsupportedMedia")
            self.assertIn(right, error["message"])

    def test_a_body_that_is_too_large_is_sent_to_uploads(self):
        with self.server.connect() as connection:
            response = connection.ask("POST", "/o", [self.server.auth], bytes(MIB + 1))
            self.assertEqual((response.status, response.code), (413, "BodyCap"))
            self.assertIn("POST /uploads", response.json()["error"]["message"])


class Servers(Case):
    """Servers of their own: full ones, on names, on all addresses, started again."""

    def start(self, **more):
        server = storage.Server(**more)
        self.addCleanup(server.close)
        return server

    def beside(self, **more):
        """A server whose admin listener is where clients expect it."""
        for _ in range(50):
            port = random.randrange(20000, 30000)
            try:
                return self.start(bind=f"127.0.0.1:{port}", admin=f"127.0.0.1:{port + 1000}", **more)
            except AssertionError:
                continue
        raise AssertionError("no two free ports a thousand apart")

    def test_full_says_how_full_and_which_key(self):
        self.server = self.start(data=self.home / "data",
                                 sets={"storage.min_free_bytes": "1000000GiB"})
        self.write("a", b"a")
        complaint = self.refused("put", "a")
        self.assertRegex(complaint, r"GiB are free, of which storage\.min_free_bytes keeps 1000000\.0GiB")
        self.assertIn("StorageFull", complaint)
        self.server = self.start(sets={"storage.cache_bytes": "1MiB"})
        self.write("large", noise(3 * MIB))
        self.assertIn("storage.cache_bytes", self.refused("put", "large"))

    def test_names_of_hosts_are_found(self):
        self.server = self.start()
        address = self.server.put(b"by name")
        port = self.server.address[1]
        # A form that only the name service understands, and the name of this machine.
        self.assertEqual(self.good("get", address, url=f"http://127.1:{port}"), b"by name")
        done = self.ron("get", address, url="http://no-such-host.invalid:8081")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(),
                         r"\Aron get: b3:[^\n]+cannot find host 'no-such-host\.invalid'[^\n]+\n\Z")
        done = self.ron("stat", address, url="http://no-such-host.invalid:8081")
        self.assertNotIn(b"missing", done.stdout, "the host is not found, the object may be there")

    def test_a_wrong_url_says_what_is_wrong(self):
        for url, why in (("127.0.0.1:8081", "does not begin with http://"),
                         ("unix:", "no path of a Unix socket"), ("http://x:1/o", "has a path")):
            done = self.ron("get", ron.b3(b""), url=url)
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr.decode(), r"\Aron: get: RON_URL: [^\n]+\n\Z")
            self.assertIn(why, done.stderr.decode())

    def test_the_admin_listener_is_found_and_never_another_servers(self):
        self.server = self.beside()
        self.server.put(b"counted")
        self.assertRegex(self.good("stat").decode(), r"\Aobjects +1, ")
        other = self.start()
        done = subprocess.run(
            [ron.BINARY, "stat", "--url", "http://%s:%d" % other.address], cwd=self.work,
            env={**self.environment(), "RON_ADMIN_URL": "http://%s:%d" % self.server.admin},
            capture_output=True, timeout=ron.REPLY_S, check=False)
        self.assertEqual((done.returncode, done.stdout), (1, b""))
        self.assertIn(b"--admin-url", done.stderr)

    def test_a_port_in_use_is_one_line_and_leaves_nothing_behind(self):
        self.server = self.start()
        taken = "%s:%d" % self.server.address
        for flags, key in ((("--bind", taken, "--admin", "127.0.0.1:0"), "bind"),
                           (("--bind", "127.0.0.1:0", "--admin", taken), "admin")):
            done = self.ron("up", *flags, "--data", "new")
            self.assertEqual((done.returncode, done.stdout), (1, b""))
            self.assertEqual(done.stderr.decode(), f"ron: gateway.{key}: cannot listen on {taken}: Address "
                             f"already in use; stop what listens there, or set another address with --{key}\n")
            self.assertFalse((self.work / "new").exists())

    def test_tls_that_does_not_work_out_says_what_to_do(self):
        certificate = ron.Certificate(self.home)
        self.server = self.start(tls=certificate)
        port = self.server.address[1]
        self.write("a", b"a")
        done = self.ron("put", "a", url=f"https://localhost:{port}")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr.decode(), r"self-signed certificate \(UpstreamFail\); --ca FILE or "
                                               r"RON_CA_FILE names the certificates to trust\n\Z")
        done = self.ron("put", "a", url=f"http://localhost:{port}")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"this port speaks TLS: use https:// instead of http://", done.stderr)
        with ron.Connection(self.server.address) as plain:
            answer = plain.ask("GET", "/healthz")
            self.assertEqual((answer.status, answer.code), (400, "Malformed"))
            self.assertTrue(answer.closes)

    def test_a_name_is_no_address_to_remove(self):
        done = self.ron("rm", "docs/site", url="http://127.0.0.1:1")
        self.assertEqual(done.returncode, 2)
        self.assertIn(b"ron name rm NAME removes a name", done.stderr)

    def test_listening_on_all_addresses_is_warned_of(self):
        server = self.start(bind="0.0.0.0:0")
        warning = server.wait_log(
            "listening on all addresses without TLS: tokens can be read on the way")
        self.assertEqual((warning["level"], warning["key"]), ("warn", "storage.bind"))
        self.assertEqual(self.start().log_text().count("all addresses"), 0)

    def test_only_the_first_start_explains_the_rate(self):
        said = []
        for _ in range(2):
            server = self.start(data=self.home / "data")
            server.wait_log("admin listening")
            self.assertEqual(server.stop(), 0)
            said.append("storage.server.max_rps raises it" in server.log_text())
        self.assertEqual(said, [True, False])

    def test_a_client_keeps_to_the_rate_of_the_server(self):
        self.server = self.start(sets={"storage.server.max_rps": "200"})
        for i in range(600):
            self.write(f"tree/{i}", b"%d" % i)
        self.assertEqual(len(self.good("put", "tree").splitlines()), 600)
        # All requests in flight may be refused once; how long it takes is for pacer_test.cc to say.
        refused = self.server.metrics().value("rejected_total", reason="rate")
        self.assertGreater(refused, 0)
        self.assertLessEqual(refused, 32)

    def test_quota_is_not_tried_again(self):
        self.server = self.start(sets={"storage.quota.bytes": "10"})
        self.write("a", b"eleven bytes")
        complaint = self.refused("put", "a")
        self.assertIn("Quota", complaint)
        self.assertEqual(self.server.metrics().value("http_requests_total", code="429"), 1)


class Doctor(Case):
    """Sees what a start would see, with the same flags."""

    PORTS = ("--bind", "127.0.0.1:0", "--admin", "127.0.0.1:0")

    def doctor(self, *arguments):
        done = self.ron("doctor", *self.PORTS, "--set", "storage.min_free_bytes=1MiB", *arguments,
                        *(() if "--data" in arguments else ("--data", "data")))
        return done.returncode, done.stdout.decode()

    def failures(self, *arguments):
        code, findings = self.doctor(*arguments)
        self.assertEqual(code, 1, findings)
        return [line for line in findings.splitlines() if line.startswith("fail")]

    def test_a_new_directory_is_fine_and_stays_unmade(self):
        code, findings = self.doctor()
        self.assertEqual(code, 0, findings)
        self.assertRegex(findings, r"(?m)^ok +data +'data/storage': [0-9.]+[KMGT]iB free")
        self.assertEqual(list(self.work.iterdir()), [])

    def test_a_file_in_the_place_of_the_directory(self):
        self.write("data", b"")
        self.assertRegex(self.failures()[0], "--data: 'data' is not a directory")
        self.assertRegex(self.failures("--set", "storage.data_dirs=/dev/null", "--data", "d")[0],
                         "storage.data_dirs: '/dev/null' is not a directory")

    def test_a_directory_in_use(self):
        server = storage.Server(data=self.work / "data", sets={"storage.min_free_bytes": "1MiB"})
        try:
            self.assertRegex(self.failures()[0], "another process uses 'data/storage'")
        finally:
            server.close()
        self.assertEqual(self.doctor()[0], 0, "and not any more")

    def test_a_disk_that_is_too_full(self):
        failures = self.failures("--set", "storage.min_free_bytes=1000000GiB")
        self.assertRegex(failures[0], "free, of which storage.min_free_bytes keeps 1000000.0GiB: "
                                      "every write would be refused")

    def test_keys_that_others_may_read(self):
        server = storage.Server(data=self.work / "data", sets={"storage.min_free_bytes": "1MiB"})
        self.assertEqual(server.stop(), 0)
        server.close()
        keys = self.work / "data/keys"
        key = next(keys.glob("*.key"))
        for path, mode, right in ((keys, 0o755, 0o700), (key, 0o644, 0o600)):
            path.chmod(mode)
            self.assertRegex(self.failures()[0], f"chmod {right:o} 'data/keys")
            done = self.ron("storage", *self.PORTS, "--data", "data")
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr.decode(), rf"\Aron: [^\n]*chmod {right:o} 'data/keys[^\n]*\n\Z")
            path.chmod(right)
        self.assertEqual(self.doctor()[0], 0)

    def test_what_is_not_a_volume(self):
        self.write("data/storage/VOLUME", b"nonsense")
        self.assertRegex(self.failures()[0], "VOLUME' is not the file of a volume")

    def test_the_deny_list_and_the_token_file(self):
        self.assertRegex(self.failures("--set", "auth.deny=x")[0], "auth.deny: 'x'")
        self.assertRegex(self.failures("--token-out", "none/token")[0], "--token-out: 'none/token'")

    def test_there_is_one_sum_of_memory_and_its_parts_only_if_asked_for(self):
        code, findings = self.doctor()
        self.assertEqual(code, 0, findings)
        memory = [line for line in findings.splitlines() if line.split()[1] == "memory"]
        self.assertEqual(len(memory), 1, findings)
        self.assertIn("if every limit is reached at once; there are", memory[0])
        _, all_of_it = self.doctor("-v")
        self.assertIn("bodies (gateway.server.max_inflight", all_of_it)
        self.assertNotIn("bodies (storage.server.max_inflight", all_of_it)
        _, alone = self.doctor("storage", "-v")
        self.assertIn("bodies (storage.server.max_inflight", alone)

    def test_flags_of_the_service_are_taken(self):
        code, findings = self.doctor("--amnesia", "--cores", "1", "--log-level", "warn")
        self.assertEqual(code, 0, findings)
        self.assertNotIn("data ", findings)
        open_to_all = self.ron("doctor", "--amnesia", "--bind", "0.0.0.0:0", "--admin", "127.0.0.1:0")
        self.assertRegex(open_to_all.stdout.decode(), r"(?m)^warn +port +gateway\.bind: .*no TLS")


if __name__ == "__main__":
    unittest.main()
