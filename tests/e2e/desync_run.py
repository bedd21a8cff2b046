"""Sends hostile requests through a proxy, one after the other and each over a connection of its
own, and keeps what the clients were answered.

Behind each comes an honest request of another client, marked with a `t`: whatever the hostile one
left behind on a connection to the upstream would be that one's answer.
"""

import contextlib
import dataclasses
import random
import socket
import threading

import desync_parser as parser
import ron

TIMEOUT_S = 15 * ron.SLOW
QUIET_S = 3 * ron.SLOW  # then the client says that it has no more to send


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


def is_last(received):
    """The last answer is there and says that the connection ends."""
    try:
        responses, rest = parser.read_responses(bytes(received))
    except parser.Malformed:
        return False
    return bool(responses) and not rest and responses[-1].get("connection") == "close"


def read(client, received, timeout, until=lambda _: False):
    """Reads to the end: whether it came. Stops before that when `until` says so."""
    client.settimeout(timeout)
    try:
        while piece := client.recv(1 << 16):
            received += piece
            if until(received):
                return False
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


def talk(address, sent, pieces=1, quiet=QUIET_S):
    """Sends everything and reads to the end. A client says that it has no more to send when it was
    told to, after a `quiet` while, or at once if that is 0."""
    received = bytearray()
    with socket.create_connection(address, timeout=TIMEOUT_S) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        try:
            for piece in cut(sent, pieces):
                client.sendall(piece)
        except OSError:
            pass  # it was refused before it was all sent; the answer may still be there
        ended = quiet > 0 and read(client, received, quiet, is_last)
        if not ended:
            with contextlib.suppress(OSError):
                client.shutdown(socket.SHUT_WR)
            ended = read(client, received, TIMEOUT_S)
    return bytes(received), ended


def honest(prefix, mark):
    return (f"GET /{prefix}/{mark} HTTP/1.1\r\nHost: test\r\n"
            f"Connection: close\r\n\r\n").encode()


class Run:
    """All `messages` through the proxy at `address` to each of the `prefixes`; the upstreams are
    asked at the same time, each for one message at a time, which is sent in so many `pieces`."""

    def __init__(self, address, prefixes, messages, pieces=1, quiet=QUIET_S):
        self.address = address
        self.pieces = pieces
        self.quiet = quiet
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
                quiet = self.quiet if message.reads else 0
                outcome.received, outcome.ended = talk(self.address, sent, self.pieces, quiet)
                behind = honest(prefix, f"t{number:04d}")
                outcome.then, _ = talk(self.address, behind, quiet=self.quiet)
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
