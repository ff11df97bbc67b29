"""Which case of a run a program of one file shows, and at which point."""

import math
import re
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from mpi_campaign.errors import CampaignError
from mpi_campaign.standalone.programs import PROGRAMS, CannotShowError, Program, Row
from postprocess.drawing.columns import rows_of
from postprocess.drawing.text import clean, first_of, has_words, plural
from postprocess.families import registry
from postprocess.families.family import Family
from postprocess.families.sampled_table import sound
from postprocess.records.fields import Json
from postprocess.records.header import Header
from postprocess.records.run import Run, cases_of, without_repeat
from postprocess.statistics import launches
from postprocess.statistics.control import CANNOT_TELL
from postprocess.statistics.metrics import Estimate, as_float, ratio_estimate
from postprocess.verdicts.acceptance import FAIL, PASS

Place: TypeAlias = Hashable

WARM_UP = 3
FEWEST_REPETITIONS, MOST_REPETITIONS = 9, 101
LONGEST_SECONDS = 45.0
"""Of all repetitions, so that the script ends within a minute."""
TOLERANCE = 1.05
"""A ratio nearer to the bound than this may come out on its other side: the program is simpler than the benchmark."""
APPLICATION, PROGRAM = "application", "program"
_OF_LAUNCH = (
    "toolchain", "provider", "environment", "repeat", "case", "result", "reason", "message", "fail_phase", "record",
)  # fmt: skip
"""What a manifest's cases of two libraries at one point differ in."""
_SIZES = ("message_bytes", "work_size")
"""What times of two libraries must have in common."""
_HANGS, _AT_POINT = re.compile("hangs in (.*)"), re.compile(r": point (\d+)")
"""Where a rank hangs, as the benchmarks say it, and the place of the point in the case's list of points."""


@dataclass(frozen=True)
class Interval:
    """A ratio or a time, ns, over launches, with its 95 % interval."""

    value: float
    low: float
    high: float
    launches: int


@dataclass(frozen=True)
class Case:
    """A case of a run.  name: in words.  launches: as the manifest has them.  header: of its first record."""

    name: str
    launches: Sequence[Json]
    family: Family
    header: Header

    @property
    def benchmark(self) -> str:
        return str(self.launches[0]["benchmark"])


@dataclass(frozen=True)
class Shown:
    """What a program of one file shows: a point of a case.

    place: the point's values of its axes.  values: those of the template.  bound: between PASS and FAIL.
    expected: what it should print.
    against: the ratio of another library at the same point, and the header of its record; None where the bound is the
    program's.  by_time: the ratio is that of the times of both, and `against` has the other's time, ns.
    alike: how many of the case's points do so, of how many that can be shown.
    hang: where a launch of the case hung; then the program passes if it ends, and `measured` is not known.
    """

    program: Program
    case: Case
    place: Place
    values: Mapping[str, Any]
    measured: Interval
    bound: float
    expected: str
    against: tuple[Header, Interval] | None = None
    by_time: bool = False
    alike: tuple[int, int] = (0, 0)
    hang: str = ""

    @property
    def margin(self) -> float:
        """How far the interval is from the bound, on the side where it is."""
        return max(self.measured.low - self.bound, self.bound - self.measured.high)

    @property
    def repetitions(self) -> int:
        """An odd number of repetitions, so that the median is one of them."""
        longest = LONGEST_SECONDS / (2 if self.by_time else 1)  # then there are two programs
        fitting = int(longest / max(self.values["seconds"], 1e-9)) - WARM_UP
        return (max(1, min(fitting, MOST_REPETITIONS)) - 1) // 2 * 2 + 1


def case_of(run: Run, words: str) -> Case:
    """The case with all of these words in its name, such as `mpich async ialltoall`. Raises CampaignError."""
    name, its_launches = _named(run.manifest, words)
    family = registry.of_benchmark(str(its_launches[0]["benchmark"]))
    return Case(name, its_launches, family, _header(run, family, its_launches))


def clearest(run: Run, case: Case, against: str) -> Shown:
    """The point that shows most clearly what most points of a case do: they surely fail, or surely pass. Of a case that
    hung it is the point where it did.

    against: another library of the run, which is better at the same point: by the program's ratio, or else by its time.
    Empty: the bound is the program's. Raises CampaignError.
    """
    if case.benchmark not in PROGRAMS:
        raise CampaignError(f"{case.name} cannot be shown in one file; what can: {', '.join(PROGRAMS)}")
    try:
        _check(case.header, PROGRAMS[case.benchmark])
        if hang := _hang_of(case):
            return _hanging(run, case, hang, against)
        shown = list(_points(run, case))
    except CannotShowError as error:
        raise CampaignError(f"{case.name} cannot be shown in one file: {error}") from error
    points = len(shown)
    if against:
        others = _other_launches(run, case, against)
        shown = _beside(run, case, shown, others) or list(_slower(run, case, shown, others))
        if not shown:
            raise CampaignError(f"{case.name}: at no point is it surely worse than {clean(against)}")
    told = [one.expected for one in shown if one.expected != CANNOT_TELL]
    most = PASS if told.count(PASS) > told.count(FAIL) else FAIL
    clearest = min(shown, key=lambda one: ((most, PASS, FAIL, CANNOT_TELL).index(one.expected), -one.margin))
    return replace(clearest, alike=(sum(one.expected == clearest.expected for one in shown), points))


def _named(manifest: Json, words: str) -> tuple[str, list[Json]]:
    """The name of the case that the words name, and its launches that have a record. Of several it is the one with the
    shortest name. Raises CampaignError."""
    by_name: dict[str, list[Json]] = {}
    for case in cases_of(manifest):
        if case.get("record") and has_words(f"{case.get('case')} {case.get('benchmark')}", words):
            by_name.setdefault(without_repeat(clean(case.get("case"))), []).append(case)
    plainest = sorted(by_name, key=_length)[:2]
    if not words or not plainest or len({_length(name) for name in plainest}) < len(plainest):
        found = first_of(by_name, 3) if by_name else "none has all of these words, or it was skipped"
        raise CampaignError(
            f"--case '{clean(words)}' names {plural(len(by_name), 'case')} that were measured, not one: {found}; give "
            "words of its name, such as --case 'mpich async ialltoall'"
        )
    return plainest[0], by_name[plainest[0]]


def _length(name: str) -> int:
    """How many words the name of a case has: the fewest where it differs in nothing from the usual case."""
    return len(name.split())


def _header(run: Run, family: Family, cases: Sequence[Json]) -> Header:
    names = {str(case["record"]) for case in cases}
    found = (record.header for record in registry.read(run, family).records if record.name in names)
    header: Header | None = next(found, None)
    if header is None:
        raise CampaignError(f"no record of {clean(cases[0].get('case'))} can be read")
    return header


def _check(header: Header, program: Program) -> None:
    """Raises CannotShowError for what no program of one file does."""
    if header.progress.source == APPLICATION or header.progress.pinned_by == PROGRAM:
        raise CannotShowError("its progress thread is made or bound by the benchmark")
    if not any(place.node == 0 for place in header.placement):
        raise CannotShowError("its record does not tell where ranks ran")
    if header.threads_per_rank > 1 and not program.computes_with_threads:
        raise CannotShowError("its ranks compute with several threads")


def _points(run: Run, case: Case) -> Iterator[Shown]:
    """A case at each of its points that can be shown. Raises CannotShowError where there is none."""
    program, why, any_shown = PROGRAMS[case.benchmark], "", False
    for place, row, measured in _rows(run, case, case.launches, program.metric):
        try:
            values = _values(program, row)
        except CannotShowError as error:
            why = str(error)
            continue
        if values["seconds"] * (FEWEST_REPETITIONS + WARM_UP) > LONGEST_SECONDS:
            why = "its repetitions take too long"
            continue
        any_shown = True
        yield Shown(program, case, place, values, measured, program.bound, _expected(program, measured))
    if not any_shown:
        raise CannotShowError(why or f"no sound point of it has {program.metric}")


def _values(program: Program, row: Row) -> dict[str, Any]:
    """The values of the template at a point. Raises CannotShowError."""
    return {"calibrates": True, "slowest": True, **program.values(row)}


def _hang_of(case: Case) -> str:
    """Where a launch of the case hung; empty where none did."""
    found = (_HANGS.search(str(launch.get("reason"))) for launch in case.launches)
    return next((clean(where[1]) for where in found if where), "")


def _hanging(run: Run, case: Case, hang: str, against: str) -> Shown:
    """The point at which a case hung, with the sizes that it had in any launch of any library; where none got so far,
    any point that was measured. Raises CannotShowError."""
    if against:
        raise CannotShowError("it hung, and is no slower: give no --against")
    program, same = PROGRAMS[case.benchmark], _without_library(case.launches[0])
    records = [one["record"] for one in cases_of(run.manifest) if one.get("record") and _without_library(one) == same]
    table = registry.found(run, case.family).table
    rows = table[table["record"].isin(records) & table["valid"]]
    at = _AT_POINT.search(hang)
    there = rows[rows["index"] == int(at[1])] if at else rows.iloc[:0]
    why = "no launch of any library has measured a point of it"
    for row in rows_of(rows if there.empty else there):
        try:
            values = _values(program, row)
        except CannotShowError as error:
            why = str(error)
            continue
        if values["seconds"] * (1 + WARM_UP) > LONGEST_SECONDS:
            why = "its repetitions take too long"
            continue
        unknown = Interval(math.nan, math.nan, math.nan, 0)
        return Shown(program, case, (), values, unknown, program.bound, FAIL, hang=hang)
    raise CannotShowError(why)


def _expected(program: Program, measured: Interval) -> str:
    """What a program should print by the interval that was measured."""
    above = PASS if program.larger_is_better else FAIL
    below = FAIL if program.larger_is_better else PASS
    if measured.low > program.bound * TOLERANCE:
        return above
    return below if measured.high < program.bound / TOLERANCE else CANNOT_TELL


def _rows(run: Run, case: Case, its_launches: Sequence[Json], metric: str) -> Iterator[tuple[Place, Row, Interval]]:
    """Each point of a case: its values of the axes, the row of the launch in the middle, its metric over launches."""
    family = case.family
    table = registry.found(run, family).table
    its = table[table["record"].isin([launch["record"] for launch in its_launches])]
    its = its[sound(its) & np.isfinite(its[metric].to_numpy(np.float64))]
    axes = [axis.name for axis in family.axes if axis.of == "point" and axis.name in its]
    for place, rows in its.groupby(axes, dropna=False):
        found = _over_launches(rows, metric)
        middle = rows.loc[(rows[metric] - as_float(found.value)).abs().idxmin()]
        yield place, middle.to_dict(), Interval(*found.numbers, len(rows))


def _over_launches(rows: pd.DataFrame, metric: str) -> Estimate:
    """A metric over launches. Where the table has no intervals of it, that of fewer than three launches is not
    known."""
    if f"{metric}_ci95_low" in rows:
        return launches.of_rows(rows, metric)
    unknown = np.full(len(rows), np.nan)
    return launches.over_launches(rows[metric].to_numpy(np.float64), unknown, unknown)


def _other_launches(run: Run, case: Case, against: str) -> list[Json]:
    """The launches of a case with another library. Raises CampaignError where the run has none."""
    same = _without_library(case.launches[0])
    others = [other for other in cases_of(run.manifest) if other.get("record") and _without_library(other) == same]
    found = [other for other in others if other.get("toolchain") == against]
    if not found:
        there = first_of(dict.fromkeys(clean(other.get("toolchain")) for other in others), 9)
        raise CampaignError(f"--against '{clean(against)}' has no such case in this run, whose libraries are {there}")
    return found


def _beside(run: Run, case: Case, shown: Sequence[Shown], others: Sequence[Json]) -> list[Shown]:
    """The points at which another library's ratio is surely better, with the bound in the middle between both. Raises
    CampaignError."""
    header = _header(run, case.family, others)
    of_other = {place: measured for place, _, measured in _rows(run, case, others, PROGRAMS[case.benchmark].metric)}
    return [
        replace(one, bound=bound, expected=_promised(one.measured.value, bound), against=(header, other))
        for one in shown
        if (other := of_other.get(one.place)) is not None and _is_worse(one, other)
        for bound in (_middle(one.measured.value, other.value),)
    ]


def _slower(run: Run, case: Case, shown: Sequence[Shown], others: Sequence[Json]) -> Iterator[Shown]:
    """The points at which the case surely takes longer than with another library, with the bound in the middle between
    both. Raises CampaignError."""
    program, header = PROGRAMS[case.benchmark], _header(run, case.family, others)
    if not program.time:
        return
    question = f"Does {case.name} take longer than with {header.toolchain}?"
    times, of_other = (
        {place: (row, time) for place, row, time in _rows(run, case, its_launches, program.time)}
        for its_launches in (case.launches, others)
    )
    by_time = replace(
        program,
        metric="slowdown",
        formula=f"slowdown = {program.time.removesuffix('_ns')} over that of the other library.",
        larger_is_better=False,
    )
    for one in shown:
        is_short = one.values["seconds"] * (FEWEST_REPETITIONS + WARM_UP) <= LONGEST_SECONDS / 2
        if is_short and one.place in times and one.place in of_other:
            (row, own), (other_row, other) = times[one.place], of_other[one.place]
            found = Interval(*ratio_estimate(_estimate(own), _estimate(other)).numbers, own.launches)
            if found.low > 1 and all(row.get(name) == other_row.get(name) for name in _SIZES):
                bound = _middle(found.value, 1)
                yield replace(
                    one, program=by_time, values={**one.values, "question": question}, measured=found, bound=bound,
                    expected=_promised(found.value, bound), against=(header, other), by_time=True,
                )  # fmt: skip


def _without_library(case: Json) -> Json:
    return {name: value for name, value in case.items() if name not in _OF_LAUNCH}


def _middle(one: float, other: float) -> float:
    return round((one + other) / 2, 3)


def _promised(worse: float, bound: float) -> str:
    """What a program should print of the library that is worse, by the bound in the middle between two."""
    return CANNOT_TELL if bound / TOLERANCE < worse < bound * TOLERANCE else FAIL


def _estimate(one: Interval) -> Estimate:
    return Estimate(*map(np.float64, (one.value, one.low, one.high)))


def _is_worse(one: Shown, other: Interval) -> bool:
    return one.measured.high < other.low if one.program.larger_is_better else one.measured.low > other.high
