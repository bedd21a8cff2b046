"""What end-to-end tests of svc-registry have besides the harness (`ron.py`): signers, the way from
a proposal to a version, event streams, and a check of the whole log that shares no code with it."""

import base64
import json
import pathlib
import re
import socket
import subprocess
import tempfile
import time

import cbor
import ron
import service_case
import signing

ZERO = bytes(32)
TEXT = re.compile(r"ron-registry/approval/v1\nlog b3:[0-9a-f]{64}\nproposal [0-9A-Z]{26}\n"
                  r"payload b3:[0-9a-f]{64}\nexpires \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n")
# No limit of rates and connections gets in the way. A suite that is about one sets it.
QUIET = {"registry.server.max_rps": 1000000, "registry.max_conns_per_ip": 1024}


class Signer(signing.Key):
    """One who approves. Any thread."""

    def __init__(self, seed=None, name="signer"):
        super().__init__(seed)
        self.name = name
        self.id = ron.b3(self.public).removeprefix("b3:")[:16]

    @classmethod
    def load(cls, path):
        """From a PKCS#8 PEM file."""
        return cls(signing.seed_of(path), pathlib.Path(path).stem)

    def approval(self, text):
        """The body of an approval of that text."""
        return {"signer": self.id, "signature": base64.b64encode(self.sign(text.encode())).decode()}

    def described(self, **more):
        """As a change of signers has it."""
        return {"name": self.name, "public_key": self.text, **more}


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

    def __init__(self, address, after=None, receive_buffer=None, timeout=ron.REPLY_S, headers=(),
                 source=None):
        self.socket = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        if source:
            self.socket.bind((source, 0))
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


class Server(service_case.Server):
    """One `ron registry` process, or `ron up`: in memory, or on disk in the directory `data`, which
    outlives it and has the keys of the signers."""

    def __init__(self, data=None, command="registry", sets=None, **more):
        config = more.get("config")
        super().__init__("registry", data, command,
                         sets=dict(sets or {}) if config else {**QUIET, **(sets or {})}, **more)
        keys = pathlib.Path(data) / "keys" / "signers" if data else None
        self.signers = [Signer.load(path) for path in sorted(keys.glob("*.pem"))] if data else []

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

    def pending(self):
        """All that is proposed, page by page."""
        found, path = [], "/registry/proposals?limit=500"
        while path:
            page = self.get(path)
            found += page["proposals"]
            path = page["next"] and "/registry/proposals?limit=500&after=" + page["next"]
        return found

    def head(self):
        return self.ask("GET", "/registry/head", auth=()).json()

    def stream(self, after=None, **more):
        return Stream(str(self.uds) if self.uds else self.address, after, **more)

    def checkpoint(self):
        """Has one signed that covers HEAD."""
        with self.connect_admin() as connection:
            response = connection.ask("POST", "/admin/registry/checkpoint", [self.auth], b"")
            assert response.status == 200, (response.status, response.body)
            return response.json()

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
                    and signing.verifies(self.keys[each["signer"]], text, each["sig"])]
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


class Case(service_case.Case):
    """A directory of its own for each test, and registries on it, one after the other."""

    service = "registry"
    server_type = Server
