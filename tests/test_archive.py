"""Run folders: gathered as they grow, renamed into place once, found again."""

import hashlib
import json
from pathlib import Path

import pytest

from mpi_campaign import archive, store
from mpi_campaign.archive import RunFolder
from mpi_campaign.cases import Case
from mpi_campaign.errors import CampaignError

WHOLE = '{"type": "header"}\n{"type": "footer", "complete": true}\n'
CUT = '{"type": "header"}\n{"type": "po'


def case(collective: str = "ibcast", repeat: int = 1) -> Case:
    return Case("mpich@5.0.2", "wheels", "mpich-5_0_2", "wire:2gbit", "basic", "nbc_overlap", collective, repeat)


def stage(folder: RunFolder, one: Case, record: str) -> Path:
    place = folder.session / "stage" / "local" / "wire" / one.environment / one.stem
    place.mkdir(parents=True, exist_ok=True)
    (place / archive.CASE).write_text(json.dumps(one.as_dict()))
    (place / archive.RECORD).write_text(record)
    (place / archive.STDOUT).write_text("a table\n")
    return place


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> RunFolder:
    monkeypatch.setattr(archive, "STATE", tmp_path / "state")
    started = archive.start(tmp_path / "results", "local")
    archive.write_manifest(started, {"run": started.run, "cases": []})
    return started


def test_stems_tell_every_case_apart_and_suit_a_file_system() -> None:
    stems = {case(collective, repeat).stem for collective in ("ibcast", "ireduce") for repeat in (1, 2)}
    assert len(stems) == 4
    assert all("/" not in stem and ":" not in stem for stem in stems)


def test_harvest_takes_what_is_there_and_keeps_what_is_whole(folder: RunFolder) -> None:
    place = stage(folder, case(), CUT)
    archive.harvest(folder)
    kept = folder.records / f"{case().stem}.jsonl"
    assert kept.read_text() == CUT
    assert not archive.is_complete(kept)
    (place / archive.RECORD).write_text(WHOLE)
    archive.harvest(folder)
    assert archive.is_complete(kept)
    (place / archive.RECORD).write_text(CUT)
    archive.harvest(folder)
    assert kept.read_text() == WHOLE
    assert (folder.partial / "logs" / f"{case().stem}.out").read_text() == "a table\n"


def test_a_case_whose_description_was_cut_off_is_missing_not_fatal(folder: RunFolder) -> None:
    place = stage(folder, case(), WHOLE)
    (place / archive.CASE).write_text('{"toolchain": "mpi')
    assert archive.harvest(folder) == {}


def test_a_clock_that_was_set_back_is_seen_when_a_run_begins(folder: RunFolder) -> None:
    assert archive.later_than(folder) == ""
    later = RunFolder(folder.root, folder.system, "29991231T000000Z-abcdef")
    later.archived.mkdir(parents=True)
    (later.archived / archive.MANIFEST).write_text("{}")
    assert archive.later_than(folder) == later.run
    assert archive.later_than(RunFolder(folder.root, "another", folder.run)) == ""


def test_a_run_grows_in_one_place_and_leaves_no_lock(folder: RunFolder) -> None:
    assert not archive.grows(folder)
    with archive.growing(folder):
        assert archive.grows(folder)
        with pytest.raises(CampaignError, match="grows already"), archive.growing(folder):
            pass
        assert archive.grows(folder)
    assert not archive.grows(folder)
    assert [path.name for path in folder.partial.parent.iterdir()] == [folder.run]


def test_what_reframe_says_of_every_session_is_kept(folder: RunFolder) -> None:
    for number in (1, 2):
        for name in archive.SESSION_FILES:
            (folder.session / name).write_text(f"session {number}")
        archive.keep_session(folder, number)
    kept = {path.name: path.read_text() for path in folder.partial.glob("*junit*")}
    assert kept == {"junit.xml": "session 1", "junit.2.xml": "session 2"}
    assert (folder.partial / "reframe-report.2.json").read_text() == "session 2"


def test_finish_renames_once_with_checksums_and_leaves_no_stage(folder: RunFolder) -> None:
    stage(folder, case(), WHOLE)
    archive.harvest(folder)
    manifest = archive.read_manifest(folder)
    archive.finish(folder, manifest)
    assert folder.path == folder.archived
    assert not folder.partial.exists()
    assert not folder.session.exists()
    sums = archive.read_manifest(folder)["checksums"]
    name = f"records/{case().stem}.jsonl"
    assert sums[name] == "sha256:" + hashlib.sha256((folder.archived / name).read_bytes()).hexdigest()
    assert set(sums) == {str(path.relative_to(folder.archived)) for path in folder.archived.rglob("*.*")} - {
        "manifest.json"
    }


def test_a_manifest_that_was_changed_after_the_run_is_found_out(folder: RunFolder) -> None:
    stage(folder, case(), WHOLE)
    archive.harvest(folder)
    archive.finish(folder, {**archive.read_manifest(folder), "host": {"cpu": "Größe", "cores": 2, "load": 0.1}})
    path = folder.archived / archive.MANIFEST
    own = [fault for fault in store.faults(folder) if fault.startswith(f"{archive.MANIFEST}: not what was archived")]
    assert own == []
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(dict(reversed(manifest.items()))))  # laid out otherwise
    assert not any("not what was archived" in fault for fault in store.faults(folder))
    manifest["host"]["cores"] = 64
    path.write_text(json.dumps(manifest))
    assert f"{archive.MANIFEST}: not what was archived: its checksum differs" in list(store.faults(folder))


def test_a_run_is_found_by_folder_by_name_and_as_the_last(folder: RunFolder, tmp_path: Path) -> None:
    for reference in (str(folder.partial), folder.run, "last"):
        assert archive.find(reference, tmp_path / "results") == folder
    archive.finish(folder, archive.read_manifest(folder))
    for reference in (str(folder.archived), folder.run, "last"):
        assert archive.find(reference, tmp_path / "results") == folder
    with pytest.raises(CampaignError, match=folder.run):
        archive.find("another", tmp_path / "results")


def test_a_foreign_manifest_is_refused_in_one_line(folder: RunFolder) -> None:
    for text in ("[]", "{", "\x00"):
        (folder.partial / archive.MANIFEST).write_text(text)
        with pytest.raises(CampaignError, match="manifest"):
            archive.read_manifest(folder)
