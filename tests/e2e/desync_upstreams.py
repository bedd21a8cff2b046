"""Servers behind the proxy that say what they received: nginx, HAProxy, Node, Python's http.server,
and a recorder that keeps every byte.

Each is an `Upstream`: `address`, and `seen()`, what it took for requests. All of them answer 200
with the field X-Saw, the marker they found.
"""

import collections
import dataclasses
import http.client
import http.server
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading

import desync_parser as parser
import ron
from desync_table import MARK

HERE = pathlib.Path(__file__).resolve().parent
REQUIRED = ("nginx", "haproxy", "node")


@dataclasses.dataclass
class Seen:
    """A request as its recipient understood it. `path` is the target as it was normalised, if it
    was; `complete`: it came to its end; `error`: why it was not understood, or not to its end."""

    method: str
    target: str
    fields: list = dataclasses.field(default_factory=list)  # (name in lower case, value)
    body: bytes = b""
    path: str = ""
    complete: bool = True
    error: str = ""

    @property
    def mark(self):
        """Whose it is: by its path, else by the field that requests without one have."""
        said = [value for name, value in self.fields if name == "x-marker"]
        for text in (self.path or self.target, *said):
            found = MARK.search(text)
            if found:
                return found[0]
        return None


def saw(mark, upstream, to_head=False):
    """The answer, as bytes."""
    body = f"saw {mark}"
    return (f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\nX-Upstream: {upstream}\r\n"
            f"X-Saw: {mark}\r\n\r\n{'' if to_head else body}").encode()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def accepts(port):
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


class Recorder:
    """Keeps the bytes of every connection and answers what can be read in exactly one way; the rest
    it does not answer, and closes."""

    name = "recorder"

    def __init__(self):
        self.connections = []  # bytearrays
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = self.listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            received = bytearray()
            self.connections.append(received)
            threading.Thread(target=self._serve, args=(peer, received), daemon=True).start()

    def _serve(self, peer, received):
        unread = b""
        with peer:
            try:
                while piece := peer.recv(1 << 16):
                    received += piece
                    unread += piece
                    unread = self._answer(peer, unread)
            except (OSError, parser.Malformed):
                return

    def _answer(self, peer, unread):
        while unread:
            try:
                request, unread = parser.read_request(unread)
            except parser.Unfinished:
                break
            mark = Seen(request.method, request.target, request.fields).mark
            peer.sendall(saw(mark, self.name, request.method == "HEAD"))
        return unread

    def seen(self):
        """Of all connections; a rest is a request that broke off, or one that cannot be read."""
        found = []
        for raw in map(bytes, self.connections):
            while raw:
                try:
                    request, raw = parser.read_request(raw)
                except (parser.Unfinished, parser.Malformed) as error:
                    found.append(self._broken(raw, error))
                    break
                found.append(Seen(request.method, request.target, request.fields, request.body))
        return found

    @staticmethod
    def _broken(raw, error):
        """The rest of a connection, read as far as the first line goes."""
        words = raw.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        is_cut = isinstance(error, parser.Unfinished)
        return Seen(words[0], words[1] if len(words) > 1 else raw[:200].decode("latin-1"),
                    complete=False, error="" if is_cut else f"{error} in {raw[:400]!r}")

    def close(self):
        self.listener.close()


class PythonServer:
    """http.server, which reads a head; the body is read here, as naively as anyone would."""

    name = "python"

    def __init__(self):
        http.client._MAXHEADERS = 1000  # pylint: disable=protected-access
        self.log = collections.deque()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def __getattr__(self, attribute):
                if attribute.startswith("do_"):
                    return lambda: outer.answer(self)
                raise AttributeError(attribute)

            def log_message(self, *_):
                pass

            def send_error(self, code, message=None, explain=None):
                outer.log.append(Seen("", str(self.requestline), complete=False,
                                      error=f"{code} {message}"))
                super().send_error(code, message, explain)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request, client_address):
                pass  # a proxy that leaves in the middle is part of the test

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = self.server.server_address
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler):
        fields = [(name.lower(), value) for name, value in handler.headers.items()]
        seen = Seen(handler.command, handler.path, fields, complete=False)
        self.log.append(seen)
        seen.body, seen.complete = self._body(handler)
        if not seen.complete:
            handler.close_connection = True
            return
        handler.wfile.write(saw(seen.mark, self.name, handler.command == "HEAD"))

    @staticmethod
    def _body(handler):
        """(bytes, whether all came)"""
        if "chunked" in handler.headers.get("Transfer-Encoding", "").lower():
            body = b""
            while True:
                line = handler.rfile.readline()
                if not line.endswith(b"\n"):
                    return body, False
                size = int(line.split(b";")[0], 16)
                if size == 0:
                    return body, PythonServer._end(handler)
                piece = handler.rfile.read(size + 2)
                if len(piece) < size + 2:
                    return body, False
                body += piece[:-2]
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length)
        return body, len(body) == length

    @staticmethod
    def _end(handler):
        """Reads trailers; whether they end."""
        while (line := handler.rfile.readline()).strip():
            pass
        return line.endswith(b"\n")

    def seen(self):
        return list(self.log)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Program:
    """A server of another process, in a directory of its own."""

    def __init__(self):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="ron-e2e-desync-"))
        self.process = None

    def start(self, words, **more):
        self.process = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.DEVNULL, cwd=self.home,
            preexec_fn=ron.die_with_parent, **more)

    def listens(self, port):
        ron.wait_until(f"{type(self).__name__} on {port}", lambda: accepts(port), ron.START_S)
        return "127.0.0.1", port

    def close(self):
        if self.process:
            self.process.kill()
            self.process.wait()
            if self.process.stdout:
                self.process.stdout.close()
        shutil.rmtree(self.home, ignore_errors=True)


class Nginx(Program):
    """Reads a request to its end before it sends it on to `behind`, and logs how it read it."""

    name = "nginx"
    FIELDS = ("host", "content_length", "transfer_encoding", "connection", "keep_alive", "te",
              "trailer", "upgrade", "proxy_connection", "proxy_authorization", "expect",
              "x_smuggled", "x_forwarded_for", "x_forwarded_host", "x_forwarded_proto", "forwarded",
              "x_real_ip", "x_own", "x_one", "x_two", "cookie", "authorization", "user_agent",
              "referer", "http2_settings", "x_corr_id", "x_marker", "x_a")
    CONFIG = """
daemon off; worker_processes 1; pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{
  log_format seen escape=json '{{"method":"$request_method","target":"$request_uri",'
    '"path":"$uri","body":"$request_body","done":"$request_completion","status":$status,'
    '"line":"$request",{fields}}}';
  access_log {home}/access.log seen;
  keepalive_requests 1000000; keepalive_timeout 300s; client_body_buffer_size 1m;
  large_client_header_buffers 8 128k; merge_slashes off;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/f;
  uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  server {{
    listen 127.0.0.1:{port};
    add_header X-Upstream nginx always;
    location / {{ proxy_pass http://127.0.0.1:{behind}; proxy_http_version 1.1; }}
  }}
}}
"""

    def __init__(self, behind):
        super().__init__()
        port = free_port()
        fields = ",".join(f'"f_{name}":"$http_{name}"' for name in self.FIELDS)
        config = self.home / "nginx.conf"
        config.write_text(self.CONFIG.format(home=self.home, port=port, behind=behind.address[1],
                                             fields=fields))
        self.start(["nginx", "-e", self.home / "error.log", "-p", self.home, "-c", config],
                   stdout=subprocess.DEVNULL)
        self.address = self.listens(port)

    def seen(self):
        found = []
        for line in (self.home / "access.log").read_text("latin-1").splitlines():
            entry = json.loads(line)
            fields = [(name[2:].replace("_", "-"), value) for name, value in entry.items()
                      if name.startswith("f_") and value]
            done = entry["done"] == "OK"
            understood = bool(entry["target"])
            found.append(Seen(entry["method"], entry["target"] or entry["line"], fields,
                              entry["body"].encode("latin-1"), entry["path"], done,
                              "" if understood else f"nginx refused {entry['line']!r}"))
        return found


class HAProxy(Program):
    """The same, with every field that it read."""

    name = "haproxy"
    CONFIG = """
global
  log stdout len 65535 format raw daemon
  nbthread 1
  tune.bufsize 131072
defaults
  mode http
  log global
  timeout connect 10s
  timeout client 300s
  timeout server 300s
  timeout http-request 300s
  option http-buffer-request
frontend seen
  bind 127.0.0.1:{port}
  http-request set-var(txn.method) method,hex
  http-request set-var(txn.target) url,hex
  http-request set-var(txn.fields) req.hdrs,hex
  http-request set-var(txn.body) req.body,hex
  http-after-response set-header X-Upstream haproxy
  log-format "seen {seen} %{{+Q}}r"
  default_backend behind
backend behind
  server one 127.0.0.1:{behind}
"""
    SEEN = "%ts %[var(txn.method)] %[var(txn.target)] %[var(txn.fields)] %[var(txn.body)]"
    LINE = re.compile(r"seen (\S+) (\S+) (\S+) (\S+) (\S+) (.*)")

    def __init__(self, behind):
        super().__init__()
        port = free_port()
        config = self.home / "haproxy.cfg"
        config.write_text(self.CONFIG.format(port=port, behind=behind.address[1],
                                             seen=self.SEEN))
        with open(self.home / "log", "wb") as log:
            self.start(["haproxy", "-db", "-f", config], stdout=log, stderr=subprocess.STDOUT)
        self.address = self.listens(port)

    def seen(self):
        found = []
        for line in (self.home / "log").read_text("latin-1").splitlines():
            match = self.LINE.fullmatch(line)
            if match:
                found.append(self._entry(*match.groups()))
        return found

    @staticmethod
    def _entry(state, method, target, fields, body, line):
        def text(digits):
            return bytes.fromhex("" if digits == "-" else digits).decode("latin-1")

        if method == "-":  # it ended before it was whole, or was not understood
            words = line.strip('"').split(" ")
            is_cut = state[0] in "Cc" and "BADREQ" not in line
            return Seen(words[0], words[1] if len(words) > 1 else line, complete=False,
                        error="" if is_cut else f"HAProxy refused {line} ({state})")
        pairs = [each.split(": ", 1) for each in text(fields).split("\r\n") if each]
        return Seen(text(method), text(target), [(name.lower(), value) for name, value in pairs],
                    bytes.fromhex("" if body == "-" else body))


class Node(Program):
    """Two upstreams of one process: `strict` as Node comes, `lenient` with insecureHTTPParser."""

    def __init__(self):
        super().__init__()
        self.start(["node", HERE / "desync_node.js"], stdout=subprocess.PIPE,
                   env={**os.environ, "NO_COLOR": "1"})
        ports = json.loads(self.process.stdout.readline())
        self.log = collections.deque()
        threading.Thread(target=self._read, daemon=True).start()
        self.strict = NodeServer("node", ports["node"], self.log)
        self.lenient = NodeServer("lenient", ports["lenient"], self.log)

    def _read(self):
        for line in self.process.stdout:
            self.log.append(json.loads(line))


class NodeServer:
    def __init__(self, name, port, log):
        self.name, self.address, self.log = name, ("127.0.0.1", port), log

    def seen(self):
        return [self._entry(line) for line in list(self.log) if line["server"] == self.name]

    @staticmethod
    def _entry(line):
        if "error" in line:
            return Seen("", line["raw"], complete=False, error=f"Node refused: {line['error']}")
        flat = line["fields"] + line["trailers"]
        return Seen(line["method"], line["target"],
                    [(name.lower(), value) for name, value in zip(flat[::2], flat[1::2])],
                    bytes.fromhex(line["body"]), complete=line["complete"])


class Upstreams:
    """All of them, by their prefix, and what stands behind the two that are proxies themselves."""

    def __init__(self, *prefixes):
        self.closing = []
        try:
            self._start(prefixes)
        except BaseException:
            self.close()
            raise

    def _keep(self, thing):
        self.closing.append(thing)
        return thing

    def _start(self, prefixes):
        makers = {"rw": lambda: self._keep(Recorder()), "py": lambda: self._keep(PythonServer())}
        self.by_prefix = {}
        self.behind = {}
        if {"no", "nl"} & set(prefixes or ("no",)):
            node = self._keep(Node())
            makers.update(no=lambda: node.strict, nl=lambda: node.lenient)
        for prefix, program in (("ng", Nginx), ("ha", HAProxy)):
            makers[prefix] = lambda prefix=prefix, program=program: self._in_front(prefix, program)
        for prefix in prefixes or makers:
            self.by_prefix[prefix] = makers[prefix]()

    def _in_front(self, prefix, program):
        self.behind[prefix] = self._keep(PythonServer())
        return self._keep(program(self.behind[prefix]))

    def close(self):
        for thing in reversed(self.closing):
            thing.close()
