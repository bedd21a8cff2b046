"""Clients in a process of their own, so that their work does not blur what a test measures.

    load.py dribble HOST PORT COUNT SECONDS STEP HEAD_FILE

keeps COUNT connections busy for SECONDS: each sends the head in HEAD_FILE at once (it may be empty)
and then one byte every STEP seconds, until the server cuts it; then it starts again while there is
time. Prints `ready` when all are connected, and in the end one JSON line with every cut: status,
error code and seconds since the connection's first byte.

    load.py volleys HOST PORT COUNT SECONDS HEAD_FILE

sends the request in HEAD_FILE over COUNT connections at once, asks for /healthz over one more while
they are being worked on, reads all the answers and does so again while there is time. Prints one JSON
line: how many answers were not a whole 200, and the seconds each volley and each /healthz took.
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


class Answer:
    """One answer as it arrives: only its status and its length matter."""

    def __init__(self):
        self.head = b""
        self.left = None
        self.good = False

    def take(self, piece):
        """True when it is complete."""
        if self.left is None:
            self.head += piece
            head, end, rest = self.head.partition(b"\r\n\r\n")
            if not end:
                return False
            response = ron.parse_head(head + end)
            self.good = response.status == 200
            self.left = int(response.get("Content-Length"))
            piece = rest
        self.left -= len(piece)
        return self.left <= 0


def volley(selector, head, probe):
    """How many of the answers were not good, and how long the probe took."""
    waiting = {}
    for key in selector.get_map().values():
        key.fileobj.send(head)
        waiting[key.fileobj] = Answer()
    bad = probe.ask("GET", "/healthz").status != 200  # now the others' requests have been read
    began = time.monotonic()
    bad += probe.ask("GET", "/healthz").status != 200
    took = time.monotonic() - began
    while waiting:
        for key, _ in selector.select():
            piece = key.fileobj.recv(1 << 20)
            answer = waiting.get(key.fileobj)
            if piece and answer and not answer.take(piece):
                continue
            if not piece:
                selector.unregister(key.fileobj)
            bad += not (piece and answer and answer.good)
            waiting.pop(key.fileobj, None)
    return bad, took


def volleys(address, count, seconds, head):
    selector = selectors.DefaultSelector()
    for _ in range(count):
        connection = socket.create_connection(address)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ)
    report = {"bad": 0, "volleys": [], "probes": []}
    stop = time.monotonic() + seconds
    with ron.Connection(address) as probe:
        while time.monotonic() < stop and selector.get_map():
            began = time.monotonic()
            bad, took = volley(selector, head, probe)
            report["bad"] += bad
            report["probes"].append(took)
            report["volleys"].append(time.monotonic() - began)
    print(json.dumps(report), flush=True)


def main():
    ron.more_descriptors()
    command, host, port, count, seconds = sys.argv[1:6]
    address = (host, int(port))
    head = pathlib.Path(sys.argv[-1]).read_bytes()
    if command == "volleys":
        return volleys(address, int(count), float(seconds), head)
    assert command == "dribble"
    return dribble(address, int(count), float(seconds), float(sys.argv[6]), head)


if __name__ == "__main__":
    main()
