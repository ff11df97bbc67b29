"""Overlap against the share of time that a message is on the wire: two nodes in a box, links of several rates.

    .venv/bin/python -m tests.benchmarks.rate_sweep ARCHIVE [--rate 200mbit]... [-- OPTION of `campaign run`...]

For each rate a cluster in a box with two nodes runs the campaign, one rank on each node, into a folder of ARCHIVE that
is called like the rate. It needs what `./campaign cluster` needs. It prints a table for docs/paper-results.md: one line
for each rate, configuration and collective.

The share is the time that a link of that rate needs for the message, over the time of the communication alone. The rest
is the library's and the kernel's work on the processor, which no progress by others can hide.
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from mpi_campaign import ROOT
from mpi_campaign.launching.wire import rate_bytes_per_second

RATES = ("100mbit", "500mbit", "2gbit", "8gbit")
RUN = (
    *("--toolchain", "openmpi@5.0.11", "--configuration", "basic", "--configuration", "async"),
    *("--collective", "ibcast", "--collective", "ireduce", "--collective", "ialltoall", "--budget-seconds", "150"),
)
HEADING = ("rate", "library", "configuration", "collective", "share on the wire", "r_overhead", "vs basic", "points")
# Of two ranks, each of these sends one message to the other.
ONE_MESSAGE = ("ibcast", "ireduce", "iallgather", "ialltoall", "igather", "iscatter", "iallreduce")
CAMPAIGN = str(ROOT / "campaign")


def share_on_wire(message_bytes: "pd.Series[Any]", rate: str, t_comm_ref_ns: "pd.Series[Any]") -> "pd.Series[float]":
    """The shares of the times of communications between two nodes in which one message is on a link of this rate.

    A share is above 1 only where bytes need not wait for the link, as the first of a burst.
    """
    return message_bytes / rate_bytes_per_second(rate) / (t_comm_ref_ns / 1e9)


def rows(rate: str, points: Iterable[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """The lines of a rate. points: those of `show --json`; only reliable ones count, and are counted."""
    found = pd.DataFrame(list(points))
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


def measure(rate: str, archive: Path, words: Sequence[str]) -> list[dict[str, Any]]:
    """Run the campaign at one rate. Returns the points of its run. Raises SystemExit where it ends with an error."""
    output = archive.resolve() / rate
    run = [CAMPAIGN, "run", "--nodes", "2", *words, "--output", str(output)]
    done = subprocess.run([CAMPAIGN, "cluster", "--nodes", "2", "--rate", rate, "--", *run], check=False, cwd=ROOT)
    if done.returncode > 1:  # 1: some cases failed, the others count
        raise SystemExit(f"rate_sweep: the run at {rate} ended with {done.returncode}")
    shown = subprocess.run(
        [CAMPAIGN, "show", "last", "--json", "--output", str(output)],
        check=True, cwd=ROOT, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    points: list[dict[str, Any]] = json.loads(shown.stdout)
    return points


def table(lines: Iterable[Sequence[str]]) -> str:
    """The lines as a Markdown table."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (HEADING, ["---"] * len(HEADING), *lines))


def main(arguments: Sequence[str]) -> None:
    """Measure at every rate, and print the table."""
    parser = argparse.ArgumentParser(prog="rate_sweep", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("archive", type=Path)
    parser.add_argument("--rate", action="append", help=f"may be repeated; default: {', '.join(RATES)}")
    split = list(arguments).index("--") if "--" in arguments else len(arguments)
    options = parser.parse_args(arguments[:split])
    words = tuple(arguments[split + 1 :]) or RUN
    rates = options.rate or RATES
    for rate in rates:
        rate_bytes_per_second(rate)
    print(table([line for rate in rates for line in rows(rate, measure(rate, options.archive, words))]))


if __name__ == "__main__":
    main(sys.argv[1:])
