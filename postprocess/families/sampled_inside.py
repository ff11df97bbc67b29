"""What the processes that measured sampled points observed about themselves, for `Family.inside` and `wrong`."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from postprocess.drawing.text import duration
from postprocess.families.axes import FamilyAxes
from postprocess.families.family import Details, Inside, Spent
from postprocess.families.sampled import Sampling, invalid_reasons, order_controls
from postprocess.families.sampled_table import case_of
from postprocess.records.record import RecordFile

LATE_WORDS = {False: "late repetitions thrown away", True: "repetitions that a rank started late"}
"""By whether late repetitions count."""


def spent(record: RecordFile) -> list[Spent]:
    """The CPU times of a record's threads, over the whole launch; none for a record without a footer."""
    end = record.footer
    return [Spent(end.mpi_thread_cpu_ns, end.helper_thread_cpu_ns, end.wall_seconds, end.wall_seconds)] if end else []


def observed(
    axes: FamilyAxes,
    what: str | Callable[[Any], str],
    covered: Callable[[Sequence[Any]], Iterable[tuple[str, str]]],
    facts: Callable[[Sequence[Any]], Iterable[tuple[str, str]]] = lambda _records: (),
) -> Inside:
    """The `inside` of a family. what: what a record measured, to follow its configuration.  covered, facts: what the
    records of a run measured, and how those of one configuration were timed, beside starts and clocks. Facts with an
    empty text are left out."""

    def words(record: Any) -> str:
        return f"{axes.words(case_of(record.header, axes))}, {what if isinstance(what, str) else what(record)}"

    return Inside(
        words,
        spent,
        lambda records: [(name, value) for name, value in covered(records) if value],
        lambda records: _timing([point for record in records for point in record.points], facts(records)),
    )


def _timing(points: Sequence[Sampling], own: Iterable[tuple[str, str]]) -> Details:
    """Facts about starts, clocks and repetitions that do not count, over the points of one configuration.

    own: facts of the family, which stand after the starts.
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


def different(values: Iterable[object], between: str = "; ") -> str:
    """Each different value once."""
    return between.join(dict.fromkeys(map(str, values)))


def wrong(
    record: Any, words: str = "wrong values were received", reasons: Callable[[Any], list[str]] = invalid_reasons
) -> Iterator[str]:
    """A phrase if a record has wrong data, or is complete without a valid point.

    Beside a progress thread that shares the core of its rank there may be no valid point: that is what was found.
    words: what is wrong then.  reasons: why a point is not valid.
    """
    errors = sum(point.data_errors for point in record.points)
    if errors:
        yield f"{errors} {words}"
    elif record.complete and not record.header.shared_core:
        of_points = [reasons(point) for point in record.points]
        if all(of_points):
            named = dict.fromkeys(reason for of_point in of_points for reason in of_point)
            yield f"none of its {len(of_points)} points is valid: {', '.join(named) or 'there is none'}"
