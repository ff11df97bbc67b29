"""How far `campaign judge` and `campaign bisect` can be trusted: false and missed slowdowns, though they stop early.

    .venv/bin/python -m tests.benchmarks.judge_trust [--judged 2000] [--searches 200] [--seed 1]

Launches are synthetic: maps of one case each, whose launches differ by 1 or 3 %, with noise of three kinds. Judged:
the share of questions that call anything different where nothing differs, and that find one map slower by 10 %.
Searches: in a series of 1,000 of which one in twenty cannot be had, nothing, one or two changes of 10 % are planted.
"""

import argparse
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.options import Options
from mpi_campaign.running.bisecting import Bisection
from mpi_campaign.toolchains.series import Series
from postprocess.drawing.columns import aligned
from postprocess.statistics.limits import Limits
from postprocess.statistics.looks import LOOKS, rate_of_each
from postprocess.statistics.metrics import Floats
from postprocess.verdicts.blame import Step
from postprocess.verdicts.compare import FASTER, KEY, METRICS, SLOWER, UNKNOWN, Comparison, compare

METRIC = "t_measured_ns"
MAPS = 4
COUNT = 1000
STEP = 0.10
BROKEN = 0.05
Noise = Callable[[np.random.Generator, tuple[int, ...]], Floats]
NOISES: dict[str, Noise] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "one in ten 5 x as wide": lambda rng, shape: rng.standard_normal(shape) * np.where(rng.random(shape) < 0.1, 5, 1),
    "the maps of a launch alike": lambda rng, shape: (
        rng.standard_normal((*shape[:-1], 1)) * np.sqrt(0.9) + rng.standard_normal(shape) * np.sqrt(0.1)
    ),
}


def table(log_times: Floats) -> pd.DataFrame:
    """Launches of a side.  log_times: by launch and map."""
    launches, maps = log_times.shape
    number, which = np.divmod(np.arange(launches * maps), maps)
    columns = dict.fromkeys([*KEY, *METRICS[METRIC].same], 1) | {"oversubscribed": False, "given_up_cores": 0}
    made: pd.DataFrame = pd.DataFrame(
        {
            **{name: [value] * number.size for name, value in columns.items()},
            "system": "s", "run": "r", "launch": number, "benchmark": "nbc_overlap", "configuration": "basic",
            "collective": [f"c{one}" for one in which], METRIC: np.exp(log_times.ravel()) * 1e7, "valid": True,
            "sound": True,
        }
    )  # fmt: skip
    return made


def judged(a: Floats, b: Floats, limits: Limits) -> tuple[Comparison, int]:
    """The comparison after as many launches as it takes, and how many these were.  a, b: as of `table`."""
    for launches in LOOKS:
        comparison = compare(table(a[:launches]), table(b[:launches]), ("toolchain",), [METRIC], limits)
        if not comparison.count(UNKNOWN):
            break
    return comparison, launches


def questions(rng: np.random.Generator, number: int, noise: Noise, spread: float, slower: float) -> list[str]:
    """How often anything is called different, how often the first map is called slower, and the launches it took."""
    limits = Limits(rate=rate_of_each(Limits.rate))
    different = found = launches = 0
    for _ in range(number):
        a, b = spread * noise(rng, (2, LOOKS[-1], MAPS))
        b[:, 0] += np.log1p(slower)
        comparison, took = judged(a, b, limits)
        rows = comparison.rows.set_index("collective")
        others = rows["verdict"] if not slower else rows["verdict"].drop("c0")
        different += bool(others.isin([SLOWER, FASTER]).any())
        found += rows.loc["c0", "verdict"] == SLOWER
        launches += took
    return [f"{100 * different / number:.2f} %", f"{100 * found / number:.1f} %", f"{launches / number:.1f}"]


class Simulated(Bisection):
    """A search whose launches are drawn.  speeds: how much slower each of the series is, a logarithm."""

    rng: np.random.Generator
    noise: Noise
    spread: float
    speeds: Floats

    def _judge(self, one: str, other: str) -> Comparison:
        for name in (one, other):
            self.series.have(name)
        a, b = self.spread * self.noise(self.rng, (2, LOOKS[-1], 1))
        rate = rate_of_each(self.counts.rate) / (self.steps_at_most + 3)
        limits = Limits(self.counts.least_ratio, self.counts.least_difference, rate)
        shift = self.speeds[int(other)] - self.speeds[int(one)]
        comparison, took = judged(a, b + shift, limits)
        self.launched[f"{one} {other}"] = 2 * took
        self.had |= {one, other}
        self.steps.append(Step(one, other, "", run="r"))
        return comparison

    def _narrow(self, clearest: pd.DataFrame) -> None:
        options = self.options
        super()._narrow(clearest)
        self.options = options


def searches(rng: np.random.Generator, number: int, noise: Noise, spread: float, planted: int) -> list[str]:
    """How often the first planted change is named, alone or among those that cannot be had; how often another one is;
    how often the second one is told of; builds and launches."""
    named = among = wrong = second = 0
    had, launches = [], []
    for _ in range(number):
        firsts = np.sort(rng.choice(np.arange(1, COUNT), planted, replace=False))
        broken = set(np.flatnonzero(rng.random(COUNT) < BROKEN).tolist()) - {0, COUNT - 1}

        def have(name: str, broken: set[int] = broken) -> str:
            if int(name) in broken:
                raise CampaignError("does not build")
            return name

        series = Series(tuple(map(str, range(COUNT))), have)
        search = Simulated(series, Options(suite="judge"), Path(), [], (METRIC,), Limits(), lambda _: None)
        search.rng, search.noise, search.spread = rng, noise, spread
        search.speeds = np.log1p(STEP) * np.searchsorted(firsts, np.arange(COUNT), side="right")
        found = search.search()
        had.append(found.had)
        launches.append(found.launches)
        if found.is_found:
            right = planted and int(found.last_good) < firsts[0] <= int(found.first_bad)
            named += bool(right) and not found.between
            among += bool(right) and bool(found.between)
            wrong += not right
            second += found.rest is not None
    return [*(str(count) for count in (named, among, wrong, second)), f"{max(had)}", f"{np.median(launches):.0f}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--judged", type=int, default=2000)
    parser.add_argument("--searches", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    kinds = [(name, spread) for name in NOISES for spread in (0.01, 0.03)]
    lines = []
    for name, spread in kinds:
        for slower in (0.0, STEP):
            told = questions(rng, asked.judged, NOISES[name], spread, slower)
            lines.append([name, f"{100 * spread:.0f} %", f"{100 * slower:.0f} %", *told])
    heads = ["noise", "spread", "slower", "others called different", "found", "launches"]
    print(aligned(heads, lines, right={1, 2, 3, 4, 5}), flush=True)
    lines = []
    for name, spread in kinds:
        for planted in (0, 1, 2):
            told = searches(rng, asked.searches, NOISES[name], spread, planted)
            lines.append([name, f"{100 * spread:.0f} %", str(planted), *told])
    heads = ["noise", "spread", "planted", "named", "among some", "wrong", "another", "most builds", "launches"]
    print(aligned(heads, lines, right=set(range(1, 9))))


if __name__ == "__main__":
    main()
