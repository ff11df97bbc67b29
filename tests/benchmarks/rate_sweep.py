"""Overlap against the share of time that a message is on the wire: two nodes in a box, links of several rates.

    .venv/bin/python -m tests.benchmarks.rate_sweep ARCHIVE [--rate 200mbit]... [-- OPTION of `campaign run`...]

For each rate a cluster in a box with two nodes runs the campaign, one rank on each node, into a folder of ARCHIVE that
is called like the rate. It needs what `./campaign cluster` needs, and is planned to take 10 minutes. It prints a table
for docs/paper-results.md: one line for each rate, library, configuration and collective.

Where a run is incomplete, the table has what it measured, and one line on standard error tells the exit code. The
other rates are measured too, unless the run was interrupted. The largest exit code of all runs is this program's.

The share is the time that a link of that rate needs for the message, over the time of the communication alone. The rest
is the library's and the kernel's work on the processor, which no progress by others can hide.
"""

import argparse
import json
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders
from mpi_campaign.networks.rates import bytes_per_second
from mpi_campaign.toolchains import resolving

RATES = ("100mbit", "500mbit", "2gbit", "8gbit", "16gbit", "32gbit")
RUN = (
    *(word for name in resolving.DEFAULT_TOOLCHAINS for word in ("--toolchain", name)),
    *("--configuration", "basic", "--configuration", "async", "--collective", "ibcast", "--collective", "ireduce"),
    *("--comm-time", "8ms", "--comm-time", "32ms", "--comp-time", "8ms", "--comp-time", "32ms"),
    *("--budget-seconds", "90"),
)
HEADING = ("rate", "library", "configuration", "collective", "share on the wire", "r_overhead", "vs basic", "points")
# Of a point, what the table is made of.
FIELDS = (
    *("toolchain", "configuration", "collective", "message_bytes", "t_comm_ref_ns"),
    *("r_overhead", "r_overhead_vs_basic", "reliable"),
)
# Of two ranks, each of these sends one message to the other.
ONE_MESSAGE = ("ibcast", "ireduce", "iallgather", "ialltoall", "igather", "iscatter", "iallreduce")
CAMPAIGN = str(ROOT / "campaign")
GOOD, INTERRUPTED = 0, 130  # exit codes of a run


def share_on_wire(message_bytes: "pd.Series[Any]", rate: str, t_comm_ref_ns: "pd.Series[Any]") -> "pd.Series[float]":
    """The shares of the times of communications between two nodes in which one message is on a link of this rate.

    A share is above 1 only where bytes need not wait for the link, as the first of a burst.
    """
    return message_bytes / bytes_per_second(rate) / (t_comm_ref_ns / 1e9)


def rows(rate: str, points: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The lines of a rate. points: those of `show --json`; only reliable ones count, and are counted."""
    found = pd.DataFrame(list(points), columns=FIELDS)
    found = found[found["collective"].isin(ONE_MESSAGE)]
    for names, case in found.groupby(["toolchain", "configuration", "collective"], sort=False):
        good = case[case["reliable"]]
        counted = f"{len(good)} of {len(case)}"
        if good.empty:
            yield (rate, *map(str, names), "-", "-", "-", counted)
            continue
        shares = share_on_wire(good["message_bytes"], rate, good["t_comm_ref_ns"])
        yield (
            rate,
            *map(str, names),
            f"{np.median(shares):.0%}".replace("%", " %"),
            _spread(good["r_overhead"]),
            _spread(good["r_overhead_vs_basic"]),
            counted,
        )


def _spread(values: "pd.Series[float]") -> str:
    """The median, in brackets the smallest and the largest; a dash where there are no values."""
    values = values.dropna()
    if values.empty:
        return "-"
    return f"{np.median(values):.2f} [{min(values):.2f}, {max(values):.2f}]"


def measure(rate: str, archive: Path, words: Sequence[str]) -> tuple[int, list[dict[str, Any]]]:
    """Run the campaign at one rate. Returns the exit code of the run, and the points that were measured.

    Raises OSError where the archive cannot be written.
    """
    output = archive.resolve() / rate
    output.mkdir(parents=True, exist_ok=True)
    runs_before = list(run_folders.runs(output))
    run = [CAMPAIGN, "run", "--nodes", "2", *words, "--output", str(output)]
    # Of the machine's /tmp, a cluster sees the folder in which it was started, and no other one.
    code = subprocess.run(
        [CAMPAIGN, "cluster", "--nodes", "2", "--rate", rate, "--", *run], check=False, cwd=output
    ).returncode  # fmt: skip
    if list(run_folders.runs(output)) == runs_before:
        return code, []  # the last run, if there is one, is another sweep's
    shown = subprocess.run(
        [CAMPAIGN, "show", "last", "--json", "--output", str(output)],
        check=False, cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    return max(code, shown.returncode), json.loads(shown.stdout) if shown.returncode == 0 else []


def table(lines: Iterable[Sequence[str]]) -> str:
    """The lines as a Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (HEADING, ["---"] * len(HEADING), *lines))


def main(arguments: Sequence[str]) -> int:
    """Measure at every rate, and print the table. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="rate_sweep", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("--rate", action="append", help=f"may be repeated; default: {', '.join(RATES)}")
    split = list(arguments).index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    words = tuple(arguments[split + 1 :]) or RUN
    rates = options.rate or RATES
    for rate in rates:
        try:
            bytes_per_second(rate)
        except ValueError as error:
            parser.error(f"--rate: {error}")
    worst = GOOD
    lines: list[tuple[str, ...]] = []
    for rate in rates:
        try:
            code, points = measure(rate, options.archive, words)
        except OSError as error:
            parser.error(f"{options.archive}: {error.strerror}; name a folder that can be written")
        lines += rows(rate, points)
        worst = max(worst, code)
        if code != GOOD:
            kept = "what it measured is in the table" if points else "it has no points"
            print(f"rate_sweep: the run at {rate} ended with exit code {code}; {kept}", file=sys.stderr)
        if code == INTERRUPTED:
            break
    print(table(lines))
    return worst


if __name__ == "__main__":
    signal.signal(signal.SIGINT, lambda *_: None)  # the run has it from the terminal too, and ends in order
    sys.exit(main(sys.argv[1:]))
