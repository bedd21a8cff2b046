"""Runs a program that the kernel refuses an io_uring, as many containers do:
`without_io_uring.py PROGRAM [ARGUMENT…]`. Its file calls then show in a trace of system calls, and
can be made to fail there."""

import ctypes
import os
import struct
import sys

PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
PR_SET_PTRACER, ANY = 0x59616D61, ctypes.c_ulong(-1)
LOAD_NUMBER, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE_EPERM = 0x7FFF0000, 0x00050001
IO_URING_SETUP = 425  # on every architecture

FILTER = b"".join(struct.pack("=HBBI", *step) for step in (
    (LOAD_NUMBER, 0, 0, 0),
    (JUMP_IF_EQUAL, 0, 1, IO_URING_SETUP),
    (RETURN, 0, 0, REFUSE_EPERM),
    (RETURN, 0, 0, ALLOW)))


def main():
    libc = ctypes.CDLL(None, use_errno=True)
    steps = ctypes.create_string_buffer(FILTER, len(FILTER))
    program = struct.pack("@HP", len(FILTER) // 8, ctypes.addressof(steps))
    if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        sys.exit("no_new_privs is refused")
    if libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) != 0:
        sys.exit(f"seccomp is refused: {os.strerror(ctypes.get_errno())}")
    libc.prctl(PR_SET_PTRACER, ANY, 0, 0, 0)  # a tracer need not be an ancestor
    os.execv(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
