"""What other benchmarks print about overlap, read with care, and set beside what is measured here.

Intel's IMB-NBC and the OSU Micro-Benchmarks run in the same campaign: the same library, ranks, binding, network and
message sizes. Their standard output is read strictly: a line that is not theirs, a number that is missing, an output
that ends too early, or an overlap that does not follow from the times beside it is a `RecordError` of one line. What
an MPI library or a launcher remarks in between is passed over (`remarks`); it stays in the log.

What they conclude is shown beside what is concluded here. Their times are their own: another start, another
computation, other statistics. They are compared with nothing but the same program's times in `basic`.

The formats are those of the public sources: IMB 2018 to 2021 (`src_c/IMB_output.c`, `IMB_display_times`), and OSU 5 to
7 (`util/osu_util_mpi.c`, `print_stats_nbc`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from postprocess.drawing.columns import aligned, circumstances
from postprocess.drawing.text import clean, interval, ratio, short, size
from postprocess.records.fields import Fields, Json, RecordError, fail, lines_of
from postprocess.records.load import PEER_SCHEMA, Run, failed_records, schema_of
from postprocess.records.remarks import without_remarks
from postprocess.records.storage import record_name
from postprocess.statistics import metrics

PEER_VERSION = 1
PROGRAM = ("name", "version", "path", "sha256", "package", "package_version")

LONGEST_QUOTE = 100
LAUNCH_END = "campaign: the launch of {message_bytes} bytes ended with exit code {exit_code}"
"""What stands in the output after each launch, so that one that dies takes no other one's result with it."""
DIED = "it ended early"
# Half of the last digit that both programs print.
ROUNDING = 0.005
# Messages that differ by more are not the same case.
SIZE_FACTOR = 1.25


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


# -- the record --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PeerHeader:
    """The first line of a peer's record: which case, which program, how it was launched.

    program: name, version, path, sha256, and package with package_version, empty where it came from none.
    mpi_library: the shared library that the program is bound to. mpi_standard, ranks_reported: what that told it; ""
    and None where the program does not print it.
    command_lines: one per launch, each a list of words, launcher first.
    """

    benchmark: str
    toolchain: str
    provider: str
    configuration: str
    network: str
    cache: str
    collective: str
    repeat: int
    ranks: int
    started_utc: str
    program: Mapping[str, str]
    mpi_library: str
    mpi_standard: str
    ranks_reported: int | None
    command_lines: tuple[tuple[str, ...], ...]
    environment: Mapping[str, str]
    metadata: Json


@dataclass(frozen=True)
class PeerRecord:
    """A whole peer's record."""

    path: Path
    header: PeerHeader
    results: tuple[PeerResult, ...]
    wall_seconds: float

    @property
    def name(self) -> str:
        """The record's path inside a run folder, as the manifest's cases name it."""
        return record_name(self.path)


def write_peer_record(path: Path, header: PeerHeader, results: Sequence[PeerResult], wall_seconds: float) -> None:
    """JSON Lines as in `results/schema/peer-v1.schema.json`: header, a point per size, footer. Never over another file.

    Raises OSError where it cannot be written.
    """
    named = {"type": "header", "schema": PEER_SCHEMA, "schema_version": PEER_VERSION, **asdict(header)}
    points = [{"type": "point", "index": index, **_without_nan(asdict(one))} for index, one in enumerate(results)]
    footer = {
        "type": "footer", "complete": True, "reason": "", "points": len(points), "wall_seconds": wall_seconds,
    }  # fmt: skip
    with path.open("x", encoding="utf-8") as stream:
        for line in (named, *points, footer):
            stream.write(json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")) + "\n")


def _without_nan(values: Json) -> Json:
    return {name: None if isinstance(one, float) and math.isnan(one) else one for name, one in values.items()}


def load_peer_record(path: Path | str) -> PeerRecord:
    """Read a peer's record. Raises RecordError where it is unreadable, foreign, newer, cut off or wrong."""
    path = Path(path)
    header: PeerHeader | None = None
    results: list[PeerResult] = []
    wall_seconds = math.nan
    for where, value in lines_of(path):
        if value is None or not math.isnan(wall_seconds):
            fail(where, "the line is cut" if value is None else "a line after the footer")
        line = Fields(value, where)
        kind = line.text("type")
        if header is None:
            header = _header(line)
        elif kind == "point":
            results.append(_result(line, len(results)))
        elif kind == "footer":
            wall_seconds = _footer(line, len(results))
        else:
            fail(where, "neither a point nor a footer")
    if header is None or math.isnan(wall_seconds):
        fail(clean(path.name), "cut off: no footer" if header else "the file is empty")
    return PeerRecord(path, header, tuple(results), wall_seconds)


def _header(line: Fields) -> PeerHeader:
    if (line.text("type"), line.text("schema")) != ("header", PEER_SCHEMA):
        fail(line.where, f"not the header of a {PEER_SCHEMA}")
    if line.count("schema_version") != PEER_VERSION:
        fail(line.where, f"schema version {line.count('schema_version')}, not {PEER_VERSION}")
    benchmark = line.text("benchmark")
    if benchmark not in FORMATS:
        fail(line.where, f"benchmark is '{clean(benchmark)}', not one of {', '.join(FORMATS)}")
    environment = line.mapping("environment")
    if not all(isinstance(one, str) for one in environment.values()):
        fail(line.where, "environment is not an object of strings")
    commands = line.items("command_lines")
    if not all(isinstance(one, list) and all(isinstance(word, str) for word in one) for one in commands):
        fail(line.where, "command_lines is not a list of lists of strings")
    return PeerHeader(
        benchmark=benchmark,
        toolchain=line.text("toolchain"),
        provider=line.text("provider"),
        configuration=line.text("configuration"),
        network=line.text("network"),
        cache=line.text("cache"),
        collective=line.text("collective"),
        repeat=line.count("repeat"),
        ranks=line.count("ranks"),
        started_utc=line.text("started_utc"),
        program={name: line.inside("program").text(name) for name in PROGRAM},
        mpi_library=line.text("mpi_library"),
        mpi_standard=line.text("mpi_standard"),
        ranks_reported=None if line.number_or_none("ranks_reported") is None else line.count("ranks_reported"),
        command_lines=tuple(map(tuple, commands)),
        environment=environment,
        metadata=line.mapping("metadata"),
    )


def _result(line: Fields, index: int) -> PeerResult:
    if line.count("index") != index:
        fail(line.where, f"index is {line.count('index')}, not {index}")
    numbers = {
        name: line.number_or_nan(name) for name in ("t_overlapped_us", "t_pure_us", "t_compute_us", "overlap_percent")
    }
    reason = line.text("reason")
    for name, value in numbers.items():
        if value < 0 or math.isnan(value) != bool(reason):
            fail(line.where, f"{name} is {value}, the reason for giving up '{clean(reason)}'")
    repetitions = line.number_or_none("repetitions")
    return PeerResult(
        message_bytes=line.count("message_bytes"),
        repetitions=None if repetitions is None else line.count("repetitions"),
        reason=reason,
        **numbers,
    )


def _footer(line: Fields, points: int) -> float:
    if line.count("points") != points:
        fail(line.where, f"the footer counts {line.count('points')} points, the file has {points}")
    reason, wall_seconds = line.text("reason"), line.number("wall_seconds")
    if not line.flag("complete"):
        fail(line.where, f"not complete: {clean(reason) or 'no reason is given'}")
    if wall_seconds < 0:
        fail(line.where, f"wall_seconds is {wall_seconds}")
    return wall_seconds


def load_peers(run: Run) -> tuple[list[PeerRecord], list[str]]:
    """The records of other benchmarks in a run folder, by file name, and what was wrong with what cannot be read."""
    records: list[PeerRecord] = []
    problems: list[str] = []
    for file in run.others:
        if schema_of(file) == PEER_SCHEMA:
            try:
                records.append(load_peer_record(file))
            except RecordError as error:
                problems.append(str(error))
    return records, problems


def peer_wire_bytes(record: PeerRecord) -> int:
    """A safe lower bound of the payload, in bytes, that crossed a wire: every repetition communicates twice."""
    h, alone = record.header, [1] * record.header.ranks
    return sum(
        2 * (one.repetitions or 0) * metrics.least_crossing_bytes(h.collective, one.message_bytes, alone)
        for one in record.results
    )


# -- beside ours -------------------------------------------------------------------------------------------------------

OURS = (
    "comm_target_ns", "comp_target_ns", "r_overhead", "r_overhead_ci95_low", "r_overhead_ci95_high",
    "r_overhead_vs_basic", "r_overhead_vs_basic_ci95_low", "r_overhead_vs_basic_ci95_high",
    "speedup_vs_basic", "speedup_vs_basic_ci95_low", "speedup_vs_basic_ci95_high", "r_comm", "r_comp_slowdown",
    "overlap_osu_percent", "overlap_imb_percent", "diagnosis", "reliable", "oversubscribed", "shared_core", "complete",
    "failed",
)  # fmt: skip
"""Columns of `points_of` that are set beside a peer's."""

PEER_COLUMNS = (
    "benchmark", "program", "toolchain", "provider", "network", "configuration", "collective", "repeat",
    "message_bytes", "peer_repetitions", "peer_t_pure_us", "peer_t_overlapped_us", "peer_t_compute_us",
    "peer_overlap_percent", "peer_overlap_unclamped_percent", "peer_times_its_basic", "peer_reason",
    "peer_failed",
    "our_message_bytes", *(f"our_{name}" for name in OURS),
)  # fmt: skip


def peers_of(run: Run, points: pd.DataFrame) -> pd.DataFrame:
    """`peers_table` of a run, beside its `points_of`."""
    return peers_table(load_peers(run)[0], points, failed_records(run.manifest))


def peers_table(
    records: Sequence[PeerRecord], points: pd.DataFrame, failed: Mapping[str, tuple[str, str]] | None = None
) -> pd.DataFrame:
    """One row per result of another benchmark, with ours at the nearest cell; the columns are `PEER_COLUMNS`.

    The nearest cell has the same toolchain, network, configuration, collective and message size (or the closest one, at
    most SIZE_FACTOR times as large or small: `basic` may have calibrated a size again while it measured), and a
    computation as long as `basic`'s communication, which is what the others try to compute for.
    peer_times_its_basic is the program's own overlapped time over the one that it had in `basic`: both were printed by
    one program, for one size, in one run; not where its `basic` failed. No other times are compared. What cannot be had
    is NaN, and None for ours. failed: `failed_records` of their run; peer_failed and our_failed say why, or are empty.
    """
    why = {name: reason for name, (_, reason) in (failed or {}).items()}
    basics = {
        _size_of(record, one): one.t_overlapped_us
        for record in records
        for one in record.results
        if record.header.configuration == "basic" and record.name not in why
    }
    rows = [
        _row(record, one, basics, points) | {"peer_failed": why.get(record.name, "")}
        for record in records
        for one in record.results
    ]
    table: pd.DataFrame = pd.DataFrame(rows, columns=list(PEER_COLUMNS))
    return table


def _size_of(record: PeerRecord, one: PeerResult) -> Hashable:
    h = record.header
    return h.benchmark, h.toolchain, h.provider, h.network, h.ranks, h.collective, h.repeat, one.message_bytes


def _row(record: PeerRecord, one: PeerResult, basics: Mapping[Hashable, float], points: pd.DataFrame) -> dict[str, Any]:
    h = record.header
    basic = basics.get(_size_of(record, one), math.nan)
    ours = _nearest(record, one, points)
    return {
        "benchmark": h.benchmark,
        "program": " ".join(filter(None, (h.program.get("name"), h.program.get("version")))),
        **{
            name: getattr(h, name)
            for name in ("toolchain", "provider", "network", "configuration", "collective", "repeat")
        },
        "message_bytes": one.message_bytes,
        "peer_repetitions": one.repetitions,
        "peer_t_pure_us": one.t_pure_us,
        "peer_t_overlapped_us": one.t_overlapped_us,
        "peer_t_compute_us": one.t_compute_us,
        "peer_overlap_percent": one.overlap_percent,
        "peer_overlap_unclamped_percent": math.nan if one.reason else FORMATS[h.benchmark].overlap_percent(one),
        "peer_times_its_basic": one.t_overlapped_us / basic if basic > 0 else math.nan,
        "peer_reason": one.reason,
        "our_message_bytes": ours.get("message_bytes"),
        **{f"our_{name}": ours.get(name) for name in OURS},
    }


def _nearest(record: PeerRecord, one: PeerResult, points: pd.DataFrame) -> dict[str, Any]:
    """Our row for a peer's result; empty where there is none that is valid."""
    h = record.header
    close = points["message_bytes"].between(one.message_bytes / SIZE_FACTOR, one.message_bytes * SIZE_FACTOR)
    like = points["valid"] & (points["message_bytes"] > 0) & close
    like &= (points["computation"] == "dgemm") & (points["test_interval_ns"] == 0)
    for name in ("toolchain", "provider", "network", "configuration", "collective", "ranks", "cache"):
        like &= points[name] == getattr(h, name)
    found = points[like].to_dict("records")
    if not found:
        return {}

    def distance(row: Mapping[Hashable, Any]) -> tuple[int, float, float]:
        size_apart = abs(math.log(row["message_bytes"] / one.message_bytes))
        off_diagonal = abs(math.log(row["comp_target_ns"] / row["comm_target_ns"]))
        return abs(row["launch"] - h.repeat), size_apart, off_diagonal

    return {str(name): value for name, value in min(found, key=distance).items()}


PEER_HEADS = (
    *("toolchain", "network", "configuration", "collective", "message"),
    *("program", "it says", "not clamped", "x its basic", "r_overhead", "95 %", "vs basic", "95 %"),
    *("speed-up", "95 %", "r_comm", "r_comp", "OSU's", "IMB's", "diagnosis", "remarks"),
)
_RIGHT = {4, 6, 7, 8, 9, 11, 13, 15, 16, 17, 18}


def peer_cells(row: Mapping[Hashable, Any]) -> list[str]:
    """A row of `peers_table` as people read it, under `PEER_HEADS`."""
    return [
        *(str(row[name]) for name in ("toolchain", "network", "configuration", "collective")),
        size(row["message_bytes"]),
        str(row["program"]),
        *(_percent(row[f"peer_overlap_{name}percent"]) for name in ("", "unclamped_")),
        ratio(row["peer_times_its_basic"]),
        *_with_interval(row, "r_overhead"),
        *_with_interval(row, "r_overhead_vs_basic"),
        *_with_interval(row, "speedup_vs_basic"),
        *(ratio(_number_of(row, name)) for name in ("r_comm", "r_comp_slowdown")),
        *(_percent(_number_of(row, f"overlap_{name}_percent")) for name in ("osu", "imb")),
        "-" if pd.isna(row["our_diagnosis"]) else str(row["our_diagnosis"]),
        "; ".join(peer_remarks(row)),
    ]


def peers_table_text(table: pd.DataFrame) -> str:
    """`peers_table` for the terminal, without a final newline."""
    lines = [peer_cells(row) for row in table.to_dict("records")]
    return aligned(PEER_HEADS, lines, _RIGHT) if lines else "no other benchmark ran"


def peers_summary_text(table: pd.DataFrame) -> str:
    """One line per program and case, from the smallest to the largest over its sizes; empty where there is none.

    Ours are ranges over the reliable ones of our points at these very sizes; "reliable" counts those of all of them.
    What was measured in a case that failed is in none of it.
    """
    heads = [
        *("toolchain", "network", "configuration", "collective", "program", "sizes"),
        *("it says", "x its basic", "ours: vs basic", "speed-up", "reliable", "remarks"),
    ]
    lines = []
    for key, rows in table.groupby(["toolchain", "network", "configuration", "collective", "program"], sort=False):
        ours = rows[(rows["our_message_bytes"] == rows["message_bytes"]) & (rows["our_failed"] == "")]
        reliable = ours[ours["our_reliable"].astype(bool)]
        about = (words for row in reliable.to_dict("records") for words in circumstances(row, "our_"))
        failed = rows["peer_failed"] != ""
        words = " (failed)" if failed.any() else ""
        good = rows[~failed]
        lines.append(
            [
                *map(str, key[:-1]),
                f"{key[-1]}{words}",
                str(int(good["peer_overlap_percent"].notna().sum())),
                _range(good["peer_overlap_percent"], "{:.0f}", " %"),
                _range(good["peer_times_its_basic"]),
                *(_range(reliable[f"our_{name}"]) for name in ("r_overhead_vs_basic", "speedup_vs_basic")),
                f"{len(reliable)}/{len(ours)}",
                ", ".join(dict.fromkeys(about)),
            ]
        )
    return aligned(heads, lines, set(range(5, 11))) if lines else ""


def _range(values: pd.Series[Any], form: str = "{:.2f}", unit: str = "") -> str:
    known = pd.to_numeric(values, errors="coerce").dropna()
    if known.empty:
        return "-"
    low, high = (form.format(value) for value in (known.min(), known.max()))
    return f"{low}{unit}" if low == high else f"{low} to {high}{unit}"


def programs_of(records: Sequence[PeerRecord]) -> list[tuple[str, Mapping[str, str], str]]:
    """For provenance, each once: toolchain, program as its header has it, the MPI library that it is bound to."""
    headers = [record.header for record in records]
    found = {(h.toolchain, h.program["sha256"]): (h.toolchain, h.program, h.mpi_library) for h in headers}
    return list(found.values())


def peer_remarks(row: Mapping[Hashable, Any]) -> list[str]:
    """What a reader should know of a row of `peers_table`: how far ours may be used, and why something is missing."""
    found = [f"its case failed: {short(row['peer_failed'])}"] if row["peer_failed"] else []
    if pd.isna(row["our_reliable"]):
        found.append("no valid point of ours at this size")
    else:
        unreliable = f"our case failed: {short(row['our_failed'])}" if row["our_failed"] else "ours is unreliable"
        found += [] if row["our_reliable"] else [unreliable]
        found += circumstances(row, "our_")
        if row["our_message_bytes"] != row["message_bytes"]:
            found.append(f"ours at {size(row['our_message_bytes'])}")
    if row["peer_reason"]:
        found.append(f"{row['program']}: {row['peer_reason']}")
    return found


def _number_of(row: Mapping[Hashable, Any], name: str) -> float:
    value = row[f"our_{name}"]
    return math.nan if value is None else float(value)


def _with_interval(row: Mapping[Hashable, Any], name: str) -> tuple[str, str]:
    low, high = (_number_of(row, f"{name}_ci95_{end}") for end in ("low", "high"))
    return ratio(_number_of(row, name)), interval(low, high)


def _percent(value: float) -> str:
    return f"{value:.0f} %" if math.isfinite(value) else "-"


PEERS_NOTE = (
    "Up to “x its basic” is what the other program concludes, with its own computation and statistics. After it is "
    "ours at the same message size, with computation as long as basic's communication, and what OSU's and IMB's "
    "formulas make of our own samples. Times of different programs are not compared: x its basic is the program's "
    "own overlapped time over the one that it had in basic. Another program does not tell whether its progress "
    "thread was there: the same settings are verified in our own record of the same configuration."
)
"""What is to be said wherever the table stands."""


@dataclass(frozen=True)
class PeersView:
    """What the report's section holds: a note, heads and rows of text, and the programs of `programs_of`."""

    note: str
    heads: tuple[str, ...]
    rows: list[list[str]]
    programs: list[tuple[str, Mapping[str, str], str]]


def peers_view(run: Run, points: pd.DataFrame) -> PeersView | None:
    """For the report; None where no other benchmark ran."""
    rows = [peer_cells(row) for row in peers_of(run, points).to_dict("records")]
    return PeersView(PEERS_NOTE, PEER_HEADS, rows, programs_of(load_peers(run)[0])) if rows else None
