"""The family `hybrid`: collectives that keep one copy of the data per node (Zhou et al. 2020)."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.text import plural, size
from postprocess.families import axes
from postprocess.families.family import Acceptance, Audit, Condition, Details, Metric, Over, TableFile
from postprocess.families.hybrid import claims, once, overlap, state
from postprocess.families.hybrid.axes import AXES, WHOLE
from postprocess.families.hybrid.cells import cells_of
from postprocess.families.hybrid.charts import charts
from postprocess.families.hybrid.claims import GLANCE, OF_CASE, at_a_glance, break_evens, cases, counts_words, targets
from postprocess.families.hybrid.record import COMPUTATION, HybridRecord, hybrid_record
from postprocess.families.hybrid.table import (
    COLUMNS,
    SETTING,
    SHOWN,
    case_of,
    count_of_controls,
    hybrid_table,
    record_numbers,
    states_words,
    with_states,
)
from postprocess.families.papers import ZHOU_2020
from postprocess.families.sampled_family import sampled_family, shown, slower
from postprocess.families.sampled_inside import different, observed, wrong
from postprocess.families.sampled_table import case_words, having
from postprocess.records.header import keeps_apart
from postprocess.statistics.control import CANNOT_TELL, FASTER, SLOWER


def _covered(records: Sequence[HybridRecord]) -> Details:
    return [("Hybrid collectives", different((point.operation for record in records for point in record.points), ", "))]


def _facts(records: Sequence[HybridRecord]) -> Details:
    groups = (f"{plural(record.shared_nodes, 'group')}, {case_of(record)['nodes_are']}" for record in records)
    return [("ranks that share a copy", different(groups))]


def communicated_ns(record: HybridRecord) -> float:
    """The time of all batches of a record that communicate, in ns."""
    return sum(
        float(times.sum()) for point in record.points for batch, times in point.t_ns.items() if batch != COMPUTATION
    )


def payload_bytes(record: HybridRecord) -> int:
    """A lower bound of the payload, in bytes, that crossed the network in a record's valid repetitions.

    In one call of either library each node but one gets a broadcast once, or hands in a partial sum; of an allgather it
    gets at least one block. On a `wire` each rank of the MPI library's calls is a place of its own; what the hybrid
    library sends there is left out.
    """
    header = record.header
    wire = keeps_apart(header.network)
    places = header.ranks if wire else len({place.node for place in header.placement})
    return sum(
        point.repetitions * point.calls[batch] * point.message_bytes * (places - 1)
        for point in record.points
        for batch in (("library_whole", "library_alone") if wire else point.calls)
        if batch != COMPUTATION
    )


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report, and its card.

    summaries: for each case how many targets hold, and from which size on each collective is faster.
    states: how long hand-overs took in each state of the cores; empty where the run has one state.
    control: how many controls are off.
    overlap: the points with a computation between start and wait.
    """
    points = cases(table)
    of_claims = targets(points)
    summaries = [
        (library, counts_words(of_claims[of_claims["library"] == library]), words)
        for library, words in break_evens(points)
    ]
    return {
        "summaries": summaries,
        "states": states_words(with_states(table)),
        "control": count_of_controls(table).words,
        "glance_heads": GLANCE,
        "glance": at_a_glance(points, of_claims),
        "heads": OF_CASE.heads,
        "targets": [
            (str(case), list(map(OF_CASE.cells, rows_of(rows))))
            for case, rows in of_claims.groupby("library", sort=False)
        ],
        "verdict_heads": VERDICT_HEADS,
        "verdicts": verdicts(table),
        "points": SHOWN.view(table, most_rows),
        "overlap": overlap.SHOWN.view(having(table, "r_overhead"), most_rows),
        "pays_back": once.pays_back(table),
    }


_CASE = [
    "toolchain", "provider", "configuration", "network", "ranks", "shared_nodes", "nodes_are",
    axes.VIRTUAL_NODE_RANKS.name, axes.CACHE.name, axes.METHOD.name, "threads_per_rank", "given_up_cores", "operation",
    "variant",
]  # fmt: skip
VERDICT_HEADS = ("library", "collective", "variant", f"{FASTER} at", f"{SLOWER} at", CANNOT_TELL)


def verdicts(table: pd.DataFrame) -> list[list[str]]:
    """For each library, collective and variant, under VERDICT_HEADS: at which sizes the whole of writing, collective
    and reading is faster or slower than with the MPI library at the best of its settings that were measured, and where
    one cannot tell."""
    written_and_read = table[table["timed"] == WHOLE]
    found = []
    for _, rows in written_and_read.groupby(_CASE, sort=False):
        ordered = rows_of(rows.sort_values("message_bytes"))
        sizes = {
            word: ", ".join(dict.fromkeys(size(row["message_bytes"]) for row in ordered if row["best_verdict"] == word))
            for word in (FASTER, SLOWER, CANNOT_TELL)
        }
        first = ordered[0] | {SETTING: axes.INTRANODE.usual}
        case = f"{case_words(AXES, first)}, {first['ranks']} ranks"
        found.append([case, str(first["operation"]), str(first["variant"]), *sizes.values()])
    return found


INSIDE = observed(AXES, "hybrid collectives", _covered, _facts)
SECTION = CurveSection(
    charts, _view, lambda records, most_rows: {"once": once.SHOWN.view(once.once_table(records), most_rows)}
)
METRICS = (
    Metric(
        "ratio_to_library", "time of a hybrid collective / of MPI's", ratio=True, state="sound", usual=True,
        better_words="gains more by hybrid collectives",
        condition=Condition(
            "handover_ns", state.OTHER_POINT,
            "the cores were near each other on one side and far apart on the other (--metric handover_ns)",
        ),
    ),
    Metric("handover_ns", "time in which ranks of a node hand a cache line on", ratio=True),
)  # fmt: skip
BOUNDS = slower("whole_ratio_to_library")
"""What a regression shows in: writing, collective and reading take longer than with the MPI library beside."""


HYBRID = sampled_family(
    AXES,
    "collectives with one copy per node",
    35,
    papers=(ZHOU_2020,),
    view=hybrid_record,
    table=hybrid_table,
    columns=COLUMNS,
    metrics=METRICS,
    files=(TableFile("hybrid_once.parquet", lambda found: once.once_table(found.records)),),
    numbers=record_numbers,
    bounds=BOUNDS,
    text=(
        shown(SHOWN.text),
        lambda found: once.SHOWN.text(once.once_table(found.records)),
        shown(overlap.text),
        shown(claims.text),
    ),
    cells=cells_of,
    section=SECTION,
    inside=INSIDE,
    audit=Audit(wrong, communicated_ns, payload_bytes),
    acceptance=Acceptance(over=(Over("ratio_to_best_library", SETTING, "best_setting"),)),
)
