"""One address that opens more connections than it may, in a process of its own.

    flood.py HOST PORT COUNT SOURCE

opens COUNT connections from SOURCE, one after the other as fast as the machine goes, and reads what
the server says to each. Prints one JSON line when every connection was opened and the refused ones
have ended: when it began and ended (time.monotonic() of this machine), how many are kept, and how
many were refused with which status and error code, or without an answer. The kept ones stay open
until standard input ends.

It steps back behind the server and its clients: whoever floods a server does not take its
processors.
"""

import collections
import json
import os
import select
import socket
import sys
import time

import ron

IP_BIND_ADDRESS_NO_PORT = 24  # ports are chosen when the other end is known


class Flood:
    def __init__(self, address, source):
        self.address, self.source = address, source
        self.poll = select.epoll()
        self.open = {}  # by descriptor: the socket and what came
        self.refused = collections.Counter()

    def connect(self):
        client = socket.socket()
        client.setsockopt(socket.IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, 1)
        client.bind((self.source, 0))
        client.settimeout(10 * ron.SLOW)
        try:
            client.connect(self.address)
        except OSError as error:
            self.refused[f"not connected: {error}"] += 1
            client.close()
            return
        client.setblocking(False)
        self.open[client.fileno()] = [client, b""]
        self.poll.register(client.fileno(), select.EPOLLIN)

    def hear(self, timeout):
        """What has come by then; False if nothing has."""
        events = self.poll.poll(timeout, 4096)
        for descriptor, _ in events:
            entry = self.open[descriptor]
            try:
                piece = entry[0].recv(65536)
            except OSError:
                piece = b""
            entry[1] += piece
            if not piece:
                self.end(descriptor)
        return bool(events)

    def end(self, descriptor):
        self.poll.unregister(descriptor)
        client, received = self.open.pop(descriptor)
        client.close()
        head, mark, body = received.partition(b"\r\n\r\n")
        if not mark:
            self.refused["no answer"] += 1
            return
        response = ron.parse_head(head + mark)
        self.refused[f"{response.status} {json.loads(body)['error']['code']}"] += 1


def main():
    host, port, count, source = sys.argv[1:]
    ron.more_descriptors()
    os.nice(10)
    flood = Flood((host, int(port)), source)
    began = time.monotonic()
    for number in range(int(count)):
        flood.connect()
        if number % 64 == 63:
            flood.hear(0)
    ended = time.monotonic()
    while flood.hear(0.5):
        pass
    print(json.dumps({"began": began, "ended": ended, "kept": len(flood.open),
                      "refused": flood.refused}), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
