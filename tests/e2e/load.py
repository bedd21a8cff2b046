"""Clients in a process of their own, so that their work does not blur what a test measures.

    load.py dribble HOST PORT COUNT SECONDS STEP HEAD_FILE

keeps COUNT connections busy for SECONDS: each sends the head in HEAD_FILE at once (it may be empty)
and then one byte every STEP seconds, until the server cuts it; then it starts again while there is
time. Prints `ready` when all are connected, and in the end one JSON line with every cut: status,
error code and seconds since the connection's first byte.
"""

import json
import pathlib
import selectors
import socket
import sys
import time

import ron


class Dribbler:
    def __init__(self, address, head):
        self.socket = socket.create_connection(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.socket.setblocking(False)
        self.received = b""
        self.began = time.monotonic()
        if head:
            self.socket.send(head)

    def drip(self):
        try:
            self.socket.send(b"a")
        except OSError:
            pass  # the answer is read where reading happens

    def read(self):
        """True when the server has ended the connection."""
        try:
            piece = self.socket.recv(65536)
        except BlockingIOError:
            return False
        except OSError:
            piece = b""
        self.received += piece
        return not piece

    def verdict(self):
        seconds = time.monotonic() - self.began
        self.socket.close()
        head, _, body = self.received.partition(b"\r\n\r\n")
        if not head:
            return {"status": 0, "code": "", "seconds": seconds}
        response = ron.parse_head(head + b"\r\n\r\n")
        return {"status": response.status, "code": json.loads(body)["error"]["code"],
                "seconds": seconds}


def dribble(address, count, seconds, step, head):
    selector = selectors.DefaultSelector()
    cuts = []

    def start():
        client = Dribbler(address, head)
        selector.register(client.socket, selectors.EVENT_READ, client)

    for _ in range(count):
        start()
    print("ready", flush=True)
    stop = time.monotonic() + seconds
    limit = stop + 15
    while selector.get_map() and time.monotonic() < limit:
        round_end = time.monotonic() + step
        for key in list(selector.get_map().values()):
            key.data.drip()
        while (left := round_end - time.monotonic()) > 0 and selector.get_map():
            for key, _ in selector.select(left):
                if not key.data.read():
                    continue
                selector.unregister(key.fileobj)
                cuts.append(key.data.verdict())
                if time.monotonic() < stop:
                    start()
    print(json.dumps({"cuts": cuts, "uncut": len(selector.get_map())}), flush=True)


def main():
    ron.more_descriptors()
    _, command, host, port, count, seconds, step, head_file = sys.argv
    assert command == "dribble"
    dribble((host, int(port)), int(count), float(seconds), float(step),
            pathlib.Path(head_file).read_bytes())


if __name__ == "__main__":
    main()
