"""nginx as an upstream that can be killed, stopped and started again at the same address."""

import os
import pathlib
import signal
import subprocess

from desync_programs import Program, accepts, free_port

import ron

CONFIG = """
daemon off; master_process off; pid {home}/pid; error_log {home}/error.log;
events {{ worker_connections 1024; }}
http {{
  log_format asked '$request_method $request_uri';
  access_log {home}/access.log asked;
  client_body_temp_path {home}/body; proxy_temp_path {home}/proxy; fastcgi_temp_path {home}/f;
  uwsgi_temp_path {home}/u; scgi_temp_path {home}/s;
  server {{ listen {listen}; root {home}/files; {tls} }}
}}
"""


class Nginx(Program):
    """Serves `files`, bytes by name, on a port, on a Unix socket (`unix`), or with a Certificate
    (`tls`). It is one process, so that stopping it stops all of it."""

    def __init__(self, files, unix=False, tls=None):
        super().__init__()
        self.port = None if unix else free_port()
        self.socket_path = self.home / "socket"
        root = self.home / "files"
        root.mkdir()
        for name, data in files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        for path in [self.home, root, *root.rglob("*")]:
            path.chmod(0o755 if path.is_dir() else 0o644)  # it serves as nobody
        listen = f"unix:{self.socket_path}" if unix else f"127.0.0.1:{self.port}"
        secret = (f"ssl_protocols TLSv1.3; ssl_certificate {tls.cert}; "
                  f"ssl_certificate_key {tls.key};" if tls else "")
        (self.home / "nginx.conf").write_text(
            CONFIG.format(home=self.home, listen=listen + (" ssl" if tls else ""), tls=secret))
        self.url = f"unix:{self.socket_path}" if unix else (
            f"{'https' if tls else 'http'}://127.0.0.1:{self.port}")
        self.run()

    def run(self):
        self.socket_path.unlink(missing_ok=True)
        self.start(["nginx", "-e", self.home / "error.log", "-p", self.home, "-c",
                    self.home / "nginx.conf"], stdout=subprocess.DEVNULL)
        ron.wait_until("nginx", self.is_up, ron.START_S)

    def is_up(self):
        return self.socket_path.exists() if self.port is None else accepts(self.port)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def hang(self):
        """Its kernel goes on accepting connections, it does not."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def go_on(self):
        os.kill(self.process.pid, signal.SIGCONT)

    def asked(self):
        """The requests that came in, those of probes left out."""
        lines = (self.home / "access.log").read_text().splitlines()
        return [line for line in lines if line != "GET /"]

    def wait_asked(self, requests):
        """nginx writes its log after the answer: a client may have that a moment before."""
        ron.wait_until(f"{requests} are in the log, {self.asked()} is",
                       lambda: self.asked() == requests)


class Authority:
    """Who vouches for certificates of localhost, in a directory of the test's: good ones and bad
    ones."""

    def __init__(self, directory, name="authority"):
        self.home = pathlib.Path(directory)
        self.cert, self.key = self.home / f"{name}.pem", self.home / f"{name}.key"
        self._openssl("req", "-x509", "-newkey", "ed25519", "-nodes", "-keyout", self.key, "-out",
                      self.cert, "-days", "2", "-subj", f"/CN={name}")
        (self.home / "ca.conf").write_text(
            f"[ca]\ndefault_ca=own\n[own]\ndatabase={self.home}/index\n"
            f"serial={self.home}/serial\npolicy=any\n[any]\ncommonName=supplied\n")
        (self.home / "index").touch()
        (self.home / "serial").write_text("01\n")

    def issue(self, name, subject="IP:127.0.0.1", begins="20200101000000Z", ends="20990101000000Z"):
        """A certificate of its own, with its key."""
        request, extensions = self.home / f"{name}.csr", self.home / f"{name}.ext"
        issued = Issued(self.home / f"{name}.pem", self.home / f"{name}.key")
        self._openssl("req", "-newkey", "ed25519", "-nodes", "-keyout", issued.key, "-out", request,
                      "-subj", f"/CN={name}")
        extensions.write_text(f"subjectAltName={subject}\n")
        self._openssl("ca", "-batch", "-notext", "-config", self.home / "ca.conf", "-in", request,
                      "-out", issued.cert, "-cert", self.cert, "-keyfile", self.key, "-startdate",
                      begins, "-enddate", ends, "-extfile", extensions, "-md", "default",
                      "-outdir", self.home)
        return issued

    def _openssl(self, *words):
        done = subprocess.run(["openssl", *map(str, words)], capture_output=True, check=False,
                              timeout=ron.REPLY_S, cwd=self.home)
        assert done.returncode == 0, done.stderr


class Issued:
    def __init__(self, cert, key):
        self.cert, self.key = cert, key
