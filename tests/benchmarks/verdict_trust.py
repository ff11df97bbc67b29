"""How far verdicts can be trusted: false alarms, known slowdowns that are found; a real library on this machine, and
synthetic launches.

    .venv/bin/python -m tests.benchmarks.verdict_trust [--turns 8] [--toolchain mpich@5.0.2] [--network wire:2gbit]

In each turn the benchmark is launched six times, in an order drawn by lot, on the sizes of a launch before all that
counts for nothing: with a preloaded library that makes every MPI_Wait 0, 0 again, 3, 5, 10 or 20 % slower
(benchmarks/tests/slow_preload.c). Sides are made of the launches of a few turns, as `run --interleave` makes them: the
first 0 % against the second, and against each of the slower ones. Each rule is asked about the same sides.

    verdict     `compare`: the launch is the unit, false-discovery rate over all cases, 3 % at least
    known       the same of one launch of each side, where the other turns are earlier runs of two launches
    threshold   a ratio of the means of all repetitions beyond 5 %: what a script over two logs does
    reference   ReFrame's own: the median of one side is the reference, the first launch of the other may be 5 % above

Where nothing differs, `slower` and `faster` are both false; of that, verdicts on all that one launch tells. Synthetic
launches have about as many cases as a nightly run, and noise of four kinds, its width another in every case; nothing
differs, or every tenth case is slower. With `--turns 0` nothing is launched: only these. One launch of each side is
compared with nothing known; one or two with EARLIER runs known.

Recorded launches: two of each case follow each other, one is compared with the other, as they are and with one of them
slower by 10 %. Other such pairs are taken for earlier runs.
"""

import argparse
import itertools
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from reframe.core.exceptions import SanityError
from reframe.utility.sanity import assert_reference, evaluate

from mpi_campaign.toolchains import resolving
from postprocess.drawing.columns import aligned
from postprocess.families.nbc_overlap.points import points_table
from postprocess.families.nbc_overlap.record import OverlapRecord, load_overlap
from postprocess.statistics.metrics import Floats
from postprocess.verdicts.compare import FASTER, KEY, METRICS, SLOWER, USUAL, compare
from postprocess.verdicts.launches import launch_table
from tests.archives import archived, name_of
from tests.benchmarks.interval_trust import OF_LAUNCHES
from tests.support import build_benchmarks, example, launch_line

SLOWDOWNS = (0, 3, 5, 10, 20)
METRIC = "t_comm_ref_ns"
METRICS_OF_A_RECORD = ("t_measured_ns", METRIC, "t_comp_ref_ns", "r_overhead", "r_comm", "r_comp_slowdown")
"""What one launch tells without another configuration."""
COLLECTIVES = ("ibcast", "ialltoall")
GRID = ("--comm-times", "1ms,4ms,16ms", "--comp-times", "1ms,4ms")
MOST_DRAWS = 60
CASES = 500
MAP = 36
"""Cases that the same launches measure."""
PAIRS = {0: 50, 5: 20, 10: 20, 20: 20}
"""Of synthetic sides, by how many per cent every tenth case is slower."""
EARLIER = {"": 0, "3 runs known": 3, "12 runs known": 12}
"""Of synthetic launches, how many earlier runs of three launches are known."""
LIMIT = 0.05
SIDE = {"same": 0, "0 %": 0, **{f"{percent} %": percent for percent in SLOWDOWNS[1:]}}
"""By how much each is slower. The first two are the same."""

Turn = dict[str, pd.DataFrame]


@dataclass(frozen=True)
class Asked:
    """What is launched, how often, for how long."""

    toolchain: str
    network: str
    turns: int
    seconds: float
    cases: int
    pairs: int


def measured(folder: Path, asked: Asked) -> list[Turn]:
    """Of each turn a launch of each side: a table of points with the means of all repetitions beside the medians."""
    built = build_benchmarks(folder / "build", asked.toolchain)
    assert (built / "slow_preload.so").is_file()  # the dynamic linker goes on without it
    rng = np.random.default_rng(1)

    def launched(side: str, number: int) -> pd.DataFrame:
        return table_of([one(folder, built, asked, side, number, name) for name in COLLECTIVES])

    launched("0 %", 0)
    found = []
    for number in range(1, asked.turns + 1):
        found.append({side: launched(side, number) for side in rng.permutation(list(SIDE)).tolist()})
        print(f"turn {number} of {asked.turns}", flush=True)
    return found


def one(folder: Path, built: Path, asked: Asked, side: str, number: int, collective: str) -> OverlapRecord:
    """A launch of one collective."""
    slow = {"LD_PRELOAD": str(built / "slow_preload.so"), "SLOW_PERCENT": str(SIDE[side])}
    path, sizes = folder / f"{collective}-{side}-{number}.jsonl", folder / f"{collective}.sizes.txt"
    first = ("--save-sizes", str(sizes)) if not sizes.exists() else ("--sizes", str(sizes))
    words = ("--collective", collective, *GRID, "--threads", "1", "--budget-seconds", str(asked.seconds), "--quiet")
    line, environment = launch_line(
        built / "nbc_overlap", *words, *first, "--record", str(path),
        env=slow, toolchain=asked.toolchain, network=asked.network,
    )  # fmt: skip
    if rate := asked.network.partition(":")[2]:
        line = [sys.executable, "-m", "mpi_campaign.launching.wire", "--rate", rate, "--", *line]
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    return load_overlap(path)


def table_of(records: list[OverlapRecord]) -> pd.DataFrame:
    """The points of one launch."""
    table = points_table(records)
    means = [float(point.t_comm_ref_ns.mean()) for record in records for point in record.points]
    found: pd.DataFrame = table.assign(mean=means, run="r")
    return found


def alarms(
    rule: str,
    a: list[pd.DataFrame],
    b: list[pd.DataFrame],
    *,
    either: bool,
    metric: str = METRIC,
    earlier: pd.DataFrame | None = None,
) -> tuple[int, int]:
    """How many cases a rule calls slower, or `either` slower or faster, of how many. The verdict can be on a metric."""
    if rule in ("verdict", "known"):
        found = compare(pd.concat(a), pd.concat(b), metrics=[metric], earlier=earlier)
        return found.count(SLOWER) + either * found.count(FASTER), len(found.rows)
    if rule == "threshold":
        ratio = np.nanmean([t["mean"] for t in b], axis=0) / np.nanmean([t["mean"] for t in a], axis=0)
        told = (ratio > 1 + LIMIT) | (either & (ratio < 1 / (1 + LIMIT)))
        return int(told.sum()), len(ratio)
    references = np.nanmedian([t[METRIC] for t in a], axis=0)
    pairs = [pair for pair in zip(b[0][METRIC], references, strict=True) if not np.isnan(pair).any()]
    return sum(not _passes(*pair, either) for pair in pairs), len(pairs)


def _passes(value: float, reference: float, either: bool) -> bool:
    """What ReFrame says of a value that has a reference."""
    try:
        return bool(evaluate(assert_reference(value, reference, -LIMIT if either else None, LIMIT)))
    except SanityError:
        return False


def shares(rule: str, turns: list[Turn], side: str, launches: int, metric: str = METRIC) -> tuple[float, float]:
    """The share of cases that a rule calls slower, over sides made of so many turns; where nothing differs, slower or
    faster. And the share of comparisons in which there is any."""
    all_ = np.array(list(itertools.combinations(range(len(turns)), launches)))
    drawn = np.random.default_rng(1).permutation(all_)[:MOST_DRAWS]
    found = total = some = 0
    for chosen in drawn:
        a, b = ([turns[i][name] for i in chosen] for name in ("same", side))
        others = [number for number in range(len(turns)) if number not in chosen]
        known = [turns[i][name].assign(run=f"e{i}", launch=n) for i in others for n, name in enumerate(("same", "0 %"))]
        earlier = pd.concat(known) if rule == "known" else None
        told, cases = alarms(rule, a, b, either=not SIDE[side], metric=metric, earlier=earlier)
        found, total, some = found + told, total + cases, some + (told > 0)
    return found / total, some / len(drawn)


def together(rng: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Cases of a map that are slow in the same launches."""
    maps = -(-shape[0] // MAP)
    return np.asarray(np.repeat(rng.standard_normal((maps, shape[1])), MAP, axis=0)[: shape[0]])


NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], Floats]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "a map's cases together": together,
    "some launches slower": lambda rng, shape: np.asarray((rng.lognormal(0, 0.8, shape) - 1.38) / 1.3),
    "two states": lambda rng, shape: np.asarray(2.0 * (rng.random(shape) < 0.3) + 0.1 * rng.standard_normal(shape)),
}


def synthetic(seed: pd.DataFrame, cases: int, most: int) -> list[list[str]]:
    """Of each noise and number of launches: of cases in which nothing differs, those called slower or faster, and the
    comparisons that have any; of those that are slower by 5, 10, 20 %, those called slower."""
    lines = []
    known_ways = itertools.product((1, 2), list(EARLIER)[1:])
    ways = [(1, ""), *known_ways, *((count, "") for count in (3, 5, 10))]
    for (kind, noise), (launches, known) in itertools.product(NOISES.items(), ways):
        words = []
        for percent, usual in PAIRS.items():
            pairs = min(usual, most)
            false = found = some = 0
            for pair in range(pairs):
                rng = np.random.default_rng([pair, percent, launches])
                width = 0.01 * np.exp(0.5 * rng.standard_normal(cases))[:, None]
                slower = np.where(np.arange(cases) % 10 == 0, 1 + percent / 100, 1.0)
                a, b = (
                    sides_of(seed, factor[:, None] * np.exp(width * noise(rng, (cases, launches))))
                    for factor in (np.ones(cases), slower)
                )
                runs = [
                    sides_of(seed, np.exp(width * noise(rng, (cases, 3)))).assign(run=f"e{run}")
                    for run in range(EARLIER[known])
                ]
                rows = compare(a, b, metrics=[METRIC], earlier=pd.concat(runs) if runs else None).rows
                truly = rows["comm_target_ns"].to_numpy() % 10 == 0 if percent else np.zeros(len(rows), bool)
                told = rows["verdict"].isin([SLOWER, FASTER]).to_numpy()
                false += int(told[~truly].sum())
                some += bool(told[~truly].any())
                found += int((rows["verdict"] == SLOWER).to_numpy()[truly].sum())
            if percent:
                words.append(f"{1000 * found / (pairs * cases):.0f} %")
            else:
                words += [f"{100 * false / (pairs * cases):.2f} %", f"{some} of {pairs}"]
        lines.append([kind, f"{launches}, {launches}{', ' * bool(known)}{known}", *words])
    return lines


def recorded(runs: Sequence[str]) -> list[list[str]]:
    """Of one launch against the next of its case, other pairs known: how many comparisons there are, in how many enough
    is known, how many are called different, and how many if one is slower by 10 %."""
    table, _ = launch_table([example(run) for run in runs])
    key = [one for one in KEY if one in table]
    pair = table.groupby([*key, "run"], observed=True, dropna=False).cumcount() // 2
    table = table.assign(run=table["run"].astype(str) + "." + pair.astype(str))
    lines = []
    for name in [name for name in USUAL if METRICS[name].ratio and name in table]:
        for family, rows in table[table[name].notna()].groupby(["benchmark", "network"], observed=True):
            counts = dict.fromkeys(("all", "known", "false", "found"), 0)
            for run, of_run in rows.groupby("run", observed=True):
                place = of_run.groupby(key, observed=True, dropna=False).cumcount()
                several = of_run.groupby(key, observed=True, dropna=False)[name].transform("size") > 1
                a, b = (of_run[several & (place == number)] for number in (0, 1))
                earlier = rows[rows["run"] != run]
                if a.empty:
                    continue
                for factor in (1.0, 1.1):
                    got = compare(a, b.assign(**{name: factor * b[name]}), metrics=[name], earlier=earlier).rows
                    told = got["verdict"].isin([SLOWER, FASTER])
                    counts["false" if factor == 1 else "found"] += int(told.sum())
                counts["all"] += len(got)
                counts["known"] += int(got["p_value"].notna().sum())
            if counts["known"]:
                lines.append([" ".join(map(str, family)), METRICS[name].title, *map(str, counts.values())])
    return lines


def sides_of(seed: pd.DataFrame, times: Floats) -> pd.DataFrame:
    """Launches of one side: times of shape (cases, launches), relative."""
    cases, launches = times.shape
    row = seed.iloc[np.zeros(times.size, np.int64)].reset_index(drop=True)
    found: pd.DataFrame = row.assign(
        comm_target_ns=np.repeat(np.arange(cases), launches),
        collective=np.repeat([f"c{number // MAP}" for number in range(cases)], launches),
        launch=np.tile(np.arange(launches), cases),
        **{METRIC: 16e6 * times.ravel()},
    )
    return found


def main(words: list[str] | None = None) -> None:
    """Measure, draw, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--toolchain", default=resolving.DEFAULT_TOOLCHAINS[1])
    parser.add_argument("--network", default="wire:2gbit")
    parser.add_argument("--cases", type=int, default=CASES, help="synthetic ones")
    parser.add_argument("--pairs", type=int, default=max(PAIRS.values()), help="of synthetic sides, at most")
    asked = Asked(**vars(parser.parse_args(words)))
    if 0 < asked.turns < 6:
        parser.error("--turns: 6 at least, sides of five are drawn; 0: no launches")
    with tempfile.TemporaryDirectory(prefix="trust-") as scratch:
        if asked.turns:
            turns = measured(Path(scratch), asked)
            tell(turns)
            seed = turns[0]["same"]
        else:
            folder = archived(Path(scratch), name_of(1), launches=1).path
            seed = pq.read_table(folder / "points.parquet").to_pandas().assign(run="r")
    heads = [
        "synthetic noise", "launches", "same", "any alarm", *(f"slower by {percent} %" for percent in list(PAIRS)[1:]),
    ]  # fmt: skip
    print("\n" + aligned(heads, synthetic(seed.iloc[:1], asked.cases, asked.pairs), right=set(range(2, 7))), flush=True)
    heads = ["recorded, 1 against 1", "", "cases", "known", "called different", "and if slower by 10 %"]
    print("\n" + aligned(heads, recorded(OF_LAUNCHES), right=set(range(2, 6))))


def tell(turns: list[Turn]) -> None:
    """What the rules say of real launches."""
    times = {side: np.array([turn[side][METRIC] for turn in turns]) for side in SIDE}
    # A busy machine may leave a launch without one of its points.
    cv = [np.nanstd(several, axis=0, ddof=1) / np.nanmean(several, axis=0) for several in times.values()]
    print(f"launches differ by {100 * np.nanmedian(cv):.1f} % (median over cases), {100 * np.nanmax(cv):.0f} % at most")
    reached = [100 * (np.nanmedian(times[side] / times["same"]) - 1) for side in list(SIDE)[1:]]
    lines = [["reached, median", "", "", *(f"{one:+.1f} %" for one in reached)]]
    rules = itertools.product(("verdict", "threshold", "reference"), (3, 5))
    for rule, launches in (("verdict", 1), ("known", 1), *rules):
        found = {side: shares(rule, turns, side, launches) for side in list(SIDE)[1:]}
        lines.append([rule, f"{launches}, {launches}", f"{100 * found['0 %'][1]:.0f} %",
                      *(f"{100 * cases:.1f} %" for cases, _ in found.values())])  # fmt: skip
    percents = [f"slower by {percent} %" for percent in SLOWDOWNS[1:]]
    print(aligned(["rule", "launches", "same, any alarm", "same", *percents], lines, right=set(range(2, 8))))
    lines = []
    for metric, launches in itertools.product(METRICS_OF_A_RECORD, (3, 5)):
        cases, some = shares("verdict", turns, "0 %", launches, metric)
        lines.append([METRICS[metric].title, f"{launches}, {launches}", f"{100 * some:.0f} %", f"{100 * cases:.1f} %"])
    print("\n" + aligned(["verdict on", "launches", "same, any alarm", "same"], lines, right={2, 3}))


if __name__ == "__main__":
    main()
