"""What the hybrid variant of each kernel brings: its time against pure MPI and against MPI and OpenMP, the memory of
its node, and its lines of code.

Times of different launches are not compared. Several launches of a case count by `launches.over_launches`; there is a
verdict where their interval and each of them agree. With fewer than three launches it is `likely` at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from postprocess.drawing.columns import rows_of
from postprocess.drawing.text import plural, ratio, size, with_interval
from postprocess.families.hybrid_kernels.axes import AXES, VARIANT
from postprocess.families.hybrid_kernels.record import HYBRID, MPI, OPENMP, VARIANTS
from postprocess.families.hybrid_kernels.table import TO_MPI, TO_OPENMP, VERDICTS, by_ranks, count_of_controls
from postprocess.families.sampled_table import case_words, nodes_words, same_case
from postprocess.statistics import launches
from postprocess.statistics.control import CANNOT_TELL, verdict
from postprocess.statistics.metrics import Estimate

MOST_COPIES = 1.1
"""Node memory of the data that several ranks of a node need: `hybrid` is meant to keep at most so many copies.
`docs/benchmarks/hybrid-targets.yaml` has the same bound."""
PLACE = [*same_case(AXES), "shared_nodes", "nodes_are"]
"""The columns that name where a kernel was solved, and how it was measured."""


@dataclass(frozen=True)
class Comparison:
    """The time of `hybrid` over that of another variant. verdict: as in a table of `kernels_table`."""

    found: Estimate
    verdict: str
    launches: int

    @property
    def answer(self) -> str:
        """The verdict, `likely` where it rests on few launches."""
        return self.verdict if self.verdict == CANNOT_TELL else f"{launches.likely(self.launches)}{self.verdict}"

    @property
    def words(self) -> str:
        """The ratio and its interval, as far as they are known."""
        return with_interval(*self.found.numbers)


@dataclass(frozen=True)
class Verdict:
    """The answer for one kernel of one size.

    row: a row of its table.  where: library, configuration, network, ranks and nodes.  to_mpi, to_openmp: the times.
    memory_bytes, copies, planned_copies, lines: of each variant, as in a table of `kernels_table`; of several launches
    the median memory and the most copies. `copies` are measured, or planned where the record does not
    tell.  valid: whether all results were right.
    doubt: the first reason why the ratio to pure MPI is not reliable; empty where it is.
    """

    row: Mapping[str, Any]
    where: str
    kernel: str
    size: int
    to_mpi: Comparison
    to_openmp: Comparison
    memory_bytes: Mapping[str, float]
    copies: Mapping[str, float]
    planned_copies: Mapping[str, float]
    lines: Mapping[str, int]
    valid: bool
    doubt: str

    @property
    def name(self) -> str:
        """The kernel and its size: ``bpmf of size 2000``."""
        return f"{self.kernel} of size {self.size}"

    @property
    def time_words(self) -> str:
        """Both ratios, with their intervals and verdicts."""
        if not np.isfinite(self.to_mpi.found.value):
            return "no time was measured"
        against = ((self.to_mpi, "pure MPI"), (self.to_openmp, "MPI and OpenMP"))
        words = [f"{one.words} of {base}'s time: {one.answer}" for one, base in against]
        return f"hybrid takes {'; '.join(words)}"

    @property
    def memory_words(self) -> str:
        """The memory of a node, and the copies of the data that several ranks need, as far as there are such data."""
        words = f"memory of a node: {_each(self.memory_bytes, size)}"
        if np.isfinite(self.copies[HYBRID]):
            words += f"; copies of the data that its ranks share: {_each(self.copies, ratio)}"
            words += f" (planned: {_each(self.planned_copies, ratio)})" if self.copies != self.planned_copies else ""
        return words


_NAMES: Mapping[str, str] = {HYBRID: "hybrid", MPI: "pure MPI", OPENMP: "MPI and OpenMP"}


def _each(values: Mapping[str, float], words: Callable[[float], str]) -> str:
    return ", ".join(f"{name} {words(values[variant])}" for variant, name in _NAMES.items())


def verdicts(table: pd.DataFrame) -> Iterator[Verdict]:
    """Yield the verdicts on a table of `kernels_table`, by place, ranks and kernel."""
    for _, rows in by_ranks(table).groupby([*PLACE, "kernel", "size"], sort=False):
        of: dict[str, pd.DataFrame] = {variant: rows[rows[VARIANT.name] == variant] for variant in VARIANTS}
        own = of[HYBRID]
        first = rows_of(own)[0]
        reasons = [reason for one in own["unreliable_reasons"] for reason in one]
        yield Verdict(
            row=first,
            where=_where(first),
            kernel=str(first["kernel"]),
            size=int(first["size"]),
            to_mpi=_comparison(own, TO_MPI),
            to_openmp=_comparison(own, TO_OPENMP),
            memory_bytes={variant: float(np.median(of[variant]["memory_bytes"])) for variant in VARIANTS},
            copies={variant: float(_copies(of[variant]).max()) for variant in VARIANTS},
            planned_copies={variant: float(of[variant]["copies_per_node"].max()) for variant in VARIANTS},
            lines={variant: int(of[variant]["lines"].iloc[0]) for variant in VARIANTS},
            valid=bool(rows["valid"].all()),
            doubt=reasons[0] if reasons else "",
        )


def _where(first: Mapping[str, Any]) -> str:
    return f"{case_words(AXES, first)}, {plural(int(first['ranks']), 'rank')}, {nodes_words(first)}"


def _copies(rows: pd.DataFrame) -> pd.Series[float]:
    """As measured, or as planned where the record does not tell."""
    return rows["measured_copies_per_node"].fillna(rows["copies_per_node"])


def _comparison(rows: pd.DataFrame, column: str) -> Comparison:
    found = launches.of_rows(rows, column)
    of_all = verdict(found)
    agree = set(rows[VERDICTS[column]]) == {of_all}
    return Comparison(found, of_all if agree else CANNOT_TELL, int(rows["record"].nunique()))


@dataclass(frozen=True)
class Place:
    """The verdicts of one place. memory: whether `hybrid` keeps the memory that it is meant to keep, in words; empty
    where no kernel has data that several ranks need."""

    where: str
    verdicts: Sequence[Verdict]
    memory: str


def places(table: pd.DataFrame) -> list[Place]:
    """The verdicts on a table of `kernels_table`, by place."""
    found: dict[str, list[Verdict]] = {}
    for answer in verdicts(table):
        found.setdefault(answer.where, []).append(answer)
    return [Place(where, of_place, _memory_target(of_place)) for where, of_place in found.items()]


def _memory_target(of_place: Sequence[Verdict]) -> str:
    known = [one for one in of_place if np.isfinite(one.copies[HYBRID])]
    if not known:
        return ""
    worst = max(known, key=lambda one: one.copies[HYBRID])
    copies = worst.copies[HYBRID]
    wrong = next((kernel.name for kernel in known if not kernel.valid), "")
    answer = f"cannot be told, {wrong} is not valid" if wrong else "holds" if copies <= MOST_COPIES else "does not hold"
    return (
        f"hybrid keeps at most {ratio(MOST_COPIES)} copies per node of the data that its ranks share: {answer}; "
        f"the most are {ratio(copies)}, {worst.name}"
    )


def verdict_text(table: pd.DataFrame) -> str:
    """The verdicts for the terminal; empty for an empty table."""
    lines = []
    for place in places(table):
        lines.append(f"{place.where}:")
        for kernel in place.verdicts:
            doubt = f" ({kernel.doubt})" if kernel.doubt else ""
            lines += [f"  {kernel.name}: {kernel.time_words}{doubt}", f"    {kernel.memory_words}"]
        lines += [f"  {place.memory}"] if place.memory else []
    return "\n".join(filter(None, [*lines, count_of_controls(table).words]))
