"""Hostile requests, part two: heads. Request lines, targets, hosts, fields, what is for one hop."""

from desync_framing import CONTROLS
from desync_table import BAD, OWN, SMUGGLED, head, post, sized
from strict_table import MAX_FIELDS, MAX_HEAD

TARGET = f"/UP/{OWN}"


def line(text, *fields):
    """A request whose first line is `text`."""
    return "\r\n".join([text, "Host: test", *fields, "", ""])


def request_lines(t):
    t.must("plain GET", head())
    t.must("plain POST", sized("a body"), "a body")
    t.must("plain HEAD", head(method="HEAD"), to_head=True)
    for name, text in {
            "HTTP/0.9": f"GET {TARGET}", "no target": "GET  HTTP/1.1",
            "two spaces before the target": f"GET  {TARGET} HTTP/1.1",
            "two spaces behind the target": f"GET {TARGET}  HTTP/1.1",
            "space first": f" GET {TARGET} HTTP/1.1", "space last": f"GET {TARGET} HTTP/1.1 ",
            "tabs": f"GET\t{TARGET}\tHTTP/1.1", "tab and space": f"GET \t{TARGET} HTTP/1.1",
            "vertical tab": f"GET\x0b{TARGET}\x0bHTTP/1.1",
            "form feed": f"GET {TARGET}\x0cHTTP/1.1",
            "no-break space": f"GET\xa0{TARGET}\xa0HTTP/1.1",
            "a request in the target": f"GET {TARGET} HTTP/1.1 /UP/{BAD} HTTP/1.1",
            "a version too many": f"GET {TARGET} HTTP/1.1 HTTP/1.1",
            "CR in the line": f"GET {TARGET}\r HTTP/1.1",
            "a field in the line": f"GET {TARGET} HTTP/1.1\rX-Smuggled: {BAD}",
            "LF in the target": f"GET {TARGET}\nX-Smuggled:{BAD} HTTP/1.1",
            "bare LF at the end": f"GET {TARGET} HTTP/1.1\nX-Smuggled: {BAD}",
            "CR CR LF": f"GET {TARGET} HTTP/1.1\r", "NUL behind": f"GET {TARGET} HTTP/1.1\x00",
            "colon in the method": f"GET: {TARGET} HTTP/1.1", "empty method": f" {TARGET} HTTP/1.1",
            "NUL in the method": f"G\x00T {TARGET} HTTP/1.1",
            "quoted method": f'"GET" {TARGET} HTTP/1.1'}.items():
        t.refused(f"request line: {name}", line(text))
    for version in ("HTTP/1.2", "HTTP/2.0", "HTTP/0.9", "HTTP/3.0", "HTTP/9.9", "HTTP/1.1.1",
                    "HTTP/11", "HTTP/1.10", "HTTP/01.1", "HTTP/1.1x", "http/1.1", "HTTP /1.1",
                    "HTTP/ 1.1", "HTTPS/1.1", "ICY/1.1", "HTTP/1,1", "HTTP/-1.1", "HTTP/1.",
                    "HTTP/+1.1"):
        t.refused(f"version {version}", line(f"GET {TARGET} {version}"))
    t.refused("HTTP/2 preface", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + SMUGGLED)
    t.refused("PROXY protocol", f"PROXY TCP4 203.0.113.7 127.0.0.1 1 2\r\n{head()}")
    t.refused("two empty lines first", "\r\n\r\n" + head())
    t.refused("an LF first", "\n" + head())
    t.read("HTTP/1.0", head(version="HTTP/1.0"))
    t.read("HTTP/1.0, kept", head("Connection: keep-alive", version="HTTP/1.0"))
    t.read("HTTP/1.0 without a Host", head(version="HTTP/1.0", host=None))
    t.read("HTTP/1.0 with a body", sized(SMUGGLED, version="HTTP/1.0"), SMUGGLED)
    t.unfinished("half a request line", "GET " + TARGET)
    t.unfinished("half a head", head()[:-2] + f"X-Smuggled: {BAD}")
    t.unfinished("a head without its last line", head()[:-2])
    t.unfinished("a head without its last byte", head()[:-1])


def methods(t):
    for method in ("get", "GeT", "TRACE", "TRACK", "BREW", "PROPFIND", "PURGE", "GETGET",
                   "GPOST", "M-SEARCH", "A" * 33, "A" * 5000):
        name = method if len(method) < 32 else f"of {len(method)} letters"
        t.denied(f"method {name}", head(method=method))
        t.read(f"method {name} with a body", sized(SMUGGLED, method=method), SMUGGLED)
    t.denied("CONNECT, authority-form", line("CONNECT test:80 HTTP/1.1", f"X-Marker: {OWN}"))
    t.denied("CONNECT, origin-form", head(method="CONNECT"))
    t.denied("OPTIONS *", line("OPTIONS * HTTP/1.1", f"X-Marker: {OWN}"))
    t.denied("GET *", line("GET * HTTP/1.1", f"X-Marker: {OWN}"))
    t.denied("GET, authority-form", line("GET test:80 HTTP/1.1", f"X-Marker: {OWN}"))


def targets(t):
    for name, target in {
            "dot segments": f"{TARGET}/../{BAD}", "another route": f"/UP/../zz/{BAD}",
            "encoded dots": f"{TARGET}/%2e%2e/{BAD}", "one encoded dot": f"{TARGET}/.%2e/{BAD}",
            "encoded dots and slash": f"{TARGET}%2f..%2f{BAD}", "a dot": f"/UP/./{OWN}",
            "dots at the end": f"{TARGET}/..", "encoded slash": f"/UP%2f{OWN}",
            "empty segment": f"/UP//{OWN}", "empty first segment": f"//UP/{OWN}",
            "three slashes": f"///UP/{OWN}", "backslash": f"{TARGET}\\..\\{BAD}",
            "backslash first": f"\\UP\\{OWN}", "encoded backslash": f"{TARGET}%5c..%5c{BAD}",
            "NUL": f"{TARGET}%00.png", "raw NUL": f"{TARGET}\x00",
            "encoded line": f"{TARGET}%0d%0aX-Smuggled:%20{BAD}",
            "encoded LF": f"{TARGET}%0aX-Smuggled:%20{BAD}", "encoded CR": f"{TARGET}%0d",
            "encoded request": f"{TARGET}%20HTTP/1.1%0d%0a%0d%0aGET%20/UP/{BAD}",
            "percent": f"{TARGET}%", "half an escape": f"{TARGET}%4", "bad escape": f"{TARGET}%zz",
            "IIS escape": f"{TARGET}%u002e%u002e/{BAD}", "encoded DEL": f"{TARGET}%7f",
            "fragment": f"{TARGET}#{BAD}", "raw non-ASCII": f"{TARGET}\xe9",
            "overlong dots, raw": f"{TARGET}/\xc0\xae\xc0\xae/{BAD}", "relative": f"UP/{OWN}",
            "space": f"{TARGET} {BAD}", "space in the query": f"{TARGET}?a b",
            "tab in the query": f"{TARGET}?a\tb", "no slash": f"?{OWN}",
            "scheme without slashes": f"http:/UP/{OWN}"}.items():
        t.denied(f"target: {name}", head(target=target))
    for control in CONTROLS:
        t.refused(f"target: byte {ord(control):02x}", head(target=f"{TARGET}{control}x"))
        t.refused(f"target: byte {ord(control):02x} in the query",
                  head(target=f"{TARGET}?{control}x"))
    for name, target in {
            "encoded twice": f"{TARGET}/%252e%252e/x", "overlong dots": f"{TARGET}/%c0%ae%c0%ae/x",
            "overlong slash": f"{TARGET}%c0%afx", "semicolon": f"{TARGET};a=b",
            "semicolon dots": f"{TARGET}/..;/x", "encoded space": f"{TARGET}%20x",
            "encoded quote": f"{TARGET}%22", "encoded question mark": f"{TARGET}%3fa",
            "encoded hash": f"{TARGET}%23a", "encoded letters": f"{TARGET}/%78",
            "colon": f"{TARGET}:80", "at": f"{TARGET}@test", "query": f"{TARGET}?a=b&c",
            "query with slashes": f"{TARGET}?/../x", "query with an escape": f"{TARGET}?%2e%2e",
            "two question marks": f"{TARGET}?a?b", "empty query": f"{TARGET}?",
            "encoded line in the query": f"{TARGET}?%0d%0aX-Smuggled:%20x",
            "slash at the end": f"{TARGET}/", "quotes": f'{TARGET}"x"', "angles": f"{TARGET}<x>",
            "braces": f"{TARGET}{{x}}", "bar": f"{TARGET}|x", "caret": f"{TARGET}^x",
            "brackets": f"{TARGET}[x]", "backtick": f"{TARGET}`x`",
            "backslash in the query": f"{TARGET}?\\x"}.items():
        t.read(f"target: {name}", head(target=target))
    t.refused("target: too long", head(target=TARGET + "a" * 70000))
    t.must("target: long", head(target=TARGET + "/" + "a" * 2000))


def absolute_forms(t):
    t.read("absolute-form", head(target=f"http://test{TARGET}"))
    t.read("absolute-form in capitals", head(target=f"HTTP://TEST{TARGET}"))
    for name, target in {
            "another host": f"http://{BAD}{TARGET}", "another port": f"http://test:81{TARGET}",
            "userinfo": f"http://{BAD}@test{TARGET}", "https": f"https://test{TARGET}",
            "no authority": f"http://{TARGET}", "file": f"file://{TARGET}",
            "no path": "http://test", "backslash": f"http://test\\@{BAD}{TARGET}"}.items():
        t.denied(f"absolute-form: {name}", head(f"X-Marker: {OWN}", target=target))
    t.read("absolute-form, Host of another", head(target=f"http://test{TARGET}", host=BAD))
    t.refused("absolute-form without a Host", head(target=f"http://test{TARGET}", host=None))


def hosts(t):
    t.refused("no Host", head(host=None))
    t.refused("two Hosts", head(f"Host: {BAD}"))
    t.refused("two equal Hosts", head("Host: test"))
    t.refused("two Hosts apart, in another case", head("X-A: b", f"hOST: {BAD}"))
    for name, host in {
            "empty": "", "userinfo": f"{BAD}@test", "comma": f"test, {BAD}", "space": f"test {BAD}",
            "slash": f"test/{BAD}", "query": f"test?{BAD}", "fragment": f"test#{BAD}",
            "large port": "test:99999", "port is a word": f"test:{BAD}", "two ports": "test:1:2",
            "open bracket": "[::1", "empty brackets": "[]", "backslash": f"test\\{BAD}",
            "percent": "te%zzst", "tab": f"test\t{BAD}", "NUL": f"test\x00{BAD}",
            "non-ASCII": "t\xe9st", "scheme": "http://test", "quote": '"test"',
            "angle": "<test>", "two in brackets": f"[::1]{BAD}"}.items():
        t.refused(f"Host: {name}", head(host=host))
    t.refused("Host folded", head(host=f"test\r\n {BAD}"))
    t.refused("Host behind a bare LF", head(f"X-A: b\nHost: {BAD}"))
    t.refused("Host behind a bare CR", head(f"X-A: b\rHost: {BAD}"))
    t.refused("space before Host's colon", head(f"Host : {BAD}"))
    t.refused("space before the only Host's colon", head("Host : test", host=None))
    t.refused("Host in a fold before all", f"GET {TARGET} HTTP/1.1\r\n Host: {BAD}\r\n\r\n")
    t.must("Host with a port", head(host="test:8080"))
    t.must("Host is an address", head(host="[::1]:80"))


def fields(t):
    hidden = f"X-Smuggled: {BAD}"
    for name, extra in {
            "behind a bare LF": f"X-A: b\n{hidden}", "behind a bare CR": f"X-A: b\r{hidden}",
            "behind LF CR": f"X-A: b\n\r{hidden}", "behind NUL": f"X-A: b\x00{hidden}",
            "in a fold": f"X-A: b\r\n {hidden}", "in a fold with a tab": f"X-A: b\r\n\t{hidden}",
            "behind CR CR LF": f"X-A: b\r\r\n{hidden}",
            "space before the colon": f"X-Smuggled : {BAD}", "space first": f" {hidden}",
            "tab before the colon": f"X-Smuggled\t: {BAD}",
            "in a name": f"X-A\n{hidden}", "without a name": f": {BAD}", "without a colon": BAD,
            "name in quotes": f'"X-A": {BAD}', "name with a slash": f"X/A: {BAD}",
            "name with an at": f"X@A: {BAD}", "name with brackets": f"X[A]: {BAD}",
            "name is not ASCII": f"X-\xe4: {BAD}", "name with an equals": f"X=A: {BAD}",
            "name with a comma": f"X,A: {BAD}", "an end before the end": f"\n\n{SMUGGLED}",
            "a request line": f"GET /UP/{BAD} HTTP/1.1"}.items():
        t.refused(f"field: {name}", head(extra))
    for control in CONTROLS:
        t.refused(f"field: byte {ord(control):02x} in a value", head(f"X-A: b{control}{hidden}"))
        t.refused(f"field: byte {ord(control):02x} in a name", head(f"X{control}A: b"))
        t.refused(f"field: byte {ord(control):02x} before the name", head(f"{control}X-A: {BAD}"))
    t.refused("field: the head ends with bare LFs", head()[:-4] + "\n\n" + SMUGGLED)
    t.refused("field: the head ends with CR LF LF", head()[:-2] + "\n" + SMUGGLED)
    t.refused("field: the head ends with LF CR LF", head()[:-4] + "\n\r\n" + SMUGGLED)
    t.refused("field: 1000 of them", head(*["X-A: b"] * 1000))
    t.refused("field: 100 KiB in one", head(f"X-A: {'b' * 100000}"))
    t.refused("field: 100 KiB in one name", head(f"{'b' * 100000}: {BAD}"))
    t.must("field: as many as there may be", head(*["X-A: b"] * (MAX_FIELDS - 1)))
    room = MAX_HEAD - len(head("X-A: "))
    for spare in (0, 100, 300, 1000):
        t.read(f"field: {spare} bytes less than the longest head",
               head("X-A: " + "b" * (room - spare)))
    t.must("field: obs-text", head("X-A: \xff\x80"))
    t.must("field: empty", head("X-A:"))
    t.must("field: a request in a value", head(f"X-A: GET /UP/{OWN} HTTP/1.1"))


def one_hop(t):
    """What Connection names, and what is for this hop by its name, stays here."""
    for name in ("X-Own", "Cookie", "Accept", "Authorization", "User-Agent", "Referer", "Range",
                 "If-Match", "HTTP2-Settings", "Content-Type"):
        t.read(f"Connection names {name}", head(f"Connection: {name}", f"{name}: {BAD}"))
        t.read(f"Connection names {name}, in another case and later",
               head(f"{name.upper()}: {BAD}", f"Connection: close2, ,{name.lower()}"))
    for name in ("Content-Length", "Transfer-Encoding", "Host", "Connection", "close, Host",
                 "keep-alive, Content-Length"):
        t.read(f"Connection names {name}", sized(SMUGGLED, f"Connection: {name}"), SMUGGLED)
    for name in ("X-Forwarded-For", "X-Forwarded-Proto", "X-Forwarded-Host", "Forwarded", "Via",
                 "X-Corr-ID"):
        t.read(f"Connection names {name}", head(f"Connection: {name}", f"{name}: {BAD}"))
    for name, field in {
            "Keep-Alive": f"Keep-Alive: {BAD}", "Proxy-Connection": f"Proxy-Connection: {BAD}",
            "Proxy-Authorization": f"Proxy-Authorization: Basic {BAD}", "TE": f"TE: {BAD}",
            "TE: trailers": f"TE: trailers, {BAD}", "Trailer": f"Trailer: {BAD}",
            "Upgrade": f"Upgrade: {BAD}", "Proxy-Anything": f"Proxy-{BAD}: {BAD}"}.items():
        t.read(f"for one hop: {name}", head(field))
    t.read("Upgrade to h2c", head("Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c",
                                  f"HTTP2-Settings: {BAD}"))
    t.read("Upgrade to websocket", head("Connection: Upgrade", "Upgrade: websocket",
                                        "Sec-WebSocket-Version: 13",
                                        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="))
    t.read("Upgrade with a body", sized(SMUGGLED, "Connection: Upgrade", "Upgrade: h2c"), SMUGGLED)
    t.refused("Connection is no list", head(f"Connection: X-Own; {BAD}", f"X-Own: {BAD}"))
    t.read("Connection in two lines", head("Connection: X-One", "Connection: X-Two",
                                           f"X-One: {BAD}", f"X-Two: {BAD}"))
    t.read("Connection names fifty", head(
        "Connection: " + ", ".join(f"X-{i}" for i in range(50)),
        *[f"X-{i}: {BAD}" for i in range(50)]))


def expectations(t):
    t.must("Expect with a body", sized(SMUGGLED, "Expect: 100-continue"), SMUGGLED)
    t.read("Expect in capitals", sized(SMUGGLED, "Expect: 100-CONTINUE"), SMUGGLED)
    t.read("Expect without a body", head("Expect: 100-continue"))
    t.read("Expect with no length", post("", "Expect: 100-continue"))
    t.read("Expect twice", sized(SMUGGLED, *["Expect: 100-continue"] * 2), SMUGGLED)
    t.read("Expect in HTTP/1.0", sized(SMUGGLED, "Expect: 100-continue", version="HTTP/1.0"),
           SMUGGLED)
    for value in (BAD, f"100-continue, {BAD}", "100-continue;a=b", "200-ok", "", "y 100-continue"):
        t.read(f"Expect: {value}", sized(SMUGGLED, f"Expect: {value}"), SMUGGLED)
    t.refused("Expect behind a bare LF", sized(SMUGGLED, "X-A: b\nExpect: 100-continue"))


def forgeries(t):
    """Who the client is and how it came is for the proxy to say."""
    for field in ("X-Forwarded-For: {}", "X-Forwarded-For: 203.0.113.7, {}", "x-forwarded-for: {}",
                  "X-Forwarded-Host: {}", "X-Forwarded-Proto: {}", "X-Forwarded-Port: {}",
                  "X-Forwarded-Server: {}", "X-Forwarded-Prefix: {}", "X-Real-IP: {}",
                  "Forwarded: for={}", 'Forwarded: for="{}";host={};proto=https',
                  'Forwarded: for=203.0.113.7, for="_{}"', 'Forwarded: for="{}', "X-Corr-ID: {}"):
        t.read(f"forged {field}", head(field.replace("{}", BAD)))
    t.read("forged twice", head(f"X-Forwarded-For: {BAD}", f"X-Forwarded-For: {BAD}"))
    t.read("forged between others", head("X-Forwarded-For: 203.0.113.7", f"Forwarded: for={BAD}",
                                         f"X-Forwarded-For: {BAD}"))
    t.read("forged with underscores", head(f"X_Forwarded_For: {BAD}"))
    t.read("forged Content-Length with underscores", head("Content_Length: 50"))


GROUPS = (request_lines, methods, targets, absolute_forms, hosts, fields, one_hop, expectations,
          forgeries)
