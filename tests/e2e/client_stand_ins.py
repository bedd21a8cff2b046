"""Servers that a client command may meet besides a good one: one that serves what a test tells it
to, and a proxy that sees every request and can stop the traffic."""

import http.server
import re
import select
import socket
import threading


class LyingServer:
    """Serves `objects` by path, with ranges. `give_up_after` closes each connection after so many
    bytes of a body; `refuse` are statuses to answer first, with `Retry-After: 1` or without."""

    def __init__(self, objects, give_up_after=None, refuse=()):
        outer = self
        self.objects = dict(objects)
        self.give_up_after = give_up_after
        self.refuse = list(refuse)
        self.ranges = []  # of every GET, as (first, last)

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def log_message(self, *_):
                pass

            def do_GET(self):
                outer.answer(self)

            do_HEAD = do_GET

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = "http://127.0.0.1:%d" % self.server.server_port
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def answer(self, request):
        data = self.objects.get(request.path)
        status, headers, body = 200, {}, data
        asked = re.fullmatch(r"bytes=(\d+)-(\d+)", request.headers.get("Range", ""))
        if self.refuse:
            status, headers, body = self.refuse.pop(0), {"Retry-After": "1"}, b"{}"
        elif data is None:
            status, body = 404, b"{}"
        elif asked:
            first, last = int(asked[1]), min(int(asked[2]), len(data) - 1)
            self.ranges.append((first, last))
            if first >= len(data):
                status, body = 416, b"{}"
                headers["Content-Range"] = f"bytes */{len(data)}"
            else:
                status, body = 206, data[first:last + 1]
                headers["Content-Range"] = f"bytes {first}-{last}/{len(data)}"
        request.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            request.send_header(name, value)
        request.end_headers()
        if request.command == "HEAD":
            return
        request.wfile.write(body[:self.give_up_after])
        if self.give_up_after is not None and len(body) > self.give_up_after:
            request.close_connection = True


class Proxy:
    """Passes bytes on to a server. `parts` are the part numbers of uploads that went through, in
    order; after `hold_after` of them no other part passes. `held` says that one is kept back and
    all before it were answered."""

    PART = re.compile(rb"PUT /uploads/[^/ ]+/(\d+) HTTP/1\.1\r\n")

    def __init__(self, server_address, hold_after=None):
        self.server_address = server_address
        self.hold_after = hold_after
        self.parts = []
        self._answered = 0
        self.held = threading.Event()
        self._stop = threading.Event()
        self._released = threading.Event()
        self._dropping = False
        self._serving = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = "http://127.0.0.1:%d" % self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._stop.set()
        self._listener.close()

    def release(self):
        """Lets everything pass from now on."""
        with self._lock:
            self.hold_after = None
        self._released.set()

    def start_anew(self):
        """Lets new connections pass; those that were held end with what they hold."""
        self._dropping = True
        with self._lock:
            ended, self._serving = self._serving, []
        for thread in ended:
            thread.join()
        self._dropping = False
        self.parts.clear()
        self.release()

    def _accept(self):
        while not self._stop.is_set():
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self._serve, args=(client,), daemon=True)
            self._serving.append(thread)
            thread.start()

    def _serve(self, client):
        with client, socket.create_connection(self.server_address) as server:
            tail, part_asked = b"", False
            while not self._stop.is_set() and not self._dropping:
                ready, _, _ = select.select([client, server], [], [], 0.1)
                for source in ready:
                    try:
                        data = source.recv(1 << 16)
                    except OSError:
                        return
                    if not data:
                        return
                    if source is client:
                        part_asked = part_asked or bool(self.PART.search(tail + data))
                        while not self._may_pass(tail + data):
                            self._released.wait(0.1)
                            if self._stop.is_set() or self._dropping:
                                return
                        tail = data[-200:] if not self.PART.search(data[-200:]) else b""
                    elif part_asked and data.startswith(b"HTTP/1.1 20"):
                        part_asked = False
                        with self._lock:
                            self._answered += 1
                    try:
                        (server if source is client else client).sendall(data)
                    except OSError:
                        return

    def _may_pass(self, data):
        """Notes the parts that begin in `data`; false once there were enough."""
        with self._lock:
            begun = [int(found[1]) for found in self.PART.finditer(data)]
            full = self.hold_after is not None and len(self.parts) >= self.hold_after
            if begun and full:
                if self._answered >= self.hold_after:
                    self.held.set()
                return False
            self.parts += begun
            return True
