"""A client that looks closely: every response is read without mercy, byte for byte."""

import json
import os
import re
import socket
import ssl

SLOW = float(os.environ.get("RON_E2E_SLOW", "1"))  # stretches patience, never a limit under test
REPLY_S = 20 * SLOW


class ProtocolError(AssertionError):
    """The server broke HTTP."""


class Closed(Exception):
    """The connection ended where a response could have begun; `reset` tells a RST from a FIN."""

    def __init__(self, reset=False):
        super().__init__("reset" if reset else "closed")
        self.reset = reset


class Truncated(Exception):
    """The connection ended inside a response. `status` is set if the head was complete."""

    def __init__(self, status=None):
        super().__init__(f"truncated, status {status}")
        self.status = status


class Response:
    def __init__(self, status, headers, raw_head):
        self.status = status
        self.headers = headers  # in order, names as sent
        self.raw_head = raw_head
        self.body = b""

    def get(self, name, default=None):
        values = self.all(name)
        return values[0] if values else default

    def all(self, name):
        return [value for key, value in self.headers if key.lower() == name.lower()]

    @property
    def closes(self):
        return "close" in [v.lower() for v in self.all("Connection")]

    def json(self):
        return json.loads(self.body)

    @property
    def code(self):
        """The error code of the envelope, or None."""
        return self.json()["error"]["code"] if self.status >= 400 and self.body else None


FIELD = re.compile(
    rb"^([!#$%&'*+\-.^_`|~0-9A-Za-z]+): ([\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?$")
STATUS = re.compile(rb"^HTTP/1\.1 ([1-5][0-9][0-9]) [\x20-\x7e]+$")


def parse_head(raw):
    """A response head, without mercy: exact line ends, exact fields, no repeated framing."""
    if not raw.endswith(b"\r\n\r\n"):
        raise ProtocolError(f"head without an end: {raw!r}")
    lines = raw[:-4].split(b"\r\n")
    start = STATUS.match(lines[0])
    if not start:
        raise ProtocolError(f"status line {lines[0]!r}")
    headers = []
    for line in lines[1:]:
        field = FIELD.match(line)
        if not field:
            raise ProtocolError(f"field line {line!r}")
        headers.append((field[1].decode(), (field[2] or b"").decode()))
    response = Response(int(start[1]), headers, raw)
    for name in ("Content-Length", "Connection", "X-Corr-ID", "Date", "ETag", "Retry-After"):
        if len(response.all(name)) > 1:
            raise ProtocolError(f"{name} twice in {raw!r}")
    if response.all("Transfer-Encoding"):
        raise ProtocolError("a transfer coding nobody asked for")
    return response


class Connection:
    """A socket that reads exactly one response at a time and keeps what follows. The address is a
    host and port, or the path of a Unix socket; with `tls`, a file of certificates to trust."""

    def __init__(self, address, timeout=REPLY_S, receive_buffer=None, source=None, tls=None):
        is_unix = isinstance(address, str)
        self.socket = socket.socket(socket.AF_UNIX if is_unix else socket.AF_INET)
        if source:
            self.socket.bind((source, 0))
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        try:
            self.socket.connect(address)
            if not is_unix:
                self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if tls:
                trust = ssl.create_default_context(cafile=tls)
                self.socket = trust.wrap_socket(self.socket, server_hostname="localhost")
        except BaseException:
            self.socket.close()
            raise
        self.pending = b""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def half_close(self):
        self.socket.shutdown(socket.SHUT_WR)

    def _more(self):
        """False at the end of the stream."""
        piece = self.socket.recv(1 << 16)
        self.pending += piece
        return bool(piece)

    def read_head(self):
        try:
            while b"\r\n\r\n" not in self.pending:
                if not self._more():
                    if self.pending:
                        raise Truncated()
                    raise Closed()
        except ConnectionError as error:
            if self.pending:
                raise Truncated() from error
            raise Closed(reset=True) from error
        end = self.pending.index(b"\r\n\r\n") + 4
        raw, self.pending = self.pending[:end], self.pending[end:]
        return parse_head(raw)

    def read_response(self, head_only=False):
        """One response, interim ones included; `head_only` for the answer to HEAD."""
        response = self.read_head()
        lengths = response.all("Content-Length")
        bodiless = response.status < 200 or response.status in (204, 304)
        if bodiless:
            if lengths:
                raise ProtocolError(f"{response.status} with a Content-Length")
            return response
        if len(lengths) != 1 or not re.fullmatch("0|[1-9][0-9]*", lengths[0]):
            raise ProtocolError(f"no proper Content-Length in {response.raw_head!r}")
        if head_only:
            return response
        length = int(lengths[0])
        pieces, have = [self.pending], len(self.pending)
        try:
            while have < length:
                piece = self.socket.recv(min(1 << 20, length - have))
                if not piece:
                    raise Truncated(response.status)
                pieces.append(piece)
                have += len(piece)
        except ConnectionError as error:
            raise Truncated(response.status) from error
        received = b"".join(pieces)
        response.body, self.pending = received[:length], received[length:]
        return response

    def ask(self, method, path, headers=(), body=None):
        """Sends one plain request and reads its answer."""
        self.send(request(method, path, headers, body))
        return self.read_response(head_only=method == "HEAD")

    def ends(self, timeout=REPLY_S):
        """Waits until the server ends the connection; no byte may come before that."""
        self.socket.settimeout(timeout)
        try:
            stray = self.pending or self.socket.recv(4096)
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        if stray:
            raise ProtocolError(f"bytes nobody asked for: {stray[:80]!r}")
        return True

    def is_open(self):
        """Proves it by another request and its answer."""
        try:
            return self.ask("GET", "/healthz").status == 200
        except (Closed, ConnectionError):
            return False


def request(method, path, headers=(), body=None):
    lines = [f"{method} {path} HTTP/1.1", "Host: test"]
    lines += [f"{name}: {value}" for name, value in headers]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + (body or b"")
