"""Change points over many runs: since when a case is slower, by how much, how sure, and what changed in that run.

Each case's series has one value per night (a day of UTC), the median of its launches. `statistics/nights` finds where
it changes, on the logarithm of times. A series goes on when its library is upgraded: the version of each night is a
fact that may explain a change.
"""

import hashlib
import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
import pandas as pd

from postprocess.families import registry
from postprocess.families.family import Metric
from postprocess.records import host_limits, nodes
from postprocess.records.variables import requested_of
from postprocess.statistics.effects import false_discovery_adjusted
from postprocess.statistics.limits import HISTORY_RATE, NIGHT_RATE, Limits
from postprocess.statistics.metrics import Floats
from postprocess.statistics.newest import Newest, newest
from postprocess.statistics.nights import NEEDED, NEWER, Contrast, States, Wave, states_of
from postprocess.verdicts.compare import FASTER, KEY, METRICS, SLOWER, placements
from postprocess.verdicts.compare_text import value_words
from postprocess.verdicts.earlier import FAMILY
from postprocess.verdicts.launches import USUAL_VALUES, numbered, scaled, with_keys

WAVE = "comes and goes"
"""The verdict on a wave. It is no alarm."""
FEWEST = NEEDED // 2
"""The place of a change moves by fewer nights than this when more of them are known."""
DAY = len("20260101")
"""The beginning of a run's name that says the day."""
CONDITIONS = "conditions"
"""The column of a case that says which conditions its runs met, of a metric that has a `Condition`; empty otherwise."""


@dataclass(frozen=True)
class Change:
    """A case that changed for good.

    case: the case of its series.  before: the first run of the last night of the old state; run: the first of the new
    one.  effect: the ratio of both states, or their difference; low, high: its 95 % interval.  q_value: the p-value,
    adjusted for all changes.  runs: the number of nights in each state, without those between the two, which steps too
    small to matter set apart.  toolchains: those of `before` and of `run`.  A wave has its lowest and its highest value
    before and after, and all nights; period: its nights, 0 where it is a step.
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
    period: int = 0

    @property
    def key(self) -> tuple[str, ...]:
        """The key of its series."""
        return _series_key(self.case, self.metric)

    @property
    def own_key(self) -> tuple[str, ...]:
        """`key` with the toolchain of its run. It stays the same when the series goes on with another version."""
        return _key({**self.case, "toolchain": self.toolchains[1]}, self.metric)

    @property
    def size(self) -> float:
        """How large it is, whichever way it goes: the logarithm of a ratio, else the difference."""
        return abs(math.log(self.effect)) if METRICS[self.metric].ratio else abs(self.effect)

    @property
    def nights_words(self) -> str:
        """The number of nights before and after, or of a wave."""
        before, since = self.runs
        return f"a wave of {self.period} nights" if self.period else f"{before} nights before, {since} since"

    @property
    def name(self) -> str:
        """A short lasting name for `--acknowledge`: a digest of the case, the metric and the run."""
        return hashlib.sha256("\n".join([*self.own_key, self.run]).encode()).hexdigest()[:10]


@dataclass(frozen=True, slots=True)
class _Case(Mapping[str, Any]):
    """A case: its row of the columns that name cases, its toolchain, and the usual values of the other axes. There are
    very many, so that what several have in common is kept once."""

    columns: Mapping[str, Sequence[Any]]
    row: int
    toolchain: str

    def __getitem__(self, name: str) -> Any:
        if name == "toolchain":
            return self.toolchain
        return self.columns[name][self.row] if name in self.columns else USUAL_VALUES[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**USUAL_VALUES, **self.columns})

    def __len__(self) -> int:
        return len(USUAL_VALUES.keys() | self.columns.keys())


@dataclass(frozen=True)
class Series:
    """A case's values over nights, in the order of time.

    case: the columns of KEY, and sizes; its toolchain is that of the last run.  runs: the first of each night.
    toolchains: one for each.  shared: so many nights at the beginning are told of in another series, whose version went
    on being measured.  states, newest: what `searched` found.
    """

    case: Mapping[str, Any]
    metric: str
    runs: tuple[str, ...]
    values: Floats
    toolchains: tuple[str, ...]
    shared: int = 0
    states: States | None = None
    newest: Newest | None = None

    @property
    def changes(self) -> tuple[int, ...]:
        """The indices of the first night of each new state."""
        return self.states.places if self.states else ()

    @property
    def levels(self) -> Floats:
        """The value of each state."""
        return _unscaled(self.states.levels, METRICS[self.metric]) if self.states else np.empty(0)

    @cached_property
    def key(self) -> tuple[str, ...]:
        """The system, the columns that name its case, as ``name=value``, and the metric."""
        return _series_key(self.case, self.metric)

    @property
    def own_keys(self) -> list[tuple[str, ...]]:
        """Every `own_key` that a change in this series can have, or could have when fewer runs were known."""
        return [
            _key({**self.case, "toolchain": toolchain}, self.metric) for toolchain in dict.fromkeys(self.toolchains)
        ]


def _series_key(case: Mapping[str, Any], metric: str) -> tuple[str, ...]:
    return (f"system={case.get('system', '')}", *_key(case, metric))


def _key(case: Mapping[str, Any], metric: str) -> tuple[str, ...]:
    """What names a case and a metric in the alarms of a system that were acknowledged."""
    family = registry.FAMILY_OF[metric]
    others = [axis for axis in family.axes if axis.of != "launch" and axis.name in case]
    unusual = [one.name for one in others if not one.is_usual(case[one.name])]
    met = [CONDITIONS] if case.get(CONDITIONS) else []
    by = family.launches.named_by if family.launches else ()
    named = dict.fromkeys([*by, *unusual, "oversubscribed", *METRICS[metric].same, *met])
    return (*(_word(name, case[name]) for name in named if name in case), metric)


@lru_cache(maxsize=None, typed=True)
def _word(name: str, value: Any) -> str:
    """A word of a key: many series share it."""
    return f"{name}={value}"


def without_sizes(series: Series) -> tuple[str, ...]:
    """The key of a series without what calibration finds: series that differ in that alone are of one case."""
    same = METRICS[series.metric].same
    return _key({name: value for name, value in series.case.items() if name not in same}, series.metric)


def series_of(launches: pd.DataFrame, metrics: Sequence[str]) -> list[Series]:
    """One series per case, sizes and metric, of the launches that count. Runs are in the order of their names, which is
    the order of time, and begin with the day.

    Times on other message or work sizes are another series, because they are not of the same work; and so are values
    that were measured under other conditions (`Metric.condition`). A night whose median has no effect
    (`Metric.has_effect`) is left out.
    """
    series = []
    once: dict[tuple[str, ...], tuple[str, ...]] = {}  # most series have the same runs: their names are kept once
    launches = upgraded(launches.assign(placement=placements(launches)))
    run, names = pd.factorize(launches["run"].astype(object), sort=True)
    night, _ = pd.factorize(pd.Series(names).str[:DAY])
    launches = launches.assign(run=run, night=night[run])
    for name in filter(launches.__contains__, metrics):
        metric = METRICS[name]
        counting = launches[launches[metric.state].to_numpy(bool) & np.isfinite(launches[name].to_numpy(np.float64))]
        counting = with_keys(counting, metric.same)
        key = [one for one in dict.fromkeys([*KEY, *metric.same, "placement"]) if one in counting]
        counting, key = counting.assign(**{CONDITIONS: conditions(counting, metric, key)}), [*key, CONDITIONS]
        number, cases = numbered(counting, key)
        counting = counting[[name, "run", "night", "version", "shared"]].assign(number=number)
        group, nights = numbered(counting, ["number", "night", "version"])
        for column, of_night in ((name, "median"), ("run", "min"), ("shared", "first")):
            nights[column] = counting[column].groupby(group).agg(of_night).to_numpy()
        nights = nights[metric.has_effect(nights[name].to_numpy(np.float64))]
        if nights.empty:
            continue
        nights = nights.iloc[np.lexsort((nights["run"], nights["number"]))]
        values, shared = nights[name].to_numpy(np.float64), nights["shared"].to_numpy(bool)
        runs, versions = names[nights["run"]].tolist(), nights["version"].astype(object).tolist()
        columns = {one: _shared(cases[one]) for one in key}
        rows, begins = np.unique(nights["number"], return_index=True)
        for row, begin, end in zip(rows.tolist(), begins, [*begins[1:], len(nights)], strict=True):
            its_runs, toolchains = (
                once.setdefault(one, one) for one in (tuple(of[begin:end]) for of in (runs, versions))
            )
            its_case, its_shared = _Case(columns, row, toolchains[-1]), int(shared[begin:end].sum())
            series.append(Series(its_case, name, its_runs, values[begin:end], toolchains, its_shared))
    return series


def _shared(column: pd.Series) -> list[Any]:
    """The values of a column, as Python has them. Equal ones are one object."""
    codes, values = pd.factorize(column.astype(object), use_na_sentinel=False)
    return np.array([*values.tolist(), None], object)[codes].tolist()  # type: ignore[no-any-return]


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
        for launch in group:
            words[launch] = f"{condition.title}: about {value_words(condition.name, about)}"
    return words


def upgraded(launches: pd.DataFrame) -> pd.DataFrame:
    """The launches of each series of versions: `version` is a launch's own, `toolchain` that of the series' newest. A
    launch in several series is there as often; in all but one of them it is `shared`.

    A version goes on with the version of its library that was measured last before it, of several in one run the one
    most like it, unless its own first run has that one too. Nothing that is measured later changes that. Of a version
    that others go on with, launches after that are left out, as when somebody has another look at it; but it has a
    series of its own if there are NEWER nights of them or more. Builds of a library that differ in suffix or provider
    are different libraries here.
    """
    number, names = numbered(launches, ["system", "provider", "toolchain"])
    toolchains = names["toolchain"].astype(str).tolist()
    split = [library_and_version(toolchain) for toolchain in toolchains]
    libraries = list(zip(names["system"], names["provider"], [one[0] for one in split], strict=True))
    run = launches["run"].astype(str).to_numpy()
    measured = [sorted(set(run[number == one])) for one in range(len(names))]

    def like(one: int, other: int) -> int:
        parts = (re.split("[.-]", split[which][1]) for which in (one, other))
        return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], zip(*parts, strict=False)))

    earlier: dict[int, int] = {}  # of each version the one that it goes on with
    later: dict[int, int] = {}  # and the last one that goes on with it
    for which in sorted(range(len(names)), key=lambda one: (measured[one][0], toolchains[one])):
        first = measured[which][0]
        ended = {
            other: max(before)
            for other in range(len(names))
            if libraries[other] == libraries[which]
            and first not in measured[other]
            and not (other in later and measured[later[other]][0] == first)
            and (before := [one for one in measured[other] if one < first])
        }
        if ended:
            earlier[which] = max(ended, key=lambda other: (ended[other], like(other, which)))
            later[earlier[which]] = which
    for which, heir in later.items():
        if len({one[:DAY] for one in measured[which] if one >= measured[heir][0]}) >= NEWER:
            later[which] = which  # it goes on itself
    parts = []
    for which in range(len(names)):
        if later.get(which, which) == which:
            rows, shared, one = number == which, np.zeros(len(launches), bool), which
            while one in earlier:
                began, newer, one = measured[one][0], one, earlier[one]
                its = (number == one) & (run < began)
                rows |= its
                shared |= its & (shared.any() or later[one] != newer)
            parts.append((np.flatnonzero(rows), np.full(rows.sum(), which), shared[rows]))
    chosen, newest, is_shared = (np.concatenate(part) for part in zip(*parts, strict=True))
    found = launches if np.array_equal(chosen, np.arange(len(launches))) else launches.iloc[chosen]
    by_newest = pd.Categorical(np.array(toolchains)[newest])
    series: pd.DataFrame = found.assign(version=found["toolchain"], toolchain=by_newest, shared=is_shared)
    return series


@cache
def library_and_version(toolchain: str) -> tuple[str, str]:
    """A library, with the suffix that tells its builds apart, and its version: mpich@5.0+vci is mpich+vci, 5.0."""
    library, _, rest = toolchain.partition("@")
    version = re.split("[+~]", rest)[0]
    return library + rest.removeprefix(version), version


def searched(series: Sequence[Series]) -> list[Series]:
    """The series with the states that are found in them, and what their newest nights say."""
    values = [scaled(one.values, METRICS[one.metric]) for one in series]
    found = states_of(values)
    number = {night: place for place, night in enumerate(sorted({run[:DAY] for one in series for run in one.runs}))}
    nights = [np.array([number[run[:DAY]] for run in one.runs], np.int64) for one in series]
    of_name: dict[tuple[Any, ...], int] = {}
    alike = ("system", *FAMILY)
    family = [of_name.setdefault((*map(one.case.get, alike), one.metric), len(of_name)) for one in series]
    last = newest(values, nights, [states.places if states else () for states in found], family)
    return [
        replace(one, states=states, newest=of_last) for one, states, of_last in zip(series, found, last, strict=True)
    ]


def changes_of(series: Sequence[Series], limits: Limits | None = None) -> list[Change]:
    """The changes that matter, in the order of time. The false-discovery rate is controlled over all changes.

    Where a step is too small to matter, later states are still compared with the state before the step. So a case that
    becomes slower little by little is found as soon as the sum of its steps matters.
    """
    limits = limits or Limits(rate=HISTORY_RATE)
    most = limits.rate
    found = [(one, cache(one.states.contrast)) for one in series if one.states]
    for _ in range(2):  # the first pass finds how small a p-value must be, which depends on all steps
        raw = [step for one, contrast in found for step in _steps(one, contrast, limits, most)]
        adjusted = false_discovery_adjusted([one.q_value for one in raw])
        sure = [one.q_value for one, q_value in zip(raw, adjusted, strict=True) if q_value <= limits.rate]
        most = max(sure, default=0.0)
    steps = [replace(one, q_value=float(q_value)) for one, q_value in zip(raw, adjusted, strict=True)]
    changes = [one for one in steps if one.verdict and one.q_value <= limits.rate]
    return sorted([*changes, *_newest_changes(series, limits)], key=lambda one: (one.run, one.metric))


def _newest_changes(series: Sequence[Series], limits: Limits) -> Iterator[Change]:
    """Yield the changes of the newest nights, which may be too few for a state."""
    rate = min(limits.rate, NIGHT_RATE)
    judged = [(one, one.newest) for one in series if one.newest]
    adjusted = false_discovery_adjusted([last.p_value for _, last in judged])
    for (one, last), q_value in zip(judged, adjusted, strict=True):
        metric = METRICS[one.metric]
        effect, low, high, before, after = (
            float(_unscaled(part, metric))
            for part in (last.after - last.before, last.low, last.high, last.before, last.after)
        )
        verdict = _verdict(effect, metric, limits) if metric.has_direction(np.array([before, after])).all() else ""
        if verdict and q_value <= rate and last.begin >= one.shared:
            yield Change(
                one.case, one.metric, verdict, one.runs[last.begin - 1], one.runs[last.begin], before, after, effect,
                low, high, float(q_value), (last.begin - max(one.changes, default=0), one.values.size - last.begin),
                (one.toolchains[last.begin - 1], one.toolchains[last.begin]),
            )  # fmt: skip


def _steps(series: Series, contrast: Callable[[int, int], Contrast], limits: Limits, most: float) -> Iterator[Change]:
    """Yield every step of a series, and the wave. Those that do not matter have no verdict. `q_value` is the p-value,
    not adjusted.

    most: the largest p-value of a step after which later states are compared with its new state.
    """
    metric, levels = METRICS[series.metric], series.levels
    ends = [0, *series.changes, series.values.size]
    if series.states and series.states.wave and not series.shared:
        yield _wave(series, series.states.wave, limits)
    first = 0  # the state with which the next one is compared
    for state in range(1, len(levels)):
        begin = ends[state]
        found = contrast(first, state)
        effect, low, high = (float(_unscaled(part, metric)) for part in (found.effect, found.low, found.high))
        verdict = _verdict(effect, metric, limits) if metric.has_direction(levels[[first, state]]).all() else ""
        if begin >= series.shared:
            yield Change(
                series.case,
                series.metric,
                verdict,
                series.runs[begin - 1],
                series.runs[begin],
                float(levels[first]),
                float(levels[state]),
                effect,
                low,
                high,
                found.p_value,
                (ends[first + 1] - ends[first], ends[state + 1] - begin),
                (series.toolchains[begin - 1], series.toolchains[begin]),
            )
        if verdict and found.p_value <= most:
            first = state


def _wave(series: Series, wave: Wave, limits: Limits) -> Change:
    """A wave as a change, from its lowest to its highest value. It has no verdict where it is too small to matter."""
    metric, nights = METRICS[series.metric], series.values.size
    middle = float(np.median(scaled(series.values, metric)))
    low, high, height = (
        float(_unscaled(part, metric)) for part in (middle - wave.height / 2, middle + wave.height / 2, wave.height)
    )
    return Change(
        series.case, series.metric, WAVE if _verdict(height, metric, limits) else "", series.runs[0], series.runs[0],
        low, high, height, height, height, wave.p_value, (nights, nights), (series.toolchains[0],) * 2,
        round(wave.period),
    )  # fmt: skip


def _verdict(effect: float, metric: Metric, limits: Limits) -> str:
    """SLOWER or FASTER; empty where the effect is too small to matter."""
    none = 1.0 if metric.ratio else 0.0
    return SLOWER if metric.is_worse(effect, none, limits) else FASTER if metric.is_worse(none, effect, limits) else ""


def _unscaled(values: Any, metric: Metric) -> Floats:
    return np.asarray(np.exp(values) if metric.ratio else values)


def standing(changes: Sequence[Change], series: Sequence[Series], limits: Limits | None = None) -> list[Change]:
    """The changes to the worse after which no state of the series was as good as before again."""
    limits = limits or Limits(rate=HISTORY_RATE)
    of_key = {one.key: one for one in series}

    def stands(change: Change) -> bool:
        its = of_key[change.key]
        if its.newest and change.run == its.runs[its.newest.begin] and its.newest.begin not in its.changes:
            return True
        since = its.levels[1 + its.changes.index(its.runs.index(change.run)) :]
        return all(METRICS[change.metric].is_worse(level, change.value_before, limits) for level in since)

    return [change for change in changes if change.verdict == SLOWER and stands(change)]


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
        described = manifest.get(part)
        facts += (
            [(f"{part} {name}", str(value)) for name, value in described.items()] if isinstance(described, dict) else []
        )
    facts += [(f"let in {name}", value) for name, value in (requested_of(manifest) or {}).items()]
    return [fact for fact in facts if fact[0] != "options environment"]  # the variables let in are told above


def _host(manifest: Mapping[str, Any]) -> dict[str, Any]:
    host = manifest.get("host")
    return host if isinstance(host, dict) else {}


def _words(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _objects(value: Any) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
