"""Other caches in front of the same origin, so that what svc-edge does can be seen beside them:
Varnish and nginx of Debian, each set to follow RFC 9111 as far as it can."""

import re
import subprocess

from desync_programs import Program, free_port

import ron

NGINX = """
daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{
  access_log off;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/f;
  uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  proxy_cache_path {home}/cache keys_zone=own:1m inactive=10m;
  server {{
    listen 127.0.0.1:{port};
    location / {{
      proxy_pass http://{origin}; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_cache own; proxy_cache_key $request_uri; proxy_cache_revalidate on;
      proxy_cache_lock on; proxy_force_ranges on;
      proxy_cache_use_stale error timeout http_500 http_502 http_503 http_504;
    }}
  }}
}}
"""


def version_of(words):
    done = subprocess.run(words, capture_output=True, check=True, timeout=ron.REPLY_S)
    return re.search(r"(\d+\.\d+)", (done.stdout + done.stderr).decode())[1]


class Peer(Program):
    """A cache whose paths are its origin's."""

    def __init__(self, origin):
        super().__init__()
        self.origin = origin
        self.port = free_port()

    @staticmethod
    def path_of(path):
        return path


class Nginx(Peer):
    """Validation, ranges, waiting for one answer and old copies for errors are switched on."""

    name = "nginx"

    def __init__(self, origin):
        super().__init__(origin)
        self.version = version_of(["nginx", "-v"])
        config = self.home / "nginx.conf"
        config.write_text(NGINX.format(home=self.home, port=self.port, origin=origin.authority))
        self.home.chmod(0o755)
        self.start(["nginx", "-e", self.home / "error.log", "-p", self.home, "-c", config],
                   stdout=subprocess.DEVNULL)
        self.address = self.listens(self.port)


class Varnish(Peer):
    """Its own rules (builtin.vcl), without the ten seconds in which old copies are given out, and
    with an hour in which they may be validated."""

    name = "Varnish"

    def __init__(self, origin):
        super().__init__(origin)
        self.version = version_of(["varnishd", "-V"])
        with open(self.home / "log", "wb") as log:
            self.start(["varnishd", "-F", "-n", self.home / "work", "-a",
                        f"127.0.0.1:{self.port}", "-b", origin.authority, "-p", "default_grace=0",
                        "-p", "default_keep=3600", "-s", "malloc,16m", "-j", "none"],
                       stdout=log, stderr=log)
        self.address = self.listens(self.port)
