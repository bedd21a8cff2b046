"""The Go team's transparency log code (golang.org/x/mod/sumdb: note and tlog, Debian's
golang-golang-x-mod-dev) as a client of the registry: it verifies our checkpoints, tiles, inclusion
and consistency, and refuses what is not right."""

import base64
import hashlib
import http.server
import os
import pathlib
import shutil
import subprocess
import tempfile
import threading
import unittest
import urllib.error
import urllib.request

import registry_openssl as registry
import ron

SOURCE = pathlib.Path(__file__).resolve().parents[1] / "interop/registry/tlog/main.go"
VERSIONS = 300  # more than a tile


class Tampering(http.server.ThreadingHTTPServer):
    """Stands before a registry; `change(path, body)` gives what clients see instead."""

    def __init__(self, upstream):
        self.upstream = upstream
        self.change = lambda path, body: body
        super().__init__(("127.0.0.1", 0), Relay)
        self.url = f"http://127.0.0.1:{self.server_port}/registry/tlog"
        threading.Thread(target=self.serve_forever, daemon=True).start()


class Relay(http.server.BaseHTTPRequestHandler):
    def do_GET(self):  # noqa: N802: the base class names it
        try:
            with urllib.request.urlopen(self.server.upstream + self.path, timeout=ron.REPLY_S) as got:
                status, body = got.status, self.server.change(self.path, got.read())
        except urllib.error.HTTPError as error:
            status, body = error.code, error.read()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class Tlog(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-tlog-"))
        cls.addClassCleanup(shutil.rmtree, cls.home)
        cls.program = cls.build()
        cls.server = registry.Server(cls.home / "data", sets={
            "registry.storage.checkpoint_interval": "30d"})
        cls.addClassCleanup(cls.server.close)
        signers = cls.server.one_is_enough()
        cls.notes = {2: cls.server.checkpoint()}
        for version in range(2, VERSIONS):
            change = {"kind": "update", "set": [{"type": "region", "id": f"r{version % 7}"}]}
            cls.server.change(change, signers)
            if version in (6, 255, 256, VERSIONS - 1):
                cls.notes[version + 1] = cls.server.checkpoint()
        cls.vkey = cls.server.vkey()
        host, port = cls.server.address
        cls.relay = Tampering(f"http://{host}:{port}")
        cls.addClassCleanup(cls.relay.server_close)
        cls.addClassCleanup(cls.relay.shutdown)

    @classmethod
    def build(cls):
        """Without modules, so that nothing is downloaded."""
        folder = cls.home / "go/src/tlog"
        folder.mkdir(parents=True)
        shutil.copy(SOURCE, folder)
        program = cls.home / "tlog"
        subprocess.run(["go", "build", "-o", str(program), "."], cwd=folder, check=True,
                       timeout=180 * ron.SLOW, env={
                           **os.environ, "GO111MODULE": "off", "GOFLAGS": "",
                           "GOCACHE": str(cls.home / "cache"),
                           "GOPATH": f"{cls.home / 'go'}:/usr/share/gocode"})
        return program

    def client(self, vkey=None, note=None, change=None):
        """What the Go program says: (exit status, output)."""
        self.relay.change = change or (lambda path, body: body)
        old = self.home / "old.note"
        old.write_text(note or self.notes[7])
        done = subprocess.run([self.program, self.relay.url, vkey or self.vkey, old],
                              capture_output=True, text=True, timeout=ron.START_S * 3, check=False)
        return done.returncode, done.stdout + done.stderr

    def refused(self, reason, **more):
        status, said = self.client(**more)
        self.assertEqual(status, 1, said)
        self.assertRegex(said, reason)

    def test_every_version_and_every_older_checkpoint_are_proven(self):
        for size, note in self.notes.items():
            self.assertEqual(self.client(note=note),
                             (0, f"ok: {VERSIONS} versions, consistent with {size}\n"))

    def test_a_checkpoint_of_another_key_is_refused(self):
        name = self.vkey.split("+")[0]
        key = b"\x01" + registry.Signer.make(self.home, "another").public
        key_id = hashlib.sha256(name.encode() + b"\n" + key).hexdigest()[:8]
        self.refused("no verifiable signatures",
                     vkey=f"{name}+{key_id}+{base64.b64encode(key).decode()}")

    def test_an_edited_checkpoint_is_refused(self):
        self.refused("invalid signature", change=lambda path, body: (
            body.replace(b"pruned-below 0", b"pruned-below 1") if path.endswith("checkpoint")
            else body))

    def test_a_changed_hash_in_a_tile_is_refused(self):
        for tile in ("/tile/0/000", "/tile/0/001.p/", "/tile/1/000.p/1"):
            def flip(path, body, tile=tile):
                return body[:5] + bytes([body[5] ^ 4]) + body[6:] if tile in path else body
            self.refused("inconsistent tile|invalid", change=flip)

    def test_a_changed_entry_is_refused(self):
        # Not the letters alone: keys and hashes of other versions may have them by chance.
        region = b"\x62id\x62r2"
        self.refused("version 2", change=lambda path, body: (
            body.replace(region, b"\x62id\x62r3", 1) if "/entries/000" in path else body))

    def test_a_rolled_back_or_rewritten_log_is_refused(self):
        older = self.notes[7].encode()
        self.refused("rolled back", note=self.notes[257], change=lambda path, body: (
            older if path.endswith("checkpoint") else body))
        other = registry.Server(self.home / "other")
        with other:
            self.refused("the old checkpoint", note=other.checkpoint())


if __name__ == "__main__":
    unittest.main()
