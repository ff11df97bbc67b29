"""Records as they should be, cut anywhere, and wrong in every way."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postprocess.load import RecordError, load_record, load_run, validate_record
from tests.postprocess import synthetic

LINES = synthetic.sweep(grid=(8, 16))
WHOLE = synthetic.text(LINES).encode()
SAME_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def test_synthetic_records_conform_to_the_schema(tmp_path: Path) -> None:
    for file in sorted(synthetic.smoke_run(tmp_path).glob("records/*.jsonl")):
        validate_record(file)


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


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    children: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        children = list(value.items())
    elif isinstance(value, list):
        children = list(enumerate(value))
    return [path, *(leaf for key, child in children for leaf in _leaves(child, (*path, key)))]


JUNK = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.one_of(st.integers(-5, 5), st.text(max_size=2), st.none()), max_size=3),
    st.dictionaries(st.text(max_size=3), st.integers(), max_size=2),
)


@SAME_FOLDER
@given(place=st.sampled_from(_leaves(LINES)[1:]), junk=JUNK, remove=st.booleans())
def test_anything_put_anywhere_is_an_error_of_one_line_or_loads(
    tmp_path: Path, place: tuple[Any, ...], junk: Any, remove: bool
) -> None:
    lines: Any = copy.deepcopy(LINES)
    target = lines
    for key in place[:-1]:
        target = target[key]
    if remove:
        del target[place[-1]]
    else:
        target[place[-1]] = junk
    path = tmp_path / "r.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8", errors="surrogatepass")
    _loads_or_says_why(path)


@SAME_FOLDER
@given(start=st.integers(0, len(WHOLE)), length=st.integers(0, 40), noise=st.binary(max_size=40))
def test_damaged_bytes_are_an_error_of_one_line_or_load(tmp_path: Path, start: int, length: int, noise: bytes) -> None:
    path = tmp_path / "r.jsonl"
    path.write_bytes(WHOLE[:start] + noise + WHOLE[start + length :])
    _loads_or_says_why(path)


def _loads_or_says_why(path: Path) -> None:
    try:
        load_record(path)
    except RecordError as error:
        message = str(error)
        assert message.startswith("r.jsonl:")
        assert message.split(":")[1].isdigit()
        assert "\n" not in message
        assert message.isprintable()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "r.jsonl:1: the file is empty"),
        ("{}\n", "r.jsonl:1: not the record of a benchmark"),
        ("[" * 100_000 + "\n", "r.jsonl:1: not JSON"),
        ("hello\n", "r.jsonl:1: not JSON"),
        ("3\n", "r.jsonl:1: not a JSON object"),
        (
            synthetic.text([{**LINES[0], "schema_version": 2}]),
            "r.jsonl:1: schema version 2 is newer than 1, the newest that this program reads",
        ),
        (synthetic.text([LINES[0], LINES[1], LINES[1]]), "r.jsonl:3: point 0 appears twice"),
        (synthetic.text([*LINES, LINES[1]]), "r.jsonl:7: a line after the footer"),
        (synthetic.text([*LINES[:-1], {**LINES[-1], "points": 3}]), "r.jsonl:6: the footer counts 3 points"),
        (synthetic.text([LINES[0], {**LINES[1], "repetitions": 5}]), "r.jsonl:2: samples.t_measured_ns has 11 values"),
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
