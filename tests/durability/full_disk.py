"""A file system that is full, and one that fails: writes are refused with numbers and turn unready,
reads go on, and when there is room again writes work without a restart.

Needs the right to mount; the file systems are small ones of its own.
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import crash  # noqa: E402
import ron  # noqa: E402


class Mount:
    """A tmpfs or an ext4 image, mounted until the end of the block."""

    def __init__(self, folder, *arguments):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(exist_ok=True)
        self.arguments = arguments

    def __enter__(self):
        subprocess.run(["mount", *self.arguments, self.folder], check=True)
        return self.folder

    def __exit__(self, *_):
        subprocess.run(["umount", self.folder], check=True)


def ready(server):
    with server.connect() as connection:
        response = connection.ask("GET", "/readyz")
        return response.status, response.json()


def fill(ask, random_bytes, stored, limit):
    """Stores objects until one is refused; its status and body."""
    for _ in range(limit):
        data = random_bytes(300_000)
        status, body = ask("POST", "/o", data)
        if status not in (200, 201):
            return status, json.loads(body)
        stored.append((json.loads(body)["address"], data))
    raise crash.Wrong(f"{limit} objects fit into a small file system")


def read_back(ask, stored):
    for address, data in stored:
        status, body = ask("GET", f"/o/{address}")
        if status != 200 or body != data:
            raise crash.Wrong(f"{address}: {status}, {len(body)} bytes")


def full(folder, sets, wanted_code, make_room, report):
    """Fills the file system under a server, looks, makes room, looks again."""
    dice = random.Random(1)
    server = ron.Server(sets={"storage.cache_bytes": "0", "storage.segment_bytes": "16MiB", **sets},
                        data=pathlib.Path(folder) / "data")
    ask, stored = crash.Ask(server.address, server.token), []
    try:
        status, body = fill(ask, dice.randbytes, stored, 1000)
        error = body["error"]
        report(f"{len(stored)} objects, then {status} {error['code']} {error['details']}")
        if error["code"] not in wanted_code:
            raise crash.Wrong(f"{status} {error}")
        if not any(value.isdigit() for value in map(str, error["details"].values())):
            raise crash.Wrong(f"no numbers in {error}")
        ron.wait_until("writes to turn unready", lambda: ready(server)[1].get("write_ready") is False)
        read_back(ask, stored)
        make_room()
        ron.wait_until("writes to turn ready", lambda: ready(server)[1].get("write_ready", True), 30 * ron.SLOW)
        status, body = ask("POST", "/o", b"after room was made")
        if status != 201:
            raise crash.Wrong(f"after room was made: {status} {body[:300]!r}")
        read_back(ask, stored)
        if server.stop() != 0:
            raise crash.Wrong(f"exit {server.process.returncode}: {server.log_text()}")
    finally:
        ask.connection.close()
        server.close()
    # And everything is there after a restart.
    server = ron.Server(sets={"storage.cache_bytes": "0", **sets}, data=pathlib.Path(folder) / "data")
    try:
        with crash.Ask(server.address, server.token) as again:
            read_back(again, stored)
    finally:
        server.close()


def guard(directory, report):
    """min_free_bytes refuses before the file system is full."""
    with Mount(directory / "guard", "-t", "tmpfs", "-o", "size=96m", "tmpfs") as folder:
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(32 << 20))
        full(folder, {"storage.min_free_bytes": "24MiB"}, ("StorageFull",), ballast.unlink, report)


def no_space(directory, report):
    """ENOSPC from the kernel itself, in the middle of a write."""
    with Mount(directory / "space", "-t", "tmpfs", "-o", "size=96m", "tmpfs") as folder:
        ballast = folder / "ballast"
        ballast.write_bytes(bytes(32 << 20))
        full(folder, {"storage.min_free_bytes": "0"}, ("StorageFull",), ballast.unlink, report)


def failing(directory, report):
    """I/O errors: an ext4 image whose own medium has no room for what it promised."""
    with Mount(directory / "medium", "-t", "tmpfs", "-o", "size=80m", "tmpfs") as medium:
        image, ballast = medium / "image", medium / "ballast"
        with open(image, "wb") as file:
            file.truncate(160 << 20)
        # Without a journal: a write to that which fails makes the file system read-only for good.
        subprocess.run(["mkfs.ext4", "-q", "-F", "-O", "^has_journal", "-E", "lazy_itable_init=0", image],
                       check=True)
        with Mount(directory / "failing", "-o", "loop,errors=continue", image) as folder:
            ballast.write_bytes(bytes(16 << 20))
            full(folder, {"storage.min_free_bytes": "0"}, ("StorageBusy", "StorageFull", "Degraded"),
                 ballast.unlink, report)


CASES = {"guard": guard, "no-space": no_space, "failing": failing}


def can_mount():
    """Tried, not guessed: root in a container often may not."""
    with tempfile.TemporaryDirectory(prefix="ron-mount-") as folder:
        tried = subprocess.run(["mount", "-t", "tmpfs", "tmpfs", folder], capture_output=True, check=False)
        if tried.returncode != 0:
            return False
        subprocess.run(["umount", folder], check=True)
    return pathlib.Path("/dev/loop-control").exists()


def run(names, directory, report=print):
    for name in names:
        began = time.monotonic()
        CASES[name](pathlib.Path(directory), report)
        report(f"{name}: held ({time.monotonic() - began:.1f} s)")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("cases", nargs="*", metavar="CASE", help=", ".join(CASES))
    options = parser.parse_args()
    if not can_mount():
        print("full_disk: needs root to mount small file systems")
        return 2
    with tempfile.TemporaryDirectory(prefix="ron-full-") as directory:
        try:
            run(options.cases or list(CASES), directory)
        except crash.Wrong as error:
            print(f"BROKEN: {error}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
