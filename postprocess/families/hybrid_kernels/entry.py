"""The family `hybrid_kernels`: kernels in three variants (Zhou et al. 2020, section 5.3)."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import pandas as pd

from postprocess.drawing.curve_view import CurveSection
from postprocess.drawing.text import plural, size
from postprocess.families import sampled_inside
from postprocess.families.family import Acceptance, Audit, Details, Metric
from postprocess.families.hybrid_kernels import validity
from postprocess.families.hybrid_kernels.axes import AXES
from postprocess.families.hybrid_kernels.cells import cells_of
from postprocess.families.hybrid_kernels.charts import charts
from postprocess.families.hybrid_kernels.record import HYBRID, MPI, OPENMP, KernelsRecord, kernels_record
from postprocess.families.hybrid_kernels.table import (
    COLUMNS,
    MEMORY,
    SHOWN,
    by_ranks,
    case_of,
    count_of_controls,
    kernels_table,
    record_numbers,
)
from postprocess.families.hybrid_kernels.verdict import Verdict, places, verdict_text
from postprocess.families.papers import ZHOU_2020
from postprocess.families.sampled_family import sampled_family, shown, slower
from postprocess.families.sampled_inside import different
from postprocess.records.header import keeps_apart


def _covered(records: Sequence[KernelsRecord]) -> Details:
    names = (f"{point.kernel} of size {point.size}" for record in records for point in record.points)
    return [("Kernels", different(names, ", "))]


def _facts(records: Sequence[KernelsRecord]) -> Details:
    groups = (f"{plural(record.shared_nodes, 'group')}, {case_of(record)['nodes_are']}" for record in records)
    pinned = all(point.pinned for record in records for point in record.points)
    return [
        ("ranks that share a copy", different(groups)),
        ("matrices multiplied by", different(record.dgemm for record in records)),
        ("ratings", different(record.ratings for record in records)),
        ("threads of openmp", "each on one CPU" if pinned else "not all pinned"),
    ]


def wrong(record: KernelsRecord) -> Iterator[str]:
    """A phrase if a result of a record was wrong, or it is complete without a valid point."""
    reasons = partial(validity.invalid_reasons, memory_only=record.memory_only)
    return sampled_inside.wrong(record, "results were wrong", reasons)


def communicated_ns(record: KernelsRecord) -> float:
    """The time of all solves of a record, in ns."""
    return sum(float(variant.t_ns.sum()) for point in record.points for variant in point.variants.values())


def payload_bytes(record: KernelsRecord) -> int:
    """A lower bound of the payload, in bytes, that crossed the network in a record's valid repetitions.

    Each of the variants sends at least one copy of what every rank needs to each node but one. On a `wire` each rank of
    the variant `mpi` is a place of its own.
    """
    header = record.header
    wire = keeps_apart(header.network)
    places = header.ranks if wire else len({place.node for place in header.placement})
    return sum(point.repetitions * point.copy_bytes // header.ranks * (places - 1) for point in record.points)


HEADS = (
    "kernel", "size", "hybrid / pure MPI", "hybrid / MPI and OpenMP", "node memory", "of pure MPI", "of MPI and OpenMP",
    "lines (than pure MPI)", "doubt",
)  # fmt: skip


def _view(table: pd.DataFrame, most_rows: int) -> dict[str, Any]:
    """The section of the report, and its card. answers: the verdicts of each place, under HEADS.  control: how many
    controls are off."""
    found = places(table)
    return {
        "places": found,
        "control": count_of_controls(table).words,
        "heads": HEADS,
        "answers": [(place.where, list(map(_cells, place.verdicts))) for place in found],
        "memory": MEMORY.view(by_ranks(table), most_rows),
        "points": SHOWN.view(table, most_rows),
    }


def _cells(one: Verdict) -> list[str]:
    return [
        one.kernel,
        str(one.size),
        *(f"{against.words}: {against.verdict}" for against in (one.to_mpi, one.to_openmp)),
        *(size(one.memory_bytes[variant]) for variant in (HYBRID, MPI, OPENMP)),
        f"{one.lines[HYBRID]} ({one.lines[HYBRID] - one.lines[MPI]:+d})",
        one.doubt,
    ]


INSIDE = sampled_inside.observed(AXES, "kernels", _covered, _facts)
SECTION = CurveSection(charts, _view)
METRICS = (
    Metric(
        "ratio_to_mpi",
        "time of a kernel / of its variant of pure MPI",
        ratio=True,
        state="sound",
        usual=True,
        better_words="gains more by hybrid kernels",
    ),
)
BOUNDS = slower("hybrid_ratio_to_mpi")
"""What a regression shows in: the kernels take longer with hybrid collectives than with those of MPI beside."""


HYBRID_KERNELS = sampled_family(
    AXES,
    "kernels with one copy per node",
    36,
    papers=(ZHOU_2020,),
    view=kernels_record,
    table=kernels_table,
    columns=COLUMNS,
    metrics=METRICS,
    numbers=record_numbers,
    bounds=BOUNDS,
    text=(shown(SHOWN.text), lambda found: MEMORY.text(by_ranks(found.table)), shown(verdict_text)),
    cells=cells_of,
    section=SECTION,
    inside=INSIDE,
    audit=Audit(wrong, communicated_ns, payload_bytes),
    acceptance=Acceptance(counted=("copies_per_node", "measured_copies_per_node")),
)
