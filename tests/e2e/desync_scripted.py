"""Upstreams that answer by a script (desync_replies.py), clients that ask for it through a proxy,
and the verdict on what those were told.

Each reply has an upstream of its own, so that what one breaks is not laid at another's door. Four
clients ask one after the other: `t` finds the upstream well, and a proxy keeps its connection; `o`
gets the script; two `n` must get their own answers, whatever the script left behind.

  mixed  the client got bytes of another's answer, or what cannot be read in one way
  wrong  an answer that is not the right one, or not allowed here
  next   a client behind it did not get its own answer
"""

import concurrent.futures
import itertools
import socket
import struct
import threading

import desync_parser as parser
import desync_replies as replies
import ron
from desync_judge import is_envelope
from desync_run import QUIET_S, talk
from desync_seen import saw
from desync_table import BAD, MARK, NEXT, fill, mark

PAUSE_S = 0.03
AT_ONCE = 8  # scripts
FAILURES = {502: {"UpstreamFail"}, 504: {"Timeout"}}


def prefix_of(number):
    """Two letters."""
    return chr(ord("a") + number // 26) + chr(ord("a") + number % 26)


class Scripted:
    """One reply's upstream."""

    def __init__(self, reply, number):
        self.reply = reply
        self.number = number
        self.prefix = prefix_of(number)
        self.played = threading.Event()  # the script came to its end once
        self.served = []  # (connection, marker) of each request, in order
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = self.listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        for connection in itertools.count():
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(peer, connection), daemon=True).start()

    def _serve(self, peer, connection):
        unread = b""
        with peer:
            try:
                peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                while piece := peer.recv(1 << 16):
                    unread += piece
                    while unread:
                        try:
                            request, unread = parser.read_request(unread)
                        except parser.Unfinished:
                            break
                        self._answer(peer, request, connection)
            except (OSError, parser.Malformed):
                pass

    def _answer(self, peer, request, connection):
        asked = MARK.search(request.target)[0]
        self.served.append((connection, asked))
        if asked[0] != "o":
            peer.sendall(saw(asked, "scripted", request.method == "HEAD"))
            return
        try:
            for step in self.reply.steps:
                self._play(peer, step)
        finally:
            self.played.set()

    def _play(self, peer, step):
        if step.word == replies.PAUSE:
            threading.Event().wait(PAUSE_S)
        elif step.word == replies.RESET:
            peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            raise ConnectionError
        elif step.word == replies.CLOSE:
            raise ConnectionError
        else:
            peer.sendall(fill(step.text, self.prefix, self.number))

    def close(self):
        self.listener.close()


class Clients:
    """Of one upstream, through the proxy at this address; see desync_run.talk for `quiet`."""

    def __init__(self, proxy, upstream, quiet):
        self.proxy = proxy
        self.upstream = upstream
        self.quiet = quiet

    def ask(self, letter, method="GET"):
        target = f"/{self.upstream.prefix}/{letter}{self.upstream.number:04d}"
        length = "Content-Length: 0\r\n" if method == "POST" else ""
        return talk(self.proxy, f"{method} {target} HTTP/1.1\r\nHost: test\r\n{length}"
                                "Connection: close\r\n\r\n".encode(), quiet=self.quiet)


def findings(clients, upstream):
    """Plays one script."""
    before, _ = clients.ask("t")
    if not is_own(before, "t%04d" % upstream.number):
        yield f"next: the first client was told {before[:120]!r}"
    received, ended = clients.ask("o", upstream.reply.method)
    upstream.played.wait(ron.REPLY_S)
    yield from verdict(upstream, received, ended)
    for _ in range(2):
        received, _ = clients.ask("n")
        if not is_own(received, mark(NEXT, upstream.number)):
            yield f"next: {received[:200]!r}"


def is_own(received, wanted):
    try:
        responses, rest = parser.read_responses(received)
    except parser.Malformed:
        return False
    return (len(responses) == 1 and not rest and responses[0].status == 200
            and responses[0].body == f"saw {wanted}".encode())


def verdict(upstream, received, ended):
    reply = upstream.reply
    if not ended:
        yield "wrong: the connection did not end"
    if mark(BAD, upstream.number).encode() in received:
        yield f"mixed: {received[:300]!r}"
        return
    try:
        responses, rest = parser.read_responses(received, reply.method == "HEAD")
    except parser.Malformed as error:
        yield f"mixed: {error}"
        return
    if len(responses) > 1 or (responses and rest):
        yield f"mixed: more than one answer in {received[:300]!r}"
    elif not responses:
        if not (reply.cut and rest):
            yield f"wrong: it was cut: {received[:120]!r}"
    elif is_failure(responses[0]):
        if not reply.fails:
            yield f"wrong: {responses[0].status} {responses[0].body[:200]!r}"
    else:
        yield from difference(upstream, responses[0])


def is_failure(response):
    """A typed error of the proxy's own."""
    codes = FAILURES.get(response.status)
    if not codes or not is_envelope(response):
        return False
    return any(b'"%s"' % code.encode() in response.body for code in codes)


def difference(upstream, response):
    """Between an answer and the only right one."""
    reply = upstream.reply
    if reply.right is None:
        yield f"wrong: an answer was made of it: {response.status} {response.body[:120]!r}"
        return
    status, body = reply.right
    body = fill(body, upstream.prefix, upstream.number)
    if (response.status, response.body) != (status, body):
        yield f"wrong: {response.status} {response.body[:120]!r}"
    for name in {name for name, _ in reply.fields}:
        wanted = [value for key, value in reply.fields if key == name]
        if response.all(name) != wanted:
            yield f"wrong: {name} is {response.all(name)}"
    for name in ("date", "x-corr-id", "content-type", "connection"):
        if len(response.all(name)) > 1:
            yield f"wrong: {name} twice"


def play(proxy, upstreams, quiet=QUIET_S):
    """{reply's name: findings} of all scripts, several at a time."""
    def work(upstream):
        return list(findings(Clients(proxy, upstream, quiet), upstream))

    with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        found = pool.map(work, upstreams)
        return {upstream.reply.name: each for upstream, each in zip(upstreams, found) if each}
