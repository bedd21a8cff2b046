"""Ranges and conditions of RFC 9110 on something of a known length and entity-tag: what to ask, and
what to expect. A model of the RFC's rules that knows nothing of the server."""

import itertools

from strict_table import Answer, KIB

GROUP = 64 * KIB
MALFORMED = ("bytes=9-8", "bytes=abc", "bytes=", "bytes=-", "bytes=1-2-3", "bytes=--5",
             "bytes=0x1-2", "bytes=0-1,x")
SEVERAL = ("bytes=0-1,3-4", "bytes=0-0, -1", "bytes=0-,0-,0-", "lines=0-5")
OTHER = '"b3:' + "0" * 64 + '"'


def parse(value, size):
    """(status, first, last) of a single well-formed bytes range."""
    first, last = value.removeprefix("bytes=").split("-")
    if not first:
        length = int(last)
        if length == 0:
            return 416, 0, 0
        return (206, max(0, size - length), size - 1) if size else (200, 0, -1)
    if int(first) >= size:
        return 416, 0, 0
    return 206, int(first), min(int(last or size), size - 1)


def range_answer(value, data, described):
    """What a GET with this Range alone gets; `described` are the fields of whatever is sent."""
    if value in MALFORMED:
        return Answer(400, "BadRange")
    size = len(data)
    status, first, last = (200, 0, size - 1) if value in SEVERAL else parse(value, size)
    if status == 416:
        return Answer(416, "RangeNotSatisfiable", headers={"Content-Range": f"bytes */{size}"})
    part = f"bytes {first}-{last}/{size}" if status == 206 else None
    return Answer(status, body=data[first:last + 1], headers={**described, "Content-Range": part})


def ranges(size, edges):
    """Every form at every boundary."""
    for at in sorted({*edges, size // 2, *(at for at in range(size - 2, size + 2) if at >= 0)}):
        yield f"bytes={at}-{at}"
        yield f"bytes={at}-"
        yield f"bytes=0-{at}"
        yield f"bytes=-{at}"
        yield f"bytes={at}-{at + 1}"
        yield f"bytes={at}-{at + GROUP}"
    yield "bytes=-" + "9" * 30
    yield "bytes=0-" + "9" * 30
    yield "bytes=" + "9" * 30 + "-"
    yield from MALFORMED
    yield from SEVERAL


def matches(field, tag, weak_too):
    """Whether a list of entity-tags names the object's, as If-Match or If-None-Match compare."""
    if field == "*":
        return True
    each = [one.strip() for one in field.split(",")]
    return tag in each or (weak_too and "W/" + tag in each)


def answer(method, fields, tag, data, described):
    """Section 13.2.2: If-Match, If-None-Match, If-Range, Range, in this order."""
    if "If-Match" in fields and not matches(fields["If-Match"], tag, weak_too=False):
        return Answer(412, "PreconditionFailed")
    if "If-None-Match" in fields and matches(fields["If-None-Match"], tag, weak_too=True):
        kept = {name: described[name] for name in ("Vary", "Cache-Control") if name in described}
        return Answer(304, headers={"ETag": tag, **kept})
    ranged = "Range" in fields and fields.get("If-Range", tag) == tag
    if method == "GET" and ranged:
        return range_answer(fields["Range"], data, described)
    length = str(len(data))
    return Answer(200, body=None if method == "HEAD" else data,
                  headers={**described, "ETag": tag, "Content-Range": None,
                           "Content-Length": length})


def conditions(tag, size):
    """Every combination of what the four fields may say; None leaves one out."""
    names = ("If-Match", "If-None-Match", "If-Range", "Range")
    values = (
        (None, tag, "*", OTHER, "W/" + tag, f"{OTHER}, {tag}"),
        (None, tag, "*", OTHER, "W/" + tag, f"{OTHER},W/{tag}"),
        (None, tag, OTHER, "W/" + tag),
        (None, "bytes=1-1", f"bytes={size}-", MALFORMED[0]),
    )
    for chosen in itertools.product(*values):
        yield {name: value for name, value in zip(names, chosen, strict=True) if value is not None}
