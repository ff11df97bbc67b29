"""Is B slower than A, and how sure is that? Verdicts on two sides of launches, case by case.

Rows are of one case if they agree in all axes but the launch and those in which the sides are meant to differ. Effects
and their intervals come from `effects`; what counts as a difference comes from `Limits`, which way is worse from
`Metric`.
"""

from __future__ import annotations

import os
from collections.abc import Hashable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from postprocess.drawing.text import plural
from postprocess.families import registry
from postprocess.families.axes import GIVEN_UP, PLACEMENT, SIZES
from postprocess.families.family import Condition, Metric
from postprocess.statistics import covariate, effects
from postprocess.statistics.limits import Limits
from postprocess.statistics.metrics import Floats, work_share
from postprocess.statistics.steps import effects_of_steps
from postprocess.verdicts import maps
from postprocess.verdicts.earlier import FAMILY, Earlier, like
from postprocess.verdicts.launches import USUAL_VALUES, numbered, scaled, with_keys

SLOWER, FASTER, SLIGHT, SAME, UNKNOWN = "slower", "faster", "slightly different", "same", "cannot tell"
VERDICTS = (SLOWER, FASTER, SLIGHT, SAME, UNKNOWN)

CELL = [axis.name for axis in registry.AXES if axis.of == "point"]
"""The columns that name a case on a map."""

STEP = "pair of sides"
"""The column of a table in which several pairs of sides are compared at once: the names of both, as `step_of` joins
them."""
FEWEST_STEPS = 4
"""The fewest steps of a case that are compared at once: few libraries may each agree with themselves by luck."""

KEY = [*(axis.name for axis in registry.AXES if axis.of == "case"), *CELL, "oversubscribed"]
"""The columns that name a case, on one side."""

GROUP = [name for name in KEY if name not in CELL]
"""The columns that name a map, except those in which the sides differ. All cases of a map are of the same launches."""

ALIKE = (*FAMILY, "configuration")
"""The columns that cases have in common whose launches differ by about as much."""

RUN, LAUNCH = "run", "launch"
PLURAL = {RUN: "runs", LAUNCH: "launches"}
_TO = " -> "
EARLIER = 2
"""The side of launches that are on neither side."""
METRICS = registry.METRICS
"""The metrics that can be compared, by name."""
USUAL = tuple(name for name, one in METRICS.items() if one.usual)
"""The metrics that are compared without being asked for."""


ROW = [
    *KEY, "placement", "metric", "launches_a", "launches_b", "value_a", "value_b",
    "value_a_ci95_low", "value_a_ci95_high", "value_b_ci95_low", "value_b_ci95_high",
    "effect", "effect_ci95_low", "effect_ci95_high", "p_value", "q_value", "verdict", "reason", "at_equal",
]  # fmt: skip
"""The columns of `Comparison.rows`. `effect` is B / A of a ratio, B - A of a difference. `at_equal` is the covariate at
whose equal value the sides are compared; empty where they are compared as they are."""


@dataclass(frozen=True)
class Comparison:
    """The result: `rows` has a row per case and metric, `only_a` and `only_b` have the cases of one side alone.

    unit: what counts as one value, LAUNCH or RUN.  remarks: what a reader must know about all rows, a line each.
    runs: the runs of A and those of B, each system/run, sorted.  of_maps: whether a row is of all points of a map
    together.
    """

    rows: pd.DataFrame
    only_a: pd.DataFrame
    only_b: pd.DataFrame
    limits: Limits
    unit: str = LAUNCH
    remarks: tuple[str, ...] = ()
    runs: tuple[tuple[str, ...], tuple[str, ...]] = ((), ())
    of_maps: bool = False

    @property
    def cases(self) -> str:
        """What a row is of, in the plural."""
        return "maps" if self.of_maps else "cases"

    @property
    def units(self) -> str:
        """The unit, in the plural."""
        return PLURAL[self.unit]

    @property
    def changed(self) -> pd.DataFrame:
        """The rows of what is slower or faster."""
        changed: pd.DataFrame = self.rows[self.rows["verdict"].isin([SLOWER, FASTER])]
        return changed

    @property
    def decided(self) -> int:
        """How many rows have a verdict."""
        return len(self.rows) - self.count(UNKNOWN)

    def count(self, verdict: str) -> int:
        """How often a verdict was given."""
        return int((self.rows["verdict"] == verdict).sum())


def compare(
    a: pd.DataFrame,
    b: pd.DataFrame,
    differ: Sequence[str] = (),
    metrics: Sequence[str] = USUAL,
    limits: Limits | None = None,
    earlier: pd.DataFrame | None = None,
    *,
    of_maps: bool = False,
) -> Comparison:
    """Compare two tables of launches.

    The launch is the unit. Where a side has several runs, the run is the unit, because launches of one run share the
    conditions of that run. Where each side is one run, another one, it is so for cases with few launches.
    Where both sides are of the same run, its launches of the same number were measured beside each other, and are
    compared pair by pair. So are runs where both sides are of the same ones. Launches of `basic` that were measured
    beside each other are compared at equal values of the metric's covariate.
    earlier: launches of runs of the system. Those of other runs tell cases with few units how much units differ.
    With `of_maps`, tables may have a column STEP: then they hold several pairs of sides of one run
    (`effects_of_steps`).
    a, b: with the columns of KEY. Both may lack axes and metrics that their families do not have.
    differ: those columns of KEY in which the sides differ by intent.  metrics: names of METRICS.
    of_maps: the points of a map are compared together (`maps`). For this nothing is learnt from earlier runs.
    Raises KeyError for an unknown metric.
    """
    limits = limits or Limits()
    key = [name for name in (*KEY, STEP) if name not in differ and name in a]
    of_metrics = {word for name in metrics for word in (name, METRICS[name].state, *METRICS[name].same)}
    of_metrics |= {name for metric in map(METRICS.__getitem__, metrics) for name in _needed_by(metric)}
    needed = [name for name in a if name in {*KEY, STEP, RUN, LAUNCH, *of_metrics}]
    both = pd.concat([a[needed].assign(side=0), b[needed].assign(side=1)], ignore_index=True)
    runs = [set(one["run"].unique()) for one in (a, b)]
    unit = RUN if max(map(len, runs)) > 1 else LAUNCH
    apart = unit == LAUNCH and runs[0] != runs[1]
    remarks = []
    if earlier is not None:
        earlier = earlier[~earlier["run"].isin(runs[0] | runs[1])]
    if earlier is not None and len(earlier) and not of_maps:
        both = pd.concat([both, like(earlier, both, tuple(KEY)).assign(side=EARLIER)], ignore_index=True)
    if "given_up_cores" in differ and both["given_up_cores"].any():
        both = _of_the_same_work(both)
        remarks.append(
            "what gives up a core computes less: its times and speed-up are those of as much work as on all cores"
        )
    if of_maps:
        cells = [name for name in CELL if name in both and name in key]
        of_groups = [name for name in key if name not in cells]
        there = [METRICS[name] for name in metrics if name in both]
        names_beside = dict.fromkeys(name for metric in there for name in _needed_by(metric) if name in both)
        others = [one for one in map(METRICS.__getitem__, names_beside) if one not in there]
        both = maps.of_maps(both, both["side"].to_numpy(), of_groups, cells, [*there, *others])
        key = of_groups
    number, names = numbered(with_keys(both), key)
    past, both, number, names = _without_earlier(both, number, names)
    names = names.assign(
        placement=placements(names),
        **{name: usual for name, usual in USUAL_VALUES.items() if name not in names and name not in differ},
    )
    present = np.zeros((len(names), 2), dtype=bool)
    present[number, both["side"].to_numpy()] = True
    matched: NDArray[np.bool_] = np.logical_and(present[:, 0], present[:, 1])
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        beside = RUN if runs[0] == runs[1] and unit == RUN else LAUNCH if runs[0] == runs[1] and LAUNCH in both else ""
        compared = partial(_compared, both, number, names, matched, unit=unit, past=past, apart=apart, beside=beside)
        measured = [METRICS[name] for name in metrics if _is_measured(both, name)] or [METRICS[metrics[0]]]
        parts, learnt = zip(*pool.map(compared, measured), strict=True)
    rows = pd.concat(parts, ignore_index=True)
    remarks = [*_learnt_words(rows, unit, apart, learnt), *_at_equal_words(rows), *remarks]
    if STEP in names:
        which = f"all libraries that have it, if more than {FEWEST_STEPS} do"
        remarks.append(f"how much launches of a case differ is told by {which}")
    rows["q_value"] = effects.false_discovery_adjusted(rows["p_value"].to_numpy(np.float64))
    rows = _judged(rows, limits)
    only_a, only_b = (names[present[:, side] & ~present[:, 1 - side]].reset_index(drop=True) for side in (0, 1))
    shown = rows.reindex(columns=[*(name for name in ROW if name not in differ), *([STEP] if STEP in rows else [])])
    return Comparison(shown, only_a, only_b, limits, unit, tuple(remarks), (_runs_of(a), _runs_of(b)), of_maps)


def _without_earlier(
    both: pd.DataFrame, number: effects.Integers, names: pd.DataFrame
) -> tuple[Earlier | None, pd.DataFrame, effects.Integers, pd.DataFrame]:
    """What earlier launches tell, and the others, which stand before them: their table, cases and names of cases."""
    old = both["side"].to_numpy() == EARLIER
    if not old.any():
        return None, both, number, names
    family, _ = numbered(names, [name for name in FAMILY if name in names])
    past = Earlier(both[old], number[old], family, tuple(name for name in KEY if name in both))
    return past, both[~old], number[~old], names.iloc[: int(number[~old].max(initial=-1)) + 1]


def _learnt_words(rows: pd.DataFrame, unit: str, apart: bool, learnt: Sequence[tuple[int, int]]) -> list[str]:
    """Whether intervals contain how much runs differ, and what is learnt from earlier runs.

    learnt: of each metric in how many cases, from how many runs.
    """
    cases, runs = sum(cases for cases, _ in learnt), max((runs for _, runs in learnt), default=0)
    if not cases:
        without = (
            "each side is one run, and how much runs differ from each other is in no interval: measure both sides in "
            "one run, or name several runs"
        )
        return [without] * apart
    what = f"{PLURAL[RUN if apart else unit]} differ is learnt from {runs} earlier runs of this system"
    others = ", and in no interval of the others" * (apart and cases < len(rows))
    return [f"how much {what}, in {cases} of {plural(len(rows), 'comparison')}{others}"]


def _at_equal_words(rows: pd.DataFrame) -> list[str]:
    """Which metrics are compared at an equal value of their covariate, and how often."""
    counts = rows[rows["at_equal"] != ""].value_counts(["metric", "at_equal"], sort=False).reset_index()
    return [
        f"{METRICS[name].title} in basic is compared at equal {METRICS[other].title}, which tells how fast the cores "
        f"were in each launch: in {plural(count, 'comparison')}"
        for name, other, count in counts.itertuples(index=False, name=None)
    ]


def _needed_by(metric: Metric) -> list[str]:
    """The names of the other metrics that a metric is compared with the help of."""
    names = (metric.condition.name if metric.condition is not None else "", metric.covariate)
    return [name for name in names if name]


def _runs_of(side: pd.DataFrame) -> tuple[str, ...]:
    named = side[["system", "run"]].drop_duplicates()
    return tuple(sorted(f"{system}/{run}" for system, run in named.itertuples(index=False, name=None)))


def over_all(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons, with the false-discovery rate controlled over all of them together."""
    p_values = [comparison.rows["p_value"].to_numpy(np.float64) for comparison in comparisons]
    ends = np.cumsum([values.size for values in p_values])
    adjusted = np.split(effects.false_discovery_adjusted(np.concatenate(p_values)), ends[:-1])
    return [
        replace(one, rows=_judged(one.rows.assign(q_value=q_values), one.limits))
        for one, q_values in zip(comparisons, adjusted, strict=True)
    ]


def confirmed(first: Comparison, second: Comparison, run: str) -> Comparison:
    """A comparison in which nothing is called slower that measuring it again refutes.

    It is refuted where it is the same or faster the second time, and where the second time cannot tell, or differs
    slightly, but has its whole interval of the effect on the better side of the first one. Any other slowdown stays.
    second: the comparison of side A, or of its library measured again, with what was measured again.  run: its name.
    """
    key = [name for name in (*KEY, "metric") if name in first.rows and name in second.rows]
    told = ["verdict", "effect_ci95_low", "effect_ci95_high"]
    again = first.rows[key].merge(second.rows[[*key, *told]].drop_duplicates(key), how="left", on=key)
    verdict = again["verdict"].to_numpy(object)
    rows = first.rows
    apart = np.where(
        _larger_is_better(rows),
        again["effect_ci95_low"].to_numpy(np.float64) > rows["effect_ci95_high"].to_numpy(np.float64),
        again["effect_ci95_high"].to_numpy(np.float64) < rows["effect_ci95_low"].to_numpy(np.float64),
    )
    slower, untold = rows["verdict"].to_numpy() == SLOWER, np.isin(verdict, [UNKNOWN, SLIGHT])
    refuted = slower & (np.isin(verdict, [SAME, FASTER]) | (untold & apart))
    what = np.where(untold, "nearer to A than the interval says", verdict)
    reason = [f"not confirmed: measured again in {run}, it was {one}" for one in what]
    rows = rows.assign(
        verdict=np.where(refuted, UNKNOWN, rows["verdict"]), reason=np.where(refuted, reason, rows["reason"])
    )
    counts = (int((slower & (verdict == SLOWER)).sum()), int(refuted.sum()), int(slower.sum()))
    remark = "measured again in {}: of {} slower, {} confirmed, {} not confirmed".format(run, counts[2], *counts[:2])
    return replace(first, rows=rows, remarks=(remark, *first.remarks))


def _of_the_same_work(both: pd.DataFrame) -> pd.DataFrame:
    """The table with times and speed-up scaled to the work of all cores of a rank's share.

    Work is the same per thread: a rank that gives up a core does less in total. `threads_per_rank` becomes the number
    of all cores of the share.
    """
    work = work_share(both["threads_per_rank"], both["given_up_cores"])
    scales = {"time": 1 / work, "rate": work}
    scaled = [metric for metric in METRICS.values() if metric.with_work in scales and metric.name in both]
    table: pd.DataFrame = both.assign(
        threads_per_rank=both["threads_per_rank"] + both["given_up_cores"],
        **{one.name: both[one.name] * scales[one.with_work] for one in scaled},
    )
    return table


def placements(cases: pd.DataFrame) -> pd.Series[str]:
    """Each row's placement in words: the axes of PLACEMENT in which rows differ, and whether it is oversubscribed."""
    varying = [axis for axis in PLACEMENT if axis.name in cases and cases[axis.name].nunique(dropna=False) > 1]
    number, first = numbered(cases, [*(one.name for one in varying), "oversubscribed"])

    def placement_words(row: Mapping[Hashable, Any]) -> str:
        parts = [axis.words(row[axis.name]) for axis in varying if axis != GIVEN_UP or row[axis.name]]
        return ", ".join(parts + ["oversubscribed"] * bool(row["oversubscribed"]))

    words = np.array([placement_words(row) for row in first.to_dict("records")], dtype=object)
    by_row: pd.Series[str] = pd.Series(words[number], index=cases.index, dtype=object)
    return by_row


def group_columns(table: pd.DataFrame) -> list[str]:
    """The columns of a table that name a map."""
    return [name for name in (*GROUP, STEP) if name in table]


def _compared(
    both: pd.DataFrame,
    number: effects.Integers,
    names: pd.DataFrame,
    matched: NDArray[np.bool_],
    metric: Metric,
    *,
    unit: str,
    past: Earlier | None,
    apart: bool,
    beside: str,
) -> tuple[pd.DataFrame, tuple[int, int]]:
    """One metric in every case that has it on both sides, without a verdict; in how many cases the interval rests on
    earlier runs, and on how many of these.

    apart: whether each side is one run, another one.  beside: the column that says which units of the two sides were
    measured beside each other; empty where none were.
    """
    value = both.get(metric.name, pd.Series(np.nan, both.index)).to_numpy(np.float64)
    side = both["side"].to_numpy()
    finite, of_map = np.isfinite(value), both.get(f"{metric.name}{maps.MEASURED}")
    measured = matched[number] & (finite if of_map is None else of_map.to_numpy(bool))
    counting = measured & finite & both[metric.state].to_numpy(bool)
    without = _on_sides(number, side, counting & ~metric.has_effect(value), len(names))
    other = _in_other_conditions(both, number, counting, metric.condition, len(names))
    chosen = _of_one_size(both, number, counting & ~without[number].any(axis=1) & ~other[number], metric.same)
    have, count, match = (_on_sides(number, side, some, len(names)) for some in (measured, counting, chosen))
    # A time that only one side has gets a row, with a reason. A ratio may be of one side by intent (against basic).
    cases = np.flatnonzero(have.any(axis=1) if metric.same else have.all(axis=1))
    place = np.full(len(names), -1)
    place[cases] = np.arange(cases.size)
    chosen &= place[number] >= 0
    values = scaled(value[chosen], metric)
    case, sides = place[number[chosen]], side[chosen]
    blocks, _ = numbered(names.iloc[cases], group_columns(names))
    occasion = both[LAUNCH].to_numpy(np.int64)[chosen] if beside == LAUNCH else None
    adjusted = _at_equal(both, chosen, names.iloc[cases], metric, values, case, sides, blocks, occasion)
    follows = np.bincount(case, adjusted != values, cases.size) > 0
    of_runs, least_launches = None, 0
    if unit == RUN or apart:
        of_runs, least_launches = _by_run(case, sides, pd.factorize(both[RUN])[0][chosen], adjusted)
    learnt = past.known(metric, cases, per_run=least_launches) if past is not None else None
    one_block = np.zeros(cases.size, np.int64)
    alike, _ = numbered(names.iloc[cases], [name for name in ALIKE if name in names])
    if unit == RUN and of_runs is not None:
        *_, run = of_runs
        result = effects.effects(*of_runs[:3], cases.size, one_block, learnt, run if beside else None)
    elif STEP in names and occasion is not None:
        result = _of_steps(names.iloc[cases], alike, blocks, case, sides, (values, adjusted), occasion)
    else:
        result = effects.effects(case, sides, adjusted, cases.size, blocks, None if apart else learnt, occasion, alike)
    few = result.launches.sum(axis=1) < effects.FEWEST_LAUNCHES
    rests = np.isfinite(result.p_value) & few
    if apart and learnt is not None and of_runs is not None:
        by_run = effects.effects(*of_runs[:3], cases.size, one_block, learnt)
        rests = np.isfinite(by_run.p_value) & few
        of_run = {name: getattr(by_run, name) for name in ("effect", "low", "high", "p_value")}
        result = replace(result, **{name: np.where(rests, one, getattr(result, name)) for name, one in of_run.items()})
    unscaled = np.exp if metric.ratio else np.asarray
    directed = metric.has_direction(result.centres).all(axis=1)
    told = np.isfinite(result.p_value) & directed
    least = f"{effects.FEWEST_LAUNCHES} of both sides together are the least{' (--repeat 3)' * (unit == LAUNCH)}"
    none = f"no {metric.state} launch of {{}}"
    if of_map is not None:
        none = f"no launch of {{}} has half of the map's points {metric.state} and of the same sizes on both sides"
    reason = np.select(
        [
            told, ~count[cases, 0], ~count[cases, 1], without[cases, 0], without[cases, 1],
            other[cases], ~match[cases].all(axis=1), few, ~directed,
        ],
        [
            "", none.format("A"), none.format("B"),
            "a launch of A is not above 0: no ratio", "a launch of B is not above 0: no ratio",
            metric.condition.words if metric.condition is not None else "", _other_sizes(metric),
            f"too few {PLURAL[unit]}: {least}", f"below 0 on a side: {metric.below_0}",
        ],
        f"the {PLURAL[unit]} agree to the last digit: how much they differ is not known",
    )  # fmt: skip
    table: pd.DataFrame = names.iloc[cases].assign(
        metric=metric.name,
        launches_a=result.launches[:, 0],
        launches_b=result.launches[:, 1],
        value_a=unscaled(result.centres[:, 0]),
        value_b=unscaled(result.centres[:, 1]),
        **{
            f"value_{side}_ci95_{end}": unscaled(result.centres[:, place] + sign * result.reaches[:, place])
            for place, side in enumerate("ab")
            for end, sign in (("low", -1), ("high", 1))
        },
        effect=unscaled(result.effect),
        effect_ci95_low=unscaled(result.low),
        effect_ci95_high=unscaled(result.high),
        p_value=np.where(directed, result.p_value, np.nan),
        reason=reason,
        at_equal=np.where(follows & told, metric.covariate, ""),
    )
    return table, (int(rests.sum()), learnt.runs) if past is not None and learnt is not None else (0, 0)


def step_of(before: str, after: str) -> str:
    """The value of STEP of a pair of sides."""
    return f"{before}{_TO}{after}"


def _of_steps(
    names: pd.DataFrame,
    alike: effects.Integers,
    blocks: effects.Integers,
    case: effects.Integers,
    side: effects.Integers,
    values: tuple[Floats, Floats],
    occasion: effects.Integers,
) -> effects.Effects:
    """The effects of steps; of those that are few in a case, as of any cases.

    names, alike, blocks: of each step.  case, side, occasion: of each launch.  values: of each as they are, and at
    equal values of a covariate. A step in which these are the same is judged by launches as they are.
    """
    same, _ = numbered(names, [name for name in KEY if name in names])
    sides = np.array([step.split(_TO) for step in names[STEP]], dtype=str).reshape(-1, 2)
    libraries = np.unique(sides, return_inverse=True)[1].reshape(sides.shape)

    def of_values(value: Floats) -> effects.Effects:
        return effects_of_steps(case, side, value, occasion, libraries, same, alike)

    found, follows = of_values(values[0]), np.bincount(case, values[0] != values[1], len(names)) > 0
    if follows.any():
        found = effects.either(follows, of_values(values[1]), found)
    enough = np.bincount(same)[same] >= FEWEST_STEPS
    if enough.all():
        return found
    others = effects.effects(case, side, values[1], len(names), blocks, None, occasion, alike)
    return effects.either(enough, found, others)


def of_each_step(comparison: Comparison, steps: Iterable[str]) -> dict[str, Comparison]:
    """The comparison of each of these steps, of one that has a column STEP; empty where a step has no case."""
    tables = {name: getattr(comparison, name) for name in ("rows", "only_a", "only_b")}
    return {
        step: replace(comparison, **{
            name: table[table[STEP] == step].drop(columns=STEP).reset_index(drop=True)
            for name, table in tables.items()
        })
        for step in steps
    }  # fmt: skip


def _is_measured(both: pd.DataFrame, metric: str) -> bool:
    """Whether a launch, or a map, has a metric. Most of all metrics are of other families."""
    of_map = both.get(f"{metric}{maps.MEASURED}")
    return bool(metric in both and (both[metric].notna() if of_map is None else of_map.astype(bool)).any())


def _at_equal(
    both: pd.DataFrame,
    chosen: NDArray[np.bool_],
    names: pd.DataFrame,
    metric: Metric,
    values: Floats,
    case: effects.Integers,
    side: effects.Integers,
    blocks: effects.Integers,
    occasion: effects.Integers | None,
) -> Floats:
    """The scaled values of the chosen launches; of those in `basic` at an equal value of the metric's covariate, where
    the sides were measured beside each other.  names, blocks: of the cases."""
    if occasion is None or metric.covariate not in both or "configuration" not in names:
        return values
    of_basic = (names["configuration"] == "basic").to_numpy()[case]
    speed = scaled(both[metric.covariate].to_numpy(np.float64)[chosen], METRICS[metric.covariate])
    adjusted: Floats = values.copy()
    pair = numbered(names, [STEP])[0][case] if STEP in names else np.zeros_like(case)
    given = (values, speed, case, side, blocks[case], occasion, pair)
    adjusted[of_basic] = covariate.at_equal(*(one[of_basic] for one in given))
    return adjusted


def _by_run(
    case: effects.Integers, side: effects.Integers, run: effects.Integers, value: Floats
) -> tuple[tuple[effects.Integers, effects.Integers, Floats, effects.Integers], int]:
    """One value per case, side and run: the median of its launches, and the run; and the least number of launches."""
    group = (2 * case + side) * (int(run.max(initial=0)) + 1) + run
    launches = np.bincount(group)
    if launches.max(initial=0) <= 1:  # one launch per run: there is no median to take
        return (case, side, value, run), 1
    table = pd.DataFrame({"case": case, "side": side, "run": run, "value": value})
    medians = table.groupby(["case", "side", "run"], sort=False, observed=True)["value"].median().reset_index()
    cases, sides, runs = (medians[name].to_numpy(np.int64) for name in ("case", "side", "run"))
    return (cases, sides, medians["value"].to_numpy(np.float64), runs), int(launches[launches > 0].min())


def _on_sides(
    number: effects.Integers, side: effects.Integers, some: NDArray[np.bool_], cases: int
) -> NDArray[np.bool_]:
    """Whether each case has a launch on each side, of those that `some` marks: shape (cases, 2)."""
    present = np.zeros((cases, 2), dtype=bool)
    present[number[some], side[some]] = True
    return present


def _in_other_conditions(
    both: pd.DataFrame, number: effects.Integers, counting: NDArray[np.bool_], condition: Condition | None, cases: int
) -> NDArray[np.bool_]:
    """Whether the launches of a case that count met other conditions on one side than on the other: by case."""
    if condition is None or condition.name not in both:
        return np.zeros(cases, dtype=bool)
    value = both[condition.name].to_numpy(np.float64)
    known = counting & METRICS[condition.name].has_effect(value)
    table = pd.DataFrame({"case": number[known], "side": both["side"].to_numpy()[known], "value": value[known]})
    medians = table.groupby(["case", "side"])["value"].median().unstack()
    sides = medians.reindex(index=range(cases), columns=[0, 1]).to_numpy(np.float64)
    differ: NDArray[np.bool_] = sides.max(axis=1) > condition.factor * sides.min(axis=1)  # False where one is not known
    return differ


def _of_one_size(
    both: pd.DataFrame, number: effects.Integers, counting: NDArray[np.bool_], same: Sequence[str]
) -> NDArray[np.bool_]:
    """Which of the counting launches are compared: one size per case, that with most launches on the poorer side."""
    if not same or not counting.any():
        return counting
    some = both.loc[counting, list(same)].assign(number=number[counting], side=both["side"].to_numpy()[counting])
    sizes, _ = numbered(some, ["number", *same])
    launches = np.bincount(2 * sizes + some["side"].to_numpy(), minlength=2 * (sizes.max() + 1)).reshape(-1, 2)
    ranked = np.lexsort((launches.sum(axis=1), launches.min(axis=1)))  # the best last
    rank = np.empty(ranked.size, dtype=np.int64)
    rank[ranked] = np.arange(ranked.size)
    best = np.full(int(number.max()) + 1, -1, dtype=np.int64)
    np.maximum.at(best, some["number"].to_numpy(), rank[sizes])
    chosen = np.zeros_like(counting)
    chosen[counting] = (rank[sizes] == best[some["number"].to_numpy()]) & (launches[sizes].min(axis=1) > 0)
    return chosen


def _other_sizes(metric: Metric) -> str:
    what = " or ".join(axis.title for axis in SIZES if axis.name in metric.same)
    return f"A and B have {what} of other sizes: each was calibrated by itself"


def are_ratios(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether the effect of each row is a ratio."""
    return rows["metric"].map({name: one.ratio for name, one in METRICS.items()}).to_numpy(bool)


def least_differences(rows: pd.DataFrame, limits: Limits) -> Floats:
    """The least difference that matters of each row's metric."""
    least = {name: one.least_difference(limits) for name, one in METRICS.items()}
    return rows["metric"].map(least).to_numpy(np.float64)


def _larger_is_better(rows: pd.DataFrame) -> NDArray[np.bool_]:
    """Whether a larger value is better, of each row's metric."""
    return rows["metric"].map({name: one.better == "larger" for name, one in METRICS.items()}).to_numpy(bool)


def _judged(rows: pd.DataFrame, limits: Limits) -> pd.DataFrame:
    """The rows with a column `verdict`.

    A case differs where its q-value is at most the false-discovery rate: slightly, where its effect is too small to
    matter. A case is the same where its whole interval is. A case with a reason why not has no verdict.
    """
    ratio, least = are_ratios(rows), least_differences(rows, limits)
    more = np.where(ratio, 1 + limits.least_ratio, least)
    less = np.where(ratio, 1 / (1 + limits.least_ratio), -least)
    effect, low, high = (rows[name].to_numpy(np.float64) for name in ("effect", "effect_ci95_low", "effect_ci95_high"))
    significant = rows["q_value"].to_numpy(np.float64) <= limits.rate
    up, down = significant & (effect >= more), significant & (effect <= less)
    worse, better = np.where(_larger_is_better(rows), [down, up], [up, down])
    verdict = np.select(
        [rows["reason"].to_numpy(str) != "", worse, better, (low >= less) & (high <= more), significant],
        [UNKNOWN, SLOWER, FASTER, SAME, SLIGHT],
        UNKNOWN,
    )
    table: pd.DataFrame = rows.assign(verdict=verdict)
    return table
