"""The table of kernels: for each point a row per variant, with its time divided into computation and collectives, its
ratio to the variant of pure MPI, the memory of its node, its lines of code, and its validity.

The ratio is made within repetitions, in which the variants follow each other, so that what disturbs all of them
cancels: its value is the median over repetitions, and the 95 % interval is that of a median, distribution free, from
order statistics. Repetitions in another state of the cores than most of the point (`handovers`) are left out.

    t_compute_ns       the computation of the rank that computed longest
    t_collective_ns    t_ns - t_compute_ns, within repetitions: collectives, and waiting for other ranks
    ratio_to_mpi       t_ns / that of `mpi`: below 1 the variant is faster; NaN for `mpi` itself
    control            pure MPI against itself: of a second solve of the same data in the same repetitions. It
                       should be 1
    verdict            `faster` or `slower` where the whole interval is on that side of 1, and there are no doubts;
                       else `cannot tell`; empty for `mpi`. Where the interval of the control excludes 1, both ends are
                       first moved outwards by the factor of its far end; without a control one cannot tell
    ratio_to_openmp,   the same against `openmp`
    verdict_to_openmp
    ranks_per_node     ranks / shared_nodes, rounded up
    copies_per_node    replicated_bytes / copy_bytes, as planned; NaN where no rank needs all of the data
    measured_copies_per_node  replicated_pss_bytes / copy_bytes, likewise

Nothing is clamped. `validity` says what a row may be used for.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import Column, Columns, circumstances, estimate, number, plain
from postprocess.drawing.text import duration, ratio, size
from postprocess.families import axes, handovers, sampled, sampled_table
from postprocess.families.hybrid_kernels import validity
from postprocess.families.hybrid_kernels.axes import AXES, VARIANT
from postprocess.families.hybrid_kernels.record import HYBRID, MPI, OPENMP, VARIANTS, KernelPoint, KernelsRecord
from postprocess.families.sampled_table import LAST, leading
from postprocess.records.header import NAMED
from postprocess.statistics import control
from postprocess.statistics.control import CANNOT_TELL, verdict
from postprocess.statistics.metrics import Estimate, Floats, series_estimate, series_estimates

TO_MPI, TO_OPENMP = "ratio_to_mpi", "ratio_to_openmp"
_BASES = {TO_MPI: MPI, TO_OPENMP: OPENMP}
"""Ratios, and the variants to which they are."""
VERDICTS = {TO_MPI: "verdict", TO_OPENMP: "verdict_to_openmp"}
CONTROL = "control"
_ESTIMATES = ("t_ns", "t_compute_ns", "t_collective_ns", *_BASES, CONTROL)
_OF_POINT = ("kernel", "size")
_OF_VARIANT = ("lines", "memory_bytes", "growth_bytes", "shared_bytes", "replicated_bytes", "replicated_pss_bytes")
_COPIES = {"copies_per_node": "replicated_bytes", "measured_copies_per_node": "replicated_pss_bytes"}
COLUMNS = sampled_table.with_own(AXES.family, (
    *AXES.case, NAMED, "kernel", "size", VARIANT.name, "shared_nodes", "ranks_per_node", "nodes_are",
    *sampled_table.names_of_estimates(_ESTIMATES),
    *VERDICTS.values(), *_OF_VARIANT, *_COPIES, "dgemm", "ratings", "noise", "handover_ns", "other_state_repetitions",
    *sampled_table.LAST_COLUMNS,
))  # fmt: skip
"""The columns of `kernels_table`, in order.

Times are medians of one solve, in nanoseconds, memory in bytes; ratios have no unit. An unknown value is NaN.
"""


def case_of(record: KernelsRecord) -> dict[str, Any]:
    """The columns that are the same for all points of a record."""
    header = record.header
    return {
        **sampled_table.case_of(header, AXES),
        axes.VIRTUAL_NODE_RANKS.name: record.virtual_node_ranks,
        "shared_nodes": record.shared_nodes,
        "ranks_per_node": math.ceil(header.ranks / record.shared_nodes),
        "nodes_are": sampled.nodes_are(header.nodes, record.shared_nodes, record.virtual_node_ranks),
        "dgemm": record.dgemm,
        "ratings": record.ratings,
        "noise": record.noise,
    }


def _rows(record: KernelsRecord, failed: Sequence[str]) -> Iterator[dict[str, Any]]:
    case = case_of(record)
    for every in record.points:
        point, left_out = in_one_state(every)
        off_by = control.off_by(_control(point))
        for name in VARIANTS:
            variant = point.variants[name]
            found = estimates(point, name)
            doubts = {column: _doubts(record, point, (name, base), failed) for column, base in _BASES.items()}
            reasons = [
                *doubts[TO_MPI],
                *sampled.too_wide(found["t_ns" if name == MPI else TO_MPI], validity.WIDEST_INTERVAL),
            ]
            yield {
                **case,
                VARIANT.name: name,
                **sampled_table.columns_of_estimates(found),
                **{one: getattr(point, one) for one in _OF_POINT},
                **{one: getattr(variant, one) for one in _OF_VARIANT},
                **{
                    column: getattr(variant, of) / point.copy_bytes if point.copy_bytes else math.nan
                    for column, of in _COPIES.items()
                },
                **{
                    VERDICTS[column]: ""
                    if name == base
                    else CANNOT_TELL
                    if doubts[column]
                    else verdict(control.widened(found[column], off_by))
                    for column, base in _BASES.items()
                },
                "handover_ns": handovers.handover_ns(point),
                "other_state_repetitions": left_out,
                **sampled_table.columns_of_point(
                    record,
                    point,
                    reasons,
                    [*validity.flags(point, off_by), *handovers.left_out_words(left_out, every.repetitions)],
                    validity.invalid_reasons(point, memory_only=record.memory_only),
                ),
            }


kernels_table = sampled_table.maker(COLUMNS, _rows)
"""A row per point and variant of each record; the columns are COLUMNS."""


def in_one_state(point: KernelPoint) -> tuple[KernelPoint, int]:
    """The point with the repetitions that ran in the state of the cores in which most ran, and how many were left
    out."""
    kept = handovers.in_state(point)
    if kept is None:
        return point, 0
    variants = {
        name: replace(one, t_ns=one.t_ns[kept], t_compute_ns=one.t_compute_ns[kept])
        for name, one in point.variants.items()
    }
    series = {name: getattr(point, name)[kept] for name in ("t_mpi_again_ns", "handover_least_ns", "handover_most_ns")}
    return replace(point, repetitions=int(kept.sum()), variants=variants, **series), int((~kept).sum())


def _doubts(record: KernelsRecord, point: KernelPoint, variants: Sequence[str], failed: Sequence[str]) -> list[str]:
    return [*failed, *validity.doubts(point, variants, case_of(record)["nodes_are"], record)]


def estimates(point: KernelPoint, name: str) -> dict[str, Estimate]:
    """The medians of a variant, by the names of columns."""
    variant = point.variants[name]
    series = {
        "t_ns": variant.t_ns,
        "t_compute_ns": variant.t_compute_ns,
        "t_collective_ns": variant.t_ns - variant.t_compute_ns,
        **{column: _ratios(point, name, base) for column, base in _BASES.items()},
    }
    return {**series_estimates(series), CONTROL: _control(point)}


def _control(point: KernelPoint) -> Estimate:
    """Pure MPI against itself; NaN in records without it."""
    mpi = point.variants[MPI].t_ns
    return series_estimate(point.t_mpi_again_ns / mpi if point.t_mpi_again_ns.size else np.full(0, math.nan))


def count_of_controls(table: pd.DataFrame) -> control.Count:
    """The controls of a table of `kernels_table`, one for each valid point."""
    rows = table[(table[VARIANT.name] == MPI) & table["valid"]]
    return control.count(zip(rows[f"{CONTROL}_ci95_low"], rows[f"{CONTROL}_ci95_high"], strict=True))


def _ratios(point: KernelPoint, name: str, base: str) -> Floats:
    ratios = point.variants[name].t_ns / point.variants[base].t_ns
    return np.full_like(ratios, math.nan) if name == base else ratios


def record_numbers(record: KernelsRecord) -> dict[str, float]:
    """The numbers that sum up a record, for ReFrame. Numbers that are not finite are left out.

    hybrid_ratio_to_mpi: the geometric mean over kernels and sizes of the variant `hybrid`, of reliable rows, or of all
    valid ones where less than half of these are reliable. Counts: points, points_valid, points_reliable.
    """
    table = kernels_table([record])
    own = table[table[VARIANT.name] == HYBRID]
    numbers = {"hybrid_ratio_to_mpi": sampled_table.geometric_mean(sampled_table.usable(own)[TO_MPI])}
    return sampled_table.numbers_of(own, numbers)


SHOWN = Columns((
    *leading(AXES),
    number("ranks"),
    plain("kernel"),
    number("size"),
    plain("variant"),
    number("total", "t_ns", duration),
    number("computation", "t_compute_ns", duration),
    number("collectives", "t_collective_ns", duration),
    *estimate("to mpi", TO_MPI),
    plain("it is", "verdict"),
    *estimate("to openmp", TO_OPENMP),
    *estimate("control", CONTROL),
    number("iterations"),
    number("error", "error", "{:.3g}".format),
    number("lines"),
    *LAST,
))  # fmt: skip
"""Times, ratios and lines of a table of `kernels_table` for a reader."""
MEMORY = Columns((
    *leading(AXES),
    plain("kernel"),
    number("size"),
    number("ranks per node", "ranks_per_node"),
    number("nodes", "shared_nodes"),
    plain("they are", "nodes_are"),
    plain("variant"),
    number("node memory", "memory_bytes", size),
    number("shared", "shared_bytes", size),
    number("of its data", "growth_bytes", size),
    number("copies planned", "copies_per_node", ratio),
    number("measured", "measured_copies_per_node", ratio),
    Column("remarks", lambda row: "; ".join(circumstances(row))),
))  # fmt: skip
"""The memory of a node in a table of `kernels_table`, for a reader."""


def by_ranks(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of a kernel under each other, by the ranks of a node."""
    kernels = {name: place for place, name in enumerate(dict.fromkeys(table["kernel"]))}
    keys = ["toolchain", "network", "configuration", "kernel", "ranks_per_node", "size"]
    ordered: pd.DataFrame = table.sort_values(
        keys, kind="stable", key=lambda one: one.map(kernels) if one.name == "kernel" else one
    )
    return ordered
