"""How far verdicts can be trusted, with a real library on this machine: false alarms, known slowdowns that are found.

    .venv/bin/python -m tests.benchmarks.verdict_trust [--launches 12] [--seconds 4] [--toolchain mpich@5.0.2]

The benchmark is launched plain, plain again, and with a preloaded library that makes every MPI_Wait 3, 5, 10 or 20 %
slower (benchmarks/tests/slow_preload.c), in turn, A B C D E F F E D C B A, on the sizes of the first launch. Sides of a
few launches are drawn of them. Each rule is asked about the same sides.

    verdict     `compare`: the launch is the unit, false-discovery rate over all cases, 3 % at least
    threshold   a ratio of the means of all repetitions beyond 5 %: what a script over two logs does
    reference   ReFrame's check: the median of one side is the reference, the first launch of the other may be 5 % above
"""

import argparse
import itertools
import tempfile
from collections import defaultdict
from pathlib import Path

import numpy as np
import pandas as pd

from mpi_campaign import toolchains
from postprocess.compare import SLOWER, compare
from postprocess.load import Record, load_record
from postprocess.points import points_table
from postprocess.table import aligned
from tests.support import build_benchmarks, launch

SLOWDOWNS = (0, 3, 5, 10, 20)
METRIC = "t_comm_ref_ns"
COLLECTIVES = ("ibcast", "ialltoall")
GRID = ("--comm-times", "1ms,4ms,16ms", "--comp-times", "1ms,4ms")
DRAWS = 200
LIMIT = 0.05
SIDE = ("plain", *(f"{percent} %" for percent in SLOWDOWNS))


def measured(folder: Path, toolchain: str, launches: int, seconds: float) -> dict[str, list[pd.DataFrame]]:
    """Of each side its launches, each a table of points with the means of all repetitions beside the medians."""
    built = build_benchmarks(folder / "build", toolchain)
    records: dict[str, list[list[Record]]] = defaultdict(list)
    for number in range(launches):
        turn = SIDE if number % 2 == 0 else SIDE[::-1]
        for side in turn:
            records[side].append([one(folder, built, toolchain, side, number, name, seconds) for name in COLLECTIVES])
            print(".", end="", flush=True)
    print()
    return {side: [table_of(several) for several in found] for side, found in records.items()}


def one(folder: Path, built: Path, toolchain: str, side: str, number: int, collective: str, seconds: float) -> Record:
    """A launch of one collective."""
    percent = side.removesuffix(" %")
    slow = (
        {"LD_PRELOAD": str(built / "tests" / "slow_preload.so"), "SLOW_PERCENT": percent} if percent != "plain" else {}
    )
    path, sizes = folder / f"{collective}-{side}-{number}.jsonl", folder / f"{collective}.sizes.json"
    first = ("--save-sizes", str(sizes)) if not sizes.exists() else ("--sizes", str(sizes))
    words = ("--collective", collective, *GRID, "--threads", "1", "--budget-seconds", str(seconds), "--quiet", *first)
    done = launch(built / "nbc_overlap", *words, "--record", str(path), env=slow, toolchain=toolchain)
    assert done.returncode == 0, done.stderr
    return load_record(path)


def table_of(records: list[Record]) -> pd.DataFrame:
    """The points of one launch."""
    table = points_table(records)
    means = [float(point.t_comm_ref_ns.mean()) for record in records for point in record.points]
    found: pd.DataFrame = table.assign(mean=means, run="r")
    return found


def alarms(rule: str, a: list[pd.DataFrame], b: list[pd.DataFrame]) -> tuple[int, int]:
    """How many cases a rule calls slower, of how many."""
    if rule == "verdict":
        found = compare(pd.concat(a), pd.concat(b), metrics=[METRIC])
        return found.count(SLOWER), len(found.rows)
    if rule == "threshold":
        ratio = np.mean([t["mean"] for t in b], axis=0) / np.mean([t["mean"] for t in a], axis=0)
    else:
        ratio = b[0][METRIC].to_numpy() / np.median([t[METRIC] for t in a], axis=0)
    return int((ratio > 1 + LIMIT).sum()), len(ratio)


def share(rule: str, one_side: list[pd.DataFrame], other: list[pd.DataFrame], launches: int, seed: int) -> float:
    """The share of cases that a rule calls slower, over sides drawn from two series of launches."""
    rng = np.random.default_rng(seed)
    found = total = 0
    for _ in range(DRAWS):
        a = [one_side[i] for i in rng.choice(len(one_side), launches, replace=False)]
        b = [other[i] for i in rng.choice(len(other), launches, replace=False)]
        slower, cases = alarms(rule, a, b)
        found, total = found + slower, total + cases
    return found / total


def main() -> None:
    """Measure, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--toolchain", default=toolchains.DEFAULT_TOOLCHAINS[1])
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="trust-") as scratch:
        sides = measured(Path(scratch), asked.toolchain, asked.launches, asked.seconds)
    cv = [np.std([t[METRIC] for t in tables], axis=0, ddof=1) / np.mean([t[METRIC] for t in tables], axis=0)
          for tables in sides.values()]  # fmt: skip
    print(f"launches differ by {100 * np.median(cv):.1f} % (median over cases), {100 * np.max(cv):.0f} % at most")
    lines = []
    for rule, launches in itertools.product(("verdict", "threshold", "reference"), (3, 5)):
        shares = [share(rule, sides["plain"], sides[side], launches, seed=1) for side in SIDE[1:]]
        lines.append([rule, f"{launches}, {launches}", *(f"{100 * one:.1f} %" for one in shares)])
    heads = ["rule", "launches", *(f"slower by {percent} %" if percent else "same" for percent in SLOWDOWNS)]
    print(aligned(heads, lines, right=set(range(2, 7))))


if __name__ == "__main__":
    main()
