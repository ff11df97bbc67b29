"""The commit that a run is said to be of is the clone's own, or unknown, with the reason."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.this_machine import machine
from tests.support import succeed

pytestmark = pytest.mark.needs("git")

CMAKE = ROOT / ".venv" / "bin" / "cmake"
BY = ("-c", "user.name=somebody", "-c", "user.email=somebody@localhost", "-c", "commit.gpgsign=false")


def repository(folder: Path) -> str:
    """Make one with a commit of its own, which is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "file").write_text(str(folder))
    environment = {**os.environ, "GIT_CEILING_DIRECTORIES": ""}
    for words in (["init", "-q"], ["add", "."], [*BY, "commit", "-qm", "Begin"]):
        subprocess.run(["git", "-C", str(folder), *words], check=True, env=environment)
    head = subprocess.run(["git", "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    return head.stdout.strip()


def project(folder: Path) -> Path:
    """What CMake asks about, in a folder as a clone has it."""
    shutil.copytree(ROOT / "benchmarks" / "cmake", folder / "benchmarks" / "cmake")
    return folder


def commit_by_cmake(clone: Path) -> str:
    header = clone.parent / "build_info.h"
    options = (f"-DSOURCE_DIRECTORY={clone / 'benchmarks'}", f"-DOUTPUT={header}")
    succeed(str(CMAKE), *options, "-P", str(clone / "benchmarks" / "cmake" / "build_info.cmake"))
    found = re.search(r'BUILD_COMMIT "(.*?)"', header.read_text())
    assert found is not None
    return found[1]


@pytest.fixture(params=["outside", "in a hook"])
def asked(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where the question is asked: also where git has named another repository, as it does for its hooks."""
    if request.param == "in a hook":
        other = tmp_path / "another"
        repository(other)
        monkeypatch.setenv("GIT_DIR", str(other / ".git"))
        monkeypatch.setenv("GIT_WORK_TREE", str(other))
        monkeypatch.setenv("GIT_INDEX_FILE", str(other / ".git" / "index"))
        monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path))
    return str(request.param)


@pytest.mark.usefixtures("asked")
def test_a_clone_has_its_own_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clone = project(tmp_path / "the clone")
    with monkeypatch.context() as here:
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CEILING_DIRECTORIES"):
            here.delenv(name, raising=False)
        commit = repository(clone)
    assert machine.git_state(clone) == machine.GitState(commit, dirty=False)
    assert machine.commit_of(clone / "benchmarks") == commit
    assert commit_by_cmake(clone) == commit
    (clone / "file").write_text("changed")
    assert machine.git_state(clone) == machine.GitState(commit, dirty=True)


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("tracked", [False, True])
def test_a_copy_in_another_repository_has_no_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, tracked: bool
) -> None:
    around = tmp_path / "around"
    if tracked:
        project(around / "copy")
    with monkeypatch.context() as here:
        for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_CEILING_DIRECTORIES"):
            here.delenv(name, raising=False)
        repository(around)
    copy = around / "copy" if tracked else project(around / "copy")
    found = machine.git_state(copy)
    assert (found.commit, found.dirty) == ("unknown", None)
    assert found.why_unknown == f"{copy} is no clone, but a folder in the repository {around}"
    assert commit_by_cmake(copy) == "unknown"


@pytest.mark.usefixtures("asked")
def test_a_copy_outside_git_has_no_commit(tmp_path: Path) -> None:
    copy = project(tmp_path / "copy")
    assert machine.git_state(copy) == machine.GitState("unknown", None, f"{copy} is no git clone")
    assert commit_by_cmake(copy) == "unknown"


def test_a_clone_without_a_commit_says_so(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    found = machine.git_state(tmp_path)
    assert found.commit == "unknown"
    assert "git says: fatal: " in found.why_unknown


def test_no_git_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert machine.git_state() == machine.GitState("unknown", None, "there is no git on PATH")


def test_a_clone_of_another_user_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git itself can be told to take a clone for another user's."""
    clone = tmp_path / "clone"
    repository(clone)
    git = tmp_path / "bin" / "git"
    git.parent.mkdir()
    git.write_text(f"#!/bin/sh\nGIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec '{shutil.which('git')}' \"$@\"\n")
    git.chmod(0o755)
    monkeypatch.setenv("PATH", str(git.parent), prepend=os.pathsep)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    found = machine.git_state(clone)
    assert found.commit == "unknown"
    assert f"safe.directory {clone}" in found.why_unknown
