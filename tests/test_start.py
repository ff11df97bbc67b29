"""The first start on a bare machine, and what stops it: one line each, exit code 2."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from mpi_campaign import ROOT
from mpi_campaign.children import packages
from tests.support import NOWHERE, environment_of, refused


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
    """The set-up gets as far as without: to a registry that does not answer, which a file of pip's settings names."""
    settings = tmp_path / "pip.conf"
    settings.write_text(f"[global]\nquiet = 1\nuser = true\nindex-url = {NOWHERE['PIP_INDEX_URL']}\n")
    modes = {"PYTHONSAFEPATH": "1", "PYTHONWARNINGS": "error", "PYTHONHOME": "/nowhere", "PYTHONPATH": str(tmp_path)}
    (tmp_path / "re.py").write_text("1 / 0")  # in the current folder, too
    targets = {
        "PIP_USER": "1", "PIP_TARGET": str(tmp_path / "target"), "PIP_NO_BINARY": ":all:", "PIP_PREFIX": "/nowhere",
        "PIP_CONFIG_FILE": str(settings), "PIP_INDEX_URL": "",
    }  # fmt: skip
    done = subprocess.run(
        [clone / "campaign", "list"], capture_output=True, text=True, check=False, cwd=tmp_path,
        env={**os.environ, **NOWHERE, **modes, **targets},
    )  # fmt: skip
    refused(done, "no package registry can be reached at 127.0.0.1:9 (Connection refused)")
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


@pytest.fixture
def whole(clone: Path) -> Path:
    """The clone with an environment that is up to date, and has a package of one file."""
    environment_of(clone)
    for lock in clone.glob("*.lock"):
        stamp = hashlib.sha256(lock.read_bytes() + str(clone).encode()).hexdigest()
        (clone / ".venv" / f"{lock.name}.sha256").write_text(stamp)
    site = next(clone.glob(".venv/lib/python3*/site-packages"))
    (site / "one.py").write_text("1")
    (site / "one-1.dist-info").mkdir()
    (site / "one-1.dist-info" / "RECORD").write_text("one.py,sha256=x,1\n")
    done = start(clone)
    assert done.returncode == 0, done.stderr
    return clone


@pytest.mark.rare
@pytest.mark.parametrize("lost", ["site-packages/one.py", "site-packages/campaign.pth", "bin/python", "pyvenv.cfg"])
def test_an_environment_that_lost_a_file_is_made_again(whole: Path, lost: str) -> None:
    next(whole.glob(f".venv/**/{lost}")).unlink()
    done = start(whole, env=NOWHERE)
    refused(done, "no package registry can be reached")
    assert f"making {whole}/.venv" in done.stderr


@pytest.mark.rare
@pytest.mark.parametrize("does", ["echo 3.1", "exit 1"])
def test_an_environment_whose_python_is_another_version_or_does_not_work_is_made_again(whole: Path, does: str) -> None:
    python = whole / ".venv" / "bin" / "python"
    python.unlink()
    python.write_text(f"#!/bin/sh\n{does}\n")
    python.chmod(0o755)
    assert f"making {whole}/.venv" in start(whole, env=NOWHERE).stderr


def test_a_file_that_was_emptied_is_told_and_its_environment_is_made_again(whole: Path) -> None:
    site = next(whole.glob(".venv/lib/python3*/site-packages"))
    (site / "click.py").touch()
    (site / "one-1.dist-info" / "RECORD").write_text("click.py,sha256=x,1\n__pycache__/one.pyc,sha256=x,1\n")
    packages.note(whole / ".venv")  # its folder does not tell
    refused(start(whole), "click.py has gone or was changed")
    assert f"making {whole}/.venv" in start(whole, env=NOWHERE).stderr


@pytest.mark.needs("mount")
@pytest.mark.parametrize(
    ("option", "says"),
    [
        ("noexec", "is mounted noexec"),
        pytest.param("ro", "no package registry can be reached", marks=pytest.mark.rare),
    ],
)
def test_a_clone_on_a_mount_that_forbids_something(clone: Path, tmp_path: Path, option: str, says: str) -> None:
    """What cannot be executed is refused; where nothing can be written, the user's cache has the environment."""
    mount = f'mount --bind "$0" "$0" && mount -o "remount,bind,{option}" "$0" && exec "$@"'
    words = ["unshare", "--mount", "sh", "-c", mount, str(clone), sys.executable, str(clone / "campaign"), "list"]
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = subprocess.run(words, capture_output=True, text=True, env={**os.environ, **NOWHERE, **cache}, check=False)
    refused(done, says)
    assert list(tmp_path.glob("cache/mpi-campaign/*/.venv/bin/python")) or option == "noexec"


def test_locks_name_no_registry() -> None:
    for lock in ("requirements.lock", "requirements-test.lock", "mpi_campaign/toolchains/wheels.lock"):
        text = (ROOT / lock).read_text()
        assert "://" not in text
        assert "--index-url" not in text
        pinned = re.findall(r"^[a-z0-9-]+==\S+", text, re.MULTILINE)
        assert len(pinned) >= 6
        assert text.count("--hash=sha256:") >= len(pinned)
