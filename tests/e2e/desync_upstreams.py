"""The servers behind the proxy that say what they received: those of desync_programs.py, Python's
http.server, and a recorder that keeps every byte.

Each has a `name`, an `address`, and `seen()`, what it took for requests. All of them answer 200
with the field X-Saw, the marker they found.
"""

import collections
import http.client
import http.server
import socket
import threading

import desync_parser as parser
from desync_programs import HAProxy, Nginx, Node
from desync_seen import Seen, saw


class Recorder:
    """Keeps the bytes of every connection and answers what can be read in exactly one way; the rest
    it does not answer, and closes."""

    name = "recorder"

    def __init__(self):
        self.connections = []  # bytearrays
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = self.listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            received = bytearray()
            self.connections.append(received)
            threading.Thread(target=self._serve, args=(peer, received), daemon=True).start()

    def _serve(self, peer, received):
        unread = b""
        with peer:
            try:
                while piece := peer.recv(1 << 16):
                    received += piece
                    unread += piece
                    unread = self._answer(peer, unread)
            except (OSError, parser.Malformed):
                return

    def _answer(self, peer, unread):
        while unread:
            try:
                request, unread = parser.read_request(unread)
            except parser.Unfinished:
                break
            mark = Seen(request.method, request.target, request.fields).mark
            peer.sendall(saw(mark, self.name, request.method == "HEAD"))
        return unread

    def seen(self):
        """Of all connections; a rest is a request that broke off, or one that cannot be read."""
        found = []
        for raw in map(bytes, self.connections):
            while raw:
                try:
                    request, raw = parser.read_request(raw)
                except (parser.Unfinished, parser.Malformed) as error:
                    found.append(self._broken(raw, error))
                    break
                found.append(Seen(request.method, request.target, request.fields, request.body))
        return found

    @staticmethod
    def _broken(raw, error):
        """The rest of a connection, read as far as the first line goes."""
        words = raw.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        is_cut = isinstance(error, parser.Unfinished)
        return Seen(words[0], words[1] if len(words) > 1 else raw[:200].decode("latin-1"),
                    complete=False, error="" if is_cut else f"{error} in {raw[:400]!r}")

    def close(self):
        self.listener.close()


class PythonServer:
    """http.server, which reads a head; the body is read here, as naively as anyone would."""

    name = "python"

    def __init__(self):
        http.client._MAXHEADERS = 1000  # pylint: disable=protected-access
        self.log = collections.deque()
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def __getattr__(self, attribute):
                if attribute.startswith("do_"):
                    return lambda: outer.answer(self)
                raise AttributeError(attribute)

            def log_message(self, *_):
                pass

            def send_error(self, code, message=None, explain=None):
                outer.log.append(Seen("", str(self.requestline), complete=False,
                                      error=f"{code} {message}"))
                super().send_error(code, message, explain)

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True
            request_queue_size = 256

            def handle_error(self, request, client_address):
                pass  # a proxy that leaves in the middle is part of the test

        self.server = Server(("127.0.0.1", 0), Handler)
        self.address = self.server.server_address
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, handler):
        fields = [(name.lower(), value) for name, value in handler.headers.items()]
        seen = Seen(handler.command, handler.path, fields, complete=False)
        self.log.append(seen)
        seen.body, seen.complete = self._body(handler)
        if not seen.complete:
            handler.close_connection = True
            return
        handler.wfile.write(saw(seen.mark, self.name, handler.command == "HEAD"))

    @staticmethod
    def _body(handler):
        """(bytes, whether all came)"""
        if "chunked" in handler.headers.get("Transfer-Encoding", "").lower():
            body = b""
            while True:
                line = handler.rfile.readline()
                if not line.endswith(b"\n"):
                    return body, False
                size = int(line.split(b";")[0], 16)
                if size == 0:
                    return body, PythonServer._end(handler)
                piece = handler.rfile.read(size + 2)
                if len(piece) < size + 2:
                    return body, False
                body += piece[:-2]
        length = int(handler.headers.get("Content-Length") or 0)
        body = handler.rfile.read(length)
        return body, len(body) == length

    @staticmethod
    def _end(handler):
        """Reads trailers; whether they end."""
        while (line := handler.rfile.readline()).strip():
            pass
        return line.endswith(b"\n")

    def seen(self):
        return list(self.log)

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class Upstreams:
    """All of them, by their prefix, and what stands behind the two that are proxies themselves."""

    def __init__(self, *prefixes):
        self.closing = []
        try:
            self._start(prefixes)
        except BaseException:
            self.close()
            raise

    def _keep(self, thing):
        self.closing.append(thing)
        return thing

    def _start(self, prefixes):
        makers = {"rw": lambda: self._keep(Recorder()), "py": lambda: self._keep(PythonServer())}
        self.by_prefix = {}
        self.behind = {}
        if {"no", "nl"} & set(prefixes or ("no",)):
            node = self._keep(Node())
            makers.update(no=lambda: node.strict, nl=lambda: node.lenient)
        for prefix, program in (("ng", Nginx), ("ha", HAProxy)):
            makers[prefix] = lambda prefix=prefix, program=program: self._in_front(prefix, program)
        for prefix in prefixes or makers:
            self.by_prefix[prefix] = makers[prefix]()

    def _in_front(self, prefix, program):
        self.behind[prefix] = self._keep(PythonServer())
        return self._keep(program(self.behind[prefix]))

    def close(self):
        for thing in reversed(self.closing):
            thing.close()
