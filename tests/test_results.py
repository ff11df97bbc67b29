"""The archive as a whole: listed, verified, taken out and in, pruned; nothing is overwritten or leaves its folder."""

import io
import json
import shutil
import subprocess
import tarfile
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders, store
from mpi_campaign.running import ending
from mpi_campaign.running.case_results import CUT_OFF
from mpi_campaign.verdicts import baseline
from postprocess.records import reading
from postprocess.records.fields import Json, lines_of
from tests.archives import archived, cut_off, name_of
from tests.support import Command, refused


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = tmp_path / "results"
    for day in (1, 2, 3):
        archived(root, name_of(day), launches=1)
    return root


def test_runs_are_listed(root: Path, campaign: Command, inside: Command) -> None:
    (root / "here" / name_of(2) / "manifest.json").write_text("[]")
    done = campaign("results", "list", "--output", str(root))
    assert done.returncode == 0, done.stderr
    *table, trouble = done.stdout.splitlines()[1:]
    assert [line.split()[1] for line in table] == [name_of(day) for day in (1, 2, 3)]
    assert "unreadable" in table[1]
    assert trouble.startswith(f"here/{name_of(2)}: ")
    assert "is not a manifest" in trouble
    assert run_folders.find(f"here/{name_of(3)}", root).run == name_of(3)
    found = json.loads(inside("results", "list", "--json", "--output", str(root)).stdout)
    assert (found[0]["run"], found[0]["passed"], found[0]["cases"]) == (name_of(1), 2, 2)
    assert "no runs yet" in inside("results", "list", "--output", str(root / "none")).stdout


def test_a_run_is_what_was_archived_until_a_byte_changes(root: Path, inside: Command) -> None:
    done = inside("results", "verify", "--output", str(root))
    assert done.returncode == 0, done.stdout
    assert "3 of 3 runs are what was archived" in done.stdout
    folder = run_folders.find(name_of(2), root)
    record = next(iter(sorted(folder.records_folder.glob("*.jsonl"))))
    record.write_text(record.read_text().replace('"repetitions": 11', '"repetitions": 12', 1))
    (folder.path / "points.parquet").unlink()
    (folder.path / "logs").mkdir(exist_ok=True)
    (folder.path / "logs" / "more").write_text("")
    done = inside("results", "verify", "--output", str(root))
    assert done.returncode == 1
    for fault in ("its checksum differs", "points.parquet: missing", "logs/more: not of this run", f"{record.name}:2"):
        assert fault in done.stdout
    assert inside("results", "verify", name_of(1), "--output", str(root)).returncode == 0


def test_records_are_parsed_once_to_verify_and_once_more_to_make_references(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: Counter[Path] = Counter()

    def counted(path: Path) -> Iterator[tuple[str, Json | None]]:
        parsed[path] += 1
        return lines_of(path)

    monkeypatch.setattr(reading, "lines_of", counted)
    runs = list(run_folders.runs(root))
    records = {path for run in runs for path in run.records_folder.iterdir()}
    assert [fault for run in runs for fault in store.faults(run)] == []
    assert parsed == dict.fromkeys(records, 1)
    parsed.clear()
    assert baseline.make(runs).references > 0
    assert parsed == dict.fromkeys(records, 2)


def test_a_run_goes_to_another_machine_and_comes_back(root: Path, tmp_path: Path, inside: Command) -> None:
    pack = tmp_path / "a run.tar.xz"
    done = inside("results", "export", name_of(2), "-o", str(pack), "--output", str(root))
    assert done.returncode == 0, done.stderr
    refused(inside("results", "export", name_of(2), "-o", str(pack), "--output", str(root)), "is there already")
    within = root / "here" / name_of(2) / "a run.tar.xz"
    refused(inside("results", "export", name_of(2), "-o", str(within), "--output", str(root)), "nothing is changed")
    again = inside("results", "import", str(pack), "--output", str(root))
    assert (again.returncode, "was there already" in again.stdout) == (0, True)
    elsewhere = tmp_path / "elsewhere"
    done = inside("results", "import", str(pack), "--system", "far", "--output", str(elsewhere))
    assert done.returncode == 0, done.stderr
    there = elsewhere / "far" / name_of(2)
    for path in sorted((root / "here" / name_of(2)).rglob("*")):
        copy = there / path.relative_to(root / "here" / name_of(2))
        assert path.is_dir() or copy.read_bytes() == path.read_bytes()
    assert inside("results", "verify", "--output", str(elsewhere)).returncode == 0
    assert not (elsewhere / ".incoming").exists()


def test_a_whole_archive_is_taken_over_and_what_is_broken_keeps_nothing_else_out(
    root: Path, tmp_path: Path, inside: Command
) -> None:
    elsewhere = tmp_path / "elsewhere"
    (root / "here" / name_of(2) / "points.parquet").write_bytes(b"changed")
    for source in (root, root / "here"):
        done = inside("results", "import", str(source), "--output", str(elsewhere))
        refused(done, f"{name_of(2)}: points.parquet", "checksum differs")
        assert len(done.stdout.splitlines()) == 2
    assert done.stdout.count("was there already") == 2
    assert [run.run for run in run_folders.runs(elsewhere)] == [name_of(1), name_of(3)]


def test_several_that_take_in_the_same_at_once_are_in_nobodys_way(root: Path, tmp_path: Path) -> None:
    words = [str(ROOT / "campaign"), "results", "import", *(str(root / "here" / name_of(day)) for day in (1, 2, 3))]
    target = tmp_path / "one archive"
    at_once = [
        subprocess.Popen([*words, "--output", str(target)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    said = [one.communicate() for one in at_once]
    assert [one.returncode for one in at_once] == [0] * 4, said
    assert sum(out.count("imported: ") for out, _ in said) == 3
    assert [run.run for run in run_folders.runs(target)] == [name_of(day) for day in (1, 2, 3)]
    assert not any(fault for run in run_folders.runs(target) for fault in store.faults(run))
    assert not (target / store.INCOMING).exists()


def test_a_run_of_another_machine_needs_a_name_of_its_own(root: Path, tmp_path: Path, inside: Command) -> None:
    host = {"name": "far", "cpu": "Another", "cores": 64}
    other = archived(tmp_path / "other", name_of(9), launches=1, manifest={"host": host})
    done = inside("results", "import", str(other.path), "--output", str(root))
    refused(done, "system 'here' on far (Another)", "--system")
    assert not (root / "here" / name_of(9)).exists()
    for system in ("far", "here"):
        done = inside("results", "import", str(other.path), "--system", system, "--output", str(root))
        assert (done.returncode, (root / system / name_of(9)).is_dir()) == (0, True), done.stderr


def test_an_archive_of_a_system_whose_machine_was_replaced_is_taken_over_whole(
    root: Path, tmp_path: Path, inside: Command
) -> None:
    archived(root, name_of(4), launches=1, manifest={"host": {"name": "new", "cpu": "Another", "cores": 64}})
    elsewhere = tmp_path / "elsewhere"
    for _ in range(2):  # into an empty archive, then into one that knows the first machine only
        done = inside("results", "import", str(root), "--output", str(elsewhere))
        assert (done.returncode, len(list(run_folders.runs(elsewhere)))) == (0, 4), done.stderr
        shutil.rmtree(elsewhere / "here" / name_of(4))


@pytest.mark.parametrize("moved", ["", "here", f"here/{name_of(2)}", f"here/{name_of(2)}/records"])
def test_a_folder_that_was_moved_and_is_a_link_is_what_it_was(
    root: Path, tmp_path: Path, inside: Command, moved: str
) -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as disk:  # another one: nothing can be renamed into it
        shutil.move(root / moved, f"{disk}/moved")
        (root / moved).symlink_to(f"{disk}/moved")
        (root / "here" / "latest").symlink_to(name_of(3))  # no fourth run
        inner = root / "here" / name_of(1) / "points.parquet"
        shutil.move(inner, f"{disk}/points")
        inner.symlink_to(Path(disk) / "points")
        words = ("--output", str(root))
        assert "3 of 3 runs are what was archived" in inside("results", "verify", *words).stdout
        for number, words_of in enumerate([(), ("--public",)]):
            for run in (name_of(1), str(root / "here" / name_of(2))):
                pack, target = str(tmp_path / f"{number} {Path(run).name}"), str(tmp_path / f"to {number}")
                inside("results", "export", run, "-o", pack, *words_of, *words)
                done = inside("results", "import", pack, "--output", target)
                assert done.returncode == 0, done.stderr
        done = inside("results", "import", str(root), "--output", str(tmp_path / "copy"))
        assert (done.returncode, done.stdout.count("imported")) == (0, 3), done.stderr
        done = inside("report", str(root / "here" / name_of(2)), *words)
        assert str(root.resolve() / "here" / "reports") in done.stdout, done.stderr
        within = root / "here" / name_of(2) / "records" / "x.html"
        refused(inside("report", name_of(2), "-o", str(within), *words), "nothing is changed")
        assert inside("results", "prune", "--keep", "0", "--yes", *words).returncode == 0
        done = inside("results", "import", *map(str, tmp_path.glob("0 *")), *words)
        assert (done.returncode, len(list(run_folders.runs(root)))) == (0, 2), done.stderr


def test_names_of_an_imported_run_do_not_steer_the_terminal(tmp_path: Path, campaign: Command, inside: Command) -> None:
    name, root = "x\x1b[2J\x9b31m\x07\u202e", tmp_path / "results"
    host = {"name": name, "cpu": name, "cores": 2}
    for day in (1, 2):
        run = archived(root, name_of(day), launches=1, manifest={"host": host, "suite": name}, provider=name)
    (run.path / name).write_text("")
    for words in ("results list", "results verify", "show last", "show last --json", "history", "compare last~1 last"):
        done = campaign(*words.split(), "--output", str(root))
        assert all(one.isprintable() for one in (done.stdout + done.stderr).split("\n")), words
    listed = json.loads(inside("results", "list", "--json", "--output", str(root)).stdout)
    assert {one["host"] for one in listed} == {name}


@pytest.mark.parametrize(
    ("launches", "failed", "reason", "complete"),
    [
        (3, 0, "", True),
        (3, 3, "a rank crashed", True),
        (3, 2, "a rank crashed", False),
        (2, 2, "a rank crashed", False),
        (3, 3, f"{CUT_OFF} before it was measured", False),
        (3, 3, "basic, whose sizes it needs, failed: a rank crashed", True),
    ],
)
def test_a_run_is_complete_where_what_lacks_would_fail_again(
    tmp_path: Path, launches: int, failed: int, reason: str, *, complete: bool
) -> None:
    run = archived(tmp_path, name_of(1), launches=launches)
    run.archived.rename(run.partial)
    cases = run_folders.read_manifest(run)["cases"]
    result = "missing" if "basic" in reason or CUT_OFF in reason else "fail"
    for case in [case for case in cases if case["collective"] == "ibcast"][:failed]:
        case |= {"result": result, "reason": reason, "record": None}
    assert ending.is_complete(run, cases) is complete


@pytest.mark.parametrize("more", [(), ("--public",)])
def test_what_there_is_of_a_run_that_is_not_complete_is_exported_and_stays_marked(
    tmp_path: Path, inside: Command, more: tuple[str, ...]
) -> None:
    run, pack, other = archived(tmp_path / "one", name_of(1)), tmp_path / "pack.tar.xz", tmp_path / "other"
    cut_off(run)
    export = ("results", "export", run.run, *more, "-o", str(pack), "--output", str(run.root))
    refused(inside(*export), "--incomplete")
    assert inside(*export, "--incomplete").returncode == 0
    done = inside("results", "import", str(pack), "--output", str(other))
    assert done.returncode == 0, done.stderr
    assert run_folders.read_manifest(run_folders.find(run.run, other))["status"] == "incomplete"
    assert inside("show", run.run, "--output", str(other)).returncode == 0


def test_a_run_that_is_a_link_to_nowhere_is_not_overlooked(root: Path, inside: Command) -> None:
    (root / "here" / name_of(8)).symlink_to("/nowhere")
    words = ("--output", str(root))
    assert "unreadable" in inside("results", "list", *words).stdout
    assert inside("results", "verify", *words).returncode == 1
    assert name_of(8) in inside("history", *words).stderr
    refused(inside("results", "export", name_of(8), *words), "which is not there")


def test_another_run_of_the_same_name_is_not_overwritten(root: Path, tmp_path: Path, inside: Command) -> None:
    other = archived(tmp_path / "other", name_of(2), launches=2)
    before = (root / "here" / name_of(2) / "manifest.json").read_bytes()
    refused(inside("results", "import", str(other.path), "--output", str(root)), "another run is archived as")
    assert (root / "here" / name_of(2) / "manifest.json").read_bytes() == before


def _pack(path: Path, members: dict[str, bytes], link: str = "") -> Path:
    with tarfile.open(path, "w:xz") as pack:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            pack.addfile(member, io.BytesIO(content))
        if link:
            member = tarfile.TarInfo(link)
            member.type, member.linkname = tarfile.SYMTYPE, "/etc/passwd"
            pack.addfile(member)
    return path


@pytest.mark.parametrize(
    ("members", "link", "fragment"),
    [
        ({"../out": b"x"}, "", "'../out' is nothing that a run has"),
        ({"/tmp/out": b"x"}, "", "'/tmp/out' is nothing that a run has"),
        ({"run/manifest.json": b"{}"}, "run/records", "'run/records' is nothing that a run has"),
        ({"run/manifest.json": b"{}"}, "", "is not that of an exported run"),
        ({"run/manifest.json": b"not"}, "", "cannot be read"),
        ({"one/a": b"", "two/b": b""}, "", "not one folder"),
        ({"run/a": b""}, "", "manifest.json cannot be read"),
        (
            {"r/manifest.json": b'{"schema":"mpi-campaign.manifest","status":"complete","run":"../../x","system":"s"}'},
            "",
            "'../../x' is no run",
        ),
    ],
)
def test_what_is_no_run_is_not_let_in(
    tmp_path: Path, inside: Command, members: dict[str, bytes], link: str, fragment: str
) -> None:
    pack = _pack(tmp_path / "pack.tar.xz", members, link)
    root = tmp_path / "results"
    refused(inside("results", "import", str(pack), "--output", str(root)), fragment)
    assert not any(path.is_file() for path in root.rglob("*"))
    assert not (tmp_path / "out").exists()


def test_what_is_damaged_is_not_exported_and_what_is_not_there_keeps_nothing_else_out(
    root: Path, tmp_path: Path, inside: Command
) -> None:
    (root / "here" / name_of(1) / "points.parquet").write_bytes(b"changed")
    pack = tmp_path / "pack.tar.xz"
    refused(inside("results", "export", name_of(1), "-o", str(pack), "--output", str(root)), "nothing was exported")
    assert inside("results", "export", name_of(2), "-o", str(pack), "--output", str(root)).returncode == 0
    elsewhere = tmp_path / "elsewhere"
    done = inside("results", "import", str(tmp_path / "nosuch"), str(pack), "--output", str(elsewhere))
    refused(done, "nosuch")
    assert [run.run for run in run_folders.runs(elsewhere)] == [name_of(2)]


def test_a_file_that_is_no_pack_or_was_changed_is_refused(root: Path, tmp_path: Path, inside: Command) -> None:
    (tmp_path / "text").write_text("hello")
    refused(inside("results", "import", str(tmp_path / "text"), "--output", str(root)), "no file that")
    folder = run_folders.find(name_of(1), root)
    with next(iter(folder.records_folder.glob("*.jsonl"))).open("a") as stream:
        stream.write(" ")
    other = tmp_path / "other"
    refused(inside("results", "import", str(folder.path), "--output", str(other)), "checksum differs")
    assert not (other / "here").exists()


def test_a_packed_run_in_an_archive_is_read_as_its_folder_is(root: Path, tmp_path: Path, inside: Command) -> None:
    words = [["show", name_of(2)], ["results", "list"], ["results", "verify"], ["compare", name_of(1), name_of(2)]]
    words += [["show", str(root / "here" / name_of(2)), "--json"]]
    before = [inside(*one, "--output", str(root)).stdout for one in words]
    run = run_folders.find(name_of(2), root)
    store.export(run, pack := root / "here" / f"{run.run}.tar.xz")
    shutil.rmtree(run.path)
    assert [inside(*one, "--output", str(root)).stdout for one in words] == before
    assert run_folders.find(str(pack), tmp_path) == run_folders.find(f"here/{run.run}", root) == run
    refused(inside("report", name_of(1), "-o", str(pack), "--output", str(root)), "nothing is changed")
    assert inside("results", "import", str(root / "here"), "--output", str(tmp_path / "other")).returncode == 0
    assert len(list(run_folders.runs(tmp_path / "other"))) == 3
    pack.write_bytes(pack.read_bytes()[:-9])
    refused(inside("show", name_of(2), "--output", str(root)), f"{pack} is no file that")
    assert "unreadable" in inside("results", "list", "--output", str(root)).stdout.splitlines()[2]
    store.throw_away([run])
    assert [one.run for one in run_folders.runs(root)] == [name_of(1), name_of(3)]


@pytest.mark.parametrize("system", ["../../x", "a/b", ".hidden", "basic", "last", "reports", ""])
def test_a_name_that_could_be_no_system_is_refused(root: Path, tmp_path: Path, inside: Command, system: str) -> None:
    done = inside("results", "import", str(root / "here" / name_of(1)), "--system", system, "--output", str(tmp_path))
    if system:
        refused(done, f"'{system}' is no name of a system", "--system")
    else:
        assert done.returncode == 0, done.stderr


def test_a_folder_that_is_no_run_or_leads_elsewhere_is_not_copied(root: Path, inside: Command) -> None:
    words = ("--output", str(root))
    refused(inside("results", "import", str(root), *words), "a folder that holds this archive")
    refused(inside("results", "import", str(root.parent), *words), "a folder that holds this archive")
    other = root.parent / "other" / name_of(7)
    shutil.copytree(root / "here" / name_of(1), other)
    (other / "records" / "link.jsonl").symlink_to("/etc/passwd")
    refused(inside("results", "import", str(other), *words), "link.jsonl: not of this run")
    assert not (root / ".incoming").exists()


@pytest.mark.parametrize(
    ("changes", "fragment"),
    [
        ({"schema_version": 99}, "schema version 99"), ({"checksums": {}}, "no checksums"),
        ({"run": "reports"}, "'reports' is no run"), ({"host": "x"}, "'host' is of another type"),
        ({"toolchains": [{"packages": 5}]}, "'packages' is of another type"),
    ],
)  # fmt: skip
def test_a_manifest_that_says_something_else_is_refused(
    root: Path, tmp_path: Path, inside: Command, changes: dict[str, Any], fragment: str
) -> None:
    manifest = root / "here" / name_of(1) / "manifest.json"
    manifest.write_text(json.dumps({**json.loads(manifest.read_text()), **changes}))
    done = inside("results", "import", str(manifest.parent), "--output", str(tmp_path / "other"))
    refused(done, fragment)


def test_a_name_that_two_runs_have_needs_a_folder(root: Path, inside: Command) -> None:
    pack = root / "here" / name_of(1)
    assert inside("results", "import", str(pack), "--system", "copy", "--output", str(root)).returncode == 0
    refused(inside("results", "verify", name_of(1), "--output", str(root)), "there are 2 runs", "give the folder")
    assert inside("results", "verify", str(pack), "--output", str(root)).returncode == 0


def test_what_is_in_use_is_not_thrown_away(root: Path, inside: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_folders, "STATE", root.parent)
    archived(root, name_of(4), launches=1, manifest={"options": {"sizes_of": name_of(1)}})
    archived(root, name_of(5), launches=1)  # not of any run's sizes
    words = ("results", "prune", "--output", str(root))

    def named(keep: int) -> list[str]:
        said = inside(*words, "--keep", str(keep)).stdout.splitlines()
        return [line.split("/")[1] for line in said if "would" in line]

    assert named(2) == [name_of(day) for day in (2, 3)]  # not 1, whose sizes 4 has
    assert named(0) == [name_of(day) for day in range(1, 6)]  # nothing stays that has them
    refused(inside(*words, "--older-than-days", "nan"), "nan")
    refused(inside(*words, "--older-than-days", "1e9"), "36500")
    grows = run_folders.start(root, "here")
    run_folders.write_manifest(grows, {})
    with run_folders.growing(grows):
        refused(inside(*words, "--partial", "--keep", "0", "--yes"), "is measuring")
    done = inside(*words, "--partial", "--keep", "0", "--yes")
    assert done.returncode == 0, done.stderr
    assert not (root / ".incoming").exists()


def test_old_runs_are_named_and_then_deleted_but_not_references(root: Path, inside: Command) -> None:
    words = ("results", "prune", "--output", str(root))
    refused(inside(*words), "--keep N")
    done = inside(*words, "--keep", "1")
    assert done.stdout.count("would delete") == 2
    assert len(list(run_folders.runs(root))) == 3
    done = inside(*words, "--keep", "1", "--yes")
    assert done.returncode == 0, done.stderr
    assert [run.run for run in run_folders.runs(root)] == [name_of(3)]
    done = inside(*words, "--older-than-days", "36500")
    assert (done.returncode, done.stdout) == (0, "there is nothing to delete\n")
