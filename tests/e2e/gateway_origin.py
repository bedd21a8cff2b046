"""An upstream for tests of the gateway that does by hand, socket by socket, what a path says."""

import socket
import threading

import desync_parser as parser

HEAD_END = b"\r\n\r\n"


class Peer:
    """One connection from the gateway, from the upstream's side."""

    def __init__(self, connection):
        self.socket = connection
        self.pending = b""

    def read_head(self):
        """The next request's head as (Message without its body, bytes), or None at the end."""
        while HEAD_END not in self.pending:
            piece = self.socket.recv(1 << 16)
            if not piece:
                return None
            self.pending += piece
        raw, _, self.pending = self.pending.partition(HEAD_END)
        lines = raw.decode("latin-1").split("\r\n")
        start = parser.REQUEST_LINE.fullmatch(lines[0])
        request = parser.Message(parser.read_fields(lines[1:]), method=start[1], target=start[2])
        return request, raw + HEAD_END

    def read_body(self, request):
        """All of it, and the bytes it came as."""
        while True:
            before = self.pending
            try:
                self.pending = parser.read_body(request, before)
                return request.body, before[:len(before) - len(self.pending)]
            except parser.Unfinished:
                piece = self.socket.recv(1 << 16)
                if not piece:
                    raise ConnectionError("the body broke off") from None
                self.pending = before + piece

    def answer(self, body=b"", *fields, status="200 OK"):
        head = "\r\n".join([f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *fields, "", ""])
        self.socket.sendall(head.encode("latin-1") + body)

    def ended(self, timeout):
        """Waits for the gateway to leave; False if it does not."""
        self.socket.settimeout(timeout)
        try:
            while self.socket.recv(1 << 16):
                pass
        except ConnectionError:
            pass
        except TimeoutError:
            return False
        return True


class Origin:
    """Serves `ways`: what a path's first segment says is called with the Peer and the request. What
    it raises ends the connection; so does returning False."""

    def __init__(self, **ways):
        self.ways = ways
        self.requests = []  # (Message, the head's bytes), in order
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.address = self.listener.getsockname()
        self.url = "http://%s:%d" % self.address
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection):
        with connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            peer = Peer(connection)
            try:
                while head := peer.read_head():
                    request, _ = head
                    way = self.ways.get(request.target.strip("/").split("/")[0])
                    if way is None:  # how are you?
                        peer.answer()
                        continue
                    self.requests.append(head)
                    if way(peer, request) is False:
                        return
            except OSError:
                pass

    def close(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)  # close() alone leaves a wait in accept() to it
        except OSError:
            pass  # closed already
        self.listener.close()
