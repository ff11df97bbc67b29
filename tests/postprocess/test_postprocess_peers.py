"""What IMB-NBC and OSU print is read as it stands, or refused in one line; beside ours stands what is comparable."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.families import registry
from postprocess.families.nbc_overlap.points import points_of
from postprocess.families.peers.cells import cells_of
from postprocess.families.peers.output import FORMATS, LAUNCH_END, PeerResult, read_imb, read_output
from postprocess.families.peers.record import (
    PeerHeader,
    load_peer_record,
    peer_wire_bytes,
    write_peer_record,
)
from postprocess.families.peers.table import PEERS_NOTE, peer_remarks, peers_table, peers_table_text
from postprocess.records.fields import RecordError
from postprocess.records.run import load_run
from postprocess.report.html import render_report
from postprocess.statistics import metrics
from tests.postprocess import synthetic
from tests.support import check_record

DATA = Path(__file__).resolve().parents[1] / "data" / "peers"

TIMES = st.floats(0.02, 1e7).map(lambda value: round(value, 2))
BYTES = st.integers(1, 2**30)


def printed(name: str) -> str:
    """The standard output of a real launch."""
    return (DATA / name).read_text()


def refused(benchmark: str, text: str, sizes: list[int], *fragments: str) -> None:
    """One line, that has the fragments."""
    with pytest.raises(RecordError) as caught:
        read_output(benchmark, text, "ibcast", sizes)
    message = str(caught.value)
    assert "\n" not in message
    for fragment in fragments:
        assert fragment in message


# -- as they print -----------------------------------------------------------------------------------------------------


def imb(rows: list[PeerResult], *, collective: str = "Ibcast", ranks: int = 2) -> str:
    """An output of IMB-NBC that holds these rows, in the shape of `imb-mpich-basic.txt`."""
    before, head, _ = printed("imb-mpich-basic.txt").partition(" overlap[%]\n")
    before = before.replace("Benchmarking Ibcast", f"Benchmarking {collective}")
    before = before.replace("#processes = 2", f"#processes = {ranks}")
    lines = [
        f"{one.message_bytes:13d} {one.repetitions:12d} {one.t_overlapped_us:12.2f} {one.t_pure_us:12.2f} "
        f"{one.t_compute_us:12.2f} {one.overlap_percent:12.2f}"
        for one in rows
    ]
    return f"{before}{head}" + "\n".join(lines) + "\n\n\n# All processes entering MPI_Finalize\n\n"


def osu(rows: list[PeerResult], *, title: str = "OSU MPI Non-blocking Broadcast Latency Test v7.4") -> str:
    """An output of OSU, as `print_preamble_nbc` and `print_stats_nbc` write it: one launch per row."""
    heads = "".join(f"{name:>18}" for name in ("Overall(us)", "Compute(us)", "Pure Comm.(us)", "Overlap(%)"))
    return "".join(
        f"\n# {title}\n# Overall = Coll. Init + Compute + MPI_Test + MPI_Wait\n\n# Datatype: MPI_CHAR.\n"
        f"{'# Size':<10}{heads}\n{one.message_bytes:<10d}{one.t_overlapped_us:18.2f}{one.t_compute_us:18.2f}"
        f"{one.t_pure_us:18.2f}{one.overlap_percent:18.2f}\n"
        for one in rows
    )


def result(benchmark: str, message_bytes: int, overlapped: float, pure: float, compute: float) -> PeerResult:
    """A row as the program prints it: it knows more digits than it prints, and clamps."""
    form = FORMATS[benchmark]
    one = PeerResult(message_bytes, 7 if benchmark == "imb_nbc" else None, overlapped, pure, compute, 0.0)
    return replace(one, overlap_percent=round(min(max(form.overlap_percent(one), 0.0), form.highest_percent), 2))


PRINTED: dict[str, Callable[[list[PeerResult]], str]] = {"imb_nbc": imb, "osu": osu}


@st.composite
def rows(draw: st.DrawFn) -> tuple[str, list[PeerResult]]:
    """A peer and what it prints: times as long as one another, as they are there."""
    benchmark = draw(st.sampled_from(sorted(FORMATS)))
    sizes = draw(st.lists(BYTES, min_size=1, max_size=5, unique=True))
    found = []
    for size in sizes:
        pure, ratio, overlapped = draw(TIMES), draw(st.floats(0.2, 5)), draw(st.floats(0.2, 50))
        compute = max(0.01, round(pure * ratio, 2))
        found.append(result(benchmark, size, round(overlapped * max(pure, compute), 2), pure, compute))
    return benchmark, found


@given(rows())
def test_what_was_printed_is_what_is_read(printing: tuple[str, list[PeerResult]]) -> None:
    benchmark, found = printing
    output = read_output(benchmark, PRINTED[benchmark](found), "ibcast", [one.message_bytes for one in found])
    assert list(output.results) == found


@given(rows(), st.data())
def test_an_output_that_was_cut_anywhere_is_never_taken_for_whole(
    printing: tuple[str, list[PeerResult]], data: st.DataObject
) -> None:
    benchmark, found = printing
    text = PRINTED[benchmark](found).rstrip()
    cut = text[: data.draw(st.integers(0, len(text) - 1))]
    try:
        output = read_output(benchmark, cut, "ibcast", [one.message_bytes for one in found])
    except RecordError as error:
        assert "\n" not in str(error)
    else:  # OSU has no last line: what is lost there is the end of its last number at most
        assert benchmark == "osu"
        assert list(output.results[:-1]) == found[:-1]
        assert output.results[-1].overlap_percent == pytest.approx(found[-1].overlap_percent, abs=0.1)


@given(rows(), st.text(st.characters(codec="utf-8"), min_size=1, max_size=40), st.data())
def test_a_foreign_line_is_refused_or_left_out_but_never_read(
    printing: tuple[str, list[PeerResult]], noise: str, data: st.DataObject
) -> None:
    benchmark, found = printing
    lines = PRINTED[benchmark](found).splitlines()
    lines.insert(data.draw(st.integers(0, len(lines))), noise)
    try:
        output = read_output(benchmark, "\n".join(lines), "ibcast", [one.message_bytes for one in found])
    except RecordError as error:
        assert "\n" not in str(error)
    else:
        assert list(output.results) == found


# What real libraries and launchers wrote among results; a banner has several lines.
MARKED = (
    "[0] MPI startup(): Intel(R) MPI Library, Version 2021.18.1  Build 20260626 (id: b44796a)",
    "[0] MPI startup(): 1       28076    node7      {1}",
    "[1#28323:28323@node7] MPI startup(): selected platform: unknown",
    "[1700000000.027263] [node7:28258:0]     ucp_context.c:1381 UCX  WARN  transport 'rc' is not available, please use "
    "one or more of: cma, mm, posix, self, shm, sm, sysv, tcp",
    "[node7:04711] mca: base: components_open: found loaded component tcp",
    "[node7:04711] [[16184,0],0] ORTE_ERROR_LOG: Out of resource in file show_help.c at line 507",
    "[node7:mpi_rank_0][mv2_new_get_hca_type] Unknown architecture",
    "libfabric:28310:1700000000::core:core:fi_getinfo_():1384<warn> fi_getinfo: provider tcp returned -61",
    "[mpiexec@node7] Launch arguments: /opt/mpi/bin/hydra_bstrap_proxy --upstream-port 32847 --pgid 0",
    "[proxy:0@node7] got pmi command: cmd=get_maxes",
    "[proxy:0:0@node7]",
)
WHOLE = (
    "MPI startup(): Set ptracer for parent pid (28319) failed: (22)",
    "Warning: Process to core binding is enabled and OMP_NUM_THREADS is set to non-zero (1) value",
    "If your program has OpenMP sections, this can cause over-subscription of cores and consequently poor performance",
    "To avoid this, please re-run your application after setting MV2_ENABLE_AFFINITY=0",
    "Use MV2_USE_THREAD_WARNING=0 to suppress this message",
    f"{'-' * 74}\nWARNING: An invalid value was given for btl_tcp_if_include.  This\nvalue will be ignored.\n\n"
    f"  Local host: node7\n  Value:      eth77\n{'-' * 74}",
    f"\0{'-' * 74}\nBy default, Open MPI does not use InfiniBand ports.\n{'-' * 74}\n ",
)


@given(rows(), st.data())
def test_remarks_among_and_behind_the_lines_change_nothing(
    printing: tuple[str, list[PeerResult]], data: st.DataObject
) -> None:
    benchmark, found = printing
    lines = PRINTED[benchmark](found).splitlines()
    for remark in data.draw(st.lists(st.sampled_from((*MARKED, *WHOLE)), max_size=8)):
        lines.insert(data.draw(st.integers(0, len(lines))), remark)
    for remark in data.draw(st.lists(st.sampled_from(MARKED), max_size=3)):
        place = data.draw(st.integers(0, len(lines) - 1))
        lines[place] += remark
    text = "\n".join(line for line in lines)
    output = read_output(benchmark, text, "ibcast", [one.message_bytes for one in found])
    assert list(output.results) == found


@given(rows(), st.sampled_from((*MARKED, *WHOLE)), st.data())
def test_a_result_that_is_broken_is_refused_among_remarks_too(
    printing: tuple[str, list[PeerResult]], remark: str, data: st.DataObject
) -> None:
    benchmark, found = printing
    lines = PRINTED[benchmark](found).splitlines()
    places = [place for place, line in enumerate(lines) if line[:14].strip()[:1].isdigit()]
    place = data.draw(st.sampled_from(places))
    words = lines[place].split()
    damage = data.draw(st.sampled_from(("one less", "one more", "no number", "in a banner", "behind a remark")))
    broken = {
        "one less": " ".join(words[:-1]),
        "one more": " ".join((*words, "1.00")),
        "no number": " ".join((*words[:-1], "x")),
        "in a banner": f"{'-' * 74}\nWARNING: it is ignored\n{lines[place]}\n{'-' * 74}",
        "behind a remark": f"{MARKED[0]}{lines[place]}",
    }
    lines[place : place + 1] = [remark, *broken[damage].split("\n"), remark]
    refused(benchmark, "\n".join(lines), [one.message_bytes for one in found])


def test_a_zero_byte_in_a_number_makes_no_other_number_of_it() -> None:
    text = osu([result("osu", 8, 20.0, 10.0, 10.0)]).replace("20.00", "20.\x0000")
    refused("osu", text, [8], "is not a number")


def test_a_line_is_told_by_its_number_in_the_output_though_remarks_are_passed_over() -> None:
    refused("osu", f"{MARKED[0]}\n\n{MARKED[3]}\nboom\n", [8], "line 4: not a line of OSU: 'boom'")


def test_a_banner_that_does_not_end_or_is_very_long_is_none() -> None:
    for banner in (f"{'-' * 74}\nWARNING: this\n", f"{'-' * 74}\n" + "more\n" * 100 + f"{'-' * 74}\n"):
        refused("osu", banner + osu([result("osu", 8, 20.0, 10.0, 10.0)]), [8], "line 1: not a line of OSU: '-----")


@given(rows(), st.floats(0.5, 80))
def test_an_overlap_that_its_times_do_not_give_is_refused(printing: tuple[str, list[PeerResult]], more: float) -> None:
    benchmark, found = printing
    first = found[0]
    off = 1 + 200 * 0.005 * (3 + abs(FORMATS[benchmark].overlap_percent(first)) / 100) / first.t_pure_us
    if first.overlap_percent + more + off > 100:
        more = -more
    wrong = replace(first, overlap_percent=round(first.overlap_percent + more + math.copysign(off, more), 2))
    if wrong.overlap_percent < 0:
        return
    text = PRINTED[benchmark]([wrong, *found[1:]])
    refused(benchmark, text, [one.message_bytes for one in found], "its own times give")


# -- real outputs ------------------------------------------------------------------------------------------------------


def test_imb_on_mpich() -> None:
    output = read_output("imb_nbc", printed("imb-mpich-basic.txt"), "ibcast", [1048576, 2030912])
    assert (output.version, output.mpi_standard, output.ranks) == ("2021.11", "5.0", 2)
    assert output.results[1] == PeerResult(2030912, 875, 4241.32, 1539.79, 555.35, 0.0)
    assert FORMATS["imb_nbc"].overlap_percent(output.results[1]) == pytest.approx(-139.38, abs=0.01)


def test_imb_with_a_progress_thread_prints_overlap_beside_times_many_times_longer() -> None:
    basic, threaded = (read_imb(printed(f"imb-mpich-{name}.txt"), "ibcast").results for name in ("basic", "async"))
    assert all(two.overlap_percent > one.overlap_percent for one, two in zip(basic, threaded, strict=True))
    assert all(two.t_overlapped_us > 5 * one.t_overlapped_us for one, two in zip(basic, threaded, strict=True))


@pytest.mark.parametrize(
    ("name", "collective", "words"),
    [("imb-out-of-memory.txt", "ialltoall", "out-of-mem."), ("imb-out-of-time.txt", "ireduce", "time-out.")],
)
def test_a_size_that_imb_gave_up_says_why(name: str, collective: str, words: str) -> None:
    output = read_output("imb_nbc", printed(name), collective, [1024, 4194304])
    measured, given_up = output.results
    assert measured.reason == ""
    assert given_up.reason.startswith(words)
    assert math.isnan(given_up.overlap_percent)


def test_osu_as_in_figure_11() -> None:
    output = read_output("osu", printed("osu-figure-11.txt"), "ibcast", [1048576])
    assert (output.version, output.results[0].overlap_percent) == ("5.7", 41.70)
    assert FORMATS["osu"].overlap_percent(output.results[0]) == pytest.approx(41.70, abs=0.005)


def test_osu_of_today_launch_after_launch() -> None:
    output = read_output("osu", printed("osu-7.4-ibcast.txt"), "ibcast", [1000, 2030912])
    assert output.version == "7.4"
    assert output.results[0] == PeerResult(1000, None, 27961.50, 19079.85, 27936.17, 99.87)
    assert output.results[1].t_overlapped_us == 2112.75


def test_a_launch_that_died_takes_no_other_ones_result_with_it() -> None:
    rows_ = [result("osu", size, 20.0, 10.0, 10.0) for size in (8, 16, 32)]
    ends = [f"{LAUNCH_END.format(message_bytes=one.message_bytes, exit_code=0)}\n" for one in rows_]
    text = [osu([one]) + end for one, end in zip(rows_, ends, strict=True)]
    assert read_output("osu", "".join(text), "ibcast", [8, 16, 32]).results == tuple(rows_)
    killed = LAUNCH_END.format(message_bytes=16, exit_code=137)
    for said in ("", "Fatal error in PMPI_Ibcast\n", text[1].partition("16 ")[0]):
        output = read_output("osu", f"{text[0]}{said}{killed}\n{text[2]}", "ibcast", [8, 16, 32])
        assert [one.message_bytes for one in output.results if not one.reason] == [8, 32]
        (died,) = [one for one in output.results if one.died]
        assert (died.message_bytes, died.repetitions) == (16, None)
        assert "exit code 137" in died.reason
    refused("osu", f"boom\n{killed}\n", [16], "no launch came to its end: 16 bytes", "137")


def test_osu_with_validation_must_have_passed() -> None:
    text = printed("osu-7.4-ialltoall-validated.txt")
    assert read_output("osu", text, "ialltoall", [1003]).results[0].reason == ""
    refused("osu", text.replace("Pass", "Fail"), [1003], "wrong data was received")


def test_what_cannot_be_is_refused() -> None:
    good = printed("imb-mpich-basic.txt")
    sizes = [1048576, 2030912]
    refused("imb_nbc", "", sizes, "does not say that it is IMB-NBC")
    refused("imb_nbc", printed("osu-figure-11.txt"), sizes, "not a line of IMB-NBC: '1048576")
    refused("osu", good, sizes, "not a line of OSU")
    headless = "\n".join(line for line in good.splitlines() if line.startswith("#"))
    refused("imb_nbc", headless.replace("MPI-NBC part", "MPI-1 part"), sizes, "does not say that it is IMB-NBC")
    other = good.replace("Benchmarking Ibcast", "Benchmarking Ireduce")
    refused("imb_nbc", other, sizes, "measured Ireduce, not ibcast")
    refused("imb_nbc", good.replace("#repetitions", "#iterations"), sizes, "not a line of IMB-NBC")
    refused("imb_nbc", good.replace("563.16", "nan"), sizes, "'nan' is not a number")
    refused("imb_nbc", good.replace("1771.91", "0.00"), sizes, "took no time")
    refused("imb_nbc", good.replace("      563.16", ""), sizes, "5 columns, not 6")
    refused("imb_nbc", good, [1048576], "2030912 bytes were not asked for")
    refused("imb_nbc", good, [*sizes, 5], "no result for 5 bytes")
    refused("imb_nbc", good + good, sizes, "1048576 bytes appear 2 times")
    refused("imb_nbc", good.split("# All processes")[0] + good, sizes, "cut off")
    refused("imb_nbc", "Killed\n", sizes, "not a line of IMB-NBC: 'Killed'")
    rows_ = [result("osu", 8, 20.0, 10.0, 10.0), result("osu", 16, 20.0, 10.0, 10.0)]
    mixed = osu(rows_[:1]) + osu(rows_[1:], title="OSU MPI Non-blocking Broadcast Latency Test v7.5")
    refused("osu", mixed, [8, 16], "two versions in one output")
    refused("osu", osu(rows_[:1]).replace("Compute(us)", "Size again "), [8], "columns are not those")
    refused("osu", osu(rows_, title="OSU MPI Broadcast Latency Test v7.4"), [8, 16], "not a line of OSU")


# -- the record --------------------------------------------------------------------------------------------------------

HEADER = PeerHeader(
    benchmark="imb_nbc", toolchain="mpich@5.0.2", provider="wheels", configuration="basic", network="wire:2gbit",
    cache="warm", collective="ibcast", repeat=1, ranks=2, started_utc="2026-01-01T00:00:00Z",
    program={"name": "IMB-NBC", "version": "2021.11", "path": "bin/IMB-NBC", "sha256": "0" * 64, "package": "impi-rt",
             "package_version": "2021.18.1"},
    mpi_library="lib/libmpi.so.12", mpi_standard="5.0", ranks_reported=2,
    command_lines=(("mpiexec", "-n", "2", "bin/IMB-NBC"),), environment={"UCX_TLS": "tcp"}, metadata={"run": "r"},
)  # fmt: skip
RESULTS = (
    result("imb_nbc", 1048576, 3447.54, 1771.91, 563.16),
    PeerResult(4194304, None, math.nan, math.nan, math.nan, math.nan, "out-of-mem.; needed X=0.017 GB"),
)


def test_a_record_is_what_was_written_and_conforms(tmp_path: Path) -> None:
    path = tmp_path / "case.jsonl"
    write_peer_record(path, HEADER, RESULTS, 1.5)
    record = load_peer_record(path)
    assert record.header.command_line == HEADER.command_lines[0]
    assert record.header.nodes == record.header.threads_per_rank == 0  # it does not tell
    for field in fields(HEADER):
        of = record if hasattr(record, field.name) else record.header
        assert getattr(of, field.name) == getattr(HEADER, field.name), field.name
    assert record.results[0] == RESULTS[0]
    assert record.results[1].reason == RESULTS[1].reason
    assert peer_wire_bytes(record) == 2 * 7 * 1048576
    check_record(path)
    with pytest.raises(FileExistsError):
        write_peer_record(path, HEADER, RESULTS, 1.5)


OF_OUR_PROGRAMS = {
    "interval_relative_reached", "measured_seconds", "clock_residual_ns", "clock_synchronisation_seconds",
}  # fmt: skip


@given(st.data())
def test_a_damaged_record_is_refused_in_one_line(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.mktemp("records") / "case.jsonl"
    write_peer_record(path, HEADER, RESULTS, 1.5)
    lines = path.read_text().splitlines()
    number = data.draw(st.integers(0, len(lines) - 1))
    value = json.loads(lines[number])
    key = data.draw(st.sampled_from(sorted(value)))
    if data.draw(st.booleans()):
        del value[key]
    else:
        value[key] = data.draw(st.sampled_from([-1, [], [1], {"a": 1}]))
    lines[number] = json.dumps(value)
    path.write_text("\n".join(lines) + "\n")
    try:
        load_peer_record(path)
    except RecordError as error:
        assert "\n" not in str(error)
        assert path.name in str(error)
    else:
        # another environment, metadata: an object is an object; what only our own programs tell
        assert isinstance(value.get(key), (dict, list)) or key in OF_OUR_PROGRAMS


@pytest.mark.parametrize("lines", [0, 1, 2, 3])
def test_a_record_that_was_cut_off_is_refused(tmp_path: Path, lines: int) -> None:
    path = tmp_path / "case.jsonl"
    write_peer_record(path, HEADER, RESULTS, 1.5)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:lines]))
    with pytest.raises(RecordError, match=r"cut off|empty"):
        load_peer_record(path)


# -- beside ours -------------------------------------------------------------------------------------------------------


def two_configurations(folder: Path) -> tuple[Path, list[int]]:
    """A run of `basic`, and of an `async` that is serialised and slower. Returns its folder and our sizes."""
    slow = synthetic.Behaviour(1.0, comm=0.4, comp_slowdown=1.6, reference_factor=2.0)
    sweeps = [synthetic.sweep(synthetic.SERIALISED), synthetic.sweep(slow, configuration="async")]
    run = synthetic.run_folder(folder, sweeps)
    return run, sorted({line["parameters"]["message_bytes"] for line in sweeps[0] if line["type"] == "point"})


def peer(folder: Path, configuration: str, results: tuple[PeerResult, ...], **changes: object) -> None:
    header = synthetic.header()
    same = {name: header[name] for name in ("toolchain", "provider", "network", "ranks")}
    write_peer_record(
        folder / "records" / f"imb_nbc.{configuration}.jsonl",
        replace(HEADER, configuration=configuration, **{**same, **changes}),
        results,
        1.0,
    )
    synthetic.sealed(folder)


def test_a_peer_stands_beside_our_cell_of_the_same_size_on_the_diagonal(tmp_path: Path) -> None:
    folder, sizes = two_configurations(tmp_path)
    peer(folder, "basic", tuple(result("imb_nbc", size, 30.0, 15.0, 15.0) for size in sizes))
    peer(folder, "async", tuple(result("imb_nbc", size, 120.0, 100.0, 100.0) for size in sizes))
    run = load_run(folder)
    assert run.problems == ()
    assert len(run.of("nbc_overlap")) == 2
    seen = registry.read(run, registry.BY_NAME["peers"])
    assert seen.problems == ()
    records = seen.records
    table = peers_table(records, points_of(run))
    assert len(table) == 2 * len(sizes)
    assert (table["our_message_bytes"] == table["message_bytes"]).all()
    assert (table["our_comm_target_ns"] == table["our_comp_target_ns"]).all()
    threaded, plain = (table[table["configuration"] == name] for name in ("async", "basic"))
    # It says 80 % overlap while its own call takes four times as long; ours is three times slower than perfect overlap.
    assert list(threaded["peer_overlap_percent"]) == [80.0] * len(sizes)
    assert list(threaded["peer_times_its_basic"]) == [4.0] * len(sizes)
    assert list(plain["peer_times_its_basic"]) == [1.0] * len(sizes)
    assert list(plain["our_r_overhead"]) == pytest.approx([1.0] * len(sizes))
    assert list(threaded["our_r_overhead"]) == pytest.approx([1.0] * len(sizes))
    assert list(threaded["our_r_overhead_vs_basic"]) == pytest.approx([3.0] * len(sizes))
    text = peers_table_text(table)
    assert len(text.splitlines()) == 1 + len(table)
    assert "80 %" in text
    assert "4.00" in text


def test_what_failed_is_told_and_not_compared(tmp_path: Path) -> None:
    """The program's `basic` and our `async` were not what was asked for."""
    folder, sizes = two_configurations(tmp_path)
    for name, time in (("basic", 30.0), ("async", 120.0)):
        peer(folder, name, (result("imb_nbc", sizes[0], time, 100.0, 100.0),))
    manifest = json.loads((folder / "manifest.json").read_text())
    failed = {"result": "fail", "reason": "its wire carried nothing"}
    manifest["cases"][1] |= failed
    manifest["cases"].append({"benchmark": "imb_nbc", "record": "records/imb_nbc.basic.jsonl", **failed})
    (folder / "manifest.json").write_text(json.dumps(manifest))
    run = load_run(folder)
    table = registry.found(run, registry.BY_NAME["peers"]).table
    threaded, plain = table.to_dict("records")
    assert math.isnan(threaded["peer_times_its_basic"])
    assert peer_remarks(threaded) == ["our case failed: its wire carried nothing", "shared core"]
    assert peer_remarks(plain) == ["its case failed: its wire carried nothing"]
    words = {cell.row.configuration: f"{cell.word.text} {cell.number}" for cell in cells_of(table)}
    assert words == {"progress thread": "says 80 %", "as it comes": "failed "}


def test_a_peer_without_ours_says_so_and_no_peer_at_all_too(tmp_path: Path) -> None:
    folder, sizes = two_configurations(tmp_path)
    peer(folder, "basic", (result("imb_nbc", sizes[0], 30.0, 15.0, 15.0), RESULTS[1]), toolchain="mpich@9.9.9")
    run = load_run(folder)
    table = peers_table(registry.read(run, registry.BY_NAME["peers"]).records, points_of(run))
    remarks = [peer_remarks(row) for row in table.to_dict("records")]
    assert remarks[0] == ["no valid point of ours at this size"]
    assert remarks[1] == ["no valid point of ours at this size", f"IMB-NBC 2021.11: {RESULTS[1].reason}"]
    assert "nan" not in peers_table_text(table)
    assert peers_table_text(peers_table([], points_of(run))) == "no other benchmark ran"


def test_the_closest_size_is_taken_and_named(tmp_path: Path) -> None:
    folder, sizes = two_configurations(tmp_path)
    peer(folder, "basic", (result("imb_nbc", sizes[-1] + 3, 30.0, 15.0, 15.0),))
    run = load_run(folder)
    (record,), points = registry.read(run, registry.BY_NAME["peers"]).records, points_of(run)
    (row,) = peers_table([record], points).to_dict("records")
    assert row["our_message_bytes"] == sizes[-1]
    assert any(remark.startswith("ours at ") for remark in peer_remarks(row))
    far = peers_table([replace(record, results=(replace(record.results[0], message_bytes=2 * sizes[-1]),))], points)
    assert peer_remarks(far.to_dict("records")[0]) == ["no valid point of ours at this size"]


def test_a_bad_record_of_a_peer_does_not_lose_the_others(tmp_path: Path) -> None:
    folder, sizes = two_configurations(tmp_path)
    peer(folder, "basic", (result("imb_nbc", sizes[0], 30.0, 15.0, 15.0),))
    whole = folder / "records" / "imb_nbc.basic.jsonl"
    (folder / "records" / "cut.jsonl").write_text(whole.read_text().splitlines()[0] + "\n")
    manifest = json.loads((synthetic.sealed(folder) / "manifest.json").read_text())
    manifest["checksums"]["records/imb_nbc.basic.jsonl"] = "sha256:" + "0" * 64
    (folder / "manifest.json").write_text(json.dumps(manifest))
    run = load_run(folder)
    read = registry.read(run, registry.BY_NAME["peers"])
    assert [record.header.configuration for record in read.records] == ["basic"]
    assert read.problems == ("cut.jsonl: cut off: no footer",)
    assert run.problems == (f"{whole.name}: not the file that was archived: its checksum differs",)
    assert len(run.of("nbc_overlap")) == 2


def test_the_formulas_are_those_that_ours_are_shown_with() -> None:
    one = RESULTS[0]
    assert FORMATS["imb_nbc"].overlap_percent(one) == metrics.overlap_imb_percent(3447.54, 563.16, 1771.91)
    assert FORMATS["osu"].overlap_percent(one) == metrics.overlap_osu_percent(3447.54, 563.16, 1771.91)


def test_the_report_has_a_section_of_them_where_there_are_any(tmp_path: Path) -> None:
    folder, sizes = two_configurations(tmp_path)
    without = render_report(load_run(folder))
    assert "What other benchmarks say" not in without
    peer(folder, "basic", (result("imb_nbc", sizes[0], 30.0, 15.0, 15.0), replace(RESULTS[1], reason="<b>gave up</b>")))
    page = render_report(load_run(folder))
    section = page.partition('<section id="peers">')[2].partition("</section>")[0]
    assert "IMB-NBC 2021.11" in section
    assert "impi-rt 2021.18.1" in section
    assert "&lt;b&gt;gave up&lt;/b&gt;" in section
    assert "<b>gave up" not in section
    assert PEERS_NOTE.partition(" is what")[0] in section
