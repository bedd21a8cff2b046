"""Random bytes with addresses from the reference tool, made many at a time."""

import pathlib
import random
import subprocess
import tempfile

PART = 1 << 20


class Payload:
    """Bytes that can be made again from their seed, so that thousands can be remembered."""

    def __init__(self, seed, size, address):
        self.seed, self.size, self.address = seed, size, address

    def bytes(self):
        return random.Random(self.seed).randbytes(self.size)


def make(seeds_and_sizes):
    """One payload for each (seed, size), with one call of b3sum for all."""
    wanted = list(seeds_and_sizes)
    if not wanted:
        return []
    with tempfile.TemporaryDirectory(prefix="ron-payloads-", dir="/dev/shm") as folder:
        files = []
        for i, (seed, size) in enumerate(wanted):
            path = pathlib.Path(folder) / str(i)
            path.write_bytes(random.Random(seed).randbytes(size))
            files.append(path)
        out = subprocess.run(["b3sum", "--no-names", *files], check=True, capture_output=True,
                             text=True).stdout.split()
    return [Payload(seed, size, "b3:" + hash_)
            for (seed, size), hash_ in zip(wanted, out, strict=True)]
