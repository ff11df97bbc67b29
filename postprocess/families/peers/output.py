"""Strict readers for what other benchmarks print about overlap.

Intel's IMB-NBC and the OSU Micro-Benchmarks run in the same campaign: with the same library, ranks, binding, network
and message sizes. A `RecordError` of one line is raised for a line that is not theirs, a missing number, an output that
ends too early, or an overlap that does not follow from the times beside it. Remarks of an MPI library or a launcher
between their lines are skipped (`remarks`); they stay in the log.

The formats are those of the public sources: IMB 2018 to 2021 (`src_c/IMB_output.c`, `IMB_display_times`), and OSU 5 to
7 (`util/osu_util_mpi.c`, `print_stats_nbc`).
"""

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
"""The line in the output after each launch, so that a launch that dies does not spoil the results of the others."""
DIED = "it ended early"
# Half of the last digit that both programs print: the error of a printed number.
ROUNDING = 0.005


@dataclass(frozen=True)
class PeerResult:
    """The result for one message size, as the program printed it: times in microseconds, `overlap_percent` clamped.

    repetitions: None where the program does not print it.
    reason: why there are no numbers (they are NaN): the words of a program that gave up, or that its launch died; empty
    otherwise.
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
        """Whether the launch ended early without the program's own decision."""
        return self.reason.startswith(DIED)


@dataclass(frozen=True)
class PeerOutput:
    """The output of a program. mpi_standard and ranks are as it printed them; "" and None where it prints none."""

    version: str
    mpi_standard: str
    ranks: int | None
    results: tuple[PeerResult, ...]


@dataclass(frozen=True)
class Format:
    """The output format of a program, and its definition of overlap.

    read: reads an output for a collective.
    overlap: its formula for overlap in per cent from t_overlapped, t_compute and t_pure, not clamped.
    highest_percent: the program prints the overlap clamped to 0 .. highest_percent.
    """

    title: str
    read: Callable[[str, str], PeerOutput]
    overlap: Callable[[float, float, float], metrics.Floats]
    highest_percent: float

    def overlap_percent(self, result: PeerResult) -> float:
        """The overlap in per cent that the program's formula gives for its printed times, not clamped."""
        return metrics.as_float(self.overlap(result.t_overlapped_us, result.t_compute_us, result.t_pure_us))


# -- Intel MPI Benchmarks ----------------------------------------------------------------------------------------------

_IMB_TITLE = re.compile(r"#\s+Intel\(R\) MPI Benchmarks (\d[\w. ]*), MPI-NBC part")
_IMB_STANDARD = re.compile(r"# MPI Version\s*: (\d+\.\d+)")
_IMB_TABLE = re.compile(r"# Benchmarking (\w+)")
_IMB_RANKS = re.compile(r"# #processes = (\d+)")
_IMB_COLUMNS = "#bytes #repetitions t_ovrl[usec] t_pure[usec] t_CPU[usec] overlap[%]"
_IMB_GAVE_UP = re.compile(r"(\d+)\s+((?:out-of-mem|time-out|int-overflow)\..*)")
_IMB_END = "# All processes entering MPI_Finalize"


def read_imb(text: str, collective: str) -> PeerOutput:
    """Read the standard output of one or more launches of IMB-NBC for a collective (`ibcast`). Raises RecordError."""
    version = standard = table = ""
    ranks: int | None = None
    results: list[PeerResult] = []
    in_table, ended = False, True
    for where, line in _lines("IMB-NBC", text):
        if match := _IMB_TITLE.fullmatch(line):
            if not ended:
                fail(where, "the launch before this line was cut off")
            if version and match[1] != version:
                fail(where, f"two versions in one output: {version} and {match[1]}")
            version, table, in_table, ended = match[1], "", False, False
        elif match := _IMB_STANDARD.fullmatch(line):
            standard = match[1]
        elif match := _IMB_TABLE.fullmatch(line):
            table, in_table = match[1], False
            if table.lower() != collective:
                fail(where, f"it measured {clean(table)}, not {collective}")
        elif match := _IMB_RANKS.fullmatch(line):
            ranks = int(match[1])
        elif " ".join(line.split()) == _IMB_COLUMNS:
            in_table = bool(table)
        elif line == _IMB_END:
            ended = True
        elif not line.startswith("#"):
            if not in_table or ended:
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
    """Read the standard output of one or more launches of an OSU nonblocking collective. Raises RecordError.

    The collective is not checked: OSU's titles change with its version and do not name the MPI function.
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
    """Yield the place and the stripped text of every line except blank lines and remarks of libraries and launchers."""
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
    """Read what a program of `FORMATS` printed for these message sizes, each of which must appear once.

    A launch with a non-zero exit code (`LAUNCH_END`) gives a result without numbers, with the exit code as its reason.
    Raises RecordError for an output that is wrong or incomplete, or in which no launch came to its end.
    """
    form = FORMATS[benchmark]
    where = f"{form.title}'s output"
    finished, died = _split_off_died(text)
    if died and not finished.strip():
        fail(where, f"no launch came to its end: {died[0].message_bytes} bytes: {died[0].reason}")
    output = form.read(finished, collective)
    output = replace(output, results=(*output.results, *died))
    measured = [result.message_bytes for result in output.results]
    for message_bytes in measured:
        if measured.count(message_bytes) > 1:
            fail(where, f"{message_bytes} bytes appear {measured.count(message_bytes)} times")
        if message_bytes not in sizes:
            fail(where, f"{message_bytes} bytes were not asked for")
    lacking = [message_bytes for message_bytes in sizes if message_bytes not in measured]
    if lacking:
        fail(where, f"it was cut off: no result for {', '.join(map(str, lacking))} bytes")
    for result in output.results:
        _check_overlap(form, result, where)
    return output


_LAUNCH_END = re.compile(LAUNCH_END.format(message_bytes=r"(\d{1,18})", exit_code=r"(\d{1,3})"))


def _split_off_died(text: str) -> tuple[str, list[PeerResult]]:
    """The output of the launches that did not die, without the lines `LAUNCH_END`; and a result for each that died."""
    finished: list[str] = []
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
            finished += launch
        launch = []
    return "".join((*finished, *launch)), died


def _check_overlap(form: Format, result: PeerResult, where: str) -> None:
    """Fail unless the printed overlap follows from the printed times by the program's own formula, clamped."""
    if result.reason:
        return
    if result.t_pure_us == 0:
        fail(where, f"at {result.message_bytes} bytes communication alone took no time")
    unclamped = form.overlap_percent(result)
    expected = min(max(unclamped, 0.0), form.highest_percent)
    # Each printed number is off by at most `ROUNDING`; the slack is what these errors together can change.
    slack = ROUNDING + 100 * ROUNDING * (3 + abs(unclamped) / 100) / max(result.t_pure_us - ROUNDING, ROUNDING) + 1e-6
    if abs(result.overlap_percent - expected) > slack:
        fail(
            where,
            f"at {result.message_bytes} bytes it says {result.overlap_percent:g} % overlap, its own times give "
            f"{expected:.2f} %",
        )
