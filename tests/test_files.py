"""Files that others may read, or write, at the same time."""

import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from mpi_campaign import ROOT, files


def test_many_may_write_one_file_at_once(tmp_path: Path) -> None:
    """As campaigns that begin together do with what they share."""
    path = tmp_path / "shared.yaml"
    texts = {f"{number}\n" * 5000 for number in range(8)}

    def write(text: str) -> None:
        for _ in range(20):
            files.write_atomically(path, text)
            assert path.read_text() in texts

    with ThreadPoolExecutor(len(texts)) as pool:
        for done in [pool.submit(write, text) for text in texts]:
            done.result()
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.needs("nodes")
def test_a_file_system_that_is_full_is_named(tmp_path: Path) -> None:
    look = "import pathlib, sys; from mpi_campaign import files; print(files.why_full(pathlib.Path(sys.argv[1])))"
    (folder := tmp_path / "full").mkdir()
    words = shlex.join([sys.executable, "-c", look, str(folder)])
    script = f"mount -t tmpfs -o size=8k none {shlex.quote(str(folder))} && {words}; ls -A {shlex.quote(str(folder))}"
    inside = ["unshare", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(inside, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == f"No space left on device (file system {folder})\n"
    assert files.why_full(folder) == files.why_full(tmp_path / "missing") == ""
    assert list(folder.iterdir()) == []
