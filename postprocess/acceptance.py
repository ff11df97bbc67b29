"""Acceptance: what a machine must do, written in YAML, held against a run. PASS, FAIL or NOT TESTED, with evidence.

    title: Acceptance of the new cluster
    criteria:
      - name: a dedicated core hides a broadcast
        metric: r_overhead
        where: {configuration: dedicated, collective: ibcast, nodes: 64}
        points: diagonal
        take: median
        at_most: 0.2
      - name: no node is slower than 5 % of the median
        metric: t_comp_ref_ns
        by: host
        at_most: 1.05

A criterion passes only if the 95 % interval lies on the right side of its bound, and fails only if it lies on the wrong
one. In between it is NOT TESTED: longer measurements tell. So is what no point that counts was measured for.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

from postprocess.load import Record
from postprocess.metrics import Floats
from postprocess.points import CASE, COLUMNS
from postprocess.text import clean

PASS, FAIL, NOT_TESTED = "PASS", "FAIL", "NOT TESTED"

TAKE: Mapping[str, Callable[[Floats], float]] = {
    "median": lambda values: float(np.median(values)),
    "mean": lambda values: float(np.mean(values)),
    "min": lambda values: float(np.min(values)),
    "max": lambda values: float(np.max(values)),
}
POINTS = ("all", "diagonal")
HOST_METRICS = ("t_comp_ref_ns", "t_comm_ref_ns")
POINT_METRICS = tuple(
    name for name in COLUMNS
    if name.startswith(("r_", "speedup_", "overlap_", "t_")) and not name.endswith(("_low", "_high"))
)  # fmt: skip
IMPACT_METRICS = ("r_mpi_impact",)
WHERE = (*(name for name in CASE if name != "launch"), "comm_target_ns", "comp_target_ns")


class CriteriaError(ValueError):
    """Criteria that cannot be meant; the message is one line that names the criterion."""


@dataclass(frozen=True)
class Criterion:
    """One line of an acceptance document; bounds are inclusive, None where there is none."""

    name: str
    metric: str
    where: Mapping[str, Any]
    points: str
    take: str
    by_host: bool
    at_most: float | None
    at_least: float | None

    @property
    def words(self) -> str:
        """What it asks, for people."""
        of = ", ".join(f"{key} {value}" for key, value in self.where.items()) or "all cases"
        what = f"{self.metric} of each node over the median node" if self.by_host else f"{self.take} {self.metric}"
        bounds = [f"at most {self.at_most:g}"] if self.at_most is not None else []
        bounds += [f"at least {self.at_least:g}"] if self.at_least is not None else []
        return f"{what} {' and '.join(bounds)}: {of}{', on the diagonal' * (self.points == 'diagonal')}"


@dataclass(frozen=True)
class Criteria:
    """An acceptance document."""

    title: str
    criteria: tuple[Criterion, ...]


@dataclass(frozen=True)
class Result:
    """What became of a criterion: value with its interval, NaN where there is none, and the evidence, a line each."""

    criterion: Criterion
    verdict: str
    value: float
    low: float
    high: float
    evidence: tuple[str, ...]


def read_criteria(path: Path) -> Criteria:
    """Read an acceptance document. Raises CriteriaError for what cannot be meant, OSError where it cannot be read."""
    try:
        document = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError) as error:
        raise CriteriaError(f"{path.name} is no YAML: {' '.join(str(error).split())[:200]}") from error
    if not isinstance(document, dict) or not isinstance(document.get("criteria"), list) or not document["criteria"]:
        raise CriteriaError(f"{path.name} has no list 'criteria': see docs/acceptance.md")
    extra = set(document) - {"title", "criteria"}
    if extra:
        raise CriteriaError(f"{path.name}: '{clean(extra.pop())}' is unknown; there are: title, criteria")
    found = tuple(_criterion(one, number) for number, one in enumerate(document["criteria"], 1))
    names = [one.name for one in found]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise CriteriaError(f"{path.name}: two criteria are named '{clean(twice)}'")
    return Criteria(str(document.get("title") or path.stem), found)


_KEYS = ("name", "metric", "where", "points", "take", "by", "at_most", "at_least")


def _criterion(given: Any, number: int) -> Criterion:
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
    legal = HOST_METRICS if by else (*POINT_METRICS, *IMPACT_METRICS)
    metric, points, take = given.get("metric"), given.get("points", "all"), given.get("take", "median")
    if metric not in legal:
        raise refuse(f"metric '{clean(metric)}': one of {', '.join(legal)}")
    if points not in POINTS:
        raise refuse(f"points '{clean(points)}': one of {', '.join(POINTS)}")
    if take not in TAKE:
        raise refuse(f"take '{clean(take)}': one of {', '.join(TAKE)}")
    where = given.get("where") or {}
    if not isinstance(where, dict) or any(key not in WHERE for key in where):
        raise refuse(f"where takes {', '.join(WHERE)}, each with a value")
    bounds = [given.get(key) for key in ("at_most", "at_least")]
    if all(bound is None for bound in bounds):
        raise refuse("it has neither at_most nor at_least")
    for bound in bounds:
        if bound is not None and (type(bound) not in (int, float) or not math.isfinite(bound)):
            raise refuse(f"'{clean(bound)}' is no bound: give a number")
    return Criterion(
        str(given.get("name") or f"criterion {number}"), metric, where, points, take, by == "host", *bounds
    )


def judge(
    criteria: Criteria, points: pd.DataFrame, impact: pd.DataFrame, records: Sequence[Record]
) -> tuple[Result, ...]:
    """Hold a run against the criteria: its table of points, that of the impact of an idle library, and its records."""
    return tuple(_judged(one, points, impact, records) for one in criteria.criteria)


def _judged(one: Criterion, points: pd.DataFrame, impact: pd.DataFrame, records: Sequence[Record]) -> Result:
    if one.by_host:
        return _by_host(one, records)
    table = impact if one.metric in IMPACT_METRICS else points
    chosen = _where(table, one.where)
    if one.points == "diagonal" and "comm_target_ns" in chosen:
        chosen = chosen[chosen["comm_target_ns"] == chosen["comp_target_ns"]]
    if chosen.empty:
        return _not_tested(one, "nothing of the kind was measured")
    if chosen["oversubscribed"].any():
        return _not_tested(one, "it was measured oversubscribed")
    if "complete" in chosen and not chosen["complete"].all():
        return _not_tested(one, "a record is incomplete")
    reliable = chosen[chosen["reliable"].to_numpy(bool) & np.isfinite(chosen[one.metric].to_numpy(np.float64))]
    if 2 * len(reliable) < len(chosen):
        return _not_tested(one, f"only {len(reliable)} of {len(chosen)} points are reliable")
    take = TAKE[one.take]
    value, low, high = (take(_bound(reliable, one.metric, end)) for end in ("", "_ci95_low", "_ci95_high"))
    evidence = [f"{len(reliable)} of {len(chosen)} points are reliable and count"]
    worst = reliable.loc[reliable[one.metric].idxmax() if one.at_most is not None else reliable[one.metric].idxmin()]
    evidence.append(f"worst point: {worst[one.metric]:.3g}, {_point_words(worst)}")
    return _result(one, value, low, high, evidence)


def _bound(table: pd.DataFrame, metric: str, end: str) -> Floats:
    """A column's values, or one end of their intervals where it has some."""
    name = f"{metric}{end}" if f"{metric}{end}" in table else metric
    return table[name].to_numpy(np.float64)


def _where(table: pd.DataFrame, where: Mapping[str, Any]) -> pd.DataFrame:
    for key, value in where.items():
        table = table[table[key].astype(str) == str(value)] if key in table else table.iloc[:0]
    return table


def _point_words(row: pd.Series[Any]) -> str:
    names = ("toolchain", "network", "configuration", "collective", "comm_target_ns", "comp_target_ns")
    return ", ".join(f"{name} {row[name]}" for name in names if name in row and row[name] != "")


def _result(one: Criterion, value: float, low: float, high: float, evidence: Iterable[str]) -> Result:
    most = math.inf if one.at_most is None else one.at_most
    least = -math.inf if one.at_least is None else one.at_least
    if math.isnan(low) or math.isnan(high) or math.isnan(value):
        return Result(one, NOT_TESTED, value, low, high, (*evidence, "its interval is not known"))
    if low >= least and high <= most:
        return Result(one, PASS, value, low, high, tuple(evidence))
    if high < least or low > most:
        return Result(one, FAIL, value, low, high, tuple(evidence))
    return Result(one, NOT_TESTED, value, low, high, (*evidence, "the interval holds the bound: measure longer"))


def _not_tested(one: Criterion, why: str) -> Result:
    return Result(one, NOT_TESTED, math.nan, math.nan, math.nan, (why,))


def host_ratios(records: Sequence[Record], metric: str, where: Mapping[str, Any]) -> dict[str, tuple[float, ...]]:
    """Of each host its time at each point over the median host's there; hosts by name. Empty with one host."""
    found: dict[str, list[float]] = defaultdict(list)
    for record in records:
        header = record.header
        if not record.complete or header.oversubscribed or not _is(record, where):
            continue
        hosts: dict[str, list[int]] = defaultdict(list)
        for place in header.placement:
            hosts[place.host].append(place.rank)
        if len(hosts) < 2:
            continue
        for point in record.points:
            times = point.rank_comp_ref_ns if metric == "t_comp_ref_ns" else point.rank_comm_ref_ns
            if where.get("collective", point.collective) != point.collective or len(times) != header.ranks:
                continue
            slowest = {host: float(max(times[rank] for rank in ranks)) for host, ranks in hosts.items()}
            middle = float(np.median(list(slowest.values())))
            if middle > 0:
                for host, time in slowest.items():
                    found[host].append(time / middle)
    return {host: tuple(ratios) for host, ratios in sorted(found.items())}


def _is(record: Record, where: Mapping[str, Any]) -> bool:
    header = record.header
    return all(str(getattr(header, key)) == str(value) for key, value in where.items() if hasattr(header, key))


def _by_host(one: Criterion, records: Sequence[Record]) -> Result:
    """The weakest node decides; every node beyond the bound is named."""
    ratios = host_ratios(records, one.metric, one.where)
    if not ratios:
        return _not_tested(one, "no record of several nodes")
    medians = {host: float(np.median(values)) for host, values in ratios.items()}
    bound = one.at_most if one.at_most is not None else one.at_least
    assert bound is not None  # one of them is there
    sign = 1.0 if one.at_most is not None else -1.0
    worst = max(medians, key=lambda host: sign * medians[host])
    weak = [host for host in medians if sign * (medians[host] - bound) > 0]
    named = [f"weak node: {clean(host)}, {medians[host]:.3f} of the median node" for host in weak]
    low, high = _interval(ratios[worst])
    return _result(one, medians[worst], low, high, [f"{len(medians)} nodes; the worst is {clean(worst)}", *named])


def _interval(values: Sequence[float]) -> tuple[float, float]:
    """Of a median over points: what a quarter of them is below, and above. A node that is slow is so at most points."""
    return float(np.quantile(values, 0.25)), float(np.quantile(values, 0.75))
