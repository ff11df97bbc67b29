"""Run folders: gathered as they grow, renamed into place once, found again."""

import hashlib
import json
from pathlib import Path

import pytest

from mpi_campaign.archive import run_folders, store
from mpi_campaign.archive.run_folders import RunFolder
from mpi_campaign.errors import CampaignError
from mpi_campaign.planning.cases import Case

WHOLE = '{"type": "header"}\n{"type": "footer", "complete": true}\n'
CUT = '{"type": "header"}\n{"type": "po'


def case(collective: str = "ibcast", repeat: int = 1) -> Case:
    return Case(
        "mpich@5.0.2", "wheels", "mpich-5_0_2", "wire:2gbit", "basic", "nbc_overlap", {"collective": collective}, repeat
    )


def stage(folder: RunFolder, one: Case, record: str) -> Path:
    place = folder.session / "stage" / "local" / "wire" / one.environment / one.stem
    place.mkdir(parents=True, exist_ok=True)
    (place / run_folders.CASE).write_text(json.dumps(one.as_dict()))
    (place / run_folders.RECORD).write_text(record)
    (place / run_folders.STDOUT).write_text("a table\n")
    return place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setattr(run_folders, "STATE", tmp_path / "state")
    started = run_folders.start(tmp_path / "results", "local")
    run_folders.write_manifest(started, {"run": started.run, "cases": []})
    return started


def test_stems_tell_every_case_apart_and_suit_a_file_system() -> None:
    stems = {case(collective, repeat).stem for collective in ("ibcast", "ireduce") for repeat in (1, 2)}
    assert len(stems) == 4
    assert all("/" not in stem and ":" not in stem for stem in stems)


def test_harvest_takes_what_is_there_and_keeps_what_is_whole(folder: RunFolder) -> None:
    place = stage(folder, case(), CUT)
    run_folders.harvest(folder)
    kept = folder.records_folder / f"{case().stem}.jsonl"
    assert kept.read_text() == CUT
    assert not run_folders.is_complete(kept)
    (place / run_folders.RECORD).write_text(WHOLE)
    run_folders.harvest(folder)
    assert run_folders.is_complete(kept)
    (place / run_folders.RECORD).write_text(CUT)
    run_folders.harvest(folder)
    assert kept.read_text() == WHOLE
    log = folder.partial / "logs" / f"{case().stem}.out"
    assert log.read_text() == "a table\n"
    before = log.stat()
    run_folders.harvest(folder)
    assert log.stat().st_mtime_ns == before.st_mtime_ns  # nothing is copied twice
    (place / run_folders.STDOUT).write_text("a longer table\n")
    run_folders.harvest(folder)
    assert log.read_text() == "a longer table\n"


def test_a_case_whose_description_was_cut_off_is_missing_not_fatal(folder: RunFolder) -> None:
    place = stage(folder, case(), WHOLE)
    (place / run_folders.CASE).write_text('{"toolchain": "mpi')
    assert run_folders.harvest(folder) == {}


def test_a_clock_that_was_set_back_is_seen_when_a_run_begins(folder: RunFolder) -> None:
    assert run_folders.later_than(folder) == ""
    later = RunFolder(folder.root, folder.system, "29991231T000000Z-abcdef")
    later.archived.mkdir(parents=True)
    (later.archived / run_folders.MANIFEST).write_text("{}")
    assert run_folders.later_than(folder) == later.run
    assert run_folders.later_than(RunFolder(folder.root, "another", folder.run)) == ""


def test_a_run_grows_in_one_place_and_leaves_no_lock(folder: RunFolder) -> None:
    assert not run_folders.grows(folder)
    with run_folders.growing(folder):
        assert run_folders.grows(folder)
        with pytest.raises(CampaignError, match="grows already"), run_folders.growing(folder):
            pass
        assert run_folders.grows(folder)
    assert not run_folders.grows(folder)
    assert [path.name for path in folder.partial.parent.iterdir()] == [folder.run]


def test_what_reframe_says_of_every_session_is_kept(folder: RunFolder) -> None:
    for number in (1, 2):
        for name in run_folders.SESSION_FILES:
            (folder.session / name).write_text(f"session {number}")
        run_folders.keep_session(folder, number)
    kept = {path.name: path.read_text() for path in folder.partial.glob("*junit*")}
    assert kept == {"junit.xml": "session 1", "junit.2.xml": "session 2"}
    assert (folder.partial / "reframe-report.2.json").read_text() == "session 2"


def test_finish_renames_once_with_checksums_and_leaves_no_stage(folder: RunFolder) -> None:
    stage(folder, case(), WHOLE)
    run_folders.harvest(folder)
    manifest = run_folders.read_manifest(folder)
    run_folders.finish(folder, manifest)
    assert folder.path == folder.archived
    assert not folder.partial.exists()
    assert not folder.session.exists()
    sums = run_folders.read_manifest(folder)["checksums"]
    name = f"records/{case().stem}.jsonl"
    assert sums[name] == "sha256:" + hashlib.sha256((folder.archived / name).read_bytes()).hexdigest()
    assert set(sums) == {str(path.relative_to(folder.archived)) for path in folder.archived.rglob("*.*")} - {
        "manifest.json"
    }


def test_a_manifest_that_was_changed_after_the_run_is_found_out(folder: RunFolder) -> None:
    stage(folder, case(), WHOLE)
    run_folders.harvest(folder)
    run_folders.finish(folder, {**run_folders.read_manifest(folder), "host": {"cpu": "Größe", "cores": 2, "load": 0.1}})
    path = folder.archived / run_folders.MANIFEST
    own = [
        fault for fault in store.faults(folder) if fault.startswith(f"{run_folders.MANIFEST}: not what was archived")
    ]
    assert own == []
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(manifest.items()))))  # laid out otherwise
    assert not any("not what was archived" in fault for fault in store.faults(folder))
    manifest["host"]["cores"] = 64
    path.write_text(json.dumps(manifest))
    assert f"{run_folders.MANIFEST}: not what was archived: its checksum differs" in list(store.faults(folder))


def test_a_run_is_found_by_folder_by_name_and_as_the_last(folder: RunFolder, tmp_path: Path) -> None:
    for reference in (str(folder.partial), folder.run, "last"):
        assert run_folders.find(reference, tmp_path / "results") == folder
    run_folders.finish(folder, run_folders.read_manifest(folder))
    for reference in (str(folder.archived), folder.run, "last"):
        assert run_folders.find(reference, tmp_path / "results") == folder
    with pytest.raises(CampaignError, match=folder.run):
        run_folders.find("another", tmp_path / "results")


def test_a_foreign_manifest_is_refused_in_one_line(folder: RunFolder) -> None:
    for text in ("[]", "{", "\x00"):
        (folder.partial / run_folders.MANIFEST).write_text(text)
        with pytest.raises(CampaignError, match="manifest"):
            run_folders.read_manifest(folder)
