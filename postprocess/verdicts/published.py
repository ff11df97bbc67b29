"""The pages of a published archive: which systems, libraries, benchmarks, cases and nights there are, and how they are.

Pure functions from what a history found to views, and from views to texts. A `case` here is what a person calls one:
a library of whatever version, on one network, in one configuration, with one collective, approach or the like. Its
points and metrics are on one page.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing import page
from postprocess.drawing.text import plural
from postprocess.families import registry
from postprocess.statistics.metrics import Floats
from postprocess.verdicts.compare import GROUP, METRICS, USUAL
from postprocess.verdicts.compare_text import names_of
from postprocess.verdicts.history import DAY, Change, Series, library_and_version
from postprocess.verdicts.silence import Silence
from postprocess.verdicts.verdict_page import SMALL, Plot, history_view, plot_of
from postprocess.verdicts.verdict_page import render as render_verdicts

SILENT_HOURS = 36
"""A night and half a day: a system whose newest night is older is silent. A night that begins late is not."""
COMPARISON = "compare.html"
GOOD, BAD = "good", "bad"
"""The state of a system or of a night; also its CSS class."""
NO_HISTORY = "No case has a history yet."
_RECENT = 9
"""The usual suite is that of most of so many runs."""
_SPARK_WIDTH, _SPARK_HEIGHT = 160, 28
_SPARK_NIGHTS = 60


@dataclass(frozen=True)
class Night:
    """A run.  name: of the run.  began_utc: as ``2026-11-27T01:00:00Z``.  ended: its status.  good, bad: the numbers of
    its cases that passed and that failed; others were skipped.  suite, toolchains: what it measured.  aside: whether it
    measured cases of another run again, or two libraries until they were told apart.  reported: whether the site has
    its report."""

    name: str
    began_utc: str
    ended: str
    good: int
    bad: int
    suite: str
    toolchains: tuple[str, ...]
    aside: bool = False
    reported: bool = True

    @property
    def state(self) -> str:
        """Whether it ended well."""
        return GOOD if self.ended == "complete" and not self.bad else BAD

    @property
    def words(self) -> str:
        """How it ended, in a line."""
        failed = f", {self.bad} failed" if self.bad else ""
        return f"{self.ended}: {plural(self.good, 'case')} measured{failed}"


@dataclass(frozen=True)
class Noted:
    """A change with what a history says of it.  rings: whether somebody should look.  explained: what else changed."""

    change: Change
    state: str
    last_run: str
    explained: str
    rings: bool


@dataclass(frozen=True)
class System:
    """What is published of a system.  nights: oldest first.  ringing: at how many things somebody should look.  answer,
    coverage: of its history, a line each.  silent: what is not measured any more.  compared: the libraries on the page
    of the comparison; none where there is no such page."""

    name: str
    nights: Sequence[Night]
    series: Sequence[Series]
    changes: Sequence[Noted]
    ringing: int
    answer: str
    coverage: str
    silent: Sequence[Silence] = ()
    compared: Sequence[str] = ()

    @property
    def newest(self) -> Night:
        """The newest night, as long as there is one, not what was measured aside or, by another suite, by day."""
        nights = [night for night in self.nights if not night.aside] or self.nights
        suites = Counter(night.suite for night in nights[: -_RECENT - 1 : -1])  # of two as frequent ones, the newer
        usual = suites.most_common(1)[0][0]
        return [night for night in nights if night.suite == usual][-1]

    @property
    def state(self) -> str:
        """Whether somebody should look, as far as the archive tells. How old the newest night is, a reader's clock
        tells."""
        return GOOD if self.newest.state == GOOD and not self.ringing else BAD

    @property
    def words(self) -> str:
        """How the last night ended and what rings, in a line."""
        alarms = plural(self.ringing, "alarm") if self.ringing else "no alarm"
        return f"{self.newest.words}; {alarms}"


@dataclass(frozen=True)
class Spark:
    """A small line: the corners of its picture, and what it shows in words."""

    points: str
    words: str
    width: int = _SPARK_WIDTH
    height: int = _SPARK_HEIGHT


@dataclass(frozen=True)
class Entry:
    """A row of a list: the page that it leads to, or none, its texts, the state of its first text, and a small line."""

    address: str
    cells: Sequence[str]
    css: str = ""
    spark: Spark | None = None


@dataclass(frozen=True)
class Section:
    """A list of a page.  search: whether a reader can search it by words."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Entry]
    nothing: str = ""
    search: bool = False


@dataclass(frozen=True)
class ListPage:
    """A page of lists.  trail: (name, address) of the pages above it.  newest: (system, the moment of its newest night)
    of the systems that it is about: the page says how old they are."""

    title: str
    subtitle: str
    trail: Sequence[tuple[str, str]]
    sections: Sequence[Section]
    newest: Sequence[tuple[str, str]] = ()


def render(view: ListPage) -> str:
    """A page of lists as HTML text."""
    environment = page.environment()
    style = environment.get_template("published.css").render()
    embedded = page.embedded(style, page.script("published.js"))
    return environment.get_template("published.html").render(view=view, silent_hours=SILENT_HOURS, **embedded)


def case_of(series: Series) -> tuple[tuple[str, str], ...]:
    """What names the case of a series: the columns of a map, with the library in the place of its version."""
    case = series.case
    names = {name: str(case[name]) for name in GROUP if name in case}
    return tuple((names | {"toolchain": library_and_version(str(case["toolchain"]))[0]}).items())


def address_of(case: tuple[tuple[str, str], ...]) -> str:
    """The address of the page of a case, below that of its system. It stays the same from night to night."""
    digest = hashlib.sha256("\n".join(f"{name}={value}" for name, value in case).encode()).hexdigest()
    return f"cases/{digest[:12]}.html"


def by_case(series: Iterable[Series]) -> dict[tuple[tuple[str, str], ...], list[Series]]:
    """The series of each case."""
    found: dict[tuple[tuple[str, str], ...], list[Series]] = defaultdict(list)
    for each in series:
        found[case_of(each)].append(each)
    return found


def trend(series: Sequence[Series]) -> tuple[list[str], Floats]:
    """How a metric of several points went over the nights: the first run of each night, and the median over points of
    the value of the night relative to the point's own median over nights. A factor for a metric that is a ratio, else a
    difference."""
    ratio = METRICS[series[0].metric].ratio
    parts = []
    for each in series:
        values = np.log(each.values) if ratio else each.values
        parts.append(pd.DataFrame({"run": each.runs, "value": values - np.median(values)}))
    table = pd.concat(parts, ignore_index=True)
    nights = (
        table.assign(night=table["run"].str[:DAY]).groupby("night").agg(run=("run", "min"), value=("value", "median"))
    )
    values = nights["value"].to_numpy(np.float64)
    return nights["run"].tolist(), np.exp(values) if ratio else values


def _relative_words(metric: str) -> Callable[[float], str]:
    """A value of a trend in words."""
    return (lambda value: f"{100 * (value - 1):+.1f} %") if METRICS[metric].ratio else (lambda value: f"{value:+.3g}")


def spark_of(series: Sequence[Series]) -> Spark | None:
    """The trend of the first usual metric of some series as a small line; None with fewer than two nights."""
    metric = next((name for name in USUAL if any(each.metric == name for each in series)), None)
    if metric is None:
        return None
    runs, values = trend([each for each in series if each.metric == metric])
    if len(runs) < 2:
        return None
    values = values[-_SPARK_NIGHTS:]
    low, high = float(values.min()), float(values.max())
    reach = (high - low) or 1.0
    x = np.linspace(2, _SPARK_WIDTH - 2, values.size)
    y = _SPARK_HEIGHT - 3 - (_SPARK_HEIGHT - 6) * (values - low) / reach
    words = _relative_words(metric)
    nights = plural(values.size, "night")
    said = f"{METRICS[metric].title}: {words(low)} to {words(high)} against its usual value over {nights}"
    return Spark(" ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True)), said)


def home(systems: Sequence[System], made_utc: str) -> ListPage:
    """The first page: how the last night of each system ended, what rings, the trend of each family; then all cases,
    to search."""
    lines = [
        Entry(f"{each.name}/index.html", [each.name, each.words, each.newest.name], each.state) for each in systems
    ]
    families = [
        Entry(f"{each.name}/benchmarks/{family.name}.html", [family.title, each.name], "", spark_of(its))
        for each in systems
        for family, its in _by_family(each.series)
    ]
    cases = [entry for each in systems for entry in _case_entries(each, each.series, f"{each.name}/")]
    return ListPage(
        "MPI overlap, night by night",
        f"nights until {made_utc}",
        (),
        [
            Section("How did the last night end?", ["system", "last night", "run"], lines, "There is no run yet."),
            Section("How did it go?", ["benchmark", "system", "over the nights"], families),
            Section("All cases", _CASE_HEADS, cases, NO_HISTORY, search=True),
        ],
        [(each.name, each.newest.began_utc) for each in systems],
    )


_CASE_HEADS = ("library", "network", "configuration", "what", "nights", "alarms", "over the nights")


def _by_family(series: Sequence[Series]) -> list[tuple[Any, list[Series]]]:
    found: dict[str, list[Series]] = defaultdict(list)
    for each in series:
        found[registry.FAMILY_OF[each.metric].name].append(each)
    return [(registry.BY_NAME[name], its) for name, its in found.items()]


def _case_entries(system: System, series: Iterable[Series], above: str = "") -> list[Entry]:
    """A row for each case of some of a system's series, what rings first."""
    rings: dict[tuple[tuple[str, str], ...], int] = defaultdict(int)
    series_of_key = {each.key: each for each in system.series}
    for noted in system.changes:
        if noted.rings:
            rings[case_of(series_of_key[noted.change.key])] += 1
    entries = []
    for case, its in by_case(series).items():
        nights = len({run[:DAY] for each in its for run in each.runs})
        cells = [*_names(case, its), str(nights), str(rings[case] or "")]
        entries.append((rings[case], Entry(above + address_of(case), cells, BAD if rings[case] else "", spark_of(its))))
    return [entry for _, entry in sorted(entries, key=lambda pair: (-pair[0], *pair[1].cells))]


def _names(case: tuple[tuple[str, str], ...], series: Sequence[Series]) -> list[str]:
    """Library, network, configuration and what was measured."""
    return names_of({**dict(series[0].case), "toolchain": dict(case)["toolchain"]})


def system_page(system: System) -> ListPage:
    """The page of a system: its nights, libraries, benchmarks and cases."""
    nights = [
        Entry(
            f"runs/{night.name}.html" * night.reported,
            [night.name, night.words, night.suite, ", ".join(night.toolchains)],
            night.state,
        )
        for night in reversed(system.nights)
    ]
    versions = sorted({toolchain for night in system.nights for toolchain in night.toolchains})
    of_version = [Entry(f"libraries/{_file(each)}", [each, _nights_with(system, each)]) for each in versions]
    of_family = [
        Entry(f"benchmarks/{family.name}.html", [family.title, plural(len(by_case(its)), "case")], "", spark_of(its))
        for family, its in _by_family(system.series)
    ]
    compared = [Entry(COMPARISON, [", ".join(system.compared)])]
    alarms = [Entry("alarms.html", [system.answer, system.coverage], BAD if system.ringing else GOOD)]
    return ListPage(
        system.name,
        system.words,
        [("all systems", "../index.html")],
        [
            Section("Alarms", ["alarms", "where one can ring"], alarms),
            *([Section("Libraries against each other", ["the newest versions"], compared)] if system.compared else []),
            Section("Libraries", ["library", "measured"], of_version),
            Section("Benchmarks", ["benchmark", "cases", "over the nights"], of_family),
            Section("Cases", _CASE_HEADS, _case_entries(system, system.series), NO_HISTORY, search=True),
            Section("Nights", ["run", "how it ended", "suite", "libraries"], nights, search=True),
        ],
        [(system.name, system.newest.began_utc)],
    )


def _nights_with(system: System, toolchain: str) -> str:
    having = [night.name for night in system.nights if toolchain in night.toolchains]
    return f"{plural(len(having), 'night')}, last in {having[-1]}"


def _file(name: str) -> str:
    """A file's name for a page of this name."""
    return "".join(letter if letter.isalnum() or letter in "@.+-_" else "_" for letter in name) + ".html"


def inner_pages(system: System) -> dict[str, str]:
    """The pages below a system but those of runs and of the comparison, by address: HTML text."""
    pages = {"index.html": render(system_page(system)), "alarms.html": _alarms_page(system)}
    up = [("all systems", "../../index.html"), (system.name, "../index.html")]
    for family, its in _by_family(system.series):
        pages[f"benchmarks/{family.name}.html"] = _listed(family.title, up, _case_entries(system, its, "../"))
    for toolchain in sorted({name for night in system.nights for name in night.toolchains}):
        its = [each for each in system.series if toolchain in each.toolchains]
        pages[f"libraries/{_file(toolchain)}"] = _listed(toolchain, up, _case_entries(system, its, "../"))
    changes: dict[tuple[str, ...], list[Noted]] = defaultdict(list)
    for noted in system.changes:
        changes[noted.change.key].append(noted)
    for case, its in by_case(system.series).items():
        own = [noted for each in its for noted in changes[each.key]]
        pages[address_of(case)] = _case_page(system, case, its, own)
    return pages


def _listed(title: str, up: Sequence[tuple[str, str]], rows: Sequence[Entry]) -> str:
    section = Section("Cases", _CASE_HEADS, rows, NO_HISTORY, search=True)
    return render(ListPage(title, "", up, [section]))


def _alarms_page(system: System) -> str:
    notes = [(noted.change, noted.state, noted.last_run, noted.explained) for noted in system.changes]
    view = history_view(
        f"Since when is it slower? {system.name}", notes, system.series, system.answer, system.coverage,
        system.silent, SMALL,
    )  # fmt: skip
    links = [("all systems", "../index.html"), (system.name, "index.html")]
    return render_verdicts(replace(view, links=links, runs="runs/"))


def _case_page(
    system: System, case: tuple[tuple[str, str], ...], series: Sequence[Series], changes: Sequence[Noted]
) -> str:
    """The page of a case: how its points went over the nights, metric by metric; what changed, and what else did."""
    notes = [(noted.change, noted.state, noted.last_run, noted.explained) for noted in changes]
    ringing = sum(noted.rings for noted in changes)
    nights = len({run[:DAY] for each in series for run in each.runs})
    answer = f"{plural(len(changes), 'change')}, {plural(ringing, 'alarm')} in {plural(nights, 'night')}"
    view = history_view(", ".join(filter(None, _names(case, series))), notes, series, answer, "", (), SMALL)
    trends = [_trend_plot(its) for its in _by_metric(series)]
    links = [("all systems", "../../index.html"), (system.name, "../index.html"), ("alarms", "../alarms.html")]
    return render_verdicts(replace(view, series=[*trends, *view.series], links=links, runs="../runs/"))


def _by_metric(series: Sequence[Series]) -> list[list[Series]]:
    ordered = sorted(series, key=lambda each: list(METRICS).index(each.metric))
    return [list(its) for _, its in itertools.groupby(ordered, key=lambda each: each.metric)]


def _trend_plot(series: Sequence[Series]) -> Plot:
    """The trend of a metric of a case."""
    metric = series[0].metric
    runs, values = trend(series)
    title = f"{METRICS[metric].title}: the median over {plural(len(series), 'point')}, against its usual value"
    return plot_of(runs, values, title, _relative_words(metric), id=f"trend-{metric}")


def feed_entries(systems: Sequence[System]) -> list[dict[str, str]]:
    """The alarms that ring, also of what is silent, the newest first: id, title, text, address and moment of each."""
    entries = []
    for system in systems:
        began = {night.name: night.began_utc for night in system.nights}
        grouped: dict[tuple[str, str], list[Noted]] = defaultdict(list)
        series_of_key = {each.key: each for each in system.series}
        for noted in system.changes:
            if noted.rings:
                grouped[noted.change.run, noted.explained].append(noted)
        for (run, explained), alike in grouped.items():
            first = alike[0].change
            cases = {case_of(series_of_key[noted.change.key]) for noted in alike}
            named = ", ".join(filter(None, names_of({**first.case, "metric": first.metric})))
            entries.append(
                {
                    "id": f"{system.name}/{run}/{first.name}",
                    "title": f"{system.name}: {plural(len(cases), 'case')} slower since {run}: {named}",
                    "text": explained or "nothing else changed",
                    "address": f"{system.name}/alarms.html",
                    "updated": began.get(run, system.newest.began_utc),
                }
            )
        for silence in (one for one in system.silent if not one.acknowledged):
            named = ", ".join(filter(None, names_of(silence.case)))
            entries.append(
                {
                    "id": f"{system.name}/{silence.since}/{silence.name}",
                    "title": f"{system.name}: not measured since {silence.since}: {named}",
                    "text": silence.why,
                    "address": f"{system.name}/alarms.html",
                    "updated": began.get(silence.since, system.newest.began_utc),
                }
            )
    return sorted(entries, key=lambda entry: entry["updated"], reverse=True)


def feed(systems: Sequence[System], made_utc: str, base: str) -> str:
    """The alarms as an Atom feed.  base: the address of the site, which may be empty."""
    entries = feed_entries(systems)
    return page.environment().get_template("published.atom").render(entries=entries, made_utc=made_utc, base=base)


def badge(system: System) -> str:
    """How a system is, as a small picture (SVG)."""
    said = plural(system.ringing, "alarm") if system.ringing else "good" if system.state == GOOD else "failed"
    return page.environment().get_template("badge.svg").render(said=said, css=system.state)


def as_json(systems: Sequence[System], made_utc: str) -> str:
    """What dashboards read: a line's worth of facts for each system, and its alarms."""
    document = {
        "schema": "mpi-campaign.published",
        "schema_version": 1,
        "made_utc": made_utc,
        "silent_hours": SILENT_HOURS,
        "systems": [
            {
                "name": system.name,
                "state": system.state,
                "words": system.words,
                "newest_run": system.newest.name,
                "newest_utc": system.newest.began_utc,
                "ringing": system.ringing,
                "nights": len(system.nights),
                "cases": len(by_case(system.series)),
                "alarms": feed_entries([system]),
            }
            for system in systems
        ],
    }
    return json.dumps(document, indent=1, ensure_ascii=False) + "\n"


def silent(document: Mapping[str, Any], now: pd.Timestamp) -> list[str]:
    """The systems of an `index.json` that are silent, a line each."""
    lines = []
    for system in document["systems"]:
        hours = (now - pd.Timestamp(system["newest_utc"])).total_seconds() / 3600
        if hours > float(document["silent_hours"]):
            lines.append(
                f"{system['name']} is silent: its newest night, {system['newest_run']}, began {hours:.0f} h ago"
            )
    return lines
