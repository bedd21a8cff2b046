"""The gateway and its peers in front of one upstream."""

import pathlib
import subprocess

from paths import Loopback
from servers import RON, Nginx, Ron, Server, filled_in, free_port

NAMES = ("ron", "haproxy", "nginx")
PEERS = ("haproxy", "nginx")


class Gateway(Ron):
    """Everything to `upstream`, an address and port. `quanta` are of tenants by their names."""

    command = "gateway"
    sections = ("gateway",)
    LIMITS = {**Ron.LIMITS, "drr.rate_limit_rps": 100_000_000}

    def __init__(self, directory, upstream, path=Loopback(), quanta=None, **options):
        config = pathlib.Path(directory) / "ron.toml"
        shares = ", ".join(f'"{name}" = {quantum}' for name, quantum in (quanta or {}).items())
        config.write_text(f'[[gateway.routes]]\nprefix = "/"\nupstream = "http://{upstream}"\n'
                          f"[gateway.drr]\ntenant_quanta = {{ {shares} }}\n")
        super().__init__(directory, data=pathlib.Path(directory) / "gateway", path=path, config=config, **options)

    def mint(self, tenant):
        """The file of a token whose requests are that tenant's."""
        file = self.token_file.with_name(f"{tenant}.token")
        subprocess.run([RON, "token", "mint", "--keys", self.data / "keys", "--scope", "storage:write",
                        "--tenant", tenant, "--out", file], check=True, stdout=subprocess.DEVNULL)
        return file


class Up(Ron):
    """The gateway with storage in the same process."""

    command = "up"
    sections = ("gateway", "storage")

    def __init__(self, directory, limits=None, **options):
        super().__init__(directory, limits={"drr.rate_limit_rps": 100_000_000, **(limits or {})}, **options)


class HaProxy(Server):
    def __init__(self, directory, upstream, path=Loopback(), maxconn=0):
        self.port = free_port()
        config = pathlib.Path(directory) / "haproxy.cfg"
        config.write_text(filled_in("haproxy.cfg.in", address=f"{path.address}:{self.port}", upstream=upstream,
                                    maxconn=maxconn))
        super().__init__("haproxy", ["haproxy", "-db", "-f", config], path, stderr=subprocess.DEVNULL)
        self.await_port()


def start(name, directory, upstream, path, at_once=0, limits=None, quanta=None):
    """The proxy of that name in front of `upstream`, which is to get `at_once` requests at the same time, if that is
    given. nginx cannot do this: its max_conns refuses what it cannot pass on, so it passes everything on."""
    if name == "ron":
        bound = {"upstream.concurrency": at_once} if at_once else {}
        return Gateway(directory, upstream, path, quanta, limits={**bound, **(limits or {})})
    if name == "haproxy":
        return HaProxy(directory, upstream, path, maxconn=at_once)
    return Nginx(directory, path, template="nginx_proxy.conf.in", upstream=upstream)


def add_option(parser, default=NAMES):
    parser.add_argument("--proxies", type=lambda text: text.split(","), default=list(default),
                        help=f"which of {','.join(NAMES)}; default {','.join(default)}")
