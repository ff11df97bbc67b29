"""The table of versions of a solver: one row per point, with its improvement, the bound, and its validity.

Ratios are made within repetitions: each times the version that computes all and then exchanges and, right beside it,
the tested version; the two change places from repetition to repetition. What disturbs both cancels. The value of a
ratio is the median over repetitions, and its 95 % interval is that of a median, distribution free, from order
statistics (`metrics.series_estimate`).

    improvement     (t_nonoverlap - t_overlap) / t_nonoverlap        `transfer_overlap.improvement`
    bound           min(t_comm, t_comp) / (t_comm + t_comp)          `transfer_overlap.improvement_bound`
    parts_of_whole  (t_comm + t_comp) / t_nonoverlap                 `transfer_overlap.parts_of_whole`

These compare a configuration with itself, where a thread that makes both versions slow may bring a large improvement.
What a configuration brings over the version without overlap in `basic` is

    improvement_vs_basic  (t_nonoverlap of `basic` - t_overlap) / t_nonoverlap of `basic`, from the medians of a launch
                          each (`transfer_overlap.improvement_estimate`)

`improvement_joint` has the interval that holds for all versions of a case at once (C. E. Bonferroni 1936): of six
versions without any effect, one would leave 0 out of its 95 % interval every fourth time.

`drift` says whether the reference stood still:

    reference_fastest_ns, reference_slowest_ns  the medians of t_nonoverlap, the shortest and the longest one of the
                            versions of the launch on the row's system that exchange anything
    reference_drifts        whether these surely differ
    reference_change        by how much t_nonoverlap is longer in the later half of the row's repetitions, relative
    improvement_change      by how much the improvement is larger there

`validity` says what a point may be used for.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import Column, Columns, estimate, number, plain
from postprocess.drawing.text import duration, percent_with_decimal, size
from postprocess.families import axes, sampled, sampled_table
from postprocess.families.sampled_table import LAST, leading
from postprocess.families.transfer_overlap import drift, validity
from postprocess.families.transfer_overlap.axes import AXES, CONTROLS, VARIANT
from postprocess.families.transfer_overlap.record import SERIES, TransferPoint, TransferRecord
from postprocess.records.header import NAMED
from postprocess.statistics import transfer_overlap as formulas
from postprocess.statistics.metrics import CONFIDENCE, Estimate, Floats, as_float, series_estimate, series_estimates

RATIOS = ("improvement", "bound", "parts_of_whole")
_CHANGES = ("reference_change", "improvement_change")
_ESTIMATES = (*SERIES, *RATIOS, *_CHANGES)
_VS_BASIC = sampled_table.names_of_estimates(("improvement_vs_basic",))
_NOT_OF_BASIC = ("configuration", "threads_per_rank", "given_up_cores")
"""Of the columns of a case, those that may differ between a row and that of `basic`; all cores of a rank may not."""
COLUMNS = sampled_table.with_own(AXES.family, (
    *AXES.case, NAMED, VARIANT.name,
    *sampled_table.names_of_estimates(_ESTIMATES), *_VS_BASIC,
    "improvement_joint_ci95_low", "improvement_joint_ci95_high", "bound_stands", "above_bound",
    "reference_fastest_ns", "reference_slowest_ns", "reference_drifts",
    "message_bytes", *sampled_table.LAST_COLUMNS,
))  # fmt: skip
"""The columns of `transfer_table`, in order.

Times are medians of a solve, in nanoseconds, sizes in bytes; ratios have no unit. An unknown value is NaN.
`message_bytes` is the mean message of an exchange.
"""


def _against_basic(table: pd.DataFrame) -> pd.DataFrame:
    """The table with `improvement_vs_basic`: NaN where there is no valid row of `basic` with the same work."""
    cores = table["threads_per_rank"] + table["given_up_cores"]
    same = [cores, *(table[name] for name in (*AXES.case, VARIANT.name) if name not in _NOT_OF_BASIC)]
    key = pd.Series(list(zip(*same, strict=True)), table.index, object)
    is_basic = (table["configuration"] == "basic") & table["valid"]
    basic = table[is_basic].set_index(pd.Index(key[is_basic], tupleize_cols=False))
    basic = basic[~basic.index.duplicated()].reindex(pd.Index(key, tupleize_cols=False))
    found = formulas.improvement_estimate(_estimates(basic, "t_nonoverlap_ns"), _estimates(table, "t_overlap_ns"))
    compared: pd.DataFrame = table.assign(**dict(zip(_VS_BASIC, (found.value, found.low, found.high), strict=True)))
    return compared


def _estimates(table: pd.DataFrame, name: str) -> Estimate:
    return Estimate(*(table[name + end].to_numpy(np.float64) for end in sampled_table.ENDS))


def ratios_of(point: TransferPoint) -> dict[str, Floats]:
    """The ratios of a point by the names in RATIOS, a value per repetition."""
    return {
        "improvement": formulas.improvement(point.t_nonoverlap_ns, point.t_overlap_ns),
        "bound": formulas.improvement_bound(point.t_comm_ns, point.t_comp_ns),
        "parts_of_whole": formulas.parts_of_whole(point.t_comm_ns, point.t_comp_ns, point.t_nonoverlap_ns),
    }


def _versions(record: TransferRecord, point: TransferPoint) -> int:
    """How many versions were tested on the system of a point, without controls."""
    system = (point.grid_points, point.unknowns)
    return sum((one.grid_points, one.unknowns) == system and one.variant not in CONTROLS for one in record.points)


def _references(record: TransferRecord) -> dict[tuple[int, int], drift.Between]:
    """Whether the references of the versions agree, for each system by its points and unknowns."""
    systems = dict.fromkeys((point.grid_points, point.unknowns) for point in record.points)
    return {
        system: drift.between_versions([one for one in record.points if (one.grid_points, one.unknowns) == system])
        for system in systems
    }


def _rows(record: TransferRecord, failed: Sequence[str]) -> Iterator[dict[str, Any]]:
    case, references = sampled_table.case_of(record.header, AXES), _references(record)
    for point in record.points:
        between = references[point.grid_points, point.unknowns]
        ratios = ratios_of(point)
        found = {
            **series_estimates({name: getattr(point, name) for name in SERIES} | ratios),
            "reference_change": drift.change_of_times(point.t_nonoverlap_ns),
            "improvement_change": drift.change_of_ratio(ratios["improvement"]),
        }
        confidence = 1 - (1 - CONFIDENCE) / max(_versions(record, point), 1)
        joint = series_estimate(ratios["improvement"], confidence)
        improvement, bound = found["improvement"], found["bound"]
        bound_stands = validity.bound_stands(found["parts_of_whole"])
        reasons = [
            *failed,
            *validity.unreliable_reasons(
                point, improvement, found["improvement_change"], oversubscribed=record.header.oversubscribed
            ),
        ]
        flags = [
            *validity.flags(point, improvement, bound, found["parts_of_whole"]),
            *validity.drift_flags(point, between, found["reference_change"]),
            *sampled.within_bucket(
                record.header,
                as_float(found["t_comm_ns"].value) / max(1, min(point.iterations, point.reference_iterations)),
                point.exchanged_bytes,
            ),
        ]
        yield {
            **case,
            axes.GRID_POINTS.name: point.grid_points,
            axes.UNKNOWNS.name: point.unknowns,
            VARIANT.name: point.variant,
            **sampled_table.columns_of_estimates(found),
            **dict(zip(("improvement_joint_ci95_low", "improvement_joint_ci95_high"), joint.numbers[1:], strict=True)),
            "bound_stands": bound_stands,
            "above_bound": (bound_stands and point.variant not in CONTROLS and validity.is_above(improvement, bound)),
            "reference_fastest_ns": between.fastest,
            "reference_slowest_ns": between.slowest,
            "reference_drifts": between.drifts,
            "message_bytes": point.exchanged_bytes // max(point.messages, 1),
            **sampled_table.columns_of_point(record, point, reasons, flags),
        }


_own_table = sampled_table.maker(COLUMNS, _rows, "bound_stands", "above_bound", "reference_drifts")


def transfer_table(
    records: Sequence[TransferRecord], failed: Mapping[str, tuple[str, str]] | None = None
) -> pd.DataFrame:
    """One row per point of each record; the columns are COLUMNS. failed: `failed_records` of the run."""
    return _against_basic(_own_table(records, failed))


def record_numbers(record: TransferRecord) -> dict[str, float]:
    """The numbers that sum up a record, for ReFrame. Numbers that are not finite are left out.

    t_ratio_to_nonoverlap: the geometric mean of t_overlap / t_nonoverlap, which is 1 - improvement, over the reliable
    points of versions that are no control; over the valid ones where less than half of these are reliable.  Counts:
    points, points_valid, points_reliable.
    """
    table = transfer_table([record])
    chosen = sampled_table.usable(table)
    versions = chosen[~chosen["variant"].isin(CONTROLS)]
    numbers = {"t_ratio_to_nonoverlap": sampled_table.geometric_mean(1 - versions["improvement"])}
    return sampled_table.numbers_of(table, numbers)


def points_text(points: float) -> str:
    """A number of points, with a space between thousands: ``1 000 000``."""
    return f"{int(points):,}".replace(",", " ")


SHOWN = Columns((
    *leading(AXES),
    number("points", "grid_points", points_text),
    number("unknowns"),
    plain("version", "variant"),
    number("launch"),
    number("nonoverlap", "t_nonoverlap_ns", duration),
    number("version's", "t_overlap_ns", duration),
    *estimate("improvement", "improvement", percent_with_decimal),
    number("bound", "bound", percent_with_decimal),
    *estimate("vs basic", "improvement_vs_basic", percent_with_decimal),
    number("exchanges", "t_comm_ns", duration),
    number("computation", "t_comp_ns", duration),
    Column("message", lambda row: size(row["message_bytes"]) if row["messages"] else "none", right=True),
    number("iterations"),
    number("residual", "residual", "{:.1e}".format),
    *LAST,
))  # fmt: skip
"""The columns of a table of `transfer_table` for a reader."""
