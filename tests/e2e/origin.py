"""An origin for tests of svc-edge: an HTTPS server with an authority of its own, or a plain one for
the caches that stand beside us. It counts what it is asked and does what a test says, by path."""

import email.utils
import itertools
import pathlib
import socket
import ssl
import struct
import threading
import time
import zlib

from gateway_nginx import Authority
from gateway_origin import Peer


def http_date(offset_s=0):
    return email.utils.formatdate(time.time() + offset_s, usegmt=True)


class Answer:
    """A response as it is sent: `length` is what Content-Length says, None for none at all."""

    EXACT = object()

    def __init__(self, body=b"", *fields, status="200 OK", length=EXACT, dated=True):
        self.body, self.fields, self.status, self.dated = body, fields, status, dated
        self.length = len(body) if length is Answer.EXACT else length

    def head(self):
        lines = [f"HTTP/1.1 {self.status}"]
        if self.dated and not any(each.lower().startswith("date:") for each in self.fields):
            lines.append("Date: " + http_date())
        if self.length is not None:
            lines.append(f"Content-Length: {self.length}")
        return "\r\n".join([*lines, *self.fields, "", ""]).encode("latin-1")

    def __call__(self, peer, request):
        bodiless = request.method == "HEAD" or self.status[:3] in ("204", "304")
        peer.socket.sendall(self.head() + (b"" if bodiless else self.body))
        if self.length is None and not bodiless:
            return False  # its end is the connection's
        return None


class Resource:
    """Something with validators, as a server of files has it: conditions are honoured. What is set
    later holds from then on."""

    def __init__(self, body, *fields, etag='"1"', modified=None):
        self.body, self.fields, self.etag, self.modified = body, fields, etag, modified

    def __call__(self, peer, request):
        fields = [*self.fields]
        if self.etag:
            fields.append("ETag: " + self.etag)
        if self.modified:
            fields.append("Last-Modified: " + self.modified)
        tags, since = request.get("if-none-match"), request.get("if-modified-since")
        same = self.etag in [each.strip() for each in tags.split(",")] if tags else (
            since is not None and since == self.modified)
        if same:
            return Answer(b"", *fields, status="304 Not Modified", length=None)(peer, request)
        return Answer(self.body, *fields)(peer, request)


# Ways to misbehave. Each takes what it is to be done with and gives what a path can do.

def after(seconds, then):
    """The same, later."""
    def way(peer, request):
        if peer.waits(seconds):
            return False
        return then(peer, request)
    return way


def hung(peer, _request):
    """Takes the request and never answers; ends when the other side leaves."""
    peer.ended(None)
    return False


def reset(peer, _request):
    peer.reset()
    return False


def reset_after(answer, count):
    """So many bytes of the body, then a reset."""
    def way(peer, _request):
        peer.socket.sendall(answer.head() + answer.body[:count])
        time.sleep(0.02)  # what was sent is read before the reset is
        peer.reset()
        return False
    return way


def closed_after(answer, count):
    """So many bytes of the body, then an orderly end."""
    def way(peer, _request):
        peer.socket.sendall(answer.head() + answer.body[:count])
        peer.finish()
        return False
    return way


def stalled_after(answer, count):
    """So many bytes of the body, then nothing more."""
    def way(peer, _request):
        peer.socket.sendall(answer.head() + answer.body[:count])
        peer.ended(None)
        return False
    return way


def dripping(answer, pause):
    """A byte of the body at a time."""
    def way(peer, _request):
        peer.socket.sendall(answer.head())
        for at in range(len(answer.body)):
            if peer.waits(pause):
                return False
            peer.socket.sendall(answer.body[at:at + 1])
        return None
    return way


def raw(data):
    """Exactly these bytes, then an orderly end."""
    def way(peer, _request):
        peer.socket.sendall(data)
        peer.finish()
        return False
    return way


def chunked(pieces, *fields, status="200 OK"):
    """The pieces as chunks."""
    lines = [f"HTTP/1.1 {status}", "Transfer-Encoding: chunked", "Date: " + http_date(), *fields]
    body = b"".join(b"%x\r\n%s\r\n" % (len(each), each) for each in pieces) + b"0\r\n\r\n"
    data = "\r\n".join([*lines, "", ""]).encode("latin-1") + body

    def way(peer, _request):
        peer.socket.sendall(data)
    return way


def endless(*fields):
    """Chunks without an end."""
    def way(peer, _request):
        peer.socket.sendall("\r\n".join(["HTTP/1.1 200 OK", "Transfer-Encoding: chunked", *fields,
                                         "", ""]).encode("latin-1"))
        piece = b"10000\r\n" + bytes(65536) + b"\r\n"
        while True:
            peer.socket.sendall(piece)
    return way


def redirect(to, status="302 Found", *fields):
    return Answer(b"", "Location: " + to, *fields, status=status)


def gzipped(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return packer.compress(data) + packer.flush()


def in_turn(*ways):
    """One after the other; the last again and again."""
    calls = itertools.count()
    lock = threading.Lock()

    def way(peer, request):
        with lock:
            number = next(calls)
        return ways[min(number, len(ways) - 1)](peer, request)
    return way


class EdgePeer(Peer):
    """One connection from a cache, from the origin's side."""

    def reset(self):
        """Ends it with a RST: the other side sees an error, not an end."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def cut(self):
        """From another thread than the one that serves it."""
        self.socket.shutdown(socket.SHUT_RDWR)

    def finish(self):
        """Ends it in order; with TLS the end is authentic."""
        if isinstance(self.socket, ssl.SSLSocket):
            self.socket.settimeout(1)
            try:
                self.socket = self.socket.unwrap()
            except OSError:
                return
        self.socket.shutdown(socket.SHUT_WR)

    def waits(self, seconds):
        """True if the other side has left meanwhile."""
        left = self.ended(seconds)
        self.socket.settimeout(None)
        return left


class Origin:
    """Listens on loopback, or on `host`, and does what was said for a path (without its query);
    other paths are 404. With an authority it speaks TLS and is called `name`."""

    def __init__(self, authority=None, host="127.0.0.1", name="localhost", port=0, issued=None):
        self.host, self.name = host, name if authority else host
        self.tls = None
        if authority is not None:
            issued = issued or authority.issue("origin-" + name, f"DNS:{name}")
            self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.tls.load_cert_chain(issued.cert, issued.key)
        self._ways, self._asked, self._peers = {}, [], set()
        self._lock = threading.Lock()
        self.connections = 0
        self._listen(port)

    def _listen(self, port):
        self.listener = socket.create_server((self.host, port), backlog=512)
        self.port = self.listener.getsockname()[1]
        self.authority = f"{self.name}:{self.port}"
        threading.Thread(target=self._accept, args=(self.listener,), daemon=True).start()

    def url(self, path=""):
        return f"{'https' if self.tls else 'http'}://{self.authority}{path}"

    def say(self, path, *ways):
        """What a path does: one way, or several in turn; the last again and again."""
        self._ways[path] = ways[0] if len(ways) == 1 else in_turn(*ways)
        return path

    def asked(self, path=None):
        """The requests so far, those for a path without regard to its query."""
        with self._lock:
            return [each for each in self._asked
                    if path is None or each.target.partition("?")[0] == path]

    def count(self, path=None):
        return len(self.asked(path))

    def _accept(self, listener):
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with self._lock:
            self.connections += 1
        peer = None
        try:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.tls:
                connection.settimeout(10)
                connection = self.tls.wrap_socket(connection, server_side=True)
                connection.settimeout(None)
            peer = EdgePeer(connection)
            with self._lock:
                self._peers.add(peer)
            self._converse(peer)
        except (OSError, ValueError):
            pass
        finally:
            with self._lock:
                self._peers.discard(peer)
            (peer.socket if peer else connection).close()

    def _converse(self, peer):
        while head := peer.read_head():
            request, _ = head
            with self._lock:
                self._asked.append(request)
            way = self._ways.get(request.target.partition("?")[0],
                                 Answer(b"nothing here", status="404 Not Found"))
            if way(peer, request) is False:
                return

    def kill(self):
        """Gone like a process that is killed: nobody listens, connections end in the middle."""
        self._stop_listening()
        with self._lock:
            peers = list(self._peers)
        for peer in peers:
            try:
                peer.cut()
            except OSError:
                pass

    def revive(self):
        """Back where it was."""
        self._listen(self.port)

    def _stop_listening(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # wakes who accepts
        except OSError:
            pass
        self.listener.close()

    def close(self):
        self.kill()


def new_authority(directory):
    pathlib.Path(directory).mkdir(parents=True, exist_ok=True)
    return Authority(directory)
