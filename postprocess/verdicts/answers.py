"""What a run answers: which library is faster and which hides more, whether a configuration pays, and whether anything
has become slower. Sentences and matrices that count the verdicts of `compare`; they decide nothing themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import pandas as pd

from postprocess.drawing.text import clean, first_of, shortened
from postprocess.families import registry
from postprocess.families.family import Metric
from postprocess.verdicts.compare import FASTER, METRICS, SLOWER, UNKNOWN, Comparison
from postprocess.verdicts.compare_text import (
    Pairs,
    cell_words,
    effect_words,
    interval_words,
    names_of,
    target_words,
    too_wide,
)
from postprocess.verdicts.tallies import Tally, tally
from postprocess.verdicts.verdict_page import cell_css

MOST_LINES = 12
"""The most sentences of a question at the end of a run: nobody decides by more. The report has all of them."""
MOST_NAMES = 3
"""The most pairs that are named of which nothing could be decided."""


@dataclass(frozen=True)
class Question:
    """A question that a run answers.

    title: what is compared.  more: the command that shows every case.  pairs: the comparisons, by the words of A and B.
    group: a word that the questions share which make one matrix, each a line of it; empty where the sides of this one
    make a matrix.  in_turn: whether each side is held against the one before it: then only steps are told, and there is
    no matrix.  apart: whether B is the whole run, and A what was measured before: then all metrics count together.
    """

    title: str
    more: str
    pairs: Pairs
    group: str = ""
    in_turn: bool = False
    apart: bool = False


@dataclass(frozen=True)
class Answers:
    """What a run answers.  notes: why something that could be asked is not answered, a line each."""

    questions: tuple[Question, ...] = ()
    notes: tuple[str, ...] = ()


NOT_ASKED = Answers()
"""Those of a page that is made of a run alone."""


def answering(rows: pd.DataFrame) -> list[Metric]:
    """The metrics that an answer is about, of those that were compared."""
    there = set(rows["metric"])
    return [metric for name, metric in METRICS.items() if name in there and metric.better_words]


def sentences(question: Question) -> list[str]:
    """The answers to a question, a line each. Pairs of sides of which nothing could be decided have none."""
    found: list[str] = []
    for (a, b), comparison in question.pairs.items():
        if question.apart and comparison.decided:
            found += [_since(comparison), *(f"note: {clean(remark)}" for remark in comparison.remarks)]
        elif not (question.apart or (question.in_turn and not _has_step(comparison))):
            first, others = _by_family(answering(comparison.rows))
            each = [_which(comparison, metric, clean(a), clean(b)) for metric in first[: 1 if question.group else None]]
            found += [words for words, _ in each] if any(is_decided for _, is_decided in each) else []
            found += _also(comparison, others, clean(a), clean(b))
    if question.in_turn and not found and any(comparison.decided for comparison in question.pairs.values()):
        found = ["no decided comparison finds a difference"]
    return found


def _has_step(comparison: Comparison) -> bool:
    """Whether a metric that an answer is about differs in any case."""
    rows = comparison.rows[comparison.rows["metric"].isin([metric.name for metric in answering(comparison.rows)])]
    return bool(rows["verdict"].isin([SLOWER, FASTER]).any())


def _by_family(metrics: Sequence[Metric]) -> tuple[list[Metric], list[Metric]]:
    """The metrics of the first family among them, and the others."""
    family = registry.FAMILY_OF[metrics[0].name] if metrics else None
    first = [metric for metric in metrics if registry.FAMILY_OF[metric.name] is family]
    return first, [metric for metric in metrics if metric not in first]


def _also(comparison: Comparison, metrics: Sequence[Metric], a: str, b: str) -> list[str]:
    """In a line, what each side does better in most of the decided cases of these metrics; empty where none is
    decided."""
    by_side: dict[str, list[str]] = {b: [], a: [], "neither": []}
    for metric in metrics:
        found = tally(comparison.rows[comparison.rows["metric"] == metric.name])
        most, side = max((found.same, "neither"), (found.better, b), (found.worse, a), key=lambda count: count[0])
        if most:
            by_side[side].append(f"{metric.better_words} ({most} of {found.decided})")
    told = [f"{side} {', '.join(words)}" for side, words in by_side.items() if words]
    return [f"other benchmarks, decided {comparison.cases}: {'; '.join(told)}"] if told else []


def _which(comparison: Comparison, metric: Metric, a: str, b: str) -> tuple[str, bool]:
    """Which of two sides is better by a metric, and whether that is decided in any case."""
    rows = comparison.rows[comparison.rows["metric"] == metric.name]
    found = tally(rows)
    if not found.decided:
        return (
            f"whether {a} or {b} {metric.better_words} cannot be told in any of {found.total} {comparison.cases}",
            False,
        )
    if found.worse > found.better:
        a, b, found = b, a, tally(rows, turned=True)
    where = f"of {found.decided} decided {comparison.cases}"
    beside = f"{a} in {found.worse}" if found.worse else ""
    if found.same > found.better:
        others = [f"{b} in {found.better}" if found.better else "", beside]
        words = [f"neither {a} nor {b} {metric.better_words} in {found.same} {where}", *others]
        of_whom = f"{b} against {a} "
    else:
        same = f"neither in {found.same}" if found.same else ""
        words = [f"{b} {metric.better_words} than {a} in {found.better} {where}", beside, same]
        of_whom = ""
    median = f"{of_whom}{median_words(metric, found)} in the median of {found.known}"
    return f"{', '.join(filter(None, words))}: {median} ({_decided_by(found, comparison)}{_at_equal(rows)})", True


def median_words(metric: Metric, found: Tally) -> str:
    """The median effect and its interval; empty where there is none."""
    ends = {"metric": metric.name, "effect_ci95_low": found.low, "effect_ci95_high": found.high}
    return f"{effect_words(metric.name, found.effect)} {interval_words(ends)}".strip()


def _decided_by(found: Tally, comparison: Comparison) -> str:
    """What decided, and what could not be told."""
    least, most = found.launches
    launches = str(least) if least == most else f"{least} to {most}"
    units = comparison.unit if most == 1 else comparison.units
    unknown = f"; {found.unknown} of {found.total} cannot be told" if found.unknown else ""
    return f"{launches} {units} a side{unknown}"


def _at_equal(rows: pd.DataFrame) -> str:
    """At an equal value of what these rows of a metric are compared; empty where at none."""
    adjusted = rows.loc[rows["at_equal"] != "", "at_equal"]
    return f"; {len(adjusted)} at equal {METRICS[adjusted.iloc[0]].title}" if len(adjusted) else ""


def _since(comparison: Comparison) -> str:
    """Whether something is slower than before."""
    found = tally(comparison.rows)
    where = f"of {found.decided} decided comparisons"
    counts = f"faster in {found.better}, no different by what counts in {found.same}"
    words = f"slower in {found.worse} {where}, {counts}" if found.worse else f"nothing is slower: {counts} {where}"
    return f"{words} ({_decided_by(found, comparison)}){_worst(comparison)}"


def _worst(comparison: Comparison) -> str:
    """The case that has become slower by most, in the measure of what counts; empty where none has."""
    slower = comparison.rows[comparison.rows["verdict"] == SLOWER].to_dict("records")
    if not slower:
        return ""
    row = max(slower, key=lambda one: METRICS[one["metric"]].times_least(one["effect"], comparison.limits))
    case = " ".join(filter(None, [*names_of(row), *target_words(row)]))
    change = f"{METRICS[row['metric']].title} {effect_words(row['metric'], row['effect'])} {interval_words(row)}"
    return f"; most of all {case}: {change}"


def undecided(answers: Answers) -> str:
    """Why some of what was asked cannot be told, most often, and what to do; empty where all is decided."""
    pairs = [pair for question in answers.questions for pair in question.pairs.items()]
    if all(comparison.decided == len(comparison.rows) for _, comparison in pairs):
        return ""
    unknown, total = (sum(counts) for counts in zip(*((c.count(UNKNOWN), len(c.rows)) for _, c in pairs), strict=True))
    why: Counter[str] = Counter()
    for _, comparison in pairs:
        why.update(comparison.rows.loc[comparison.rows["verdict"] == UNKNOWN, "reason"])
    ((reason, often),) = why.most_common(1)
    if not reason:  # how many launches it would take differs
        reason = too_wide(max((comparison for _, comparison in pairs), key=_count_of_too_wide))
    silent = [clean(f"{b} against {a}") for (a, b), comparison in pairs if not comparison.decided]
    nothing = f", nothing of {first_of(silent, MOST_NAMES)}" if silent else ""
    words = f"{unknown} of {total} comparisons could not be decided{nothing}"
    return f"{words}; most often ({often} of {unknown}): {clean(reason)}"


def _count_of_too_wide(comparison: Comparison) -> int:
    return int(((comparison.rows["verdict"] == UNKNOWN) & (comparison.rows["reason"] == "")).sum())


def lines(answers: Answers) -> list[str]:
    """The end of a run: each question with its answers, then what could not be told."""
    found = []
    for question in answers.questions:
        if told := sentences(question):
            found.append(f"{question.title} (all of it: {question.more})")
            found += [f"  {line}" for line in shortened(told, MOST_LINES, ", in the report")]
    return [*found, *filter(None, [undecided(answers), *answers.notes])]


@dataclass(frozen=True)
class Cell:
    """css: the class of its first verdict.  counts: see MATRIX_KEY.  median: the median effect and its interval."""

    css: str
    counts: str
    median: str


@dataclass(frozen=True)
class MetricMatrix:
    """The comparisons of one metric: sides against sides, or configurations of libraries against `basic`."""

    title: str
    corner: str
    columns: Sequence[str]
    rows: Sequence[tuple[str, Sequence[Cell | None]]]


def matrices(answers: Answers) -> list[MetricMatrix]:
    """The matrices of a run, one for each metric that answers: of its libraries, then of its configurations."""
    of_sides = [one for one in answers.questions if not (one.group or one.in_turn or one.apart)]
    grouped = [question for question in answers.questions if question.group]
    found = [grid for question in of_sides for grid in _grids("against", question.pairs)]
    of_groups = {(one.group, b): pair for one in grouped for (_, b), pair in one.pairs.items()}
    return found + _grids("against basic", of_groups)


def _grids(corner: str, pairs: Pairs) -> list[MetricMatrix]:
    """A matrix per metric, by the words of the line and the column."""
    lines, columns = (list(dict.fromkeys(names[place] for names in pairs)) for place in (0, 1))
    there = {name for comparison in pairs.values() for name in comparison.rows["metric"].unique()}
    return [
        MetricMatrix(
            metric.title,
            corner,
            columns,
            [(line, [_cell(pairs.get((line, column)), metric) for column in columns]) for line in lines],
        )
        for metric in METRICS.values()
        if metric.better_words and metric.name in there
    ]


def _cell(comparison: Comparison | None, metric: Metric) -> Cell | None:
    if comparison is None:
        return None
    own = replace(comparison, rows=comparison.rows[comparison.rows["metric"] == metric.name])
    return Cell(cell_css(own), cell_words(own), median_words(metric, tally(own.rows))) if len(own.rows) else None
