"""Strictness, part one: the message. Request lines, targets, fields, lengths, chunks."""

from strict_table import (Answer, CLOSED, CORR_ID, DIGITS, EACH_BYTE, HALF_CLOSE, MAX_FIELDS,
                          MAX_HEAD, MAX_TARGET, MIB, OPEN, chunked, get, post, sized)


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
    t.add("byte by byte chunked", [EACH_BYTE, chunked("6;x=y\r\nsteady\r\n0\r\nA: b\r\n\r\n")], 201,
          OPEN)
    t.refused("bad byte by byte",
              [EACH_BYTE, "GET /healthz HTTP/1.1\r\nHost: test\r\nA : b\r\n\r\n"])


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
    t.add("encoded colon of an address", get("/o/{escaped}"),
          Answer(200, body=DIGITS), OPEN)
    t.add("query", get("/healthz?a=b&c"), 200, OPEN)
    t.denied("slash at the end", get("/healthz/"), 404, "NotFound")
    t.denied("no such route", get("/nowhere"), 404, "NotFound")
    t.denied("method of another route", get("/healthz", method="POST"), 405, "MethodNotAllowed",
             headers={"Allow": "GET, HEAD"})
    t.denied("PUT of the collection", get("/o", method="PUT"), 405, "MethodNotAllowed",
             headers={"Allow": "POST"})
    t.denied("PATCH of an object", get("/o/{digits}", method="PATCH"), 405, "MethodNotAllowed",
             headers={"Allow": "GET, HEAD, PUT, DELETE"})
    t.add("405 with an unread body", get("/o/{digits}", "Content-Length: 3", method="PATCH")
          + "abc",
          Answer(405, "MethodNotAllowed"), CLOSED)
    longest = "/" + "a" * (MAX_TARGET - 1)
    t.denied("longest target", get(longest), 404, "NotFound")
    t.refused("target too long", get(longest + "a"), 414, "UriTooLong")
    t.refused("target too long and unfinished", "GET /" + "a" * (MAX_TARGET + 64), 414,
              "UriTooLong")
    for bad in ("b3:", "b3:00", "{digits}0", "sha256:" + "0" * 64, "B3:" + "0" * 64, "b3:"
                + "g" * 64):
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
    t.refused("head too long", get("/healthz", "A: " + "b" * (MAX_HEAD - fixed + 1)), 431,
              "HeadTooLarge")
    t.refused("head too long and unfinished", get("/healthz")[:-2] + "A: " + "b" * MAX_HEAD, 431,
              "HeadTooLarge")
    t.refused("head much too long", get("/healthz", *["A: " + "b" * 8000] * 20), 431,
              "HeadTooLarge")
    t.add("Connection: close", get("/healthz", "Connection: close"), 200, CLOSED)
    t.add("Connection: CLOSE in a list", get("/healthz", "Connection: keep-alive, CLOSE"), 200,
          CLOSED)
    t.add("Connection: close in a second line",
          get("/healthz", "Connection: x", "Connection: close"), 200, CLOSED)
    t.add("Connection with empty elements", get("/healthz", "Connection: , ,"), 200, OPEN)
    t.add("Upgrade is ignored", get("/healthz", "Connection: upgrade", "Upgrade: h2c"), 200, OPEN)
    t.refused("Connection is not a list of tokens", get("/healthz", "Connection: @"))
    t.refused("Connection drops Host", get("/healthz", "Connection: host"))
    t.refused("Connection drops Content-Length",
              post("", "Content-Length: 0", "Connection: content-length"))
    t.add("correlation id echoed", get("/healthz", f"X-Corr-ID: {CORR_ID}"),
          Answer(200, headers={"X-Corr-ID": CORR_ID}), OPEN)
    t.denied("correlation id in an error", get("/nowhere", f"X-Corr-ID: {CORR_ID}"), 404,
             "NotFound",
             headers={"X-Corr-ID": CORR_ID})
    t.add("malformed correlation id", get("/healthz", "X-Corr-ID: <script>"), 200, OPEN)
    t.refused("Authorization twice", post("", "Authorization: Bearer x"))
    t.refused("Range twice", get("/o/{digits}", "Range: bytes=0-1", "Range: bytes=2-3"))


def length_cases(t):
    t.add("Content-Length", sized("by length"), 201, OPEN)
    t.add("Content-Length: 0", post("", "Content-Length: 0"), 200, OPEN)
    t.add("neither length nor coding is an empty body", post(""), 200, OPEN)
    t.add("leading zeros", post("zeros", "Content-Length: 0005"), 201, OPEN)
    for bad in ("", "+5", "-5", "0x5", "5 5", "5,5", "five", "5.0", "5;", "18446744073709551616",
                "9" * 200, "\xb25"):
        t.refused(f"Content-Length {bad[:24]!r}", post("abcde", f"Content-Length: {bad}"))
    t.refused("two equal lengths", post("abcde", "Content-Length: 5", "Content-Length: 5"))
    t.refused("two different lengths", post("abcde", "Content-Length: 5", "Content-Length: 6"))
    t.refused("two lengths apart", post("abcde", "Content-Length: 5", "A: b", "content-length: 5"))
    t.refused("length folded", post("abcde", "Content-Length:", " 5"))
    t.refused("length and coding",
              post("0\r\n\r\n", "Content-Length: 5", "Transfer-Encoding: chunked"))
    t.refused("coding and length",
              post("0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Length: 5"))
    t.refused("coding and zero length",
              post("0\r\n\r\n", "Transfer-Encoding: chunked", "Content-Length: 0"))
    t.refused("unknown coding and length",
              post("abcde", "Transfer-Encoding: gzip", "Content-Length: 5"))
    for bad in ("identity", "chunked, chunked", "chunked, gzip", "identity, chunked", "",
                "chunked;q=1", "chunked,",
                ",chunked", '"chunked"'):
        t.refused(f"Transfer-Encoding {bad!r}", post("0\r\n\r\n", f"Transfer-Encoding: {bad}"))
    for bad in ("gzip", "gzip, chunked", "xchunked", "cow"):
        t.refused(f"Transfer-Encoding {bad}", post("0\r\n\r\n", f"Transfer-Encoding: {bad}"), 501,
                  "NotImplemented")
    t.refused("coding twice",
              post("0\r\n\r\n", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"))
    t.refused("coding hidden by a space", post("0\r\n\r\n", "Transfer-Encoding : chunked"))
    t.refused("coding hidden by a tab byte", post("0\r\n\r\n", "Transfer-Encoding: \x0bchunked"))
    t.refused("coding folded", post("0\r\n\r\n", "Transfer-Encoding:", " chunked"))
    t.refused("coding in HTTP/1.0",
              "POST /o HTTP/1.0\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
    t.add("coding in another case", post("3\r\nabc\r\n0\r\n\r\n", "transfer-ENCODING: Chunked"),
          201, OPEN)
    t.add("TE is no coding", sized("with TE", "TE: trailers"), 201, OPEN)
    t.add("GET with a body it does not read", get("/healthz", "Content-Length: 3") + "abc", 200,
          CLOSED)
    t.add("GET with a chunked body", get("/healthz", "Transfer-Encoding: chunked") + "0\r\n\r\n",
          200, CLOSED)
    t.add("GET with an empty body", get("/healthz", "Content-Length: 0"), 200, OPEN)
    t.add("HEAD with a body", get("/healthz", "Content-Length: 3", method="HEAD") + "abc",
          Answer(200, head_only=True), CLOSED)
    smuggled = get("/nowhere")
    t.add("a body that looks like a request", sized(smuggled), 201, OPEN)
    t.add("an unread body that looks like a request",
          get("/healthz", f"Content-Length: {len(smuggled)}") + smuggled, 200, CLOSED)
    t.refused("declared over the cap, unsent", post("", f"Content-Length: {MIB + 1}"), 413,
              "BodyCap")
    t.refused("declared 2^63", post("", f"Content-Length: {1 << 63}"), 413, "BodyCap")
    t.refused("body cut short", [post("abc", "Content-Length: 5"), HALF_CLOSE])


def chunk_cases(t):
    t.add("one chunk", chunked("5\r\nchunk\r\n0\r\n\r\n"), 201, OPEN)
    t.add("several chunks", chunked("3\r\none\r\n3\r\ntwo\r\n5\r\nthree\r\n0\r\n\r\n"), 201, OPEN)
    t.add("no chunks", chunked("0\r\n\r\n"), 200, OPEN)
    t.add("hex of both cases", chunked("a\r\n0123456789\r\nA\r\nabcdefghij\r\n0\r\n\r\n"), 200,
          OPEN)
    t.add("leading zeros in a size", chunked("0000000000000004\r\nsize\r\n000\r\n\r\n"), 201, OPEN)
    t.add("chunk extension", chunked('3;a=b;c="d e"\r\next\r\n0;last\r\n\r\n'), 201, OPEN)
    t.add("trailer field", chunked("3\r\ntrl\r\n0\r\nX-Sum: 1\r\nX-More: 2\r\n\r\n"), 201, OPEN)
    for bad in ("00000000000000003", "0x3", "-3", "+3", " 3", "3 ", "3\t", "", "g", "3,", "3 ;a",
                "3\n", "3\r"):
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
    t.refused("extensions too long in all",
              chunked(("1;" + "a" * 200 + "\r\nx\r\n") * 90 + "0\r\n\r\n"))
    for name in ("Content-Length", "Transfer-Encoding", "Host", "Authorization", "Content-Encoding",
                 "Cookie",
                 "Cache-Control", "TE", "Trailer", "Range", "If-Match"):
        t.refused(f"trailer {name}", chunked(f"3\r\nabc\r\n0\r\n{name}: 1\r\n\r\n"))
    t.refused("trailer without a colon", chunked("3\r\nabc\r\n0\r\nX-Sum\r\n\r\n"))
    t.refused("trailer folded", chunked("3\r\nabc\r\n0\r\nX-Sum: 1\r\n 2\r\n\r\n"))
    t.refused("trailer with space before the colon", chunked("3\r\nabc\r\n0\r\nX-Sum : 1\r\n\r\n"))
    t.refused("NUL in a trailer", chunked("3\r\nabc\r\n0\r\nX-Sum: \0\r\n\r\n"))
    t.refused("LF ends a trailer", chunked("3\r\nabc\r\n0\r\nX-Sum: 1\n\r\n"))
    t.refused("bare CR in a trailer", chunked("3\r\nabc\r\n0\r\nX-Sum: 1\r2\r\n\r\n"))
    t.refused("too many trailers", chunked("0\r\n" + "A: b\r\n" * 17 + "\r\n"), 431, "HeadTooLarge")
    t.refused("trailers too long", chunked("0\r\nA: " + "b" * 4096 + "\r\n\r\n"), 431,
              "HeadTooLarge")
    t.refused("chunk over the cap, unsent", chunked("100001\r\n"), 413, "BodyCap")
    t.refused("chunk of 2^64 - 1", chunked("ffffffffffffffff\r\n"), 413, "BodyCap")
    t.refused("chunks over 64 bits", chunked("1\r\na\r\nffffffffffffffff\r\n"))
    t.refused("cut short in a chunk", [chunked("5\r\nabc"), HALF_CLOSE])
    t.refused("cut short before the last chunk", [chunked("3\r\nabc\r\n"), HALF_CLOSE])
    t.refused("cut short in the last line", [chunked("3\r\nabc\r\n0\r\n"), HALF_CLOSE])


GROUPS = (request_line_cases, target_cases, field_cases, length_cases, chunk_cases)
