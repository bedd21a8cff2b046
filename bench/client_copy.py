"""`ron put` and `ron get` of a large file against what a careful person does by hand on the same disk: b3sum + cp +
sync, and cp + sync. Wall-clock seconds, interleaved; both sides may use every CPU."""

import argparse
import pathlib
import statistics
import subprocess
import sys
import time

import rounds
from disk_get import make_large
from servers import RON, Ron, b3sum, raise_descriptor_limit, scratch_directory

WANTED = 1.3


def timed(*command, shell=False):
    began = time.monotonic()
    subprocess.run(command[0] if shell else command, shell=shell, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - began


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--mib", type=int, default=2048)
    parser.add_argument("--dir", default=None)
    options = parser.parse_args()
    raise_descriptor_limit()
    samples = []
    with scratch_directory(options.dir) as directory:
        folder = pathlib.Path(directory)
        source = make_large(folder, options.mib << 20)
        address = "b3:" + b3sum(source)
        server = Ron(folder, data=folder / "data", cores=2, pinned=False)
        flags = ["--url", server.base, "--token", str(server.token_file), "-q"]
        try:
            for _ in range(options.rounds):
                copy, got = folder / "copy", folder / "got"
                sample = {"b3sum_cp_sync": timed(f"b3sum {source} && cp {source} {copy} && sync {copy}", shell=True)}
                copy.unlink()
                sample["put"] = timed(RON, "put", *flags, "--no-resume", source)
                sample["cp_sync"] = timed(f"cp {source} {copy} && sync {copy}", shell=True)
                copy.unlink()
                sample["get"] = timed(RON, "get", *flags, address, "-o", got)
                if b3sum(got) != address[3:]:
                    raise SystemExit("ron get brought other bytes")
                got.unlink()
                subprocess.run([RON, "rm", *flags[:-1], address], check=True, stdout=subprocess.DEVNULL)
                samples.append(sample)
        finally:
            server.stop()
    middle = {key: statistics.median(sample[key] for sample in samples) for key in samples[0]}
    put = statistics.median(s["put"] / s["b3sum_cp_sync"] for s in samples)
    get = statistics.median(s["get"] / s["cp_sync"] for s in samples)
    print(f"{options.mib} MiB: put {middle['put']:.2f} s, b3sum + cp + sync {middle['b3sum_cp_sync']:.2f} s: {put:.2f} (wanted at most {WANTED})")
    print(f"{options.mib} MiB: get {middle['get']:.2f} s, cp + sync {middle['cp_sync']:.2f} s: {get:.2f} (wanted at most {WANTED})")
    rounds.write_result("client_copy", {"mib": options.mib, "samples": samples, "put_ratio": put, "get_ratio": get})
    return 0 if put <= WANTED and get <= WANTED else 1


if __name__ == "__main__":
    sys.exit(main())
