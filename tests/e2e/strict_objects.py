"""Strictness, part two: codings, expectations, capabilities, ranges, conditions, pipelines."""

import gzip
import zlib

from strict_table import (Answer, CLOSED, CONTINUE, DIGITS, HALF_CLOSE, LEFT, MIB, OPEN, chunked,
                          get, post, sized, text)


def coding_cases(t):
    plain = b"compress me, compress me, compress me"
    zipped = text(gzip.compress(plain, mtime=0))
    stored = {"ETag": '"{plain}"'}
    t.add("gzip", sized(zipped, "Content-Encoding: gzip"), Answer(201, headers=stored), OPEN)
    t.add("x-gzip", sized(zipped, "Content-Encoding: x-gzip"), Answer(200, headers=stored), OPEN)
    t.add("gzip in another case", sized(zipped, "Content-Encoding: GZip"),
          Answer(200, headers=stored), OPEN)
    t.add("gzip, chunked",
          chunked(f"{len(zipped):x}\r\n{zipped}\r\n0\r\n\r\n", "Content-Encoding: gzip"),
          Answer(200, headers=stored), OPEN)
    t.add("deflate", sized(text(zlib.compress(plain)), "Content-Encoding: deflate"),
          Answer(200, headers=stored), OPEN)
    t.add("identity", sized(text(plain), "Content-Encoding: identity"), Answer(200, headers=stored),
          OPEN)
    raw = zlib.compressobj(wbits=-15)
    t.denied("raw deflate",
             sized(text(raw.compress(plain) + raw.flush()), "Content-Encoding: deflate"),
             400, "Malformed")
    t.denied("not gzip", sized("not gzip at all", "Content-Encoding: gzip"), 400, "Malformed")
    t.denied("not brotli", sized("\xff\xff\xff\xff\xff", "Content-Encoding: br"), 400, "Malformed")
    t.denied("not zstd", sized("not zstd at all", "Content-Encoding: zstd"), 400, "Malformed")
    t.denied("gzip cut short", sized(zipped[:-4], "Content-Encoding: gzip"), 400, "Malformed")
    t.denied("gzip with garbage behind", sized(zipped + "garbage", "Content-Encoding: gzip"), 400,
             "Malformed")
    t.denied("gzip of the wrong sum", sized(zipped[:-8] + "\0" * 8, "Content-Encoding: gzip"), 400,
             "Malformed")
    t.denied("empty gzip body", post("", "Content-Length: 0", "Content-Encoding: gzip"), 400,
             "Malformed")
    for bad in ("compress", "bz2", "gzip;q=1", "*"):
        t.refused(f"Content-Encoding {bad}", sized("abc", f"Content-Encoding: {bad}"), 415,
                  "UnsupportedMedia")
    for nested in ("gzip, gzip", "gzip, identity", "br,gzip"):
        t.refused(f"Content-Encoding {nested}", sized("abc", f"Content-Encoding: {nested}"), 413,
                  "DecodedCap")
    t.refused("two Content-Encodings",
              sized("abc", "Content-Encoding: gzip", "Content-Encoding: gzip"),
              413, "DecodedCap")
    bomb = gzip.compress(b"\0" * MIB, mtime=0)
    t.add("small bomb", sized(text(bomb), "Content-Encoding: gzip"), Answer(413, "DecodedRatio"),
          OPEN)


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
    t.refused("100-continue over the cap", post("", f"Content-Length: {2 * MIB}", go_on), 413,
              "BodyCap")
    t.refused("100-continue without a capability",
              get("/o", "Content-Length: 5", go_on, method="POST"), 401, "Unauthorized")
    t.refused("100-continue to a bad address",
              get("/o/b3:00", "Authorization: Bearer {token}", "Content-Length: 5", go_on,
                  method="PUT"),
              400, "BadAddress")
    t.refused("100-continue in an unknown coding",
              post("", "Content-Length: 5", "Content-Encoding: rot13", go_on), 415,
              "UnsupportedMedia")
    t.refused("100-continue to no route",
              get("/nowhere", "Content-Length: 5", go_on, method="POST"),
              404, "NotFound")
    t.refused("other expectation", sized("abc", "Expect: coffee"), 417, "ExpectationFailed")
    t.refused("two expectations", sized("abc", go_on, "Expect: coffee"), 417, "ExpectationFailed")
    t.add("100-continue in HTTP/1.0 is ignored",
          "POST /o HTTP/1.0\r\nAuthorization: Bearer {token}\r\nContent-Length: 3\r\n" + go_on
          + "\r\n\r\nold",
          201, CLOSED)


def capability_cases(t):
    t.denied("write without a capability", get("/o", "Content-Length: 0", method="POST"), 401,
             "Unauthorized",
             headers={"WWW-Authenticate": "Bearer"})
    t.refused("write without a capability, body unread",
              get("/o", "Content-Length: 3", method="POST") + "abc", 401, "Unauthorized")
    t.denied("delete without a capability", get("/o/{digits}", method="DELETE"), 401,
             "Unauthorized")
    for bad in ("Bearer", "Bearer x", "Basic YTpi", "Bearer {token}x", "{token}"):
        t.denied(f"Authorization {bad[:12]}", get("/o", f"Authorization: {bad}", method="POST"),
                 401, "Unauthorized")
    t.denied("capability for something else",
             get("/o", "Authorization: Bearer {narrow}", method="POST"),
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
    for value in ("bytes=5-4", "bytes=abc", "bytes=", "bytes=-", "bytes", "bytes=1", "bytes=1-2-3",
                  "bytes=--5",
                  "bytes=1 - 2", "bytes = 1-2", "bytes=0x1-2", "bytes=+1-2", "=1-2", "bytes=1-b",
                  "bytes=,",
                  "bytes=0-1,x"):
        case(value, 400, code="BadRange")
    for value in ("items=0-5", "bytes=0-1,3-4", "bytes=0-1, -1", "bytes=0-,0-,0-,0-,0-,0-"):
        case(value, 200, body=DIGITS)
    case("bytes=0-0", 416, "bytes */0", code="RangeNotSatisfiable", path="/o/{empty}")
    case("bytes=0-", 416, "bytes */0", code="RangeNotSatisfiable", path="/o/{empty}")
    case("bytes=-0", 416, "bytes */0", code="RangeNotSatisfiable", path="/o/{empty}")
    case("bytes=-5", 200, body=b"", path="/o/{empty}")
    t.denied("Range of what is absent", get("/o/b3:" + "0" * 64, "Range: bytes=0-1"), 404,
             "NotFound")
    t.add("Range of a route without", get("/healthz", "Range: bytes=0-1"),
          Answer(200, body=b'{"alive":true}'), OPEN)
    t.add("Range of HEAD is ignored", get("/o/{digits}", "Range: bytes=0-1", method="HEAD"),
          Answer(200, headers={"Content-Length": "20", "Content-Range": None}, head_only=True),
          OPEN)

    tag, other = '"{digits}"', '"{empty}"'
    case("bytes=1-2", 206, "bytes 1-2/20", b"12", more=(f"If-Range: {tag}",))
    for stale in (other, "W/" + tag, "{digits}", "Sun, 06 Nov 1994 08:49:37 GMT", "*",
                  f"{tag}, {tag}", ""):
        case("bytes=1-2", 200, body=DIGITS, more=(f"If-Range: {stale}",))
    case("bytes=20-", 416, "bytes */20", code="RangeNotSatisfiable", more=(f"If-Range: {tag}",))
    case("bytes=20-", 200, body=DIGITS, more=(f"If-Range: {other}",))
    case("bytes=x", 200, body=DIGITS, more=(f"If-Range: {other}",))
    case("bytes=1-2", 304, more=(f"If-None-Match: {tag}",))
    case("bytes=1-2", 206, "bytes 1-2/20", b"12", more=(f"If-None-Match: {other}",))
    case("bytes=1-2", 206, "bytes 1-2/20", b"12", more=(f"If-Match: {tag}",))
    case("bytes=1-2", 412, code="PreconditionFailed", more=(f"If-Match: {other}",))
    case("bytes=1-2", 304, more=(f"If-None-Match: {tag}", f"If-Range: {other}"))
    t.refused("If-Range twice",
              get("/o/{digits}", "Range: bytes=1-2", f"If-Range: {tag}", f"If-Range: {tag}"))
    t.add("If-Range without Range", get("/o/{digits}", f"If-Range: {other}"),
          Answer(200, body=DIGITS), OPEN)


def condition_cases(t):
    tag, other = '"{digits}"', '"{empty}"'
    validators = {"ETag": tag, "Cache-Control": "public, max-age=31536000, immutable",
                  "Vary": "Accept-Encoding"}

    def case(status, *fields, method="GET", code=None, path="/o/{digits}"):
        t.add(f"{method} {' and '.join(f[:34] for f in fields)} of {path[3:]}",
              get(path, *fields, method=method),
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
    t.denied("PUT only if present", get("/o/{never}", allowed, "If-Match: *", method="PUT"), 412,
             "PreconditionFailed")
    t.add("PUT only if absent, and it is",
          get("/o/{condition}", allowed, "If-None-Match: *", "Content-Length: 9", method="PUT")
          + "condition", 201, OPEN)
    t.add("PUT only if present, and it is", get("/o/{empty}", allowed, "If-Match: *", method="PUT"),
          200, OPEN)


def pipeline_cases(t):
    ok, missing = Answer(200), Answer(404, "NotFound")
    t.add("three at once", get("/healthz") * 3, [ok] * 3, OPEN)
    t.add("a hundred at once", get("/o/{digits}") * 100, [Answer(200, body=DIGITS)] * 100, OPEN)
    t.add("an error between", get("/healthz") + get("/nowhere") + get("/healthz"),
          [ok, missing, ok], OPEN)
    t.add("a malformed second", get("/healthz") + "GET /healthz HTTP/1.1\r\nHost : test\r\n\r\n",
          [ok, Answer(400, "Malformed")], CLOSED)
    t.add("garbage second", get("/healthz") + "\0\1\2\3", [ok, Answer(400, "Malformed")], CLOSED)
    t.add("a malformed second and a good third", get("/healthz") + "BAD\r\n\r\n" + get("/healthz"),
          [ok, Answer(400, "Malformed")], CLOSED)
    t.add("nothing behind Connection: close", get("/healthz", "Connection: close")
          + get("/healthz"), ok, CLOSED)
    t.add("a write and a read", sized("pipelined") + get("/healthz"), [Answer(201), ok], OPEN)
    t.add("a chunked write and a read", chunked("3\r\npip\r\n0\r\n\r\n") + get("/healthz"),
          [Answer(201), ok], OPEN)
    t.add("HEAD and GET", get("/o/{digits}", method="HEAD") + get("/o/{digits}"),
          [Answer(200, head_only=True), Answer(200, body=DIGITS)], OPEN)
    t.add("304 and GET", get("/o/{digits}", "If-None-Match: *") + get("/o/{digits}"),
          [Answer(304), Answer(200, body=DIGITS)], OPEN)
    t.add("nothing behind an unread body", get("/o", "Content-Length: 3", method="POST") + "abc"
          + get("/healthz"),
          Answer(401, "Unauthorized"), CLOSED)
    t.add("an empty line between", get("/healthz") + "\r\n" + get("/healthz"), [ok, ok], OPEN)
    t.add("the second in two parts", [get("/healthz") + get("/healthz")[:9], get("/healthz")[9:]],
          [ok, ok], OPEN)
    t.add("half-close after a request", [get("/healthz"), HALF_CLOSE], ok, LEFT)
    t.add("half-close after two requests", [get("/healthz") * 2, HALF_CLOSE], [ok, ok], LEFT)
    t.add("half-close in a head", ["GET /healthz HTTP/1.1\r\nHost: te", HALF_CLOSE], [], LEFT)
    t.add("half-close at once", [HALF_CLOSE], [], LEFT)


GROUPS = (coding_cases, expect_cases, capability_cases, range_cases, condition_cases,
          pipeline_cases)
