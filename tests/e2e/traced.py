"""Every file that a process touches, from a trace of its system calls. Calls made through io_uring
would not show, so a process that must not write must not make any."""

import os
import pathlib
import re
import tempfile
import unittest

import ron

CALLS = ("%file,write,pwrite64,writev,pwritev,pwritev2,ftruncate,fallocate,copy_file_range,"
         "sendfile,splice,io_uring_enter")
LINE = re.compile(r"^\d+ +(\w+)\((.*)$")
WRITES = re.compile(r"\bO_(WRONLY|RDWR|CREAT|TRUNC|APPEND|TMPFILE)\b")
OPENS = {"open", "openat", "openat2", "creat"}
CHANGES = {"creat", "mkdir", "mkdirat", "mknod", "mknodat", "rename", "renameat", "renameat2",
           "link", "linkat", "symlink", "symlinkat", "unlink", "unlinkat", "rmdir", "truncate",
           "chmod", "fchmodat", "chown", "fchownat", "lchown", "utimensat", "setxattr"}
SENDS = {"write", "pwrite64", "writev", "pwritev", "pwritev2", "ftruncate", "fallocate",
         "copy_file_range", "sendfile", "splice"}


class Case(unittest.TestCase):
    def setUp(self):
        home = tempfile.TemporaryDirectory(prefix="ron-e2e-")
        self.addCleanup(home.cleanup)
        self.trace = pathlib.Path(home.name) / "trace"
        self.binary = pathlib.Path(home.name) / "traced"
        # -D: the server keeps the process id that the harness knows.
        # A leak check traces the process itself and cannot while strace does.
        self.binary.write_text("#!/bin/sh\nexport ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0\n"
                               f"exec strace -D -f -y -s 256 -e trace={CALLS} "
                               f"-o '{self.trace}' '{ron.BINARY}' \"$@\"\n")
        self.binary.chmod(0o700)

    def calls(self):
        """(name, rest of the line) of every call; a resumed one is where it began."""
        ron.wait_until("the trace to end", lambda: re.search(
            r"\+\+\+ exited with 0 \+\+\+\n$", self.trace.read_text()))
        found = [LINE.match(line) for line in self.trace.read_text().splitlines()]
        return [match.groups() for match in found if match]

    def written(self, calls):
        """What was opened for writing, changed or written to, by path."""
        touched = set()
        for name, rest in calls:
            if name in OPENS and WRITES.search(rest) or name in CHANGES:
                touched.update(re.findall(r'"([^"]*)"', rest))
            elif name in SENDS:
                # Descriptors show as 3</path>; pipes, sockets and events have no slash there.
                touched.update(re.findall(r"\d+<(/[^>]*)>", rest))
        if ron.SANITIZED:  # ThreadSanitizer keeps a file of its own for a moment
            touched = {path for path in touched if "/tsan.rodata." not in path}
        return {path for path in touched if not path.startswith("/memfd:")}

    def only_the_token(self, server):
        """Ends a server that was asked for enough: it has written to its token and nothing else."""
        self.assertEqual(os.listdir(server.cwd), [])
        self.assertEqual(server.stop(), 0)
        self.assertEqual(os.listdir(server.cwd), [])
        calls = self.calls()
        token, log = str(server.token_path), str(server.log_path)
        self.assertEqual(self.written(calls) - {log},  # the log is standard error
                         {token, token + ".new", "token.new"})
        self.assertEqual([call for call in calls if call[0] == "io_uring_enter"], [])
