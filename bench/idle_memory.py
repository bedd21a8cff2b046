"""What an idle keep-alive connection costs: 10,000 of them, each after one answered request."""

import argparse
import json
import os
import pathlib
import socket
import sys
import time

from servers import ROOT, Ron, machine, raise_descriptor_limit, scratch_directory

WANTED_BYTES = 16 * 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--connections", type=int, default=10_000)
    options = parser.parse_args()
    raise_descriptor_limit()
    with scratch_directory() as directory:
        body = pathlib.Path(directory) / "object"
        body.write_bytes(os.urandom(1024))
        server = Ron(directory)
        open_sockets = []
        try:
            path = "/" + server.put(body).split("/", 3)[3]
            request = f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode()
            before = server.rss_bytes()
            for _ in range(options.connections):
                connection = socket.create_connection(("127.0.0.1", server.port))
                connection.sendall(request)
                received = b""
                while not received.partition(b"\r\n\r\n")[2][1023:]:
                    received += connection.recv(65536)
                open_sockets.append(connection)
            time.sleep(1)
            after = server.rss_bytes()
        finally:
            for connection in open_sockets:
                connection.close()
            server.stop()
    each = (after - before) / options.connections
    print(f"{options.connections} idle keep-alive connections: {(after - before) / 2**20:.1f} MiB more, "
          f"{each:.0f} bytes each (wanted at most {WANTED_BYTES})")
    document = {"benchmark": "idle_memory", "machine": machine(), "connections": options.connections,
                "rss_before": before, "rss_after": after, "bytes_each": each}
    (ROOT / "bench" / "results" / "idle_memory.json").write_text(json.dumps(document, indent=1) + "\n")
    return 0 if each <= WANTED_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
