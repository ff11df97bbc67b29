"""The runs that come with the campaign: small, whole, public, and each the one that a page rests on."""

import hashlib
import re
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.archive import provenance, run_folders, store
from mpi_campaign.archive.run_folders import MANIFEST, RunFolder
from mpi_campaign.commands.run import command as run_command
from tests.test_public_copy import all_of

EXAMPLES = [run for run in run_folders.runs(run_folders.RESULTS) if run.system == run_folders.EXAMPLE]
LARGEST_BYTES = 11_500_000
TAKES_LONG_BYTES = 250_000  # every line of a record is held against its schema
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def size_of(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def test_the_examples_are_small_and_pages_name_no_other_run() -> None:
    assert size_of(run_folders.RESULTS / run_folders.EXAMPLE) <= LARGEST_BYTES
    text = "".join(page.read_text() for page in PAGES)
    assert EXAMPLES
    assert set(re.findall(r"\d{8}T\d{6}Z-[0-9a-f]{6}", text)) <= {run.run for run in EXAMPLES}


def facts(run: RunFolder) -> list[str]:
    """Of a kept run: what `reproduce` prints, in short, its commit, in short, and its file's SHA-256."""
    command = provenance.steps(run, run_command)[-1].removeprefix("./campaign run ")
    values: dict[str, list[str]] = {}
    for option, text in re.findall(r"(--[\w-]+)(?: (?!--)(\S+))?", command):
        values.setdefault(option, []).append(text)
    command = " ".join(f"{option} {','.join(texts)}".strip() for option, texts in values.items())
    file = run.stored / MANIFEST if run.stored.is_dir() else run.stored
    commit = str(run_folders.read_manifest(run)["campaign"]["commit"])[:8]
    return [command, commit, hashlib.sha256(file.read_bytes()).hexdigest()]


def test_the_index_has_a_row_for_each_example() -> None:
    lines = (run_folders.RESULTS / "README.md").read_text().splitlines()
    rows = [[cell.strip(" `") for cell in line.split(" | ")] for line in lines if line.startswith("| `2")]
    assert [row[0].strip("| `") for row in rows] == [run.run for run in EXAMPLES]
    for run, (_, shows, page, *told) in zip(EXAMPLES, rows, strict=True):
        assert [cell.strip("| `") for cell in told] == facts(run)
        (path,) = re.findall(r"\]\((.*)\)", page)
        assert shows
        assert (
            run.run.rpartition("-")[2] in (run_folders.RESULTS / path).read_text()
        )  # pages name a run by its last word


each_example = pytest.mark.parametrize(
    "run",
    [
        pytest.param(run, id=run.run, marks=[pytest.mark.rare] if size_of(run.path) > TAKES_LONG_BYTES else [])
        for run in EXAMPLES
    ],
)


@each_example
def test_an_example_is_what_was_archived(run: RunFolder) -> None:
    assert not list(store.faults(run))


@pytest.mark.parametrize("run", EXAMPLES, ids=lambda run: run.run)
def test_an_example_is_public(run: RunFolder) -> None:
    manifest = run_folders.read_manifest(run)
    assert set(manifest["public"]) == {"aliases", "left_out"}
    assert re.fullmatch("node-[0-9a-f]{8}", manifest["host"]["name"])
    for name, text in all_of(run.path):
        hosts = set(re.findall(r'"host": ?"([^"]*)"', text)) | set(re.findall(r'hostname="([^"]*)"', text))
        assert all(re.fullmatch("node-[0-9a-f]{8}", host) for host in hosts), name
        folders = set(re.findall(r"(?<![\w./-])/(?!/)([\w-]+)/", text)) - {"usr", "bin", "dev", "lib", "opt"}
        assert folders <= {"CLONE"}, name
        assert str(ROOT) not in text
