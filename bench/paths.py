"""How the client and the servers of a benchmark meet.

On loopback a packet holds 64 KiB and nothing is between the two. Over a cable the servers live in a network namespace
of their own, joined to the client's by a pair of virtual Ethernet devices: packets of 1,500 bytes, or several of them
in one piece, as between hosts whose network cards do the cutting.

Either way the benchmark runs in network namespaces of its own, with the path's congestion control for everyone in them:
the machine's own might be one that ron leaves on loopback and nginx cannot."""

import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000
CONGESTION_CONTROL_FILE = "/proc/sys/net/ipv4/tcp_congestion_control"


class Loopback:
    name = "loopback"
    address = "127.0.0.1"
    congestion_control = "cubic"  # what most machines have; paces nothing

    def __enter__(self):
        # By route: the kernel lets a namespace choose only from a few for all of its connections.
        for destination in ("127.0.0.0/8", "127.0.0.1"):
            run("ip", "route", "replace", "local", destination, "dev", "lo", "table", "local", "proto", "kernel",
                "scope", "host", "src", "127.0.0.1", "congctl", self.congestion_control)
        return self

    def __exit__(self, *_):
        pass

    def at_server(self, command):
        """The command that runs `command` where the servers live."""
        return command


class Cable:
    name = "cable"
    address = "198.18.0.1"  # from the addresses set aside for benchmarks
    client = "198.18.0.2"
    congestion_control = "bbr"  # paces, as servers of large files to the world do

    def __enter__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
                                       stdout=subprocess.PIPE)
        self.holder.stdout.readline()
        choose(self.congestion_control)
        choose(self.congestion_control, self.at_server)
        run("ip", "link", "add", "ron-client", "type", "veth", "peer", "name", "ron-server", "netns", self.holder.pid)
        run("ip", "addr", "add", f"{self.client}/30", "dev", "ron-client")
        run("ip", "link", "set", "ron-client", "up")
        run(*self.at_server(["ip", "addr", "add", f"{self.address}/30", "dev", "ron-server"]))
        run(*self.at_server(["ip", "link", "set", "ron-server", "up"]))
        run(*self.at_server(["ip", "link", "set", "lo", "up"]))
        return self

    def __exit__(self, *_):
        self.holder.kill()
        self.holder.wait()
        # The pair goes with the namespace, a moment later: the next cable must not find it.
        subprocess.run(["ip", "link", "del", "ron-client"], capture_output=True, check=False)

    def at_server(self, command):
        return ["nsenter", "--net", f"--target={self.holder.pid}", *command]


PATHS = {path.name: path for path in (Loopback, Cable)}


def add_option(parser):
    parser.add_argument("--path", choices=PATHS, help="one path only; otherwise all of them")


def chosen(options):
    leave_network()
    return [PATHS[name]() for name in ([options.path] if options.path else PATHS)]


def leave_network():
    """Moves this process, and what it starts, into a network of its own, which nobody else is touched by."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise SystemExit(f"cannot make a network namespace: {os.strerror(ctypes.get_errno())}; this needs root")
    run("ip", "link", "set", "lo", "up")


def choose(congestion_control, where=lambda command: command):
    """For every connection of that namespace from now on."""
    run(*where(["sh", "-c", f"echo {congestion_control} > {CONGESTION_CONTROL_FILE}"]))


def run(*command):
    subprocess.run([str(part) for part in command], check=True)
