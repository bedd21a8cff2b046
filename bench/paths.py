"""How the client and the servers of a benchmark meet.

On loopback a packet holds 64 KiB and nothing is between the two. Over a cable the servers live in a network namespace
of their own, joined to the client's by a pair of virtual Ethernet devices: packets of 1,500 bytes, as between hosts."""

import ctypes
import os
import subprocess

CLONE_NEWNET = 0x40000000


class Loopback:
    name = "loopback"
    address = "127.0.0.1"

    def __enter__(self):
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

    def __enter__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sh", "-c", "echo; exec sleep infinity"],
                                       stdout=subprocess.PIPE)
        self.holder.stdout.readline()
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
    names = [options.path] if options.path else list(PATHS)
    if Cable.name in names:
        leave_network()
    return [PATHS[name]() for name in names]


def leave_network():
    """Moves this process, and what it starts, into a network of its own, so that a cable touches nobody else's."""
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET) != 0:
        raise SystemExit(f"cannot make a network namespace: {os.strerror(ctypes.get_errno())}; a cable needs root")
    run("ip", "link", "set", "lo", "up")


def run(*command):
    subprocess.run([str(part) for part in command], check=True)
