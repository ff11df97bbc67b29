"""The hosts of an allocation, and the forms in which batch systems write them. No command is started and no host is
asked; the caller gives the function that reads a file."""

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from mpi_campaign.errors import CampaignError
from postprocess.drawing.text import plural

MOST_HOSTS = 1 << 16
"""Slurm's own bound. A longer list is refused before it is expanded."""
SHOWN_HOSTS = 8
QUOTED_CHARACTERS = 60

HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
POSITIVE = re.compile(r"[1-9][0-9]{0,6}")
_JOB = re.compile(r"[\w.@:/\[\]-]{1,200}")
_ELEMENT = re.compile(r"((?:[^\[\],]|\[[^\[\]]+\])+)(,|\Z)")
_PIECE = re.compile(r"\[[^\[\]]+\]|[^\[\]]+")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_COUNT = re.compile(r"([0-9]{1,7})(?:\(x([0-9]{1,7})\))?")

Variables = Mapping[str, str]
Read = Callable[[str], str]
"""A function that returns the text of a file."""


@dataclass(frozen=True)
class Host:
    """A host of an allocation; tasks, cores: as many as the batch system gives it, None where that is not told."""

    name: str
    tasks: int | None = None
    cores: int | None = None


@dataclass(frozen=True)
class Allocation:
    """An allocation of a batch system.

    hosts: in the batch system's order; empty where they are not known.  why_unknown: why they are not known.
    host_count: also known where the names are not; 0: not known.  scheduler: the name of the batch system.
    """

    job: str
    hosts: tuple[Host, ...]
    host_count: int
    why_unknown: str = ""
    scheduler: str = ""

    def __str__(self) -> str:
        """In words: `slurm job 12, 2 nodes: n1, n2`."""
        words = f"{self.scheduler} job {self.job}"
        if self.host_count:
            words += f", {plural(self.host_count, 'node')}"
        if self.why_unknown:
            return f"{words}: {self.why_unknown}"
        names = [host.name for host in self.hosts[:SHOWN_HOSTS]]
        more = len(self.hosts) - len(names)
        return f"{words}: {', '.join(names)}{f' and {more} more' if more else ''}"


def expand(text: str, name: str = "the list of hosts") -> list[str]:
    """The hosts of a compressed list such as n[1-3,7],m2. name: of the list, for errors.

    Numbers keep the zeros before them: n[08-10] is n08, n09, n10. Raises CampaignError where the text is no such list,
    names a host twice, or has more than MOST_HOSTS.
    """
    hosts: list[str] = []
    for element in _elements(text, name):
        choices = [
            list(_ranges(piece[1:-1], text, name)) if piece.startswith("[") else [range(1)]
            for piece in _PIECE.findall(element)
        ]
        count = math.prod(sum(map(len, ranges)) for ranges in choices)
        if len(hosts) + count > MOST_HOSTS:
            raise _malformed(text, name, f"it has more than {MOST_HOSTS} hosts")
        pieces = [_numbers(piece[1:-1]) if piece.startswith("[") else [piece] for piece in _PIECE.findall(element)]
        hosts += map("".join, itertools.product(*pieces))
    for host in hosts:
        if not HOST.fullmatch(host):
            raise _malformed(text, name, f"{quoted(host)} is no name of a host")
    twice = next((host for host, count in Counter(hosts).items() if count > 1), None)
    if twice is not None:
        raise _malformed(text, name, f"it has {quoted(twice)} twice")
    return hosts


def _elements(text: str, name: str) -> Iterable[str]:
    """The parts of a list between its commas; commas between brackets do not count."""
    match = _ELEMENT.match(text)
    while match:
        yield match[1]
        if not match[2]:
            return
        match = _ELEMENT.match(text, match.end())
    raise _malformed(text, name, "a part of it is empty, or brackets do not match")


def _ranges(text: str, expression: str, name: str) -> Iterable[range]:
    """The ranges between brackets, such as 1-3,7."""
    for word in text.split(","):
        match = _RANGE.fullmatch(word)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise _malformed(expression, name, f"{quoted(word)} is no range of numbers")
        yield range(int(match[1]), int(match[2] or match[1]) + 1)


def _numbers(text: str) -> list[str]:
    """The numbers between brackets, with the zeros before them. The text has ranges only."""
    words = [word.partition("-") for word in text.split(",")]
    return [
        f"{number:0{len(first)}}" for first, _, last in words for number in range(int(first), int(last or first) + 1)
    ]


def per_host(variables: Variables, name: str, count: int) -> Sequence[int | None]:
    """The numbers of a variable such as 2(x3),1, one for each host; None for each where the variable is not set."""
    text = variables.get(name, "")
    if not text:
        return [None] * count
    numbers: list[int] = []
    for word in text.split(","):
        match = _COUNT.fullmatch(word)
        repeats = int(match[2] or 1) if match else 0
        if not match or repeats == 0 or len(numbers) + repeats > count:
            break
        numbers += [int(match[1])] * repeats
    else:
        if len(numbers) == count:
            return numbers
    raise CampaignError(f"{name}={quoted(text)} does not have a number for each of {plural(count, 'host')}: 2(x3),1")


def names_in(path: str, read: Read) -> Iterable[str]:
    """The hosts in a file that has one in each line."""
    for line in lines_of(path, read):
        if not HOST.fullmatch(line):
            raise CampaignError(f"{quoted(path)}: {quoted(line)} is no name of a host")
        yield line


def of_file(variable: str, counts: str, *jobs: str) -> Callable[[Variables, Read], Allocation]:
    """The field `allocation` of a batch system whose variable names a file with a line for each task or core of a job.
    counts: `tasks` or `cores`.  jobs: variables of which the first that is set has the job's name."""

    def allocation(variables: Variables, read: Read) -> Allocation:
        lines = Counter(names_in(variables[variable], read))
        hosts = tuple(Host(name, **{counts: count}) for name, count in lines.items())
        return Allocation(job_of(variables, *jobs), hosts, len(hosts))

    return allocation


def lines_of(path: str, read: Read) -> list[str]:
    """The lines of a file that are not blank. Raises CampaignError where there are none."""
    lines = [line.strip() for line in read(path).splitlines() if line.strip()]
    if not lines:
        raise CampaignError(f"{quoted(path)} has no hosts")
    return lines


def job_of(variables: Variables, *names: str) -> str:
    """The name of the job, from the first of these variables that is set."""
    name = next((name for name in names if variables.get(name)), "")
    if not name:
        return "of unknown number"
    if not _JOB.fullmatch(variables[name]):
        raise CampaignError(f"{name}={quoted(variables[name])} is no name of a job")
    return variables[name]


def _malformed(text: str, name: str, what: str) -> CampaignError:
    return CampaignError(f"{name}={quoted(text)} is no list of hosts such as n[1-3,7],m2: {what}")


def quoted(text: str) -> str:
    """A text from outside, in one line and not too long."""
    short = text if len(text) <= QUOTED_CHARACTERS else f"{text[:QUOTED_CHARACTERS]}..."
    return "'" + "".join(letter if letter.isprintable() else "?" for letter in short) + "'"
