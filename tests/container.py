"""Runs a command within the limits that container engines and OpenShift set by default.

    python -m tests.container COMMAND [WORD...]

The user has no passwd entry and no name, as in OpenShift, and owns what the caller owns. HOME can only be read,
/dev/shm has 64 MB, and system calls are refused as by Docker's default filter of any year, without capabilities. The
command needs user namespaces.
"""

import ctypes
import errno
import os
import subprocess
import sys
from typing import Any

USER = 1234567
HOME = "/mnt"
MOUNTS = f"mount -t tmpfs -o size=64m tmpfs /dev/shm && mount -t tmpfs -o ro tmpfs {HOME}"
FORBIDDEN = (
    "set_mempolicy", "mbind", "get_mempolicy", "move_pages", "migrate_pages", "process_vm_readv", "process_vm_writev",
    "ptrace", "kcmp", "unshare", "setns", "mount", "umount2", "pivot_root", "chroot", "bpf", "perf_event_open",
    "keyctl", "add_key", "request_key", "userfaultfd", "io_uring_setup", "quotactl", "syslog", "open_by_handle_at",
)  # fmt: skip
NEW_NAMESPACES = 0x7E020000
ALLOW, ERRNO, MASKED_EQUAL = 0x7FFF0000, 0x00050000, 7  # of libseccomp


class Comparison(ctypes.Structure):
    """scmp_arg_cmp of libseccomp."""

    _fields_ = (("arg", ctypes.c_uint), ("op", ctypes.c_int), ("mask", ctypes.c_uint64), ("value", ctypes.c_uint64))


def run(*words: str) -> subprocess.CompletedProcess[str]:
    """Run a command so."""
    nameless = {name: value for name, value in os.environ.items() if name not in ("USER", "LOGNAME")} | {"HOME": HOME}
    root = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", f'{MOUNTS} && exec "$@"', "sh"]
    user = ["unshare", "--user", f"--map-user={USER}", "--map-group=0"]
    line = [*root, *user, sys.executable, "-m", "tests.container", *words]
    return subprocess.run(line, env=nameless, capture_output=True, text=True, check=False)


def forbid() -> None:
    """Refuse system calls to this process and its children: EPERM."""
    seccomp = ctypes.CDLL("libseccomp.so.2")
    seccomp.seccomp_init.restype = ctypes.c_void_p
    context = ctypes.c_void_p(seccomp.seccomp_init(ALLOW))
    refuse = ctypes.c_uint32(ERRNO | errno.EPERM)
    number_of = seccomp.seccomp_syscall_resolve_name
    rules: list[tuple[Any, ...]] = [(refuse, number_of(name.encode()), 0, None) for name in FORBIDDEN]
    for flag in (1 << bit for bit in range(32) if NEW_NAMESPACES >> bit & 1):
        rules.append((refuse, number_of(b"clone"), 1, ctypes.byref(Comparison(0, MASKED_EQUAL, flag, flag))))
    rules.append((ctypes.c_uint32(ERRNO | errno.ENOSYS), number_of(b"clone3"), 0, None))  # it has its flags in memory
    assert all(seccomp.seccomp_rule_add_array(context, *rule) == 0 for rule in rules)
    assert seccomp.seccomp_load(context) == 0


if __name__ == "__main__":
    forbid()
    os.execvp(sys.argv[1], sys.argv[1:])
