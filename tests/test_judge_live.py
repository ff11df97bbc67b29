"""Judging and searching with a library that waits longer than it needs: the slower one is found by real launches."""

import shutil
import subprocess
from pathlib import Path

import pytest

from mpi_campaign.archive import run_folders
from mpi_campaign.toolchains import resolving
from postprocess.statistics.looks import LOOKS
from tests.support import MPI, SLOW_WAIT, Command

pytestmark = [pytest.mark.slow, pytest.mark.rare, pytest.mark.needs("mpi")]


def slowed(prefix: Path, share: float) -> Path:
    """A prefix with the library of MPI, whose programs wait longer in MPI_Wait than they need, by a share of that."""
    real = Path(resolving.resolve(resolving.parse(MPI), lambda *_: None).prefix)
    shutil.copytree(real, prefix, symlinks=True, dirs_exist_ok=True)
    source, library, launcher = prefix / "slow.c", prefix / "slow.so", prefix / "bin" / "mpiexec"
    source.write_text(SLOW_WAIT)
    words = ("-shared", "-fPIC", f"-DSLOWER={share}", str(source), "-o", str(library))
    subprocess.run([str(real / "bin" / "mpicc"), *words], check=True)
    launcher.unlink()
    launcher.write_text(f'#!/bin/sh\nLD_PRELOAD={library} exec {real}/bin/mpiexec "$@"\n')
    launcher.chmod(0o755)
    return prefix


@pytest.mark.timeout(900)
def test_a_library_that_was_made_slower_is_found(campaign: Command, tmp_path: Path) -> None:
    slower = slowed(tmp_path / "slow", 1 / 3)
    done = campaign(
        "judge", MPI, f"{MPI.partition('@')[0]}@slow={slower}", "--collective", "ibcast",
        "--configuration", "basic", "--comm-time", "4ms", "--comp-time", "4ms", "--minutes", "4",
        "--output", str(tmp_path / "archive"), timeout=800,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert "slower" in done.stdout
    (run,) = run_folders.runs(tmp_path / "archive")
    repeats = {case["repeat"] for case in run_folders.read_manifest(run)["cases"]}
    assert repeats in [set(range(1, looks + 1)) for looks in LOOKS]
    assert run.is_complete


@pytest.mark.timeout(1200)
def test_a_library_that_a_series_made_slower_is_found(campaign: Command, tmp_path: Path) -> None:
    name = MPI.partition("@")[0]
    slower = {"b": 0.0, "c": 1 / 3, "d": 1 / 3}
    prefixes = [f"{name}@{letter}={slowed(tmp_path / letter, share)}" for letter, share in slower.items()]
    done = campaign(
        "bisect", MPI, *prefixes, "--collective", "ibcast", "--configuration", "basic", "--comm-time", "4ms",
        "--comp-time", "4ms", "--minutes", "2", "--json", "--output", str(tmp_path / "archive"), timeout=1100,
    )  # fmt: skip
    assert done.returncode == 1, done.stderr
    assert '"first_bad": "' + prefixes[1] in done.stdout
