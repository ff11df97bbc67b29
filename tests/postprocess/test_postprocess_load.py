"""Records as they should be, cut anywhere, and wrong in every way."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.families.mpi_impact.record import impacts_of
from postprocess.families.nbc_overlap.points import points_table
from postprocess.families.peers.outputs import load_peers
from postprocess.records.fields import RecordError
from postprocess.records.load import (
    RECORD_VERSIONS,
    Clock,
    Progress,
    Reference,
    Thread,
    load_record,
    load_run,
    schema_file,
    validate_record,
)
from postprocess.records.storage import read_record, record_file
from tests.postprocess import synthetic
from tests.postprocess.fuzzing import SAME_FOLDER, anything_anywhere, damaged_bytes, loads_or_says_why

ROOT = Path(__file__).parents[2]
LINES = synthetic.sweep(grid=(8, 16))
LINES_2, LINES_1 = synthetic.version_2(LINES), synthetic.version_1(LINES)
WHOLE = synthetic.text(LINES).encode()


@pytest.mark.parametrize("version", RECORD_VERSIONS)
def test_synthetic_records_conform_to_the_schema(tmp_path: Path, version: int) -> None:
    for file in sorted(synthetic.smoke_run(tmp_path, version).glob("records/*.jsonl")):
        validate_record(file)
        assert load_record(file).header.schema_version == version


@pytest.mark.parametrize(
    "lines",
    [
        synthetic.refused("one rank only: nothing communicates", ranks=1),
        synthetic.refused(
            "rank 1's clock went backwards by 3 ms",
            clock={**LINES[0]["clock"], "method": "none", "refusal": "rank 1's clock went backwards by 3 ms"}
            | dict.fromkeys(("residual_ns", "shortest_trip_ns", "drift_ppm")),
        ),
        [LINES[0], synthetic.without_clock(LINES[1]), synthetic.footer(1, clock_refusal="rank 1's clock stepped")],
    ],
)
def test_what_was_refused_conforms_to_the_schema(tmp_path: Path, lines: list[dict[str, Any]]) -> None:
    validate_record(synthetic.write(tmp_path / "r.jsonl", lines))


def _objects(schema: Any) -> list[dict[str, Any]]:
    """Every part of a schema that describes an object by its properties."""
    inside = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []
    own = [schema] if isinstance(schema, dict) and isinstance(schema.get("properties"), dict) else []
    return own + [found for part in inside for found in _objects(part)]


@pytest.mark.parametrize("version", RECORD_VERSIONS)
def test_schemas_are_strict(version: int) -> None:
    """No field may be added, and but for what large runs leave out none may be missing."""
    schema = json.loads(schema_file(version).read_text(encoding="utf-8"))
    assert schema["$defs"]["header"]["properties"]["schema_version"] == {"const": version}
    objects = _objects(schema["$defs"])
    assert len(objects) > 10
    for part in objects:
        assert part["additionalProperties"] is False
        assert set(part["properties"]) - set(part["required"]) <= {"rank_samples", "thread_medians"}


def test_a_record_of_version_1_loads_for_ever() -> None:
    """Of Open MPI 5.0.11 with its progress thread, as the campaign's first version measured it."""
    file = ROOT / "tests" / "data" / "records" / "version-1.jsonl"
    validate_record(file)
    record = load_record(file)
    assert (record.header.schema_version, len(record.points), record.complete) == (1, 9, True)
    measured = points_table([record])["r_overhead"]
    assert list(measured.round(3)) == [0.069, 0.058, 0.06, -0.034, 0.064, 0.05, -0.014, -0.008, 0.072]


def test_a_record_of_version_2_loads_for_ever() -> None:
    """Of MPICH 5.0.2 on a machine that had much else to do."""
    file = ROOT / "tests" / "data" / "records" / "version-2.jsonl"
    validate_record(file)
    record = load_record(file)
    assert (record.header.schema_version, len(record.points), record.complete) == (2, 4, True)
    assert list(points_table([record])["r_overhead"].round(2)) == [2.74, 1.55, 0.62, 1.08]


def test_the_archive_that_is_kept_beside_the_code_is_whole() -> None:
    runs = [manifest.parent for manifest in (ROOT / "results" / "example").glob("*/manifest.json")]
    assert runs
    for folder in runs:
        run = load_run(folder)
        unread = (*run.problems, *load_peers(run)[1], *impacts_of(run)[1])
        assert unread == ()
        assert run.manifest["status"] == "complete"
        for name, checksum in run.manifest["checksums"].items():
            assert checksum == "sha256:" + hashlib.sha256((folder / name).read_bytes()).hexdigest()


NOT_KNOWN_BY_VERSION_2 = {"schema_version", "raw", "mpi_variables", "thread_medians", "tcp_bytes_sent"}
NOT_KNOWN_BY_VERSION_2 |= {"helper_thread_cpu_ns"}
NOT_KNOWN_BY_VERSION_1 = NOT_KNOWN_BY_VERSION_2 | {"clock", "comm_reference", "comp_reference", "warmup"}
NOT_KNOWN_BY_VERSION_1 |= {"clock_synchronisations", "clock_synchronisation_seconds"}


def _same(new: Any, old: Any, but: set[str]) -> None:
    """Two dataclasses are equal, but for what the older version does not know."""
    for field in fields(new):
        if field.name in but:
            continue
        left, right = getattr(new, field.name), getattr(old, field.name)
        if is_dataclass(left):
            _same(left, right, but)
        elif isinstance(left, np.ndarray):
            np.testing.assert_array_equal(left, right)
        else:
            assert left == right, field.name


@pytest.mark.parametrize(
    ("lines", "but"), [(LINES_2, NOT_KNOWN_BY_VERSION_2), (LINES_1, NOT_KNOWN_BY_VERSION_1)], ids=["2", "1"]
)
def test_all_versions_are_the_same_record(tmp_path: Path, lines: list[dict[str, Any]], but: set[str]) -> None:
    new = load_record(synthetic.write(tmp_path / "new.jsonl", LINES))
    old = load_record(synthetic.write(tmp_path / "old.jsonl", lines))
    _same(new.header, old.header, but)
    assert len(new.points) == len(old.points) == 4
    for point, before in zip(new.points, old.points, strict=True):
        _same(point, before, but)
    assert new.footer is not None
    _same(new.footer, old.footer, but)


def test_version_1_says_what_it_knows_and_no_more(tmp_path: Path) -> None:
    lines = [{**LINES_1[0], "start_method": "barrier"}, *LINES_1[1:]]
    record = load_record(synthetic.write(tmp_path / "r.jsonl", lines))
    assert (record.header.clock, record.header.cache) == (None, "warm")
    point = record.points[0]
    assert point.start_method == "barrier"
    assert point.clock == Clock("shared", 40.0, None, None)
    assert point.comm_reference == point.comp_reference == Reference(None, None, None)
    assert [len(getattr(point.warmup, field.name)) for field in fields(point.warmup)] == [0, 0, 0]
    assert (point.warmup_repetitions, point.buffer_sets) == (2, 1)
    assert (point.discarded_repetitions, point.recalibrations) == (0, 0)
    assert record.footer is not None
    assert (record.footer.clock_synchronisations, record.footer.clock_refusal) == (None, "")


def test_version_2_in_full(tmp_path: Path) -> None:
    line = {**LINES[1], "recalibrations": 1, "discarded_repetitions": 7, "buffer_sets": 5}
    line["reference_drift"] = {
        "comm": {"change_relative": -0.1, "p_value": 0.001},
        "comp": LINES[1]["reference_drift"]["comp"],
    }
    line["reference_moved"] = {"comm": 0.18, "comp": None}
    point = load_record(synthetic.write(tmp_path / "r.jsonl", [LINES[0], line])).points[0]
    assert (point.recalibrations, point.discarded_repetitions, point.buffer_sets) == (1, 7, 5)
    assert point.comm_reference == Reference(-0.1, 0.001, 0.18)
    assert point.comp_reference == Reference(0.002, 0.4, None)
    assert list(point.warmup.t_measured_ns) == [32 * synthetic.MS, 24 * synthetic.MS]
    assert point.clock == Clock("shared", 40.0, 2, 0.0)


def test_version_2_says_what_it_knows_and_no_more(tmp_path: Path) -> None:
    record = load_record(synthetic.write(tmp_path / "r.jsonl", LINES_2))
    h, point = record.header, record.points[0]
    assert (h.progress, h.mpi_variables) == (Progress("none", "none", 0), None)
    assert (h.computation, h.test_interval_ns) == ("dgemm", 0)
    assert (h.placement[0].helper_threads, h.placement[0].dedicated_cpuset) == ((), "")
    assert (point.work_size, point.test_calls, point.thread_medians) == (LINES_2[1]["matrix_size"], 0, None)
    assert point.rank_samples is not None
    assert not point.rank_samples.t_test_ns.any()
    assert not point.t_test_ns.max.any()
    assert record.footer is not None
    assert (record.footer.helper_thread_cpu_ns, record.footer.tcp_bytes_sent) == ((), None)
    lines = synthetic.version_2(synthetic.sweep(grid=(8,), configuration="async"))
    assert load_record(synthetic.write(tmp_path / "a.jsonl", lines)).header.progress == Progress("library", "none", 0)


def test_version_3_in_full(tmp_path: Path) -> None:
    first, line, last = (copy.deepcopy(x) for x in (LINES[0], LINES[1], synthetic.footer(1)))
    first["progress"] = {"source": "application", "pinned_by": "program", "given_up_cores": 1}
    first["plan"] |= {"computation": "triad", "test_interval_ns": 100_000}
    first["placement"][0] |= {"dedicated_cpuset": "3", "helper_threads": [{"name": "helper", "cpuset": "3"}]}
    line["test_calls"] = 12
    line["samples"]["t_test_ns"]["max"] = [7] * 11
    line["rank_samples"]["t_test_ns"][1] = [7] * 11
    last |= {"helper_thread_cpu_ns": [[5], [6]], "tcp_bytes_sent": [None, 9]}
    path = synthetic.write(tmp_path / "r.jsonl", [first, line, last])
    validate_record(path)
    record = load_record(path)
    assert record.header.progress == Progress("application", "program", 1)
    assert (record.header.computation, record.header.test_interval_ns) == ("triad", 100_000)
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
    validate_record(path)
    assert {(p.rank_samples, p.thread_medians) for p in load_record(path).points} == {(None, None)}


def test_without_a_clock_there_is_no_imbalance_and_no_residual(tmp_path: Path) -> None:
    line = synthetic.without_clock(LINES[1])
    point = load_record(synthetic.write(tmp_path / "r.jsonl", [LINES[0], line])).points[0]
    assert point.clock == Clock("none", None, 1, None)
    assert len(point.start_imbalance_ns) == 0
    line["samples"]["start_imbalance_ns"] = [50] * point.repetitions
    with pytest.raises(RecordError, match=r"start_imbalance_ns has 11 values, not 0"):
        load_record(synthetic.write(tmp_path / "r.jsonl", [LINES[0], line]))


def test_a_record_refused_before_any_point(tmp_path: Path) -> None:
    lines = synthetic.refused("one rank only: nothing communicates", ranks=1)
    record = load_record(synthetic.write(tmp_path / "r.jsonl", lines))
    assert (record.incomplete, record.points) == ("one rank only: nothing communicates", ())
    assert record.footer is not None
    assert record.footer.clock_residual_ns is None


def test_a_whole_record(tmp_path: Path) -> None:
    record = load_record(synthetic.write(tmp_path / "r.jsonl", LINES))
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
    record = load_record(synthetic.write(tmp_path / "r.jsonl", change(LINES)))
    assert not record.complete
    assert incomplete in record.incomplete
    assert len(record.points) == 4


@SAME_FOLDER
@given(cut=st.integers(0, len(WHOLE)))
def test_cut_anywhere(tmp_path: Path, cut: int) -> None:
    """What was written whole before the cut is there; only a cut header is an error."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(WHOLE[:cut])
    lines = WHOLE[:cut].split(b"\n")
    whole = sum(1 for i, line in enumerate(lines) if line and line == WHOLE.split(b"\n")[i])
    if not whole:
        with pytest.raises(RecordError, match=r"^r\.jsonl:1: "):
            load_record(path)
    else:
        record = load_record(path)
        assert len(record.points) == min(whole - 1, 4)
        assert record.complete == (whole == 6)


@SAME_FOLDER
@pytest.mark.parametrize("original", [LINES, LINES_2, LINES_1], ids=["version 3", "version 2", "version 1"])
@given(data=st.data())
def test_anything_put_anywhere_is_an_error_of_one_line_or_loads(
    tmp_path: Path, original: list[dict[str, Any]], data: st.DataObject
) -> None:
    """What loads has a table."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(data.draw(anything_anywhere(original)))
    loads_or_says_why(lambda one: points_table([load_record(one)]), path)


@SAME_FOLDER
@given(content=damaged_bytes(LINES))
def test_damaged_bytes_are_an_error_of_one_line_or_load(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    loads_or_says_why(load_record, path)


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
    return {**point, "samples": rescaled(point["samples"], (name,), factor)}


PARTS = ("t_call_ns", "t_comp_ns", "t_test_ns", "t_wait_ns", "t_mpi_ns")
SERIES = ("t_measured_ns", "t_comm_ref_ns", "t_comp_ref_ns")
UNITS = {"microseconds as nanoseconds": 0.001, "nanoseconds as microseconds": 1000.0}
BEHAVIOURS = (synthetic.SERIALISED, synthetic.PERFECT, synthetic.CONTENTION, synthetic.Behaviour(30.0, 20.0, 12.0))


@pytest.mark.parametrize("version", RECORD_VERSIONS)
@pytest.mark.parametrize("given", [False, True], ids=["calibrated", "given"])
@pytest.mark.parametrize("name", SERIES)
@pytest.mark.parametrize("factor", UNITS.values(), ids=UNITS)
def test_no_series_is_of_another_unit_than_the_rest_of_its_line(
    tmp_path: Path, version: int, given: bool, name: str, factor: float
) -> None:
    """However much it is slowed down, and whatever was found of the sizes.

    What version 1 says of a reference elsewhere is no more than that it is not so short.
    """
    if version == 1 and name != "t_measured_ns" and factor > 1:
        return
    older = (synthetic.version_1, synthetic.version_2, list[dict[str, Any]])[version - 1]
    for behaviour in BEHAVIOURS:
        point = synthetic.point(0, behaviour, given=given)
        load_record(synthetic.write(tmp_path / "r.jsonl", older([LINES[0], point])))
        path = synthetic.write(tmp_path / "r.jsonl", older([LINES[0], sampled(point, name, factor)]))
        for read in (load_record, validate_record):
            with pytest.raises(RecordError, match=rf"^r\.jsonl:2: samples\.{name} are about .* not of one unit$"):
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
    with pytest.raises(RecordError, match=rf"^r\.jsonl:2: samples\.{names[0]} .*{says} .*not of one unit$"):
        load_record(path)


def test_what_only_a_size_of_another_network_explains_is_read(tmp_path: Path) -> None:
    """By hand, sizes of a wire of 10 Mbit/s in shared memory; the line itself says that they are as fast."""
    point = synthetic.point(given=True, behaviour=synthetic.Behaviour(1.0, reference_factor=0.0005))
    load_record(synthetic.write(tmp_path / "r.jsonl", [LINES[0], point]))
    unknown = {**point, "reference_moved": {"comm": None, "comp": None}}
    with pytest.raises(RecordError, match=r"r\.jsonl:2: .*comm_calibration\.time_ns is 16000000: they are not of one"):
        load_record(synthetic.write(tmp_path / "r.jsonl", [LINES[0], unknown]))


def test_no_series_of_a_real_record_may_be_of_another_unit(tmp_path: Path) -> None:
    """Every point by itself, of basic and of async."""
    folder = ROOT / "results" / "example" / "20261122T222051Z-34e0f0" / "records"
    for configuration in ("basic", "async"):
        name = f"openmpi-5_0_11.wire_2gbit.{configuration}.nbc_overlap.ibcast.jsonl"
        header, *points, _ = map(json.loads, read_record(record_file(folder / name)).splitlines())
        assert points[0]["comm_calibration"]["status"] == ("given" if configuration == "async" else "converged")
        for point, name, factor in itertools.product(points[::5], SERIES, UNITS.values()):
            path = synthetic.write(tmp_path / "r.jsonl", [header, sampled(point, name, factor)])
            with pytest.raises(RecordError, match=rf"^r\.jsonl:2: samples\.{name} .*not of one unit$"):
                load_record(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.jsonl:1: the file is empty"),
        ("{}\n", "r.jsonl:1: not the record of a benchmark"),
        ("[" * 100_000 + "\n", "r.jsonl:1: not JSON"),
        ("hello\n", "r.jsonl:1: not JSON"),
        ("3\n", "r.jsonl:1: not a JSON object"),
        (
            synthetic.text([{**LINES[0], "schema_version": 4}]),
            "r.jsonl:1: schema version 4 is newer than the versions that this program reads: 1, 2 and 3",
        ),
        (
            synthetic.text([{**LINES[0], "schema_version": 0}]),
            "r.jsonl:1: schema version 0 is none of the versions that this program reads: 1, 2 and 3",
        ),
        (
            synthetic.text([LINES[0], {**LINES[1], "warmup_repetitions": 3}]),
            "r.jsonl:2: warmup_samples.t_measured_ns has 2 values, not 3",
        ),
        (
            synthetic.text([LINES[0], {**LINES[1], "reference_drift": {"comm": {}}}]),
            "r.jsonl:2: reference_drift.comm.change_relative is missing",
        ),
        (
            synthetic.text([LINES[0], {**LINES[1], "rank_samples": {**LINES[1]["rank_samples"], "t_wait_ns": [[1]]}}]),
            "r.jsonl:2: rank_samples.t_wait_ns is not 2 lists of 11 values",
        ),
        (synthetic.text([LINES[0], LINES[1], LINES[1]]), "r.jsonl:3: point 0 appears twice"),
        (synthetic.text([*LINES, LINES[1]]), "r.jsonl:7: a line after the footer"),
        (synthetic.text([*LINES[:-1], {**LINES[-1], "points": 3}]), "r.jsonl:6: the footer counts 3 points"),
        (synthetic.text([LINES[0], {**LINES[1], "repetitions": 5}]), "r.jsonl:2: samples.t_measured_ns has 11 values"),
        (
            synthetic.text([{**LINES[0], "threads_per_rank": 0}]),
            "r.jsonl:1: threads_per_rank is not a whole number from 1",
        ),
        (
            synthetic.text([LINES[0], sampled(LINES[1], "t_comm_ref_ns", 0.001)]),
            "r.jsonl:2: samples.t_comm_ref_ns are about 8",
        ),
        (synthetic.text([{**LINES[0], "toolchain": "\ud800"}]), "r.jsonl:1: not JSON"),
        (synthetic.text([LINES[0], {**LINES[1], "data_errors": float("nan")}]), "r.jsonl:2: not JSON"),
        (synthetic.text([LINES[0]]) + "\n" + synthetic.text(LINES[1:]), "r.jsonl:2: not JSON"),
    ],
)
def test_errors_name_file_line_and_fault(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "r.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(RecordError) as caught:
        load_record(path)
    assert str(caught.value).startswith(message)


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(WHOLE.replace(b"node-0", b"node-\xff"))
    with pytest.raises(RecordError, match=r"r\.jsonl:1: not UTF-8"):
        load_record(path)


def test_validate_is_stricter_than_load(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", [LINES[0], {**LINES[1], "novelty": 1}, *LINES[2:]])
    load_record(path)
    with pytest.raises(RecordError, match=r"r\.jsonl:2: .*novelty"):
        validate_record(path)


@pytest.mark.parametrize("version", [0, 4])
def test_validate_refuses_a_version_that_has_no_schema(tmp_path: Path, version: int) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", [{**LINES[0], "schema_version": version}, *LINES[1:]])
    with pytest.raises(RecordError, match=rf"r\.jsonl:1: schema version {version} is .*: 1, 2 and 3"):
        validate_record(path)


def test_validate_takes_the_schema_of_the_header(tmp_path: Path) -> None:
    mixed = [(LINES_1, LINES), (LINES, LINES_1), (LINES_2, LINES), (LINES, LINES_2)]
    for lines in ([first[0], *rest[1:]] for first, rest in mixed):
        with pytest.raises(RecordError, match=r"r\.jsonl:2: "):
            validate_record(synthetic.write(tmp_path / "r.jsonl", lines))


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
