"""What the processes that measured sampled points observed about themselves, for `Family.inside` and `wrong`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from postprocess.drawing.text import duration
from postprocess.families.family import Details, Spent
from postprocess.families.sampled import SampledPoint, Sampling, invalid_reasons, order_controls
from postprocess.records.record import RecordFile

LATE_WORDS = {False: "late repetitions thrown away", True: "repetitions that a rank started late"}
"""By whether late repetitions count."""


class SampledRecord(Protocol):
    """A record of sampled points."""

    @property
    def points(self) -> Sequence[SampledPoint]: ...
    @property
    def complete(self) -> bool: ...


def spent(record: RecordFile) -> list[Spent]:
    """The CPU times of a record's threads, over the whole launch; none for a record without a footer."""
    end = record.footer
    return [Spent(end.mpi_thread_cpu_ns, end.helper_thread_cpu_ns, end.wall_seconds, end.wall_seconds)] if end else []


def timing(points: Sequence[Sampling], *own: tuple[str, str]) -> Details:
    """Facts about starts, clocks and repetitions that do not count, over the points of one configuration.

    own: facts of the family, which stand after the starts. Facts with an empty text are left out.
    """
    starts = dict.fromkeys(point.start_method for point in points)
    residuals = [point.clock.residual_ns for point in points if point.clock.residual_ns is not None]
    late = sum(point.late_repetitions for point in points)
    facts = [
        ("start of a repetition", "; ".join(starts)),
        *own,
        ("largest residual of the clocks", duration(max(residuals)) if residuals else ""),
        ("parts against themselves, by what ran before them", order_controls(points).words),
        ("warm-ups left out", str(sum(point.warmup_repetitions for point in points))),
        (LATE_WORDS[bool(points and points[0].late_starts.size)], str(late) if late else ""),
    ]
    return [(name, value) for name, value in facts if value and points]


def none_valid(reasons: Sequence[list[str]]) -> Iterator[str]:
    """A phrase if no point of a complete record is valid. reasons: `invalid_reasons` of each point."""
    if all(reasons):
        named = dict.fromkeys(reason for of_point in reasons for reason in of_point)
        yield f"none of its {len(reasons)} points is valid: {', '.join(named) or 'there is none'}"


def wrong(record: SampledRecord) -> Iterator[str]:
    """A phrase if a record received wrong data, or is complete without a valid point."""
    errors = sum(point.data_errors for point in record.points)
    if errors:
        yield f"{errors} wrong values were received"
    elif record.complete:
        yield from none_valid([invalid_reasons(point) for point in record.points])
