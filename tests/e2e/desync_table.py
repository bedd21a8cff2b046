"""What a hostile request is: raw bytes, and the one way in which they may be read, if there is one.

Bytes are written as latin-1 text with words of five letters in place of what differs from run to
run, so that lengths in them stay true: OWN__ marks the request, NXT__ the honest one behind it, and
BAD__ what must never arrive as anything but bytes of a body. `/UP` leads to the upstream.
"""

import dataclasses
import re

OWN, NEXT, BAD = "OWN__", "NXT__", "BAD__"
LETTERS = {OWN: "o", NEXT: "n", BAD: "b"}
# `t`: see desync_run.py. Behind an encoded slash it is one as well.
MARK = re.compile(r"(?:(?<![0-9a-z])|(?<=%2f)|(?<=%5c))[onbt][0-9]{4}(?![0-9a-z])")
PREFIX = re.compile(r"[a-z]{2}")

FOLLOWING = f"GET /UP/{NEXT} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
SMUGGLED = f"GET /UP/{BAD} HTTP/1.1\r\nHost: test\r\nX-Smuggled: {BAD}\r\n\r\n"


def mark(word, number):
    return f"{LETTERS[word]}{number:04d}"


def fill(text, prefix, number):
    """`text` as bytes for the upstream behind /`prefix` in the case `number`."""
    assert PREFIX.fullmatch(prefix)
    text = text.replace("/UP", "/" + prefix)
    for word in LETTERS:
        text = text.replace(word, mark(word, number))
    return text.encode("latin-1")


@dataclasses.dataclass
class Hostile:
    """One message and what is sent behind it. `reads` are the requests that may go on, in order:
    (marker, body). `must` says that all of them do and are answered. `cut`: the head is fine and
    the body is not, so that an upstream may see the beginning, though never the end."""

    name: str
    text: str
    reads: list
    must: bool = False
    cut: bool = False
    to_head: bool = False

    def sent(self, prefix, number):
        return fill(self.text, prefix, number)

    def readings(self, prefix, number):
        return [(mark(word, number), fill(body, prefix, number)) for word, body in self.reads]


class Table:
    def __init__(self):
        self.messages = []

    def _add(self, name, text, reads, **more):
        self.messages.append(Hostile(name, text, reads, **more))

    def refused(self, name, text):
        """Nothing of it may go on, nor of what follows: where it ends is anyone's guess."""
        self._add(name, text + FOLLOWING, [])

    def cut(self, name, text, follow=True):
        """A good head with a body that breaks off or goes wrong."""
        self._add(name, text + (FOLLOWING if follow else ""), [], cut=True)

    def unfinished(self, name, text):
        """Ends inside the head."""
        self._add(name, text, [])

    def read(self, name, text, body="", **more):
        """Goes on with this body, or not at all."""
        self._add(name, text + FOLLOWING, [(OWN, body), (NEXT, "")], **more)

    def must(self, name, text, body="", **more):
        """Nothing is wrong with it."""
        self.read(name, text, body, must=True, **more)

    def denied(self, name, text):
        """Understood and not for the upstream; what follows may go on."""
        self._add(name, text + FOLLOWING, [(NEXT, "")])


def head(*fields, method="GET", target=f"/UP/{OWN}", version="HTTP/1.1", host="test"):
    hosts = [] if host is None else [f"Host: {host}"]
    return "\r\n".join([f"{method} {target} {version}", *hosts, *fields, "", ""])


def post(body, *fields, **more):
    return head(*fields, **{"method": "POST", **more}) + body


def sized(body, *fields, **more):
    return post(body, *fields, f"Content-Length: {len(body)}", **more)


def chunked(body, *fields, **more):
    return post(body, *fields, "Transfer-Encoding: chunked", **more)


def chunk(data):
    return f"{len(data):x}\r\n{data}\r\n"


LAST_CHUNK = "0\r\n\r\n"


def build(*groups):
    table = Table()
    for group in groups:
        group(table)
    return table.messages
