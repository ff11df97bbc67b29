"""Packages that pip installs: the words for pip, why it failed, and whether what it installed is still there.

This module uses the standard library only: `campaign` imports it before anything is installed.
"""

import csv
import errno
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from mpi_campaign.errors import limited

OPTIONS = ("--disable-pip-version-check", "--no-input", "--retries", "2")
"""Options of every pip, whatever its version."""
NOTE = "folders"

_FULL = re.compile(r"No space left on device|Disk quota exceeded|File too large")
_NO_ANSWER = re.compile(r"Could not fetch URL (\S+): (.*) - skipping")
_NOT_TRUSTED = re.compile(r"The repository located at (\S+) is not a trusted")
_STATUS = re.compile(r"(\d{3}) (?:Client|Server) Error: (.*?) for url|HTTP error (\d{3})|too many (\d{3}) error")
_REQUIREMENT = re.compile(r"requirement (\S+) \(from versions: ([^)]*)\)")


def why(log: str, place: Path) -> str:
    """Why pip failed and what to do, in one line, from its log. place: where it writes."""
    if full := _FULL.search(log):
        return f"{full.group()}: free some space where {place} is"
    if "DO NOT MATCH THE HASHES" in log:
        return "a downloaded package does not match the lock's hash: check the package registry or mirror"
    if "can't start new thread" in log:
        return limited(errno.EAGAIN)
    if answer := no_list(log):
        return answer
    if lacking := _REQUIREMENT.search(log):
        return _lacking(*lacking.groups())
    if status := _STATUS.search(log):  # of a file, not of the index
        return f"the package registry answered {' '.join(filter(None, status.groups()))}"
    errors = re.findall(r"ERROR: (.*)", log) or log.split("\n")[-1:]
    return errors[-1].strip() or "pip failed"


def no_list(log: str) -> str:
    """What a registry answered in the place of a list of files. Empty where it sent one, or has no such package."""
    if answer := next(filter(None, map(_answer, _NO_ANSWER.findall(log))), ""):
        return answer
    if host := _NOT_TRUSTED.search(log):
        return (
            f"pip asks {host[1]} nothing, since it is not https: set pip's trusted-host to it, or an index-url of https"
        )
    page = re.search(r"Fetching project page and analyzing links: (?!file:)(\S+)", log)
    if page and not re.search(r"Found link|Skipping link: (?!not a file)|Could not fetch URL|versions: (?!none)", log):
        return f"{page.group(1)} answered with a page that lists no files, such as a log-in page: look at it"
    return ""


def _answer(failed: tuple[str, str]) -> str:
    url, reason = failed
    host = url.partition("://")[2].partition("/")[0].rpartition("@")[2]
    status = _STATUS.search(reason)
    if status is None:
        innermost = re.split(r": |\] ", reason)[-1].partition(" (")[0]
        said = re.sub(r"['\"]?\)+$", "", innermost).rstrip(".")
        todo = "the network, a proxy, certificates (pip's cert) or pip's index-url"
        return f"no package registry can be reached at {host} ({said}): check {todo}"
    words = " ".join(filter(None, status.groups()))
    return "" if words.startswith("404") else f"the package registry {host} answered {words}: check pip's index-url"


def _lacking(requirement: str, versions: str) -> str:
    exist = [version for version in versions.split(", ") if version not in ("none", "0.0.0")]
    here = f"Python {sys.version_info[0]}.{sys.version_info[1]} on {os.uname().machine}"
    return (
        f"the package registry has no wheel of {requirement} for {here} (it has: {', '.join(exist) or 'none'}): use "
        "another Python, or a registry or mirror that has it"
    )


def damaged(prefix: Path) -> str:
    """The first file of the installed packages that is missing or has another size. Empty where all are whole."""
    records = [record for site in _sites(prefix) for record in site.glob("*.dist-info/RECORD")]
    if not records:
        return f"{prefix}/lib"
    for record in records:
        with record.open(newline="", encoding="utf-8") as stream:
            for name, _, size in csv.reader(stream):
                path = record.parent.parent / name
                is_note = path.parent == record.parent  # a wheel may tell wrong sizes of them: Intel MPI 2021.1.1 does
                try:  # Python writes __pycache__ when it likes
                    good = not size or path.parent.name == "__pycache__" or path.stat().st_size == int(size) or is_note
                except OSError:
                    good = False
                if not good:
                    return os.path.normpath(path)
    return ""


def lost() -> str:
    """Of this Python's environment, where something failed: the file that is to blame, and what to do; else empty. A
    file that was emptied leaves its folder as it was: the next start must look at all files."""
    file = damaged(Path(sys.prefix))
    if file:
        (Path(sys.prefix) / NOTE).unlink(missing_ok=True)
    return f"{file} has gone or was changed: start again, then it is installed again" if file else ""


def note(prefix: Path) -> None:
    """Note when the folders of the packages were changed, so that `unchanged` need not look at every file."""
    lines = (f"{folder.stat().st_mtime_ns} {folder}\n" for folder in _folders(prefix))
    (prefix / NOTE).write_text("".join(lines), encoding="utf-8")


def unchanged(prefix: Path) -> bool:
    """Whether no file has come into a folder of the packages, or has gone, since `note`."""
    try:
        lines = (prefix / NOTE).read_text(encoding="utf-8").splitlines()
        pairs = (line.split(" ", 1) for line in lines)
        return bool(lines) and all(os.stat(folder).st_mtime_ns == int(when) for when, folder in pairs)  # noqa: PTH116 - a Path is slow
    except (OSError, ValueError):
        return False


def _sites(prefix: Path) -> set[Path]:
    return {site.resolve() for site in prefix.glob("lib*/python3*/site-packages")}  # lib64 may be a link to lib


def _folders(prefix: Path) -> Iterator[Path]:
    yield prefix / "bin"
    for site in _sites(prefix):
        for place, names, _ in os.walk(site):
            names[:] = [name for name in names if name != "__pycache__"]  # Python writes there when it likes
            yield Path(place)
