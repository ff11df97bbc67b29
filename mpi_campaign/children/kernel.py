"""The system calls of MPI libraries that the filter of a container, or a security module, refuses.

This file is also the program that tries them: between two processes of one parent, as ranks are.
"""

import ctypes
import errno
import functools
import os
import platform
import signal
import sys

from mpi_campaign import ROOT
from mpi_campaign.children import asking

COPY = "process_vm_readv"
"""Copies data of another process: a message within a node, once."""
POLICY = "set_mempolicy"
"""Chooses the NUMA node of a process's memory."""

# It is no function of the C library; this mode exists nowhere, so that the call changes nothing.
_POLICY_NUMBERS = {"x86_64": 238, "aarch64": 237, "riscv64": 237, "ppc64le": 261}
_NO_MODE = 0x7FFF


@functools.cache
def refused() -> tuple[str, ...]:
    """The names of the calls that are refused to the programs that we start."""
    return tuple(asking.ask([sys.executable, "-m", "mpi_campaign.children.kernel"], cwd=ROOT).stdout.split())


def _copies(libc: ctypes.CDLL) -> bool:
    """Whether one child may read the memory of another one, which has this byte at the same address."""
    byte = ctypes.c_char(b"x")
    place = (ctypes.c_size_t * 2)(ctypes.addressof(byte), 1)  # a struct iovec
    other = os.fork()
    if not other:
        signal.pause()
    reader = os.fork()
    if not reader:
        os._exit(libc.process_vm_readv(other, place, 1, place, 1, 0) != 1)
    copied = os.waitpid(reader, 0)[1] == 0
    os.kill(other, signal.SIGKILL)
    return copied


def main() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if not _copies(libc):
        print(COPY)
    number = _POLICY_NUMBERS.get(platform.machine())
    if number and libc.syscall(number, _NO_MODE, None, 0) and ctypes.get_errno() == errno.EPERM:
        print(POLICY)


if __name__ == "__main__":
    main()
