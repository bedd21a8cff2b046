"""Sends hostile requests through a proxy, one after the other and each over a connection of its
own, and keeps what the clients were answered.

Behind each comes an honest request of another client, marked with a `t`: whatever the hostile one
left behind on a connection to the upstream would be that one's answer.
"""

import dataclasses
import random
import socket
import threading

import desync_parser as parser
import ron

TIMEOUT_S = 15 * ron.SLOW


@dataclasses.dataclass
class Outcome:
    """Of one message: what came back until the connection's end, and whether it ended."""

    received: bytes = b""
    ended: bool = True
    then: bytes = b""  # the answer to the honest request behind it


def cut(sent, pieces):
    """Into so many pieces at most, at places that are the same each time."""
    places = random.Random(len(sent)).choices(range(len(sent) + 1), k=pieces - 1)
    ends = sorted({0, *places, len(sent)})
    return [sent[first:last] for first, last in zip(ends, ends[1:])]


def talk(address, sent, pieces=1):
    """Sends everything, says that there is no more, and reads to the end."""
    with socket.create_connection(address, timeout=TIMEOUT_S) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = bytearray()
        try:
            for piece in cut(sent, pieces):
                client.sendall(piece)
            client.shutdown(socket.SHUT_WR)
        except OSError:
            pass  # it was refused before it was all sent; the answer may still be there
        try:
            while piece := client.recv(1 << 16):
                received += piece
        except ConnectionError:
            pass
        except TimeoutError:
            return bytes(received), False
    return bytes(received), True


def honest(prefix, mark):
    return (f"GET /{prefix}/{mark} HTTP/1.1\r\nHost: test\r\n"
            f"Connection: close\r\n\r\n").encode()


class Run:
    """All `messages` through the proxy at `address` to each of the `prefixes`; the upstreams are
    asked at the same time, each for one message at a time, which is sent in so many `pieces`."""

    def __init__(self, address, prefixes, messages, pieces=1):
        self.address = address
        self.pieces = pieces
        self.messages = messages
        self.outcomes = {prefix: [Outcome() for _ in messages] for prefix in prefixes}
        self.failures = []
        threads = [threading.Thread(target=self._work, args=(prefix,), daemon=True)
                   for prefix in prefixes]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if self.failures:
            raise self.failures[0]

    def _work(self, prefix):
        try:
            for number, message in enumerate(self.messages):
                outcome = self.outcomes[prefix][number]
                sent = message.sent(prefix, number)
                outcome.received, outcome.ended = talk(self.address, sent, self.pieces)
                outcome.then, _ = talk(self.address, honest(prefix, f"t{number:04d}"))
        except Exception as error:  # noqa: BLE001: told by the thread that waits
            self.failures.append(error)


def settle(upstreams):
    """Waits until what was sent is in the logs: two looks that see the same, both sides at rest."""
    def count():
        return [len(each.seen()) for each in upstreams]

    before = []

    def is_still():
        now = count()
        still = bool(before) and before[-1] == now
        before.append(now)
        return still

    ron.wait_until("logs at rest", is_still, pause=0.3)


def then_is_right(outcome, number):
    """The honest request got its own answer, and nothing else."""
    try:
        responses, rest = parser.read_responses(outcome.then)
    except parser.Malformed:
        return False
    return (len(responses) == 1 and not rest and responses[0].status == 200
            and responses[0].body == b"saw t%04d" % number)
