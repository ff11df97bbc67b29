"""How far alarms of `campaign history` can be trusted: false ones and missed ones, in series whose truth is known.

    .venv/bin/python -m tests.benchmarks.history_trust [--series 300] [--nights 60] [--asked 100] [--alone]

Times of nights differ by 3 %; phi is their correlation with the night before. `worse`: the share of series with a
change for the worse, `alarm`: with one that stands, after the last night; `ever`: with an alarm after any night, if the
history is asked after each of them, of the first --asked series. With --alone each series is a history of its own. Of
the known steps one series in ten has one; found: an alarm within three nights of it. Of one series in three two nights
are known before the third one, in which it is slower by 10 %; of the others all nights: those that ring in that night.
"""

import argparse
import math
from collections.abc import Callable, Sequence
from datetime import date, timedelta

import numpy as np
import pandas as pd

from postprocess.drawing.columns import aligned
from postprocess.families import registry
from postprocess.statistics.metrics import Floats
from postprocess.verdicts.compare import KEY, SLOWER
from postprocess.verdicts.history import Change, Series, changes_of, searched, series_of, standing

METRIC = "t_measured_ns"
SPREAD = 0.03
OLD, NEW = "x@1", "x@2"
FIRST_DAY = date(2026, 1, 1)
STEPS = (0.05, 0.10, 0.20)
SPREADS = (0.005, 0.01, 0.015, 0.02, 0.03)
Noise = Callable[[np.random.Generator, int, int], Floats]


def correlated(phi: float) -> Noise:
    """Noise of nights that are like the night before."""

    def noise(rng: np.random.Generator, series: int, nights: int) -> Floats:
        values = rng.standard_normal((series, nights))
        for night in range(1, nights):
            values[:, night] = phi * values[:, night - 1] + math.sqrt(1 - phi**2) * values[:, night]
        return SPREAD * values

    return noise


def tailed(rng: np.random.Generator, series: int, nights: int) -> Floats:
    """Nights some of which are far off."""
    return SPREAD / 2 * rng.standard_t(2, (series, nights))


def waving(rng: np.random.Generator, series: int, nights: int) -> Floats:
    """A slow wave, of 28 nights and 6 % up and down, that begins anywhere."""
    turns = np.arange(nights) / 28 + rng.random((series, 1))
    return correlated(0)(rng, series, nights) + 0.06 * np.sin(2 * np.pi * turns)


def weekly(rng: np.random.Generator, series: int, nights: int) -> Floats:
    """Two nights of a week are slower by 6 %."""
    return correlated(0)(rng, series, nights) + 0.06 * (np.arange(nights) % 7 >= 5)


NOISES: dict[str, Noise] = {
    **{f"phi {phi}": correlated(phi) for phi in (0, 0.3, 0.5, 0.7)}, "some nights far off": tailed, "a wave": waving,
    "a weekly pattern": weekly,
}  # fmt: skip


def launches(values: Floats, days: Sequence[int], toolchains: Sequence[str]) -> pd.DataFrame:
    """A table of launches: values of shape (series, runs); of each run its day and its version."""
    series, count = values.shape
    names = [f"{FIRST_DAY + timedelta(day):%Y%m%d}T{run % 24:02d}0000Z-{run:06x}" for run, day in enumerate(days)]
    usual = {axis.name: axis.usual for axis in registry.AXES if axis.usual is not None}
    same = dict.fromkeys(KEY, "x") | usual | {"benchmark": "nbc_overlap", "oversubscribed": False}
    table: pd.DataFrame = pd.DataFrame({
        **same, "valid": True, "sound": True, "comp_target_ns": 5,
        "comm_target_ns": np.repeat(np.arange(series), count), "message_bytes": 1, "work_size": 1,
        "run": np.tile(names, series), "toolchain": np.tile(np.array(toolchains), series),
        METRIC: 1e7 * np.exp(values.ravel()),
    })  # fmt: skip
    return table


Told = tuple[list[Change], list[Change]]


def asked(table: pd.DataFrame, *, alone: bool) -> Told:
    """What a history tells: its changes for the worse, and the alarms that stand."""
    series = series_of(table, [METRIC])
    found = [asked_of(part) for part in ([[one] for one in series] if alone else [series])]
    return [one for changes, _ in found for one in changes], [one for _, still in found for one in still]


def asked_of(series: Sequence[Series]) -> Told:
    """The same of series."""
    searched_ = searched(series)
    changes = changes_of(searched_)
    return [one for one in changes if one.verdict == SLOWER], standing(changes, searched_)


def cases(changes: Sequence[Change]) -> set[int]:
    """The numbers of the series that they are in."""
    return {int(one.case["comm_target_ns"]) for one in changes}


def false_alarms(series: int, nights: int, most: int, alone: bool) -> list[list[str]]:
    """Of each noise, and ways to measure it, where nothing changes."""
    plans: dict[str, tuple[Noise, list[int]]] = {name: (noise, list(range(nights))) for name, noise in NOISES.items()}
    rng = np.random.default_rng(7)
    gaps = sorted(rng.choice(2 * nights, nights, replace=False).tolist())
    plans["phi 0.5, gaps"] = (correlated(0.5), gaps)
    lines = []
    for name, (noise, days) in plans.items():
        values = noise(np.random.default_rng(1), series, nights)
        lines.append([name, *rates(values, days, series, most, alone)])
    reruns = sorted([*range(nights), *rng.integers(0, nights, 2 * nights).tolist()])
    values = correlated(0.3)(np.random.default_rng(1), series, nights)[:, reruns]
    values += SPREAD / 10 * rng.standard_normal(values.shape)
    lines.append(["phi 0.3, reruns on a day", *rates(values, reruns, series, most, alone)])
    return lines


def rates(values: Floats, days: list[int], series: int, most: int, alone: bool) -> list[str]:
    """The shares of series with changes and alarms."""
    worse, stands = asked(launches(values, days, [OLD] * len(days)), alone=alone)
    ever: set[int] = set()
    for day in sorted(set(days))[2:] if most else ():
        until = [place for place, one in enumerate(days) if one <= day]
        table = launches(values[:most, until], [days[one] for one in until], [OLD] * len(until))
        ever |= cases(asked(table, alone=alone)[1])
    return [f"{100 * len(cases(worse)) / series:.1f} %", f"{100 * len(cases(stands)) / series:.1f} %",
            f"{100 * len(ever) / most:.1f} %" if most else ""]  # fmt: skip


def found(series: int, nights: int, alone: bool) -> list[list[str]]:
    """Of known steps, in noise of each correlation: the share that rings."""
    ways = {"the 7th night": 6, "the middle": nights // 2, "the last 6 nights": nights - 6, "the last 3": nights - 3}
    lines = []
    for phi in (0, 0.3, 0.5):
        noise = correlated(phi)(np.random.default_rng(2), series, nights)
        changed = np.arange(series) % 10 == 0
        for name, at in ways.items():
            words = []
            for step in STEPS:
                values = noise + math.log1p(step) * (changed[:, None] & (np.arange(nights) >= at))
                table = launches(values, range(nights), [OLD] * nights)
                runs = sorted(table["run"].unique())
                near = [one for one in asked(table, alone=alone)[1] if abs(runs.index(one.run) - at) <= 3]
                words.append(f"{100 * len(cases(near) & set(np.flatnonzero(changed))) / changed.sum():.0f} %")
            lines.append([f"phi {phi:g}, from {name} on", *words])
    return lines


def third_night(series: int, nights: int) -> list[list[str]]:
    """Of each noise, by how much nights differ, the share of series slower by 10 % in their third night that ring then,
    and how many of the others do."""
    lines = []
    new = np.arange(series) % 3 == 0
    for name, noise in NOISES.items():
        words = []
        for spread in SPREADS:
            values = spread / SPREAD * noise(np.random.default_rng(5), series, nights)
            values[new, -1] += math.log(1.1)
            table = launches(values, range(nights), [OLD] * nights)
            first = sorted(table["run"].unique())[nights - 3]
            known = table[~(table["comm_target_ns"] % 3 == 0) | (table["run"] >= first)]
            ring = cases([one for one in asked(known, alone=False)[1] if one.run == table["run"].max()])
            right = ring & set(np.flatnonzero(new))
            words.append(f"{100 * len(right) / new.sum():.0f} %, {len(ring - right)}")
        lines.append([name, *words])
    return lines


def told(series: int, alone: bool) -> list[str]:
    """Situations in which there is one alarm in every tenth series, and how many there are."""
    noise = correlated(0)(np.random.default_rng(3), series, 61)
    changed = (np.arange(series) % 10 == 0)[:, None]
    night = np.arange(61)
    ways: dict[str, tuple[np.ndarray, list[str]]] = {
        "20 % that comes, goes, comes again": ((night >= 15) & (night < 30) | (night >= 45), [OLD] * 61),
        "an upgrade, slower by 20 %": (night >= 30, [OLD] * 30 + [NEW] * 31),
        "and one run of the old version": ((night >= 30) & (night < 60), [OLD] * 30 + [NEW] * 30 + [OLD]),
        "and both in turn": ((night >= 30) & (night % 2 == 0), [OLD] * 30 + [NEW, OLD] * 15 + [NEW]),
        "both in turn from the first night": (night % 2 == 0, [NEW, OLD] * 30 + [NEW]),
    }
    lines = []
    for name, (slower, toolchains) in ways.items():
        values = noise + math.log(1.2) * (changed & slower)
        _, stands = asked(launches(values, range(61), toolchains), alone=alone)
        right = [one for one in stands if one.case["comm_target_ns"] % 10 == 0]
        lines.append(f"{name}: {len(right)} alarms in {changed.sum()} series, {len(stands) - len(right)} in the others")
    return lines


def main(words: list[str] | None = None) -> None:
    """Draw, ask, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=300)
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--asked", type=int, default=100)
    parser.add_argument("--alone", action="store_true")
    its = parser.parse_args(words)
    print("\n".join(told(its.series, its.alone)), flush=True)
    heads = ["step", *(f"{100 * step:.0f} %" for step in STEPS)]
    print("\n" + aligned(heads, found(its.series, its.nights, its.alone), right={1, 2, 3}), flush=True)
    heads = ["slower by 10 % in the third night", *(f"nights differ by {100 * one:g} %" for one in SPREADS)]
    print("\n" + aligned(heads, third_night(its.series, its.nights), right={1, 2, 3, 4, 5}), flush=True)
    lines = false_alarms(its.series, its.nights, its.asked, its.alone)
    print("\n" + aligned(["nothing changes", "worse", "alarm", "ever"], lines, right={1, 2, 3}))


if __name__ == "__main__":
    main()
