"""Hostile answers: what an upstream may say to a proxy, and what a client may then be told.

Written as desync_table.py says: OWN__ marks the client that asked, BAD__ what must reach nobody but
as bytes of that client's body. Behind its script the upstream goes on as if nothing had been.
"""

import dataclasses

from desync_table import BAD, LAST_CHUNK, OWN, chunk
from strict_table import MAX_FIELDS, MAX_HEAD

CLOSE, RESET, PAUSE = "close", "reset", "pause"  # steps of a script besides bytes
GOOD = f"saw {OWN}"
STRANGER = f"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nX-Smuggled: {BAD}\r\n\r\nsaw {BAD}"


@dataclasses.dataclass
class Step:
    """Bytes, or one of the words above."""

    text: str = ""
    word: str = ""


@dataclasses.dataclass
class Reply:
    """A script and what may come of it: `right`, the (status, body) that the client gets if it gets
    an answer, with `fields` in it; `fails`, a typed error; `cut`, an answer that visibly breaks
    off."""

    name: str
    steps: list
    right: tuple | None
    fails: bool
    cut: bool
    method: str = "GET"
    fields: tuple = ()


class Table:
    def __init__(self):
        self.replies = []

    def _add(self, name, steps, right, fails, cut, **more):
        steps = steps if isinstance(steps, list) else [steps]
        steps = [Step(word=step) if step in (CLOSE, RESET, PAUSE) else Step(step)
                 for step in steps]
        self.replies.append(Reply(name, steps, right, fails, cut, **more))

    def fails(self, name, steps, **more):
        """Not an answer: 502 or 504."""
        self._add(name, steps, None, True, False, **more)

    def breaks(self, name, steps, **more):
        """A good head and a bad body: an error, or an answer that breaks off."""
        self._add(name, steps, None, True, True, **more)

    def right(self, name, steps, status=200, body=GOOD, **more):
        """A good answer, whatever comes with it."""
        self._add(name, steps, (status, body), False, False, **more)

    def either(self, name, steps, status=200, body=GOOD, **more):
        self._add(name, steps, (status, body), True, False, **more)


def reply(body, *fields, line="HTTP/1.1 200 OK"):
    return "\r\n".join([line, *fields, "", ""]) + body


def sized(body, *fields, **more):
    return reply(body, *fields, f"Content-Length: {len(body)}", **more)


def chunked(body, *fields, **more):
    return reply(body, *fields, "Transfer-Encoding: chunked", **more)


CHUNKS = chunk(GOOD) + LAST_CHUNK


def lengths(t):
    t.right("a plain answer", sized(GOOD))
    t.right("plain chunks", chunked(CHUNKS))
    t.right("an empty answer", sized(""), body="")
    size = len(GOOD)
    for name, value in {
            "list": f"{size}, {size}", "list of different": f"{size}, 0", "plus": f"+{size}",
            "negative": "-1", "hexadecimal": f"0x{size:x}", "two words": f"{size} {size}",
            "empty": "", "a word": "all", "2^64": str(2**64), "2^64 + n": str(2**64 + size),
            "200 digits": "9" * 200, "NUL": f"{size}\x00", "vertical tab": f"\x0b{size}",
            "fraction": f"{size}.0", "comma": f"{size},"}.items():
        t.fails(f"length: {name}", reply(GOOD + STRANGER, f"Content-Length: {value}"))
    t.fails("two different lengths", sized(GOOD + STRANGER, f"Content-Length: {size}"))
    t.fails("two different lengths, short last",
            reply(GOOD + STRANGER, "Content-Length: 900", f"Content-Length: {size}"))
    t.fails("two equal lengths", sized(GOOD, f"Content-Length: {size}"))
    t.fails("space before a length's colon", reply(GOOD, f"Content-Length : {size}"))
    t.fails("a folded length", reply(GOOD, "Content-Length:", f" {size}"))
    for name, codings in {
            "TE and CL": ["Transfer-Encoding: chunked", f"Content-Length: {len(CHUNKS)}"],
            "CL and TE": ["Content-Length: 4", "Transfer-Encoding: chunked"],
            "identity": ["Transfer-Encoding: identity"], "gzip": ["Transfer-Encoding: gzip"],
            "gzip, chunked": ["Transfer-Encoding: gzip, chunked"],
            "chunked twice": ["Transfer-Encoding: chunked, chunked"],
            "chunked, identity": ["Transfer-Encoding: chunked, identity"],
            "xchunked": ["Transfer-Encoding: xchunked"], "empty": ["Transfer-Encoding:"],
            "vertical tab": ["Transfer-Encoding: \x0bchunked"],
            "space before the colon": ["Transfer-Encoding : chunked"],
            "folded": ["Transfer-Encoding:", " chunked"],
            "quoted": ['Transfer-Encoding: "chunked"'],
            "two lines": ["Transfer-Encoding: chunked", "Transfer-Encoding: chunked"]}.items():
        t.fails(f"coding: {name}", reply(CHUNKS + STRANGER, *codings))
    t.fails("coding in HTTP/1.0", chunked(CHUNKS, line="HTTP/1.0 200 OK"))


def chunks(t):
    size = f"{len(GOOD):x}"
    for name, line in {
            "no hex": "xyz", "empty": "", "negative": f"-{size}", "plus": f"+{size}",
            "0x": f"0x{size}", "space first": f" {size}", "2^64 + n": f"1{int(size, 16):016x}",
            "NUL": f"{size}\x00", "bare CR": f"{size}\r"}.items():
        t.breaks(f"chunk size: {name}", chunked(f"{line}\r\n{GOOD}\r\n{LAST_CHUNK}{STRANGER}"))
        t.breaks(f"chunk size, later: {name}",
                 [chunked(chunk("abc")), PAUSE, f"{line}\r\n{GOOD}\r\n{LAST_CHUNK}{STRANGER}"])
    t.breaks("chunk size ends with LF", chunked(f"{size}\n{GOOD}\r\n{LAST_CHUNK}"))
    t.breaks("chunk without its end", chunked(f"{size}\r\n{GOOD}{LAST_CHUNK}{STRANGER}"))
    t.breaks("chunk longer than it says", chunked(f"3\r\n{GOOD}\r\n{LAST_CHUNK}{STRANGER}"))
    t.breaks("last chunk ends with LF", chunked(f"{chunk(GOOD)}0\n\n{STRANGER}"))
    t.breaks("a bad trailer", chunked(f"{chunk(GOOD)}0\r\nX-A : {BAD}\r\n\r\n"))
    t.breaks("a folded trailer", chunked(f"{chunk(GOOD)}0\r\nX-A: b\r\n {BAD}\r\n\r\n"))
    t.breaks("an answer in the trailers", chunked(f"{chunk(GOOD)}0\r\n{STRANGER}"))
    t.right("chunk in capitals, with zeros", chunked(f"00{size.upper()}\r\n{GOOD}\r\n{LAST_CHUNK}"))
    t.right("chunk with an extension", chunked(f"{size};a=b\r\n{GOOD}\r\n{LAST_CHUNK}"))
    t.right("a trailer", chunked(f"{chunk(GOOD)}0\r\nX-Smuggled: {BAD}\r\n\r\n"))
    t.breaks("a trailer that frames",
             chunked(f"{chunk(GOOD)}0\r\nContent-Length: 3\r\nX-A: {BAD}\r\n\r\n"))
    text = chunked(CHUNKS)
    t.right("in pieces", [piece for at in range(0, len(text), 40)
                          for piece in (text[at:at + 40], PAUSE)])


def endings(t):
    t.fails("closed at once", CLOSE)
    t.fails("reset at once", RESET)
    t.fails("closed in the status line", ["HTTP/1.1 2", CLOSE])
    t.fails("closed in the head", ["HTTP/1.1 200 OK\r\nContent-Le", CLOSE])
    t.fails("closed before the head's last line",
            [f"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nX-A: {BAD}\r\n", CLOSE])
    t.fails("a head that stops", ["HTTP/1.1 200 OK\r\nContent-Le"])
    t.fails("silence", [])
    t.breaks("closed in the body", [reply(GOOD, "Content-Length: 50"), CLOSE])
    t.breaks("closed before the body", [reply("", "Content-Length: 50"), CLOSE])
    t.breaks("reset in the body", [reply(GOOD, "Content-Length: 50"), PAUSE, RESET])
    t.breaks("a body that stops", [reply(GOOD, "Content-Length: 50")])
    t.breaks("closed behind a chunk", [chunked(chunk(GOOD)), CLOSE])
    t.breaks("closed in a chunk", [chunked("50\r\n" + GOOD), CLOSE])
    t.breaks("closed in the last chunk", [chunked(chunk(GOOD) + "0\r\n"), CLOSE])
    t.breaks("chunks that stop", [chunked(chunk(GOOD))])
    t.breaks("reset behind a chunk", [chunked(chunk(GOOD)), PAUSE, RESET])
    t.right("a body to the end", [reply(GOOD), CLOSE])
    t.right("HTTP/1.0", [reply(GOOD, line="HTTP/1.0 200 OK"), CLOSE])
    t.right("HTTP/1.0 with a length", [sized(GOOD, line="HTTP/1.0 200 OK"), CLOSE])
    t.breaks("a body to the end, reset", [reply(GOOD), PAUSE, RESET])
    t.right("Connection: close", [sized(GOOD, "Connection: close"), CLOSE])


def too_much(t):
    """Bytes behind the answer: on a connection that is kept they would be the next client's."""
    extras = {"an answer": STRANGER, "a line end": "\r\n", "garbage": f"{BAD}{BAD}",
              "half an answer": STRANGER[:30], "an interim answer": "HTTP/1.1 100 Continue\r\n\r\n"}
    for name, extra in extras.items():
        t.right(f"behind a length: {name}", sized(GOOD) + extra)
        t.right(f"behind a length, later: {name}", [sized(GOOD), PAUSE, extra, PAUSE])
        t.right(f"behind chunks: {name}", chunked(CHUNKS) + extra)
        t.right(f"behind chunks, later: {name}", [chunked(CHUNKS), PAUSE, extra, PAUSE])
    t.right("behind a closing answer", sized(GOOD, "Connection: close") + STRANGER)
    t.right("behind 204", "HTTP/1.1 204 No Content\r\n\r\n" + STRANGER, status=204, body="")
    t.right("behind 304", "HTTP/1.1 304 Not Modified\r\n\r\n" + STRANGER, status=304, body="")
    t.right("304 with a length and its body",
            sized(f"saw {BAD}", line="HTTP/1.1 304 Not Modified"), status=304, body="")
    t.right("behind an answer to HEAD", sized(f"saw {BAD}"), body="", method="HEAD")
    t.right("behind an answer to HEAD: chunks", chunked(chunk(f"saw {BAD}") + LAST_CHUNK), body="",
            method="HEAD")
    t.right("an answer to HEAD", reply("", "Content-Length: 9"), body="", method="HEAD",
            fields=(("content-length", "9"),))
    t.right("ten answers for one", sized(GOOD) + STRANGER * 10)
    t.right("an answer to POST and another", sized(GOOD) + STRANGER, method="POST")
    t.fails("204 with a length", sized(GOOD, line="HTTP/1.1 204 No Content"))
    t.fails("204 with chunks", chunked(CHUNKS, line="HTTP/1.1 204 No Content"))
    t.right("204 with length 0", sized("", line="HTTP/1.1 204 No Content"), status=204, body="")
    t.either("205 with a body", sized(GOOD, line="HTTP/1.1 205 Reset Content"), status=205)


def interim(t):
    going = "HTTP/1.1 100 Continue\r\n\r\n"
    t.right("100 first", going + sized(GOOD))
    t.right("102 and 103 first", "HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\n"
            f"Link: <{BAD}>\r\n\r\n" + sized(GOOD))
    t.right("100 first, to POST", going + sized(GOOD), method="POST")
    t.either("100, and a pause", [going, PAUSE, sized(GOOD)])
    t.fails("a flood of 100", going * 5000 + sized(GOOD))
    t.fails("a flood of 103 with fields",
            f"HTTP/1.1 103 Early Hints\r\nLink: <{BAD}>\r\n\r\n" * 2000 + sized(GOOD))
    t.fails("101 that nobody asked for", ["HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n"
                                          "Connection: Upgrade\r\n\r\n" + STRANGER])
    t.fails("100 with a length", sized(STRANGER, line="HTTP/1.1 100 Continue") + sized(GOOD))
    t.fails("100 with chunks", chunked(chunk(STRANGER) + LAST_CHUNK, line="HTTP/1.1 100 Continue")
            + sized(GOOD))
    t.fails("100 and the end", [going, CLOSE])
    t.fails("100 and silence", [going])


def heads(t):
    for name, line in {
            "status 099": "HTTP/1.1 099 X", "status 20": "HTTP/1.1 20 OK",
            "status 2000": "HTTP/1.1 2000 OK", "status 600": "HTTP/1.1 600 X",
            "status 000": "HTTP/1.1 000 X", "a signed status": "HTTP/1.1 +20 OK",
            "a word for a status": "HTTP/1.1 abc OK", "no status": "HTTP/1.1",
            "two spaces": "HTTP/1.1  200 OK", "a tab": "HTTP/1.1\t200 OK",
            "HTTP/2.0": "HTTP/2.0 200 OK", "HTTP/2": "HTTP/2 200 OK", "HTTP/1.2": "HTTP/1.2 200 OK",
            "HTTP/0.9": "HTTP/0.9 200 OK", "lower case": "http/1.1 200 OK", "ICY": "ICY 200 OK",
            "HTTPS": "HTTPS/1.1 200 OK", "NUL in the reason": "HTTP/1.1 200 O\x00K",
            "CR in the reason": f"HTTP/1.1 200 OK\rX-Smuggled: {BAD}",
            "LF in the reason": f"HTTP/1.1 200 OK\nX-Smuggled: {BAD}",
            "space first": " HTTP/1.1 200 OK", "an empty line first": "\r\n\r\nHTTP/1.1 200 OK",
            "garbage": BAD, "a request": f"GET /{BAD} HTTP/1.1"}.items():
        t.fails(f"status line: {name}", sized(GOOD, line=line))
    t.fails("a body without a head", f"<html>{BAD}</html>\r\n\r\n")
    t.right("no reason", sized(GOOD, line="HTTP/1.1 200"))
    t.right("an unknown status", sized(GOOD, line="HTTP/1.1 299 Odd"), status=299)
    t.right("an error of the upstream's own", sized(GOOD, line="HTTP/1.1 418 Teapot"), status=418)
    hidden = f"X-Smuggled: {BAD}"
    for name, extra in {
            "bare LF": f"X-A: b\n{hidden}", "bare CR": f"X-A: b\r{hidden}", "NUL": f"X-A: b\x00",
            "escape": "X-A: \x1b[0m", "DEL": "X-A: \x7f", "vertical tab": "X-A: \x0b",
            "fold": f"X-A: b\r\n {hidden}", "fold with a tab": f"X-A: b\r\n\t{hidden}",
            "fold first": f" {hidden}", "space before the colon": f"X-Smuggled : {BAD}",
            "no colon": BAD, "no name": f": {BAD}", "name with a space": f"X A: {BAD}",
            "name is not ASCII": f"X-\xe4: {BAD}", "CR CR LF": f"X-A: b\r\r\n{hidden}",
            "an end before the end": f"\n\n{STRANGER}"}.items():
        t.fails(f"field: {name}", sized(GOOD, extra))
    t.fails("LF for every line end", sized(GOOD).replace("\r\n", "\n"))
    t.fails("LF ends the head", sized(GOOD).replace("\r\n\r\n", "\n\n"))
    t.fails("a head of 100 KiB", sized(GOOD, f"X-A: {'b' * 100000}"))
    t.fails("a head without end", reply("", *["X-A: " + "b" * 1000] * 1000)[:-2])
    t.fails("1000 fields", sized(GOOD, *["X-A: b"] * 1000))


def fields(t):
    """What goes on and what does not."""
    t.right("cookies stay apart and in order",
            sized(GOOD, "Set-Cookie: a=1", "X-A: b", "Set-Cookie: b=2, c=3", "Set-Cookie: a=4"),
            fields=(("set-cookie", "a=1"), ("set-cookie", "b=2, c=3"), ("set-cookie", "a=4")))
    for name, extra in {
            "Connection names it": ("Connection: X-Own", f"X-Own: {BAD}"),
            "Connection names it in another case": (f"X-OWN: {BAD}", "Connection: , x-own"),
            "Connection names a cookie": ("Connection: Set-Cookie", f"Set-Cookie: {BAD}"),
            "Keep-Alive": (f"Keep-Alive: {BAD}",), "Proxy-Authenticate":
            (f"Proxy-Authenticate: {BAD}",), "Proxy-Connection": (f"Proxy-Connection: {BAD}",),
            "Upgrade": (f"Upgrade: {BAD}",), "Trailer": (f"Trailer: {BAD}",),
            "TE": (f"TE: {BAD}",), "a correlation id": (f"X-Corr-ID: {BAD}",)}.items():
        t.right(f"for one hop: {name}", sized(GOOD, *extra))
    t.either("Connection names Content-Length", sized(GOOD, "Connection: Content-Length"))
    t.either("Connection is no list", sized(GOOD, "Connection: @"))
    t.either("Content-Type twice", sized(GOOD, "Content-Type: text/plain", "Content-Type: x/y"))
    t.either("Date twice", sized(GOOD, "Date: Mon, 16 Nov 2026 09:00:00 GMT",
                                 "Date: Mon, 16 Nov 2026 09:00:01 GMT"))
    t.right("a coding of the content stays", sized(GOOD, "Content-Encoding: gzip"),
            fields=(("content-encoding", "gzip"),))
    t.right("obs-text", sized(GOOD, "X-A: \xff\x80"), fields=(("x-a", "\xff\x80"),))
    t.right("an empty field", sized(GOOD, "X-A:"), fields=(("x-a", ""),))
    most = MAX_FIELDS - 1  # one is the length
    t.right("as many as there may be", sized(GOOD, *["X-A: b"] * most),
            fields=(("x-a", "b"),) * most)
    room = MAX_HEAD - len(sized("", "X-A: "))
    for spare in (0, 100, 300, 1000):
        t.either(f"{spare} bytes less than the longest head",
                 sized(GOOD, "X-A: " + "b" * (room - spare)))


GROUPS = (lengths, chunks, endings, too_much, interim, heads, fields)


def build(*groups):
    table = Table()
    for group in groups or GROUPS:
        group(table)
    return table.replies
