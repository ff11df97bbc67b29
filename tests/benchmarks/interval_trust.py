"""How far intervals can be trusted: those of repetitions, of launches and of points of a map, where the truth is known,
and in recorded launches; by today's rules and by the ones that they replaced.

    .venv/bin/python -m tests.benchmarks.interval_trust [--draws 2000] [--splits 500] [--of-launches RUN] [RUN ...]

repetitions  Series whose neighbours correlate by phi: how often the interval covers the median, and how wide it is over
             that for independent samples. In recorded series, where no truth is known, the interval of one half is held
             against the median of the other, which has an interval itself: both must have a point in common in 95 %.
overhead     r_overhead of repetitions of which something slows all parts, or one instead of the others: how often its
             interval covers the truth, as of independent times and by their correlation, and how wide it is.
launches     Of normal launches and of those of recorded cases of each benchmark, drawn without replacement: how often
             the interval of some contains the median of the others. The others are few and noisy too, so the interval
             of a prediction is asked for: its reach is that of the case times the root of the variance of both over
             that of the mean. Where launches have two states, two of six in the slower one, three of them that agree
             foretell nothing: 4 of 20 splits miss.
points       Maps with points of different noise around a truth: the error of the median over reliable points beyond
             that over all valid ones, the worst of all truths from 0 to 5, and the least share of reliable points.
map          Of maps of 36 points without anything to find: how many have a point that is sure to be on a side.
"""

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from postprocess.drawing.columns import aligned
from postprocess.families import registry
from postprocess.families.family import STATE
from postprocess.families.nbc_overlap.record import overlaps_of
from postprocess.families.nbc_overlap.validity import WIDEST_INTERVAL, too_wide
from postprocess.records.run import Run, load_run
from postprocess.statistics.effects import sure_at
from postprocess.statistics.launches import over_launches
from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.metrics import (
    Estimate,
    Floats,
    median_estimate,
    overhead_estimate,
    overhead_of_repetitions,
    series_estimate,
)
from postprocess.verdicts.launches import launch_table
from tests.support import example

RULES: dict[str, Callable[[Floats], Estimate]] = {"old": median_estimate, "new": series_estimate}
RECORDED = ("20261121T232206Z-d886ac",)
OF_LAUNCHES = ("20261126T103625Z-2106dd", "20261126T142413Z-9d038e", "20261126T173447Z-70f066")
"""Recorded runs with six launches of a case."""
TRUTHS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 5.0)
REPETITIONS, POINTS = 12, 36
MEDIAN_OVER_MEAN = {1: 1.0, 2: 1.0, 3: 1.35, 4: 1.19, 5: 1.43}
"""The variance of a median of so many normal values over that of their mean; of very many pi / 2."""


def correlated(rng: np.random.Generator, phi: float, draws: int, n: int) -> Floats:
    """Series of a first-order autoregression, of variance 1."""
    values = rng.standard_normal((draws, n))
    for i in range(1, n):
        values[:, i] = phi * values[:, i - 1] + np.sqrt(1 - phi**2) * values[:, i]
    return values


def of_repetitions(rng: np.random.Generator, draws: int) -> Iterator[list[str]]:
    """Coverage and relative width, by the correlation and the number of repetitions."""
    for phi in (0.0, 0.2, 0.4, 0.6):
        for n in (9, 15, 30, 100):
            values = correlated(rng, phi, draws, n)
            found = {name: rule(values) for name, rule in RULES.items()}
            covered = [share((one.low <= 0) & (one.high >= 0)) for one in found.values()]
            wide = float(np.mean(found["new"].high - found["new"].low) / np.mean(found["old"].high - found["old"].low))
            yield [f"phi {phi}", str(n), *covered, f"{wide:.2f}"]


def of_overheads(rng: np.random.Generator, draws: int) -> Iterator[list[str]]:
    """Coverage and relative width, by what times of a repetition have in common and the number of repetitions."""
    signs = {"nothing in common": (0, 0, 0), "all slower": (1, 1, 1), "one instead": (1, -1, -1)}
    for name, shared in signs.items():
        for n in (9, 15, 30, 100):
            common, *own = rng.standard_normal((4, draws, n))
            base = (1.5, 1.0, 0.5)
            times = [t * np.exp(0.1 * (s * common + one / 3)) for t, s, one in zip(base, shared, own, strict=True)]
            found = (overhead_estimate(*map(series_estimate, times)), overhead_of_repetitions(*times))
            covered = [share((one.low <= 1) & (one.high >= 1)) for one in found]
            alone, together = (float(np.mean(one.high - one.low)) for one in found)
            yield [name, str(n), *covered, f"{together / alone:.2f}"]


def halves(runs: Sequence[Run]) -> Iterator[list[str]]:
    """In how many recorded series the intervals of both halves have a point in common."""
    for name in ("t_comm_ref_ns", "t_comp_ref_ns", "t_measured_ns"):
        points = [p for run in runs for record in overlaps_of(run).records for p in record.points]
        series = [getattr(point, name) for point in points]
        long = [one.astype(np.float64) for one in series if len(one) >= 2 * REPETITIONS]
        agree = []
        for rule in RULES.values():
            ends = [[rule(half) for half in np.array_split(one, 2)] for one in long]
            agree.append(share([bool(a.low <= b.high and b.low <= a.high) for a, b in ends]))
        yield [name, str(len(long)), *agree, ""]


def of_launches(rng: np.random.Generator, cases: Sequence[Floats], splits: int, k: int) -> float:
    """How often the interval of k launches of a case contains the median of the others.

    cases: the values of the launches of each.
    """
    hits = 0
    for _ in range(splits):
        drawn = rng.permutation(cases[int(rng.integers(len(cases)))])
        some, others = drawn[:k], drawn[k:]
        found = over_launches(some, some, some)
        ratio = MEDIAN_OVER_MEAN.get(others.size, np.pi / 2)
        reach = float(found.high - found.low) / 2 * np.sqrt(1 + k * ratio / others.size)
        hits += bool(abs(np.median(others) - some.mean()) <= reach)
    return hits / splits


def launches_of(run: Path) -> dict[str, list[Floats]]:
    """The values of the launches of each case, point and metric that differ between launches, by benchmark."""
    table, _ = launch_table([run])
    table = table[table["valid"]]
    metrics = [name for name in registry.METRICS if name in table]
    keys = [name for name in table if name not in (*metrics, *STATE, "run", "launch")]
    cases: dict[str, list[Floats]] = {}
    for _, rows in table.groupby(keys, observed=True, dropna=False):
        for name in metrics:
            values = rows[name].dropna().to_numpy(np.float64)
            if values.size >= 2 * LEAST_LAUNCHES and values.std() > 0:
                cases.setdefault(str(rows["benchmark"].iloc[0]), []).append(values)
    return cases


def kept(rule: str, found: Estimate) -> NDArray[np.bool_]:
    """Which points are reliable by the width of their intervals."""
    if rule == "old":
        return np.asarray((found.high - found.low <= WIDEST_INTERVAL) | (found.low >= 1))
    each = zip(found.value, found.low, found.high, strict=True)
    return np.array([not too_wide(Estimate(*one)) for one in each])


def of_points(rng: np.random.Generator, noise: float, maps: int) -> Iterator[list[str]]:
    """The worst error of medians over reliable points, and the least share of points that is reliable."""
    worst = {"old": (0.0, 1.0), "new": (0.0, 1.0)}
    for truth in TRUTHS:
        error: dict[str, list[float]] = {rule: [] for rule in worst}
        shares: dict[str, list[float]] = {rule: [] for rule in worst}
        for _ in range(maps):
            found = a_map(rng, truth, noise)
            for rule in worst:
                reliable = kept(rule, found)
                used = reliable if 2 * reliable.sum() >= reliable.size else np.ones_like(reliable)
                error[rule].append(float(np.median(found.value[used]) - np.median(found.value)))
                shares[rule].append(float(reliable.mean()))
        for rule, (most, least) in worst.items():
            here = float(np.mean(error[rule]))
            worst[rule] = here if abs(here) > abs(most) else most, min(least, float(np.mean(shares[rule])))
    for rule, (most, least) in worst.items():
        yield [f"noise {noise:g}", rule, f"{most:+.2f}", f"{100 * least:.0f} %", ""]


def a_map(rng: np.random.Generator, truth: float, noise: float) -> Estimate:
    """The overhead ratios of a map, spread by 2 around a truth. Detours hit a repetition with probability `noise`."""
    ratio = truth + 2 * (rng.random(POINTS) - 0.5)
    comm = rng.choice([0.25, 0.5, 1, 1, 2, 4], POINTS)
    spread = noise * np.exp(0.7 * rng.standard_normal((POINTS, 1)))

    def times(base: Floats) -> Floats:
        shape = (POINTS, REPETITIONS)
        slow = np.exp(spread * rng.standard_normal(shape)) + (rng.random(shape) < noise) * rng.exponential(1.0, shape)
        return np.asarray(base[:, None] * slow)

    return overhead_of_repetitions(
        times(np.maximum(comm, 1) + ratio * np.minimum(comm, 1)), times(np.ones(POINTS)), times(comm)
    )


def of_maps(rng: np.random.Generator, draws: int) -> list[str]:
    """How many maps have a point whose interval excludes the truth, and one that is sure to be on a side of it."""
    z = rng.standard_normal((draws, POINTS))
    sure = [sure_at(np.stack([one, one - 1.96, one + 1.96], axis=1), 0.0).any() for one in z]
    return [share((np.abs(z) > 1.96).any(axis=1)), share(sure)]


def share(truths: object) -> str:
    """A share in per cent."""
    return f"{100 * float(np.mean(truths)):.1f} %"  # type: ignore[call-overload]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--splits", type=int, default=500)
    parser.add_argument("--of-launches", action="append", help="a run with six launches of a case or more")
    parser.add_argument("runs", nargs="*", default=RECORDED)
    asked = parser.parse_args()
    asked.of_launches = asked.of_launches or OF_LAUNCHES
    rng, runs = np.random.default_rng(1), [load_run(example(run)) for run in asked.runs]
    lines = [["repetitions", *one] for one in (*of_repetitions(rng, asked.draws), *halves(runs))]
    lines += [["overhead", *one] for one in of_overheads(rng, asked.draws)]
    recorded: dict[str, list[Floats]] = {"normal": list(rng.normal(10, 1, (200, 6)))}
    for run in asked.of_launches:
        for benchmark, cases in launches_of(example(run)).items():
            recorded.setdefault(benchmark, []).extend(cases)
    for name, cases in recorded.items():
        for k in (3, 4, 5):
            lines.append(
                ["launches", f"{len(cases)} of {name}", str(k), "", share(of_launches(rng, cases, asked.splits, k)), ""]
            )
    for noise in (0.02, 0.05, 0.1, 0.2):
        lines += [["points", *one] for one in of_points(rng, noise, max(asked.draws // 20, 1))]
    lines.append(["map", "nothing to find", str(POINTS), *of_maps(rng, asked.draws), ""])
    print(aligned(["", "", "n", "old", "new", "width"], lines, right={2, 3, 4, 5}))


if __name__ == "__main__":
    main()
