"""The table of the strictness suite: raw bytes in, exact answers and connection state out."""

import dataclasses
import gzip
import zlib

DIGITS = b"0123456789abcdefghij"  # the object that ranges are cut from
KIB = 1024
MIB = 1024 * KIB
MAX_TARGET = 4 * KIB
MAX_HEAD = 16 * KIB
MAX_FIELDS = 64

OPEN, CLOSED = "open", "closed"
LEFT = "left"  # the client said it sends no more, so the end needs no announcement
HALF_CLOSE = object()  # a step: FIN from the client
CONTINUE = object()  # a step: the server must say 100 before the rest is sent
EACH_BYTE = object()  # a step: everything after it goes out byte by byte

CORR_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@dataclasses.dataclass
class Answer:
    status: int
    code: str | None = None  # of the error envelope
    body: bytes | None = None  # None: not looked at
    headers: dict = dataclasses.field(default_factory=dict)  # None: must be absent
    head_only: bool = False


@dataclasses.dataclass
class Case:
    name: str
    steps: list  # bytes and the markers above
    answers: list
    after: str  # OPEN, CLOSED or LEFT


class Table:
    """Collects cases. `text` is sent as latin-1; {names} are filled in from the world: addresses of
    stored objects, the token."""

    def __init__(self, world):
        self.world = world
        self.cases = []

    def fill(self, step):
        if isinstance(step, str):
            for name, value in self.world.items():
                step = step.replace("{" + name + "}", value)
            step = step.encode("latin-1")
        return step

    def add(self, name, steps, answers, after):
        if not isinstance(steps, list):
            steps = [steps]
        if not isinstance(answers, list):
            answers = [answers]
        answers = [Answer(a) if isinstance(a, int) else a for a in answers]
        self.cases.append(Case(name, [self.fill(step) for step in steps], answers, after))

    def refused(self, name, steps, status=400, code="Malformed"):
        """One error answer, then the end of the connection."""
        self.add(name, steps, Answer(status, code), CLOSED)

    def denied(self, name, steps, status, code, **more):
        """One error answer that leaves the connection usable."""
        self.add(name, steps, Answer(status, code, **more), OPEN)


def get(path, *fields, version="HTTP/1.1", method="GET"):
    return "\r\n".join([f"{method} {path} {version}", "Host: test", *fields, "", ""])


def post(body, *fields):
    """A write with a capability; body as latin-1 text."""
    return get("/o", "Authorization: Bearer {token}", *fields, method="POST") + body


def sized(body, *fields):
    return post(body, f"Content-Length: {len(body)}", *fields)


def chunked(body, *fields):
    return post(body, "Transfer-Encoding: chunked", *fields)


def text(data):
    return data.decode("latin-1")


def request_line_cases(t):
    ok = Answer(200, body=b'{"alive":true}')
    t.add("plain GET", get("/healthz"), ok, OPEN)
    t.add("one empty line first", "\r\n" + get("/healthz"), ok, OPEN)
    t.refused("two empty lines first", "\r\n\r\n" + get("/healthz"))
    t.refused("LF first", "\n" + get("/healthz"))
    t.denied("lower-case method", get("/healthz", method="get"), 501, "NotImplemented")
    t.denied("unknown method", get("/healthz", method="BREW"), 501, "NotImplemented")
    t.denied("TRACE", get("/healthz", method="TRACE"), 501, "NotImplemented")
    t.refused("method too long", get("/healthz", method="A" * 33))
    t.refused("method is not a token", get("/healthz", method="GE(T"))
    t.refused("method missing", " /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
    t.refused("two spaces", "GET  /healthz HTTP/1.1\r\nHost: test\r\n\r\n")
    t.refused("tabs between", "GET\t/healthz\tHTTP/1.1\r\nHost: test\r\n\r\n")
    t.refused("space at the end", "GET /healthz HTTP/1.1 \r\nHost: test\r\n\r\n")
    t.refused("space in the target", "GET /heal thz HTTP/1.1\r\nHost: test\r\n\r\n")
    t.refused("HTTP/0.9 form", "GET /healthz\r\n\r\n")
    t.refused("bare LF ends the line", "GET /healthz HTTP/1.1\nHost: test\r\n\r\n")
    t.refused("LF only throughout", "GET /healthz HTTP/1.1\nHost: test\n\n")
    t.refused("CR in the line", "GET /healthz\r HTTP/1.1\r\nHost: test\r\n\r\n")
    t.refused("NUL in the line", "GET /heal\0thz HTTP/1.1\r\nHost: test\r\n\r\n")
    for version in ("HTTP/2.0", "HTTP/1.2", "HTTP/0.9", "HTTP/3.0"):
        t.refused(version, get("/healthz", version=version), 505, "VersionNotSupported")
    for version in ("HTTP/1.1x", "http/1.1", "HTTP/1.10", "HTTP/1", "HTTPS/1.1", "HTTP/1,1", "1.1"):
        t.refused(f"version {version}", get("/healthz", version=version))
    t.refused("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "VersionNotSupported")
    t.refused("TLS hello", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + "x" * 32)
    t.refused("SSH banner", "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n")
    t.refused("zeros", "\0" * 64)
    close = Answer(200, headers={"Connection": "close"})
    t.add("HTTP/1.0 without Host", "GET /healthz HTTP/1.0\r\n\r\n", close, CLOSED)
    t.add("HTTP/1.0 with Host", get("/healthz", version="HTTP/1.0"), close, CLOSED)
    t.add("HTTP/1.0 keep-alive", get("/healthz", "Connection: keep-alive", version="HTTP/1.0"),
          Answer(200, headers={"Connection": "keep-alive"}), OPEN)
    t.add("byte by byte", [EACH_BYTE, get("/healthz")], ok, OPEN)
    t.add("byte by byte with a body", [EACH_BYTE, sized("slow but steady")], 201, OPEN)
    t.add("byte by byte chunked", [EACH_BYTE, chunked("6;x=y\r\nsteady\r\n0\r\nA: b\r\n\r\n")], 201, OPEN)
    t.refused("bad byte by byte", [EACH_BYTE, "GET /healthz HTTP/1.1\r\nHost: test\r\nA : b\r\n\r\n"])


def target_cases(t):
    t.add("absolute-form", get("http://test/healthz"), 200, OPEN)
    t.add("absolute-form, upper-case scheme", get("HTTP://TEST/healthz"), 200, OPEN)
    t.denied("absolute-form without a path", get("http://test"), 404, "NotFound")
    t.refused("absolute-form, other authority", get("http://elsewhere/healthz"))
    t.refused("absolute-form, other port", get("http://test:81/healthz"))
    t.refused("absolute-form, https", get("https://test/healthz"))
    t.refused("absolute-form with userinfo", get("http://me@test/healthz"))
    t.refused("absolute-form, empty authority", get("http:///healthz"))
    t.refused("authority-form", "CONNECT test:80 HTTP/1.1\r\nHost: test:80\r\n\r\n")
    t.refused("asterisk-form for GET", get("*"))
    t.add("asterisk-form for OPTIONS", get("*", method="OPTIONS"), Answer(204), OPEN)
    t.add("OPTIONS of a route", get("/o/{digits}", method="OPTIONS"),
          Answer(204, headers={"Allow": "GET, HEAD, PUT, DELETE"}), OPEN)
    t.denied("OPTIONS of nothing", get("/nowhere", method="OPTIONS"), 404, "NotFound")
    t.refused("relative target", get("healthz"))
    t.refused("fragment", get("/healthz#top"))
    t.refused("raw non-ASCII", get("/health\xe9"))
    t.refused("DEL", get("/health\x7f"))
    t.refused("backslash", get("/o\\x"))
    t.refused("percent without digits", get("/heal%zzthz"))
    t.refused("percent cut short", get("/healthz%4"))
    t.refused("encoded NUL", get("/healthz%00"))
    t.refused("encoded CR LF", get("/healthz%0d%0aX:%20y"))
    t.refused("encoded slash", get("/o%2f{digits}"))
    t.refused("dot segments", get("/o/../healthz"))
    t.refused("encoded dot segments", get("/o/%2e%2e/healthz"))
    t.refused("single dot segment", get("/./healthz"))
    t.refused("empty segment", get("//healthz"))
    t.add("encoded letters", get("/%68ealthz"), 200, OPEN)
    t.add("encoded colon of an address", get("/o/{digits}".replace(":", "%3A")), Answer(200, body=DIGITS), OPEN)
    t.add("query", get("/healthz?a=b&c"), 200, OPEN)
    t.denied("slash at the end", get("/healthz/"), 404, "NotFound")
    t.denied("no such route", get("/nowhere"), 404, "NotFound")
    t.denied("method of another route", get("/healthz", method="POST"), 405, "MethodNotAllowed",
             headers={"Allow": "GET, HEAD"})
    t.denied("PUT of the collection", get("/o", method="PUT"), 405, "MethodNotAllowed",
             headers={"Allow": "POST"})
    t.denied("PATCH of an object", get("/o/{digits}", method="PATCH"), 405, "MethodNotAllowed",
             headers={"Allow": "GET, HEAD, PUT, DELETE"})
    t.add("405 with an unread body", get("/o/{digits}", "Content-Length: 3", method="PATCH") + "abc",
          Answer(405, "MethodNotAllowed"), CLOSED)
    longest = "/" + "a" * (MAX_TARGET - 1)
    t.denied("longest target", get(longest), 404, "NotFound")
    t.refused("target too long", get(longest + "a"), 414, "UriTooLong")
    t.refused("target too long and unfinished", "GET /" + "a" * (MAX_TARGET + 64), 414, "UriTooLong")
    for bad in ("b3:", "b3:00", "{digits}0", "sha256:" + "0" * 64, "B3:" + "0" * 64, "b3:" + "g" * 64):
        t.denied(f"address {bad[:12]}", get("/o/" + bad), 400, "BadAddress")
    t.denied("absent object", get("/o/b3:" + "0" * 64), 404, "NotFound")
    t.add("address in upper case", get("/o/{DIGITS}"), Answer(200, body=DIGITS), OPEN)


def field_cases(t):
    t.refused("no Host", "GET /healthz HTTP/1.1\r\n\r\n")
    t.refused("two Hosts", get("/healthz", "Host: test"))
    for bad in ("", "a b", "a/b", "me@test", "test:99999", "test:x", "[::1", "[]", "a,b"):
        t.refused(f"Host {bad!r}", f"GET /healthz HTTP/1.1\r\nHost: {bad}\r\n\r\n")
    for good in ("[::1]:80", "127.0.0.1", "test:", "a-b.example:8081"):
        t.add(f"Host {good}", f"GET /healthz HTTP/1.1\r\nHost: {good}\r\n\r\n", 200, OPEN)
    t.refused("folded with a space", get("/healthz", "A: b", " c"))
    t.refused("folded with a tab", get("/healthz", "A: b", "\tc"))
    t.refused("folded before any field", "GET /healthz HTTP/1.1\r\n A: b\r\nHost: test\r\n\r\n")
    t.refused("space before the colon", get("/healthz", "A : b"))
    t.refused("tab before the colon", get("/healthz", "A\t: b"))
    t.refused("no colon", get("/healthz", "Ab"))
    t.refused("no name", get("/healthz", ": b"))
    t.refused("name is not a token", get("/healthz", "A(b): c"))
    t.refused("name is not ASCII", get("/healthz", "\xc3\xa4: c"))
    t.refused("NUL in a value", get("/healthz", "A: b\0c"))
    t.refused("NUL in a name", get("/healthz", "A\0: b"))
    t.refused("bare CR in a value", get("/healthz", "A: b\rc"))
    t.refused("bare LF in a value", get("/healthz", "A: b\nc: d"))
    t.refused("CR CR LF", get("/healthz", "A: b\r"))
    t.refused("escape byte in a value", get("/healthz", "A: \x1b[0m"))
    t.refused("DEL in a value", get("/healthz", "A: \x7f"))
    t.refused("vertical tab in a value", get("/healthz", "A: \x0b"))
    t.add("obs-text in a value", get("/healthz", "A: \xff\x80"), 200, OPEN)
    t.add("tab in a value", get("/healthz", "A: b\tc"), 200, OPEN)
    t.add("empty value", get("/healthz", "A:"), 200, OPEN)
    t.add("value with space around", get("/healthz", "A:  \t b \t "), 200, OPEN)
    t.add("most fields", get("/healthz", *["A: b"] * (MAX_FIELDS - 1)), 200, OPEN)
    t.refused("too many fields", get("/healthz", *["A: b"] * MAX_FIELDS), 431, "HeadTooLarge")
    fixed = len(get("/healthz", "A: "))
    t.add("longest head", get("/healthz", "A: " + "b" * (MAX_HEAD - fixed)), 200, OPEN)
    t.refused("head too long", get("/healthz", "A: " + "b" * (MAX_HEAD - fixed + 1)), 431, "HeadTooLarge")
    t.refused("head too long and unfinished", get("/healthz")[:-2] + "A: " + "b" * MAX_HEAD, 431, "HeadTooLarge")
    t.refused("head much too long", get("/healthz", *["A: " + "b" * 8000] * 20), 431, "HeadTooLarge")
    t.add("Connection: close", get("/healthz", "Connection: close"), 200, CLOSED)
    t.add("Connection: CLOSE in a list", get("/healthz", "Connection: keep-alive, CLOSE"), 200, CLOSED)
    t.add("Connection: close in a second line", get("/healthz", "Connection: x", "Connection: close"), 200, CLOSED)
    t.add("Connection with empty elements", get("/healthz", "Connection: , ,"), 200, OPEN)
    t.add("Upgrade is ignored", get("/healthz", "Connection: upgrade", "Upgrade: h2c"), 200, OPEN)
    t.refused("Connection is not a list of tokens", get("/healthz", "Connection: @"))
    t.refused("Connection drops Host", get("/healthz", "Connection: host"))
    t.refused("Connection drops Content-Length", post("", "Content-Length: 0", "Connection: content-length"))
    t.add("correlation id echoed", get("/healthz", f"X-Corr-ID: {CORR_ID}"),
          Answer(200, headers={"X-Corr-ID": CORR_ID}), OPEN)
    t.denied("correlation id in an error", get("/nowhere", f"X-Corr-ID: {CORR_ID}"), 404, "NotFound",
             headers={"X-Corr-ID": CORR_ID})
    t.add("malformed correlation id", get("/healthz", "X-Corr-ID: <script>"), 200, OPEN)
    t.refused("Authorization twice", post("", "Authorization: Bearer x"))
    t.refused("Range twice", get("/o/{digits}", "Range: bytes=0-1", "Range: bytes=2-3"))


def length_cases(t):
    t.add("Content-Length", sized("by length"), 201, OPEN)
    t.add("Content-Length: 0", post("", "Content-Length: 0"), 200, OPEN)
    t.add("neither length nor coding is an empty body", post(""), 200, OPEN)
    t.add("leading zeros", post("zeros", "Content-Length: 0005"), 201, OPEN)
    for bad in ("", "+5", "-5", "0x5", "5 5", "5,5", "five", "5.0", "5;", "18446744073709551616", "9" * 200, "\xb25"):
        t.refused(f"Content-Length {bad[:24]!r}", post("abcde", f"Content-Length: {bad}"))
    t.refused("two equal lengths", post("abcde", "Content-Length: 5", "Content-Length: 5"))
    t.refused("two different lengths", post("abcde", "Content-Length: 5", "Content-Length: 6"))
    t.refused("two lengths apart", post("abcde", "Content-Length: 5", "A: b", "content-length: 5"))
    t.refused("length folded", post("abcde", "Content-Length:", " 5"))
    t.refused("length and coding", post("0\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked"))
    t.refused("coding and length", post("0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Length: 5"))
    t.refused("coding and zero length", post("0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Length: 0"))
    t.refused("unknown coding and length", post("abcde", "Transfer-Encoding: gzip", "Content-Length: 5"))
    for bad in ("identity", "chunked, chunked", "chunked, gzip", "identity, chunked", "", "chunked;q=1", "chunked,",
                ",chunked", '"chunked"'):
        t.refused(f"Transfer-Encoding {bad!r}", post("0\r\n\r\n", f"Transfer-Encoding: {bad}"))
    for bad in ("gzip", "gzip, chunked", "xchunked", "cow"):
        t.refused(f"Transfer-Encoding {bad}", post("0\r\n\r\n", f"Transfer-Encoding: {bad}"), 501, "NotImplemented")
    t.refused("coding twice", post("0\r\n\r\n", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"))
    t.refused("coding hidden by a space", post("0\r\n\r\n", "Transfer-Encoding : chunked"))
    t.refused("coding hidden by a tab byte", post("0\r\n\r\n", "Transfer-Encoding: \x0bchunked"))
    t.refused("coding folded", post("0\r\n\r\n", "Transfer-Encoding:", " chunked"))
    t.refused("coding in HTTP/1.0",
              "POST /o HTTP/1.0\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    t.add("coding in another case", post("3\r\nabc\r\n0\r\n\r\n", "transfer-ENCODING: Chunked"), 201, OPEN)
    t.add("TE is no coding", sized("with TE", "TE: trailers"), 201, OPEN)
    t.add("GET with a body it does not read", get("/healthz", "Content-Length: 3") + "abc", 200, CLOSED)
    t.add("GET with a chunked body", get("/healthz", "Transfer-Encoding: chunked") + "0\r\n\r\n", 200, CLOSED)
    t.add("GET with an empty body", get("/healthz", "Content-Length: 0"), 200, OPEN)
    t.add("HEAD with a body", get("/healthz", "Content-Length: 3", method="HEAD") + "abc",
          Answer(200, head_only=True), CLOSED)
    smuggled = get("/nowhere")
    t.add("a body that looks like a request", sized(smuggled), 201, OPEN)
    t.add("an unread body that looks like a request",
          get("/healthz", f"Content-Length: {len(smuggled)}") + smuggled, 200, CLOSED)
    t.refused("declared over the cap, unsent", post("", f"Content-Length: {MIB + 1}"), 413, "BodyCap")
    t.refused("declared 2^63", post("", f"Content-Length: {1 << 63}"), 413, "BodyCap")
    t.refused("body cut short", [post("abc", "Content-Length: 5"), HALF_CLOSE])


def chunk_cases(t):
    t.add("one chunk", chunked("5\r\nchunk\r\n0\r\n\r\n"), 201, OPEN)
    t.add("several chunks", chunked("3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n"), 201, OPEN)
    t.add("no chunks", chunked("0\r\n\r\n"), 200, OPEN)
    t.add("hex of both cases", chunked("a\r\n0123456789\r\nA\r\nabcdefghij\r\n0\r\n\r\n"), 200, OPEN)
    t.add("leading zeros in a size", chunked("0000000000000004\r\nsize\r\n000\r\n\r\n"), 201, OPEN)
    t.add("chunk extension", chunked('3;a=b;c="d e"\r\next\r\n0;last\r\n\r\n'), 201, OPEN)
    t.add("trailer field", chunked("3\r\ntrl\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n"), 201, OPEN)
    for bad in ("00000000000000003", "0x3", "-3", "+3", " 3", "3 ", "3\t", "", "g", "3,", "3 ;a", "3\n", "3\r"):
        t.refused(f"size {bad!r}", chunked(f"{bad}\r\nabc\r\n0\r\n\r\n"))
    t.refused("LF ends a size", chunked("3\nabc\r\n0\r\n\r\n"))
    t.refused("LF ends a chunk", chunked("3\r\nabc\n0\r\n\r\n"))
    t.refused("chunk longer than its size", chunked("3\r\nabcd\r\n0\r\n\r\n"))
    t.refused("chunk shorter than its size", chunked("5\r\nabc\r\n0\r\n\r\n"))
    t.refused("no CRLF behind a chunk", chunked("3\r\nabc0\r\n\r\n"))
    t.refused("NUL in an extension", chunked("3;a=\0\r\nabc\r\n0\r\n\r\n"))
    t.refused("LF in an extension", chunked("3;a\n3\r\nabc\r\n0\r\n\r\n"))
    t.refused("CR in an extension", chunked("3;a\rb\r\nabc\r\n0\r\n\r\n"))
    t.refused("extension too long", chunked("3;" + "a" * 256 + "\r\nabc\r\n0\r\n\r\n"))
    t.refused("extensions too long in all", chunked(("1;" + "a" * 200 + "\r\nx\r\n") * 90 + "0\r\n\r\n"))
    for name in ("Content-Length", "Transfer-Encoding", "Host", "Authorization", "Content-Encoding", "Cookie",
                 "Cache-Control", "TE", "Trailer", "Range", "If-Match"):
        t.refused(f"trailer {name}", chunked(f"3\r\nabc\r\n0\r\n{name}: 1\r\n\r\n"))
    t.refused("trailer without a colon", chunked("3\r\nabc\r\n0\r\nX-Sum\r\n\r\n"))
    t.refused("trailer folded", chunked("3\r\nabc\r\n0\r\nX-Sum: 1\r\n 2\r\n\r\n"))
    t.refused("trailer with space before the colon", chunked("3\r\nabc\r\n0\r\nX-Sum : 1\r\n\r\n"))
    t.refused("NUL in a trailer", chunked("3\r\nabc\r\n0\r\nX-Sum: \0\r\n\r\n"))
    t.refused("LF ends a trailer", chunked("3\r\nabc\r\n0\r\nX-Sum: 1\n\r\n"))
    t.refused("bare CR in a trailer", chunked("3\r\nabc\r\n0\r\nX-Sum: 1\r2\r\n\r\n"))
    t.refused("too many trailers", chunked("0\r\n" + "A: b\r\n" * 17 + "\r\n"), 431, "HeadTooLarge")
    t.refused("trailers too long", chunked("0\r\nA: " + "b" * 4096 + "\r\n\r\n"), 431, "HeadTooLarge")
    t.refused("chunk over the cap, unsent", chunked("100001\r\n"), 413, "BodyCap")
    t.refused("chunk of 2^64 - 1", chunked("ffffffffffffffff\r\n"), 413, "BodyCap")
    t.refused("chunks over 64 bits", chunked("1\r\na\r\nffffffffffffffff\r\n"))
    t.refused("cut short in a chunk", [chunked("5\r\nabc"), HALF_CLOSE])
    t.refused("cut short before the last chunk", [chunked("3\r\nabc\r\n"), HALF_CLOSE])
    t.refused("cut short in the last line", [chunked("3\r\nabc\r\n0\r\n"), HALF_CLOSE])


def coding_cases(t):
    plain = b"compress me, compress me, compress me"
    zipped = text(gzip.compress(plain, mtime=0))
    stored = {"ETag": '"{plain}"'}
    t.add("gzip", sized(zipped, "Content-Encoding: gzip"), Answer(201, headers=stored), OPEN)
    t.add("x-gzip", sized(zipped, "Content-Encoding: x-gzip"), Answer(200, headers=stored), OPEN)
    t.add("gzip in another case", sized(zipped, "Content-Encoding: GZip"), Answer(200, headers=stored), OPEN)
    t.add("gzip, chunked", chunked(f"{len(zipped):x}\r\n{zipped}\r\n0\r\n\r\n", "Content-Encoding: gzip"),
          Answer(200, headers=stored), OPEN)
    t.add("deflate", sized(text(zlib.compress(plain)), "Content-Encoding: deflate"),
          Answer(200, headers=stored), OPEN)
    t.add("identity", sized(text(plain), "Content-Encoding: identity"), Answer(200, headers=stored), OPEN)
    raw = zlib.compressobj(wbits=-15)
    t.denied("raw deflate", sized(text(raw.compress(plain) + raw.flush()), "Content-Encoding: deflate"),
             400, "Malformed")
    t.denied("not gzip", sized("not gzip at all", "Content-Encoding: gzip"), 400, "Malformed")
    t.denied("not brotli", sized("\xff\xff\xff\xff\xff", "Content-Encoding: br"), 400, "Malformed")
    t.denied("not zstd", sized("not zstd at all", "Content-Encoding: zstd"), 400, "Malformed")
    t.denied("gzip cut short", sized(zipped[:-4], "Content-Encoding: gzip"), 400, "Malformed")
    t.denied("gzip with garbage behind", sized(zipped + "garbage", "Content-Encoding: gzip"), 400, "Malformed")
    t.denied("gzip of the wrong sum", sized(zipped[:-8] + "\0" * 8, "Content-Encoding: gzip"), 400, "Malformed")
    t.denied("empty gzip body", post("", "Content-Length: 0", "Content-Encoding: gzip"), 400, "Malformed")
    for bad in ("compress", "bz2", "gzip;q=1", "*"):
        t.refused(f"Content-Encoding {bad}", sized("abc", f"Content-Encoding: {bad}"), 415, "UnsupportedMedia")
    for nested in ("gzip, gzip", "gzip, identity", "br,gzip"):
        t.refused(f"Content-Encoding {nested}", sized("abc", f"Content-Encoding: {nested}"), 413, "DecodedCap")
    t.refused("two Content-Encodings", sized("abc", "Content-Encoding: gzip", "Content-Encoding: gzip"),
              413, "DecodedCap")
    bomb = gzip.compress(b"\0" * MIB, mtime=0)
    t.add("small bomb", sized(text(bomb), "Content-Encoding: gzip"), Answer(413, "DecodedRatio"), OPEN)


def expect_cases(t):
    go_on = "Expect: 100-continue"
    t.add("100-continue", [post("", "Content-Length: 9", go_on), CONTINUE, "continued"], 201, OPEN)
    t.add("100-continue in another case",
          [post("", "Content-Length: 9", "expect: 100-Continue"), CONTINUE, "continued"], 200, OPEN)
    t.add("100-continue, chunked",
          [chunked("", go_on), CONTINUE, "9\r\ncontinued\r\n0\r\n\r\n"], 200, OPEN)
    t.add("100-continue with the body at hand", sized("at hand", go_on), 201, OPEN)
    t.add("100-continue without a body", get("/healthz", go_on), 200, OPEN)
    t.add("100-continue of an empty body", post("", "Content-Length: 0", go_on), 200, OPEN)
    t.refused("100-continue over the cap", post("", f"Content-Length: {2 * MIB}", go_on), 413, "BodyCap")
    t.refused("100-continue without a capability",
              get("/o", "Content-Length: 5", go_on, method="POST"), 401, "Unauthorized")
    t.refused("100-continue to a bad address",
              get("/o/b3:00", "Authorization: Bearer {token}", "Content-Length: 5", go_on, method="PUT"),
              400, "BadAddress")
    t.refused("100-continue in an unknown coding",
              post("", "Content-Length: 5", "Content-Encoding: rot13", go_on), 415, "UnsupportedMedia")
    t.refused("100-continue to no route", get("/nowhere", "Content-Length: 5", go_on, method="POST"),
              404, "NotFound")
    t.refused("other expectation", sized("abc", "Expect: coffee"), 417, "ExpectationFailed")
    t.refused("two expectations", sized("abc", go_on, "Expect: coffee"), 417, "ExpectationFailed")
    t.add("100-continue in HTTP/1.0 is ignored",
          "POST /o HTTP/1.0\r\nAuthorization: Bearer {token}\r\nContent-Length: 3\r\n" + go_on + "\r\n\r\nold",
          201, CLOSED)


def capability_cases(t):
    t.denied("write without a capability", get("/o", "Content-Length: 0", method="POST"), 401, "Unauthorized",
             headers={"WWW-Authenticate": "Bearer"})
    t.refused("write without a capability, body unread",
              get("/o", "Content-Length: 3", method="POST") + "abc", 401, "Unauthorized")
    t.denied("delete without a capability", get("/o/{digits}", method="DELETE"), 401, "Unauthorized")
    for bad in ("Bearer", "Bearer x", "Basic YTpi", "Bearer {token}x", "{token}"):
        t.denied(f"Authorization {bad[:12]}", get("/o", f"Authorization: {bad}", method="POST"),
                 401, "Unauthorized")
    t.denied("capability for something else", get("/o", "Authorization: Bearer {narrow}", method="POST"),
             403, "Forbidden")
    t.denied("mismatch", get("/o/{digits}", "Authorization: Bearer {token}", "Content-Length: 3",
                             method="PUT") + "abc", 409, "HashMismatch")
    t.denied("delete what is absent", get("/o/b3:" + "0" * 64, "Authorization: Bearer {token}",
                                          method="DELETE"), 404, "NotFound")


def range_cases(t):
    def case(value, status, content_range=None, body=None, code=None, path="/o/{digits}", more=()):
        headers = {"Content-Range": content_range}
        if status in (200, 206):
            headers.update({"Accept-Ranges": "bytes", "Vary": "Accept-Encoding",
                            "Cache-Control": "public, max-age=31536000, immutable"})
        t.add(f"Range {value[:40]} of {path[3:]}{''.join(' with ' + m[:34] for m in more)}",
              get(path, f"Range: {value}", *more),
              Answer(status, code, body=body, headers=headers), OPEN)

    def part(value, first, last):
        case(value, 206, f"bytes {first}-{last}/20", DIGITS[first:last + 1])

    part("bytes=0-0", 0, 0)
    part("bytes=5-9", 5, 9)
    part("bytes=0-19", 0, 19)
    part("bytes=0-", 0, 19)
    part("bytes=19-", 19, 19)
    part("bytes=0-100", 0, 19)
    part("bytes=19-19", 19, 19)
    part("bytes=0-99999999999999999999999", 0, 19)
    part("bytes=-1", 19, 19)
    part("bytes=-5", 15, 19)
    part("bytes=-20", 0, 19)
    part("bytes=-21", 0, 19)
    part("bytes=-99999999999999999999999", 0, 19)
    part("BYTES=1-2", 1, 2)
    part("bytes=1-2,", 1, 2)
    part("bytes= 1-2 ", 1, 2)
    for value in ("bytes=20-", "bytes=20-25", "bytes=-0", "bytes=99999999999999999999999-"):
        case(value, 416, "bytes */20", code="RangeNotSatisfiable")
    for value in ("bytes=5-4", "bytes=abc", "bytes=", "bytes=-", "bytes", "bytes=1", "bytes=1-2-3", "bytes=--5",
                  "bytes=1 - 2", "bytes = 1-2", "bytes=0x1-2", "bytes=+1-2", "=1-2", "bytes=1-b", "bytes=,",
                  "bytes=0-1,x"):
        case(value, 400, code="BadRange")
    for value in ("items=0-5", "bytes=0-1,3-4", "bytes=0-1, -1", "bytes=0-,0-,0-,0-,0-,0-"):
        case(value, 200, body=DIGITS)
    case("bytes=0-0", 416, "bytes */0", code="RangeNotSatisfiable", path="/o/{empty}")
    case("bytes=0-", 416, "bytes */0", code="RangeNotSatisfiable", path="/o/{empty}")
    case("bytes=-0", 416, "bytes */0", code="RangeNotSatisfiable", path="/o/{empty}")
    case("bytes=-5", 200, body=b"", path="/o/{empty}")
    t.denied("Range of what is absent", get("/o/b3:" + "0" * 64, "Range: bytes=0-1"), 404, "NotFound")
    t.add("Range of a route without", get("/healthz", "Range: bytes=0-1"), Answer(200, body=b'{"alive":true}'), OPEN)
    t.add("Range of HEAD is ignored", get("/o/{digits}", "Range: bytes=0-1", method="HEAD"),
          Answer(200, headers={"Content-Length": "20", "Content-Range": None}, head_only=True), OPEN)

    tag, other = '"{digits}"', '"{empty}"'
    case("bytes=1-2", 206, "bytes 1-2/20", b"12", more=(f"If-Range: {tag}",))
    for stale in (other, "W/" + tag, "{digits}", "Sun, 06 Nov 1994 08:49:37 GMT", "*", f"{tag}, {tag}", ""):
        case("bytes=1-2", 200, body=DIGITS, more=(f"If-Range: {stale}",))
    case("bytes=20-", 416, "bytes */20", code="RangeNotSatisfiable", more=(f"If-Range: {tag}",))
    case("bytes=20-", 200, body=DIGITS, more=(f"If-Range: {other}",))
    case("bytes=x", 200, body=DIGITS, more=(f"If-Range: {other}",))
    case("bytes=1-2", 304, more=(f"If-None-Match: {tag}",))
    case("bytes=1-2", 206, "bytes 1-2/20", b"12", more=(f"If-None-Match: {other}",))
    case("bytes=1-2", 206, "bytes 1-2/20", b"12", more=(f"If-Match: {tag}",))
    case("bytes=1-2", 412, code="PreconditionFailed", more=(f"If-Match: {other}",))
    case("bytes=1-2", 304, more=(f"If-None-Match: {tag}", f"If-Range: {other}"))
    t.refused("If-Range twice", get("/o/{digits}", "Range: bytes=1-2", f"If-Range: {tag}", f"If-Range: {tag}"))
    t.add("If-Range without Range", get("/o/{digits}", f"If-Range: {other}"), Answer(200, body=DIGITS), OPEN)


def condition_cases(t):
    tag, other = '"{digits}"', '"{empty}"'
    validators = {"ETag": tag, "Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}

    def case(status, *fields, method="GET", code=None, path="/o/{digits}"):
        t.add(f"{method} {' and '.join(f[:34] for f in fields)} of {path[3:]}", get(path, *fields, method=method),
              Answer(status, code, headers=validators if status in (200, 304) else {},
                     head_only=method == "HEAD"), OPEN)

    for method in ("GET", "HEAD"):
        for match in (tag, "W/" + tag, "*", f"{other}, {tag}", f"{other},W/{tag}", f", {tag} ,"):
            case(304, f"If-None-Match: {match}", method=method)
        for miss in (other, "{digits}", '"', f"{tag} {tag}", f"w/{tag}", f"*, {other}", ""):
            case(200, f"If-None-Match: {miss}", method=method)
        for match in (tag, "*", f"{other}, {tag}"):
            case(200, f"If-Match: {match}", method=method)
        for miss in (other, "W/" + tag, "{digits}", ""):
            case(412, f"If-Match: {miss}", method=method, code="PreconditionFailed")
    case(412, f"If-Match: {other}", f"If-None-Match: {tag}", code="PreconditionFailed")
    case(304, f"If-Match: {tag}", f"If-None-Match: {tag}")
    case(304, f"If-None-Match: {other}", f"If-None-Match: {tag}")
    case(200, "If-Modified-Since: Sun, 06 Nov 2094 08:49:37 GMT")
    case(200, "If-Unmodified-Since: Sun, 06 Nov 1994 08:49:37 GMT")
    absent = "/o/b3:" + "0" * 64
    case(404, "If-Match: *", code="NotFound", path=absent)
    case(404, "If-None-Match: *", code="NotFound", path=absent)
    allowed = "Authorization: Bearer {token}"
    case(412, allowed, f"If-Match: {other}", method="DELETE", code="PreconditionFailed")
    case(412, allowed, "If-None-Match: *", method="DELETE", code="PreconditionFailed")
    case(404, allowed, f"If-Match: {other}", method="DELETE", code="NotFound", path=absent)
    t.denied("PUT only if absent", get("/o/{empty}", allowed, "If-None-Match: *", method="PUT"),
             412, "PreconditionFailed")
    t.denied("PUT only if present", get("/o/{never}", allowed, "If-Match: *", method="PUT"), 412, "PreconditionFailed")
    t.add("PUT only if absent, and it is",
          get("/o/{condition}", allowed, "If-None-Match: *", "Content-Length: 9", method="PUT") + "condition", 201, OPEN)
    t.add("PUT only if present, and it is", get("/o/{empty}", allowed, "If-Match: *", method="PUT"), 200, OPEN)


def pipeline_cases(t):
    ok, missing = Answer(200), Answer(404, "NotFound")
    t.add("three at once", get("/healthz") * 3, [ok] * 3, OPEN)
    t.add("a hundred at once", get("/o/{digits}") * 100, [Answer(200, body=DIGITS)] * 100, OPEN)
    t.add("an error between", get("/healthz") + get("/nowhere") + get("/healthz"), [ok, missing, ok], OPEN)
    t.add("a malformed second", get("/healthz") + "GET /healthz HTTP/1.1\r\nHost : test\r\n\r\n",
          [ok, Answer(400, "Malformed")], CLOSED)
    t.add("garbage second", get("/healthz") + "\0\1\2\3", [ok, Answer(400, "Malformed")], CLOSED)
    t.add("a malformed second and a good third", get("/healthz") + "BAD\r\n\r\n" + get("/healthz"),
          [ok, Answer(400, "Malformed")], CLOSED)
    t.add("nothing behind Connection: close", get("/healthz", "Connection: close") + get("/healthz"), ok, CLOSED)
    t.add("a write and a read", sized("pipelined") + get("/healthz"), [Answer(201), ok], OPEN)
    t.add("a chunked write and a read", chunked("3\r\npip\r\n0\r\n\r\n") + get("/healthz"), [Answer(201), ok], OPEN)
    t.add("HEAD and GET", get("/o/{digits}", method="HEAD") + get("/o/{digits}"),
          [Answer(200, head_only=True), Answer(200, body=DIGITS)], OPEN)
    t.add("304 and GET", get("/o/{digits}", "If-None-Match: *") + get("/o/{digits}"),
          [Answer(304), Answer(200, body=DIGITS)], OPEN)
    t.add("nothing behind an unread body", get("/o", "Content-Length: 3", method="POST") + "abc" + get("/healthz"),
          Answer(401, "Unauthorized"), CLOSED)
    t.add("an empty line between", get("/healthz") + "\r\n" + get("/healthz"), [ok, ok], OPEN)
    t.add("the second in two parts", [get("/healthz") + get("/healthz")[:9], get("/healthz")[9:]], [ok, ok], OPEN)
    t.add("half-close after a request", [get("/healthz"), HALF_CLOSE], ok, LEFT)
    t.add("half-close after two requests", [get("/healthz") * 2, HALF_CLOSE], [ok, ok], LEFT)
    t.add("half-close in a head", ["GET /healthz HTTP/1.1\r\nHost: te", HALF_CLOSE], [], LEFT)
    t.add("half-close at once", [HALF_CLOSE], [], LEFT)


GROUPS = (request_line_cases, target_cases, field_cases, length_cases, chunk_cases, coding_cases, expect_cases,
          capability_cases, range_cases, condition_cases, pipeline_cases)


def build(world):
    table = Table(world)
    for group in GROUPS:
        group(table)
    for case in table.cases:
        for answer in case.answers:
            answer.headers = {name: value and table.fill(value).decode() for name, value in answer.headers.items()}
    return table.cases

