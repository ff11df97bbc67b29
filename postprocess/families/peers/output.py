"""What other benchmarks print about overlap, read with care.

Intel's IMB-NBC and the OSU Micro-Benchmarks run in the same campaign: the same library, ranks, binding, network and
message sizes. Their standard output is read strictly: a line that is not theirs, a number that is missing, an output
that ends too early, or an overlap that does not follow from the times beside it is a `RecordError` of one line. What
an MPI library or a launcher remarks in between is passed over (`remarks`); it stays in the log.

The formats are those of the public sources: IMB 2018 to 2021 (`src_c/IMB_output.c`, `IMB_display_times`), and OSU 5 to
7 (`util/osu_util_mpi.c`, `print_stats_nbc`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from postprocess.drawing.text import clean
from postprocess.records.fields import fail
from postprocess.records.remarks import without_remarks
from postprocess.statistics import metrics

LONGEST_QUOTE = 100
LAUNCH_END = "campaign: the launch of {message_bytes} bytes ended with exit code {exit_code}"
"""What stands in the output after each launch, so that one that dies takes no other one's result with it."""
DIED = "it ended early"
# Half of the last digit that both programs print.
ROUNDING = 0.005


@dataclass(frozen=True)
class PeerResult:
    """One message size. Times in microseconds and `overlap_percent` as printed, clamped by the program that printed it.

    repetitions is None where the program does not tell. Where it gave up on this size, `reason` has its words and the
    numbers are NaN; where its launch died, `reason` says so.
    """

    message_bytes: int
    repetitions: int | None
    t_overlapped_us: float
    t_pure_us: float
    t_compute_us: float
    overlap_percent: float
    reason: str = ""

    @property
    def died(self) -> bool:
        """Whether the launch ended before its end, other than by the program's own decision."""
        return self.reason.startswith(DIED)


@dataclass(frozen=True)
class PeerOutput:
    """What one launch printed. mpi_standard and ranks are as the program found them; "" and None where it is silent."""

    version: str
    mpi_standard: str
    ranks: int | None
    results: tuple[PeerResult, ...]


@dataclass(frozen=True)
class Format:
    """How one program prints, and what its overlap is.

    overlap: its formula, of t_overlapped, t_compute and t_pure, in per cent, not clamped. It prints from 0 to
    highest_percent.
    """

    title: str
    read: Callable[[str, str], PeerOutput]
    overlap: Callable[[float, float, float], metrics.Floats]
    highest_percent: float

    def overlap_percent(self, one: PeerResult) -> float:
        """What its formula makes of the times that it printed."""
        return metrics.as_float(self.overlap(one.t_overlapped_us, one.t_compute_us, one.t_pure_us))


# -- Intel MPI Benchmarks ----------------------------------------------------------------------------------------------

_IMB_TITLE = re.compile(r"#\s+Intel\(R\) MPI Benchmarks (\d[\w. ]*), MPI-NBC part")
_IMB_STANDARD = re.compile(r"# MPI Version\s*: (\d+\.\d+)")
_IMB_TABLE = re.compile(r"# Benchmarking (\w+)")
_IMB_RANKS = re.compile(r"# #processes = (\d+)")
_IMB_COLUMNS = "#bytes #repetitions t_ovrl[usec] t_pure[usec] t_CPU[usec] overlap[%]"
_IMB_GAVE_UP = re.compile(r"(\d+)\s+((?:out-of-mem|time-out|int-overflow)\..*)")
_IMB_END = "# All processes entering MPI_Finalize"


def read_imb(text: str, collective: str) -> PeerOutput:
    """The standard output of IMB-NBC for one collective (`ibcast`), of one launch or of several. Raises RecordError."""
    version = standard = table = ""
    ranks: int | None = None
    results: list[PeerResult] = []
    inside, ended = False, True
    for where, line in _lines("IMB-NBC", text):
        if match := _IMB_TITLE.fullmatch(line):
            if not ended:
                fail(where, "the launch before this line was cut off")
            if version and match[1] != version:
                fail(where, f"two versions in one output: {version} and {match[1]}")
            version, table, inside, ended = match[1], "", False, False
        elif match := _IMB_STANDARD.fullmatch(line):
            standard = match[1]
        elif match := _IMB_TABLE.fullmatch(line):
            table, inside = match[1], False
            if table.lower() != collective:
                fail(where, f"it measured {clean(table)}, not {collective}")
        elif match := _IMB_RANKS.fullmatch(line):
            ranks = int(match[1])
        elif " ".join(line.split()) == _IMB_COLUMNS:
            inside = bool(table)
        elif line == _IMB_END:
            ended = True
        elif not line.startswith("#"):
            if not inside or ended:
                fail(where, f"not a line of IMB-NBC: {_quote(line)}")
            results.append(_imb_result(line, where))
    _whole("IMB-NBC", version=version, ended=ended, results=results)
    return PeerOutput(version, standard, ranks, tuple(results))


def _imb_result(line: str, where: str) -> PeerResult:
    if match := _IMB_GAVE_UP.fullmatch(line):
        return _gave_up(int(match[1]), match[2])
    words = line.split()
    if len(words) != 6:
        fail(where, f"a row has {len(words)} columns, not 6: {_quote(line)}")
    counts = [_count(word, where) for word in words[:2]]
    overlapped, pure, compute, percent = (_number(word, where) for word in words[2:])
    return PeerResult(counts[0], counts[1], overlapped, pure, compute, percent)


# -- OSU Micro-Benchmarks ----------------------------------------------------------------------------------------------

_OSU_TITLE = re.compile(r"# OSU MPI(?:-\w+)? (Non-blocking .*) v(\d[\w.]*)", re.IGNORECASE)
_OSU_NEEDED = ("# Size", "Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)")
_OSU_COLUMNS = (*_OSU_NEEDED, "Coll. Init(us)", "MPI_Test(us)", "MPI_Wait(us)", "Validation")
_OSU_COLUMN = re.compile("|".join(map(re.escape, _OSU_COLUMNS)))


def read_osu(text: str, _collective: str) -> PeerOutput:
    """The standard output of one of OSU's nonblocking collectives, of one launch or of several. Raises RecordError.

    Its titles change with its version, and do not name the MPI function: that is known from the program's name.
    """
    version = ""
    columns: list[str] = []
    results: list[PeerResult] = []
    for where, line in _lines("OSU", text):
        if match := _OSU_TITLE.fullmatch(line):
            if version and match[2] != version:
                fail(where, f"two versions in one output: {version} and {match[2]}")
            version, columns = match[2], []
        elif line.startswith("# Size"):
            columns = _osu_columns(line, where)
        elif not line.startswith("#"):
            if not columns or not version:
                fail(where, f"not a line of OSU: {_quote(line)}")
            results.append(_osu_result(line, columns, where))
    _whole("OSU", version=version, ended=bool(columns), results=results)
    return PeerOutput(version, "", None, tuple(results))


def _osu_columns(line: str, where: str) -> list[str]:
    columns = _OSU_COLUMN.findall(line)
    if _OSU_COLUMN.sub("", line).strip() or not set(_OSU_NEEDED) <= set(columns):
        fail(where, f"its columns are not those of a nonblocking collective: {_quote(line)}")
    return columns


def _osu_result(line: str, columns: Sequence[str], where: str) -> PeerResult:
    words = line.split()
    if len(words) != len(columns):
        fail(where, f"a row has {len(words)} columns, not {len(columns)}: {_quote(line)}")
    row = dict(zip(columns, words, strict=True))
    if row.get("Validation", "Pass") != "Pass":
        fail(where, f"wrong data was received: {_quote(line)}")
    overlapped, compute, pure, percent = (_number(row[name], where) for name in _OSU_NEEDED[1:])
    return PeerResult(_count(row["# Size"], where), None, overlapped, pure, compute, percent)


FORMATS: Mapping[str, Format] = {
    "imb_nbc": Format("IMB-NBC", read_imb, metrics.overlap_imb_percent, 100.0),
    "osu": Format("OSU", read_osu, metrics.overlap_osu_percent, math.inf),  # it has no upper bound
}


def _lines(program: str, text: str) -> Iterator[tuple[str, str]]:
    """Every line that is neither blank nor a remark of a library or launcher, stripped, with where it is."""
    for number, line in without_remarks(text):
        yield f"{program}'s output, line {number}", line


def _quote(line: str) -> str:
    return f"'{clean(line)[:LONGEST_QUOTE]}'"


def _count(word: str, where: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", word):
        fail(where, f"{_quote(word)} is not a whole number")
    return int(word)


def _number(word: str, where: str) -> float:
    if not re.fullmatch(r"[0-9]{1,18}\.[0-9]{1,9}", word):
        fail(where, f"{_quote(word)} is not a number from 0 with decimals")
    return float(word)


def _gave_up(message_bytes: int, words: str) -> PeerResult:
    nan = math.nan
    return PeerResult(message_bytes, None, nan, nan, nan, nan, clean(words)[:LONGEST_QUOTE])


def _whole(program: str, *, version: str, ended: bool, results: Sequence[PeerResult]) -> None:
    where = f"{program}'s output"
    if not version:
        fail(where, f"it does not say that it is {program}, with a version")
    if not ended:
        fail(where, f"it was cut off{f' after {len(results)} sizes' if results else ''}")
    if not results:
        fail(where, "it has no result")


def read_output(benchmark: str, text: str, collective: str, sizes: Sequence[int]) -> PeerOutput:
    """What a program of `FORMATS` printed for these message sizes, each of which must be there, once, and consistent.

    A launch that ended with another exit code than 0 (`LAUNCH_END`) gives a result without numbers that says so. Raises
    RecordError, also where no launch came to its end.
    """
    form = FORMATS[benchmark]
    where = f"{form.title}'s output"
    whole, died = _without_the_dead(text)
    if died and not whole.strip():
        fail(where, f"no launch came to its end: {died[0].message_bytes} bytes: {died[0].reason}")
    found = form.read(whole, collective)
    found = replace(found, results=(*found.results, *died))
    measured = [one.message_bytes for one in found.results]
    for message_bytes in measured:
        if measured.count(message_bytes) > 1:
            fail(where, f"{message_bytes} bytes appear {measured.count(message_bytes)} times")
        if message_bytes not in sizes:
            fail(where, f"{message_bytes} bytes were not asked for")
    lacking = [message_bytes for message_bytes in sizes if message_bytes not in measured]
    if lacking:
        fail(where, f"it was cut off: no result for {', '.join(map(str, lacking))} bytes")
    for one in found.results:
        _check_overlap(form, one, where)
    return found


_LAUNCH_END = re.compile(LAUNCH_END.format(message_bytes=r"(\d{1,18})", exit_code=r"(\d{1,3})"))


def _without_the_dead(text: str) -> tuple[str, list[PeerResult]]:
    """An output without what launches printed that died, and without the lines that end a launch; those that died."""
    kept: list[str] = []
    launch: list[str] = []
    died: list[PeerResult] = []
    for line in text.splitlines(keepends=True):
        match = _LAUNCH_END.fullmatch(line.strip())
        if match is None:
            launch.append(line)
            continue
        if int(match[2]):
            died.append(_gave_up(int(match[1]), f"{DIED}, with exit code {match[2]}"))
        else:
            kept += launch
        launch = []
    return "".join((*kept, *launch)), died


def _check_overlap(form: Format, one: PeerResult, where: str) -> None:
    """The printed overlap must follow from the printed times, by the program's own formula, clamped as it clamps."""
    if one.reason:
        return
    if one.t_pure_us == 0:
        fail(where, f"at {one.message_bytes} bytes communication alone took no time")
    free = form.overlap_percent(one)
    expected = min(max(free, 0.0), form.highest_percent)
    # Each printed time is off by half of its last digit at most; the quotient is a few per cent at most beside it.
    slack = ROUNDING + 100 * ROUNDING * (3 + abs(free) / 100) / max(one.t_pure_us - ROUNDING, ROUNDING) + 1e-6
    if abs(one.overlap_percent - expected) > slack:
        fail(
            where,
            f"at {one.message_bytes} bytes it says {one.overlap_percent:g} % overlap, its own times give "
            f"{expected:.2f} %",
        )
