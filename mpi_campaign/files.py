"""Files that other processes may read or write at the same time, and those in which the kernel tells limits."""

import errno
import itertools
import os
import secrets
from contextlib import suppress
from dataclasses import is_dataclass
from datetime import datetime, timezone
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

PROBE_BYTES = 1 << 16
FULL = (errno.ENOSPC, errno.EDQUOT)


def name_by_time() -> str:
    """A new name that sorts by time: 20261121T224108Z-554aa3."""
    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def made_of(kind: Any, value: Any) -> Any:
    """What `json.dumps(dataclasses.asdict(...), default=str)` was made of, from the type of a field and its JSON value.

    Raises KeyError, TypeError or ValueError where a value is not of the type.
    """
    types = get_args(kind)
    if is_dataclass(kind):
        hints = get_type_hints(kind)
        return kind(**{name: made_of(hints[name], each) for name, each in dict(value).items()})  # type: ignore[operator]
    if NoneType in types:
        return None if value is None else made_of(types[0], value)
    if get_origin(kind) is tuple:
        if not isinstance(value, list):
            raise TypeError(f"{value!r} is no list")
        each_type = itertools.repeat(types[0], len(value)) if types[-1] is Ellipsis else types
        return tuple(made_of(one_type, each) for one_type, each in zip(each_type, value, strict=True))
    return Path(value) if kind is Path else value


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
    """Why no more can be written to a folder: its file system is full, or a quota is used up. Empty where it is not. It
    tries to write PROBE_BYTES: a quota is seen in no other way."""
    probe = folder / f".probe.{secrets.token_hex(4)}"
    try:
        with probe.open("xb") as stream:
            stream.write(bytes(PROBE_BYTES))
            stream.flush()
            os.fsync(stream.fileno())
    except OSError as error:
        if error.errno not in FULL:
            return ""
        return f"{error.strerror} (file system {file_system(folder)[0]}{no_inode(folder)})"
    finally:
        with suppress(OSError):
            probe.unlink()
    return ""


def no_inode(folder: Path) -> str:
    """Says that a file system has room, but no inode for one more file; empty where it has one."""
    system = os.statvfs(folder)
    return f", no inode of {system.f_files} is left: remove files" if system.f_files and not system.f_favail else ""


def file_system(path: Path) -> tuple[str, str]:
    """The mount that a path is on, and the kind of its file system: ("/scratch", "lustre")."""
    best = ("/", "of unknown kind")
    with suppress(OSError, IndexError):
        for line in Path("/proc/self/mountinfo").read_text(errors="replace").splitlines():
            mount, kind = line.split()[4].replace("\\040", " "), line.partition(" - ")[2].split()[0]
            if path.resolve().is_relative_to(mount) and len(mount) >= len(best[0]):
                best = (mount, kind)
    return best


def groups(root: Path, controller: str) -> list[Path]:
    """Folders of the control groups by which a controller limits this process: its own group and all groups above."""
    folders: dict[Path, None] = {}
    for line in read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if controllers and controller not in controllers.split(","):
            continue
        mounts = [controllers, controller, "cpu,cpuacct"] if controllers else ["", "unified"]
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        for mount in mounts:
            top = root / "sys/fs/cgroup" / mount
            here = top.joinpath(*parts)
            # A container sees the path of its host, but not all folders on it: those that exist count.
            folders.update(
                dict.fromkeys(
                    folder for folder in (here, *here.parents) if folder.is_relative_to(top) and _is_dir(folder)
                )
            )
    return list(folders)


def _is_dir(path: Path) -> bool:
    try:
        return path.is_dir()
    except OSError:
        return False


def read(path: Path) -> str:
    """The text of a small file, without blanks at its ends; empty where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return ""
