"""The code as its linters and type checker see it."""

import subprocess
import sys
from pathlib import Path

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


def test_c_sources_are_formatted() -> None:
    """As `.clang-format` says. Folders in which Spack builds are not ours."""
    sources = ROOT / "benchmarks"
    own = [path for path in sources.iterdir() if not path.name.startswith(("build-", "spack-build-"))]
    files = sorted(str(path) for folder in own for path in folder.rglob("*.[ch]"))
    command = [str(Path(sys.executable).parent / "clang-format"), "--dry-run", "--Werror", *files]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
