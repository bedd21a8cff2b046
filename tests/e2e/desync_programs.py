"""nginx, HAProxy and Node, each in a process of its own, and what they say they received.

The first two are proxies themselves: they read a request to its end before they send it on to the
server `behind` them, and log how they read it.
"""

import collections
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import threading

import ron
from desync_seen import Seen

HERE = pathlib.Path(__file__).resolve().parent


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
    """Logs the fields of FIELDS, and the target both as it came and as it was normalised."""

    name = "nginx"
    FIELDS = ("host", "content_length", "transfer_encoding", "connection", "keep_alive", "te",
              "trailer", "upgrade", "proxy_connection", "proxy_authorization", "expect",
              "x_smuggled", "x_forwarded_for", "x_forwarded_host", "x_forwarded_proto", "forwarded",
              "x_real_ip", "x_own", "x_one", "x_two", "cookie", "authorization", "user_agent",
              "referer", "http2_settings", "x_corr_id", "x_marker", "x_a")
    CONFIG = """
daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{
  log_format seen escape=json '{{"method":"$request_method","target":"$request_uri",'
    '"path":"$uri","body":"$request_body","done":"$request_completion","status":$status,'
    '"line":"$request",{fields}}}';
  access_log {home}/access.log seen;
  keepalive_requests 1000000; keepalive_timeout 300s; client_body_buffer_size 1m;
  client_max_body_size 0; large_client_header_buffers 8 128k; merge_slashes off;
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
    """Logs every field that it read."""

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
  option dontlognull
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

        # The state says who ended it, and whether it was still being read.
        error = f"HAProxy refused {line} ({state})" if state == "PR" or "BADREQ" in line else ""
        if method == "-":
            words = line.strip('"').split(" ")
            return Seen(words[0], words[1] if len(words) > 1 else line, complete=False, error=error)
        pairs = [each.split(": ", 1) for each in text(fields).split("\r\n") if each]
        return Seen(text(method), text(target), [(name.lower(), value) for name, value in pairs],
                    bytes.fromhex("" if body == "-" else body), complete=state[1] != "R",
                    error=error)


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
