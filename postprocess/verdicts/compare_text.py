"""Comparisons in words: a table for the terminal, JSON, JUnit for a build server, Markdown for a pull request."""

import itertools
import json
import math
import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import aligned
from postprocess.drawing.text import clean, duration, plural, quotient, ratio, short, shortened, without_common
from postprocess.families import registry
from postprocess.families.axes import UNUSUAL, configuration_words
from postprocess.families.family import Axis
from postprocess.records.as_json import rows_as_json
from postprocess.verdicts.compare import (
    CELL,
    FASTER,
    LAUNCH,
    METRICS,
    SLOWER,
    UNKNOWN,
    VERDICTS,
    Comparison,
    are_ratios,
    group_columns,
    least_differences,
)
from postprocess.verdicts.junit import FAILURE, SKIPPED, TestCase, junit, suites
from postprocess.verdicts.launches import numbered

POINT_AXES = tuple(axis for axis in registry.AXES if axis.of == "point")
"""The axes in which the cases of one map differ."""
_OF_MAPS = tuple(axis for axis in UNUSUAL if axis.name not in CELL)
"""The axes whose unusual values are part of the name of a map."""
MOST_ADVISED = 100
"""The most launches that are advised. More take so long that the machine changes meanwhile, so that their interval does
not narrow any more as `launches_needed` assumes."""
MOST_RUNS = 3
"""The most runs that are named one by one."""
MOST_LINES, MOST_TOLD = 200, 40
"""The most lines of a table for a pull request, and in the terminal: nobody reads more."""
MOST_MARKDOWN = 50_000
"""The most characters of all that is written for a pull request, which takes 65,536 with what others write there."""
MOST_SHORT = 20
"""The most lines of a list beside a table."""
NOTHING = "nothing can be told"
MATRIX_KEY = "each cell: cases slower / faster / compared, of the column's side against the row's"

Pairs = Mapping[tuple[str, str], Comparison]
"""Comparisons by the words of their two sides. Each side is compared with all sides after it."""


def sides_of(pairs: Pairs) -> list[str]:
    """The words of all sides, in their order."""
    return list(dict.fromkeys(words for names in pairs for words in names))


def cell_words(comparison: Comparison) -> str:
    """A cell of the matrix: see MATRIX_KEY."""
    return f"{comparison.count(SLOWER)} / {comparison.count(FASTER)} / {len(comparison.rows)}"


def _matrix_lines(pairs: Pairs) -> list[list[str]]:
    """The matrix of several pairs, heads first."""
    words = sides_of(pairs)
    cells = {names: cell_words(comparison) for names, comparison in pairs.items()}
    return [["against", *words[1:]], *([one, *(cells.get((one, two), "") for two in words[1:])] for one in words[:-1])]


def comparisons_text(pairs: Pairs, *, every: bool = False) -> str:
    """What `compare` prints: what changed in each pair; for more than two sides after a matrix."""
    parts = [comparison_text(comparison, names, every=every) for names, comparison in pairs.items()]
    if len(pairs) > 1:
        heads, *lines = _matrix_lines(pairs)
        parts.insert(0, f"{aligned(heads, lines, right=set())}\n{MATRIX_KEY}")
    return "\n\n".join(parts)


def comparison_text(comparison: Comparison, sides: Sequence[str], *, every: bool = False) -> str:
    """What `compare` prints of two sides: every case that changed, then what was not compared."""
    parts = [
        _changes_text(comparison, every=every),
        "\n".join(shortened(missing_lines(comparison, sides), MOST_SHORT)),
        summary(comparison, sides),
    ]
    return "\n\n".join(filter(None, parts))


def summary(comparison: Comparison, sides: Sequence[str]) -> str:
    """The answer in one line; then lines with the runs, the remarks, and why verdicts cannot be told."""
    sides = list(map(clean, sides))
    total = len(comparison.rows)
    if not total:
        return f"nothing was compared: {sides[0]} and {sides[1]} have no case in common"
    counts = ", ".join(f"{comparison.count(verdict)} {verdict}" for verdict in VERDICTS)
    lines = [f"{sides[1]} against {sides[0]}: {counts if comparison.decided else NOTHING}, of {total} comparisons"]
    lines += [f"  {words}: {runs_words(runs)}" for words, runs in zip(sides, comparison.runs, strict=True)]
    lines += [f"  note: {remark}" for remark in comparison.remarks]
    unknown = [f"cannot tell: {count} x {reason}" for reason, count in reasons(comparison).items()]
    return "\n".join([*lines, *(f"  {line}" for line in shortened(unknown, MOST_SHORT))])


def runs_words(runs: Sequence[str]) -> str:
    """The runs of a side, in one line."""
    if len(runs) <= MOST_RUNS:
        return f"run{'s' * (len(runs) != 1)} {', '.join(map(clean, runs))}"
    return f"{len(runs)} runs, {clean(runs[0])} to {clean(runs[-1])}"


def reasons(comparison: Comparison) -> dict[str, int]:
    """The reasons that a verdict cannot be told, and how often each is given, the most frequent first."""
    unknown = comparison.rows[comparison.rows["verdict"] == UNKNOWN]
    counted = unknown["reason"].replace("", too_wide(comparison)).value_counts()
    return {str(reason): int(count) for reason, count in counted.items()}


def too_wide(comparison: Comparison) -> str:
    """The reason for cases whose interval holds both no difference and a difference that matters."""
    more = launches_needed(comparison)
    how = f" (--repeat {more})" if comparison.unit == LAUNCH else ""
    if more > MOST_ADVISED:
        advice = (
            f" for differences that small to be told: it would take more than {MOST_ADVISED} {comparison.units} of "
            "each side; measure on a quieter machine, or raise --least-ratio and --least-difference"
        )
    else:
        advice = f"; about {more} {comparison.units} of each side would tell most of them{how}" if more else ""
    return f"{comparison.units} differ too much{advice}"


def launches_needed(comparison: Comparison) -> int:
    """How many launches, or runs, of each side would decide half of the undecided cases; 0 where that is not known.

    An interval narrows with the square root of their number.
    """
    rows = comparison.rows[(comparison.rows["verdict"] == UNKNOWN) & (comparison.rows["reason"] == "")]
    if rows.empty:
        return 0
    ratios = are_ratios(rows)
    low, high = (rows[f"effect_ci95_{end}"].to_numpy(np.float64) for end in ("low", "high"))
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.where(ratios, np.log(high / low), high - low) / 2
        aim = np.where(ratios, math.log1p(comparison.limits.least_ratio), least_differences(rows, comparison.limits))
        fewest = rows[["launches_a", "launches_b"]].min(axis=1).to_numpy(np.float64)
        needed = fewest * (reach / aim) ** 2
    known = needed[np.isfinite(needed)]
    return int(max(math.ceil(float(np.median(known))), fewest.max() + 1)) if known.size else 0


def _maps_table(comparison: Comparison) -> tuple[list[str], list[list[str]]]:
    """A line per map and metric, under heads: how often each verdict was given, and between what the effects are."""
    heads = ["toolchain", "network", "configuration", "collective", "metric", *VERDICTS, "median", "least", "most"]
    number, maps = numbered(comparison.rows, [*group_columns(comparison.rows), "placement", "metric"])
    effect = comparison.rows["effect"].astype(float)
    ends = effect.where(np.isfinite(effect)).groupby(number).agg(["median", "min", "max"]).to_numpy()
    counts = [
        np.bincount(number[(comparison.rows["verdict"] == one).to_numpy()], minlength=len(maps)) for one in VERDICTS
    ]
    return heads, [
        [
            *names_of(row),
            METRICS[row["metric"]].title,
            *(str(count[place]) for count in counts),
            *(effect_words(row["metric"], end) for end in ends[place]),
        ]
        for place, row in enumerate(maps.to_dict("records"))
    ]


def _changes_text(comparison: Comparison, *, every: bool) -> str:
    rows = comparison.rows if every else comparison.changed.head(MOST_TOLD)
    axes = axes_in_use(rows)
    heads = ["verdict", "toolchain", "network", "configuration", "collective", *(axis.head for axis in axes)]
    heads += ["metric", "A", "B", "B against A", "95 %", comparison.units, "rate", "why not"]
    behind = 5 + len(axes)
    right = {*range(5, behind), *range(behind + 1, behind + 4), behind + 6}
    lines = [
        [
            row["verdict"],
            *names_of(row),
            *target_words(row, axes),
            *value_cells(row),
            f"{row['launches_a']}, {row['launches_b']}",
            "" if math.isnan(row["q_value"]) else f"{row['q_value']:.2g}",
            row["reason"],
        ]
        for row in rows.to_dict("records")
    ]
    if not lines:
        return ""
    configuration = heads.index("configuration")
    words, common = without_common([line[configuration] for line in lines])
    for line, left in zip(lines, words, strict=True):
        line[configuration] = left
    kept = [place for place in range(len(heads)) if any(line[place] for line in lines)]
    table = aligned(
        [heads[place] for place in kept],
        [[line[place] for place in kept] for line in lines],
        {number for number, place in enumerate(kept) if place in right},
    )
    more = len(comparison.changed) - len(lines)
    behind_it = [f"in all rows: {common}" * bool(common), f"and {more} more, shown with --all" * (more > 0)]
    return "\n".join(filter(None, [table, *behind_it]))


def value_cells(row: Mapping[Any, Any]) -> list[str]:
    """The metric of a row, the values of A and B, the effect and its interval."""
    return [
        METRICS[row["metric"]].title,
        *(value_words(row["metric"], row[f"value_{side}"]) for side in "ab"),
        effect_words(row["metric"], row["effect"]),
        interval_words(row),
    ]


def names_of(row: Mapping[Any, Any]) -> list[str]:
    """Toolchain, network, configuration and collective of a map, or of the map of a case. Names in which the sides
    differ are empty. `target_words` says which case of the map it is.

    A benchmark without collectives has its own name in the place of the collective.
    """
    full = {"configuration": "", "placement": "", "conditions": "", **row}
    words = [configuration_words(full, _OF_MAPS).lstrip(", "), full["placement"], full["conditions"]]
    what = full.get("collective") or full.get("benchmark", "")
    names = (full.get("toolchain", ""), full.get("network", ""), ", ".join(filter(None, words)), what)
    return list(map(clean, names))


def value_words(metric: str, value: float) -> str:
    """A side's value: a duration, a ratio, or a number of any size."""
    if math.isnan(value):
        return ""
    return duration(value) if metric.endswith("_ns") else quotient(value) if "_per_" in metric else ratio(value)


def axes_in_use(cases: pd.DataFrame) -> tuple[Axis, ...]:
    """Those of POINT_AXES on which some case has a value: each family has others."""
    return tuple(axis for axis in POINT_AXES if axis.name in cases and (cases[axis.name] != axis.usual).any())


def target_words(row: Mapping[Any, Any], axes: Sequence[Axis] = POINT_AXES) -> list[str]:
    """A case's value on each of these axes, such as its communication time; empty where it has none."""
    return ["" if axis.is_usual(row[axis.name]) else axis.words(row[axis.name]) for axis in axes]


def effect_words(metric: str, effect: float) -> str:
    """An effect: ``+3.1 %`` of a ratio, ``+0.12`` of a difference, ``+120 ns`` of a difference of times."""
    if not math.isfinite(effect):
        return ""
    if METRICS[metric].ratio:
        return f"{100 * (effect - 1):+.1f} %"
    if metric.endswith("_ns"):
        return f"{'+' if effect > 0 else ''}{duration(effect)}"
    return f"{effect:+.2f}"


def interval_words(row: Mapping[Any, Any]) -> str:
    """The effect's interval."""
    ends = [effect_words(row["metric"], row[f"effect_ci95_{end}"]) for end in ("low", "high")]
    return f"[{ends[0]}, {ends[1]}]" if all(ends) else ""


def missing_lines(comparison: Comparison, sides: Sequence[str]) -> list[str]:
    """The cases that only one side has, a line per map."""
    lines = []
    for words, only in zip(sides, (comparison.only_a, comparison.only_b), strict=True):
        lines += [
            f"only in {clean(words)}: {' '.join(filter(None, names_of(rows.iloc[0].to_dict())))}, "
            f"{plural(len(rows), 'point')}"
            for _, rows in only.groupby(group_columns(only), observed=True, sort=False)
        ]
    return lines


def comparisons_json(pairs: Pairs) -> str:
    """One JSON object: for two sides their comparison; for more the sides, the matrix, and the comparison of each pair.

    The matrix has, by the row's side and the column's side, the count of each verdict on the column's side.
    """
    parts = [_document(comparison, names) for names, comparison in pairs.items()]
    matrix: dict[str, dict[str, Any]] = {side: {} for side in sides_of(pairs)[:-1]}
    for part in parts:
        matrix[part["a"]][part["b"]] = {**part["verdicts"], "compared": len(part["cases"])}
    head = {"schema": "mpi-campaign.comparisons", "schema_version": 1, "sides": sides_of(pairs), "matrix": matrix}
    document = {**head, "pairs": parts} if len(parts) > 1 else parts[0]
    return json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False)


def _document(comparison: Comparison, sides: Sequence[str]) -> dict[str, Any]:
    return {
        "schema": "mpi-campaign.comparison",
        "schema_version": 1,
        "a": sides[0],
        "b": sides[1],
        "runs_a": comparison.runs[0],
        "runs_b": comparison.runs[1],
        "least_ratio": comparison.limits.least_ratio,
        "least_difference": comparison.limits.least_difference,
        "false_discovery_rate": comparison.limits.rate,
        "unit": comparison.unit,
        "remarks": comparison.remarks,
        "verdicts": {verdict: comparison.count(verdict) for verdict in VERDICTS},
        "cannot_tell": reasons(comparison),
        "cases": rows_as_json(comparison.rows.drop(columns="placement")),
        "only_in_a": rows_as_json(comparison.only_a.drop(columns="placement")),
        "only_in_b": rows_as_json(comparison.only_b.drop(columns="placement")),
    }


def comparisons_junit(pairs: Pairs) -> str:
    """A test suite per pair."""
    parts = [comparison_junit(comparison, names) for names, comparison in pairs.items()]
    return parts[0] if len(parts) == 1 else suites(parts)


def comparison_junit(comparison: Comparison, sides: Sequence[str]) -> str:
    """A test case per case and metric. It fails where the case is slower; where that cannot be told, it is skipped with
    the reason. A map of cases that only one side has is one more test case, which is skipped."""
    wide = too_wide(comparison)
    compared = [_test_case(row, wide) for row in comparison.rows.to_dict("records")]
    alone = [TestCase("missing", line, SKIPPED, line) for line in missing_lines(comparison, sides)]
    return junit(f"{sides[1]} against {sides[0]}", [*compared, *alone])


def _test_case(row: Mapping[Any, Any], wide: str) -> TestCase:
    name = " ".join(filter(None, [*names_of(row), *target_words(row)]))
    effect = f"{effect_words(row['metric'], row['effect'])} {interval_words(row)}".strip()
    kinds = {SLOWER: (FAILURE, f"slower: {effect}"), UNKNOWN: (SKIPPED, row["reason"] or wide)}
    return TestCase(row["metric"], name, *kinds.get(row["verdict"], ()))


def comparisons_markdown(pairs: Pairs, *, every: bool = False) -> str:
    """Markdown for a pull request, of at most MOST_MARKDOWN characters: for more than two sides the matrix as a table,
    then each pair."""
    parts = []
    if len(pairs) > 1:
        heads, *lines = _matrix_lines(pairs)
        parts.append(f"{markdown_table(heads, lines, MOST_MARKDOWN // 2)}\n\n{MATRIX_KEY}\n")
    room = (MOST_MARKDOWN - sum(map(len, parts))) // min(len(pairs), MOST_SHORT)
    shown = list(pairs.items())[:MOST_SHORT]
    parts += [comparison_markdown(comparison, names, room, every=every) for names, comparison in shown]
    if len(pairs) > len(shown):
        parts.append(f"and {plural(len(pairs) - len(shown), 'more pair')}, in --json and --html\n")
    return "\n".join(parts)


def comparison_markdown(
    comparison: Comparison, sides: Sequence[str], room: int = MOST_MARKDOWN, *, every: bool = False
) -> str:
    """Markdown for a pull request: the answer, then a table of the cases that changed, or of every case.

    room: the most characters. Where the table needs more, a table of maps is in its place.
    """
    changed = comparison.rows if every else comparison.changed
    axes = axes_in_use(changed)
    heads = ["verdict", "case", *(axis.head for axis in axes), "metric", "A", "B", "B against A", "95 %"]
    lines = [
        [row["verdict"], " ".join(filter(None, names_of(row))), *target_words(row, axes), *value_cells(row)]
        for row in changed.head(MOST_LINES).to_dict("records")
    ]
    lists = summary(comparison, sides).splitlines(), shortened(missing_lines(comparison, sides), MOST_SHORT)
    answer, missing = ("\n".join(f"- {_escaped(short(line, 400))}" for line in part)[: room // 4] for part in lists)
    room -= len(answer) + len(missing) + 100
    table = markdown_table(heads, lines, room) if lines else ""
    if len(changed) > len(lines) or "\n\n" in table:
        heads, maps = _maps_table(replace(comparison, rows=changed))
        table = f"{len(changed)} cases, by map; each is in --json and --html\n\n{markdown_table(heads, maps, room)}"
    return "\n\n".join(filter(None, [answer, table, missing])) + "\n"


def markdown_table(heads: Sequence[str], lines: Sequence[Sequence[str]], room: int) -> str:
    """A Markdown table of at most so many characters; behind an empty line, how many lines it lacks."""
    bold = [[f"**{SLOWER}**" if cell == SLOWER else _escaped(cell) for cell in line] for line in lines]
    rows = [f"| {' | '.join(row)} |" for row in (list(map(_escaped, heads)), ["---"] * len(heads), *bold)]
    fit = bisect_right(list(itertools.accumulate(len(row) + 1 for row in rows)), room)
    left = [f"\nand {len(rows) - fit} more, in --json and --html"] if fit < len(rows) else []
    return "\n".join([*rows[:fit], *left])


def _escaped(text: str) -> str:
    """Text for a cell of a Markdown table, escaped so that nothing in it is markup."""
    return re.sub(r"([\\`*_|~!\[\]])", r"\\\1", clean(text)).replace("&", "&amp;").replace("<", "&lt;")
