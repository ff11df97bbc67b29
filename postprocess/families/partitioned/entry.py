"""The family `partitioned`: sending parts of a buffer as threads finish them (Gillis et al. 2023)."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from postprocess.drawing.curve_view import CurveSection
from postprocess.families.family import Audit, Bound, Details, Metric
from postprocess.families.papers import GILLIS_2023
from postprocess.families.partitioned.axes import AXES
from postprocess.families.partitioned.cells import cells_of
from postprocess.families.partitioned.charts import charts
from postprocess.families.partitioned.record import PartitionedRecord, partitioned_record
from postprocess.families.partitioned.summary import summaries
from postprocess.families.partitioned.table import COLUMNS, SHOWN, partitioned_table, record_numbers
from postprocess.families.partitioned.verdict import (
    break_even_words,
    choices_words,
    scenario_words,
    unreliable_words,
    verdict_text,
    verdicts,
)
from postprocess.families.sampled_family import sampled_family, shown, slower
from postprocess.families.sampled_inside import different, observed, wrong
from postprocess.records.header import keeps_apart
from postprocess.statistics.limits import LEAST_RATIO


def _covered(records: Sequence[PartitionedRecord]) -> Details:
    return [("Approaches", different((record.approach for record in records), ", "))]


def _facts(records: Sequence[PartitionedRecord]) -> Details:
    discarded = sum(point.discarded_repetitions for record in records for point in record.points)
    return [("other repetitions thrown away", str(discarded) if discarded else "")]


def communicated_ns(record: PartitionedRecord) -> float:
    """The time of the references, in which only one message is under way, summed over all repetitions, in ns."""
    return sum(float(point.t_ref_ns.sum()) for point in record.points)


def payload_bytes(record: PartitionedRecord) -> int:
    """A lower bound of the payload, in bytes, that crossed the network in a record's valid repetitions.

    Each rank of the first half sends to the rank of the same number in the second half, and with several neighbours to
    the next ones there. In each repetition it sends the buffer of each neighbour twice: by the approach, and as the
    reference. On a `wire` sender and receiver are always apart, on other networks where they are of different nodes.
    """
    return sum(
        2 * point.repetitions * point.message_bytes * _crossing(record, point.neighbours) for point in record.points
    )


def _crossing(record: PartitionedRecord, neighbours: int) -> int:
    """The pairs of a sender and a neighbour of it that are apart."""
    header, half = record.header, record.header.ranks // 2
    if keeps_apart(header.network):
        return half * neighbours
    nodes = [place.node for place in header.placement]
    return sum(
        nodes[sender] != nodes[half + (sender + step) % half] for sender in range(half) for step in range(neighbours)
    )


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report, and its card. verdicts: of each scenario its words, the answers by range of sizes, the
    break-even sizes by option, and how many points do not count."""
    every = verdicts(table)
    answers = [
        (
            scenario_words(verdict.values),
            choices_words(verdict.choices),
            [(option.words, break_even_words(found, launches)) for option, found, launches in verdict.break_evens],
            unreliable_words(verdict),
        )
        for verdict in every
    ]
    return {"summaries": summaries(every), "verdicts": answers, "points": SHOWN.view(table, most_rows)}


INSIDE = observed(AXES, lambda record: f"{record.approach}, partitioned", _covered, _facts)
SECTION = CurveSection(charts, _view)
PARTITIONED = sampled_family(
    AXES,
    "partitioned communication",
    33,
    papers=(GILLIS_2023,),
    view=partitioned_record,
    table=partitioned_table,
    columns=COLUMNS,
    metrics=(
        Metric("t_ns", "time of a buffer in parts", ratio=True, usual=True, better_words="sends in parts faster"),
        Metric(
            "gain",
            "gain over one message",
            ratio=True,
            better="larger",
            state="sound",
            usual=True,
            better_words="gains more by sending in parts",
        ),
    ),
    numbers=record_numbers,
    bounds=(*slower("t_ratio_to_single"), Bound("gain_vs_model", absolute=False, margin=LEAST_RATIO, better="larger")),
    text=(shown(SHOWN.text), shown(verdict_text)),
    cells=cells_of,
    section=SECTION,
    inside=INSIDE,
    audit=Audit(wrong, communicated_ns, payload_bytes),
)
