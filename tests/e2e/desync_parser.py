"""HTTP/1.1 read by the letter, for both sides of a proxy: what it sent on and what it answered.

Nothing here shares a line with the servers and clients under test. Whatever two recipients could
read in two ways is Malformed, even where the RFC would let it pass.
"""

import dataclasses
import re

TOKEN = r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
# Browsers send more than RFC 3986 allows; a space, a fragment, a backslash of a path or half an
# escape are read differently here and there.
PATH = r"/(?:[!-~](?<![#%?\\])|%[0-9A-Fa-f]{2})*"
QUERY = r"\?(?:[!-~](?<!#))*"
REQUEST_LINE = re.compile(rf"({TOKEN}) (\*|{PATH}(?:{QUERY})?) HTTP/1\.1")
STATUS_LINE = re.compile(r"HTTP/1\.1 ([1-5][0-9][0-9]) [\t\x20-\x7e\x80-\xff]*")
FIELD = re.compile(
    rf"({TOKEN}): ?((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)")
LENGTH = re.compile(r"0|[1-9][0-9]{0,18}")
CHUNK_SIZE = re.compile(rb"(?:0|[1-9a-fA-F][0-9a-fA-F]{0,15})")
END_OF_HEAD = b"\r\n\r\n"


class Malformed(AssertionError):
    """Not to be read in exactly one way."""


class Unfinished(Exception):
    """The beginning of a message: nothing is wrong with it so far."""


@dataclasses.dataclass
class Message:
    fields: list  # (name, value), names in lower case
    body: bytes = b""
    method: str = ""
    target: str = ""
    status: int = 0

    def all(self, name):
        return [value for key, value in self.fields if key == name]

    def get(self, name, default=None):
        return next(iter(self.all(name)), default)


def split_head(raw):
    """The lines of the head and what is behind it."""
    end = raw.find(END_OF_HEAD)
    if end < 0:
        raise Unfinished
    return raw[:end].decode("latin-1").split("\r\n"), raw[end + len(END_OF_HEAD):]


def read_fields(lines):
    fields = []
    for line in lines:
        match = FIELD.fullmatch(line)
        if not match:
            raise Malformed(f"field line {line!r}")
        fields.append((match[1].lower(), match[2]))
    return fields


def framing(message):
    """The length of the body, "chunked", or None if the message does not say."""
    lengths, codings = message.all("content-length"), message.all("transfer-encoding")
    if len(lengths) + len(codings) > 1:
        raise Malformed(f"framed twice: lengths {lengths}, codings {codings}")
    if codings:
        if codings != ["chunked"]:
            raise Malformed(f"transfer coding {codings[0]!r}")
        return "chunked"
    if not lengths:
        return None
    if not LENGTH.fullmatch(lengths[0]):
        raise Malformed(f"length {lengths[0]!r}")
    return int(lengths[0])


def read_sized(raw, length):
    if len(raw) < length:
        raise Unfinished
    return raw[:length], raw[length:]


def read_chunked(raw):
    """A body in plain chunks: neither extensions nor trailers."""
    pieces, at = [], 0
    while True:
        end = raw.find(b"\r\n", at)
        if end < 0:
            raise Unfinished
        if not CHUNK_SIZE.fullmatch(raw, at, end):
            raise Malformed(f"chunk size {raw[at:end][:80]!r}")
        size = int(raw[at:end], 16)
        data, at = end + 2, end + 2 + size + 2
        if len(raw) < at:
            raise Unfinished
        if raw[at - 2:at] != b"\r\n":
            raise Malformed(f"{raw[at - 2:at]!r} behind a chunk")
        if size == 0:
            return b"".join(pieces), raw[at:]
        pieces.append(raw[data:at - 2])


def read_body(message, raw):
    """Of a message that says how long it is; without saying so it has none."""
    form = framing(message)
    if form == "chunked":
        message.body, raw = read_chunked(raw)
    elif form:
        message.body, raw = read_sized(raw, form)
    return raw


def read_request(raw):
    """The first request of some bytes, and the bytes behind it."""
    lines, rest = split_head(raw)
    start = REQUEST_LINE.fullmatch(lines[0])
    if not start:
        raise Malformed(f"request line {lines[0]!r}")
    request = Message(read_fields(lines[1:]), method=start[1], target=start[2])
    if len(request.all("host")) != 1:
        raise Malformed(f"{len(request.all('host'))} Host fields")
    return request, read_body(request, rest)


def read_response(raw, to_head=False):
    """The first response of some bytes, and the bytes behind it. `to_head`: it answers HEAD."""
    lines, rest = split_head(raw)
    start = STATUS_LINE.fullmatch(lines[0])
    if not start:
        raise Malformed(f"status line {lines[0]!r}")
    response = Message(read_fields(lines[1:]), status=int(start[1]))
    form = framing(response)
    if response.status < 200 or response.status == 204:
        if form:
            raise Malformed(f"{response.status} announces a body")
        return response, rest
    if response.status == 304 or to_head:
        return response, rest
    if form is None:
        raise Malformed("an answer whose end cannot be told from a cut")
    return response, read_body(response, rest)


def read_responses(raw, to_head=False):
    """All final responses of a connection that has ended, and what is left: the beginning of one
    that was cut. `to_head`: the first answers HEAD."""
    responses = []
    while raw:
        try:
            response, raw = read_response(raw, to_head and not responses)
        except Unfinished:
            break
        if response.status >= 200:
            responses.append(response)
    return responses, raw
