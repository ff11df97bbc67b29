"""The points of a case over all its launches: what is said of a case rests on these, not on one launch."""

from __future__ import annotations

from typing import Any

import pandas as pd

from postprocess.families import sampled_table
from postprocess.families.nbc_overlap.diagnosis import deciding_ratio, diagnose
from postprocess.families.nbc_overlap.points import CASE, ESTIMATES, diagnosis_columns
from postprocess.families.nbc_overlap.validity import TOO_WIDE, too_wide
from postprocess.records.header import NAMED
from postprocess.statistics.launches import of_rows
from postprocess.statistics.metrics import break_even_estimate

GROUP = [*(name for name in CASE if name != "launch"), NAMED]
_ANY = ("reference_moved", "oversubscribed", "shared_core")


def over_launches(points: pd.DataFrame) -> pd.DataFrame:
    """A row per point of a case, with the columns of `points_of`, in the order of their first launches.

    Of several launches that did not fail and in which the point is valid, estimates are `launches.over_launches`; the
    rest is that of the first. The point is reliable if at least half of them find nothing amiss but a wide interval,
    and their common interval is not too wide. It is diagnosed anew.
    """
    keys = [*GROUP, "comm_target_ns", "comp_target_ns"]
    if points["launch"].nunique() < 2:
        return points
    found = [_one(rows) for _, rows in points.groupby(keys, sort=False)]
    table: pd.DataFrame = pd.DataFrame(found, columns=points.columns)
    typed: pd.DataFrame = table.astype({"valid": bool, "reliable": bool})
    return typed


def _one(rows: pd.DataFrame) -> dict[Any, Any]:
    good = rows[rows["valid"] & (rows["failed"] == "")]
    first: dict[Any, Any] = (good if len(good) else rows).iloc[0].to_dict()
    if len(good) < 2:
        return first
    names = (name for name in ESTIMATES if name != "break_even_cores")  # infinite where it never pays
    first |= sampled_table.columns_of_estimates({name: of_rows(good, name) for name in names})
    gained = sampled_table.estimate_of(first, "speedup_vs_basic")
    cores = break_even_estimate(gained, int(first["given_up_cores"]))
    first |= sampled_table.columns_of_estimates({"break_even_cores": cores})
    first |= {name: bool(good[name].any()) for name in _ANY}
    amiss = [[one for one in reasons if TOO_WIDE not in one] for reasons in good["unreliable_reasons"]]
    most = [reasons for reasons in amiss if reasons]
    deciding = sampled_table.estimate_of(first, deciding_ratio(first))
    reasons = [*(most[0] if 2 * len(most) > len(amiss) else []), *too_wide(deciding)]
    first |= {"unreliable_reasons": reasons, "reliable": not reasons}
    return first | diagnosis_columns(diagnose(first))
