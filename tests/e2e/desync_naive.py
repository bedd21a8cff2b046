"""Proxies as they should not be. The differential test must catch them, or it shows nothing."""

import re
import socket
import threading

CHOICE = re.compile(rb"/([a-z]{2})/")
LENGTH = re.compile(rb"(?im)^content-length[ \t]*:[ \t]*(\d+)")


class Naive:
    """Listens; `serve(client)` is one connection's life. `routes` are addresses by prefix."""

    def __init__(self, routes):
        self.routes = routes
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        self.address = self.listener.getsockname()
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        with client:
            try:
                self.serve(client)
            except OSError:
                pass

    def serve(self, client):
        raise NotImplementedError

    def route(self, head):
        choice = CHOICE.search(head)
        return self.routes.get(choice[1].decode()) if choice else None

    def close(self):
        self.listener.close()


class Pipe(Naive):
    """Looks at the first bytes only, for where to go, and copies the rest in both directions."""

    def serve(self, client):
        first = client.recv(1 << 16)
        address = self.route(first)
        if address is None:
            client.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return
        with socket.create_connection(address) as upstream:
            upstream.sendall(first)
            back = threading.Thread(target=self._copy, args=(upstream, client), daemon=True)
            back.start()
            self._copy(client, upstream)
            back.join()

    @staticmethod
    def _copy(source, sink):
        try:
            while piece := source.recv(1 << 16):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class LengthWins(Naive):
    """Knows Content-Length and nothing else, sends heads on as they came, and keeps one connection
    to each upstream for everyone: what an upstream reads differently waits for the next client."""

    PATIENCE_S = 0.1

    def __init__(self, routes):
        self.kept = {}
        self.turn = threading.Lock()
        super().__init__(routes)

    def serve(self, client):
        pending = b""
        while True:
            while not (end := re.search(rb"\r?\n\r?\n", pending)):
                piece = client.recv(1 << 16)
                if not piece:
                    return
                pending += piece
            head, pending = pending[:end.end()], pending[end.end():]
            length = int(said[1]) if (said := LENGTH.search(head)) else 0
            while len(pending) < length:
                piece = client.recv(1 << 16)
                if not piece:
                    return
                pending += piece
            body, pending = pending[:length], pending[length:]
            address = self.route(head)
            if address is None:
                return
            with self.turn:
                answer = self._ask(address, head + body)
            client.sendall(answer)
            if re.search(rb"(?i)\nconnection: *close", head):
                return

    def _ask(self, address, message):
        upstream = self.kept.pop(address, None) or socket.create_connection(address)
        upstream.settimeout(self.PATIENCE_S)
        try:
            upstream.sendall(message)
            answer = self._answer(upstream)
        except OSError:
            upstream.close()
            return b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"
        self.kept[address] = upstream
        return answer

    @staticmethod
    def _answer(upstream):
        """One byte after the other, so that the next answer stays where it is."""
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            piece = upstream.recv(1)
            if not piece:
                raise ConnectionError
            answer += piece
        length = int(said[1]) if (said := LENGTH.search(answer)) else 0
        while length:
            piece = upstream.recv(min(length, 1 << 16))
            if not piece:
                raise ConnectionError
            answer += piece
            length -= len(piece)
        return answer
