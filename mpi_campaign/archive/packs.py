"""Packed runs: one file per run, `<run>.tar.xz`, as `results export` writes it."""

import hashlib
import lzma
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path, PurePosixPath

from mpi_campaign import STATE
from mpi_campaign.errors import CampaignError
from postprocess.drawing.text import clean, size
from postprocess.records.storage import DEEPEST

ENDING = ".tar.xz"
UNPACKED = STATE / "unpacked"
"""Packed runs that were read, unpacked: `<digest>/<system>/<run>`."""
LARGEST_BYTES = 64 << 30
"""The largest size of a run, unpacked, in bytes. A larger pack is no run."""


def folder_of(pack: Path) -> Path:
    """The folder of a packed run of an archive, which is unpacked when it is first read. Raises CampaignError."""
    try:
        state = pack.stat()
        return _folder_of(pack, state.st_size, state.st_mtime_ns)
    except OSError as error:
        raise CampaignError(f"{error.filename or pack} cannot be read or unpacked ({error.strerror})") from error


@cache
def _folder_of(pack: Path, _bytes: int, _changed_ns: int) -> Path:
    """The same, for a file of this size that was last changed then."""
    system, run = pack.parent.name, pack.name.removesuffix(ENDING)
    place = _home() / hashlib.sha256(f"{system}\0".encode() + pack.read_bytes()).hexdigest()[:24]
    if not place.is_dir():
        fresh = Path(tempfile.mkdtemp(dir=_home()))
        try:
            (fresh / "to" / system).mkdir(parents=True)
            unpack(pack, fresh / "from").rename(fresh / "to" / system / run)
            (fresh / "to").rename(place)
        except OSError:
            if not place.is_dir():  # else another process has just unpacked it
                raise
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    return place / system / run


@cache
def _home() -> Path:
    """The folder of unpacked runs: in the clone, or, where that cannot be written, one that this process removes."""
    try:
        UNPACKED.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=UNPACKED).close()
    except OSError:
        return Path(_temporary().name)
    return UNPACKED


@cache
def _temporary() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="unpacked-")


def unpack(source: Path, target: Path) -> Path:
    """Unpack a run below the target, and return its folder. No path leaves it. Raises CampaignError for a file that is
    no packed run, and OSError."""
    try:
        with tarfile.open(source, "r:xz") as pack:
            for member in _checked(pack, source):
                path = target / member.name
                path.parent.mkdir(parents=True, exist_ok=True)
                stream = pack.extractfile(member)
                assert stream is not None  # a regular file
                with path.open("xb") as out:
                    shutil.copyfileobj(stream, out)
            while pack.fileobj and pack.fileobj.read(1 << 20):  # to the end, which has the checksum
                pass
    except (tarfile.TarError, EOFError, ValueError, lzma.LZMAError) as error:
        raise CampaignError(f"{source} is no file that `results export` wrote: {error}") from error
    roots = list(target.iterdir())
    if len(roots) != 1:
        raise CampaignError(f"{source} is no file that `results export` wrote: it has not one folder")
    return roots[0]


def _checked(pack: tarfile.TarFile, source: Path) -> Iterator[tarfile.TarInfo]:
    """The regular files of a pack. Raises CampaignError for entries that could be written elsewhere or never end."""
    total = 0
    for member in pack:
        path = PurePosixPath(member.name)
        is_plain = (member.isfile() or member.isdir()) and member.size >= 0
        if path.is_absolute() or ".." in path.parts or len(path.parts) > DEEPEST or not is_plain:
            raise CampaignError(f"{source}: '{clean(member.name)}' is nothing that a run has")
        total += member.size
        check_size(total, source)
        if member.isfile():
            yield member


def check_size(total: int, source: Path) -> None:
    """Raises CampaignError for more bytes than a run has."""
    if total > LARGEST_BYTES:
        raise CampaignError(f"{source}: it is of more than {size(LARGEST_BYTES)}")
