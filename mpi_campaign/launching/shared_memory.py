"""Remove shared memory that ranks have left on this node, and print the names of the files, a line each.

    python -m mpi_campaign.launching.shared_memory PATTERN... SECONDS

A rank that is killed cannot remove its files in /dev/shm, and some launchers do not do it for the rank. Removed are
files with a name of one of the patterns that this user has made in the last SECONDS, and that no process has open or
mapped. It imports only the standard library, because it starts on each node at the end of every session.
"""

import contextlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
ALLOWANCE_SECONDS = 2.0
"""A file may seem so much older than it is: file systems note times with the resolution of the kernel's tick."""


def left(folder: Path, patterns: Sequence[str], seconds: float) -> list[Path]:
    """The files in a folder with a name of one of the patterns that this user has made in the last `seconds`, and that
    no process has open or mapped."""
    files: dict[tuple[int, int], Path] = {}
    for path in (path for pattern in patterns for path in folder.glob(pattern)):
        with contextlib.suppress(OSError):
            seen = path.lstat()
            if path.is_file() and seen.st_uid == os.geteuid() and time.time() - seen.st_mtime <= seconds:
                files[seen.st_dev, seen.st_ino] = path
    if not files:
        return []
    used = set(_used())
    return [path for file, path in files.items() if file not in used]


def _used() -> Iterator[tuple[int, int]]:
    """Device and inode of each file that a process has open or mapped, as far as this user may see that. Only this user
    can have opened files that are readable for nobody else."""
    for process in Path("/proc").glob("[0-9]*"):
        # First what is open: a process maps a file that it has open, and closes the file after that.
        with contextlib.suppress(OSError):
            for descriptor in (process / "fd").iterdir():
                with contextlib.suppress(OSError):
                    seen = descriptor.stat()
                    yield seen.st_dev, seen.st_ino
        with contextlib.suppress(OSError):
            for line in (process / "maps").read_text(errors="replace").splitlines():
                _, _, _, device, inode, *_ = line.split(maxsplit=5)
                major, minor = (int(number, 16) for number in device.split(":"))
                yield os.makedev(major, minor), int(inode)


def main(arguments: Sequence[str]) -> int:
    *patterns, seconds = arguments
    for path in left(SHARED_MEMORY, patterns, float(seconds) + ALLOWANCE_SECONDS):
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
            print(path.name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
