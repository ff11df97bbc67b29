"""The family `transfer_overlap`: whether programming a solver for overlap pays (White & Bova 1999, section III)."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.text import plural
from postprocess.families import sampled_inside
from postprocess.families.family import Audit, Details, Metric
from postprocess.families.papers import WHITE_1999
from postprocess.families.sampled_family import sampled_family, shown, slower
from postprocess.families.sampled_inside import different
from postprocess.families.transfer_overlap.axes import AXES, NOTHING, PIPELINED
from postprocess.families.transfer_overlap.cells import cells_of
from postprocess.families.transfer_overlap.charts import charts
from postprocess.families.transfer_overlap.record import TransferRecord, transfer_record
from postprocess.families.transfer_overlap.table import COLUMNS, SHOWN, points_text, record_numbers, transfer_table
from postprocess.families.transfer_overlap.verdict import application_words, notes, verdict_text, verdicts
from postprocess.records.header import keeps_apart

SOLVES = 3
"""How often a repetition makes the exchanges of a solve: alone, without overlap, and by the tested version."""


def _covered(records: Sequence[TransferRecord]) -> Details:
    """The versions that the records measured, and on which systems their residuals were the same."""
    points = [point for record in records for point in record.points]
    systems = [
        f"{points_text(grid_points)} points with {plural(unknowns, 'unknown')} each: "
        f"{'the same bits' if len(bits) == 1 else f'{len(bits)} different ones'} in {plural(count, 'solver')}"
        for (grid_points, unknowns), (bits, count) in histories(records).items()
    ]
    return [
        ("Versions of a solver", different((point.variant for point in points), ", ")),
        ("Residuals", "; ".join(systems)),
        ("Partitions by", different((point.partitioner for point in points), ", ")),
    ]


def histories(records: Sequence[TransferRecord]) -> Mapping[tuple[int, int], tuple[set[str], int]]:
    """By points and unknowns: the digests of residuals that must be one, and of how many points they are.

    The pipelined version rounds otherwise, and without an exchange each rank solves a system of its own.
    """
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    for point in (point for record in records for point in record.points):
        if point.variant not in (PIPELINED, NOTHING):
            found[point.grid_points, point.unknowns].append(point.history)
    return {system: (set(digests), len(digests)) for system, digests in found.items()}


def wrong(record: TransferRecord) -> Iterator[str]:
    """A phrase if a record received wrong data, has residuals that differ, or is complete without a valid point."""
    systems = [system for system, (bits, _) in histories([record]).items() if len(bits) > 1]
    if systems and not any(point.data_errors for point in record.points):
        grid_points, unknowns = systems[0]
        yield (
            f"residuals of versions differ that must be the same, on {points_text(grid_points)} points with "
            f"{plural(unknowns, 'unknown')} each"
        )
    else:
        yield from sampled_inside.wrong(record, "solves ended with a wrong residual")


def communicated_ns(record: TransferRecord) -> float:
    """The time of the exchanges alone, summed over all repetitions, in ns."""
    return sum(float(point.t_comm_ns.sum()) for point in record.points)


def payload_bytes(record: TransferRecord) -> int:
    """A lower bound of the payload, in bytes, that crossed the network in a record's valid repetitions.

    On a `wire` each rank is a place of its own, and so it is where each has a node of its own: then all of an exchange
    crosses. Otherwise it is not known which part does, and the bound is 0.
    """
    header = record.header
    apart = keeps_apart(header.network) or header.nodes == header.ranks
    return sum(
        SOLVES * point.repetitions * min(point.iterations, point.reference_iterations) * point.exchanged_bytes
        for point in record.points
        if apart
    )


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report. verdicts: of each application its words, the answer, and what else to know."""
    answers = [(application_words(verdict.values), verdict.words, notes(verdict)) for verdict in verdicts(table)]
    return {"verdicts": answers, "points": SHOWN.view(table, most_rows)}


INSIDE = sampled_inside.observed(AXES, "overlap in a solver", _covered)
SECTION = CurveSection(charts, _view)


TRANSFER_OVERLAP = sampled_family(
    AXES,
    "programming a solver for overlap",
    36,
    heading="Programming for overlap",
    papers=(WHITE_1999,),
    view=transfer_record,
    table=transfer_table,
    columns=COLUMNS,
    metrics=(
        Metric(
            "t_overlap_ns",
            "time of a solve that overlaps",
            ratio=True,
            usual=True,
            better_words="solves faster with overlap",
        ),
        Metric(
            "improvement",
            "improvement by overlap",
            ratio=False,
            better="larger",
            state="sound",
            usual=True,
            better_words="gains more by overlap",
        ),
        Metric("improvement_vs_basic", "improvement over basic", ratio=False, better="larger", state="sound"),
    ),
    numbers=record_numbers,
    bounds=slower("t_ratio_to_nonoverlap"),
    text=(shown(SHOWN.text), shown(verdict_text)),
    cells=cells_of,
    section=SECTION,
    inside=INSIDE,
    audit=Audit(wrong, communicated_ns, payload_bytes),
)
