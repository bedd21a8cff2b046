"""What end-to-end tests of svc-index have besides the harness (`ron.py`, `service_case.py`,
`provider_record.py`): names, and targets that do what a test says."""

import base64
import hashlib
import http.server
import json
import threading
import time
import urllib.parse

import cbor
import service_case
import signing
from provider_record import HOUR_MS, lane_key, now_ms, record  # noqa: F401

MANIFEST = "application/vnd.ron.manifest+json"
# No limit of rates and connections gets in the way. A suite that is about one sets it.
QUIET = {"index.server.max_rps": 1000000, "index.max_conns_per_ip": 1024}
QUIET_UP = {"gateway.server.max_rps": 1000000, "gateway.max_conns_per_ip": 1024,
            "gateway.drr.rate_limit_rps": 1000000}
ACCEPT_CBOR = ("Accept", "application/cbor")


def address_of(what):
    """An address like any other, of nothing in particular."""
    return "b3:" + hashlib.sha256(str(what).encode()).hexdigest()


def path_of(name):
    return "/names/" + urllib.parse.quote(name, safe="/")


class Server(service_case.Server):
    """One `ron index` process, or `ron up`: in memory, or on disk in the directory `data`."""

    def __init__(self, data=None, command="index", sets=None, **more):
        quiet = {**QUIET, **(QUIET_UP if command == "up" else {})}
        super().__init__("index", data, command,
                         sets=dict(sets or {}) if more.get("config") else {**quiet, **(sets or {})},
                         **more)

    def put_name(self, name, target, connection=None, auth=None, **more):
        """The answer to a change of a name."""
        return self.ask("PUT", path_of(name), {"target": target, **more}, auth=auth,
                        connection=connection)

    def set_name(self, name, target, **more):
        """Sets it, and its version."""
        response = self.put_name(name, target, **more)
        assert response.status in (200, 201), (response.status, response.body)
        return response.json()["version"]

    def remove(self, name, query="", **more):
        return self.ask("DELETE", path_of(name) + query, **more)

    def name(self, name, query="", **more):
        return self.ask("GET", path_of(name) + query, auth=(), **more)

    def resolve(self, key, query="", headers=(), connection=None):
        path = "/resolve/" + urllib.parse.quote(key, safe="/:@")
        return self.ask("GET", path + query, headers=headers, auth=(), connection=connection)

    def resolved(self, key, query=""):
        response = self.resolve(key, query)
        assert response.status == 200, (key, response.status, response.body)
        return response.json()

    def listed(self, query=""):
        """(names, common prefixes, next) of one page."""
        response = self.ask("GET", "/names" + ("?" + query if query else ""), auth=())
        assert response.status == 200, (query, response.status, response.body)
        page = response.json()
        return [each["name"] for each in page["names"]], page["prefixes"], page["next"]

    def announce(self, address, body, auth=()):
        return self.ask("PUT", "/providers/" + address, body, auth=auth)

    def providers(self, address, query="", headers=()):
        return self.ask("GET", "/providers/" + address + query, headers=headers, auth=())


class Case(service_case.Case):
    """A directory of its own for each test, and indexes on it, one after the other."""

    service = "index"
    server_type = Server


class Target:
    """Somebody whom an index asks: a server with objects, a DHT proxy or another index. `have` are
    paths and what is answered there; elsewhere it is `absent`, or not found if that is None. While
    `held` is clear, and for `delay` seconds, the answer waits; `cut` closes the connection in its
    place. `seen` are the paths in order, `put` what came with them, `left` how many askers were
    gone before their answer was due."""

    def __init__(self, have, kind, absent=None):
        self.have, self.kind = dict(have), kind
        self.held, self.cut, self.delay = threading.Event(), False, 0
        self.held.set()
        self.seen, self.put, self.left = [], [], 0
        target = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else b""
                target.seen.append(f"{self.command} {self.path}")
                if body:
                    target.put.append((self.path, body))
                if not target.wait(self.connection) or target.cut:
                    self.close_connection = True
                    return
                found = target.have.get(self.path.partition("?")[0], absent)
                if self.command in ("PUT", "POST"):
                    found = b"{}"
                status, text = (404, b"") if found is None else (200, found)
                self.send_response(status)
                self.send_header("Content-Type", target.kind)
                self.send_header("Content-Length", str(len(text)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(text)

            do_GET = do_HEAD = do_PUT = do_POST = answer

            def log_message(self, *_):
                pass

        class Listener(http.server.ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

            def handle_error(self, *_):
                pass  # askers leave when others were faster

        self.server = Listener(("127.0.0.1", 0), Handler)
        self.url = "http://127.0.0.1:%d" % self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, connection):
        """Until the answer is due; False if its asker has left before."""
        end = time.monotonic() + self.delay
        while not self.held.is_set() or time.monotonic() < end:
            if self.is_gone(connection):
                self.left += 1
                return False
            time.sleep(0.005)
        return True

    @staticmethod
    def is_gone(connection):
        connection.setblocking(False)
        try:
            return connection.recv(1, 2) == b""  # MSG_PEEK
        except BlockingIOError:
            return False
        except OSError:
            return True
        finally:
            try:
                connection.setblocking(True)
            except OSError:
                pass

    def close(self):
        self.held.set()
        self.server.shutdown()
        self.server.server_close()


def storage_target(*addresses):
    """A server that has these objects."""
    return Target({"/o/" + address: b"x" for address in addresses}, "application/octet-stream")


def proxy_target(lane, records):
    """A proxy of the DHT that has these records, by address, in its lane. It has no values for all
    other keys, which is an answer, too."""
    return Target({"/" + lane_key(lane, address): b"".join(map(dht_value, values))
                   for address, values in records.items()}, "application/json", b"")


def dht_value(data):
    """As proxies write values: a line of JSON each."""
    value = {"data": base64.b64encode(data).decode(), "id": "1", "type": 0}
    return json.dumps(value).encode() + b"\n"


def peer_target(records):
    """Another index that has these records, by address."""
    return Target({"/providers/" + address: cbor.encode(values)
                   for address, values in records.items()}, "application/cbor")


def one_of(urls):
    """A list as --set takes it."""
    return json.dumps(list(urls))


def new_node():
    return signing.Key()
