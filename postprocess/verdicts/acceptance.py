"""Acceptance: what a machine must do, written in YAML, held against runs. PASS, FAIL or NOT TESTED, with evidence.

    title: Acceptance of the new cluster
    criteria:
      - name: a dedicated core hides a broadcast
        metric: r_overhead
        where: {configuration: dedicated, collective: ibcast, nodes: 64}
        points: diagonal
        take: median
        at_most: 0.2
      - name: no node is more than 5 % slower than the median
        metric: t_comp_ref_ns
        by: host
        hosts: 64
        at_most: 1.05

A criterion passes only if the whole 95 % interval lies on the right side of its bound, and fails only if the whole
interval lies on the wrong side. Where the interval holds the bound, the criterion is NOT TESTED: longer measurements
decide. A criterion for which no point that counts was measured is NOT TESTED too.
"""

from __future__ import annotations

import itertools
import json
import math
import statistics
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from numpy.typing import NDArray

from postprocess.drawing.columns import made_once
from postprocess.drawing.text import clean, plural
from postprocess.families import axes, registry
from postprocess.families.family import Family, RankTimes
from postprocess.families.sampled_table import names_of_estimates, sound
from postprocess.records.fields import Json
from postprocess.records.header import kind_of
from postprocess.records.host_limits import starved_words
from postprocess.records.run import cases_of, is_as_asked
from postprocess.statistics.launches import over_launches
from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.metrics import Floats, median_estimate

PASS, FAIL, NOT_TESTED = "PASS", "FAIL", "NOT TESTED"

TAKE: Mapping[str, Callable[[Floats], float]] = {
    "median": lambda values: float(np.median(values)),
    "mean": lambda values: float(np.mean(values)),
    "min": lambda values: float(np.min(values)),
    "max": lambda values: float(np.max(values)),
}
EXTREMES = ("min", "max")
"""The statistics that need all points: a point that is not known may be the one that decides."""
POINTS = ("all", "diagonal")


def _having(metric: str) -> tuple[Family, ...]:
    return tuple(
        family
        for family in registry.FAMILIES
        if family.metrics
        and metric in family.columns
        and (f"{metric}_ci95_low" in family.columns or metric in family.acceptance.counted)
    )


FAMILIES_OF: Mapping[str, tuple[Family, ...]] = {
    name: having for family in registry.FAMILIES for name in family.columns if (having := _having(name))
}
"""The families by the name of a metric. Metrics without an interval are left out, unless they are counted: nothing can
pass by them."""
BY_NODE: Mapping[str, Family] = {
    name: family
    for family in registry.FAMILIES
    if (times := family.acceptance.by_node) is not None
    for name in times.metrics
}
"""The family by the name of a metric by which nodes are compared with each other."""
NUMBERS = tuple(axis.name for axis in registry.AXES if axis.kind == "integer" and axis.of != "launch")
FRACTIONS = tuple(axis.name for axis in registry.AXES if axis.kind == "number" and axis.of != "launch")
"""The axes whose values are whole numbers, and those whose values may be other numbers too."""
NOT_BY_NODE = ("system", "given_up_cores", "node_set")
"""Axes that the header of a record does not have by these names."""


class CriteriaError(ValueError):
    """An acceptance document is wrong; the message is one line that names the criterion."""


@dataclass(frozen=True)
class Criterion:
    """One criterion of an acceptance document. Bounds are inclusive, and None where there is none.

    family: whose metric it is.  where: column -> the values that it may have.  by_host: whether nodes are compared.
    hosts: how many nodes there must be then, or their names.  over: what the value is divided by, launch by launch;
    None where it stands for itself.
    """

    name: str
    metric: str
    family: Family
    where: Mapping[str, tuple[Any, ...]]
    points: str
    take: str
    by_host: bool
    at_most: float | None
    at_least: float | None
    hosts: int | tuple[str, ...] = ()
    over: Criterion | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """The lower and the upper bound, infinite where there is none."""
        return -math.inf if self.at_least is None else self.at_least, math.inf if self.at_most is None else self.at_most

    @property
    def asked(self) -> str:
        """The value and its bounds, for people: `median r_overhead at most 0.2`."""
        what = f"{self.metric} of each node over the median node" if self.by_host else f"{self.take} {self.metric}"
        bounds = [f"at most {self.at_most:g}"] if self.at_most is not None else []
        bounds += [f"at least {self.at_least:g}"] if self.at_least is not None else []
        return f"{what}{self._over_words} {' and '.join(bounds)}"

    @property
    def _over_words(self) -> str:
        """What the value is divided by: ` over that with approach many`, ` over L_ns`."""
        if self.over is None:
            return ""
        other = {key: values for key, values in self.over.where.items() if self.where.get(key) != values}
        conditions = " and ".join(f"{key} {' or '.join(map(str, values))}" for key, values in other.items())
        metric = "that" if self.over.metric == self.metric else self.over.metric
        return f" over {metric}{f' with {conditions}' if conditions else ''}"

    @property
    def words(self) -> str:
        """What the criterion asks, and of which cases."""
        conditions = (f"{key} {' or '.join(map(str, values))}" for key, values in self.where.items())
        cases = ", ".join(conditions) or "all cases"
        nodes = self.hosts if isinstance(self.hosts, int) else len(self.hosts)
        of_nodes = f", {nodes} nodes" if nodes else ""
        return f"{self.asked}: {cases}{', on the diagonal' * (self.points == 'diagonal')}{of_nodes}"


@dataclass(frozen=True)
class Criteria:
    """An acceptance document."""

    title: str
    criteria: tuple[Criterion, ...]


@dataclass(frozen=True)
class Result:
    """The result of a criterion: a value with its interval, NaN where there is none, and the evidence, a line each.

    measured: whether anything of the kind was.
    """

    criterion: Criterion
    verdict: str
    value: float
    low: float
    high: float
    evidence: tuple[str, ...]
    measured: bool = True

    def as_json(self) -> Json:
        """For programs."""
        return {
            "name": self.criterion.name,
            "asks": self.criterion.words,
            "verdict": self.verdict,
            "value": finite(self.value),
            "ci95": [finite(self.low), finite(self.high)],
            "evidence": list(self.evidence),
        }


def finite(value: float) -> float | None:
    """The number for JSON; None where it is not finite."""
    return value if math.isfinite(value) else None


def twice_in(names: Sequence[str]) -> str | None:
    """A name that is there more than once."""
    return next((name for name in names if names.count(name) > 1), None)


_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The first is ten times as fast; some builds of PyYAML lack it."""


class UniqueKeys(_SafeLoader):  # type: ignore[misc]
    """A loader that refuses a key that is there twice, as YAML does. PyYAML itself takes the last one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        twice = twice_in([key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode)])
        if twice is not None:
            raise yaml.constructor.ConstructorError(None, None, f"'{twice}' is there twice", node.start_mark)
        return dict(super().construct_mapping(node, deep))


def read_criteria(path: Path) -> Criteria:
    """Read an acceptance document. Raises CriteriaError where it is wrong, OSError where it cannot be read."""
    try:
        document = yaml.load(path.read_text(encoding="utf-8"), Loader=UniqueKeys)
        # Raises for half a surrogate pair.
        json.dumps(document, ensure_ascii=False, default=str, skipkeys=True).encode("utf-8")
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise CriteriaError(f"{path.name} is no YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(document, dict) or not isinstance(document.get("criteria"), list) or not document["criteria"]:
        raise CriteriaError(f"{path.name} has no list 'criteria': see docs/acceptance.md")
    if extra := set(document) - {"title", "criteria"}:
        raise CriteriaError(f"{path.name}: '{clean(extra.pop())}' is unknown; there are: title, criteria")
    criteria = tuple(criterion_of(one, number) for number, one in enumerate(document["criteria"], 1))
    twice = twice_in([criterion.name for criterion in criteria])
    if twice is not None:
        raise CriteriaError(f"{path.name}: two criteria are named '{clean(twice)}'")
    return Criteria(str(document.get("title") or path.stem), criteria)


_KEYS = ("name", "metric", "where", "points", "take", "over", "by", "hosts", "at_most", "at_least")


def criterion_of(given: Any, number: int) -> Criterion:
    """A criterion, the `number`th, from what YAML has of it. Raises CriteriaError."""
    if not isinstance(given, dict):
        raise CriteriaError(f"criterion {number} is no list of names and values")
    name = clean(given.get("name") or f"criterion {number}")

    def refuse(what: str) -> CriteriaError:
        return CriteriaError(f"'{name}': {what}")

    unknown = next((key for key in given if key not in _KEYS), None)
    if unknown is not None:
        raise refuse(f"'{clean(unknown)}' is unknown; there are: {', '.join(_KEYS)}")
    by = given.get("by")
    if by not in (None, "host"):
        raise refuse(f"by '{clean(by)}': only host")
    if by and "take" in given:
        raise refuse("take is not for by: host, where the worst node decides: leave it out")
    legal = tuple(BY_NODE if by else FAMILIES_OF)
    metric, points, take = given.get("metric"), given.get("points", "all"), given.get("take", "median")
    for what, value, words in (("metric", metric, legal), ("points", points, POINTS), ("take", take, tuple(TAKE))):
        if value not in words:
            raise refuse(f"{what} '{clean(value)}': one of {', '.join(words)}")
    family = BY_NODE[str(metric)] if by else _family_of(str(metric), given, refuse)
    names = where_by_node(family) if by else where_of(family)
    where, (most, least) = _conditions(given, names, refuse), _bounds(given, refuse)
    named = str(given.get("name") or f"criterion {number}")
    hosts, over = _hosts(given, refuse), _over(given, family, refuse)
    return Criterion(named, str(metric), family, where, str(points), str(take), by == "host", most, least, hosts, over)


def _over(given: Mapping[str, Any], family: Family, refuse: Callable[[str], CriteriaError]) -> Criterion | None:
    """What the value of a criterion is divided by: `over` has what differs there, conditions of `where` or `metric`.
    Raises CriteriaError."""
    differs = given.get("over")
    if differs is None:
        return None
    if not isinstance(differs, dict) or not differs:
        raise refuse("over takes metric and conditions as of where: what differs in what the value is divided by")
    if given.get("by") or given.get("take", "median") in EXTREMES:
        raise refuse("over is for medians and means, not for nodes")
    where = {**(given.get("where") or {}), **{key: value for key, value in differs.items() if key != "metric"}}
    metric = differs.get("metric", given["metric"])
    same = {key: value for key, value in given.items() if key not in ("over", "at_most", "at_least")}
    if family not in FAMILIES_OF.get(str(metric), ()):
        raise refuse(f"over: {family.title} has no metric '{clean(metric)}'")
    return criterion_of({**same, "metric": metric, "where": where, "at_least": 0}, 1)


def _family_of(metric: str, given: Mapping[str, Any], refuse: Callable[[str], CriteriaError]) -> Family:
    """The family whose metric it is: of several, the one that the condition `benchmark` names, or the main one."""
    having = FAMILIES_OF[metric]
    where = given.get("where")
    asked = where.get(axes.BENCHMARK.name) if isinstance(where, dict) else None
    if len(having) == 1 or (asked is None and registry.MAIN in having):
        return having[0] if len(having) == 1 else registry.MAIN
    benchmarks = asked if isinstance(asked, list) else [asked]
    named = [family for family in having if any(mark in family.benchmarks for mark in benchmarks)]
    if len(named) != 1:
        legal = ", ".join(name for family in having for name in family.benchmarks)
        raise refuse(f"several benchmarks have {metric}: choose one by where: {{benchmark: …}}, of {legal}")
    return named[0]


def where_of(family: Family) -> tuple[str, ...]:
    """The columns by which cases of a family can be chosen: its axes, and the benchmark."""
    own = {axes.BENCHMARK.name, *(one.name for one in family.axes if one.of != "launch")}
    return tuple(axis.name for axis in registry.AXES if axis.name in own)


def where_by_node(family: Family) -> tuple[str, ...]:
    """The axes by which cases of a family can be chosen where nodes are compared at each point."""
    by_node = family.acceptance.by_node
    also = by_node.axes if by_node is not None else ()
    points = {axis.name for axis in family.axes if axis.of == "point" and axis.name not in also}
    return tuple(name for name in where_of(family) if name not in points and name not in NOT_BY_NODE)


def _conditions(
    given: Mapping[str, Any], names: Sequence[str], refuse: Callable[[str], CriteriaError]
) -> dict[str, tuple[Any, ...]]:
    """The cases that a criterion is about: column -> the values that it may have. Raises CriteriaError."""
    where = given.get("where") or {}
    if not isinstance(where, dict):
        raise refuse(f"where takes {', '.join(names)}, each with a value or a list of values")
    foreign = next((key for key in where if key not in names), None)
    if foreign is not None:
        raise refuse(f"where: '{clean(foreign)}' is unknown; where takes {', '.join(names)}")
    conditions = {key: tuple(value) if isinstance(value, list) else (value,) for key, value in where.items()}
    for key, values in conditions.items():
        kinds: tuple[type, ...] = (int,) if key in NUMBERS else (int, float) if key in FRACTIONS else (str,)
        if not values or any(type(value) not in kinds for value in values):
            numbers = "whole numbers, such as 1000000" if key in NUMBERS else "numbers, such as 2.5"
            what = numbers if int in kinds else "words"
            raise refuse(f"where: {key} '{clean(where[key])}': it takes {what}")
    return conditions


def _bounds(given: Mapping[str, Any], refuse: Callable[[str], CriteriaError]) -> tuple[float | None, float | None]:
    """The upper and the lower bound, None where there is none. Raises CriteriaError."""
    most, least = given.get("at_most"), given.get("at_least")
    if most is None and least is None:
        raise refuse("it has neither at_most nor at_least")
    for bound in (most, least):
        if bound is not None and not _is_number(bound):
            raise refuse(f"'{clean(bound)}' is no bound: give a number")
    if most is not None and least is not None and least > most:
        raise refuse(f"at_least {least} is above at_most {most}: nothing can meet both")
    return most, least


def _hosts(given: Mapping[str, Any], refuse: Callable[[str], CriteriaError]) -> int | tuple[str, ...]:
    """How many nodes there must be, or their names; () where the criterion does not say. Raises CriteriaError."""
    hosts = given.get("hosts", ())
    if hosts != () and given.get("by") != "host":
        raise refuse("hosts is for by: host: leave it out")
    if type(hosts) is int and hosts >= 2:
        return hosts
    if isinstance(hosts, list | tuple) and all(isinstance(host, str) for host in hosts):
        return tuple(hosts)
    raise refuse(f"hosts '{clean(hosts)}': how many nodes there must be, from 2, or a list of their names")


def _is_number(value: Any) -> bool:
    try:
        return type(value) in (int, float) and math.isfinite(float(value))
    except OverflowError:
        return False


def troubles_of(manifest: Json) -> list[Json]:
    """The cases of a run that failed, are missing, or were stopped by a CPU limit. A case that missed a reference does
    not count."""
    judged = [case for case in cases_of(manifest) if case.get("result") != "skip"]
    stopped = [
        {**case, "result": "not measured on whole cores", "reason": why}
        for case in judged
        if is_as_asked(case) and (why := starved_words(manifest, case))
    ]
    return [case for case in judged if not is_as_asked(case)] + stopped


def judge(
    criteria: Criteria, tables: Mapping[str, pd.DataFrame], records: Sequence[Any], troubles: Sequence[Json] = ()
) -> tuple[Result, ...]:
    """Judge runs by the criteria.

    tables: those of the runs by the name of the family.  records: those whose nodes are compared.  troubles: the cases
    of the manifests that failed or are missing; a criterion that asks for one of them is not tested.
    """
    return tuple(_judged(criterion, tables, records, troubles) for criterion in criteria.criteria)


def _judged(
    one: Criterion, tables: Mapping[str, pd.DataFrame], records: Sequence[Any], troubles: Sequence[Json]
) -> Result:
    if (troubled := _troubled(one, troubles)) is not None:
        return troubled
    if one.by_host:
        return _by_host(one, records)
    found = _counted(one, tables)
    if isinstance(found, Result):
        return found
    rows, evidence = found
    value, low, high = _taken(one, rows)
    below_0 = next((metric.below_0 for metric in one.family.metrics if metric.name == one.metric), "")
    if below_0 and value < 0:
        return Result(one, NOT_TESTED, value, low, high, (f"below 0: {below_0}", *evidence))
    if one.over is None:
        return _result(one, value, low, high, evidence)
    below = _troubled(one.over, troubles) or _counted(one.over, tables)
    if isinstance(below, Result):
        return replace(_not_tested(one, f"what it is divided by: {below.evidence[0]}"), measured=below.measured)
    others, evidence_below = below
    value, low, high = _quotient(one, rows, others)
    if math.isnan(value):
        divisor = _taken(one.over, others)[0]
        return _not_tested(one, f"what it is divided by is not surely above 0: {divisor:.3g}")
    return _result(one, value, low, high, [*evidence, f"divided by: {evidence_below[0]}"])


def _troubled(one: Criterion, troubles: Sequence[Json]) -> Result | None:
    """The result of a criterion that asks for a case that failed or is missing; None where it asks for none."""
    trouble = next((case for case in troubles if _asks_for(one, case)), None)
    if trouble is None:
        return None
    return _not_tested(one, f"{trouble.get('case') or 'a case'}: {trouble.get('result')}, {trouble.get('reason')}")


_ALWAYS = (
    "toolchain", "network", "configuration", "collective", "approach", "run", "launch", "repeat", "valid",
    "unreliable_reasons", "oversubscribed", "complete",
)  # fmt: skip
"""Columns that every criterion needs, if a table has them."""


def _needed(one: Criterion, table: pd.DataFrame) -> list[str]:
    """The columns of a table that a criterion needs: fewer columns are cut sooner."""
    names = {*_ALWAYS, *one.where, *names_of_estimates([one.metric]), *(axis.name for axis in one.family.axes)}
    names |= {over.decides for over in one.family.acceptance.over}
    return [name for name in table if name in names]


def _counted(one: Criterion, tables: Mapping[str, pd.DataFrame]) -> Result | tuple[pd.DataFrame, list[str]]:
    """The rows that a criterion is decided by, and the evidence; a result where they are too few."""
    family = one.family
    table = tables[family.name]
    if axes.BENCHMARK.name in one.where and axes.BENCHMARK.name not in table:
        table = table.assign(**{axes.BENCHMARK.name: family.benchmarks[0]})
    if one.points == "diagonal" and "comm_target_ns" in table:
        table = _diagonal(table)
    chosen, lacking = _where(table, one.where, _needed(one, table))
    if chosen.empty:
        return replace(_not_tested(one, f"nothing of the kind was measured{lacking}"), measured=False)
    if chosen["oversubscribed"].any() and one.metric not in family.acceptance.counted:
        return _not_tested(one, "it was measured oversubscribed")
    if "complete" in chosen and not chosen["complete"].all():
        return _not_tested(one, "a record is incomplete")
    if lacking:
        return _not_tested(one, f"not all that it asks for was measured: no {lacking}")
    chosen, without = _kinds_with(chosen, one)
    known = chosen[one.metric].notna()  # infinity means never, and counts
    counting, state = _counting(chosen, one)
    chosen, counting = _each_once(chosen, counting & known, one)
    counted = chosen[counting.to_numpy(bool)]
    if 2 * len(counted) < len(chosen) or (one.take in EXTREMES and len(counted) < len(chosen)):
        needed = "all are needed" if one.take in EXTREMES else "half are needed"
        why = f"only {len(counted)} of {len(chosen)} points are {state}, {needed}{without}"
        every = chosen[chosen[one.metric].notna()]
        if every.empty:
            return _not_tested(one, why)
        return Result(one, NOT_TESTED, *_taken(one, every), (why, "the value is that of all points"))
    launch = _launch_of(counted)
    count = len(set(zip(*(counted[name].tolist() for name in launch), strict=True)))
    launches = f", of {plural(count, 'launch')}," if launch else ""
    evidence = [f"{len(counted)} of {len(chosen)} points{launches} are {state} and count{without}"]
    worst = counted.loc[counted[one.metric].idxmax() if one.at_most is not None else counted[one.metric].idxmin()]
    evidence.append(f"worst point: {worst[one.metric]:.3g}, {_point_words(worst, chosen, family, one.metric)}")
    return counted, evidence


def _launch_of(rows: pd.DataFrame) -> list[str]:
    """The columns that name a launch: its number, and its run where the rows tell it; none where it has no number."""
    number = next((name for name in ("launch", "repeat") if name in rows), "")
    return [name for name in ("run", number) if number and name in rows]


def _taken(one: Criterion, rows: pd.DataFrame) -> tuple[float, float, float]:
    """The value of a criterion over some rows, and its interval.

    A median or mean is made of each launch. From LEAST_LAUNCHES on the interval contains how much these differ; of
    fewer launches, of an extreme, of what is infinite in some launch, and of what has the same value in all launches,
    it is that of the points.
    """
    by_launch = list(_by_launch(one, rows).values())
    if len({value for value, *_ in by_launch}) > 1 and _make_an_interval(by_launch):
        return over_launches(*np.transpose(by_launch)).numbers
    return _estimate(one, rows)


def _make_an_interval(launches: Sequence[tuple[float, float, float]]) -> bool:
    """Whether there are launches enough, and none whose value is infinite: over others it would be left out."""
    return len(launches) >= LEAST_LAUNCHES and all(math.isfinite(value) for value, *_ in launches)


def _estimate(one: Criterion, rows: pd.DataFrame) -> tuple[float, float, float]:
    """The statistic of the values of some rows, and of the ends of their intervals."""
    return _taken_of(one, _values(one, rows))


def _values(one: Criterion, rows: pd.DataFrame) -> Floats:
    """The values of some rows, and the ends of their intervals: (3, rows)."""
    names = (name if name in rows else one.metric for name in names_of_estimates([one.metric]))
    return np.array([rows[name].to_numpy(np.float64) for name in names])


def _taken_of(one: Criterion, values: Floats) -> tuple[float, float, float]:
    value, low, high = map(TAKE[one.take], values)
    return value, low, high


def _by_launch(one: Criterion, rows: pd.DataFrame) -> dict[Hashable, tuple[float, float, float]]:
    """That of each launch; nothing of an extreme, and where launches have no numbers."""
    launch = _launch_of(rows)
    if not launch or one.take in EXTREMES:
        return {}
    places: dict[Hashable, list[int]] = {}
    for place, number in enumerate(zip(*(rows[name].tolist() for name in launch), strict=True)):
        places.setdefault(number, []).append(place)
    columns = _values(one, rows)
    return {number: _taken_of(one, columns[:, its]) for number, its in places.items()}


def _quotient(one: Criterion, rows: pd.DataFrame, others: pd.DataFrame) -> tuple[float, float, float]:
    """The value of a criterion with `over`, and its interval: of launches that both have, as of `_taken`. NaN where a
    divisor is not surely above 0."""
    assert one.over is not None
    above, below = _by_launch(one, rows), _by_launch(one.over, others)
    quotients = [_divided(above[number], below[number]) for number in above if number in below]
    if len(quotients) >= LEAST_LAUNCHES and any(math.isnan(value) for value, *_ in quotients):
        return math.nan, math.nan, math.nan
    if _make_an_interval(quotients):
        return over_launches(*np.transpose(quotients)).numbers
    return _divided(_taken(one, rows), _taken(one.over, others))


def _divided(above: tuple[float, float, float], below: tuple[float, float, float]) -> tuple[float, float, float]:
    """A quotient, and its interval: that of numbers above 0. NaN where the divisor may be 0 or less."""
    if not below[1] > 0:
        return math.nan, math.nan, math.nan
    value, low, high = above
    return value / below[0], low / below[2 if low >= 0 else 1], high / below[1 if high >= 0 else 2]


def _counting(rows: pd.DataFrame, one: Criterion) -> tuple[pd.Series[bool], str]:
    """Whether each row counts, and what it must be for that: sound. A metric that is counted must only be valid."""
    if one.metric in one.family.acceptance.counted:
        return rows["valid"].astype(bool), "valid"
    return sound(rows), "sound"


def _each_once(rows: pd.DataFrame, counting: pd.Series[bool], one: Criterion) -> tuple[pd.DataFrame, pd.Series[bool]]:
    """The rows without copies, and whether each counts.

    A metric over all values of an axis (`Over`) has the same value in the row of each of them. One of these rows is
    kept, with the value of the axis that decides. It counts if all of them count.
    """
    family = one.family
    over = next((over for over in family.acceptance.over if over.metric == one.metric), None)
    if over is None:
        return rows, counting
    others = [axis.name for axis in family.axes if axis.name != over.axis and axis.name in rows]
    number = rows.groupby(others, sort=False, dropna=False).ngroup()
    first = ~number.duplicated()
    named: pd.DataFrame = rows.assign(**{over.axis: rows[over.decides]})
    return named[first], counting.groupby(number).transform("all")[first]


def _kinds_with(rows: pd.DataFrame, one: Criterion) -> tuple[pd.DataFrame, str]:
    """The rows of the kinds that can have the metric, and in words how many rows of other kinds are left out.

    The rows of one launch are of several kinds: different ways of waiting, say, or variants of a kernel. A kind cannot
    have the metric if no row of it has the metric, although some of its rows count: where measuring the metric failed,
    rows do not. All rows stay where `where` names a kind that cannot have the metric.
    """
    has = rows[one.metric].notna()
    cannot = pd.Series(data=False, index=rows.index)
    if has.any() and not has.all():
        counting, _ = _counting(rows, one)
        for axis in one.family.axes:
            if axis.of == "point" and axis.kind == "text":
                kind = rows[axis.name]
                cannot |= ~has.groupby(kind).transform("any") & counting.groupby(kind).transform("any")
    if not cannot.any():
        return rows, ""
    left = rows[~cannot]
    _, lacking = _where(left, one.where, list(left))
    if lacking:
        return rows, ""
    return left, f"; {len(rows) - len(left)} more are of a kind that has no {one.metric}"


def _asks_for(one: Criterion, case: Json) -> bool:
    """Whether a criterion is about a case of a manifest, as far as the manifest tells."""
    family = one.family
    return case.get("benchmark", *registry.MAIN.benchmarks) in family.benchmarks and all(
        _as_asked(one, key, case[key]) in values for key, values in one.where.items() if key in case
    )


def _as_asked(one: Criterion, key: str, value: Any) -> Any:
    """The value of a column as a criterion asks for it: of a network its kind, where it asks for a kind alone."""
    return kind_of(value) if _of_kinds(key, one.where[key]) else value


def _of_kinds(key: str, values: tuple[Any, ...]) -> bool:
    """Whether values that are asked for are kinds of networks alone."""
    return key == axes.NETWORK.name and not any(":" in str(asked) for asked in values)


@made_once
def _diagonal(table: pd.DataFrame) -> pd.DataFrame:
    """The points of a table whose communication and computation have the same target."""
    same: pd.DataFrame = table[table["comm_target_ns"] == table["comp_target_ns"]]
    return same


@made_once
def _numbered(_table: pd.DataFrame) -> dict[str, tuple[NDArray[np.intp], list[Any]]]:
    """By the names of columns that were asked for: the number of each row's value, and the values by number."""
    return {}


def _values_of(table: pd.DataFrame, key: str) -> tuple[NDArray[np.intp], list[Any]]:
    known = _numbered(table)
    if key not in known:
        numbers, values = pd.factorize(table[key], use_na_sentinel=False)
        known[key] = numbers, list(values)
    return known[key]


def _where(
    table: pd.DataFrame, where: Mapping[str, tuple[Any, ...]], columns: Sequence[str]
) -> tuple[pd.DataFrame, str]:
    """The rows that are asked for, with the kinds of their networks where kinds are asked for, and in words what of it
    was not measured; empty where all of it was.

    columns: those of the rows.  Where there are no rows, the words tell what was measured instead.
    """
    asked = np.ones(len(table), dtype=bool)
    kinds = {}
    for key, wanted in where.items():
        if key not in table:
            return table.iloc[:0], ""
        numbers, values = _values_of(table, key)
        if _of_kinds(key, wanted):
            values = [kind_of(value) for value in values]
            kinds[key] = np.array(values, object)[numbers]
        having = asked & np.array([value in wanted for value in values], bool)[numbers]
        if not having.any():
            what = ", ".join(sorted({clean(values[number]) for number in np.unique(numbers[asked])}))
            return table.iloc[:0], f"; {key} is {what} there" if what else ""
        asked = having
    rows = table[list(columns)] if asked.all() else table.loc[asked, list(columns)]
    chosen = rows.assign(**{key: kind[asked] for key, kind in kinds.items()})
    if all(len(values) == 1 for values in where.values()):
        return chosen, ""
    return chosen, _missing(where, zip(*(chosen[key].tolist() for key in where), strict=True))


def _missing(where: Mapping[str, tuple[Any, ...]], combinations: Iterable[tuple[Any, ...]]) -> str:
    """The first combination of values that is asked for and was not measured, in words; empty where all were measured.

    combinations: the values of the columns of `where` that were measured together.
    """
    measured = set(combinations)
    lacking = next((one for one in itertools.product(*where.values()) if where and one not in measured), None)
    if lacking is None:
        return ""
    return ", ".join(f"{key} {clean(value)}" for key, value in zip(where, lacking, strict=True))


def _point_words(row: pd.Series[Any], rows: pd.DataFrame, family: Family, metric: str) -> str:
    """The values that name a row: those of the axes of points, of the main axes of cases, and of those others in which
    the rows differ, or of which one decides (`Over`)."""
    deciding = {over.axis for over in family.acceptance.over if over.metric == metric}
    own = (
        axis.name
        for axis in family.axes
        if axis.of == "point" or axis.name in deciding or (axis.name in rows and _differs(rows[axis.name]))
    )
    names = dict.fromkeys(("toolchain", "network", "configuration", "collective", "approach", *own))
    return ", ".join(f"{name} {row[name]}" for name in names if name in row and row[name] != "")


def _differs(column: pd.Series[Any]) -> bool:
    """Whether known values are not all the same. `nunique` takes longer."""
    values = set(column.tolist())
    return len({value for value in values if not (isinstance(value, float) and math.isnan(value))}) > 1


def _result(one: Criterion, value: float, low: float, high: float, evidence: Iterable[str]) -> Result:
    least, most = one.bounds
    if math.isnan(low) or math.isnan(high) or math.isnan(value):
        return Result(one, NOT_TESTED, value, low, high, (*evidence, "its interval is not known"))
    if low >= least and high <= most:
        return Result(one, PASS, value, low, high, tuple(evidence))
    if high < least or low > most:
        return Result(one, FAIL, value, low, high, tuple(evidence))
    return Result(one, NOT_TESTED, value, low, high, (*evidence, "the interval holds the bound: measure longer"))


def _not_tested(one: Criterion, why: str) -> Result:
    return Result(one, NOT_TESTED, math.nan, math.nan, math.nan, (why,))


def host_ratios(records: Sequence[Any], one: Criterion) -> dict[str, tuple[float, ...]]:
    """The time of each host at each point, over the time of the median host at that point. Empty with one host.

    Hosts are in the order of their names. Of an even number of hosts, the faster of the two in the middle is the median
    host: of two hosts, the slower one is compared with the other, not with their mean.

    Hosts of one record are compared at each of its points. Records of one host each, made on every node in turn, are
    compared where case, point and size are the same. So are records of different sets of hosts, such as pairs, by a
    time that ranks spend waiting for each other: the time of a host is then that of its fastest set, because a slow
    host makes every set slow that it is in. Points with wrong data or too few repetitions do not count.
    """
    ratios: dict[str, list[float]] = defaultdict(list)
    for by_host in _times_of_hosts(records, one):
        middle = statistics.median_low(by_host.values())
        if len(by_host) > 1 and middle > 0:
            for host, time in by_host.items():
                ratios[host].append(time / middle)
    return {host: tuple(of_host) for host, of_host in sorted(ratios.items())}


def _times_of_hosts(records: Sequence[Any], one: Criterion) -> Iterator[dict[str, float]]:
    """The times that can be compared with each other: at one point, a time of each host."""
    by_node = one.family.acceptance.by_node
    waiting = by_node is not None and one.metric in by_node.waiting
    where = where_of(one.family)
    together: dict[Hashable, dict[frozenset[str], list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for record in records:
        hosts: dict[str, list[int]] = defaultdict(list)
        for place in record.header.placement:
            hosts[place.host].append(place.rank)
        case = tuple(str(value) for name in where if (value := _of_whole(record, name)) is not None)
        for point in _rank_times(record, one):
            if _counts(one, point) and len(point.by_rank) == record.header.ranks:
                every = {host: max(point.by_rank[rank] for rank in ranks) for host, ranks in hosts.items()}
                slowest = {host: time for host, time in every.items() if math.isfinite(time)}
                cell = (len(hosts), *case, *point.axes.values(), point.size)
                together[cell][frozenset(hosts)].append(slowest)
    for by_set in together.values():
        alone = all(len(hosts) == 1 for hosts in by_set)
        if alone or (waiting and len(by_set) > 1):
            times: dict[str, float] = {}
            for names, measured in by_set.items():
                typical = float(np.median([max(times_of.values()) for times_of in measured]))
                times |= {host: min(times.get(host, math.inf), typical) for host in names}
            yield times
        else:
            yield from (times_of for measured in by_set.values() for times_of in measured)


def _rank_times(record: Any, one: Criterion) -> Iterable[RankTimes]:
    by_node = one.family.acceptance.by_node
    return by_node.times(record, one.metric) if by_node is not None else ()


def _counts(one: Criterion, point: RankTimes) -> bool:
    """Whether a criterion of nodes asks for a point, and the point counts."""
    asked = all(point.axes[key] in values for key, values in one.where.items() if key in point.axes)
    targets = [point.axes[axis.name] for axis in one.family.axes if axis.of == "point" and axis.name in point.axes]
    on_diagonal = one.points != "diagonal" or len(set(targets)) == 1
    return asked and on_diagonal and point.good


def _is_asked_for(record: Any, one: Criterion) -> bool:
    known = ((key, _of_whole(record, key), values) for key, values in one.where.items())
    return all(_as_asked(one, key, value) in values for key, value, values in known if value is not None)


def _of_whole(record: Any, name: str) -> Any:
    """The value of a column for a whole record; None where its points have different values, or it has none."""
    return getattr(record, name, getattr(record.header, name, None))


def _by_host(one: Criterion, records: Sequence[Any]) -> Result:
    """The weakest node decides; every node beyond a bound is named."""
    chosen = [record for record in records if _is_asked_for(record, one)]
    lacking = _missing(
        one.where,
        (
            tuple(
                point.axes[key] if key in point.axes else _as_asked(one, key, _of_whole(record, key))
                for key in one.where
            )
            for record in chosen
            for point in _rank_times(record, one)
        ),
    )
    for wrong, why in (
        (bool(chosen and lacking), f"not all that it asks for was measured: no {lacking}"),
        (any(record.header.oversubscribed for record in chosen), "it was measured oversubscribed"),
        (not all(record.complete for record in chosen), "a record is incomplete"),
    ):
        if wrong:
            return _not_tested(one, why)
    ratios = host_ratios(chosen, one)
    if not ratios:
        return _not_tested(one, "no record of several nodes, and no sizes that several nodes were measured with")
    found = {host: median_estimate(values).numbers for host, values in ratios.items()}
    least, most = one.bounds
    named = [
        f"{word}: {clean(host)}, {_with_interval(*numbers)} of the median node"
        for host, numbers in found.items()
        if (word := _weakness(*numbers, least, most))
    ]
    alone = sorted({place.host for record in chosen for place in record.header.placement} - set(ratios))
    unlike = f"not comparable, of other sizes or without a point that counts: {', '.join(map(clean, alone))}"
    worst_first = sorted(found, key=lambda host: -max(found[host][0] - most, least - found[host][0]))
    results = [
        _result(one, *found[host], [f"{len(found)} nodes; {clean(host)} decides", *named]) for host in worst_first
    ]
    decisive = min(results, key=lambda result: (FAIL, NOT_TESTED, PASS).index(result.verdict))
    lacking = "; ".join(filter(None, [unlike if alone else "", _hosts_lacking(one, ratios)]))
    if lacking and decisive.verdict != FAIL:
        return _not_tested(one, lacking)
    return replace(decisive, evidence=(*decisive.evidence, lacking)) if lacking else decisive


def _hosts_lacking(one: Criterion, measured: Iterable[str]) -> str:
    """The required nodes that were not compared, or that too few were; empty where all were compared."""
    compared = set(measured)
    if isinstance(one.hosts, int):
        return f"{len(compared)} nodes were compared, not {one.hosts}" if len(compared) < one.hosts else ""
    missing = [name for name in one.hosts if name not in compared]
    return f"not compared: {', '.join(map(clean, missing))}" if missing else ""


def _weakness(median: float, low: float, high: float, least: float, most: float) -> str:
    """What a node is called whose time is beyond a bound, by how sure that is; empty for any other node."""
    if high < least or low > most:
        return "weak node"
    return "" if least <= median <= most else "perhaps weak"


def _with_interval(value: float, low: float, high: float) -> str:
    return f"{value:.3f}" + (f" [{low:.3f}, {high:.3f}]" if low <= high else "")
