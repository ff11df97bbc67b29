"""Writing files that other processes may read or write at the same time."""

import errno
import os
import secrets
from contextlib import suppress
from pathlib import Path

PROBE_BYTES = 1 << 16
FULL = (errno.ENOSPC, errno.EDQUOT)


def write_atomically(path: Path, text: str) -> None:
    """Write the whole file or nothing. Of several processes that write it, the last one wins. Raises OSError."""
    # The random part keeps processes that write the same file apart.
    new_path = path.with_name(f".{path.name}.{secrets.token_hex(4)}.new")
    try:
        with new_path.open("x", encoding="utf-8") as stream:
            stream.write(text)
            stream.flush()
            os.fsync(stream.fileno())
        new_path.replace(path)
    finally:
        new_path.unlink(missing_ok=True)


def why_full(folder: Path) -> str:
    """Why no more can be written to a folder: its file system is full, or a quota is used up. Empty where it is not.

    It tries to write PROBE_BYTES: a quota is seen in no other way.
    """
    probe = folder / f".probe.{secrets.token_hex(4)}"
    try:
        with probe.open("xb") as stream:
            stream.write(bytes(PROBE_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        if error.errno not in FULL:
            return ""
        return f"{error.strerror} (file system {file_system(folder)[0]})"
    finally:
        with suppress(OSError):
            probe.unlink()
    return ""


def file_system(path: Path) -> tuple[str, str]:
    """The mount that a path is on, and the kind of its file system: ("/scratch", "lustre")."""
    best = ("/", "of unknown kind")
    with suppress(OSError, IndexError):
        for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
            mount, kind = line.split()[4].replace("\\040", " "), line.partition(" - ")[2].split()[0]
            if path.resolve().is_relative_to(mount) and len(mount) >= len(best[0]):
                best = (mount, kind)
    return best
