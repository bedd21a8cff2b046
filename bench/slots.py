"""An upstream with a fixed capacity: `slots.py ADDRESS PORT SLOTS`.

GET /busy/BYTES/MICROSECONDS occupies one of the slots for about that long, a quarter more or less, and is answered with
as many bytes; with times that are all alike the slots would fall into step, and whoever comes would wait for all of
them. Requests that find no free slot wait in the order in which they came. A slot that another request waits for is taken from the moment
it became due, not from the moment this program noticed: under load SLOTS seconds of work are done per second.
Whatever else is asked is answered at once."""

import collections
import gc
import heapq
import random
import select
import socket
import sys
import time

VARIATION = 0.25
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {}\r\n\r\n"


class Connection:
    def __init__(self, accepted):
        self.socket = accepted
        self.received = b""
        self.unsent = b""
        self.is_blocked = False


class Slots:
    def __init__(self, address, slots):
        self.free = slots
        self.running = []  # (due, number, connection, bytes)
        self.waiting = collections.deque()  # (connection, bytes, seconds)
        self.started = 0
        self.connections = {}
        self.answers = {}
        self.random = random.Random(1)
        self.listener = socket.create_server(address, backlog=4096)
        self.listener.setblocking(False)
        self.poll = select.epoll()
        self.poll.register(self.listener, select.EPOLLIN)

    def run(self):
        while True:
            # select() has microseconds where epoll_wait() has milliseconds.
            left = max(0, self.running[0][0] - time.monotonic()) if self.running else None
            select.select([self.poll], [], [], left)
            for descriptor, _ in self.poll.poll(0):
                if descriptor == self.listener.fileno():
                    self.accept()
                else:
                    self.serve(self.connections[descriptor])
            self.finish()

    def accept(self):
        while True:
            try:
                accepted, _ = self.listener.accept()
            except BlockingIOError:
                return
            accepted.setblocking(False)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections[accepted.fileno()] = Connection(accepted)
            self.poll.register(accepted, select.EPOLLIN)

    def serve(self, connection):
        try:
            received = connection.socket.recv(65536)
        except BlockingIOError:
            self.send(connection)
            return
        except OSError:
            received = b""
        if not received:
            self.close(connection)
            return
        connection.received += received
        while b"\r\n\r\n" in connection.received:
            head, connection.received = connection.received.split(b"\r\n\r\n", 1)
            self.ask(connection, head.split(b" ", 2)[1].decode().split("/"))

    def ask(self, connection, parts):
        if len(parts) != 4 or parts[1] != "busy":
            self.answer(connection, 0)
            return
        seconds = int(parts[3]) / 1e6 * self.random.uniform(1 - VARIATION, 1 + VARIATION)
        if self.free:
            self.free -= 1
            self.begin(time.monotonic(), connection, int(parts[2]), seconds)
        else:
            self.waiting.append((connection, int(parts[2]), seconds))

    def begin(self, now, connection, size, seconds):
        self.started += 1
        heapq.heappush(self.running, (now + seconds, self.started, connection, size))

    def finish(self):
        now = time.monotonic()
        while self.running and self.running[0][0] <= now:
            due, _, connection, size = heapq.heappop(self.running)
            while self.waiting and not self.waiting[0][0].socket:
                self.waiting.popleft()
            if self.waiting:
                self.begin(due, *self.waiting.popleft())
            else:
                self.free += 1
            if connection.socket:
                self.answer(connection, size)

    def answer(self, connection, size):
        if size not in self.answers:
            self.answers[size] = HEAD.format(size).encode() + bytes(size)
        connection.unsent = memoryview(self.answers[size])
        self.send(connection)

    def send(self, connection):
        try:
            while connection.unsent:
                connection.unsent = connection.unsent[connection.socket.send(connection.unsent):]
            if connection.is_blocked:
                self.poll.modify(connection.socket, select.EPOLLIN)
                connection.is_blocked = False
        except BlockingIOError:
            self.poll.modify(connection.socket, select.EPOLLIN | select.EPOLLOUT)
            connection.is_blocked = True
        except OSError:
            self.close(connection)

    def close(self, connection):
        del self.connections[connection.socket.fileno()]
        connection.socket.close()
        connection.socket = None


if __name__ == "__main__":
    gc.disable()  # there are no cycles, and a pause would be counted as the proxy's
    Slots((sys.argv[1], int(sys.argv[2])), int(sys.argv[3])).run()
