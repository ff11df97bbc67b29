"""For which sizes, and from how many cores per rank, giving up a core for communication pays.

This is an open question of the paper (Denis et al. 2022, section 8). The prediction follows from one measurement and
assumes that times per thread do not depend on the number of cores (`metrics.break_even_estimate`). The measurement is
the speed-up by the work done, at each number of cores with a case. Giving up a core pays if its 95 % interval lies
above 1, and does not pay if the interval lies below 1. The interval does not include differences between launches, so
either answer is `likely` where the case or `basic` has fewer than three.
"""

import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import pandas as pd

from postprocess.families.nbc_overlap.diagnosis import LIKELY
from postprocess.families.nbc_overlap.points import CASE
from postprocess.families.sampled import is_within_bucket
from postprocess.families.sampled_table import names_of_estimates
from postprocess.records.header import NAMED
from postprocess.statistics.limits import LEAST_LAUNCHES
from postprocess.statistics.metrics import least_cores, most_ranks_on_a_node

PAYS, DOES_NOT, CANNOT_TELL = "yes", "no", "cannot tell"

_GROUP = [name for name in CASE if name not in ("threads_per_rank", "launch")]
_CELL = ["comm_target_ns", "comp_target_ns"]
_NUMBERS = names_of_estimates(("speedup_vs_basic_per_work", "speedup_vs_reduced", "break_even_cores"))
COLUMNS = [
    *CASE, NAMED, "cores_per_rank", *_CELL, "message_bytes", *_NUMBERS,
    "pays", "pays_on_cores", "does_not_pay_on_cores", "reliable", "flags", "oversubscribed", "shared_core", "complete",
]  # fmt: skip
"""The columns of `break_even_table`; `pays_on_cores` and `does_not_pay_on_cores` are lists of numbers of cores."""


def gave_up(points: pd.DataFrame) -> pd.DataFrame:
    """The valid points of `points_of` that gave up cores and have a basic to compare with, with `cores_per_rank`."""
    rows = points[(points["given_up_cores"] > 0) & points["valid"] & points["speedup_vs_basic"].notna()]
    chosen: pd.DataFrame = rows.assign(cores_per_rank=rows["threads_per_rank"] + rows["given_up_cores"])
    return chosen


def break_even_table(points: pd.DataFrame) -> pd.DataFrame:
    """One row per row of `gave_up`; the columns are COLUMNS.

    `pays` is the answer of this point. `pays_on_cores` and `does_not_pay_on_cores` are the numbers of cores per rank
    with that answer, over all points that differ from this one only in the cores and that `counts` accepts. A number of
    cores on which launches contradict each other is in neither list.
    """
    rows = gave_up(points)
    low, high = (rows[f"speedup_vs_basic_per_work_ci95_{end}"] for end in ("low", "high"))
    answers = [pays(*bounds) for bounds in zip(low, high, strict=True)]
    rows["pays"] = [pays_words(*each) for each in zip(answers, rows["launches_vs_basic"], strict=True)]
    keys = list(rows[[*_GROUP, *_CELL]].itertuples(index=False, name=None))
    answers_on: dict[tuple[Any, ...], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for key, row, answer in zip(keys, rows.to_dict("records"), answers, strict=True):
        if counts(row):
            answers_on[key][int(row["cores_per_rank"])].add(answer)
    for column, answer in (("pays_on_cores", PAYS), ("does_not_pay_on_cores", DOES_NOT)):
        rows[column] = [
            [cores for cores, given in sorted(answers_on[key].items()) if given - {CANNOT_TELL} == {answer}]
            for key in keys
        ]
    table: pd.DataFrame = rows[COLUMNS].reset_index(drop=True)
    return table


def counts(row: Mapping[Any, Any]) -> bool:
    """Whether a point's answer counts: it is reliable, of a complete record, not oversubscribed, and no message that a
    wire's bucket lets pass at once."""
    return bool(row["reliable"] and row["complete"] and not row["oversubscribed"] and not is_within_bucket(row))


def pays(low: float, high: float) -> str:
    """Whether giving up a core pays, from the interval of the speed-up by the work done."""
    return PAYS if low > 1 else DOES_NOT if high < 1 else CANNOT_TELL


def pays_words(answer: str, launches: int) -> str:
    """The answer of `pays`; ``likely yes`` or ``likely no`` with fewer than `LEAST_LAUNCHES` launches."""
    return answer if answer == CANNOT_TELL or launches >= LEAST_LAUNCHES else f"{LIKELY} {answer}"


def cores_words(cores: float) -> str:
    """The least whole number of cores on which it pays: ``3``, ``never``, or ``-`` if it is not known."""
    return "-" if math.isnan(cores) else "never" if math.isinf(cores) else str(least_cores(cores))


def node_words(row: Mapping[Any, Any]) -> str:
    """The same as `cores_words` per node, for as many ranks per node as the point had."""
    cores = row["break_even_cores"]
    if not math.isfinite(cores):
        return cores_words(cores)
    return str(least_cores(cores, most_ranks_on_a_node(int(row["ranks"]), int(row["nodes"]))))


def measured_words(row: Mapping[Any, Any]) -> str:
    """The measured answers by number of cores: ``pays on 8, 16; not on 4``; empty if there are none."""
    answers = (("pays on", row["pays_on_cores"]), ("not on", row["does_not_pay_on_cores"]))
    return "; ".join(f"{words} {', '.join(map(str, cores))}" for words, cores in answers if cores)
