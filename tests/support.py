"""What tests of the commands share."""

import subprocess
from collections.abc import Callable

Command = Callable[..., subprocess.CompletedProcess[str]]

# A package registry that nobody answers at.
NOWHERE = {
    "PIP_INDEX_URL": "http://127.0.0.1:9/simple",
    "PIP_EXTRA_INDEX_URL": "",
    "PIP_FIND_LINKS": "",
    "PIP_RETRIES": "0",
}


def refused(done: subprocess.CompletedProcess[str], *fragments: str) -> None:
    """Bad input: exit code 2, one line on standard error that has the fragments, no traceback."""
    assert done.returncode == 2, done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("set-up")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("campaign: ")
    for fragment in fragments:
        assert fragment in lines[0]
