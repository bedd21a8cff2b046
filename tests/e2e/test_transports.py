"""Listeners that are not plain TCP: Unix sockets and who may use them, TLS 1.3 with real clients."""

import os
import pathlib
import shutil
import signal
import stat
import subprocess
import tempfile
import threading
import time
import unittest

import ron
import storage

BYTES = os.urandom(300_000)


def run(*command, **more):
    return subprocess.run(command, capture_output=True, timeout=ron.REPLY_S, **more)


def curl(*arguments, **more):
    return run("curl", "-sS", "--max-time", "20", *arguments, **more)


def refused_start(*flags):
    """What a start says that has to fail."""
    code, _, says = ron.run_ron("storage", "--amnesia", "--bind", "127.0.0.1:0", "--admin",
                                "127.0.0.1:0", *flags)
    assert code == 1, (code, says)
    return says


def check_client(test, server, url, *flags):
    """`ron` stores a large file there and gets the same one back."""
    file, back = test.home / "file", test.home / "back"
    file.write_bytes(BYTES * 20)
    put = run(ron.BINARY, "put", str(file), "--url", url, "--token", str(server.token_path), *flags)
    test.assertEqual(put.returncode, 0, put.stderr)
    address = put.stdout.split()[0].decode()
    test.assertEqual(address, ron.b3(file.read_bytes()))
    got = run(ron.BINARY, "get", address, "-o", str(back), "--url", url, *flags)
    test.assertEqual(got.returncode, 0, got.stderr)
    test.assertEqual(back.read_bytes(), file.read_bytes())


class Directory(unittest.TestCase):
    def setUp(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-transport-"))
        self.addCleanup(shutil.rmtree, self.home, ignore_errors=True)


class UnixSockets(Directory):
    def start(self, path, **more):
        server = storage.Server(uds=path, **more)
        self.addCleanup(server.close)
        return server

    def test_clients_store_and_read_through_the_socket(self):
        path = self.home / "run" / "ron.sock"
        server = self.start(path)
        self.assertEqual(stat.S_IMODE(path.stat().st_mode), 0o600)
        self.assertEqual(stat.S_IMODE(path.parent.stat().st_mode), 0o700)
        address = ron.b3(BYTES)
        put = curl("--unix-socket", str(path), "-H", ": ".join(server.auth), "-X", "PUT",
                   "--data-binary", "@-", f"http://ron/o/{address}", input=BYTES)
        self.assertIn(address.encode(), put.stdout)
        got = curl("--unix-socket", str(path), f"http://ron/o/{address}")
        self.assertEqual(got.stdout, BYTES)
        with server.connect_unix() as connection:
            self.assertEqual(connection.ask("GET", f"/o/{address}").body, BYTES)
        server.stop()
        self.assertFalse(path.exists())

    def test_ron_stores_and_reads_through_the_socket(self):
        path = self.home / "ron.sock"
        server = self.start(path)
        check_client(self, server, f"unix:{path}")

    def test_a_socket_of_a_dead_server_is_replaced_and_one_of_a_living_is_not(self):
        path = self.home / "ron.sock"
        first = self.start(path)
        self.assertIn("storage.uds.path: ", refused_start("--uds", str(path)))
        self.assertIn("another process listens there", refused_start("--uds", str(path)))
        os.kill(first.pid, signal.SIGKILL)
        first.wait_exit()
        self.assertTrue(path.exists())
        self.start(path)
        self.assertIn(b"alive", curl("--unix-socket", str(path), "http://ron/healthz").stdout)

    def test_a_directory_that_lets_others_in_is_refused(self):
        self.home.chmod(0o755)
        self.assertIn("chmod 700", refused_start("--uds", str(self.home / "ron.sock")))

    def test_other_users_are_kept_out(self):
        path = self.home / "ron.sock"
        ask = ["curl", "-sS", "--max-time", "10", "--unix-socket", str(path), "http://ron/healthz"]
        server = self.start(path)
        self.assertEqual(run(*ask).returncode, 0)
        if os.geteuid() == 0:  # only root can be somebody else
            stranger = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]
            self.assertNotEqual(run(*stranger, *ask).returncode, 0)
        server.stop()
        # Whom the file system lets through the allow-list may still refuse.
        server = self.start(path, sets={"storage.uds.allow_uids": '["12345"]'})
        self.assertNotEqual(run(*ask).returncode, 0)
        server.wait_metric("rejected_total", 1, reason="peer")


class Certificates(Directory):
    def setUp(self):
        super().setUp()
        self.certificate = ron.Certificate(self.home)
        self.cert, self.key = self.certificate.cert, self.certificate.key

    def start(self, **more):
        server = storage.Server(tls=self.certificate, **more)
        self.addCleanup(server.close)
        return server

    def s_client(self, server, *arguments):
        host, port = server.address
        return run("openssl", "s_client", "-connect", f"{host}:{port}", "-CAfile", str(self.cert),
                   *arguments, input=b"")

    def test_curl_stores_and_reads_over_tls(self):
        server = self.start()
        url = f"https://localhost:{server.address[1]}"
        address = ron.b3(BYTES)
        put = curl("--cacert", str(self.cert), "-H", ": ".join(server.auth), "-X", "PUT",
                   "--data-binary", "@-", f"{url}/o/{address}", input=BYTES)
        self.assertIn(address.encode(), put.stdout)
        for flags in (["--tlsv1.3"], ["--tlsv1.3", "-r", "100-199"]):
            got = curl("--cacert", str(self.cert), *flags, f"{url}/o/{address}")
            self.assertEqual(got.stdout, BYTES if len(flags) == 1 else BYTES[100:200])
        self.assertNotEqual(curl(f"{url}/healthz").returncode, 0)  # nobody vouches for it
        self.assertEqual(server.stop(), 0)

    def test_ron_stores_and_reads_over_tls(self):
        server = self.start()
        url = f"https://localhost:{server.address[1]}"
        check_client(self, server, url, "--ca", str(self.cert))
        refused = run(ron.BINARY, "get", ron.b3(BYTES), "-o", str(self.home / "x"), "--url", url)
        self.assertEqual(refused.returncode, 1)
        self.assertIn(b"certificate", refused.stderr)
        admin = f"https://127.0.0.1:{server.admin[1]}"
        topology = run(ron.BINARY, "topology", "--url", admin, "--ca", str(self.cert))
        self.assertIn(b"committer", topology.stdout)

    def test_only_tls_1_3_is_spoken_and_sessions_are_resumed(self):
        server = self.start()
        old = self.s_client(server, "-tls1_2")
        self.assertNotEqual(old.returncode, 0)
        session = self.home / "session"
        request = b"GET /healthz HTTP/1.1\r\nHost: ron\r\nConnection: close\r\n\r\n"
        host, port = server.address
        connect = ["openssl", "s_client", "-connect", f"{host}:{port}", "-CAfile", str(self.cert),
                   "-tls1_3", "-alpn", "http/1.1", "-ign_eof"]
        first = run(*connect, "-sess_out", str(session), input=request)
        self.assertIn(b"Verify return code: 0 (ok)", first.stdout)
        self.assertIn(b"ALPN protocol: http/1.1", first.stdout)
        self.assertIn(b'{"alive":true}', first.stdout)
        again = run(*connect, "-sess_in", str(session), input=request)
        self.assertIn(b"Reused, TLSv1.3", again.stdout)
        plain = curl(f"http://127.0.0.1:{port}/healthz")
        self.assertIn(b"this port speaks TLS: use https://", plain.stdout)
        self.assertGreaterEqual(server.metrics().value("rejected_total", reason="tls"), 2)

    def test_a_key_that_others_may_read_is_refused(self):
        self.key.chmod(0o644)
        sets = self.certificate.sets("storage")
        flags = [f"--set={key}={value}" for key, value in sets.items()]
        self.assertIn("chmod 600", refused_start(*flags))
        self.key.chmod(0o600)
        self.assertIn("tls.key_path", refused_start(flags[0]))

    def test_a_certificate_is_swapped_under_load_and_no_request_fails(self):
        server = self.start()
        url = f"https://localhost:{server.address[1]}/healthz"
        both, next_both = self.home / "both.pem", self.home / "next-both.pem"
        both.write_bytes(self.cert.read_bytes())
        failures, done, stop = [], [0], threading.Event()

        def ask():
            while not stop.is_set():
                asked = curl("--cacert", str(both), url, url)
                done[0] += 1
                if asked.returncode != 0:
                    failures.append(asked.stderr)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for number in range(3):
            self.certificate.renew(f"next-{number}")
            next_both.write_bytes(both.read_bytes() + self.cert.read_bytes())
            next_both.rename(both)  # clients read it all the while
            server.signal(signal.SIGHUP)
            ron.wait_until("the new certificate is shown", lambda: f"CN = next-{number}".encode() in
                           self.s_client(server).stdout)
            time.sleep(0.2)
        stop.set()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
        self.assertGreater(done[0], 10)


if __name__ == "__main__":
    unittest.main()
