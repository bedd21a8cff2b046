"""Keys and tokens end to end: the `ron` commands, the npm client `macaroon` and a running server.

Run by ctest; by hand: tokens_test.py --ron build/release/ron --client tests/interop/macaroon --work /tmp/w
"""
import argparse
import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

OPTIONS = None
PATIENCE_S = 20


def install_client():
    """Copies the npm client's folder and installs its one dependency there, once."""
    os.makedirs(OPTIONS.work, exist_ok=True)
    for name in ("package.json", "package-lock.json", "check.mjs"):
        shutil.copy(os.path.join(OPTIONS.client, name), OPTIONS.work)
    if not os.path.isdir(os.path.join(OPTIONS.work, "node_modules", "macaroon")):
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"],
                       cwd=OPTIONS.work, check=True)


def node(*arguments):
    """One command of the client: (exit status, output)."""
    done = subprocess.run(["node", os.path.join(OPTIONS.work, "check.mjs"), *arguments],
                          capture_output=True, text=True, timeout=PATIENCE_S)
    return done.returncode, (done.stdout or done.stderr).strip()


class Server:
    """`ron storage` in memory, with its keys and settings in a directory of the test."""

    def __init__(self, keys, config):
        self.process = subprocess.Popen(
            [OPTIONS.ron, "storage", "--amnesia", "--bind", "127.0.0.1:0", "--admin",
             "127.0.0.1:0", "--cores", "1", "--config", config, "--set", f"auth.keys_dir={keys}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        line = self.process.stdout.readline()
        self.port = int(line.rsplit(":", 1)[1])

    def ask(self, method, path, token, body=None):
        """(status, error code or None)."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        headers = {"Authorization": "Bearer " + token} if token else {}
        connection.request(method, path, body=body, headers=headers)
        response = connection.getresponse()
        text = response.read()
        connection.close()
        code = json.loads(text)["error"]["code"] if response.status >= 400 else None
        return response.status, code

    def put(self, token, body=b"some bytes"):
        return self.ask("POST", "/o", token, body)

    def reload_until(self, accepted):
        """Reloads; returns once the new state shows, fails if it never does."""
        self.process.send_signal(signal.SIGHUP)
        end = time.monotonic() + PATIENCE_S
        while not accepted():
            if time.monotonic() > end:
                raise AssertionError("the reload did not take effect")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.close()
        return self.process.wait(timeout=PATIENCE_S)


class Tokens(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="ron-tokens-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.keys = os.path.join(self.folder, "keys")
        self.config = os.path.join(self.folder, "ron.toml")
        self.configure([])
        self.ron("key", "gen", "--keys", self.keys)

    # Commands.

    def ron(self, *arguments, given=None, expect=0):
        done = subprocess.run([OPTIONS.ron, *arguments], input=given, capture_output=True,
                              text=True, timeout=PATIENCE_S)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stdout.strip()

    def mint(self, *caveats):
        return self.ron("token", "mint", "--keys", self.keys, *caveats)

    def inspect(self, token, *more, expect=0):
        return self.ron("token", "inspect", *more, "-", given=token + "\n", expect=expect)

    def fingerprint(self, token):
        return self.inspect(token).split("fingerprint: ")[1].split("\n")[0]

    def configure(self, denied):
        with open(self.config, "w", encoding="utf-8") as file:
            file.write("[auth]\ndeny = " + json.dumps(denied) + "\n")

    def key_files(self):
        """[(path, id, secret in base64url)], the newest first."""
        found = []
        for name in os.listdir(self.keys):
            path = os.path.join(self.keys, name)
            with open(path, encoding="utf-8") as file:
                fields = file.read().split()
            found.append((fields[3], path, fields[1], fields[2]))
        return [each[1:] for each in sorted(found, reverse=True)]

    def start(self):
        server = Server(self.keys, self.config)
        self.addCleanup(lambda: self.assertEqual(server.stop(), 0))
        return server

    # Both directions with the client.

    def test_the_client_verifies_what_the_command_minted(self):
        token = self.mint("--scope", "storage:write", "--tenant", "acme", "--max-bytes", "64KiB")
        _, key_id, secret = self.key_files()[0]
        status, shown = node("show", secret, token)
        self.assertEqual(status, 0, shown)
        lines = shown.split("\n")
        self.assertEqual(lines[0], "ron")
        self.assertRegex(lines[1], f"^v2:{key_id}:[0-9a-f]{{32}}:tenant=acme$")
        self.assertEqual(lines[2:], ["scope = storage:write", "tenant = acme", "max_bytes = 65536"])

    def test_the_server_takes_a_token_the_client_narrowed(self):
        token = self.mint("--scope", "storage:write,storage:delete")
        _, _, secret = self.key_files()[0]
        status, narrower = node("attenuate", secret, token, "method = POST", "max_bytes = 5")
        self.assertEqual(status, 0, narrower)
        shown = self.inspect(narrower, "--keys", self.keys)
        self.assertIn("caveat: method = POST\ncaveat: max_bytes = 5\n", shown)
        self.assertTrue(shown.endswith("signature: good"))
        server = self.start()
        address = "/o/b3:" + "0" * 64
        self.assertEqual(server.put(narrower, b"12345"), (201, None))
        self.assertEqual(server.put(narrower, b"123456"), (403, "Forbidden"))
        self.assertEqual(server.ask("DELETE", address, narrower), (403, "Forbidden"))
        self.assertEqual(server.ask("DELETE", address, token), (404, "NotFound"))

    def test_a_tenant_the_client_adds_is_refused_unless_the_token_is_for_any(self):
        _, _, secret = self.key_files()[0]
        server = self.start()
        for flags, answer in (((), (403, "Forbidden")), (("--tenant", "other"), (403, "Forbidden")),
                              (("--tenant", "acme"), (201, None)), (("--any-tenant",), (200, None))):
            token = self.mint("--scope", "storage:write", *flags)
            status, named = node("attenuate", secret, token, "tenant = acme")
            self.assertEqual(status, 0, named)
            self.assertEqual(server.put(named), answer, flags)

    def test_the_server_takes_a_token_the_client_minted(self):
        _, key_id, secret = self.key_files()[0]
        identifier = f"v2:{key_id}:{'ab' * 16}:none"
        status, token = node("mint", secret, identifier, "ron", "scope = storage:write")
        self.assertEqual(status, 0, token)
        self.assertIn("token: " + "ab" * 16, self.inspect(token))
        server = self.start()
        self.assertEqual(server.put(token), (201, None))
        status, foreign = node("mint", "A" * 43, identifier, "ron", "scope = storage:write")
        self.assertEqual(status, 0, foreign)
        self.assertEqual(server.put(foreign), (401, "Unauthorized"))

    def test_what_is_expired_or_not_understood_is_refused(self):
        token = self.mint("--scope", "storage:write")
        _, key_id, secret = self.key_files()[0]
        _, expired = node("attenuate", secret, token, "expires = 2020-01-01T00:00:00Z")
        _, strange = node("attenuate", secret, token, "moon = full")
        _, third = node("third-party", secret, f"v1:{key_id}:{'cd' * 16}", "ron")
        self.assertIn("expires: expired ", self.inspect(expired))
        self.assertIn("caveat: moon = full (not understood: refused)", self.inspect(strange))
        self.inspect(third, expect=1)
        server = self.start()
        self.assertEqual(server.put(token), (201, None))
        self.assertEqual(server.put(expired), (401, "Unauthorized"))
        self.assertEqual(server.put(strange), (403, "Forbidden"))
        self.assertEqual(server.put(third), (401, "Unauthorized"))
        self.assertEqual(server.put(None), (401, "Unauthorized"))

    def test_the_command_narrows_what_the_client_can_read(self):
        token = self.mint("--scope", "storage:write")
        narrower = self.ron("token", "attenuate", "--token", "-", "--method", "POST", "--expires",
                            "1h", given=token)
        _, _, secret = self.key_files()[0]
        status, shown = node("show", secret, narrower)
        self.assertEqual(status, 0, shown)
        self.assertIn("scope = storage:write\nmethod = POST\nexpires = ", shown)
        self.assertEqual(self.start().put(narrower), (201, None))

    # Rotation and revocation while the server runs.

    def test_rotation_overlaps(self):
        server = self.start()
        before = self.mint("--scope", "storage:write")
        self.ron("key", "gen", "--keys", self.keys, "--retire-older", "24h")
        after = self.mint("--scope", "storage:write")
        (_, new_id, _), (old_path, old_id, _) = self.key_files()
        self.assertIn(f"key: {new_id}\n", self.inspect(after))
        self.assertEqual(server.put(after), (401, "Unauthorized"), "not before the reload")
        server.reload_until(lambda: server.put(after)[0] == 200 or server.put(after)[0] == 201)
        self.assertIn(server.put(before)[0], (200, 201), "the overlap")
        shown = self.ron("key", "show", self.keys).split("\n")
        self.assertTrue(shown[0].startswith(f"key {new_id} ") and shown[0].endswith("  active"))
        self.assertTrue(shown[1].startswith(f"key {old_id} ") and shown[1].endswith("  verifies"))
        os.remove(old_path)
        server.reload_until(lambda: server.put(before) == (401, "Unauthorized"))
        self.assertIn(server.put(after)[0], (200, 201))

    def test_a_denied_fingerprint_takes_its_descendants_along(self):
        server = self.start()
        leaked = self.mint("--scope", "storage:write")
        narrower = self.ron("token", "attenuate", "--token", "-", "--method", "POST", given=leaked)
        other = self.mint("--scope", "storage:write")
        for token in (leaked, narrower, other):
            self.assertIn(server.put(token)[0], (200, 201))
        self.configure(["fingerprint:" + self.fingerprint(leaked)])
        server.reload_until(lambda: server.put(leaked) == (403, "RevokedKey"))
        self.assertEqual(server.put(narrower), (403, "RevokedKey"))
        self.assertIn(server.put(other)[0], (200, 201))
        self.configure(["key:" + self.key_files()[0][1]])
        server.reload_until(lambda: server.put(other) == (403, "RevokedKey"))
        self.configure([])
        server.reload_until(lambda: server.put(leaked)[0] == 200)

    def test_a_bad_reload_changes_nothing(self):
        server = self.start()
        token = self.mint("--scope", "storage:write")
        denied = self.mint("--scope", "storage:write")
        self.configure(["nonsense"])
        server.process.send_signal(signal.SIGHUP)
        self.configure(["fingerprint:" + self.fingerprint(denied)])
        server.reload_until(lambda: server.put(denied) == (403, "RevokedKey"))
        self.assertIn(server.put(token)[0], (200, 201))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ron", required=True)
    parser.add_argument("--client", required=True)
    parser.add_argument("--work", required=True)
    OPTIONS, rest = parser.parse_known_args()
    install_client()
    unittest.main(argv=[sys.argv[0], *rest])
