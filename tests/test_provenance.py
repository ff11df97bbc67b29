"""`show --provenance` says of every kind of record what it was made with."""

import shutil
from pathlib import Path

import pytest

from mpi_campaign.archive import run_folders
from mpi_campaign.archive.run_folders import RunFolder
from postprocess.records.header import version_in_short
from postprocess.records.reading import load_record
from postprocess.records.storage import record_files
from tests.support import Command
from tests.test_examples import each_example

WITH_PEERS = "20261121T232206Z-d886ac"


def of_toolchains(text: str) -> dict[str, list[str]]:
    """By toolchain, the first words of its lines."""
    parts = [part.splitlines() for part in text.split("\n\n")[1:]]
    return {lines[0].split()[1]: [line.split()[0] for line in lines[1:]] for lines in parts}


@each_example
def test_every_toolchain_says_its_build_and_its_library(run: RunFolder, inside: Command) -> None:
    """One of these runs has `mpi_impact` alone, others have other benchmarks beside."""
    told = of_toolchains(inside("show", str(run.stored), "--provenance").stdout)
    toolchains = run_folders.read_manifest(run)["toolchains"]
    assert list(told) == [one["toolchain"] for one in toolchains]
    for one in toolchains:
        of_its_provider = {"wheel"} if one["provider"] == "wheels" else set()
        assert {"built", "says", *of_its_provider} <= set(told[one["toolchain"]])


def test_of_other_benchmarks_alone_the_program_and_its_library_are_told(tmp_path: Path, inside: Command) -> None:
    run = tmp_path / "example" / WITH_PEERS
    shutil.copytree(run_folders.find(WITH_PEERS, run_folders.RESULTS).path, run)
    for record in record_files(run / "records"):
        if load_record(record).family != "peers":
            record.unlink()
    done = inside("show", str(run), "--provenance")
    assert done.returncode == 1, "the run is complete, and records of it are missing"
    told = of_toolchains(done.stdout)
    assert {toolchain for toolchain, words in told.items() if words[-2:] == ["beside", "bound"]} == {
        "mpich@5.0.2",
        "intel@2021.18.1",
    }
    assert not {"built", "says"}.intersection(*told.values())
    assert "IMB-NBC 2021.11 of impi-rt 2021.18.1 sha256:" in done.stdout


@pytest.mark.parametrize(
    ("text", "in_short"),
    [
        ("Open MPI v5.0.11, package: Open MPI root@host\n", "Open MPI v5.0.11, package: Open MPI root@host"),
        (
            "MPICH Version:\t4.0.2\nMPICH Device:\tch3:sock\nMPICH configure:\t-x\n",
            "MPICH Version: 4.0.2, device ch3:sock",
        ),
        (
            "MPICH Version:      5.0.2\nMPICH Device:       ch4:ucx ofi\nMPICH configure:    -x\n",
            "MPICH Version: 5.0.2, device ch4:ucx ofi",
        ),
        ("MPICH Version:\t3.4\nMPICH Device:\nMPICH configure:\t-x\n", "MPICH Version: 3.4"),
        ("", ""),
    ],
)
def test_a_version_in_short_is_the_first_line_and_the_device(text: str, in_short: str) -> None:
    assert version_in_short(text) == in_short
