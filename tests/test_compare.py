"""`campaign compare`: sides found in an archive, verdicts, forms and exit codes; what names nothing is refused."""

import hashlib
import json
import shutil
from pathlib import Path
from xml.etree import ElementTree

import pyarrow.parquet as pq  # type: ignore[import-untyped]
import pytest

from mpi_campaign import sides
from mpi_campaign.errors import CampaignError
from tests.archives import archived, name_of
from tests.support import Command, refused

BOTH = ("openmpi@4.1.8", "openmpi@5.0.11")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Nights 1 to 3 alike, 4 slower by a tenth, 5 with two versions, and another system."""
    root = tmp_path_factory.mktemp("archive")
    for day in (1, 2, 3):
        archived(root, name_of(day))
    archived(root, name_of(4), factor=1.1)
    archived(root, name_of(5), toolchains=BOTH, slower={BOTH[1]: 1.1}, launches=5)
    archived(root, name_of(3), system="there", factor=1.2)
    return root


def test_a_run_against_the_one_before_it(root: Path, campaign: Command) -> None:
    done = campaign("compare", name_of(3), name_of(4), "--output", str(root))
    assert done.returncode == 1, done.stderr
    assert f"{name_of(4)} against {name_of(3)}: 16 slower, 0 faster, 8 same" in done.stdout
    back = campaign("compare", name_of(4), name_of(3), "--output", str(root))
    assert back.returncode == 0
    assert "0 slower, 16 faster" in back.stdout
    alike = campaign("compare", name_of(2), name_of(3), "--output", str(root))
    assert alike.returncode == 0
    assert "0 slower, 0 faster, 24 same" in alike.stdout


def test_versions_side_by_side_in_the_newest_run_that_has_both(root: Path, campaign: Command) -> None:
    done = campaign("compare", *BOTH, "--output", str(root), "--json")
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["verdicts"]["slower"] == 16
    assert {(case["launches_a"], case["launches_b"]) for case in document["cases"]} == {(5, 5)}


def test_nights_against_a_night(root: Path, campaign: Command) -> None:
    done = campaign("compare", "here,2026-11-01..2026-11-03", name_of(4), "--output", str(root), "--markdown")
    assert done.returncode == 1, done.stderr
    assert done.stdout.count("**slower**") == 16


def test_systems_by_their_newest_runs(root: Path, campaign: Command) -> None:
    done = campaign("compare", "here,..2026-11-03", "there", "--output", str(root))
    assert done.returncode == 1, done.stderr
    assert "16 slower" in done.stdout


def test_more_than_two_sides_make_a_matrix(root: Path, campaign: Command) -> None:
    names = [name_of(day) for day in (1, 3, 4)]
    done = campaign("compare", *names, "--output", str(root))
    assert done.returncode == 1, done.stderr
    assert "16 / 0 / 24" in done.stdout
    assert " 0 / 0 / 24" in done.stdout
    refused(campaign("compare", *names, "--json", "--output", str(root)), "more than two sides")


def test_a_build_server_gets_a_file(root: Path, tmp_path: Path, campaign: Command) -> None:
    target = tmp_path / "a b.xml"
    done = campaign("compare", name_of(3), name_of(4), "--junit", str(target), "--output", str(root))
    assert done.returncode == 1
    assert ElementTree.parse(target).getroot().get("failures") == "16"
    full = campaign("compare", name_of(3), name_of(4), "--junit", "/dev/full", "--output", str(root))
    refused(full, "/dev/full cannot be written (No space left on device)")


@pytest.mark.parametrize(
    ("words", "fragments"),
    [
        (["last"], ["two sides at least"]),
        (["last", "nothing"], ["there is no run 'nothing'", "configuration", "2026-11-01"]),
        (["last", "2026-13-01.."], ["'2026-13-01' is no date", "month"]),
        (["openmpi@5.0.11,mpich@5.0.2", "last"], ["names two of one kind", "mpich@5.0.2"]),
        (["openmpi@4.1.8", "mpich@5.0.2"], ["no run has launches of openmpi@4.1.8 and mpich@5.0.2", "--interleave"]),
        (["last", "last,mpich@5.0.2"], ["side 'last,mpich@5.0.2' has no launches"]),
        (["last", "last~1", "--metric", "speed"], ["there is no metric 'speed'", "t_measured_ns"]),
        (["last", "last~1", "--least-ratio", "0"], ["0 is no least ratio"]),
        (["last", "last~1", "--rate", "nan"], ["no false-discovery rate"]),
        (["baseline", "last"], ["baseline", "no system has references"]),
        ([",", "last"], ["names no side"]),
        (["last", "last~99"], ["there is no run 'last~99'"]),
        (["last", "last~1", "--json", "--markdown"], ["--json and --markdown"]),
    ],
)
def test_bad_input_is_one_line(root: Path, campaign: Command, words: list[str], fragments: list[str]) -> None:
    refused(campaign("compare", *words, "--output", str(root)), *fragments)


def test_a_run_that_cannot_be_read_loses_no_other(tmp_path: Path, campaign: Command) -> None:
    for day in (1, 2, 3):
        archived(tmp_path, name_of(day))
    (tmp_path / "here" / name_of(1) / "samples.parquet").write_bytes(b"PAR1 not")  # its checksum says so
    done = campaign("compare", "2026-11-01..2026-11-02", name_of(3), "--output", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "24 same" in done.stdout
    assert f"{name_of(1)}: samples.parquet" in done.stderr
    shutil.rmtree(tmp_path / "here" / name_of(2))
    alone = campaign("compare", "2026-11-01..2026-11-02", name_of(3), "--output", str(tmp_path))
    refused(alone, "side '2026-11-01..2026-11-02' has no launches", "its checksum differs")


def test_tables_of_an_older_version_are_made_again_from_the_records(tmp_path: Path, campaign: Command) -> None:
    for day in (1, 2):
        archived(tmp_path, name_of(day))
    before = campaign("compare", name_of(1), name_of(2), "--json", "--output", str(tmp_path)).stdout
    for name in ("points.parquet", "samples.parquet"):
        path = tmp_path / "here" / name_of(1) / name
        pq.write_table(pq.read_table(path).drop_columns(["collective"]), path)
        manifest = path.with_name("manifest.json")
        document = json.loads(manifest.read_text())
        document["checksums"][name] = "sha256:" + hashlib.sha256(path.read_bytes()).hexdigest()
        manifest.write_text(json.dumps(document))
    assert campaign("compare", name_of(1), name_of(2), "--json", "--output", str(tmp_path)).stdout == before


def test_tables_of_two_runs_are_not_mixed(tmp_path: Path, campaign: Command) -> None:
    for day, collectives in ((1, 3), (2, 2)):
        archived(tmp_path, name_of(day), launches=collectives)
    other = tmp_path / "here" / name_of(2) / "samples.parquet"
    other.write_bytes((tmp_path / "here" / name_of(1) / "samples.parquet").read_bytes())
    manifest = other.with_name("manifest.json")
    document = json.loads(manifest.read_text())
    del document["checksums"]["samples.parquet"]
    manifest.write_text(json.dumps(document))
    done = campaign("compare", name_of(1), name_of(2), "--output", str(tmp_path))
    assert done.returncode == 2
    assert "are not of one run" in done.stderr


def test_words_of_a_side(root: Path) -> None:
    side = sides.parse("there,openmpi@5.0.11,basic,2026-11-01..", root)
    assert (side.system, side.toolchain, side.configuration, side.first_day) == (
        "there", "openmpi@5.0.11", "basic", "2026-11-01"
    )  # fmt: skip
    two = [sides.parse(words, root) for words in ("basic", "async")]
    assert sides.differ(two) == ("configuration", "given_up_cores", "threads_per_rank")
    with pytest.raises(CampaignError, match="no side"):
        sides.parse("", root)
