"""What end-to-end tests of svc-registry have besides the harness (`ron.py`): signers, the way from
a proposal to a version, event streams, and a check of the whole log that shares no code with it."""

import base64
import ctypes
import ctypes.util
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest

import cbor
import ron

ED25519 = 1087  # its number in OpenSSL
ZERO = bytes(32)
TEXT = re.compile(r"ron-registry/approval/v1\nlog b3:[0-9a-f]{64}\nproposal [0-9A-Z]{26}\n"
                  r"payload b3:[0-9a-f]{64}\nexpires \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n")
# No limit of rates and connections gets in the way. A suite that is about one sets it.
QUIET = {"registry.server.max_rps": 1000000, "registry.max_conns_per_ip": 1024}

_crypto = ctypes.CDLL(ctypes.util.find_library("crypto") or "libcrypto.so.3")
for _name in ("EVP_PKEY_new_raw_private_key", "EVP_PKEY_new_raw_public_key", "EVP_MD_CTX_new"):
    getattr(_crypto, _name).restype = ctypes.c_void_p


def _with_context(act):
    context = ctypes.c_void_p(_crypto.EVP_MD_CTX_new())
    try:
        return act(context)
    finally:
        _crypto.EVP_MD_CTX_free(context)


class Signer:
    """An Ed25519 key, from its seed of 32 bytes. Any thread."""

    def __init__(self, seed=None, name="signer"):
        self.name = name
        self._key = ctypes.c_void_p(_crypto.EVP_PKEY_new_raw_private_key(
            ED25519, None, seed or os.urandom(32), ctypes.c_size_t(32)))
        public = ctypes.create_string_buffer(32)
        size = ctypes.c_size_t(32)
        _crypto.EVP_PKEY_get_raw_public_key(self._key, public, ctypes.byref(size))
        self.public = public.raw
        self.id = ron.b3(self.public).removeprefix("b3:")[:16]

    @classmethod
    def load(cls, path):
        """From a PKCS#8 PEM file: the seed is what its DER ends with."""
        lines = pathlib.Path(path).read_text().splitlines()
        return cls(base64.b64decode("".join(lines[1:-1]))[-32:], pathlib.Path(path).stem)

    def sign(self, text):
        signature, size = ctypes.create_string_buffer(64), ctypes.c_size_t(64)

        def act(context):
            assert _crypto.EVP_DigestSignInit(context, None, None, None, self._key) == 1
            assert _crypto.EVP_DigestSign(context, signature, ctypes.byref(size), text,
                                          ctypes.c_size_t(len(text))) == 1
            return signature.raw

        return _with_context(act)

    def approval(self, text):
        """The body of an approval of that text."""
        return {"signer": self.id, "signature": base64.b64encode(self.sign(text.encode())).decode()}

    def described(self, **more):
        """As a change of signers has it."""
        return {"name": self.name, "public_key": base64.b64encode(self.public).decode(), **more}


def verifies(public, text, signature):
    key = ctypes.c_void_p(_crypto.EVP_PKEY_new_raw_public_key(ED25519, None, public,
                                                              ctypes.c_size_t(32)))

    def act(context):
        _crypto.EVP_DigestVerifyInit(context, None, None, None, key)
        return _crypto.EVP_DigestVerify(context, signature, ctypes.c_size_t(64), text,
                                        ctypes.c_size_t(len(text))) == 1

    try:
        return _with_context(act)
    finally:
        _crypto.EVP_PKEY_free(key)


def b3_all(pieces):
    """The addresses of many pieces, with one run of the reference tool."""
    with tempfile.TemporaryDirectory(prefix="ron-e2e-b3-") as home:
        for number, piece in enumerate(pieces):
            (pathlib.Path(home) / f"{number:09}").write_bytes(piece)
        done = subprocess.run("ls | xargs -r b3sum --no-names", shell=True, cwd=home,
                              capture_output=True, check=True)
    return ["b3:" + line for line in done.stdout.decode().split()]


def region(name, **fields):
    """The usual change: a region of that name."""
    return {"kind": "update", "set": [{"type": "region", "id": name, **fields}]}


class Stream:
    """A client of `GET /registry/stream`."""

    def __init__(self, address, after=None, receive_buffer=None, timeout=ron.REPLY_S, headers=()):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        headers = [("Accept", "text/event-stream"), *headers]
        if after is not None:
            headers.append(("Last-Event-ID", str(after)))
        self.socket.sendall(ron.request("GET", "/registry/stream", headers))
        self._raw, self._text, self.ended = b"", b"", False
        while b"\r\n\r\n" not in self._raw:
            piece = self.socket.recv(4096)
            if not piece:
                raise ron.Closed()
            self._raw += piece
        self.head, self._raw = self._raw.split(b"\r\n\r\n", 1)
        self.status = int(self.head.split(b" ", 2)[1])
        self.chunked = b"transfer-encoding: chunked" in self.head.lower()
        self._sort()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def body(self):
        """What a refusal says."""
        length = int(re.search(rb"Content-Length: (\d+)", self.head)[1])
        while len(self._raw) < length:
            self._raw += self.socket.recv(4096)
        return json.loads(self._raw[:length])

    def _unchunk(self):
        while True:
            line, mark, rest = self._raw.partition(b"\r\n")
            if not mark:
                return
            size = int(line, 16)
            if len(rest) < size + 2:
                return
            assert rest[size:size + 2] == b"\r\n", rest[:size + 2]
            if size == 0:
                self.ended = True
                return
            self._text += rest[:size]
            self._raw = rest[size + 2:]

    def _more(self):
        piece = self.socket.recv(1 << 16)
        if not piece:
            self.ended = True
        self._raw += piece
        self._sort()

    def _sort(self):
        if self.chunked:
            self._unchunk()

    def block(self):
        """The next block of lines; None at the end of the stream."""
        while b"\n\n" not in self._text:
            if self.ended:
                return None
            self._more()
        block, self._text = self._text.split(b"\n\n", 1)
        return block.decode()

    def event(self):
        """(id, name, data) of the next event, comments left out; None at the end."""
        while True:
            block = self.block()
            if block is None:
                return None
            fields = [line.split(": ", 1) for line in block.splitlines()
                      if not line.startswith(":")]
            if fields:
                found = dict(fields)
                return int(found["id"]), found["event"], json.loads(found["data"])

    def until(self, version):
        """Events up to the one whose id is this version."""
        events = [self.event()]
        while events[-1] and events[-1][0] < version:
            events.append(self.event())
        return events


class Server(ron.Process):
    """One `ron registry` process, or `ron up`: in memory, or on disk in the directory `data`, which
    outlives it and has the keys of the signers."""

    def __init__(self, data=None, command="registry", sets=None, **more):
        where = ["--data", data] if data else ["--amnesia"]
        front = "svc-gateway" if command == "up" else "svc-registry"
        config = more.get("config")
        super().__init__([command, *where], [front],
                         sets=dict(sets or {}) if config else {**QUIET, **(sets or {})}, **more)
        keys = pathlib.Path(data) / "keys" / "signers" if data else None
        self.signers = [Signer.load(path) for path in sorted(keys.glob("*.pem"))] if data else []

    # Asking.

    def ask(self, method, path, body=None, headers=(), auth=None, connection=None):
        """`body` is bytes, or becomes JSON. With the operator's token unless `auth` says other
        fields, or () for none."""
        auth = (self.auth,) if auth is None else auth
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        if method == "POST" and body is None:
            body = b""
        if connection is not None:
            return connection.ask(method, path, [*auth, *headers], body)
        with self.connect() as own:
            return own.ask(method, path, [*auth, *headers], body)

    def scoped(self, *scopes):
        """The field of a caller who may do only this."""
        return "Authorization", "Bearer " + ron.attenuate(self.token, "scope = " + ",".join(scopes))

    def propose(self, change, connection=None, **more):
        response = self.ask("POST", "/registry/proposals", {"change": change, **more},
                            connection=connection)
        assert response.status == 202, (response.status, response.body)
        return response.json()

    def approve(self, proposal, signer, connection=None):
        return self.ask("POST", "/registry/approvals/" + proposal["proposal"],
                        signer.approval(proposal["sign"]), connection=connection)

    def commit(self, proposal, connection=None):
        return self.ask("POST", "/registry/commit/" + proposal["proposal"], connection=connection)

    def ready(self, change, signers=None, connection=None, **more):
        """A proposal with all the approvals that it needs."""
        proposal = self.propose(change, connection=connection, **more)
        for signer in signers or self.signers[:2]:
            response = self.approve(proposal, signer, connection)
            assert response.status == 200, (response.status, response.body)
        return proposal

    def agree(self, change, signers=None, connection=None, **more):
        """All the way: the new HEAD."""
        proposal = self.ready(change, signers, connection, **more)
        response = self.commit(proposal, connection)
        assert response.status == 201, (response.status, response.body)
        return response.json()

    def fill(self, count, name="r"):
        """So many versions more; HEAD."""
        with self.connect() as connection:
            for number in range(count):
                head = self.agree(region(f"{name}{number}"), connection=connection)
        return head

    def fill_at_once(self, count, threads=8):
        """So many versions more, by several clients."""
        def work(index):
            with self.connect() as connection:
                for number in range(count // threads):
                    self.agree(region(f"t{index}-{number % 50}"), connection=connection)
            return False

        errors = ron.Load(threads, work).join(10 * ron.REPLY_S)
        assert not errors, errors

    def head(self):
        return self.ask("GET", "/registry/head", auth=()).json()

    def get(self, path):
        response = self.ask("GET", path)
        assert response.status == 200, (path, response.status, response.body)
        return response.json()

    def stream(self, after=None, **more):
        return Stream(str(self.uds) if self.uds else self.address, after, **more)

    def checkpoint(self):
        """Has one signed that covers HEAD."""
        with self.connect_admin() as connection:
            response = connection.ask("POST", "/admin/registry/checkpoint", [self.auth], b"")
            assert response.status == 200, (response.status, response.body)
            return response.json()

    def readyz(self):
        with self.connect() as connection:
            return connection.ask("GET", "/readyz")

    # The whole log, looked at from outside.

    def entries(self, first=None):
        """Every version that is kept, as `GET /registry/log` has it, page by page."""
        found = []
        with self.connect() as connection:
            path = "/registry/log?limit=1000" + ("" if first is None else f"&from={first}")
            while True:
                response = self.ask("GET", path, connection=connection)
                assert response.status == 200, (response.status, response.body)
                page = response.json()
                found += page["entries"]
                if page["next"] is None:
                    assert found[-1]["version"] == page["head"]["version"], page["head"]
                    assert found[-1]["hash"] == page["head"]["hash"], page["head"]
                    return found
                path = f"/registry/log?limit=1000&from={page['next']}"

    def check_log(self):
        """Chain, encoding, signatures and quorum of every version; returns {proposal: version}. Of
        a pruned log only the chain of what is left."""
        entries = self.entries()
        raws = [base64.b64decode(entry["entry"]) for entry in entries]
        items = [cbor.decode(raw) for raw in raws]
        hashes = b3_all(raws)
        payloads = b3_all([item["payload"] for item in items])
        seen, prev = {}, ZERO
        quorum = Quorum(hashes[0]) if items[0]["version"] == 0 else None
        for entry, raw, item, said, payload in zip(entries, raws, items, hashes, payloads):
            version = items[0]["version"] + len(seen)
            assert item["version"] == entry["version"] == version, f"a gap before {version}"
            assert cbor.encode(item) == raw, f"version {version} is not canonical"
            assert said == entry["hash"], f"version {version} has another hash"
            assert prev == item["prev"] or not (seen or quorum), f"{version} does not follow"
            assert item["proposal"] not in seen, f"{item['proposal']} was committed twice"
            seen[item["proposal"]] = version
            if quorum:
                quorum.check(item, payload)
            prev = bytes.fromhex(said.removeprefix("b3:"))
        return seen


class Quorum:
    """Who may decide, version by version. Superseded changes of signers are beyond it."""

    def __init__(self, log):
        self.log = log
        self.keys, self.threshold = {}, 0

    def check(self, item, payload):
        change = cbor.decode(item["payload"])["change"]
        if item["version"]:
            expires = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(item["expires"] // 1000))
            text = (f"ron-registry/approval/v1\nlog {self.log}\nproposal {item['proposal']}\n"
                    f"payload {payload}\nexpires {expires}\n").encode()
            good = [each["signer"] for each in item["approvals"] if each["signer"] in self.keys
                    and verifies(self.keys[each["signer"]], text, each["sig"])]
            assert good == sorted(set(good)), f"approvals of version {item['version']}"
            assert len(good) >= self.threshold, f"no quorum at version {item['version']}"
        if change["kind"] in ("genesis", "signers"):
            keys = [base64.b64decode(each["public_key"]) for each in change["signers"]]
            self.keys = {each.removeprefix("b3:")[:16]: key
                         for each, key in zip(b3_all(keys), keys)}
            self.threshold = change["threshold"]
        if change["kind"] == "revoke":
            for each in change["signers"]:
                del self.keys[each]


class Case(unittest.TestCase):
    """A directory of its own for each test, and servers on it, one after the other."""

    def setUp(self):
        self.data = tempfile.mkdtemp(prefix="ron-e2e-data-")
        self.addCleanup(shutil.rmtree, self.data, ignore_errors=True)

    def start(self, sets=None, **more):
        server = Server(self.data, sets={f"registry.{key}": value
                                         for key, value in dict(sets or {}).items()}, **more)
        self.addCleanup(server.close)
        return server

    def restart(self, server, **more):
        self.assertEqual(server.stop(), 0)
        server.close()
        return self.start(**more)

    def refused(self, response, status, code):
        """Checks the envelope and returns its details."""
        self.assertEqual((response.status, response.code), (status, code), response.body)
        error = response.json()["error"]
        self.assertEqual(set(error) - {"retry_after"}, {"code", "message", "corr_id", "details"})
        self.assertRegex(error["corr_id"], ron.ULID)
        return error["details"]

    def moves(self, server, name, by, act, **labels):
        """Runs `act` and waits until the metric has moved by exactly that much."""
        before = server.metrics().value(name, **labels)
        result = act()
        server.wait_metric(name, before + by, **labels)
        return result
