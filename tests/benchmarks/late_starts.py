"""How a repetition counts that a rank began late: which of three rules comes nearest to a planted truth.

    .venv/bin/python -m tests.benchmarks.late_starts [--repetitions 600]

Two ranks, each on a core of its own. On one core or on both a thread takes the core again and again: it holds it for a
while, then the rank runs for a while, both by chance (exponential, or within 10 % of their mean). A repetition is that
of `nbc_overlap`: communication alone, computation alone, both; each begins 50 us after the last rank came to the
agreement. The library serialises (r_overhead 1 without the thread) or overlaps perfectly (0). The truth is what an
application gets that does the same in a loop, without agreements: r_overhead of the mean times.

The rules, each with medians over repetitions, as the campaign reports them:

    agreed    every repetition counts, from the agreed moment
    first     every repetition counts, from the first rank's start
    punctual  a part that a rank began late is made again, at most three times, then the repetition is left out

Printed is the mean distance to the truth, by how often a rank was late. Seeds are fixed: the output is always the same.
"""

from __future__ import annotations

import argparse
import itertools
import random
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from statistics import fmean, median

import pandas as pd

SLACK, AGREEMENT = 50e-6, 2e-6
PARTS = ("comm", "comp", "both")
RULES = ("agreed", "first", "punctual")
MOST_TRIES = 4
# Mean seconds that the thread holds the core, and that the rank runs in between; seconds of communication and work.
THREADS = ((0.0005, 0.005), (0.001, 0.009), (0.004, 0.004))
SIZES = ((0.004, 0.004), (0.016, 0.016), (0.004, 0.016), (0.016, 0.004))


@dataclass
class Core:
    """A core that a rank and a thread share. duration: draws how long the thread holds it, or leaves it, from a mean.

    holds: (begin, end) of the thread's holds, seconds, as far as they were drawn.
    """

    duration: Callable[[float], float]
    hold: float
    run: float
    holds: list[tuple[float, float]] = field(default_factory=list)

    def next_hold(self, at: float) -> tuple[float, float]:
        """The first hold that ends after this moment."""
        if self.hold == 0:
            return float("inf"), float("inf")
        while not self.holds or self.holds[-1][1] <= at:
            begin = (self.holds[-1][1] if self.holds else 0.0) + self.duration(self.run)
            self.holds.append((begin, begin + self.duration(self.hold)))
        return self.holds[bisect_right(self.holds, at, key=lambda one: one[1])]

    def ready(self, at: float) -> float:
        """When the rank runs first, from this moment on."""
        begin, end = self.next_hold(at)
        return end if begin <= at else at

    def worked(self, at: float, seconds: float) -> float:
        """When the rank has had the core for so long."""
        at = self.ready(at)
        while at + seconds > self.next_hold(at)[0]:
            begin, end = self.next_hold(at)
            seconds, at = seconds - (begin - at), end
        return at + seconds


def part_ends(
    part: str, cores: Sequence[Core], starts: Sequence[float], sizes: tuple[float, float], serial: bool
) -> list[float]:
    """When each rank is done with a part. A message is under way as soon as all ranks have called; in a library that
    serialises, as soon as all ranks wait."""
    comm, comp = sizes
    ends = [core.worked(at, comp if part != "comm" else 0) for core, at in zip(cores, starts, strict=True)]
    if part == "comp":
        return ends
    arrives = max(ends if serial else starts) + comm
    return [core.ready(max(end, arrives)) for core, end in zip(cores, ends, strict=True)]


def r_overhead(times: dict[str, float]) -> float:
    """Denis 2022, equation 1."""
    return (times["both"] - max(times["comm"], times["comp"])) / min(times["comm"], times["comp"])


def truth(cores: Sequence[Core], sizes: tuple[float, float], serial: bool, repetitions: int) -> float:
    """Of loops without agreements."""
    at, times = [0.0] * len(cores), {}
    for part in PARTS:
        began = max(at)
        for _ in range(repetitions):
            together = max(core.ready(one + AGREEMENT) for core, one in zip(cores, at, strict=True))
            at = part_ends(part, cores, [core.ready(together) for core in cores], sizes, serial)
        times[part] = (max(at) - began) / repetitions
    return r_overhead(times)


def measured(cores: Sequence[Core], sizes: tuple[float, float], serial: bool, repetitions: int) -> dict[str, float]:
    """r_overhead by each rule, and the share of starts that a rank was late at."""
    tolerance = min(max(min(sizes) / 500, 2e-6), 100e-6)
    times: dict[str, dict[str, list[float]]] = {rule: {part: [] for part in PARTS} for rule in RULES}
    at, late, starts_made = [0.0] * len(cores), 0, 0
    for _ in range(repetitions):
        punctual: dict[str, float] = {}
        for part, attempt in itertools.product(PARTS, range(MOST_TRIES)):
            if part in punctual:
                continue
            agreed = max(core.ready(one + AGREEMENT) for core, one in zip(cores, at, strict=True))
            starts = [core.ready(agreed + SLACK) for core in cores]
            is_late = max(starts) - agreed - SLACK > tolerance
            at = part_ends(part, cores, starts, sizes, serial)
            own = max(end - one for end, one in zip(at, starts, strict=True))
            from_first = own if part == "comp" else max(at) - min(starts)
            if attempt == 0:  # the other rules make no second one
                times["agreed"][part].append(max(at) - agreed - SLACK)
                times["first"][part].append(from_first)
                late, starts_made = late + is_late, starts_made + 1
            if not is_late:
                punctual[part] = from_first
        if len(punctual) == len(PARTS):
            for part in PARTS:
                times["punctual"][part].append(punctual[part])
    found = {
        rule: r_overhead({part: median(values) for part, values in of_rule.items()})
        for rule, of_rule in times.items()
        if of_rule["comm"]
    }
    return {**found, "late": late / starts_made}


def rows(repetitions: int) -> list[dict[str, float | str]]:
    """A row per planted case: the distances of the rules to the truth, and how often a rank was late."""
    found: list[dict[str, float | str]] = []
    for serial, even, beside, (hold, run), sizes in itertools.product(
        (True, False), (True, False), (1, 2), THREADS, SIZES
    ):
        chance = random.Random(len(found))

        def duration(mean: float, chance: random.Random = chance, even: bool = even) -> float:
            return mean * chance.uniform(0.9, 1.1) if even else chance.expovariate(1 / mean)

        def cores(beside: int = beside, hold: float = hold, run: float = run) -> list[Core]:
            return [Core(duration, hold if i < beside else 0, run) for i in range(2)]

        planted = truth(cores(), sizes, serial, 3 * repetitions)
        by_rule = measured(cores(), sizes, serial, repetitions)
        off = {rule: abs(by_rule[rule] - planted) for rule in RULES if rule in by_rule}
        found.append({"late": by_rule["late"], "library": "serialises" if serial else "overlaps", **off})
    return found


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description="Which rule for late starts comes nearest to a planted truth?")
    parser.add_argument("--repetitions", type=int, default=600)
    table = pd.DataFrame(rows(parser.parse_args(arguments).repetitions))
    table["rank late at"] = pd.cut(table["late"], [-1, 0.02, 0.1, 1], labels=["< 2 %", "2 to 10 %", "> 10 %"])
    for by in (["rank late at", "library"], ["rank late at"]):
        shown = table.groupby(by, observed=True)[list(RULES)].agg(["count", fmean])
        counts = shown[RULES[0]]["count"].rename("cases")
        print(pd.concat([counts, *(shown[rule]["fmean"].rename(rule) for rule in RULES)], axis=1).round(3), "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
