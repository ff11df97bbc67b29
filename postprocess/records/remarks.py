"""Remarks that MPI libraries, the libraries below them, and launchers write among a program's output.

Remarks are recognised by their form. A line that could be a result, because it begins with a number or with `#`, is no
remark; nor is a banner that has such a line in it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

# No benchmark prints these marks. A mark within a line is the begin of a remark that was written into that line.
SPEAKER = re.compile(
    r"""
    \[\d{1,7}(?:\#\d+:\d+@[^\]\s]{1,255})?\]\ MPI\ startup\(\):      # Intel MPI: [0] MPI startup():
    | \[\d{9,11}\.\d{1,9}\]\ +\[[^\]\s]{1,255}:\d{1,10}:\d{1,10}\]\  # UCX: [1700000000.123456] [node7:4711:0]
    | \[(?:mpiexec|proxy:\d{1,7}(?::\d{1,7})?)@[^\]\s]{1,255}\]      # Hydra: [mpiexec@node7], [proxy:0:0@node7]
    | \[[A-Za-z0-9][\w.-]{0,254}:\d{1,10}\](?=\ |$)                  # Open MPI: [node7:04711]
    | \[[A-Za-z0-9][\w.-]{0,254}:mpi_rank_\d{1,7}\]                  # MVAPICH2: [node7:mpi_rank_0]
    | libfabric:\d{1,10}:\d{0,20}:                                   # libfabric:4711:1700000000::core:
    """,
    re.VERBOSE,
)
"""The mark that stands before a remark and tells who wrote it."""
# Lines that are remarks as a whole: warnings, and what MVAPICH2 writes after its warning.
_WHOLE = re.compile(
    r"warning: |MPI startup\(\): |If your program has OpenMP sections, this can cause over-subscription"
    r"|To avoid this, please re-run your application|Use MV2_\w{1,60}=\d to suppress",
    re.IGNORECASE,
)
_DASHES = re.compile(r"-{20,}")
_COULD_BE_A_RESULT = re.compile(r"[#\d.+]|-[\d.]")
# Open MPI 5 ends its banners with a zero byte.
_BLANK = "\0 \t\v\f"
LONGEST_BANNER = 60
"""The most lines of a banner. What is longer is no banner."""


def without_remarks(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number, line) for every line that is neither blank nor a remark. Lines are stripped, and counted from 1.

    Left out are lines that begin with the mark of a library or a launcher, the rest of a line from such a mark on,
    lines that begin with `Warning:`, and banners: Open MPI writes sentences between two lines of dashes.
    """
    lines = [SPEAKER.split(line.strip(_BLANK), maxsplit=1)[0].rstrip() for line in text.splitlines()]
    place = 0
    while place < len(lines):
        number, line = place + 1, lines[place]
        place += 1
        if _DASHES.fullmatch(line) and (length := _banner(lines, place)):
            place += length
        elif line and not _WHOLE.match(line):
            yield number, line


def _banner(lines: list[str], first: int) -> int:
    """The number of lines of a banner from `first`, the line after its dashes, to its end; 0 where it is no banner."""
    if first >= len(lines) or not lines[first][:1].isalpha():
        return 0
    for length, line in enumerate(lines[first : first + LONGEST_BANNER], start=1):
        if _DASHES.fullmatch(line):
            return length
        if _COULD_BE_A_RESULT.match(line):
            return 0
    return 0
