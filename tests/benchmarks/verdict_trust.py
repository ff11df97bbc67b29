"""How far verdicts can be trusted: false alarms, known slowdowns that are found; a real library on this machine, and
synthetic launches.

    .venv/bin/python -m tests.benchmarks.verdict_trust [--launches 8] [--seconds 3] [--toolchain mpich@5.0.2]

The benchmark is launched plain, plain again, and with a preloaded library that makes every MPI_Wait 3, 5, 10 or 20 %
slower (benchmarks/tests/slow_preload.c), in turn, A B C D E F F E D C B A, on the sizes of the first launch. Sides of a
few launches are drawn of them, never one launch on both sides. Each rule is asked about the same sides.

    verdict     `compare`: the launch is the unit, false-discovery rate over all cases, 3 % at least
    threshold   a ratio of the means of all repetitions beyond 5 %: what a script over two logs does
    reference   ReFrame's check: the median of one side is the reference, the first launch of the other may be 5 % above

Where nothing differs, `slower` and `faster` are both false. Synthetic launches have about as many cases as a nightly
run, and noise of three kinds, its width another in every case; nothing differs, or every tenth case is slower.
"""

import argparse
import itertools
import tempfile
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from mpi_campaign import toolchains
from postprocess.compare import FASTER, SLOWER, compare
from postprocess.load import Record, load_record
from postprocess.metrics import Floats
from postprocess.points import points_table
from postprocess.table import aligned
from tests.support import build_benchmarks, launch

SLOWDOWNS = (0, 3, 5, 10, 20)
METRIC = "t_comm_ref_ns"
COLLECTIVES = ("ibcast", "ialltoall")
GRID = ("--comm-times", "1ms,4ms,16ms", "--comp-times", "1ms,4ms")
DRAWS = 60
CASES = 500
PAIRS = 20
LIMIT = 0.05
SIDE = ("plain", *(f"{percent} %" for percent in SLOWDOWNS))


def measured(folder: Path, toolchain: str, launches: int, seconds: float) -> dict[str, list[pd.DataFrame]]:
    """Of each side its launches, each a table of points with the means of all repetitions beside the medians."""
    built = build_benchmarks(folder / "build", toolchain)
    assert (built / "slow_preload.so").is_file()  # the dynamic linker goes on without it
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
    slow = {"LD_PRELOAD": str(built / "slow_preload.so"), "SLOW_PERCENT": percent} if percent != "plain" else {}
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


def alarms(rule: str, a: list[pd.DataFrame], b: list[pd.DataFrame], *, either: bool) -> tuple[int, int]:
    """How many cases a rule calls slower, or `either` slower or faster, of how many."""
    if rule == "verdict":
        found = compare(pd.concat(a), pd.concat(b), metrics=[METRIC])
        return found.count(SLOWER) + either * found.count(FASTER), len(found.rows)
    if rule == "threshold":
        ratio = np.mean([t["mean"] for t in b], axis=0) / np.mean([t["mean"] for t in a], axis=0)
    else:
        ratio = b[0][METRIC].to_numpy() / np.median([t[METRIC] for t in a], axis=0)
    told = (ratio > 1 + LIMIT) | (either & (ratio < 1 / (1 + LIMIT)))
    return int(told.sum()), len(ratio)


def share(rule: str, same: list[pd.DataFrame], other: list[pd.DataFrame] | None, launches: int) -> float:
    """The share of cases that a rule calls slower, over sides drawn from launches; without another series, of two sides
    of the same one, which it calls slower or faster."""
    rng = np.random.default_rng(1)
    found = total = 0
    for _ in range(DRAWS):
        chosen = rng.choice(len(same), 2 * launches, replace=False)
        a = [same[i] for i in chosen[:launches]]
        b = [same[i] for i in chosen[launches:]]
        if other is not None:
            b = [other[i] for i in rng.choice(len(other), launches, replace=False)]
        told, cases = alarms(rule, a, b, either=other is None)
        found, total = found + told, total + cases
    return found / total


NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "some launches slower": lambda rng, shape: np.asarray((rng.lognormal(0, 0.8, shape) - 1.38) / 1.3),
    "two states": lambda rng, shape: np.asarray(2.0 * (rng.random(shape) < 0.3) + 0.1 * rng.standard_normal(shape)),
}


def synthetic(seed: pd.DataFrame) -> list[list[str]]:
    """Of each noise and number of launches: of cases in which nothing differs, those called slower or faster; of those
    that are slower by 5, 10, 20 %, those called slower."""
    lines = []
    for (kind, noise), launches in itertools.product(NOISES.items(), (3, 5, 10)):
        words = []
        for percent in (0, 5, 10, 20):
            false = found = 0
            for pair in range(PAIRS):
                rng = np.random.default_rng([pair, percent, launches])
                width = 0.01 * np.exp(0.5 * rng.standard_normal(CASES))[:, None]
                slower = np.where(np.arange(CASES) % 10 == 0, 1 + percent / 100, 1.0)
                a, b = (
                    sides_of(seed, factor[:, None] * np.exp(width * noise(rng, (CASES, launches))))
                    for factor in (np.ones(CASES), slower)
                )
                rows = compare(a, b, metrics=[METRIC]).rows
                truly = rows["comm_target_ns"].to_numpy() % 10 == 0 if percent else np.zeros(len(rows), bool)
                told = rows["verdict"].isin([SLOWER, FASTER]).to_numpy()
                false += int(told[~truly].sum())
                found += int((rows["verdict"] == SLOWER).to_numpy()[truly].sum())
            right = PAIRS * CASES * (0.9 if percent else 1.0)
            words += [f"{100 * false / right:.2f} %"] if not percent else [f"{1000 * found / (PAIRS * CASES):.0f} %"]
        lines.append([kind, f"{launches}, {launches}", *words])
    return lines


def sides_of(seed: pd.DataFrame, times: Floats) -> pd.DataFrame:
    """Launches of one side: times of shape (cases, launches), relative."""
    cases, launches = times.shape
    row = seed.iloc[np.zeros(times.size, np.int64)].reset_index(drop=True)
    found: pd.DataFrame = row.assign(
        comm_target_ns=np.repeat(np.arange(cases), launches), launch=np.tile(np.arange(launches), cases),
        **{METRIC: 16e6 * times.ravel()},
    )  # fmt: skip
    return found


def main() -> None:
    """Measure, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--launches", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--toolchain", default=toolchains.DEFAULT_TOOLCHAINS[1])
    asked = parser.parse_args()
    if asked.launches < 5:
        parser.error("--launches: 5 at least, sides of five are drawn")
    with tempfile.TemporaryDirectory(prefix="trust-") as scratch:
        sides = measured(Path(scratch), asked.toolchain, asked.launches, asked.seconds)
    cv = [np.std([t[METRIC] for t in tables], axis=0, ddof=1) / np.mean([t[METRIC] for t in tables], axis=0)
          for tables in sides.values()]  # fmt: skip
    print(f"launches differ by {100 * np.median(cv):.1f} % (median over cases), {100 * np.max(cv):.0f} % at most")
    same = [*sides["plain"], *sides["0 %"]]
    usual = np.median([t[METRIC] for t in same], axis=0)
    reached = [100 * (np.median(np.median([t[METRIC] for t in sides[side]], axis=0) / usual) - 1) for side in SIDE[2:]]
    lines = [["reached, median over cases", "", "", *(f"{one:.1f} %" for one in reached)]]
    for rule, launches in itertools.product(("verdict", "threshold", "reference"), (3, 5)):
        shares = [share(rule, same, None if side == "0 %" else sides[side], launches) for side in SIDE[1:]]
        lines.append([rule, f"{launches}, {launches}", *(f"{100 * one:.1f} %" for one in shares)])
    heads = ["rule", "launches", *(f"slower by {percent} %" if percent else "same" for percent in SLOWDOWNS)]
    print(aligned(heads, lines, right=set(range(2, 7))))
    heads = ["synthetic noise", "launches", "same", *(f"slower by {percent} %" for percent in (5, 10, 20))]
    print("\n" + aligned(heads, synthetic(sides["plain"][0].iloc[:1]), right=set(range(2, 6))))


if __name__ == "__main__":
    main()
