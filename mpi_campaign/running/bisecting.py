"""`campaign bisect`: the first one of a series of libraries that is slower than the first of all, or faster.

Each step is a run of two libraries in turn, which ends as soon as they are told apart (`running.judged`). All steps
together keep the rate of wrong answers. A step that was carried out once is not carried out again.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.options import Options
from mpi_campaign.running import judged
from mpi_campaign.running.again import narrowed
from mpi_campaign.toolchains.series import Series
from mpi_campaign.verdicts import judging
from postprocess.statistics import bisection
from postprocess.statistics.bisection import BAD, GOOD, UNJUDGED
from postprocess.statistics.limits import LARGEST_LEAST, Limits
from postprocess.verdicts.blame import Blame, Row, Step
from postprocess.verdicts.compare import METRICS, SLOWER, UNKNOWN, Comparison, group_columns

SHARE = 1 / 3
"""A library is bad where it is slower by this share of what the last one is slower: so that of two changes that are
about as large the first is found. Where a faster one is searched for, likewise."""
BESIDE = 3
"""Questions besides the steps: the two ends, what was found against the one before it, and the end against it."""


@dataclass
class Bisection:
    """A search.

    options: of a run of `judged`; its toolchains do not matter.  counts: what counts as a difference, and the rate of
    wrong answers of the whole search.  say: is told what is asked.  sought: SLOWER or FASTER, what the last one is and
    the first is not.
    """

    series: Series
    options: Options
    root: Path
    command_line: Sequence[str]
    metrics: tuple[str, ...]
    counts: Limits
    say: Callable[[str], None]
    sought: str = SLOWER
    steps: list[Step] = field(default_factory=list)
    had: set[str] = field(default_factory=set)
    launched: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sought = [self.sought] if self.sought != SLOWER else []
        facts = [self.series.names, self.options.as_dict(), self.metrics, repr(self.counts), *sought]
        self.key = hashlib.sha256(json.dumps(facts, default=str).encode()).hexdigest()[:16]
        self.steps_at_most = bisection.most_questions(len(self.series.names))

    def search(self) -> Blame:
        """Carry out the search. Raises CampaignError where the ends cannot be measured."""
        names = self.series.names
        ends = self._judge(names[0], names[-1])
        differing = ends.rows[ends.rows["verdict"] == self.sought]
        if differing.empty:
            untold = ends.count(UNKNOWN)
            but = f", but {untold} of {len(ends.rows)} maps cannot be told" if untold else ""
            return self._blame(f"{names[-1]} is {self.sought} than {names[0]} in none{but}")
        clearest = differing.sort_values("p_value").head(1)
        self._narrow(clearest)
        found = bisection.search(len(names), self._verdict)
        last_good, first_bad = names[found.last_good], names[found.first_bad]
        try:
            step = clearest if (last_good, first_bad) == (names[0], names[-1]) else self._row(last_good, first_bad)
        except CampaignError as error:
            return self._blame(f"{first_bad} against {last_good} before it cannot be told: {error}")
        if step["verdict"].item() != self.sought:
            return self._blame(
                f"{first_bad} is {self.sought} than {names[0]}, but not than {last_good} before it: what is measured "
                "drifts, or has several states"
            )
        rest = None
        with suppress(CampaignError):  # the answer holds without it
            rest = None if first_bad == names[-1] else self._row(first_bad, names[-1])
        another = rest is not None and rest["verdict"].item() == self.sought
        between = names[found.last_good + 1 : found.first_bad]
        return replace(
            self._blame(""),
            last_good=last_good,
            first_bad=first_bad,
            between=between,
            effect=_record(step),
            rest=_record(rest) if another and rest is not None else None,
        )

    def _blame(self, why_none: str) -> Blame:
        names = self.series.names
        launches = sum(self.launched.values())
        had = len(self.had)
        return Blame(self.sought, names[0], names[-1], len(names), why_none, tuple(self.steps), had, launches)

    def _narrow(self, clearest: pd.DataFrame) -> None:
        """From now on only the map and the metric are looked at in which the ends differ most clearly."""
        self.case = clearest[[*group_columns(clearest), "metric"]]
        effect = float(clearest["effect"].item())
        self.metrics = (str(clearest["metric"].item()),)
        metric = METRICS[self.metrics[0]]
        size = max(effect, 1 / effect) - 1 if metric.ratio else abs(effect)
        name = "least_ratio" if metric.ratio else "least_difference"
        if metric.least is None:
            least = max(getattr(self.counts, name), SHARE * size)
            self.counts = replace(self.counts, **{name: min(least, LARGEST_LEAST)})
        self.options = narrowed(self.options, clearest, self.options.budget_seconds)

    def _verdict(self, position: int) -> str:
        """Whether one of the series is bad: slower than the first, or faster where that is sought."""
        name = self.series.names[position]
        asked = sum(step.run != "" for step in self.steps)
        if asked > self.steps_at_most:
            return UNJUDGED
        try:
            verdict = self._row(self.series.names[0], name)["verdict"].item()
        except CampaignError as error:
            self.steps.append(Step(self.series.names[0], name, UNJUDGED, str(error)))
            return UNJUDGED
        return {self.sought: BAD, UNKNOWN: UNJUDGED}.get(str(verdict), GOOD)

    def _row(self, one: str, other: str) -> pd.DataFrame:
        """The row of the case in the comparison of two. Raises CampaignError where it was not measured."""
        comparison = self._judge(one, other)
        rows: pd.DataFrame = comparison.rows.merge(self.case, on=list(self.case))
        if len(rows) != 1:
            raise CampaignError(f"{one} and {other} have the case in {len(rows)} maps")
        self.steps[-1] = replace(self.steps[-1], verdict=str(rows["verdict"].item()), effect=_record(rows))
        return rows

    def _judge(self, one: str, other: str) -> Comparison:
        """Measure two of the series beside each other, unless that was done. Raises CampaignError."""
        sides = (self.series.have(one), self.series.have(other))
        self.say(f"step {len(self.steps) + 1}: {other} against {one}")
        questions = self.steps_at_most + BESIDE
        question = judging.Asked.among(questions, self.counts, sides=sides, metrics=self.metrics, search=self.key)
        folder = _earlier(question, self.root) or judged.measure(
            question, replace(self.options, toolchains=sides), self.root, self.command_line
        )
        self.had |= {one, other}
        comparison = judging.compared(folder)
        self.launched[folder.run] = len(run_folders.read_manifest(folder)["cases"])
        counts = {verdict: comparison.count(verdict) for verdict in dict.fromkeys(comparison.rows["verdict"])}
        words = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
        self.steps.append(Step(one, other, words, "", folder.run))
        self.say(f"step {len(self.steps)}: {words}")
        return comparison


def _earlier(question: judging.Asked, root: Path) -> RunFolder | None:
    """The run of which the same was asked, if all of it was launched."""
    for run in run_folders.runs(root):
        manifest = run_folders.manifest_or_none(run)
        launched = all(case.get("result") != "missing" for case in manifest.get("cases") or [{"result": "missing"}])
        if launched and manifest.get(run_folders.JUDGED) == question.marks[run_folders.JUDGED]:
            return run
    return None


def _record(rows: pd.DataFrame) -> Row:
    record: dict[Any, Any] = rows.iloc[0].to_dict()
    return record
