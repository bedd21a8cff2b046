"""The registry and etcd as servers of benchmarks, and the client that commits and puts (`registry_load.cc`)."""

import json
import os
import pathlib
import subprocess

from paths import Loopback
from servers import CLIENT_CPU, RON, Ron, Server, free_port

PROGRAM = pathlib.Path(os.environ.get("BENCH_REGISTRY", RON.with_name("bench_registry")))
MAX_PENDING = 65536


class Registry(Ron):
    """svc-registry with limits out of the way, started with three signers of which two decide."""

    command = "registry"
    sections = ("registry",)
    LIMITS = {**Ron.LIMITS, "proposals.max_pending": MAX_PENDING,
              "proposals.max_pending_per_tenant": MAX_PENDING}

    def signers(self):
        """Two of those who decide, as the client takes them."""
        state = json.loads(self.ask(f"{self.base}/registry/state", "GET"))
        ids = {signer["name"]: signer["id"] for signer in state["signers"]}
        files = sorted(pathlib.Path(self.data, "keys", "signers").glob("*.pem"))
        return ",".join(f"{ids[file.stem]}:{file}" for file in files[: state["threshold"]])


class Etcd(Server):
    """One member with the settings it comes with, on one CPU as Go programs are told."""

    def __init__(self, directory, path=Loopback()):
        self.port = free_port()
        peers = f"http://{path.address}:{free_port()}"
        clients = f"http://{path.address}:{self.port}"
        command = ["etcd", "--data-dir", pathlib.Path(directory) / "etcd", "--listen-client-urls", clients,
                   "--advertise-client-urls", clients, "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
                   "--initial-cluster", f"default={peers}", "--logger", "zap", "--log-level", "error"]
        super().__init__("etcd", command, path, env={**os.environ, "GOMAXPROCS": "1"}, stderr=subprocess.DEVNULL)
        self.await_port()


def load(server, what, **options):
    """Runs the client against the server: its result, and the server's CPU microseconds per request of the last step."""
    options = {"do": what, "to": f"{server.path.address}:{server.port}", "warm_up": 0, **options}
    if isinstance(server, Registry):
        options["token"] = server.token_file
    before = server.cpu_seconds()
    client = subprocess.run(["taskset", "-c", CLIENT_CPU, PROGRAM, *(f"{key}={value}" for key, value in options.items())],
                            check=True, capture_output=True, text=True)
    result = json.loads(client.stdout)
    whole = result["whole"]
    return {"per_s": whole["count"] / result["seconds"], "p50_us": whole["p50_us"], "p99_us": whole["p99_us"],
            "cpu_us": (server.cpu_seconds() - before) * 1e6 / whole["count"], "client_busy": result["client_busy"],
            "steps": {step: result[step] for step in ("propose", "approve", "commit") if step in result}}


def versions():
    """Of the programs that it is compared with."""
    commands = {"etcd": ["etcd", "--version"], "openssl": ["openssl", "version"]}
    return {name: subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()[0]
            for name, command in commands.items()}
