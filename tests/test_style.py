"""The code as its linters and type checker see it."""

import subprocess
import sys

import pytest

from mpi_campaign import ROOT


@pytest.mark.parametrize(
    ("folder", "words"),
    [
        (".", "ruff check ."),
        (".", "ruff format --check ."),
        (".", "mypy"),
        ("reframe", "mypy --config-file mypy.ini"),
        (
            "benchmarks/spack_repo",
            "ruff check --isolated --line-length 99 --select E,F,W .",
        ),  # as `spack style` wants it
        ("benchmarks/spack_repo", "ruff format --isolated --line-length 99 --check ."),
    ],
)
def test_clean(folder: str, words: str) -> None:
    command = [sys.executable, "-m", *words.split()]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT / folder, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
