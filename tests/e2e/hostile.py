"""Hostile clients from several addresses, in a process of their own, and the origin they pick on.

    hostile.py origin DELAY

serves every request after DELAY seconds. Prints its port, and runs until standard input ends.

    hostile.py clients HOST PORT SECONDS TOKEN SOURCE...

does the following from each source address for SECONDS, then prints one JSON line: how often each
answer was seen, by the kind of client.

- impatient: requests whose own deadline (5 ms) the origin cannot meet
- dripping: requests whose body comes a byte at a time
- lists: the list of pending proposals, again and again
- streams: event streams that are kept open
- posing: requests under TOKEN, which claims the polite client's address as its tenant; the server
  takes them for requests without a token
- crowd: connections that are opened and kept, and say nothing

It steps back behind the server and its polite clients: a client that attacks a server from elsewhere
does not take its processors.
"""

import asyncio
import collections
import json
import os
import sys

import ron

SLOW = "/origin/slow"
PAUSE_S = 0.01


class Hostile:
    """One address."""

    def __init__(self, address, source, token, stop, seen):
        self.address, self.source, self.token = address, source, token
        self.stop, self.seen = stop, seen

    def is_over(self):
        return asyncio.get_running_loop().time() >= self.stop

    async def connect(self):
        return await asyncio.open_connection(*self.address, local_addr=(self.source, 0))

    async def head_of(self, kind, reader):
        """Reads a response's head, counts its status and returns its length, or None at the end."""
        left = max(0.1, self.stop - asyncio.get_running_loop().time())
        try:
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), left)
        except (asyncio.TimeoutError, asyncio.IncompleteReadError, OSError):
            self.seen[kind]["none"] += 1
            return None
        status, *fields = head.decode("latin-1").split("\r\n")
        self.seen[kind][status.split()[1]] += 1
        for field in fields:
            if field.lower().startswith("content-length:"):
                return int(field.split(":")[1])
        return 0

    async def again_and_again(self, kind, text):
        """One request after the other; each answer is read, and the connection used again."""
        while not self.is_over():
            writer = None
            try:
                reader, writer = await self.connect()
                while not self.is_over():
                    writer.write(text)
                    length = await self.head_of(kind, reader)
                    if length is None:
                        break
                    await asyncio.wait_for(reader.readexactly(length), 10)
                    await asyncio.sleep(PAUSE_S)
            except (OSError, asyncio.TimeoutError, asyncio.IncompleteReadError):
                self.seen[kind]["none"] += 1
            finally:
                if writer:
                    writer.close()
            await asyncio.sleep(PAUSE_S)

    async def drip(self):
        """A request whose body never gets anywhere; when it is cut, the next."""
        text = ron.request("GET", SLOW, [("Content-Length", "100000")])
        while not self.is_over():
            writer = None
            try:
                reader, writer = await self.connect()
                writer.write(text)
                answer = asyncio.ensure_future(self.head_of("dripping", reader))
                while not answer.done():
                    writer.write(b"a")
                    await asyncio.wait({answer}, timeout=0.5)
            except OSError:
                self.seen["dripping"]["none"] += 1
            finally:
                if writer:
                    writer.close()
            await asyncio.sleep(0.2)

    async def keep(self, kind, text):
        """A connection that is opened, perhaps asks once, and is kept as long as it lasts."""
        while not self.is_over():
            writer = None
            try:
                reader, writer = await self.connect()
                if text:
                    writer.write(text)
                    await self.head_of(kind, reader)
                left = max(0.1, self.stop - asyncio.get_running_loop().time())
                await asyncio.wait_for(reader.read(), left)
            except (OSError, asyncio.TimeoutError):
                pass
            finally:
                if writer:
                    writer.close()
            await asyncio.sleep(1)

    def all_kinds(self):
        impatient = ron.request("GET", SLOW, [("Request-Timeout", "0.005")])
        lists = ron.request("GET", "/registry/proposals", [])
        posing = ron.request("GET", SLOW, [("Authorization", "Bearer " + self.token)])
        stream = ron.request("GET", "/registry/stream", [("Accept", "text/event-stream")])
        tasks = [self.again_and_again("impatient", impatient) for _ in range(6)]
        tasks += [self.again_and_again("lists", lists)]
        tasks += [self.again_and_again("posing", posing) for _ in range(4)]
        tasks += [self.keep("streams", stream) for _ in range(80)]
        tasks += [self.drip() for _ in range(220)]
        tasks += [self.keep("crowd", b"") for _ in range(100)]
        return tasks


async def clients(host, port, seconds, token, sources):
    stop = asyncio.get_running_loop().time() + seconds
    seen = collections.defaultdict(collections.Counter)
    tasks = []
    for source in sources:
        tasks += Hostile((host, port), source, token, stop, seen).all_kinds()
    await asyncio.gather(*tasks)
    print(json.dumps(seen), flush=True)


async def origin(delay):
    async def serve(reader, writer):
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                fields = dict(line.split(": ", 1) for line in head.decode("latin-1").split("\r\n")[1:]
                              if ": " in line)
                length = {name.lower(): text for name, text in fields.items()}.get(
                    "content-length", "0")
                await reader.readexactly(int(length))
                await asyncio.sleep(delay)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main():
    ron.more_descriptors()
    if sys.argv[1] == "origin":
        return asyncio.run(origin(float(sys.argv[2])))
    os.nice(10)
    host, port, seconds, token = sys.argv[2:6]
    return asyncio.run(clients(host, int(port), float(seconds), token, sys.argv[6:]))


if __name__ == "__main__":
    main()
