"""Records as they should be, cut anywhere, and wrong in every way."""

from __future__ import annotations

import copy
import hashlib
import itertools
import json
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from postprocess.families import registry
from postprocess.families.mpi_impact.record import load_impact
from postprocess.families.mpi_impact.table import impact_table
from postprocess.families.nbc_overlap.points import points_table
from postprocess.families.nbc_overlap.record import Reference, load_overlap
from postprocess.families.peers.record import load_peer_record
from postprocess.families.timing_selfcheck.record import load_selfcheck
from postprocess.records.envelope import families
from postprocess.records.fields import RecordError
from postprocess.records.format import SCHEMA_FOLDER
from postprocess.records.header import Progress, Thread
from postprocess.records.reading import load_record
from postprocess.records.record import Clock
from postprocess.records.run import load_run
from postprocess.records.storage import packed, read_record, record_file
from postprocess.records.writing import write_record
from tests.postprocess import synthetic
from tests.postprocess.fuzzing import SAME_FOLDER, anything_anywhere, damaged_bytes, loads_or_says_why
from tests.postprocess.synthetic import OLDER
from tests.support import check_record

ROOT = Path(__file__).parents[2]
KEPT = ROOT / "tests" / "data" / "records"
LINES = synthetic.sweep(grid=(8, 16))
LINES_3, LINES_2, LINES_1 = (OLDER[version](LINES) for version in (3, 2, 1))
WHOLE = synthetic.text(LINES).encode()


@pytest.mark.parametrize("version", OLDER)
def test_synthetic_records_conform_to_the_schema(tmp_path: Path, version: int) -> None:
    for file in sorted(synthetic.smoke_run(tmp_path, version).glob("records/*.jsonl")):
        check_record(file)
        assert load_overlap(file).header.schema_version == version


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
    check_record(synthetic.write(tmp_path / "r.jsonl", lines))


def _objects(schema: Any) -> list[dict[str, Any]]:
    """Every part of a schema that describes an object by its properties."""
    inside = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else []
    own = [schema] if isinstance(schema, dict) and isinstance(schema.get("properties"), dict) else []
    return own + [found for part in inside for found in _objects(part)]


@pytest.mark.parametrize("version", [1, 2, 3])
def test_schemas_are_strict(version: int) -> None:
    """No field may be added, and but for what large runs leave out none may be missing."""
    schema = json.loads((SCHEMA_FOLDER / f"record-v{version}.schema.json").read_text(encoding="utf-8"))
    assert schema["$defs"]["header"]["properties"]["schema_version"] == {"const": version}
    objects = _objects(schema["$defs"])
    assert len(objects) > 10
    for part in objects:
        assert part["additionalProperties"] is False
        assert set(part["properties"]) - set(part["required"]) <= {"rank_samples", "thread_medians"}


@pytest.mark.parametrize("name", ["header", "point", "footer"])
def test_what_every_family_writes_is_strict(name: str) -> None:
    """The same of version 4, but for what only some header knows of."""
    schema = json.loads((SCHEMA_FOLDER / f"{name}-v4.schema.json").read_text(encoding="utf-8"))
    schema.get("$defs", {}).pop("of_our_program", None)
    for part in _objects(schema):
        assert part["additionalProperties"] is False
        assert set(part["properties"]) - set(part["required"]) <= {"rank_samples", "thread_medians"}


def alternatives(kinds: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    """The schemas of a kind of line: of each program of the family, or of each kind of its points."""
    own = kinds[kind]
    refs = [*own.get("oneOf", ()), *(own[branch] for branch in ("then", "else") if branch in own)]
    return [kinds[one["$ref"].rpartition("/")[2]] for one in refs] or [own]


@pytest.mark.parametrize("family", families())
def test_a_family_says_what_all_of_it_is(family: str) -> None:
    """Its parameters, its series and what is its own: nothing may be there that its schema does not name."""
    schema = json.loads((SCHEMA_FOLDER / f"{family}-v4.schema.json").read_text(encoding="utf-8"))
    kinds = schema["$defs"]
    headers, sections = alternatives(kinds, "header"), alternatives(kinds, "point")
    assert all(header["properties"]["family"] == {"const": family} for header in headers)
    closed = [*(header["properties"]["own"] for header in headers), kinds["footer"]["properties"]["own"]]
    closed += [section["properties"][name] for section in sections for name in ("parameters", "own", "series")]
    for part in closed:
        assert part == {"maxProperties": 0} or part["additionalProperties"] is False


def test_a_record_of_version_1_loads_for_ever() -> None:
    """Of Open MPI 5.0.11 with its progress thread, as the campaign's first version measured it."""
    file = KEPT / "version-1.jsonl"
    check_record(file)
    record = load_overlap(file)
    assert (record.header.schema_version, len(record.points), record.complete) == (1, 9, True)
    measured = points_table([record])["r_overhead"]
    assert list(measured.round(3)) == [0.069, 0.058, 0.06, -0.034, 0.064, 0.05, -0.014, -0.008, 0.072]


def test_a_record_of_version_2_loads_for_ever() -> None:
    """Of MPICH 5.0.2 on a machine that had much else to do."""
    file = KEPT / "version-2.jsonl"
    check_record(file)
    record = load_overlap(file)
    assert (record.header.schema_version, len(record.points), record.complete) == (2, 4, True)
    assert list(points_table([record])["r_overhead"].round(2)) == [2.74, 1.55, 0.62, 1.08]


def test_a_record_of_version_3_loads_for_ever() -> None:
    """Of Open MPI 5.0.11 and a barrier, which has no message."""
    file = KEPT / "version-3.jsonl"
    check_record(file)
    record = load_overlap(file)
    assert (record.header.schema_version, len(record.points), record.complete) == (3, 3, True)
    assert list(points_table([record])["r_overhead"].round(3)) == [5.08, 5.426, 15.678]
    assert {point.message_bytes for point in record.points} == {0}
    assert record.footer is not None
    assert record.footer.tcp_bytes_sent == (95486, 85394)


def test_a_record_of_an_idle_library_loads_for_ever() -> None:
    """Version 1 of its own schema: of Open MPI 5.0.11, 12 launches at 3 computation times."""
    file = KEPT / "impact-version-1.jsonl"
    check_record(file)
    record = load_impact(file)
    assert (record.header.schema, record.complete) == ("mpi-campaign.impact", True)
    assert [launch.program for launch in record.launches] == list(record.planned_launches)
    table = impact_table([record])
    assert list(table["comp_target_ns"]) == [8_000_000, 64_000_000, 512_000_000]
    assert list(table["r_mpi_impact"].round(4)) == [1.0048, 0.9945, 0.9895]


def test_a_record_of_another_benchmark_loads_for_ever() -> None:
    """Version 1 of its own schema: of IMB-NBC with MPICH 5.0.2."""
    file = KEPT / "peer-version-1.jsonl"
    check_record(file)
    record = load_peer_record(file)
    assert (record.header.schema, record.header.benchmark, record.repeat) == ("mpi-campaign.peer", "imb_nbc", 1)
    assert [one.overlap_percent for one in record.results] == [53.13, 34.27, 0.0, 0.0, 0.0, 0.0]
    assert record.program["version"] == "2021.11"
    assert "mpiexec" in record.command_lines[0]


def test_a_record_of_a_self_check_loads_for_ever() -> None:
    """Version 1 of its own schema: of MPICH 5.0.2 on a machine that had much else to do."""
    file = KEPT / "selfcheck-version-1.jsonl"
    check_record(file)
    record = load_selfcheck(file)
    assert (record.header.schema, record.header.toolchain, record.incomplete) == (
        "mpi-campaign.selfcheck", "mpich@5.0.2", "",
    )  # fmt: skip
    assert record.timer is not None
    assert record.timer.overhead_ns == 22.192
    assert record.clock is not None
    assert [one.with_drift_ns for one in record.clock.residuals] == [50.15, 6.45]
    assert [(one.method, len(one.imbalance_ns), one.late) for one in record.starts] == [
        ("deadline", 8, 2), ("mpi_barrier", 10, 0), ("dissemination", 10, 0),
    ]  # fmt: skip
    assert [(one.rank, one.detours) for one in record.noises] == [(0, 5), (1, 6)]
    works = [(one.kind, one.target_ns, len(one.samples_ns), one.warmup_repetitions, one.late) for one in record.works]
    assert works == [
        ("computation", 500_000, 6, 1, 0), ("computation", 4_000_000, 6, 0, 5),
        ("communication", 500_000, 6, 3, 0), ("communication", 4_000_000, 7, 0, 10),
    ]  # fmt: skip
    assert record.wall_seconds == 12.1367447


@SAME_FOLDER
@pytest.mark.parametrize("name", ["impact-version-1", "peer-version-1", "selfcheck-version-1"])
@given(data=st.data())
def test_anything_put_anywhere_in_an_older_schema_is_an_error_of_one_line_or_loads(
    tmp_path: Path, name: str, data: st.DataObject
) -> None:
    """The line that ends a record of another benchmark too early is of no number."""
    original = [json.loads(line) for line in (KEPT / f"{name}.jsonl").read_text().splitlines()][:12]
    path = tmp_path / "r.jsonl"
    path.write_bytes(data.draw(anything_anywhere(original)))
    record_or_none: list[Any] = []
    loads_or_says_why(lambda one: record_or_none.append(load_record(one)), path)
    for record in record_or_none:
        try:
            registry.BY_NAME[record.family].view(record)
        except RecordError as error:
            assert str(error).startswith(path.name)
            assert "\n" not in str(error)


@pytest.mark.parametrize("name", ["version-3", "impact-version-1", "peer-version-1", "selfcheck-version-1"])
def test_what_is_written_again_is_the_same_record(tmp_path: Path, name: str) -> None:
    """Read, written as version 4, read: nothing is lost, and nothing is made up."""
    old = load_record(KEPT / f"{name}.jsonl")
    assert old.footer is not None
    write_record(tmp_path / f"{name}.jsonl", old.header, old.points, old.footer)
    new = load_record(tmp_path / f"{name}.jsonl")
    assert (new.header.schema, new.header.schema_version) == ("mpi-campaign.record", 4)
    _same(new.header, old.header, {"schema", "schema_version", "progress"})
    for point, before in zip(new.points, old.points, strict=True):
        _same(point, before, set())
    assert new.footer is not None
    _same(new.footer, old.footer, set())


def test_the_archive_that_is_kept_beside_the_code_is_whole() -> None:
    runs = [manifest.parent for manifest in (ROOT / "results" / "example").glob("*/manifest.json")]
    assert runs
    for folder in runs:
        run = load_run(folder)
        views = [registry.read(run, family) for family in registry.FAMILIES]
        assert (*run.problems, *(problem for view in views for problem in view.problems)) == ()
        assert sum(len(view.records) for view in views) == len(run.records)
        assert run.manifest["status"] == "complete"
        for name, checksum in run.manifest["checksums"].items():
            assert checksum == "sha256:" + hashlib.sha256((folder / name).read_bytes()).hexdigest()


NOT_KNOWN_BY_VERSION_2 = {"schema_version", "mpi_variables", "thread_medians", "tcp_bytes_sent"}
NOT_KNOWN_BY_VERSION_2 |= {"helper_thread_cpu_ns"}
NOT_KNOWN_BY_VERSION_1 = NOT_KNOWN_BY_VERSION_2 | {"clock", "comm_reference", "comp_reference", "warmup"}
NOT_KNOWN_BY_VERSION_1 |= {"clock_synchronisations", "clock_synchronisation_seconds"}


def _same(new: Any, old: Any, but: set[str]) -> None:
    """Two dataclasses are equal, but for what the older version does not know; so are mappings of arrays."""
    if isinstance(new, Mapping):
        assert set(new) == set(old)
        for name in new:
            _equal(new[name], old[name], name, but)
        return
    for field in fields(new):
        if field.name in but or not field.compare:
            continue
        _equal(getattr(new, field.name), getattr(old, field.name), field.name, but)


def _equal(left: Any, right: Any, name: str, but: set[str]) -> None:
    if is_dataclass(left) or isinstance(left, Mapping):
        _same(left, right, but)
    elif isinstance(left, (np.ndarray, float)):
        np.testing.assert_array_equal(left, right)
    else:
        assert left == right, name


@pytest.mark.parametrize(
    ("lines", "but"),
    [(LINES_3, {"schema_version"}), (LINES_2, NOT_KNOWN_BY_VERSION_2), (LINES_1, NOT_KNOWN_BY_VERSION_1)],
    ids=["3", "2", "1"],
)
def test_all_versions_are_the_same_record(tmp_path: Path, lines: list[dict[str, Any]], but: set[str]) -> None:
    new = load_overlap(synthetic.write(tmp_path / "new.jsonl", LINES))
    old = load_overlap(synthetic.write(tmp_path / "old.jsonl", lines))
    _same(new.header, old.header, but)
    assert len(new.points) == len(old.points) == 4
    for point, before in zip(new.points, old.points, strict=True):
        _same(point, before, but)
    assert new.footer is not None
    _same(new.footer, old.footer, but)


def test_version_1_says_what_it_knows_and_no_more(tmp_path: Path) -> None:
    lines = [{**LINES_1[0], "start_method": "barrier"}, *LINES_1[1:]]
    record = load_overlap(synthetic.write(tmp_path / "r.jsonl", lines))
    assert (record.header.clock, record.cache) == (None, "warm")
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
    drift = {
        "comm": {"change_relative": -0.1, "p_value": 0.001},
        "comp": LINES_2[1]["reference_drift"]["comp"],
    }
    moved = {"comm": 0.18, "comp": None}
    counts = {"recalibrations": 1, "discarded_repetitions": 7, "buffer_sets": 5}
    line = {**LINES_2[1], **counts, "reference_drift": drift, "reference_moved": moved}
    point = load_overlap(synthetic.write(tmp_path / "r.jsonl", [LINES_2[0], line])).points[0]
    assert (point.recalibrations, point.discarded_repetitions, point.buffer_sets) == (1, 7, 5)
    assert point.comm_reference == Reference(-0.1, 0.001, 0.18)
    assert point.comp_reference == Reference(0.002, 0.4, None)
    assert list(point.warmup.t_measured_ns) == [32 * synthetic.MS, 24 * synthetic.MS]
    assert point.clock == Clock("shared", 40.0, 2, 0.0)


def test_version_2_says_what_it_knows_and_no_more(tmp_path: Path) -> None:
    record = load_overlap(synthetic.write(tmp_path / "r.jsonl", LINES_2))
    h, point = record.header, record.points[0]
    assert (h.progress, h.mpi_variables) == (Progress("none", "none", 0), None)
    assert (record.computation, record.test_interval_ns) == ("dgemm", 0)
    assert (h.placement[0].helper_threads, h.placement[0].dedicated_cpuset) == ((), "")
    assert (point.work_size, point.test_calls, point.thread_medians) == (LINES_2[1]["matrix_size"], 0, None)
    assert point.rank_samples is not None
    assert not point.rank_samples.t_test_ns.any()
    assert not point.t_test_ns.max.any()
    assert record.footer is not None
    assert (record.footer.helper_thread_cpu_ns, record.footer.tcp_bytes_sent) == ((), None)
    lines = synthetic.version_2(synthetic.sweep(grid=(8,), configuration="async"))
    assert load_overlap(synthetic.write(tmp_path / "a.jsonl", lines)).header.progress == Progress("library", "none", 0)


@pytest.mark.parametrize("version", [3, 4])
def test_versions_3_and_4_in_full(tmp_path: Path, version: int) -> None:
    first, line, last = copy.deepcopy([LINES[0], LINES[1], synthetic.footer(1)])
    first["progress"] = {"source": "application", "pinned_by": "program", "given_up_cores": 1}
    first["plan"]["parameters"] |= {"computation": ["triad"], "test_interval_ns": [100_000]}
    first["placement"][0] |= {"dedicated_cpuset": "3", "helper_threads": [{"name": "helper", "cpuset": "3"}]}
    line["own"]["test_calls"] = 12
    line["spreads"]["t_test_ns"]["max"] = [7] * 11
    line["rank_samples"]["t_test_ns"][1] = [7] * 11
    last |= {"helper_thread_cpu_ns": [[5], [6]], "tcp_bytes_sent": [None, 9]}
    path = synthetic.write(tmp_path / "r.jsonl", OLDER[version]([first, line, last]))
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
    with pytest.raises(RecordError, match=r"start_imbalance_ns has 11 values, not 0"):
        load_overlap(synthetic.write(tmp_path / "r.jsonl", synthetic.version_3([LINES[0], line])))
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
            load_overlap(path)
    else:
        record = load_overlap(path)
        assert len(record.points) == min(whole - 1, 4)
        assert record.complete == (whole == 6)


@SAME_FOLDER
@pytest.mark.parametrize("original", [older(LINES) for older in OLDER.values()], ids=map(str, OLDER))
@given(data=st.data())
def test_anything_put_anywhere_is_an_error_of_one_line_or_loads(
    tmp_path: Path, original: list[dict[str, Any]], data: st.DataObject
) -> None:
    """What loads has a table."""
    path = tmp_path / "r.jsonl"
    path.write_bytes(data.draw(anything_anywhere(original)))
    loads_or_says_why(lambda one: points_table([load_overlap(one)]), path)


@SAME_FOLDER
@given(content=damaged_bytes(LINES))
def test_damaged_bytes_are_an_error_of_one_line_or_load(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)
    loads_or_says_why(load_overlap, path)


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


@pytest.mark.parametrize("version", OLDER)
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
    older = OLDER[version]
    for behaviour in BEHAVIOURS:
        point = synthetic.point(0, behaviour, given=given)
        load_overlap(synthetic.write(tmp_path / "r.jsonl", older([LINES[0], point])))
        path = synthetic.write(tmp_path / "r.jsonl", older([LINES[0], sampled(point, name, factor)]))
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


def test_no_series_of_a_real_record_may_be_of_another_unit(tmp_path: Path) -> None:
    """Every point by itself, of basic and of async."""
    folder = ROOT / "results" / "example" / "20261122T222051Z-34e0f0" / "records"
    for configuration in ("basic", "async"):
        name = f"openmpi-5_0_11.wire_2gbit.{configuration}.nbc_overlap.ibcast.jsonl"
        header, *points, _ = map(json.loads, read_record(record_file(folder / name)).splitlines())
        assert points[0]["comm_calibration"]["status"] == ("given" if configuration == "async" else "converged")
        for point, name, factor in itertools.product(points[::5], SERIES, UNITS.values()):
            wrong = {**point, "samples": rescaled(point["samples"], (name,), factor)}
            path = synthetic.write(tmp_path / "r.jsonl", [header, wrong])
            with pytest.raises(RecordError, match=rf"^r\.jsonl:2: {name} .*not of one unit$"):
                load_overlap(path)


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
            "r.jsonl:1: schema version 5 is newer than the versions that this program reads: 1, 2, 3 and 4",
        ),
        (
            synthetic.text([{**LINES[0], "schema_version": 0}]),
            "r.jsonl:1: schema version 0 is none of the versions that this program reads: 1, 2, 3 and 4",
        ),
        (
            synthetic.text([LINES_3[0], {**LINES_3[1], "warmup_repetitions": 3}]),
            "r.jsonl:2: warmup_samples.t_measured_ns has 2 values, not 3",
        ),
        (
            synthetic.text([LINES[0], {**LINES[1], "warmup_repetitions": 3}]),
            "r.jsonl:2: warmup.t_measured_ns has 2 values, not 3",
        ),
        (
            synthetic.text([LINES_3[0], {**LINES_3[1], "reference_drift": {"comm": {}}}]),
            "r.jsonl:2: reference_drift.comm.change_relative is missing",
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
        (
            synthetic.text([LINES_3[0], {**LINES_3[1], "repetitions": 5}]),
            "r.jsonl:2: samples.start_imbalance_ns has 11 values",
        ),
        (
            synthetic.text([{**LINES[0], "family": "tea"}]),
            "r.jsonl:1: family is 'tea', none of cpu_overhead, ",
        ),
        (synthetic.text([{**LINES[0], "family": "peers"}]), "r.jsonl:1: a record of peers, not of nbc_overlap"),
        (synthetic.text([LINES[0], synthetic.changed(LINES[1], parameters={})]), "r.jsonl:2: parameters.collective is"),
        (
            synthetic.text([{**LINES[0], "threads_per_rank": 0}]),
            "r.jsonl:1: threads_per_rank is not a whole number from 1",
        ),
        (
            synthetic.text([LINES[0], sampled(LINES[1], "t_comm_ref_ns", 0.001)]),
            "r.jsonl:2: t_comm_ref_ns are about 8",
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
        load_overlap(path)
    assert str(caught.value).startswith(message)


def test_not_utf8(tmp_path: Path) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(WHOLE.replace(b"node-0", b"node-\xff"))
    with pytest.raises(RecordError, match=r"r\.jsonl:1: not UTF-8"):
        load_overlap(path)


def test_validate_is_stricter_than_load(tmp_path: Path) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", [LINES[0], {**LINES[1], "novelty": 1}, *LINES[2:]])
    load_overlap(path)
    with pytest.raises(RecordError, match=r"r\.jsonl:2: .*novelty"):
        check_record(path)


@pytest.mark.parametrize("version", [0, 5])
def test_validate_refuses_a_version_that_has_no_schema(tmp_path: Path, version: int) -> None:
    path = synthetic.write(tmp_path / "r.jsonl", [{**LINES[0], "schema_version": version}, *LINES[1:]])
    with pytest.raises(RecordError, match=rf"r\.jsonl:1: schema version {version} is .*: 1, 2, 3 and 4"):
        check_record(path)


def test_validate_takes_the_schema_of_the_header(tmp_path: Path) -> None:
    every = [older(LINES) for older in OLDER.values()]
    mixed = itertools.permutations(every, 2)
    for lines in ([first[0], *rest[1:]] for first, rest in mixed):
        with pytest.raises(RecordError, match=r"r\.jsonl:2: "):
            check_record(synthetic.write(tmp_path / "r.jsonl", lines))


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


@pytest.mark.parametrize("stays", [True, False])
def test_an_unpacked_file_that_was_put_over_a_packed_record_is_told(tmp_path: Path, stays: bool) -> None:
    run_dir = synthetic.run_folder(tmp_path, [LINES])
    plain = run_dir / "records" / "000.jsonl"
    packed_file = plain.with_name("000.jsonl.gz")
    packed_file.write_bytes(packed(plain.read_bytes()))
    manifest = json.loads((run_dir / "manifest.json").read_text())
    manifest["checksums"] = {"records/000.jsonl.gz": "sha256:" + hashlib.sha256(packed_file.read_bytes()).hexdigest()}
    (run_dir / "manifest.json").write_text(json.dumps(manifest))
    if not stays:
        packed_file.unlink()
    added = "000.jsonl: not of this run: it has no checksum"
    twice = "000.jsonl and 000.jsonl.gz: one record in two files, read twice"
    assert load_run(run_dir).problems == ((added, twice) if stays else (added,))


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
