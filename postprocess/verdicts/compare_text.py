"""Comparisons in words: a table for the terminal, JSON, JUnit for a build server, Markdown for a pull request."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from postprocess.drawing.columns import aligned
from postprocess.drawing.text import clean, duration, ratio
from postprocess.families import registry
from postprocess.families.axes import configuration_words
from postprocess.records.as_json import rows_as_json
from postprocess.verdicts.compare import (
    FASTER,
    LAUNCH,
    METRICS,
    SLOWER,
    UNKNOWN,
    VERDICTS,
    Comparison,
    group_columns,
    numbered,
)
from postprocess.verdicts.junit import FAILURE, SKIPPED, TestCase, junit, suites

POINT_AXES = tuple(one for one in registry.AXES if one.of == "point")
"""In what the cases of one map differ."""
MOST_ADVISED = 1000
"""Of launches: nobody measures more."""
MOST_RUNS = 3
"""That are named one by one."""
MOST_LINES = 1000
"""Of a table in the terminal: nobody reads more."""
MATRIX_KEY = "each cell: cases slower / faster / compared, of the column's side against the row's"

Pairs = Mapping[tuple[str, str], Comparison]
"""Comparisons by the words of their sides, each side with those after it."""


def sides_of(pairs: Pairs) -> list[str]:
    """The words of all sides, in their order."""
    return list(dict.fromkeys(words for names in pairs for words in names))


def cell_words(found: Comparison) -> str:
    """A cell of the matrix: see MATRIX_KEY."""
    return f"{found.count(SLOWER)} / {found.count(FASTER)} / {len(found.rows)}"


def _matrix_lines(pairs: Pairs) -> list[list[str]]:
    """The matrix of several pairs, heads first."""
    words = sides_of(pairs)
    cells = {names: cell_words(found) for names, found in pairs.items()}
    return [
        ["against", *words[1:]],
        *([one, *(cells.get((one, two), "") for two in words[1:])] for one in words[:-1]),
    ]


def comparisons_text(pairs: Pairs, *, every: bool = False) -> str:
    """What `compare` prints: of two sides all that is known, of more a matrix, and what changed in each pair."""
    several = len(pairs) > 1
    told = [comparison_text(found, names, every=every, maps=not several) for names, found in pairs.items()]
    if several:
        heads, *lines = _matrix_lines(pairs)
        told.insert(0, f"{aligned(heads, lines, right=set())}\n{MATRIX_KEY}")
    return "\n\n".join(told)


def comparison_text(found: Comparison, sides: Sequence[str], *, every: bool = False, maps: bool = True) -> str:
    """What `compare` prints: a line per map and metric, then every case that changed, then what was not compared."""
    parts = [
        _maps_text(found) if maps else "",
        _changes_text(found, every=every),
        "\n".join(missing_lines(found, sides)),
        summary(found, sides),
    ]
    return "\n\n".join(filter(None, parts))


def summary(found: Comparison, sides: Sequence[str]) -> str:
    """The answer in one line, and what to do about it in another where there is something."""
    sides = list(map(clean, sides))
    total = len(found.rows)
    if not total:
        return f"nothing was compared: {sides[0]} and {sides[1]} have no case in common"
    counts = ", ".join(f"{found.count(verdict)} {verdict}" for verdict in VERDICTS)
    lines = [f"{sides[1]} against {sides[0]}: {counts}, of {total} comparisons"]
    lines += [f"  {words}: {runs_words(runs)}" for words, runs in zip(sides, found.runs, strict=True)]
    lines += [f"  note: {remark}" for remark in found.remarks]
    lines += [f"  cannot tell: {count} x {reason}" for reason, count in reasons(found).items()]
    return "\n".join(lines)


def runs_words(runs: Sequence[str]) -> str:
    """Which runs a side is of, in a line."""
    if len(runs) <= MOST_RUNS:
        return f"run{'s' * (len(runs) != 1)} {', '.join(map(clean, runs))}"
    return f"{len(runs)} runs, {clean(runs[0])} to {clean(runs[-1])}"


def reasons(found: Comparison) -> dict[str, int]:
    """Why it cannot be told, and how often, most often first."""
    unknown = found.rows[found.rows["verdict"] == UNKNOWN]
    counted = unknown["reason"].replace("", too_wide(found)).value_counts()
    return {str(reason): int(count) for reason, count in counted.items()}


def too_wide(found: Comparison) -> str:
    """What is said of cases whose interval reaches from no difference to one that matters."""
    more = launches_needed(found)
    how = f" (--repeat {more})" if found.unit == LAUNCH else ""
    told = 0 < more <= MOST_ADVISED
    advice = f"; about {more} {found.units} of each side would tell most of them{how}" if told else ""
    return f"{found.units} differ too much{advice}"


def launches_needed(found: Comparison) -> int:
    """How many launches, or runs, of each side half of the undecided cases would need; 0 where that is not known.

    The interval narrows with the root of their number.
    """
    rows = found.rows[(found.rows["verdict"] == UNKNOWN) & (found.rows["reason"] == "")]
    if rows.empty:
        return 0
    ratios = rows["metric"].map({name: one.ratio for name, one in METRICS.items()}).to_numpy(bool)
    low, high = (rows[f"effect_ci95_{end}"].to_numpy(np.float64) for end in ("low", "high"))
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(ratios, np.log(high / low), high - low) / 2
        aim = np.where(ratios, math.log1p(found.limits.least_ratio), found.limits.least_difference)
        fewest = rows[["launches_a", "launches_b"]].min(axis=1).to_numpy(np.float64)
        wanted = fewest * (reach / aim) ** 2
    told = wanted[np.isfinite(wanted)]
    return int(max(math.ceil(float(np.median(told))), fewest.max() + 1)) if told.size else 0


def _maps_text(found: Comparison) -> str:
    heads = ["toolchain", "network", "configuration", "collective", "metric", *VERDICTS, "median", "least", "most"]
    number, maps = numbered(found.rows, [*group_columns(found.rows), "placement", "metric"])
    effect = found.rows["effect"].astype(float)
    ends = effect.where(np.isfinite(effect)).groupby(number).agg(["median", "min", "max"]).to_numpy()
    counts = [np.bincount(number[(found.rows["verdict"] == one).to_numpy()], minlength=len(maps)) for one in VERDICTS]
    lines = [
        [
            *names_of(row),
            METRICS[row["metric"]].title,
            *(str(count[place]) for count in counts),
            *(effect_words(row["metric"], end) for end in ends[place]),
        ]
        for place, row in enumerate(maps.head(MOST_LINES).to_dict("records"))
    ]
    left = f"and {len(maps) - len(lines)} more, in --json" if len(maps) > len(lines) else ""
    return "\n".join(filter(None, [aligned(heads, lines, right=set(range(5, 12))), left])) if lines else ""


def _changes_text(found: Comparison, *, every: bool) -> str:
    rows = found.rows if every else found.rows[found.rows["verdict"].isin([SLOWER, FASTER])]
    heads = ["verdict", "toolchain", "network", "configuration", "collective", *(one.head for one in POINT_AXES)]
    heads += ["metric", "A", "B", "B against A", "95 %", found.units, "rate", "why not"]
    behind = 5 + len(POINT_AXES)
    right = {*range(5, behind), *range(behind + 1, behind + 4), behind + 6}
    lines = [
        [
            row["verdict"],
            *names_of(row),
            *target_words(row),
            METRICS[row["metric"]].title,
            *(value_words(row["metric"], row[f"value_{side}"]) for side in "ab"),
            effect_words(row["metric"], row["effect"]),
            interval_words(row),
            f"{row['launches_a']}, {row['launches_b']}",
            "" if math.isnan(row["q_value"]) else f"{row['q_value']:.2g}",
            row["reason"],
        ]
        for row in (rows if every else rows.head(MOST_LINES)).to_dict("records")
    ]
    left = f"and {len(rows) - len(lines)} more, shown with --all" if len(rows) > len(lines) else ""
    return "\n".join(filter(None, [aligned(heads, lines, right), left])) if lines else ""


def names_of(row: Mapping[Any, Any]) -> list[str]:
    """Toolchain, network, configuration and collective of a case, its benchmark where that has no collectives; empty is
    what the sides differ in."""
    full = {"configuration": "", "placement": "", **row}
    what = full.get("collective") or full.get("benchmark", "")
    words = ", ".join(filter(None, [configuration_words(full).lstrip(", "), full["placement"]]))
    named = {**full, "configuration": words, "collective": what}
    return [clean(named.get(name, "")) for name in ("toolchain", "network", "configuration", "collective")]


def value_words(metric: str, value: float) -> str:
    """A side's value: a duration or a ratio."""
    if math.isnan(value):
        return ""
    return duration(value) if metric.endswith("_ns") else ratio(value)


def target_words(row: Mapping[Any, Any]) -> list[str]:
    """What a case stands for on each of POINT_AXES, such as its communication time; empty where it has none."""
    return ["" if one.is_usual(row[one.name]) else one.words(row[one.name]) for one in POINT_AXES]


def effect_words(metric: str, effect: float) -> str:
    """An effect: ``+3.1 %`` of a ratio, ``+0.12`` of a difference."""
    if not math.isfinite(effect):
        return ""
    return f"{100 * (effect - 1):+.1f} %" if METRICS[metric].ratio else f"{effect:+.2f}"


def interval_words(row: Mapping[Any, Any]) -> str:
    """The effect's interval."""
    ends = [effect_words(row["metric"], row[f"effect_ci95_{end}"]) for end in ("low", "high")]
    return f"[{ends[0]}, {ends[1]}]" if all(ends) else ""


def missing_lines(found: Comparison, sides: Sequence[str]) -> list[str]:
    """The cases of one side alone, a line per map."""
    lines = []
    for words, only in zip(sides, (found.only_a, found.only_b), strict=True):
        lines += [
            f"only in {clean(words)}: {' '.join(filter(None, names_of(rows.iloc[0].to_dict())))}, {len(rows)} points"
            for _, rows in only.groupby(group_columns(only), observed=True, sort=False)
        ]
    return lines


def comparisons_json(pairs: Pairs) -> str:
    """One object: of two sides their comparison; of more the sides, the matrix (row's side, column's side, how often
    each verdict of the column's against the row's), and the comparison of each pair."""
    parts = [_document(found, names) for names, found in pairs.items()]
    if len(parts) == 1:
        return _dumped(parts[0])
    matrix: dict[str, dict[str, Any]] = {one: {} for one in sides_of(pairs)[:-1]}
    for part in parts:
        matrix[part["a"]][part["b"]] = {**part["verdicts"], "compared": len(part["cases"])}
    head = {"schema": "mpi-campaign.comparisons", "schema_version": 1, "sides": sides_of(pairs), "matrix": matrix}
    return _dumped({**head, "pairs": parts})


def comparison_json(found: Comparison, sides: Sequence[str]) -> str:
    """One object: the sides, the limits, how often each verdict, every case, and those of one side alone."""
    return _dumped(_document(found, sides))


def _dumped(document: Mapping[str, Any]) -> str:
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def _document(found: Comparison, sides: Sequence[str]) -> dict[str, Any]:
    return {
        "schema": "mpi-campaign.comparison",
        "schema_version": 1,
        "a": sides[0],
        "b": sides[1],
        "runs_a": found.runs[0],
        "runs_b": found.runs[1],
        "least_ratio": found.limits.least_ratio,
        "least_difference": found.limits.least_difference,
        "false_discovery_rate": found.limits.rate,
        "unit": found.unit,
        "remarks": found.remarks,
        "verdicts": {verdict: found.count(verdict) for verdict in VERDICTS},
        "cannot_tell": reasons(found),
        "cases": rows_as_json(found.rows.drop(columns="placement")),
        "only_in_a": rows_as_json(found.only_a.drop(columns="placement")),
        "only_in_b": rows_as_json(found.only_b.drop(columns="placement")),
    }


def comparisons_junit(pairs: Pairs) -> str:
    """A test suite per pair."""
    parts = [comparison_junit(found, names) for names, found in pairs.items()]
    return parts[0] if len(parts) == 1 else suites(parts)


def comparison_junit(found: Comparison, sides: Sequence[str]) -> str:
    """A test case per case and metric: slower fails, what cannot be told is skipped with its reason, and so is what
    only one side has, a map each."""
    wide = too_wide(found)
    compared = [_test_case(row, wide) for row in found.rows.to_dict("records")]
    alone = [TestCase("missing", line, SKIPPED, line) for line in missing_lines(found, sides)]
    return junit(f"{sides[1]} against {sides[0]}", [*compared, *alone])


def _test_case(row: Mapping[Any, Any], wide: str) -> TestCase:
    name = " ".join(filter(None, [*names_of(row), *target_words(row)]))
    said = f"{effect_words(row['metric'], row['effect'])} {interval_words(row)}".strip()
    kinds = {SLOWER: (FAILURE, f"slower: {said}"), UNKNOWN: (SKIPPED, row["reason"] or wide)}
    return TestCase(row["metric"], name, *kinds.get(row["verdict"], ()))


def comparisons_markdown(pairs: Pairs, *, every: bool = False) -> str:
    """For a pull request: of more than two sides the matrix as a table, then each pair."""
    parts = [comparison_markdown(found, names, every=every) for names, found in pairs.items()]
    if len(parts) > 1:
        heads, *lines = (list(map(_escaped, line)) for line in _matrix_lines(pairs))
        parts.insert(0, f"{_table(heads, lines)}\n\n{MATRIX_KEY}\n")
    return "\n".join(parts)


def comparison_markdown(found: Comparison, sides: Sequence[str], *, every: bool = False) -> str:
    """For a pull request: the answer, then a table of what changed, or of every case."""
    heads = ["verdict", "case", *(one.head for one in POINT_AXES), "metric", "A", "B", "B against A", "95 %"]
    changed = found.rows if every else found.rows[found.rows["verdict"].isin([SLOWER, FASTER])]
    cells = [
        [
            " ".join(filter(None, names_of(row))),
            *target_words(row),
            METRICS[row["metric"]].title,
            *(value_words(row["metric"], row[f"value_{side}"]) for side in "ab"),
            effect_words(row["metric"], row["effect"]),
            interval_words(row),
        ]
        for row in changed.to_dict("records")
    ]
    marked = [f"**{verdict}**" if verdict == SLOWER else verdict for verdict in changed["verdict"]]
    lines = [[mark, *map(_escaped, line)] for mark, line in zip(marked, cells, strict=True)]
    answer = "\n".join(f"- {_escaped(line.strip())}" for line in summary(found, sides).splitlines())
    missing = [f"- {_escaped(line)}" for line in missing_lines(found, sides)]
    return "\n\n".join(filter(None, [answer, _table(heads, lines) if lines else "", "\n".join(missing)])) + "\n"


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """A table of Markdown, of cells that are escaped."""
    return "\n".join(f"| {' | '.join(line)} |" for line in (heads, ["---"] * len(heads), *lines))


def _escaped(text: str) -> str:
    """Text in a cell of a table of Markdown, in which nothing is markup."""
    return re.sub(r"([\\`*_|~!\[\]])", r"\\\1", clean(text)).replace("&", "&amp;").replace("<", "&lt;")
