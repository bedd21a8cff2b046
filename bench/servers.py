"""Starts the programs a benchmark compares, pinned to one CPU, and measures what they cost."""

import json
import os
import pathlib
import re
import resource
import shutil
import socket
import subprocess
import tempfile
import time
import urllib.request

from paths import Loopback

ROOT = pathlib.Path(__file__).resolve().parent.parent
RON = pathlib.Path(os.environ.get("RON_BINARY", ROOT / "build" / "release" / "ron"))
SERVER_CPU = "0"
CLIENT_CPU = "1" if (os.cpu_count() or 1) > 1 else "0"
TICKS = os.sysconf("SC_CLK_TCK")


def raise_descriptor_limit(wanted=65536):
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(wanted, hard), hard))


def free_port():
    """Free on this side; over a cable the servers have a machine for themselves."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def filled_in(template, **fields):
    text = (ROOT / "bench" / template).read_text()
    for name, value in fields.items():
        text = text.replace(f"@{name}@", str(value))
    return text


def b3sum(path):
    return subprocess.run(["b3sum", "--no-names", path], check=True, capture_output=True, text=True).stdout.strip()


class Server:
    """A started program. `cpu_seconds` is user plus system time of the whole process."""

    def __init__(self, name, command, path, cpu=SERVER_CPU, **popen):
        self.name = name
        self.path = path
        pin = ["taskset", "-c", cpu] if cpu else []
        self.process = subprocess.Popen(path.at_server([*pin, *map(str, command)]), **popen)

    @property
    def pid(self):
        return self.process.pid

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def rss_bytes(self):
        status = pathlib.Path(f"/proc/{self.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+) kB", status)[1]) * 1024

    def congestion_control(self):
        """Of a connection it has accepted."""
        available = pathlib.Path("/proc/sys/net/ipv4/tcp_available_congestion_control").read_text().split()
        with socket.create_connection((self.path.address, self.port), timeout=5):
            shown = subprocess.run(self.path.at_server(["ss", "-Htin", "state", "established", f"sport = :{self.port}"]),
                                   check=True, capture_output=True, text=True).stdout
        return next(word for word in shown.split() if word in available)

    def await_port(self):
        for _ in range(100):
            try:
                socket.create_connection((self.path.address, self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise RuntimeError(f"{self.name} did not start")

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise


class Ron(Server):
    """svc-storage, in memory or in the directory `data`, with every ingress stage and metric on, and limits out of
    the way. `limits` are further keys of the service."""

    command = "storage"
    sections = ("storage",)  # of the configuration; the first one is the service's
    LIMITS = {"server.max_rps": 100_000_000, "server.max_inflight": 100_000, "max_conns": 20_000,
              "max_conns_per_ip": 20_000, "idle_timeout": "10m"}

    def __init__(self, directory, cores=1, limits=None, data=None, pinned=True, path=Loopback(), name="ron", config=None):
        self.token_file = token_file = pathlib.Path(directory) / f"{name}.token"
        self.data = data
        self.admin_port = free_port()
        where = ["--data", data] if data else ["--amnesia"]
        command = [RON, self.command, *where, "--cores", cores, "--bind", f"{path.address}:0",
                   "--admin", f"{path.address}:{self.admin_port}", "--token-out", token_file, "--log-level", "warn"]
        command += ["--config", config] if config else []
        settings = {f"{section}.{key}": value for section in self.sections for key, value in self.LIMITS.items()}
        settings |= {f"{self.sections[0]}.{key}": value for key, value in (limits or {}).items()}
        for key, value in settings.items():
            command += ["--set", f"{key}={value}"]
        super().__init__(name, command, path, SERVER_CPU if pinned else None, stdout=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.port = int(line.rsplit(":", 1)[1])
        self.base = f"http://{path.address}:{self.port}"
        self.token = token_file.read_text().strip()

    def put(self, path):
        """Stores a file and returns the URL it can be read from."""
        url = f"{self.base}/o/b3:{b3sum(path)}"
        self.ask(url, "PUT", pathlib.Path(path).read_bytes())
        return url

    def put_large(self, path):
        """The same through an upload."""
        subprocess.run([RON, "put", "--url", self.base, "--no-resume", "-q", path], check=True, stdout=subprocess.DEVNULL,
                       env={**os.environ, "RON_TOKEN": self.token})
        return f"{self.base}/o/b3:{b3sum(path)}"

    def begin_upload(self, length):
        answer = self.ask(f"{self.base}/uploads", "POST", json.dumps({"length": length}).encode())
        return json.loads(answer)["upload_id"]

    def admin_json(self, path):
        return json.loads(self.ask(f"http://{self.path.address}:{self.admin_port}{path}", "GET"))

    def objects(self):
        return sum(volume["objects"] for volume in self.admin_json("/admin/stats")["volumes"])

    def ask(self, url, method, body=None):
        request = urllib.request.Request(url, data=body, method=method, headers={"Authorization": f"Bearer {self.token}"})
        return urllib.request.urlopen(request).read()


class Nginx(Server):
    """With the configuration `template`, whose @fields@ are filled in, in a directory of its own."""

    def __init__(self, directory, path=Loopback(), name="nginx", template="nginx.conf.in", cpu=SERVER_CPU, **fields):
        self.port = free_port()
        self.directory = pathlib.Path(directory) / name
        (self.directory / "www").mkdir(parents=True)
        config = self.directory / "nginx.conf"
        config.write_text(filled_in(template, dir=self.directory, address=f"{path.address}:{self.port}", **fields))
        super().__init__(name, [shutil.which("nginx") or "/usr/sbin/nginx", "-p", self.directory, "-c", config], path,
                         cpu, stderr=subprocess.DEVNULL)
        self.await_port()

    def put(self, path):
        shutil.copy(path, self.directory / "www")
        return self.url(path)

    def put_large(self, path):
        os.link(path, self.directory / "www" / pathlib.Path(path).name)
        return self.url(path)

    def url(self, path):
        return f"http://{self.path.address}:{self.port}/{pathlib.Path(path).name}"


def scratch_directory(parent=None):
    return tempfile.TemporaryDirectory(prefix="ron-bench-", dir=parent)


def machine():
    cpu = re.search(r"model name\s*:\s*(.+)", pathlib.Path("/proc/cpuinfo").read_text())
    nginx = subprocess.run(["nginx", "-v"], capture_output=True, text=True).stderr.strip()
    haproxy = subprocess.run(["haproxy", "-v"], capture_output=True, text=True).stdout.splitlines()[0]
    return {"cpu": cpu[1] if cpu else "unknown", "cpus": os.cpu_count(), "kernel": os.uname().release,
            "load_average": os.getloadavg()[0], "nginx": nginx, "haproxy": haproxy,
            "ron": subprocess.run([RON, "version"], capture_output=True, text=True).stdout.strip()}
