"""Records as they should be, cut anywhere, and wrong in every way."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.families.nbc_overlap.record import load_overlap
from postprocess.records.description import descriptions
from postprocess.records.fields import RecordError
from postprocess.records.header import Progress, Thread
from postprocess.records.reading import load_record
from postprocess.records.record import Clock
from postprocess.records.run import load_run
from tests.postprocess import synthetic
from tests.support import check_record

LINES = synthetic.sweep(grid=(8, 16))
WHOLE = synthetic.text(LINES).encode()


@pytest.mark.parametrize(
    "lines",
    [
        LINES,
        synthetic.refused("one rank only: nothing communicates", ranks=1),
        synthetic.refused(
            "rank 1's clock went backwards by 3 ms",
            clock={**LINES[0]["clock"], "method": "none", "refusal": "rank 1's clock went backwards by 3 ms"}
            | dict.fromkeys(("residual_ns", "shortest_trip_ns", "drift_ppm")),
        ),
        [LINES[0], synthetic.without_clock(LINES[1]), synthetic.footer(1, clock_refusal="rank 1's clock stepped")],
    ],
)
def test_synthetic_records_conform_to_the_schema(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    check_record(synthetic.write(tmp_path / "r.jsonl", lines))


def test_a_record_in_full(tmp_path: Path) -> None:
    first, line, last = copy.deepcopy([LINES[0], LINES[1], synthetic.footer(1)])
    first["progress"] = {"source": "application", "pinned_by": "program", "given_up_cores": 1}
    first["plan"]["parameters"] |= {"computation": ["triad"], "test_interval_ns": [100_000]}
    first["placement"][0] |= {"dedicated_cpuset": "3", "helper_threads": [{"name": "helper", "cpuset": "3"}]}
    line["own"]["test_calls"] = 12
    line["spreads"]["t_test_ns"]["max"] = [7] * 11
    line["rank_samples"]["t_test_ns"][1] = [7] * 11
    last |= {"helper_thread_cpu_ns": [[5], [6]], "tcp_bytes_sent": [None, 9]}
    path = synthetic.write(tmp_path / "r.jsonl", [first, line, last])
    check_record(path)
    record = load_overlap(path)
    assert record.header.progress == Progress("application", "program", 1)
    assert (record.computation, record.test_interval_ns) == ("triad", 100_000)
    assert record.header.placement[0].helper_threads == (Thread("helper", "3"),)
    assert record.header.placement[0].dedicated_cpuset == "3"
    point = record.points[0]
    assert point.test_calls == 12
    assert set(point.t_test_ns.max) == {7}
    assert point.rank_samples is not None
    np.testing.assert_array_equal(point.rank_samples.t_test_ns, [[0] * 11, [7] * 11])
    assert point.thread_medians is not None
    np.testing.assert_array_equal(point.thread_medians.t_comp_ns, [[8 * synthetic.MS]] * 2)
    assert record.footer is not None
    assert (record.footer.helper_thread_cpu_ns, record.footer.tcp_bytes_sent) == (((5,), (6,)), (None, 9))


def test_large_runs_leave_out_what_each_rank_measured(tmp_path: Path) -> None:
    lines = copy.deepcopy(LINES)
    for line in lines[1:-1]:
        del line["rank_samples"], line["thread_medians"]
    path = synthetic.write(tmp_path / "r.jsonl", lines)
    check_record(path)
    assert {(p.rank_samples, p.thread_medians) for p in load_overlap(path).points} == {(None, None)}


def test_without_a_clock_there_is_no_imbalance_and_no_residual(tmp_path: Path) -> None:
    line = synthetic.without_clock(LINES[1])
    point = load_overlap(synthetic.write(tmp_path / "r.jsonl", [LINES[0], line])).points[0]
    assert point.clock == Clock("none", None, 1, None)
    assert len(point.start_imbalance_ns) == 0
    line["series"]["start_imbalance_ns"] = [50] * point.repetitions
    with pytest.raises(RecordError, match=r"r\.jsonl:2: series\.start_imbalance_ns is there, without a clock"):
        load_overlap(synthetic.write(tmp_path / "r.jsonl", [LINES[0], line]))
    del line["series"]["start_imbalance_ns"]
    line["clock"]["method"] = "shared"
    with pytest.raises(RecordError, match=r"r\.jsonl:2: series\.start_imbalance_ns is missing"):
        load_overlap(synthetic.write(tmp_path / "r.jsonl", [LINES[0], line]))


def test_a_record_refused_before_any_point(tmp_path: Path) -> None:
    lines = synthetic.refused("one rank only: nothing communicates", ranks=1)
    record = load_overlap(synthetic.write(tmp_path / "r.jsonl", lines))
    assert (record.incomplete, record.points) == ("one rank only: nothing communicates", ())
    assert record.footer is not None
    assert record.footer.clock_residual_ns is None


def test_a_whole_record(tmp_path: Path) -> None:
    record = load_overlap(synthetic.write(tmp_path / "r.jsonl", LINES))
    assert record.complete
    assert [p.index for p in record.points] == [0, 1, 2, 3]
    assert record.points[0].t_measured_ns.dtype == "int64"
    assert record.header.placement[1].cpuset == "1"
    assert record.name == "records/r.jsonl"


@pytest.mark.parametrize(
    ("change", "incomplete"),
    [
        (lambda lines: lines[:-1], "no footer"),
        (lambda lines: [*lines[:-1], {**lines[-1], "complete": False, "reason": "rank 1 died"}], "rank 1 died"),
        (lambda lines: [*lines[:-1], {**lines[-1], "complete": False}], "not complete"),
    ],
)
def test_an_incomplete_record_loads(tmp_path: Path, change: Any, incomplete: str) -> None:
    record = load_overlap(synthetic.write(tmp_path / "r.jsonl", change(LINES)))
    assert not record.complete
    assert incomplete in record.incomplete
    assert len(record.points) == 4


@given(cut=st.integers(0, len(WHOLE)))
def test_cut_anywhere(tmp_path: Path, cut: int) -> None:
    """What was written whole before the cut is there; only a cut header is an error."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(WHOLE[:cut])
    lines = WHOLE[:cut].split(b"\n")
    whole = sum(1 for i, line in enumerate(lines) if line and line == WHOLE.split(b"\n")[i])
    if not whole:
        with pytest.raises(RecordError, match=r"^r\.jsonl:1: "):
            load_overlap(path)
    else:
        record = load_overlap(path)
        assert len(record.points) == min(whole - 1, 4)
        assert record.complete == (whole == 6)


def rescaled(value: Any, names: tuple[str, ...], factor: float) -> Any:
    """A line of a record of which the series of these names are `factor` times what they were, wherever they stand."""

    def scaled(series: Any) -> Any:
        if isinstance(series, list):
            return [scaled(one) for one in series]
        return {k: scaled(v) for k, v in series.items()} if isinstance(series, dict) else int(series * factor)

    if not isinstance(value, dict):
        return value
    return {k: scaled(v) if k in names else rescaled(v, names, factor) for k, v in value.items()}


def sampled(point: dict[str, Any], name: str, factor: float) -> dict[str, Any]:
    """A point of which one series over all ranks is `factor` times what it was."""
    return {**point, "series": rescaled(point["series"], (name,), factor)}


PARTS = ("t_call_ns", "t_comp_ns", "t_test_ns", "t_wait_ns", "t_mpi_ns")
SERIES = ("t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns")
UNITS = {"microseconds as nanoseconds": 0.001, "nanoseconds as microseconds": 1000.0}
BEHAVIOURS = (synthetic.SERIALISED, synthetic.PERFECT, synthetic.CONTENTION, synthetic.Behaviour(30.0, 20.0, 12.0))


@pytest.mark.parametrize("given", [False, True], ids=["calibrated", "given"])
@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("factor", UNITS.values(), ids=UNITS)
def test_no_series_is_of_another_unit_than_the_rest_of_its_line(
    tmp_path: Path, given: bool, name: str, factor: float
) -> None:
    """However much it is slowed down, and whatever was found of the sizes."""
    for behaviour in BEHAVIOURS:
        point = synthetic.point(0, behaviour, given=given)
        load_overlap(synthetic.write(tmp_path / "r.jsonl", [LINES[0], point]))
        path = synthetic.write(tmp_path / "r.jsonl", [LINES[0], sampled(point, name, factor)])
        for read in (load_overlap, check_record):
            with pytest.raises(RecordError, match=rf"^r\.jsonl:2: {name} are about .* not of one unit$"):
                read(path)


@pytest.mark.parametrize(
    ("names", "factor", "says"),
    [
        (("t_comm_ref_ns",), 0.001, "reference_moved.comm"),
        (("t_comm_ref_ns",), 1000.0, "reference_moved.comm"),
        (("t_comp_ref_ns",), 0.001, "reference_moved.comp"),
        (("t_comp_ref_ns",), 1000.0, "reference_moved.comp"),
        (("t_measured_ns", *PARTS), 0.001, "t_comm_ref_ns and t_comp_ref_ns together"),
        (("t_measured_ns", *PARTS), 1000.0, "t_comm_ref_ns and t_comp_ref_ns together"),
    ],
)
def test_a_time_of_another_unit_wherever_it_is_written(
    tmp_path: Path, names: tuple[str, ...], factor: float, says: str
) -> None:
    point = rescaled(synthetic.point(given=True), names, factor)
    path = synthetic.write(tmp_path / "r.jsonl", [LINES[0], point])
    with pytest.raises(RecordError, match=rf"^r\.jsonl:2: {names[0]} .*{says} .*not of one unit$"):
        load_overlap(path)


def test_what_only_a_size_of_another_network_explains_is_read(tmp_path: Path) -> None:
    """By hand, sizes of a wire of 10 Mbit/s in shared memory; the line itself says that they are as fast."""
    point = synthetic.point(given=True, behaviour=synthetic.Behaviour(1.0, reference_factor=0.0005))
    load_overlap(synthetic.write(tmp_path / "r.jsonl", [LINES[0], point]))
    unknown = synthetic.changed(point, reference_moved={"comm": None, "comp": None})
    with pytest.raises(RecordError, match=r"r\.jsonl:2: .*comm_calibration\.time_ns is 16000000: they are not of one"):
        load_overlap(synthetic.write(tmp_path / "r.jsonl", [LINES[0], unknown]))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.jsonl:1: the file is empty"),
        ("{}\n", "r.jsonl:1: not the record of a benchmark"),
        ("[" * 100_000 + "\n", "r.jsonl:1: not JSON"),
        ("hello\n", "r.jsonl:1: not JSON"),
        ("3\n", "r.jsonl:1: not a JSON object"),
        (
            synthetic.text([{**LINES[0], "schema_version": 5}]),
            "r.jsonl:1: schema version 5 is newer than 4, the one that this program reads",
        ),
        (
            synthetic.text([{**LINES[0], "schema_version": 0}]),
            "r.jsonl:1: version 0 of mpi-campaign.record: this program reads version 4",
        ),
        (
            synthetic.text([LINES[0], {**LINES[1], "warmup_repetitions": 3}]),
            "r.jsonl:2: warmup.t_measured_ns has 2 values, not 3",
        ),
        (
            synthetic.text([LINES[0], synthetic.changed(LINES[1], reference_drift={"comm": {}})]),
            "r.jsonl:2: reference_drift.comm.change_relative is missing",
        ),
        (
            synthetic.text([LINES[0], {**LINES[1], "rank_samples": {**LINES[1]["rank_samples"], "t_wait_ns": [[1]]}}]),
            "r.jsonl:2: rank_samples.t_wait_ns is not 2 lists of 11 values",
        ),
        (synthetic.text([LINES[0], LINES[1], LINES[1]]), "r.jsonl:3: point 0 appears twice"),
        (synthetic.text([*LINES, LINES[1]]), "r.jsonl:7: a line after the footer"),
        (synthetic.text([*LINES[:-1], {**LINES[-1], "points": 3}]), "r.jsonl:6: the footer counts 3 points"),
        (synthetic.text([LINES[0], {**LINES[1], "repetitions": 5}]), "r.jsonl:2: series.t_measured_ns has 11 values"),
        (synthetic.text([{**LINES[0], "family": "tea"}]), "r.jsonl:1: family is 'tea', none of cpu_overhead, "),
        (synthetic.text([{**LINES[0], "family": "peers"}]), "r.jsonl:1: a record of peers, not of nbc_overlap"),
        (synthetic.text([LINES[0], synthetic.changed(LINES[1], parameters={})]), "r.jsonl:2: parameters.collective is"),
        (
            synthetic.text([{**LINES[0], "threads_per_rank": 0}]),
            "r.jsonl:1: threads_per_rank is not a whole number from 1",
        ),
        (synthetic.text([LINES[0], sampled(LINES[1], "t_comm_ref_ns", 0.001)]), "r.jsonl:2: t_comm_ref_ns are about 8"),
        (synthetic.text([{**LINES[0], "toolchain": "\ud800"}]), "r.jsonl:1: not JSON"),
        (synthetic.text([LINES[0], {**LINES[1], "data_errors": float("nan")}]), "r.jsonl:2: not JSON"),
        (synthetic.text([LINES[0]]) + "\n" + synthetic.text(LINES[1:]), "r.jsonl:2: not JSON"),
    ],
)
def test_errors_name_file_line_and_fault(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError) as caught:
        load_overlap(path)
    assert str(caught.value).startswith(message)


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(WHOLE.replace(b"node-0", b"node-\xff"))
    with pytest.raises(RecordError, match=r"r\.jsonl:1: not UTF-8"):
        load_overlap(path)


def test_validate_is_stricter_than_load(tmp_path: Path) -> None:
    described = {**LINES[0], "description": descriptions()["nbc_overlap"].hash}
    path = synthetic.write(tmp_path / "r.jsonl", [described, {**LINES[1], "novelty": 1}, *LINES[2:]])
    load_overlap(path)
    with pytest.raises(RecordError, match=r"r\.jsonl:2: .*novelty"):
        check_record(path)
    check_record(synthetic.write(tmp_path / "older.jsonl", [LINES[0], {**LINES[1], "novelty": 1}, *LINES[2:]]))


@pytest.mark.parametrize(
    ("schema", "version"), [("record", 3), ("record", 1), ("impact", 1), ("peer", 1), ("selfcheck", 1)]
)
def test_a_record_of_an_older_version_says_what_reads_it(tmp_path: Path, schema: str, version: int) -> None:
    older = {**LINES[0], "schema": f"mpi-campaign.{schema}", "schema_version": version}
    path = synthetic.write(tmp_path / "r.jsonl", [older, *LINES[1:]])
    for read in (load_record, check_record):
        with pytest.raises(
            RecordError, match=rf"^r\.jsonl:1: version {version} of mpi-campaign\.{schema}: .*commit \w+"
        ):
            read(path)


def test_a_bad_record_does_not_lose_the_others(tmp_path: Path) -> None:
    run_dir = synthetic.run_folder(tmp_path, [LINES, LINES])
    (run_dir / "records" / "zzz.jsonl").write_text("nonsense\n")
    with (run_dir / "records" / "001.jsonl").open("a") as file:
        file.write("\n")
    run = load_run(run_dir)
    assert [r.path.name for r in run.records] == ["000.jsonl"]
    assert run.problems == ("001.jsonl:7: not JSON", "zzz.jsonl:1: not JSON")


def test_a_record_that_was_changed_after_archiving_is_told(tmp_path: Path) -> None:
    run_dir = synthetic.run_folder(tmp_path, [LINES])
    synthetic.write(run_dir / "records" / "000.jsonl", synthetic.sweep(synthetic.PERFECT, grid=(8, 16)))
    run = load_run(run_dir)
    assert len(run.records) == 1
    assert run.problems == ("000.jsonl: not the file that was archived: its checksum differs",)


def test_a_record_that_was_put_into_a_run_is_told(tmp_path: Path) -> None:
    run_dir = synthetic.run_folder(tmp_path, [LINES])
    synthetic.write(run_dir / "records" / "added.jsonl", LINES)
    run = load_run(run_dir)
    assert len(run.records) == 2
    assert run.problems == ("added.jsonl: not of this run: it has no checksum",)


@pytest.mark.parametrize("manifest", [None, "", "{", "[]", '{"schema": "other"}', "\xff"])
def test_a_run_without_a_good_manifest_loads(tmp_path: Path, manifest: str | None) -> None:
    run_dir = synthetic.run_folder(tmp_path, [LINES])
    (run_dir / "manifest.json").unlink()
    if manifest is not None:
        (run_dir / "manifest.json").write_text(manifest, encoding="latin-1")
    run = load_run(run_dir)
    assert (len(run.records), run.manifest, len(run.problems)) == (1, {}, 1)


def test_folders_that_are_no_runs(tmp_path: Path) -> None:
    with pytest.raises(RecordError, match="not a run folder"):
        load_run(tmp_path)
    with pytest.raises(RecordError, match="newer"):
        load_run(synthetic.run_folder(tmp_path / "run", [LINES], schema_version=2))


def test_a_record_that_is_gone_is_told_and_did_not_pass(tmp_path: Path) -> None:
    path = synthetic.run_folder(
        tmp_path / "run", [synthetic.sweep(grid=(16,)), synthetic.sweep(grid=(16,), configuration="async")]
    )
    assert [case["result"] for case in load_run(path).manifest["cases"]] == ["pass", "pass"]
    (path / "records" / "000.jsonl").unlink()
    run = load_run(path)
    assert run.problems == ("records/000.jsonl: missing",)
    assert [case["result"] for case in run.manifest["cases"]] == ["missing", "pass"]
    assert run.manifest["cases"][0]["reason"] == "its record records/000.jsonl is not there"


def test_a_manifest_that_does_not_say_what_became_of_its_cases_is_told(tmp_path: Path) -> None:
    path = synthetic.run_folder(tmp_path / "run", [synthetic.sweep(grid=(16,))])
    (weird,) = load_run(synthetic.said_of(path, 0, result="weird")).problems
    assert "has the result 'weird', none of pass, skip, fail, missing" in weird
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, "cases": None}))
    assert load_run(path).problems == ("manifest.json: it names no cases, so that nobody knows what became of them",)
