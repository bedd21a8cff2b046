"""What end-to-end tests of svc-edge have besides the harness (`ron.py`, `service_case.py`,
`origin.py`, `packs.py`)."""

import json
import pathlib
import shutil
import tempfile
import threading

import origin
import packs
import ron
import service_case

# No limit of rates and connections gets in the way. A suite that is about one sets it.
QUIET = {"edge.server.max_rps": 1000000, "edge.max_conns_per_ip": 1024}
QUIET_UP = {"gateway.server.max_rps": 1000000, "gateway.max_conns_per_ip": 1024,
            "gateway.drr.rate_limit_rps": 1000000, **QUIET}
# And for many who wait for the same.
ROOM = {"max_conns": 4096, "max_conns_per_ip": 4096, "server.max_inflight": 4096,
        "server.request_deadline": "60s", "write_timeout": "60s", "read_timeout": "60s"}
# Section 9 of the specification.
REASONS = ("amnesia", "not_allowed", "decompress_cap", "body_cap", "timeout", "rate_limit",
           "invalid_range", "etag_invalid")
TILES = "/edge/tiles/"
ACCEPTS_GZIP = [("Accept-Encoding", "gzip")]
GONE = (ron.Closed, ron.Truncated, ConnectionError, TimeoutError)


class Server(service_case.Server):
    """One `ron edge` process, or `ron up`: in memory, or on disk in the directory `data`."""

    def __init__(self, data=None, command="edge", sets=None, **more):
        quiet = QUIET_UP if command == "up" else QUIET
        super().__init__("edge", data, command,
                         sets=dict(sets or {}) if more.get("config") else {**quiet, **(sets or {})},
                         **more)

    def fetch(self, path, headers=(), method="GET", connection=None):
        """As anybody may, without a capability."""
        return self.ask(method, path, headers=headers, auth=(), connection=connection)

    def asset(self, where, path, headers=(), method="GET", connection=None):
        """A copy of what an origin has at the path."""
        return self.fetch(asset_path(where, path), headers, method, connection)

    def ask_for(self, path, headers=()):
        """A request whose answer is read later."""
        connection = self.connect()
        connection.send(ron.request("GET", path, headers))
        return connection

    def rejects(self, reason):
        return self.metrics().value("edge_rejects_total", reason=reason)

    def add_pack(self, name, path, **more):
        return self.ask_admin("POST", "/admin/packs", {"name": name, "path": str(path)}, **more)

    def remove_pack(self, name, **more):
        return self.ask_admin("DELETE", "/admin/packs/" + name, **more)

    def tile(self, pack, z, x, y, ext="", headers=(), connection=None):
        return self.fetch(f"{TILES}{pack}/{z}/{x}/{y}{ext}", headers, connection=connection)


def rows(*dictionaries):
    """[[edge.packs]] or [[edge.sites]] as --set takes them."""
    return "[" + ", ".join("{" + ", ".join(f"{key} = {json.dumps(str(value))}"
                                           for key, value in each.items()) + "}"
                           for each in dictionaries) + "]"


def asset_path(where, path):
    return f"/edge/assets/{where.authority}{path}"


class Case(service_case.Case):
    """A directory of its own for each test, and edges on it, one after the other."""

    service = "edge"
    server_type = Server


class LiveCase(Case):
    """With an origin on loopback that it may fill from."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        home = tempfile.TemporaryDirectory(prefix="ron-e2e-authority-")
        cls.addClassCleanup(home.cleanup)
        cls.home = home.name
        cls.authority = origin.new_authority(cls.home)
        cls.issued = cls.authority.issue("origin", "DNS:localhost")

    def setUp(self):
        super().setUp()
        self.origin = self.new_origin()

    def new_origin(self, **more):
        made = origin.Origin(self.authority, issued=self.issued, **more)
        self.addCleanup(made.close)
        return made

    def live(self, sets=None, origins=None, **more):
        """An edge that may fill from the origins, by default the case's own."""
        return self.start({**self.live_sets(origins), **(sets or {})}, **more)

    def live_sets(self, origins=None):
        return {"mode": "live", "egress.allow_private": "true",
                "tls.ca_path": self.authority.cert,
                "allow": json.dumps([each.authority for each in origins or [self.origin]])}

    def filled(self, server, path, headers=(), status=200, cache=None):
        """The answer to a request for what the origin has, with what X-Cache must say."""
        response = server.asset(self.origin, path, headers)
        self.assertEqual(response.status, status, response.body[:300])
        if cache is not None:
            self.assertEqual(response.get("X-Cache"), cache, path)
        return response


class Held:
    """What a path does once it is let go."""

    def __init__(self, then):
        self.then = then
        self.opened = threading.Event()

    def __call__(self, peer, request):
        if not self.opened.wait(ron.REPLY_S):
            return False
        return self.then(peer, request)


class Crowd(LiveCase):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        ron.more_descriptors()

    def many(self, server, path, count, headers=()):
        """So many requests that are under way, each on a connection of its own."""
        waiting = []
        for _ in range(count):
            waiting.append(server.ask_for(asset_path(self.origin, path), headers))
            self.addCleanup(waiting[-1].close)
        return waiting

    def held(self, path, then):
        way = Held(then)
        self.addCleanup(way.opened.set)
        self.origin.say(path, way)
        return way


class PackCase(Case):
    """With a directory for packs."""

    def setUp(self):
        super().setUp()
        home = tempfile.mkdtemp(prefix="ron-e2e-packs-")
        self.addCleanup(shutil.rmtree, home, ignore_errors=True)
        self.home = pathlib.Path(home)

    def mounted(self, server, name, path, status=201):
        """`status` is 201 for a new one, 200 in place of another, None if either will do."""
        response = server.add_pack(name, path)
        self.assertIn(response.status, (status,) if status else (200, 201), response.body)
        return response.json()

    def file(self, name, tiles, **more):
        """A PMTiles file of these tiles, in place of what may be there."""
        return packs.write(self.home / f"{name}.pmtiles", packs.pmtiles(tiles, **more))
