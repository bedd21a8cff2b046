"""System calls of a running server, watched and made to fail or to wait with strace, and a server
whose file calls show there."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

import ron

# What changes a file or a directory. Calls through io_uring do not show: see without_io_uring.py.
CALLS = ("pwritev", "pwrite64", "fdatasync", "fsync", "rename", "renameat", "renameat2", "unlink",
         "unlinkat", "ftruncate", "openat", "mkdir")
LINE = re.compile(r"^\d+ +(\w+)\((.*)$")


def blocking_binary(directory):
    """A program that is the server without an io_uring."""
    wrapper = pathlib.Path(directory) / "without-io-uring"
    script = pathlib.Path(__file__).resolve().parent / "without_io_uring.py"
    # A leak check traces the process itself and cannot while strace does.
    wrapper.write_text("#!/bin/sh\nexport ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0\n"
                       f"exec '{sys.executable}' '{script}' '{ron.BINARY}' \"$@\"\n")
    wrapper.chmod(0o700)
    return str(wrapper)


def threads_of(server):
    return sorted(int(name) for name in os.listdir(f"/proc/{server.pid}/task"))


class Tracer:
    """strace on a running server until close(), on all of its threads or on the one at that place
    in the order in which they began."""

    def __init__(self, server, *flags, thread=None):
        self.server = server
        self.threads = threads_of(server)
        thread = None if thread is None else self.threads[thread]
        self._home = tempfile.TemporaryDirectory(prefix="ron-e2e-trace-")
        self.path = pathlib.Path(self._home.name) / "trace"
        whom = ["-p", str(thread)] if thread else ["-f", "-p", str(server.pid)]
        self.process = subprocess.Popen(
            ["strace", "-y", "-qq", "-s", "0", "-o", str(self.path), *flags, *whom],
            stderr=subprocess.DEVNULL, preexec_fn=ron.die_with_parent)
        wanted = [thread] if thread else self.threads
        ron.wait_until("strace is attached", lambda: all(map(self._is_traced, wanted)))

    def _is_traced(self, thread):
        status = pathlib.Path(f"/proc/{self.server.pid}/task/{thread}/status").read_text()
        return "TracerPid:\t0" not in status

    def close(self):
        """Lets go of the server, whatever it waits for."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(ron.REPLY_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def text(self):
        return self.path.read_text() if self.path.exists() else ""

    def injected(self):
        return self.text().count("(INJECTED)")

    def calls(self, below):
        """(name, path) of the calls on files below a directory, in order."""
        found = []
        for line in self.text().splitlines():
            match = LINE.match(line)
            if not match:
                continue
            paths = re.findall(rf'[<"]({re.escape(str(below))}[^>"]*)[>"]', match[2])
            if paths:
                found.append((match[1], paths[0]))
        return found

    def last_thread(self, name, path):
        """The place of the thread that made the last such call."""
        made = [int(line.split(" ", 1)[0]) for line in self.text().splitlines()
                if f" {name}(" in line and path in line]
        return self.threads.index(made[-1])
