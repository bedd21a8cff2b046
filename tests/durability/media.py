"""Small file systems to hurt: mounts, and a disk whose end can be taken away while it is in use."""

import array
import errno
import fcntl
import os
import pathlib
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "e2e"))
import ron  # noqa: E402

LOOP_SET_STATUS64, LOOP_GET_STATUS64 = 0x4C04, 0x4C05
LOOP_INFO_BYTES, LOOP_LIMIT_AT = 232, 32  # struct loop_info64 and its lo_sizelimit
FS_IOC_FIEMAP, FIEMAP_HEAD, FIEMAP_EXTENT = 0xC020660B, struct.Struct("=QQLLLL"), struct.Struct("=QQQ32x")
MOST_EXTENTS = 512


def make_ext4(image, size, *options):
    """All that the file system writes for itself, its journal too, is at the beginning."""
    with open(image, "wb") as file:
        file.truncate(size)
    subprocess.run(["mkfs.ext4", "-q", "-F", "-b", "4096", "-m", "0", "-E",
                    "lazy_itable_init=0,packed_meta_blocks=1", *options, image], check=True)


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


class Disk:
    """A loop device over an image. Blocks behind its end are an I/O error, as on a disk that fails
    there; where the end is can be changed while a file system is mounted."""

    def __init__(self, image):
        self.image = image

    def __enter__(self):
        made = subprocess.run(["losetup", "--find", "--show", self.image], check=True, capture_output=True)
        self.device = made.stdout.decode().strip()
        return self

    def __exit__(self, *_):
        subprocess.run(["losetup", "--detach", self.device], check=True)
        backing = pathlib.Path("/sys/block", pathlib.Path(self.device).name, "loop")
        # Whoever looks at the device just now keeps it, and its image, for a moment.
        ron.wait_until("the loop device to let go", lambda: not backing.exists(), 60 * ron.SLOW)

    def spend_reserve(self):
        """ext4 keeps some room back, wherever it likes; from now on files get all of it."""
        pathlib.Path("/sys/fs/ext4", pathlib.Path(self.device).name, "reserved_clusters").write_text("0")

    def end_at(self, limit):
        """Zero: where the image ends."""
        with open(self.device, "rb") as device:
            info = bytearray(fcntl.ioctl(device, LOOP_GET_STATUS64, bytes(LOOP_INFO_BYTES)))
            struct.pack_into("=Q", info, LOOP_LIMIT_AT, limit)
            fcntl.ioctl(device, LOOP_SET_STATUS64, bytes(info))


class Ballast:
    """A file that takes all room of its file system and gives it back by where it is on the disk."""

    def __init__(self, path):
        self.path = path
        self.take()

    def take(self):
        with open(self.path, "wb") as file:
            self.sync()
            for step in (1 << 20, 4096):
                self.grow(file, step)
            os.fsync(file.fileno())

    @staticmethod
    def grow(file, step):
        end = os.fstat(file.fileno()).st_size
        try:
            while True:
                os.posix_fallocate(file.fileno(), end, step)
                end += step
        except OSError as error:
            if error.errno != errno.ENOSPC:
                raise
            os.ftruncate(file.fileno(), end)  # part of the last step may have been taken

    def extents(self):
        """(offset in the file, offset on the disk, length) of each."""
        request = FIEMAP_HEAD.pack(0, 2**64 - 1, 1, 0, MOST_EXTENTS, 0)
        answer = array.array("B", request + bytes(FIEMAP_EXTENT.size * MOST_EXTENTS))
        with open(self.path, "rb") as file:
            fcntl.ioctl(file, FS_IOC_FIEMAP, answer)
        count = FIEMAP_HEAD.unpack_from(answer)[3]
        assert count < MOST_EXTENTS
        return [FIEMAP_EXTENT.unpack_from(answer, FIEMAP_HEAD.size + i * FIEMAP_EXTENT.size) for i in range(count)]

    def free(self, first, last):
        """Gives back what lies on the disk from `first` to before `last`."""
        for at, disk_at, length in self.extents():
            begin, end = max(first, disk_at), min(last, disk_at + length)
            if begin < end:
                subprocess.run(["fallocate", "--punch-hole", "--offset", str(at + begin - disk_at),
                                "--length", str(end - begin), self.path], check=True)
        self.sync()

    def sync(self):
        """What is only in memory has taken no room yet, and what was given back is not free yet."""
        subprocess.run(["sync", "--file-system", self.path], check=True)
