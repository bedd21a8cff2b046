"""svc-edge as a server of benchmarks, the origin it fills from, and its peers: Varnish and tileserver-gl-light."""

import gzip
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import urllib.request

from servers import ROOT, SERVER_CPU, TICKS, Nginx, Ron, Server, free_port

LASTS_S = 24 * 3600  # how long the origin says that its answers hold


def certificate(directory):
    """(CA, certificate, key) for localhost, made with openssl."""
    directory = pathlib.Path(directory)
    ca_key, ca, key, request, made = (directory / name for name in ("ca.key", "ca.pem", "tls.key", "tls.csr", "tls.pem"))
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    quiet = {"check": True, "capture_output": True}
    subprocess.run(["openssl", "req", "-x509", *curve, "-keyout", ca_key, "-out", ca, "-days", "2", "-subj", "/CN=bench CA"],
                   **quiet)
    subprocess.run(["openssl", "req", *curve, "-keyout", key, "-out", request, "-subj", "/CN=localhost"], **quiet)
    names = directory / "names"
    names.write_text("subjectAltName=DNS:localhost")
    subprocess.run(["openssl", "x509", "-req", "-in", request, "-CA", ca, "-CAkey", ca_key, "-CAcreateserial", "-out", made,
                    "-days", "2", "-extfile", names], **quiet)
    return ca, made, key


class Origin(Nginx):
    """Static files with a strong ETag that hold for a day, over HTTP and HTTPS, on the client's CPU."""

    def __init__(self, directory, path, cpu):
        self.ca, made, key = certificate(directory)
        self.tls_port = free_port()
        super().__init__(directory, path, "origin", "nginx_origin.conf.in", cpu, tls=f"{path.address}:{self.tls_port}",
                         cert=made, key=key, lasts=LASTS_S)


class Edge(Ron):
    """svc-edge that fills from `origin`, with limits out of the way."""

    command = "edge"
    sections = ("edge",)

    def __init__(self, directory, origin=None, limits=None, **how):
        live = {} if origin is None else {"mode": "live", "allow": json.dumps([f"localhost:{origin.tls_port}"]),
                                          "egress.allow_private": "true", "tls.ca_path": origin.ca}
        self.origin = origin
        super().__init__(directory, limits={**live, **(limits or {})}, **how)

    def asset(self, path):
        """The URL of what the origin has as `path`, and it is in the cache."""
        url = f"{self.base}/edge/assets/localhost:{self.origin.tls_port}/{pathlib.Path(path).name}"
        for _ in range(2):
            with urllib.request.urlopen(url) as answer:
                body, cache = answer.read(), answer.headers["X-Cache"]
        if body != pathlib.Path(path).read_bytes() or cache != "hit":
            raise SystemExit(f"{url} is not a hit: {cache}")
        return url

    def mount(self, name, path):
        """Mounts a pack, and what the server says of it."""
        body = json.dumps({"name": name, "path": str(path)}).encode()
        return json.loads(self.ask(f"http://{self.path.address}:{self.admin_port}/admin/packs", "POST", body))

    def tile(self, name, z, x, y):
        return f"{self.base}/edge/tiles/{name}/{z}/{x}/{y}"


class Varnish(Server):
    """In front of `origin`, in memory, one pool of threads on one CPU."""

    def __init__(self, directory, origin, path):
        self.port = free_port()
        work = pathlib.Path(directory) / "varnish"
        work.mkdir()
        super().__init__("varnish", [shutil.which("varnishd") or "/usr/sbin/varnishd", "-F", "-n", work,
                                     "-a", f"{path.address}:{self.port}", "-b", f"{path.address}:{origin.port}",
                                     "-s", "malloc,256m", "-p", "thread_pools=1", "-p", "vsl_mask=-VCL_trace"], path,
                         stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.await_port()

    def cpu_seconds(self):
        """Of the process that serves, which is a child."""
        children = pathlib.Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()
        ticks = 0
        for pid in [self.pid, *children]:
            fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / TICKS

    def url(self, path):
        url = f"http://{self.path.address}:{self.port}/{pathlib.Path(path).name}"
        for _ in range(2):
            with urllib.request.urlopen(url) as answer:
                body, hits = answer.read(), answer.headers["X-Varnish"].split()
        if body != pathlib.Path(path).read_bytes() or len(hits) != 2:
            raise SystemExit(f"{url} is not a hit")
        return url


class TileServer(Server):
    """npm's tileserver-gl-light with one MBTiles file. Installed once, under build/bench."""

    def __init__(self, mbtiles, path):
        home = ROOT / "build" / "bench" / "tileserver"
        main = home / "node_modules" / "tileserver-gl-light" / "src" / "main.js"
        if not main.exists():
            home.mkdir(parents=True, exist_ok=True)
            (home / "package.json").write_text('{"private": true}\n')
            # Its sqlite3 would first look for a prebuilt one, elsewhere.
            subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "tileserver-gl-light@5.6.0"], cwd=home,
                           env=os.environ | {"npm_config_build_from_source": "true"}, check=True)
            # It looks for its styles in its own folder only.
            own = main.parent.parent / "node_modules"
            own.mkdir(exist_ok=True)
            (own / "tileserver-gl-styles").symlink_to("../../tileserver-gl-styles")
        self.port = free_port()
        self.data = pathlib.Path(mbtiles).stem
        super().__init__("tileserver", ["node", main, "--file", mbtiles, "-p", self.port, "--bind", path.address, "--silent"],
                         path, SERVER_CPU, cwd=home, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.await_port()

    def tile(self, z, x, y):
        return f"http://{self.path.address}:{self.port}/data/{self.data}/{z}/{x}/{y}.pbf"


def write_mbtiles(path, max_zoom, tile_bytes, distinct=None):
    """A pack with a tile at every place down to `max_zoom`; of `distinct` contents, if given."""
    path = pathlib.Path(path)
    path.unlink(missing_ok=True)
    contents = [gzip.compress(os.urandom(tile_bytes)) for _ in range(distinct or 1)]
    with sqlite3.connect(path) as database:
        database.executescript("""
            PRAGMA journal_mode = OFF;
            CREATE TABLE metadata (name TEXT, value TEXT);
            CREATE TABLE tiles (zoom_level INTEGER, tile_column INTEGER, tile_row INTEGER, tile_data BLOB);
            CREATE UNIQUE INDEX tile_index ON tiles (zoom_level, tile_column, tile_row);""")
        layers = json.dumps({"vector_layers": [{"id": "bench", "fields": {}}]})
        facts = {"name": path.stem, "format": "pbf", "minzoom": "0", "maxzoom": str(max_zoom), "json": layers,
                 "bounds": "-180,-85.0511,180,85.0511"}
        database.executemany("INSERT INTO metadata VALUES (?, ?)", facts.items())
        places = ((z, x, y) for z in range(max_zoom + 1) for x in range(1 << z) for y in range(1 << z))
        database.executemany("INSERT INTO tiles VALUES (?, ?, ?, ?)",
                             ((*place, contents[number % len(contents)] if distinct else gzip.compress(os.urandom(tile_bytes)))
                              for number, place in enumerate(places)))
    database.close()
    return path
