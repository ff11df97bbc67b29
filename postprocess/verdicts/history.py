"""Change points over many runs: since when a case is slower, by how much, how sure, and what changed in that run.

Each case's series has one value per run, the median of its launches. Where it changes is found by kernel change-point
detection with a linear kernel, which is that of the mean (Celisse et al. 2018; Arlot et al. 2019), by `ruptures`, on
the logarithm of times. A single bad night is no change: values are clipped to OUTLIER times the noise around a running
median first, and both sides of a change have at least FEWEST runs.

A series goes on when its library is upgraded: the version in each run is a fact that may explain a change.
"""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import ruptures  # type: ignore[import-untyped]
from scipy import ndimage, stats

from postprocess.families import registry
from postprocess.families.family import Metric
from postprocess.records import host_limits, nodes
from postprocess.records.let_in import let_in_of
from postprocess.statistics.effects import false_discovery_adjusted
from postprocess.statistics.limits import HISTORY_RATE, Limits
from postprocess.statistics.metrics import MIN_REPETITIONS, Floats, difference_estimate, median_estimate
from postprocess.verdicts.compare import FASTER, KEY, METRICS, SLOWER, numbered, placements
from postprocess.verdicts.compare_text import value_words
from postprocess.verdicts.launches import with_keys

FEWEST = MIN_REPETITIONS
"""The fewest runs on each side of a change: enough for the interval of a median. A series needs twice as many."""
PENALTY = 3.0
"""The penalty of a change, in units of the noise's variance times the logarithm of the number of runs. The Bayesian
information criterion has 2, for a mean and a place; the rest allows for tails longer than normal."""
NEIGHBOURS = 9
"""The number of runs of the running median to which outliers are clipped."""
OUTLIER = 3.0
CONDITIONS = "conditions"
"""The column of a case that says which conditions its runs met, of a metric that has a `Condition`; empty otherwise."""


@dataclass(frozen=True)
class Change:
    """A case that changed for good.

    case: the case of its series.  before: the last run of the old state; run: the first of the new one.  effect: the
    ratio of the medians of both states, or their difference; low, high: its 95 % interval.  q_value: the p-value of a
    rank test of both states, adjusted for all changes (the test does not allow for how the place was found).  runs: the
    number of runs in each state, without those between the two, which steps too small to matter set apart.
    toolchains: those of `before` and of `run`.
    """

    case: Mapping[str, Any]
    metric: str
    verdict: str
    before: str
    run: str
    value_before: float
    value_after: float
    effect: float
    low: float
    high: float
    q_value: float
    runs: tuple[int, int]
    toolchains: tuple[str, str]

    @property
    def key(self) -> tuple[str, ...]:
        """The key of its series."""
        return _key(self.case, self.metric)

    @property
    def own_key(self) -> tuple[str, ...]:
        """`key` with the toolchain of its run. It stays the same when the series goes on with another version."""
        return _key({**self.case, "toolchain": self.toolchains[1]}, self.metric)

    @property
    def name(self) -> str:
        """A short lasting name for `--acknowledge`: a digest of the case, the metric and the run."""
        return hashlib.sha256("\n".join([*self.own_key, self.run]).encode()).hexdigest()[:10]


@dataclass(frozen=True)
class Series:
    """A case's values over runs, in the order of time. `changes` are the indices of the first run of each new state.

    case: the columns of KEY, and sizes; its toolchain is that of the last run.  toolchains: one for each run.
    """

    case: Mapping[str, Any]
    metric: str
    runs: tuple[str, ...]
    values: Floats
    changes: tuple[int, ...]
    toolchains: tuple[str, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that name its case, as ``name=value``, and the metric."""
        return _key(self.case, self.metric)

    @property
    def own_keys(self) -> list[tuple[str, ...]]:
        """Every `own_key` that a change in this series can have, or could have when fewer runs were known."""
        return [_key({**self.case, "toolchain": one}, self.metric) for one in dict.fromkeys(self.toolchains)]


def _key(case: Mapping[str, Any], metric: str) -> tuple[str, ...]:
    family = registry.FAMILY_OF[metric]
    others = [one for one in family.axes if one.of != "launch" and one.name in case]
    unusual = [one.name for one in others if not one.is_usual(case[one.name])]
    met = [CONDITIONS] if case.get(CONDITIONS) else []
    named = dict.fromkeys([*family.named_by, *unusual, "oversubscribed", *METRICS[metric].same, *met])
    return (*(f"{name}={case[name]}" for name in named if name in case), metric)


def without_sizes(series: Series) -> tuple[str, ...]:
    """The key of a series without what calibration finds: series that differ in that alone are of one case."""
    same = METRICS[series.metric].same
    return _key({name: value for name, value in series.case.items() if name not in same}, series.metric)


def series_of(launches: pd.DataFrame, metrics: Sequence[str]) -> list[Series]:
    """One series per case, sizes and metric, of the launches that count. Runs are in the order of their names, which is
    the order of time.

    Times on other message or work sizes are another series, because they are not of the same work; and so are values
    that were measured under other conditions (`Metric.condition`). A run whose median has no effect
    (`Metric.has_effect`) is left out.
    """
    series = []
    launches = launches.assign(
        placement=placements(launches), version=launches["toolchain"], toolchain=upgraded(launches)
    )
    for name in metrics:
        metric = METRICS[name]
        counting = launches[launches[metric.state].to_numpy(bool) & np.isfinite(launches[name].to_numpy(np.float64))]
        counting = with_keys(counting, metric.same)
        key = list(dict.fromkeys([*KEY, *metric.same, "placement"]))
        counting, key = counting.assign(**{CONDITIONS: conditions(counting, metric, key)}), [*key, CONDITIONS]
        medians = counting.groupby([*key, "run", "version"], observed=True, sort=False)[name].median().reset_index()
        medians = medians[metric.has_effect(medians[name].to_numpy(np.float64))]
        number, cases = numbered(medians, key)
        runs, versions = (medians[column].to_numpy(str) for column in ("run", "version"))
        order = np.lexsort((runs, number))
        runs, versions = runs[order].tolist(), versions[order].tolist()
        lengths = np.bincount(number, minlength=len(cases))
        ends = np.cumsum(lengths)
        values = medians[name].to_numpy(np.float64)[order]
        for case, begin, end in zip(cases.itertuples(index=False), ends - lengths, ends, strict=True):
            toolchains = tuple(versions[begin:end])
            series.append(
                Series(
                    dict(zip(key, case, strict=True)) | {"toolchain": toolchains[-1]},
                    name,
                    tuple(runs[begin:end]),
                    values[begin:end],
                    (),
                    toolchains,
                )
            )
    return series


def conditions(launches: pd.DataFrame, metric: Metric, key: Sequence[str]) -> list[str]:
    """Which conditions each launch met, in words; empty where none are known, or the metric has no condition.

    The launches of a case met the same ones if their values, in the order of size, lie within the condition's factor of
    the next. The words have the median of these values, rounded to one digit so that few more runs do not change it.
    """
    if metric.condition is None or metric.condition.name not in launches or launches.empty:
        return [""] * len(launches)
    condition = METRICS[metric.condition.name]
    value = launches[condition.name].to_numpy(np.float64)
    known = condition.has_effect(value)
    number, _ = numbered(launches, key)
    order = np.lexsort((value, number, ~known))[: int(known.sum())]
    of_case, sizes = number[order], value[order]
    begins = np.r_[True, (of_case[1:] != of_case[:-1]) | (sizes[1:] > metric.condition.factor * sizes[:-1])]
    groups = np.split(order, np.flatnonzero(begins)[1:]) if order.size else []
    words = [""] * len(launches)
    for group in groups:
        about = float(f"{np.median(value[group]):.0e}")
        for one in group:
            words[one] = f"{condition.title}: about {value_words(condition.name, about)}"
    return words


def upgraded(launches: pd.DataFrame) -> pd.Series[str]:
    """The toolchain of each launch, replaced by the last version of its library that continues it.

    A version continues the series that ended last before the version began; of several that ended in the same run, the
    one whose version is most like it. So versions that overlap in time, or that one run has side by side, are series of
    their own. Builds of a library that differ in suffix or provider are different libraries here.
    """
    number, names = numbered(launches, ["system", "provider", "toolchain"])
    measured = launches[["run"]].assign(number=number).drop_duplicates().astype({"run": str})
    spans = measured.groupby("number")["run"].agg(["min", "max"])
    first, last = (spans[end].tolist() for end in ("min", "max"))
    toolchains = names["toolchain"].astype(str).tolist()
    split = [library_and_version(one) for one in toolchains]
    libraries, versions = [one[0] for one in split], [one[1] for one in split]
    series: dict[tuple[str, str, str], list[list[int]]] = defaultdict(list)

    def fits(before: int, after: int) -> tuple[str, int]:
        """How well one version continues another: the larger, the better."""
        parts = (re.split("[.-]", versions[one]) for one in (before, after))
        alike = itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*parts, strict=False))
        return last[before], sum(1 for _ in alike)

    for which in sorted(range(len(names)), key=lambda one: (first[one], toolchains[one])):
        begun = series[names["system"][which], names["provider"][which], libraries[which]]
        ended = [one for one in begun if last[one[-1]] < first[which]]
        if ended:
            max(ended, key=lambda one: fits(one[-1], which)).append(which)
        else:
            begun.append([which])
    newest = {one: members[-1] for of_library in series.values() for members in of_library for one in members}
    continued = pd.Categorical([toolchains[newest[one]] for one in range(len(names))])
    by_launch: pd.Series[str] = pd.Series(continued[number], index=launches.index)
    return by_launch


def library_and_version(toolchain: str) -> tuple[str, str]:
    """A library, with the suffix that tells its builds apart, and its version: mpich@5.0+vci is mpich+vci, 5.0."""
    library, _, rest = toolchain.partition("@")
    version = re.split("[+~]", rest)[0]
    return library + rest.removeprefix(version), version


def with_changes(series: Series) -> Series:
    """The series with the places where it changes; with none where it is too short."""
    values = _scaled(series.values, METRICS[series.metric])
    return replace(series, changes=change_points(values))


def change_points(values: Floats) -> tuple[int, ...]:
    """The indices at which a new state begins; none where there are too few values."""
    if values.size < 2 * FEWEST:
        return ()
    noise = noise_of(values)
    if noise == 0:
        noise = np.ptp(values) * 1e-6 or 1.0
    middle = ndimage.median_filter(values, NEIGHBOURS, mode="nearest")
    calm = np.clip(values, middle - OUTLIER * noise, middle + OUTLIER * noise)
    noise = max(noise, float(np.sqrt(np.mean((calm - middle) ** 2))))  # with heavy tails, the median step is too small
    detector = ruptures.KernelCPD(kernel="linear", min_size=FEWEST).fit((calm / noise)[:, None])
    *places, _end = detector.predict(pen=PENALTY * math.log(values.size))
    return tuple(int(place) for place in places)


def noise_of(values: Floats) -> float:
    """Standard deviation between runs, from the median step between neighbours: changes and outliers hardly move it."""
    return float(np.median(np.abs(np.diff(values)))) / (stats.norm.ppf(0.75) * math.sqrt(2))


def changes_of(series: Sequence[Series], limits: Limits | None = None) -> list[Change]:
    """The changes that matter, in the order of time. The false-discovery rate is controlled over all changes.

    Where a step is too small to matter, later states are still compared with the state before the step. So a case that
    becomes slower little by little is found as soon as the sum of its steps matters.
    """
    limits = limits or Limits(rate=HISTORY_RATE)
    most = limits.rate
    for _ in range(2):  # the first pass finds how small a p-value must be, which depends on all steps
        raw = [step for one in series for step in _steps(one, limits, most)]
        adjusted = false_discovery_adjusted([one.q_value for one in raw])
        sure = [one.q_value for one, q_value in zip(raw, adjusted, strict=True) if q_value <= limits.rate]
        most = max(sure, default=0.0)
    steps = [replace(one, q_value=float(q_value)) for one, q_value in zip(raw, adjusted, strict=True)]
    changes = [one for one in steps if one.verdict and one.q_value <= limits.rate]
    return sorted(changes, key=lambda one: (one.run, one.metric))


def _steps(series: Series, limits: Limits, most: float) -> Iterator[Change]:
    """Yield every step of a series. Steps that do not matter have no verdict. `q_value` is the p-value, not adjusted.

    most: the largest p-value of a step after which later states are compared with its new state.
    """
    ends = [0, *series.changes, series.values.size]
    first, last = 0, ends[1]  # the state with which the next one is compared
    for begin, end in itertools.pairwise(ends[1:]):
        before, after = series.values[first:last], series.values[begin:end]
        effect, low, high = _effect(before, after, METRICS[series.metric])
        p_value = float(stats.mannwhitneyu(before, after).pvalue)
        directed = METRICS[series.metric].has_direction(np.array([np.median(before), np.median(after)])).all()
        verdict = _verdict(effect, METRICS[series.metric], limits) if directed else ""
        yield Change(
            series.case,
            series.metric,
            verdict,
            series.runs[begin - 1],
            series.runs[begin],
            float(np.median(before)),
            float(np.median(after)),
            effect,
            low,
            high,
            p_value,
            (last - first, end - begin),
            (series.toolchains[begin - 1], series.toolchains[begin]),
        )
        if verdict and p_value <= most:
            first, last = begin, end


def _effect(before: Floats, after: Floats, metric: Metric) -> tuple[float, float, float]:
    """The ratio or the difference of two states' medians, and the ends of its interval."""
    step = difference_estimate(*(median_estimate(_scaled(part, metric)) for part in (after, before)))
    effect, low, high = (float(np.exp(part) if metric.ratio else part) for part in (step.value, step.low, step.high))
    return effect, low, high


def _verdict(effect: float, metric: Metric, limits: Limits) -> str:
    """SLOWER or FASTER; empty where the effect is too small to matter."""
    none = 1.0 if metric.ratio else 0.0
    return SLOWER if metric.is_worse(effect, none, limits) else FASTER if metric.is_worse(none, effect, limits) else ""


def _scaled(values: Floats, metric: Metric) -> Floats:
    return np.asarray(np.log(values)) if metric.ratio else values


def standing(changes: Sequence[Change], series: Sequence[Series], limits: Limits | None = None) -> list[Change]:
    """The changes to the worse whose case, in the last state of its series, is still worse than before the change."""
    limits = limits or Limits(rate=HISTORY_RATE)
    now = {one.key: float(np.median(one.values[(0, *one.changes)[-1] :])) for one in series if one.values.size}

    return [
        one
        for one in changes
        if one.verdict == SLOWER and METRICS[one.metric].is_worse(now[one.key], one.value_before, limits)
    ]


def manifest_changes(
    before: Mapping[str, Any], after: Mapping[str, Any], toolchains: tuple[str, str] = ("", "")
) -> list[str]:
    """The differences between the manifests of a run and of the run before it, a line each.

    toolchains: that of the series in each of the two runs. After an upgrade, the facts of both versions are compared as
    those of one library.
    """
    host_before, host_after = host_limits.known_in_both(*map(_host, (before, after)))
    old = dict(_facts({**before, "host": host_before}, *toolchains))
    new = dict(_facts({**after, "host": host_after}))
    (library, version), (_, now) = map(library_and_version, toolchains)
    upgrade = [f"toolchain {library}: {version} -> {now}"] if version != now else []
    return (
        upgrade
        + [
            f"{name}: {old.get(name, 'none')} -> {new.get(name, 'none')}"
            for name in dict.fromkeys([*new, *old])
            if old.get(name) != new.get(name)
        ]
        + [
            f"{what}: {one} -> {other}"
            for what, one, other in nodes.changes(nodes.nodes_of(before), nodes.nodes_of(after))
        ]
    )


def _facts(manifest: Mapping[str, Any], toolchain: str = "", known_as: str = "") -> list[tuple[str, str]]:
    """(name, value) of all that can explain a change. The facts of `toolchain` have the name of `known_as`."""
    facts: list[tuple[str, str]] = []
    renamed = {toolchain: known_as}
    for entry in _objects(manifest.get("toolchains")):
        name = str(entry.get("toolchain"))
        name = renamed.get(name, name)
        facts.append((f"toolchain {name}", str(entry.get("provider"))))
        facts += [(f"{name}: {one.get('name')}", str(one.get("version"))) for one in _objects(entry.get("packages"))]
        build = entry.get("spack")
        if isinstance(build, dict):
            facts += [(f"{name}: {part}", str(build.get(part))) for part in ("mpi_hash", "hash", "compiler")]
    seen = manifest.get("seen")
    if isinstance(seen, dict):
        facts.append(("nodes", _words(seen.get("nodes"))))
        for part in ("variables", "builds"):
            of_toolchains = seen.get(part)
            for whose, named in of_toolchains.items() if isinstance(of_toolchains, dict) else ():
                for name, values in named.items() if isinstance(named, dict) else ():
                    facts.append((f"{renamed.get(whose, whose)}: {name}", _words(values)))
    for part in ("host", "campaign", "options"):
        inside = manifest.get(part)
        facts += [(f"{part} {name}", str(value)) for name, value in inside.items()] if isinstance(inside, dict) else []
    facts += [(f"let in {name}", value) for name, value in (let_in_of(manifest) or {}).items()]
    return [fact for fact in facts if fact[0] != "options environment"]  # the variables let in are told above


def _host(manifest: Mapping[str, Any]) -> dict[str, Any]:
    host = manifest.get("host")
    return host if isinstance(host, dict) else {}


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
