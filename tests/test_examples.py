"""The runs that come with the campaign: small, whole, public, and each the one that a page rests on."""

import re
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.archive import run_folders, store
from mpi_campaign.archive.run_folders import RunFolder
from tests.test_public_copy import all_of

EXAMPLES = sorted(manifest.parent for manifest in (ROOT / "results" / "example").glob("*/manifest.json"))
LARGEST_BYTES = 15_000_000
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_examples_are_small_and_a_page_rests_on_each() -> None:
    files = [path for path in (ROOT / "results" / "example").rglob("*") if path.is_file()]
    assert sum(path.stat().st_size for path in files) <= LARGEST_BYTES
    text = "".join(page.read_text() for page in PAGES)
    assert EXAMPLES
    assert not [run.name for run in EXAMPLES if run.name not in text]
    named = set(re.findall(r"\d{8}T\d{6}Z-[0-9a-f]{6}", text))
    assert named == {run.name for run in EXAMPLES}


@pytest.mark.parametrize("run", EXAMPLES, ids=lambda run: run.name)
def test_an_example_is_whole_and_public(run: Path) -> None:
    folder = RunFolder(run.parent.parent, run.parent.name, run.name)
    assert not list(store.faults(folder))
    manifest = run_folders.read_manifest(folder)
    assert re.fullmatch("node-[0-9a-f]{8}", manifest["host"]["name"])
    for name, text in all_of(run):
        hosts = set(re.findall(r'"host": ?"([^"]*)"', text)) | set(re.findall(r'hostname="([^"]*)"', text))
        assert all(re.fullmatch("node-[0-9a-f]{8}", host) for host in hosts), name
        folders = set(re.findall(r"(?<![\w./-])/(?!/)([\w-]+)/", text)) - {"usr", "bin", "dev", "lib", "opt"}
        assert folders <= {"CLONE"}, name
        assert str(ROOT) not in text
