"""Which guidelines an MPI library violates: a call takes surely longer than others that do the same, or more.

A point, a guideline at a message size, is judged over its launches. Both sides of a guideline take turns in each
launch, so that the ratio of their times is one number a launch, and what slows a launch down cancels in it. The limit
is what the guideline allows, 1 or 1.05, and LEAST_RATIO more, which is less than matters. How sure it is that the ratio
is above the limit comes from `statistics.effects`: how much launches differ is learnt from all points together, and the
false discoveries among all violations of all libraries are at most FALSE_DISCOVERY_RATE. With fewer than three launches
the intervals within launches decide, and an answer is `likely`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from postprocess.drawing.columns import made_once, rows_of
from postprocess.drawing.text import plural, size
from postprocess.families.axes import FamilyAxes
from postprocess.families.family import Axis
from postprocess.families.sampled_table import ENDS, case_words, estimate_of, over_launches, same_case, sound
from postprocess.statistics.effects import effects, false_discovery_adjusted, sure_at
from postprocess.statistics.launches import likely
from postprocess.statistics.limits import FALSE_DISCOVERY_RATE, LEAST_LAUNCHES, LEAST_RATIO

FAMILY = "guidelines"
GUIDELINE = Axis("guideline", "guideline", usual="", of="point")
MESSAGE_BYTES = Axis("message_bytes", "message", usual=0, of="point", kind="integer", unit="bytes", words=size)
"""The length of the vector; 0 where the calls have none."""
AXES = FamilyAxes(FAMILY, (GUIDELINE, MESSAGE_BYTES))
VIOLATED, HOLDS, UNTOLD = "violated", "holds", "cannot tell"
CONTROL = "control"
"""The kind of the guideline whose sides are the same call."""
_KEYS = same_case(AXES)


def limits(rows: pd.DataFrame) -> NDArray[np.float64]:
    """The ratio of each row above which its guideline is violated."""
    allowed: NDArray[np.float64] = rows["allowed_percent"].to_numpy(np.float64) / 100 * (1 + LEAST_RATIO)
    return allowed


@made_once
def judged(table: pd.DataFrame) -> pd.DataFrame:
    """A row per point of a case, over its launches, with its `verdict`, in the order of the table.

    table: that of the family. Only sound rows count.
    """
    keys = [*_KEYS, GUIDELINE.name, MESSAGE_BYTES.name]
    counted = table[sound(table)].reset_index(drop=True)
    points = over_launches(counted, keys, ("guideline_ratio", "call_ns", "other_call_ns"))
    if points.empty:
        without: pd.DataFrame = points.assign(verdict=pd.Series(dtype=str))
        return without
    limit = limits(points)
    violated, holds = over_three_launches(counted, keys, limits(counted))
    few = points["launches"].to_numpy() < LEAST_LAUNCHES
    of_few = _within_launches(points, limit)
    violated, holds = np.where(few, of_few[0], violated), np.where(few, of_few[1], holds)
    told: pd.DataFrame = points.assign(verdict=np.select([violated, holds], [VIOLATED, HOLDS], UNTOLD))
    return told


def over_three_launches(
    rows: pd.DataFrame, keys: list[str], limit: NDArray[np.float64]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Of each point, whether its guideline is surely violated, and whether it surely holds."""
    number = rows.groupby(keys, sort=False, dropna=False).ngroup().to_numpy()
    left, right = (np.log(rows[name].to_numpy(np.float64)) for name in ("call_ns", "other_call_ns"))
    side = np.repeat([1, 0], len(rows))
    found = effects(
        np.tile(number, 2),
        side,
        np.concatenate([left, right + np.log(limit)]),
        int(number.max()) + 1,
        occasion=np.tile(rows["launch"].to_numpy(np.int64), 2),
    )
    one_sided = np.where(found.effect > 0, found.p_value / 2, 1 - found.p_value / 2)
    return false_discovery_adjusted(one_sided) <= FALSE_DISCOVERY_RATE, found.high <= 0


def _within_launches(points: pd.DataFrame, limit: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    value, low, high = (points[f"guideline_ratio{end}"].to_numpy(np.float64) for end in ENDS)
    sure = sure_at(np.column_stack([value, low, high]), limit, FALSE_DISCOVERY_RATE)
    return (value > limit) & sure, high <= limit


def violations(table: pd.DataFrame) -> pd.DataFrame:
    """The points of `judged` whose guideline is violated, the largest loss first. The control is none of them."""
    points = judged(table)
    chosen = points[(points["verdict"] == VIOLATED) & (points["kind"] != CONTROL)]
    lost = chosen["guideline_ratio"] / chosen["allowed_percent"]
    sorted_by_loss: pd.DataFrame = chosen.loc[lost.sort_values(ascending=False, kind="stable").index]
    return sorted_by_loss


def advice(row: Mapping[Any, Any]) -> str:
    """What a user can call instead, and what that saves: ``MPI_Allgather takes 0.52 of the time of MPI_Gather``."""
    return f"{row['right']} takes {1 / row['guideline_ratio']:.2f} of the time of {row['left']}"


def message_words(row: Mapping[Any, Any]) -> str:
    """The message of a point; empty where its calls have none."""
    return size(row["message_bytes"]) if row["message_bytes"] else ""


def sentences(table: pd.DataFrame) -> Iterator[str]:
    """For each case how many guidelines hold, the largest violation, what the control says, and how many points do not
    count."""
    points = judged(table)
    worst = violations(table)
    for key, every in table.groupby(_KEYS, sort=False, dropna=False):
        rows, own = (one[(one[_KEYS] == list(key)).all(axis=1)] for one in (points, worst))
        first = rows_of(every.head(1))[0]
        told = f"{_counts(rows)}{_worst(own)}{_control(rows)}" if len(rows) else "no point counts"
        unsound = every.groupby([GUIDELINE.name, MESSAGE_BYTES.name]).ngroups - len(rows) if len(rows) else 0
        left = f"; {plural(unsound, 'more point')} {'does' if unsound == 1 else 'do'} not count" if unsound else ""
        yield f"{case_words(AXES, first)}: {told}{left}"


_WORDS: Mapping[str, str] = {VIOLATED: "violated", HOLDS: "hold", UNTOLD: "cannot be told"}


def _counts(rows: pd.DataFrame) -> str:
    own = rows[rows["kind"] != CONTROL]
    verdicts = own["verdict"].value_counts()
    counts = ", ".join(f"{verdicts.get(verdict, 0)} {words}" for verdict, words in _WORDS.items())
    of = f"of {plural(len(own), 'point')} of {own['guideline'].nunique()} guidelines"
    return f"{likely(rows['launches'].max())}{of} {counts}"


def _worst(violated: pd.DataFrame) -> str:
    if violated.empty:
        return ""
    row = rows_of(violated.head(1))[0]
    low, high = (float(value) for value in estimate_of(row, "guideline_ratio").numbers[1:])
    of = f" of {words}" if (words := message_words(row)) else ""
    bounds = f" [{low:.2f}, {high:.2f}]" if math.isfinite(low) else ""
    times = f"{row['guideline_ratio']:.2f}{bounds} times as long as {row['right']}"
    return f"; the largest loss: {row['left']}{of} takes {times}"


def _control(rows: pd.DataFrame) -> str:
    """How many guidelines of a call against itself are violated: one that is was measured wrongly."""
    control = rows[rows["kind"] == CONTROL]
    wrong = int((control["verdict"] == VIOLATED).sum())
    trusted = "DO NOT TRUST THIS: " if wrong else ""
    return f"; {trusted}{wrong} of {plural(len(control), 'control')} violated" if len(control) else ""
