"""The first start on a bare machine, and what stops it: one line each, exit code 2."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from tests.support import NOWHERE, refused


def start(clone: Path, before: str = "", env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Run the clone's `campaign list` in a Python where `before` was executed first."""
    script = clone / "campaign"
    start_it = f"sys.argv = [{str(script)!r}, 'list']; runpy.run_path({str(script)!r}, run_name='__main__')"
    code = f"import sys, runpy\n{before}\n{start_it}"
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, **(env or {})}, check=False
    )


def test_a_python_without_ensurepip_names_the_package_to_install(clone: Path) -> None:
    refused(start(clone, "sys.modules['ensurepip'] = None"), "ensurepip", "-venv")


def test_a_python_that_is_too_old_says_so(clone: Path) -> None:
    done = start(clone, "sys.version_info = (3, 9, 0)", {"CAMPAIGN_REEXEC": "1"})
    refused(done, "3.9", "Python 3.10 or newer")


@pytest.mark.rare
def test_no_registry_is_said_in_one_line(clone: Path) -> None:
    refused(start(clone, env=NOWHERE), "no package registry can be reached")


def test_a_registry_that_answers_and_has_nothing_is_no_network_that_is_down(clone: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    empty = {**NOWHERE, "PIP_INDEX_URL": (tmp_path / "empty").as_uri()}
    refused(start(clone, env=empty), "the package registry has no wheel of archspec==", "use another Python")


def test_what_a_person_set_of_pythons_modes_and_of_pips_targets_does_not_matter(clone: Path, tmp_path: Path) -> None:
    """The set-up gets as far as without: to a registry that does not answer."""
    modes = {"PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "error", "PYTHONIOENCODING": "latin-1", "PYTHONPATH": "/nowhere"}
    targets = {
        "PIP_USER": "1",
        "PIP_TARGET": str(tmp_path / "target"),
        "PIP_NO_BINARY": ":all:",
        "PIP_PREFIX": "/nowhere",
    }
    script = clone / "campaign"
    done = subprocess.run(
        [sys.executable, script, "list"], capture_output=True, text=True, check=False,
        env={**os.environ, **NOWHERE, **modes, **targets},
    )  # fmt: skip
    refused(done, "no package registry can be reached")
    assert not (tmp_path / "target").exists()


def test_a_download_that_is_not_what_the_lock_says_is_refused(clone: Path) -> None:
    lock = clone / "requirements.lock"
    entry = re.search(r"^archspec==.*?(?=^\S)", lock.read_text().split("\n", 1)[1], re.MULTILINE | re.DOTALL)
    assert entry is not None
    lock.write_text(re.sub(r"sha256:[0-9a-f]{64}", "sha256:" + "0" * 64, entry.group()))
    refused(start(clone), "does not match the lock's hash")


def test_a_folder_that_cannot_be_written_is_named(clone: Path) -> None:
    (clone / ".campaign").write_text("in the way")
    refused(start(clone), str(clone / ".campaign"))


def test_the_environment_of_another_clone_is_not_emptied(clone: Path, tmp_path: Path) -> None:
    another = tmp_path / "another"
    (another / "bin").mkdir(parents=True)
    (clone / ".venv").symlink_to(another)
    refused(start(clone), ".venv", str(another), "remove the link")
    assert (another / "bin").is_dir()


def test_locks_name_no_registry() -> None:
    for lock in ("requirements.lock", "requirements-test.lock", "mpi_campaign/toolchains/wheels.lock"):
        text = (ROOT / lock).read_text()
        assert "://" not in text
        assert "--index-url" not in text
        pinned = re.findall(r"^[a-z0-9-]+==\S+", text, re.MULTILINE)
        assert len(pinned) >= 6
        assert text.count("--hash=sha256:") >= len(pinned)


@pytest.mark.parametrize("path", ["campaign"])
def test_the_executable_is_executable(path: str) -> None:
    assert os.access(ROOT / path, os.X_OK)
