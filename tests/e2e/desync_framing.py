"""Hostile requests, part one: where a body ends. Lengths, transfer codings, chunks, trailers."""

from desync_table import BAD, LAST_CHUNK, SMUGGLED, chunk, chunked, post, sized

# One body for two readers: the length covers a request that is behind the last chunk ...
BEHIND_CHUNKS = LAST_CHUNK + SMUGGLED
# ... and the length ends where a request begins that the chunks cover.
CHUNKS = chunk(SMUGGLED) + LAST_CHUNK
SIZE_LINE = CHUNKS.index("\r\n") + 2

CHUNK_LIKE = "0\r\n\r\n5\r\nhello\r\n0\r\n\r\nGET / HTTP/1.1\r\n\r\n"

CONTROLS = "\x00\x01\x08\x0b\x0c\x1b\x1f\x7f"


def both_ways(t, name, *codings):
    """A coding, however spelled, beside a length: refused whichever of the two would win."""
    t.refused(f"{name}, length first",
              post(BEHIND_CHUNKS, f"Content-Length: {len(BEHIND_CHUNKS)}", *codings))
    t.refused(f"{name}, length last, which is short",
              post(CHUNKS, *codings, f"Content-Length: {SIZE_LINE}"))


def length_and_coding(t):
    both_ways(t, "CL.TE", "Transfer-Encoding: chunked")
    both_ways(t, "coding in capitals", "TRANSFER-ENCODING: CHUNKED")
    both_ways(t, "coding in mixed case", "tRANSFER-eNCODING: cHuNkEd")
    both_ways(t, "coding without a space", "Transfer-Encoding:chunked")
    both_ways(t, "coding behind spaces", "Transfer-Encoding:     chunked")
    both_ways(t, "coding behind a tab", "Transfer-Encoding:\tchunked")
    both_ways(t, "coding before spaces", "Transfer-Encoding: chunked   ")
    both_ways(t, "coding before a tab", "Transfer-Encoding: chunked\t")
    both_ways(t, "space before the colon", "Transfer-Encoding : chunked")
    both_ways(t, "tab before the colon", "Transfer-Encoding\t: chunked")
    both_ways(t, "coding folded", "Transfer-Encoding:", " chunked")
    both_ways(t, "coding folded with a tab", "Transfer-Encoding:", "\tchunked")
    both_ways(t, "coding hidden in a fold", "X-A: b", " Transfer-Encoding: chunked")
    both_ways(t, "coding behind a bare LF", "X-A: b\nTransfer-Encoding: chunked")
    both_ways(t, "coding behind a bare CR", "X-A: b\rTransfer-Encoding: chunked")
    both_ways(t, "coding before a bare LF", "Transfer-Encoding: chunked\nX-A: b")
    both_ways(t, "coding before a bare CR", "Transfer-Encoding: chunked\rX-A: b")
    both_ways(t, "LF before the coding", "Transfer-Encoding:\nchunked")
    both_ways(t, "chunked, identity", "Transfer-Encoding: chunked, identity")
    both_ways(t, "identity, chunked", "Transfer-Encoding: identity, chunked")
    both_ways(t, "identity", "Transfer-Encoding: identity")
    both_ways(t, "xchunked", "Transfer-Encoding: xchunked")
    both_ways(t, "chunked twice in a list", "Transfer-Encoding: chunked, chunked")
    both_ways(t, "chunked, cow", "Transfer-Encoding: chunked, cow")
    both_ways(t, "cow, chunked", "Transfer-Encoding: cow, chunked")
    both_ways(t, "quoted", 'Transfer-Encoding: "chunked"')
    both_ways(t, "single quotes", "Transfer-Encoding: 'chunked'")
    both_ways(t, "with a parameter", "Transfer-Encoding: chunked;q=0.5")
    both_ways(t, "comma first", "Transfer-Encoding: ,chunked")
    both_ways(t, "comma last", "Transfer-Encoding: chunked,")
    both_ways(t, "empty coding", "Transfer-Encoding:")
    both_ways(t, "two lines", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked")
    both_ways(t, "cow in the second line", "Transfer-Encoding: chunked", "Transfer-Encoding: cow")
    both_ways(t, "cow in the first line", "Transfer-Encoding: cow", "Transfer-Encoding: chunked")
    both_ways(t, "empty second line", "Transfer-Encoding: chunked", "Transfer-Encoding:")
    for control in CONTROLS:
        both_ways(t, f"byte {ord(control):02x} before the coding",
                  f"Transfer-Encoding: {control}chunked")
        both_ways(t, f"byte {ord(control):02x} in the name",
                  f"Transfer-Encoding{control}: chunked")
    both_ways(t, "no-break space in the name", "Transfer-Encoding\xa0: chunked")
    both_ways(t, "no-break space before the coding", "Transfer-Encoding: \xa0chunked")
    both_ways(t, "coding folded to the field before", " Transfer-Encoding: chunked")


def codings_alone(t):
    """Without a length a recipient that does not know the coding sees no body at all."""
    for name, coding in {
            "chunked, identity": "chunked, identity", "identity": "identity", "gzip": "gzip",
            "gzip, chunked": "gzip, chunked", "chunked, gzip": "chunked, gzip",
            "xchunked": "xchunked", "vertical tab": "\x0bchunked", "NUL": "chunked\x00",
            "quoted": '"chunked"', "parameter": "chunked;x", "empty": "", "comma": "chunked,"
    }.items():
        t.refused(f"coding alone: {name}", post(BEHIND_CHUNKS, f"Transfer-Encoding: {coding}"))
    t.refused("coding alone: two lines",
              post(BEHIND_CHUNKS, "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"))
    t.refused("coding alone: HTTP/1.0", chunked(BEHIND_CHUNKS, version="HTTP/1.0"))
    t.must("coding alone: mixed case", post(CHUNKS, "transfer-eNCODING: Chunked"), SMUGGLED)
    for name, field in {
            "underscore": "Transfer_Encoding", "plural": "Transfer-Encodings",
            "prefixed": "X-Transfer-Encoding", "no dash": "TransferEncoding"}.items():
        t.read(f"no coding by its name: {name}",
               sized(BEHIND_CHUNKS, f"{field}: chunked"), BEHIND_CHUNKS)
    t.read("TE is no coding", sized(BEHIND_CHUNKS, "TE: chunked"), BEHIND_CHUNKS)


def lengths(t):
    size = len(SMUGGLED)
    for name, value in {
            "with a plus": f"+{size}", "negative": f"-{size}", "minus zero": "-0",
            "hexadecimal": f"0x{size:x}", "octal": f"0o{size:o}", "underscore": f"{size}_0",
            "two in one line": f"{size} {size}", "list": f"{size}, {size}",
            "list of different": f"{size}, 0", "list without space": f"0,{size}",
            "comma last": f"{size},", "comma first": f",{size}", "fraction": f"{size}.0",
            "exponent": "1e2", "letter behind": f"{size}a", "semicolon": f"{size};",
            "quoted": f'"{size}"', "empty": "", "space": " ", "words": "all of it",
            "2^64": str(2**64), "2^64 + n": str(2**64 + size), "2^63": str(2**63),
            "200 digits": "9" * 200, "NUL behind": f"{size}\x00", "NUL before": f"\x00{size}",
            "vertical tab": f"\x0b{size}", "form feed": f"{size}\x0c", "superscript": "\xb2",
            "no-break space": f"\xa0{size}"}.items():
        t.refused(f"length {name}", post(SMUGGLED, f"Content-Length: {value}"))
    t.refused("two equal lengths", sized(SMUGGLED, f"Content-Length: {size}"))
    t.refused("two lengths, 0 last", post(SMUGGLED, f"Content-Length: {size}", "Content-Length: 0"))
    t.refused("two lengths, 0 first", sized(SMUGGLED, "Content-Length: 0"))
    t.refused("two lengths in two cases", sized(SMUGGLED, "content-length: 0"))
    t.refused("two lengths apart", post(SMUGGLED, "Content-Length: 0", "X-A: b", "X-B: c",
                                        f"CONTENT-LENGTH: {size}"))
    t.refused("three lengths", post(SMUGGLED, *[f"Content-Length: {size}"] * 3))
    t.refused("length folded", post(SMUGGLED, "Content-Length:", f" {size}"))
    t.refused("length continued in a fold", post(SMUGGLED, "Content-Length: 1", f" {size}"))
    t.refused("space before the colon of a length", post(SMUGGLED, f"Content-Length : {size}"))
    t.refused("tab before the colon of a length", post(SMUGGLED, f"Content-Length\t: {size}"))
    t.refused("length behind a bare LF", post(SMUGGLED, f"X-A: b\nContent-Length: {size}"))
    t.refused("length behind a bare CR", post(SMUGGLED, f"X-A: b\rContent-Length: {size}"))
    t.refused("length hidden behind LF and a good one",
              post(SMUGGLED, f"Content-Length: {size}\nContent-Length: 0"))
    for control in CONTROLS:
        t.refused(f"byte {ord(control):02x} in the name of a length",
                  post(SMUGGLED, f"Content-Length{control}: {size}"))
    t.must("length in mixed case", post(SMUGGLED, f"cOnTeNt-lEnGtH: {size}"), SMUGGLED)
    t.read("length with leading zeros", post(SMUGGLED, f"Content-Length: 000{size}"), SMUGGLED)
    t.read("length between spaces", post(SMUGGLED, f"Content-Length:   {size}   "), SMUGGLED)
    t.read("length between tabs", post(SMUGGLED, f"Content-Length:\t{size}\t"), SMUGGLED)
    for name, field in {"underscore": "Content_Length", "plural": "Content-Lengths",
                        "prefixed": "X-Content-Length", "no dash": "ContentLength"}.items():
        t.read(f"no length by its name: {name}", sized(SMUGGLED, f"{field}: 0"), SMUGGLED)
    for method in ("GET", "DELETE", "OPTIONS", "PUT", "PATCH"):
        t.read(f"{method} with a body", sized(SMUGGLED, method=method), SMUGGLED)
        t.read(f"{method} with chunks", chunked(CHUNKS, method=method), SMUGGLED)
    t.read("HEAD with a body", sized(SMUGGLED, method="HEAD"), SMUGGLED, to_head=True)
    t.must("POST without a body", post("", "Content-Length: 0"))
    t.read("POST that says nothing of a body", post(""))
    t.cut("length far beyond any cap", post(SMUGGLED, "Content-Length: 999999999999"))
    t.cut("a body that ends early", post(SMUGGLED, f"Content-Length: {size + 1}"), follow=False)
    t.cut("a body that does not come", post("", f"Content-Length: {size}"), follow=False)


def chunk_sizes(t):
    """Each has a request in its body that begins behind what a lenient reader takes for the end."""
    size = f"{len(SMUGGLED):x}"
    for name, line in {
            "plus": f"+{size}", "minus": f"-{size}", "0x": f"0x{size}", "underscore": f"{size}_",
            "space first": f" {size}", "tab first": f"\t{size}", "empty": "",
            "no hex": "xyz", "comma": f"{size},{size}", "fraction": f"{size}.0",
            "2^64": "10000000000000000", "2^64 + n": f"1{int(size, 16):016x}",
            "2^63": "8000000000000000", "2^32 and more": "1" + "0" * 40,
            "NUL": f"{size}\x00", "vertical tab": f"{size}\x0b", "bare CR": f"{size}\r;",
            "CR behind": f"{size}\r", "NUL in an extension": f"{size};a=\x00",
            "bare CR in an extension": f"{size};a\rb", "no-break space": f"\xa0{size}"}.items():
        t.cut(f"chunk size: {name}", chunked(f"{line}\r\n{SMUGGLED}\r\n{LAST_CHUNK}"))
    t.cut("chunk size ends with a bare LF", chunked(f"{size}\n{SMUGGLED}\r\n{LAST_CHUNK}"))
    t.cut("chunk size ends with a bare CR", chunked(f"{size}\r{SMUGGLED}\r\n{LAST_CHUNK}"))
    t.cut("bare LF in an extension", chunked(f"{size};a\n{SMUGGLED}\r\n{LAST_CHUNK}"))
    t.cut("LF LF in an extension", chunked(f"2;\n\nxx\r\n{size}\r\n{SMUGGLED}\r\n{LAST_CHUNK}"))
    t.cut("line ends in a quoted extension",
          chunked(f'{size};a="\r\n{SMUGGLED}"\r\n{SMUGGLED}\r\n{LAST_CHUNK}'))
    t.cut("last chunk ends with bare LFs", chunked(f"{chunk('abc')}0\n\n{SMUGGLED}"))
    t.cut("last chunk, bare LF ends the trailers", chunked(f"{chunk('abc')}0\r\n\n{SMUGGLED}"))
    t.cut("last chunk is minus zero", chunked(f"{chunk('abc')}-0\r\n\r\n{SMUGGLED}"))
    t.cut("chunk without its end", chunked(f"3\r\nabc{size}\r\n{SMUGGLED}\r\n{LAST_CHUNK}"))
    t.cut("chunk ends with LF", chunked(f"3\r\nabc\n{size}\r\n{SMUGGLED}\r\n{LAST_CHUNK}"))
    t.cut("chunk ends with CR", chunked(f"3\r\nabc\r{size}\r\n{SMUGGLED}\r\n{LAST_CHUNK}"))
    t.cut("chunk ends with two other bytes",
          chunked(f"3\r\nabcXX{size}\r\n{SMUGGLED}\r\n{LAST_CHUNK}"))
    t.cut("chunk longer than it says", chunked(f"3\r\nabcdef\r\n{CHUNKS}"))
    t.cut("chunk shorter than it says", chunked(f"9\r\nabc\r\n{CHUNKS}"))
    t.cut("chunks that break off", chunked(chunk(SMUGGLED)), follow=False)
    t.cut("a chunk that breaks off", chunked(f"ff\r\n{SMUGGLED}"), follow=False)
    t.cut("a size that breaks off", chunked(f"{chunk('abc')}5"), follow=False)
    t.cut("a last chunk that breaks off", chunked(f"{chunk('abc')}0\r\n"), follow=False)
    t.cut("chunks that never begin", chunked(""), follow=False)
    t.must("plain chunks", chunked(CHUNKS), SMUGGLED)
    t.must("many chunks", chunked("".join(map(chunk, CHUNK_LIKE)) + LAST_CHUNK), CHUNK_LIKE)
    t.must("no chunk but the last", chunked(LAST_CHUNK))
    t.must("size in capitals", chunked(f"{size.upper()}\r\n{SMUGGLED}\r\n{LAST_CHUNK}"), SMUGGLED)
    t.read("size with leading zeros", chunked(f"000{size}\r\n{SMUGGLED}\r\n{LAST_CHUNK}"), SMUGGLED)
    t.read("last chunk of many zeros", chunked(f"{chunk(SMUGGLED)}0000\r\n\r\n"), SMUGGLED)
    t.read("space behind the size", chunked(f"{size} \r\n{SMUGGLED}\r\n{LAST_CHUNK}"), SMUGGLED)
    for name, extension in {"one": ";a=b", "without a value": ";a", "quoted": ';a="b;c"',
                            "empty": ";", "size-like": f";{size}=0", "spaced": " ; a = b",
                            "long": ";" + "a" * 200}.items():
        t.read(f"extension: {name}",
               chunked(f"{size}{extension}\r\n{SMUGGLED}\r\n{LAST_CHUNK}"), SMUGGLED)
    t.cut("extension beyond reason",
          chunked(f"{size};{'a' * 70000}\r\n{SMUGGLED}\r\n{LAST_CHUNK}"))


def trailers(t):
    """They belong to the message and never become fields of a head."""
    for name, line in {
            "a smuggled field": f"X-Smuggled: {BAD}", "a length": "Content-Length: 5",
            "a coding": "Transfer-Encoding: chunked", "a Host": f"Host: {BAD}",
            "a capability": f"Authorization: Bearer {BAD}", "a cookie": f"Cookie: {BAD}",
            "an address": f"X-Forwarded-For: {BAD}", "a connection": f"Connection: {BAD}"}.items():
        t.read(f"trailer: {name}",
               chunked(f"{chunk(SMUGGLED)}0\r\n{line}\r\n\r\n", "Trailer: x"), SMUGGLED)
    for name, line in {
            "without a colon": BAD, "folded": f"X-A: b\r\n X-Smuggled: {BAD}",
            "bare LF": f"X-A: b\nX-Smuggled: {BAD}", "bare CR": f"X-A: b\rX-Smuggled: {BAD}",
            "NUL": "X-A: \x00", "space before the colon": f"X-A : {BAD}",
            "a request line": f"GET /UP/{BAD} HTTP/1.1"}.items():
        t.cut(f"bad trailer: {name}", chunked(f"{chunk('abc')}0\r\n{line}\r\n\r\n"))
    t.cut("trailers without end", chunked(f"{chunk('abc')}0\r\n" + "X-A: b\r\n" * 20000))
    t.cut("trailers that break off", chunked(f"{chunk('abc')}0\r\nX-A: b\r\n"), follow=False)


def pipelines(t):
    """Several good requests at once, each with a body that looks like a request."""
    t.must("a body that is a request", sized(SMUGGLED), SMUGGLED)
    t.must("a body that is chunks", sized(CHUNKS), CHUNKS)
    t.must("chunks that are a request with chunks",
           chunked(chunk(chunked(CHUNKS, target=f"/UP/{BAD}")) + LAST_CHUNK),
           chunked(CHUNKS, target=f"/UP/{BAD}"))
    t.must("a body of line ends", sized("\r\n\r\n\r\n"), "\r\n\r\n\r\n")
    t.read("an empty line before the request", "\r\n" + sized(SMUGGLED), SMUGGLED)


GROUPS = (length_and_coding, codings_alone, lengths, chunk_sizes, trailers, pipelines)
