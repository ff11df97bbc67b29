"""The hosts of the allocation in which this process runs, from the variables that the batch system has set.

Nothing is asked of the batch system, and no host is looked at. `allocation_of` is pure: what a variable names as a file
is read by a function that the caller gives.

| batch system | hosts | tasks or cores of each host |
| --- | --- | --- |
| Flux | known to its command only | |
| Slurm | SLURM_JOB_NODELIST | SLURM_TASKS_PER_NODE, outside of a step; SLURM_JOB_CPUS_PER_NODE |
| PBS | PBS_NODEFILE: a line for each task | its lines |
| OAR | OAR_NODEFILE: a line for each core | its lines |
| Grid Engine | PE_HOSTFILE: host, slots, ... | its slots: tasks |
"""

import itertools
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mpi_campaign.errors import CampaignError
from mpi_campaign.this_machine.findings import GOOD, NOTE, Finding
from postprocess.drawing.text import plural

FLUX = "flux"
"""The name of a batch system whose variables do not have the hosts; `nodes_in_hand` asks its command."""
MOST_HOSTS = 1 << 16
"""Slurm's own bound. A longer list is refused before it is expanded."""
MOST_FILE_BYTES = 1 << 24
SHOWN_HOSTS = 8
QUOTED_CHARACTERS = 60

_HOST = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]*")
_JOB = re.compile(r"[\w.@:/\[\]-]{1,200}")
_ELEMENT = re.compile(r"((?:[^\[\],]|\[[^\[\]]+\])+)(,|\Z)")
_PIECE = re.compile(r"\[[^\[\]]+\]|[^\[\]]+")
_RANGE = re.compile(r"([0-9]{1,9})(?:-([0-9]{1,9}))?")
_COUNT = re.compile(r"([0-9]{1,7})(?:\(x([0-9]{1,7})\))?")
_POSITIVE = re.compile(r"[1-9][0-9]{0,6}")

Read = Callable[[str], str]


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
    host_count: also known where the names are not; 0: not known.
    """

    scheduler: str
    job: str
    hosts: tuple[Host, ...]
    host_count: int
    why_unknown: str = ""

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


def allocation_of(variables: Mapping[str, str], read: Read) -> Allocation | None:
    """The allocation that the variables describe; None where they describe none.

    read: returns the text of a file. Where a batch system runs inside another one, Flux counts before Slurm, and both
    before the others. Raises CampaignError for a description that is malformed.
    """
    for is_there, of in (
        (("FLUX_JOB_ID", "FLUX_URI"), _flux),
        (("SLURM_JOB_NODELIST", "SLURM_NODELIST"), _slurm),
        (("PBS_NODEFILE",), _pbs),
        (("OAR_NODEFILE",), _oar),
        (("PE_HOSTFILE",), _grid_engine),
    ):
        if any(variables.get(name) for name in is_there):
            return of(variables, read)
    return None


def finding(variables: Mapping[str, str] = os.environ) -> Finding | None:
    """The finding on the allocation of this process; None where it runs in none."""
    try:
        found = allocation_of(variables, read_file)
    except CampaignError as error:
        return Finding("allocation", NOTE, str(error), "the variables of the batch system are not what it sets")
    return Finding("allocation", GOOD, str(found)) if found else None


def read_file(path: str) -> str:
    """The text of a file. Raises CampaignError where it cannot be read, or is too large."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(MOST_FILE_BYTES + 1)
    except (OSError, ValueError) as error:
        raise CampaignError(f"{_quoted(path)} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(content) > MOST_FILE_BYTES:
        raise CampaignError(f"{_quoted(path)} is too large for a list of hosts")
    return content.decode(errors="replace")


# --- batch systems


def _flux(variables: Mapping[str, str], _read: Read) -> Allocation:
    """FLUX_JOB_NNODES is set in jobs that Flux launches, but not in the first script of an allocation."""
    nodes = variables.get("FLUX_JOB_NNODES", "")
    if nodes and not _POSITIVE.fullmatch(nodes):
        raise CampaignError(f"FLUX_JOB_NNODES={_quoted(nodes)} is no number of nodes")
    why = "their names are known to the command `flux getattr hostlist` only"
    job = _job(variables, "FLUX_JOB_ID", "FLUX_ENCLOSING_ID")
    return Allocation(FLUX, job, (), int(nodes or 0), why)


def _slurm(variables: Mapping[str, str], _read: Read) -> Allocation:
    """In a step, SLURM_TASKS_PER_NODE describes the step and not the job."""
    job = _job(variables, "SLURM_JOB_ID", "SLURM_JOBID")
    if variables.get("SLURM_HET_SIZE"):
        return Allocation("slurm", job, (), 0, "a heterogeneous job has several lists of hosts, which are not read")
    name = "SLURM_JOB_NODELIST" if variables.get("SLURM_JOB_NODELIST") else "SLURM_NODELIST"
    names = expand(variables[name], name)
    in_a_step = "SLURM_STEP_ID" in variables
    tasks = _per_host(variables, "" if in_a_step else "SLURM_TASKS_PER_NODE", len(names))
    cores = _per_host(variables, "SLURM_JOB_CPUS_PER_NODE", len(names))
    return Allocation("slurm", job, tuple(map(Host, names, tasks, cores)), len(names))


def _pbs(variables: Mapping[str, str], read: Read) -> Allocation:
    lines = Counter(_names_in(variables["PBS_NODEFILE"], read))
    hosts = tuple(Host(name, tasks=count) for name, count in lines.items())
    return Allocation("pbs", _job(variables, "PBS_JOBID"), hosts, len(hosts))


def _oar(variables: Mapping[str, str], read: Read) -> Allocation:
    lines = Counter(_names_in(variables["OAR_NODEFILE"], read))
    hosts = tuple(Host(name, cores=count) for name, count in lines.items())
    return Allocation("oar", _job(variables, "OAR_JOB_ID", "OAR_JOBID"), hosts, len(hosts))


def _grid_engine(variables: Mapping[str, str], read: Read) -> Allocation:
    """A host has a line for each queue from which it has slots."""
    path = variables["PE_HOSTFILE"]
    slots: Counter[str] = Counter()
    for line in _lines_of(path, read):
        words = line.split()
        if len(words) < 2 or not _HOST.fullmatch(words[0]) or not _POSITIVE.fullmatch(words[1]):
            raise CampaignError(f"{_quoted(path)}: {_quoted(line)} is no line with a host and its slots")
        slots[words[0]] += int(words[1])
    hosts = tuple(Host(name, tasks=count) for name, count in slots.items())
    return Allocation("grid engine", _job(variables, "JOB_ID"), hosts, len(hosts))


# --- what they write


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
        if not _HOST.fullmatch(host):
            raise _malformed(text, name, f"{_quoted(host)} is no name of a host")
    twice = next((host for host, count in Counter(hosts).items() if count > 1), None)
    if twice is not None:
        raise _malformed(text, name, f"it has {_quoted(twice)} twice")
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


def _ranges(text: str, whole: str, name: str) -> Iterable[range]:
    """The ranges between brackets, such as 1-3,7."""
    for word in text.split(","):
        match = _RANGE.fullmatch(word)
        if not match or int(match[2] or match[1]) < int(match[1]):
            raise _malformed(whole, name, f"{_quoted(word)} is no range of numbers")
        yield range(int(match[1]), int(match[2] or match[1]) + 1)


def _numbers(text: str) -> list[str]:
    """The numbers between brackets, with the zeros before them. The text has ranges only."""
    words = [word.partition("-") for word in text.split(",")]
    return [
        f"{number:0{len(first)}}" for first, _, last in words for number in range(int(first), int(last or first) + 1)
    ]


def _per_host(variables: Mapping[str, str], name: str, count: int) -> Sequence[int | None]:
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
    raise CampaignError(f"{name}={_quoted(text)} does not have a number for each of {plural(count, 'host')}: 2(x3),1")


def _names_in(path: str, read: Read) -> Iterable[str]:
    """The hosts in a file that has one in each line."""
    for line in _lines_of(path, read):
        if not _HOST.fullmatch(line):
            raise CampaignError(f"{_quoted(path)}: {_quoted(line)} is no name of a host")
        yield line


def _lines_of(path: str, read: Read) -> list[str]:
    """The lines of a file that are not blank. Raises CampaignError where there are none."""
    lines = [line.strip() for line in read(path).splitlines() if line.strip()]
    if not lines:
        raise CampaignError(f"{_quoted(path)} has no hosts")
    return lines


def _job(variables: Mapping[str, str], *names: str) -> str:
    """The name of the job, from the first of these variables that is set."""
    name = next((name for name in names if variables.get(name)), "")
    if not name:
        return "of unknown number"
    if not _JOB.fullmatch(variables[name]):
        raise CampaignError(f"{name}={_quoted(variables[name])} is no name of a job")
    return variables[name]


def _malformed(text: str, name: str, what: str) -> CampaignError:
    return CampaignError(f"{name}={_quoted(text)} is no list of hosts such as n[1-3,7],m2: {what}")


def _quoted(text: str) -> str:
    """A text from outside, in one line and not too long."""
    short = text if len(text) <= QUOTED_CHARACTERS else f"{text[:QUOTED_CHARACTERS]}..."
    return "'" + "".join(letter if letter.isprintable() else "?" for letter in short) + "'"
