"""A file system that is full, and one that fails: writes are refused with numbers and turn unready,
reads go on, and when the trouble is over writes work without a restart.

Needs the right to mount; the file systems are small ones of its own.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import crash  # noqa: E402
import media  # noqa: E402
import ron  # noqa: E402
import storage  # noqa: E402

SETS = {"storage.cache_bytes": "0", "storage.segment_bytes": "16MiB"}
BEFORE, REFUSALS, AFTER = 40, 3, 20  # objects stored or refused
# ext4 has one group of blocks in the good part, and in there all that it writes for itself.
GOOD_BYTES, DISK_BYTES = 128 << 20, 192 << 20


def writes(server):
    """Whether it says that it takes writes."""
    with server.connect() as connection:
        return connection.ask("GET", "/readyz").json().get("write_ready", True)


def stay_unready(server, seconds):
    """What still fails is tried again and again, and that does not look like recovery."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if writes(server):
            raise crash.Wrong("ready to write while the disk fails")
        time.sleep(0.05)


def fill(ask, random_bytes, stored, limit):
    """Stores objects until one is refused; its bytes, the status and the error."""
    for _ in range(limit):
        data = random_bytes(300_000)
        status, body = ask("POST", "/o", data)
        if status not in (200, 201):
            return data, status, json.loads(body)["error"]
        stored.append((json.loads(body)["address"], data))
    return None


def read_back(ask, stored):
    for address, data in stored:
        status, body = ask("GET", f"/o/{address}")
        if status != 200 or body != data:
            raise crash.Wrong(f"{address}: {status}, {len(body)} bytes")


def absent(ask, refused):
    """What was answered with an error is not there, nor does it come back."""
    for data in refused:
        status, _ = ask("HEAD", f"/o/{ron.b3(data)}")
        if status != 404:
            raise crash.Wrong(f"refused, and yet {status}")


def forget(folder):
    """Drops the segments from the page cache: what is read then comes from the disk."""
    segments = list(pathlib.Path(folder).glob("data/storage/segments/*.seg"))
    if not segments:
        raise crash.Wrong("there are no segments")
    for path in segments:
        with open(path, "rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class Full:
    """A ballast that leaves too little room."""

    status, code, errno, lasts_s, keeps_what_it_synced = 507, "StorageFull", None, 0, True
    most_objects = 1000  # until the trouble is met

    def __init__(self, ballast, size):
        self.ballast, self.size = ballast, size

    def begin(self):
        self.ballast.write_bytes(bytes(self.size))

    def end(self):
        self.ballast.unlink()


def check_refusal(trouble, status, error):
    details = error["details"]
    if (status, error["code"], details.get("errno")) != (trouble.status, trouble.code, trouble.errno):
        raise crash.Wrong(f"{status} {error}")
    if not any(value.isdigit() for value in map(str, details.values())):
        raise crash.Wrong(f"no numbers in {error}")


def troubled(folder, sets, trouble, report):
    """Writes until the trouble is met, looks, ends the trouble, looks again, also after a restart."""
    dice = random.Random(1)
    sets = {**SETS, **sets}
    server = storage.Server(sets=sets, data=pathlib.Path(folder) / "data")
    ask, stored, refused = crash.Ask(server.address, server.token), [], []
    try:
        if fill(ask, dice.randbytes, stored, BEFORE) is not None:
            raise crash.Wrong("refused before there was any trouble")
        trouble.begin()
        for _ in range(REFUSALS):
            met = fill(ask, dice.randbytes, stored, trouble.most_objects)
            if met is None:
                raise crash.Wrong(f"{trouble.most_objects} objects were stored where there is no room for them")
            data, status, error = met
            check_refusal(trouble, status, error)
            refused.append(data)
        report(f"{len(stored)} objects, then {status} {error['code']} {error['details']}")
        ron.wait_until("writes to turn unready", lambda: writes(server) is False)
        stay_unready(server, trouble.lasts_s)
        read_back(ask, stored)
        if trouble.keeps_what_it_synced:
            forget(folder)
            read_back(ask, stored)
        absent(ask, refused)
        trouble.end()
        ron.wait_until("writes to turn ready", lambda: writes(server), 30 * ron.SLOW)
        if fill(ask, dice.randbytes, stored, AFTER) is not None:
            raise crash.Wrong("refused after the trouble")
        read_back(ask, stored)
        absent(ask, refused)
        if server.stop() != 0:
            raise crash.Wrong(f"exit {server.process.returncode}: {server.log_text()}")
    finally:
        ask.connection.close()
        server.close()
    if trouble.keeps_what_it_synced:
        forget(folder)
    server = storage.Server(sets=sets, data=pathlib.Path(folder) / "data")
    try:
        with crash.Ask(server.address, server.token) as again:
            read_back(again, stored)
            absent(again, refused)
    finally:
        server.close()


def guard(directory, report):
    """min_free_bytes refuses before the file system is full."""
    with media.Mount(directory / "guard", "-t", "tmpfs", "-o", "size=96m", "tmpfs") as folder:
        troubled(folder, {"storage.min_free_bytes": "24MiB"}, Full(folder / "ballast", 32 << 20), report)


def no_space(directory, report):
    """Without a guard: what does not fit any more is refused before it is written."""
    with media.Mount(directory / "space", "-t", "tmpfs", "-o", "size=96m", "tmpfs") as folder:
        troubled(folder, {"storage.min_free_bytes": "0"}, Full(folder / "ballast", 32 << 20), report)


class Thin(Full):
    """The loop device takes a short write to its image for a whole one: what was synced last before
    the first error may be missing, also from a file that is written by hand. So the page cache, which
    has it, is not dropped here."""

    errno, keeps_what_it_synced = "ENOSPC", False


def thin(directory, report):
    """ENOSPC from below: an ext4 image whose own medium has no room for what it promised."""
    with media.Mount(directory / "medium", "-t", "tmpfs", "-o", "size=80m", "tmpfs") as medium:
        image = medium / "image"
        media.make_ext4(image, 160 << 20, "-O", "^has_journal")  # it would not survive a failed write
        with media.Disk(image) as disk, media.Mount(directory / "thin", disk.device) as folder:
            troubled(folder, {"storage.min_free_bytes": "0"}, Thin(medium / "ballast", 16 << 20), report)


class Failing:
    """A disk whose blocks fail from some point on. First there is room before it only, then behind."""

    status, code, errno, lasts_s, keeps_what_it_synced = 503, "StorageBusy", "EIO", 2.5, True
    # The first one meets it. A server that goes on writing to the same file is stopped at once: ext4
    # of Linux 6.18 does not survive that (kernel BUG in ext4_mb_use_inode_pa).
    most_objects = 1

    def __init__(self, disk, folder):
        self.disk, self.folder = disk, folder
        disk.spend_reserve()
        self.bad = media.Ballast(folder / "bad")
        self.bad.free(0, GOOD_BYTES)

    def move_room(self):
        media.Ballast(self.folder / "good")
        self.bad.free(GOOD_BYTES, DISK_BYTES)

    def fail(self):
        self.disk.end_at(GOOD_BYTES)

    def begin(self):
        self.move_room()
        self.fail()

    def end(self):
        self.disk.end_at(0)


@contextlib.contextmanager
def failing_disk(directory, name):
    image = directory / f"{name}.image"
    media.make_ext4(image, DISK_BYTES, "-J", "size=4")
    with media.Disk(image) as disk, media.Mount(directory / name, disk.device) as folder:
        yield folder, Failing(disk, folder)


def failing(directory, report):
    """EIO on writing: what the kernel took into its cache does not reach the disk."""
    with failing_disk(directory, "failing") as (folder, trouble):
        troubled(folder, {"storage.min_free_bytes": "0"}, trouble, report)


def unreadable(directory, report):
    """EIO on reading: said so and not taken for damage; the rest is read as ever."""
    dice, near, far = random.Random(1), [], []
    with failing_disk(directory, "unreadable") as (folder, trouble):
        server = storage.Server(sets={**SETS, "storage.min_free_bytes": "0"}, data=folder / "data")
        try:
            with crash.Ask(server.address, server.token) as ask:
                refused = fill(ask, dice.randbytes, near, BEFORE)
                trouble.move_room()
                refused = refused or fill(ask, dice.randbytes, far, AFTER)
                if refused is not None:
                    raise crash.Wrong("refused before there was any trouble")
                forget(folder)
                trouble.fail()
                # One segment holds the end of the near ones and the first of the far ones.
                read_back(ask, near)
                for address, _ in far:
                    status, body = ask("GET", f"/o/{address}")
                    check_refusal(trouble, status, json.loads(body)["error"])
                report(f"{len(near)} objects are read, {len(far)} answer {status} {trouble.code}")
                trouble.end()
                read_back(ask, near + far)
        finally:
            server.close()


CASES = {"guard": guard, "no-space": no_space, "thin": thin, "failing": failing, "unreadable": unreadable}
# What may run unasked: with a broken server `failing` could hurt the machine's kernel.
HARMLESS = [name for name in CASES if name != "failing"]


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
